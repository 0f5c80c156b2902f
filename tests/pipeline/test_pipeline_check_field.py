"""`check_field` finds what a field leaves out, names it, and lets honest declarations pass."""

from __future__ import annotations

import numpy as np
import pytest

pytest.importorskip("torch_geometric")

import torch
import torch_geometric.nn as geometric

from certcore import InputError, check_field
from certcore.data import citation_like
from certcore.domain.graph import Graph
from tests.pipeline import zoo

SMALL = citation_like(70, 24, 3, ones=6, seed=2)


@pytest.fixture(autouse=True)
def seeded():
    torch.manual_seed(0)
    torch.set_num_threads(1)


def gcn(**options):
    return geometric.GCN(24, 8, **({"num_layers": 2, "out_channels": 3} | options)).eval()


def batch_norm_in_training():
    model = gcn(norm="batch_norm")
    return model.train()


#: What is wrong, the model, what is declared about it.
WRONG = {
    "one layer declared for two": (gcn, {"layers": 1}),
    "messages for a symmetric GCN": (gcn, {"layers": 2, "edge_field": "messages"}),
    "batch norm in training mode": (batch_norm_in_training, {"layers": 2}),
    "batch norm without running statistics": (
        lambda: gcn(norm="batch_norm", norm_kwargs={"track_running_stats": False}), {"layers": 2}
    ),
    "a virtual node": (lambda: zoo.VirtualNode().eval(), {"layers": 2}),
    "pooling": (lambda: zoo.Pooled().eval(), {"layers": 1}),
    "jumping knowledge read as one layer less": (lambda: gcn(num_layers=3, jk="max"), {"layers": 2}),
    "a layer used three times": (lambda: zoo.Repeated().eval(), {"layers": 1, "edge_field": "messages"}),
}  # fmt: skip


@pytest.mark.parametrize("case", WRONG)
def test_a_field_that_is_too_small_is_caught(case):
    make, declared = WRONG[case]
    found = check_field(make(), SMALL, **declared)
    assert not found
    said = str(found)
    assert f"node {found.violation.node}" in said
    assert found.violation.attributes + found.violation.edges > 0
    assert found.violation.change > 0
    with pytest.raises(InputError, match="reads more than the declared field"):
        found.require()


def test_the_model_runs_on_one_thread_and_the_others_are_given_back():
    """Thousands of small calls: with several threads on a busy machine the check took minutes instead of seconds."""

    class Watched(torch.nn.Module):
        def forward(self, x, edge_index):
            assert torch.get_num_threads() == 1
            return x[:, :3]

    torch.set_num_threads(2)
    assert check_field(Watched().eval(), SMALL, layers=0, nodes=4, graphs=1)
    assert torch.get_num_threads() == 2


#: Ten honest declarations: five derived, five declared.
HONEST = {
    "GCN": (gcn, {}),
    "SAGE": (lambda: geometric.GraphSAGE(24, 8, 2, 3).eval(), {}),
    "GAT": (lambda: geometric.GAT(24, 8, 2, 3).eval(), {}),
    "GIN": (lambda: geometric.GIN(24, 8, 2, 3, norm="batch_norm").eval(), {}),
    "three layers and jumping knowledge": (lambda: gcn(num_layers=3, jk="cat"), {}),
    "EdgeCNN": (lambda: geometric.EdgeCNN(24, 8, 2, 3).eval(), {"layers": 2, "edge_field": "messages"}),
    "PNA": (
        lambda: geometric.PNA(
            24, 8, 2, 3, aggregators=["mean"], scalers=["identity"], deg=torch.tensor([0, 5, 5, 5])
        ).eval(),
        {"layers": 2, "edge_field": "messages"},
    ),
    "ClusterGCN": (lambda: geometric.ClusterGCNConv(24, 3).eval(), {"layers": 1, "edge_field": "messages"}),
    "more than needed": (lambda: geometric.GraphSAGE(24, 8, 1, 3).eval(), {"layers": 2, "edge_field": "degrees"}),
    "no messages": (lambda: torch.nn.Linear(24, 3).eval(), {"layers": 0, "wrapper": zoo.without_edges}),
}  # fmt: skip


@pytest.mark.parametrize("case", HONEST)
def test_an_honest_declaration_passes(case):
    make, declared = HONEST[case]
    found = check_field(make(), SMALL, nodes=8, graphs=2, **declared)
    assert found, str(found)
    assert found.comparisons > 20
    assert "not a proof" in str(found)


def test_chance_and_memory_are_no_functions_of_the_graph():
    dropout = geometric.GCN(24, 8, 2, 3, dropout=0.5).train()
    assert check_field(dropout, SMALL, layers=2).fault == "chance"
    assert check_field(gcn(cached=True), SMALL, layers=2).fault == "memory"


def test_the_model_is_left_as_it_was():
    model = batch_norm_in_training()
    before = {key: value.clone() for key, value in model.state_dict().items()}
    check_field(model, SMALL, layers=2)
    assert model.training
    assert next(model.parameters()).dtype == torch.float32
    for key, value in model.state_dict().items():
        assert torch.equal(value, before[key])


def test_a_field_that_is_the_whole_graph_leaves_nothing_to_compare():
    whole = Graph.from_edges(3, np.array([[0, 1], [1, 2]]), np.ones((3, 24), dtype=np.int8))
    found = check_field(gcn(), whole, layers=2)
    assert found.comparisons == 0
    assert "nothing was checked" in str(found)


def test_what_cannot_be_derived_is_asked_for_with_the_choices():
    with pytest.raises(InputError) as caught:
        check_field(zoo.Pooled().eval(), SMALL)
    for word in ("layers=K", "'degrees'", "'messages'", "mean"):
        assert word in str(caught.value)
    with pytest.raises(InputError, match="weights messages by the degrees"):
        check_field(gcn(), SMALL, edge_field="messages")
