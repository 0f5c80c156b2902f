"""From a torch-geometric model to a certificate: the short way gives what the long way gives, or says what is wrong."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp

pytest.importorskip("torch_geometric")

import networkx
import torch
import torch_geometric.nn as geometric
from torch import nn

import certcore as cc
from certcore.base.smoothing import SmoothingBase
from certcore.common.errors import InputError
from certcore.data import from_pyg
from certcore.domain.noise import Noise
from certcore.models.called import Called
from certcore.votes.choose import make_module_voter
from certcore.votes.function import FunctionVoter
from certcore.votes.fused import FusedVoter
from certcore.votes.module import ModuleVoter
from certcore.votes.run import collect_votes
from tests.pipeline import zoo

ATTRIBUTES = {"attr_add": 0.01, "attr_del": 0.6}


@pytest.fixture(autouse=True)
def seeded():
    torch.manual_seed(0)
    torch.set_num_threads(1)


@pytest.fixture(scope="module")
def data():
    return zoo.as_data()


def the_long_way(model, data, wrapper, samples: int, layers: int, rule: str, theta=("0.01", "0.6", "0", "0")):
    """As one had to write it before: a function of sparse matrices, a voter, votes, a base certificate, an instance."""
    dataset = from_pyg(data, "graph")
    model.eval()

    def labels(attributes, adjacency):
        receiver, sender = adjacency.nonzero()
        x = torch.from_numpy(attributes.toarray().astype(np.float32))
        edges = torch.from_numpy(np.stack([sender, receiver]).astype(np.int64))
        with torch.no_grad():
            scores = model(x, edges) if wrapper is None else wrapper(model, x, edges)
        return scores.argmax(dim=1).numpy()

    noise = Noise(theta)
    voter = FunctionVoter(dataset.graph, noise, seed=0, function=labels, n_classes=3)
    votes = collect_votes(voter, selection=1000, estimation=samples, jobs=1)
    base = SmoothingBase(votes.estimation, votes.prediction, votes.n_samples, "0.01", theta, graph=dataset.graph)
    targets = np.flatnonzero(data.test_mask.numpy())
    return cc.Instance(dataset.graph, base, layers=layers, edge_field=rule, targets=targets)


MODELS = {
    "GCN": (lambda: geometric.GCN(24, 8, 2, 3), None, 2, "degrees"),
    "GAT": (lambda: geometric.GAT(24, 8, 2, 3, heads=2), None, 2, "messages"),
    "SAGE": (lambda: geometric.GraphSAGE(24, 8, 2, 3), None, 2, "messages"),
    "GIN": (lambda: geometric.GIN(24, 8, 2, 3, norm="batch_norm"), None, 2, "messages"),
    "MLP": (lambda: geometric.MLP([24, 8, 3]), zoo.without_edges, 0, "messages"),
}


@pytest.mark.parametrize("name", MODELS)
def test_three_lines_equal_the_long_way(name, data):
    make, wrapper, layers, rule = MODELS[name]
    model = zoo.train(make(), data, wrapper)

    instance = cc.smooth(model, data, attr_add=0.01, attr_del=0.6, samples=1_000, wrapper=wrapper)
    certificate = cc.certify(instance, attr_del=5)
    picture = cc.curve(instance, vary="attr_del", values=range(21)).plot()

    assert model.training, "the model of the person is left as it was"
    long = the_long_way(model, data, wrapper, 1000, layers, rule)
    assert (instance.layers, instance.edge_field) == (layers, rule)
    # The same samples; sums in another order may turn a vote that stood on an edge.
    assert np.abs(instance.base.votes - long.base.votes).sum() <= 4
    assert np.array_equal(instance.prediction, long.prediction)
    assert certificate.certified == cc.certify(long, cc.ThreatModel(attr_del=5)).certified
    assert np.array_equal(
        cc.curve(instance, vary="attr_del", values=range(9)).certified,
        cc.curve(long, cc.ThreatModel(), "attr_del", range(9)).certified,
    )
    assert certificate.targets == int(data.test_mask.sum())
    assert picture.data
    assert instance.meta["field"] == "derived from the modules"
    assert instance.meta["field_check"]["passed"]


def test_noisy_edges_and_a_tutorial_model(data):
    model = zoo.train(zoo.Tutorial(), data)
    instance = cc.smooth(model, data, adj_del=0.4, samples=300, alpha="0.05")
    long = the_long_way(model, data, None, 300, 2, "degrees", theta=("0", "0", "0", "0.4"))
    assert np.abs(instance.base.votes - long.base.votes).sum() <= 4
    assert instance.base.facts["alpha"] == "0.05"


def voter_of(model, data, wrapper=None, **options):
    dataset = from_pyg(data, "graph")
    return make_module_voter(
        Called(model, wrapper).eval(), dataset.graph, Noise(("0.01", "0.6", "0", "0.3")), 0, 3, **options
    )


class Unknown(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.conv = geometric.EdgeConv(nn.Linear(48, 3))

    def forward(self, x, edge_index):
        return self.conv(x, edge_index)


@pytest.mark.parametrize(
    ("make", "kind", "split"),
    [
        (lambda: geometric.GCN(24, 8, 2, 3), FusedVoter, None),
        (lambda: zoo.Tutorial(), FusedVoter, None),
        (lambda: geometric.GCN(24, 8, 2, 3, jk="cat"), ModuleVoter, True),
        (lambda: geometric.GCN(24, 8, 3, 3), ModuleVoter, True),
        (lambda: geometric.GCN(24, 8, 2, 3, act="elu"), ModuleVoter, True),
        (lambda: geometric.GraphSAGE(24, 8, 2, 3, aggr="add"), ModuleVoter, True),
        (lambda: geometric.GraphSAGE(24, 8, 2, 3, aggr="max"), ModuleVoter, False),
        (lambda: geometric.GAT(24, 8, 2, 3), ModuleVoter, True),
        (lambda: geometric.GATConv(24, 3, heads=4, concat=False, add_self_loops=False), ModuleVoter, True),
        (lambda: geometric.GAT(24, 8, 2, 3, residual=True), ModuleVoter, False),
        (lambda: geometric.GIN(24, 8, 2, 3), ModuleVoter, True),
        (lambda: geometric.SGConv(24, 3, K=2), ModuleVoter, True),
        (lambda: geometric.GraphConv(24, 3), ModuleVoter, True),
        (Unknown, ModuleVoter, False),
    ],
)
def test_every_path_counts_the_votes_of_the_model(make, kind, split, data):
    """The chosen path against the plainest one: each sample on its own, dense."""
    model = make()
    voter = voter_of(model, data)
    assert type(voter) is kind
    if split is not None:
        assert voter.split is split
        assert (voter.batch > 1) is (kind is ModuleVoter and not isinstance(model, Unknown))
    plain = ModuleVoter(voter.graph, voter.noise, 0, Called(model).eval(), 3)
    wrong = np.abs(voter.count(16, 5, 40) - plain.count(16, 5, 40)).sum()
    assert wrong <= 4, "votes differ by more than rounding"


def test_batches_do_not_change_votes_and_are_refused_where_samples_see_each_other(data):
    with torch.random.fork_rng():
        torch.manual_seed(0)
        model = Unknown()
    alone, together = voter_of(model, data), voter_of(model, data, batch_size=7)
    assert (alone.batch, together.batch) == (1, 7)
    assert np.abs(alone.count(0, 3, 20) - together.count(0, 3, 20)).sum() <= 2
    with pytest.raises(InputError, match="side by side"):
        voter_of(zoo.Pooled(), data, batch_size=7)


def test_an_interrupted_run_continues_and_knows_its_model(data, tmp_path):
    model = geometric.GraphSAGE(24, 8, 2, 3)
    options = ATTRIBUTES | {"samples": 200, "selection": 50, "checkpoint": tmp_path / "votes.npz"}
    first = cc.smooth(model, data, **options)
    assert np.array_equal(cc.smooth(model, data, **options).base.votes, first.base.votes)
    with torch.no_grad():
        next(model.parameters()).add_(1)
    with pytest.raises(InputError, match="another model"):
        cc.smooth(model, data, **options)


def test_all_forms_of_data_give_the_same_instance(data):
    model = geometric.GraphSAGE(24, 8, 1, 3)
    options = ATTRIBUTES | {"samples": 50, "selection": 20, "check": False}
    expected = cc.smooth(model, data, **options)
    graph = expected.graph
    plain = networkx.from_scipy_sparse_array(graph.adjacency)
    for node in plain.nodes:
        plain.nodes[node].update(x=data.x[node].numpy(), y=int(data.y[node]))
    forms = {
        "networkx": plain,
        "index": (data.x, data.edge_index),
        "adjacency": (data.x.numpy(), sp.csr_matrix(graph.adjacency), data.y),
        "Graph": graph,
        "Dataset": zoo.DATASET,
    }
    for form, given in forms.items():
        found = cc.smooth(model, given, **options)
        assert np.array_equal(found.base.votes, expected.base.votes), form
        assert (found.labels is None) is (form in ("index", "Graph"))
        assert found.targets is not None
        assert len(found.targets) == graph.n_nodes, "no mask: all nodes are targets"


def test_other_ways_to_call_a_model(data):
    options = ATTRIBUTES | {"samples": 40, "selection": 10, "layers": 1}
    conv = geometric.GCNConv(24, 3)

    class OnMatrix(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.weight = nn.Parameter(torch.randn(24, 3))

        def forward(self, x, adjacency):
            return adjacency @ (x @ self.weight)

    assert cc.smooth(conv, data, edges="edge_weight", **options).layers == 1
    matrix = OnMatrix()
    voted = cc.smooth(matrix, data, edges="adjacency", edge_field="messages", **options)
    sums = geometric.SimpleConv(aggr="sum").eval()
    same = cc.smooth(matrix, data, wrapper=lambda model, x, edge_index: sums(x @ model.weight, edge_index), **options)
    assert np.abs(voted.base.votes - same.base.votes).sum() <= 2
    assert same.edge_field == "degrees", "whoever says only how many layers gets the larger field"


def test_masks_that_leave_nodes_out_are_kept(data, tmp_path):
    instance = cc.smooth(geometric.GraphSAGE(24, 8, 1, 3), data, **ATTRIBUTES, samples=30, selection=10)
    assert set(instance.split.tolist()) == {-1, 0, 2}
    cc.save_instance(tmp_path / "i.npz", instance)
    again = cc.load_instance(tmp_path / "i.npz")
    assert np.array_equal(again.split, instance.split)
    assert np.array_equal(again.select_targets("test"), np.flatnonzero(data.test_mask.numpy()))


def test_masks_and_parts_of_the_split_are_targets_everywhere(data):
    """One spelling in all ways in; the accuracy is that of the targets."""
    data = data.clone()
    data.val_mask = torch.arange(data.num_nodes) % 60 >= 50
    data.test_mask &= ~data.val_mask
    data.train_mask &= ~data.val_mask
    options = ATTRIBUTES | {"samples": 40, "selection": 10, "check": False}
    model = geometric.GraphSAGE(24, 8, 1, 3)
    every = np.arange(data.num_nodes)
    for given, wanted in (
        (data.val_mask, every[data.val_mask.numpy()]),
        (data.val_mask.numpy(), every[data.val_mask.numpy()]),
        (data.train_mask.tolist(), every[data.train_mask.numpy()]),
        ("val", every[data.val_mask.numpy()]),
        ("train", every[data.train_mask.numpy()]),
        (torch.tensor([3, 5]), [3, 5]),
        (None, every[data.test_mask.numpy()]),
        ("all", every),
    ):
        instance = cc.smooth(model, data, targets=given, **options)
        assert np.array_equal(instance.targets, wanted)
        right = instance.prediction == instance.labels
        assert instance.meta["accuracy"]["smoothed"] == pytest.approx(right[wanted].mean())
        assert np.array_equal(cc.ballots(torch.rand(120, 3), data, conversion="softmax", targets=given).targets, wanted)
        found = cc.certify(instance, attr_del=1, targets=given)
        assert np.array_equal(found.targets, len(wanted))
    again = cc.certify(instance, attr_del=1, protected=data.val_mask)
    assert again.certified == cc.certify(instance, attr_del=1, protected=np.flatnonzero(data.val_mask)).certified
    for wrong in (data.val_mask[:-1], torch.stack([data.val_mask] * 2, dim=1)):
        with pytest.raises(InputError, match="one boolean for each of 120 nodes"):
            cc.certify(instance, attr_del=1, targets=wrong)
        with pytest.raises(InputError, match="one boolean for each of 120 nodes"):
            cc.smooth(model, data, targets=wrong, **options)


@pytest.mark.parametrize("device", [None, "cpu", torch.device("cpu")])
def test_every_spelling_of_the_cpu_keeps_the_kernel(data, device, monkeypatch):
    seen = []
    count = FusedVoter.count
    monkeypatch.setattr(FusedVoter, "count", lambda self, *given: seen.append(1) or count(self, *given))
    cc.smooth(geometric.GCN(24, 8, 2, 3), data, samples=10, selection=5, device=device, **ATTRIBUTES)
    assert seen


def test_double_precision(data):
    """The model's own precision, in its own forward pass."""
    model = geometric.GCN(24, 8, 2, 3)
    options = ATTRIBUTES | {"samples": 60, "selection": 10}
    single = cc.smooth(model, data, **options)
    double = cc.smooth(model.double(), data, **options)
    assert np.abs(single.base.votes - double.base.votes).sum() <= 2
    assert "torch.float64" in double.meta["votes_note"]
    assert "votes_note" not in single.meta


WRONG = {
    "counts for probabilities": (lambda m, d: cc.smooth(m, d, attr_del=10), "no flip probability.*certify"),
    "one, as a whole number": (lambda m, d: cc.smooth(m, d, attr_del=1), "no flip probability"),
    "above one": (lambda m, d: cc.smooth(m, d, attr_del=1.5), "no flip probability"),
    "nothing smoothed": (lambda m, d: cc.smooth(m, d), "nothing is smoothed"),
    "no graph": (lambda m, d: cc.smooth(m, 3, attr_del=0.5), "expected a torch-geometric Data"),
    "no model": (lambda m, d: cc.smooth(3, d, attr_del=0.5), "expected a torch module"),
    "wrong width": (lambda m, d: cc.smooth(geometric.GCN(7, 8, 2, 3), d, attr_del=0.5), "does not run on this graph"),
    "too small a field": (lambda m, d: cc.smooth(m, d, attr_del=0.5, layers=1), "reads more than the declared"),
    "not derivable": (lambda m, d: cc.smooth(zoo.Pooled(), d, attr_del=0.5), "layers=K"),
    "a tuple of answers": (
        lambda m, d: cc.smooth(m, d, attr_del=0.5, wrapper=lambda m, x, e: (m(x, e), x)), "one row of scores per node"
    ),
    "unknown targets": (lambda m, d: cc.smooth(m, d, attr_del=0.5, targets="tests"), "expected 'all', 'train'"),
    "no samples": (lambda m, d: cc.smooth(m, d, attr_del=0.5, samples=0), "number of samples"),
}  # fmt: skip


@pytest.mark.parametrize("case", WRONG)
def test_what_is_wrong_is_said(case, data):
    call, why = WRONG[case]
    with pytest.raises(InputError, match=why):
        call(geometric.GCN(24, 8, 2, 3), data)


def test_data_are_not_changed_unless_asked_for(data):
    model = geometric.GCN(24, 8, 2, 3)
    options = ATTRIBUTES | {"samples": 20, "selection": 10, "check": False}
    weighted = data.clone()
    weighted.x = weighted.x / 2
    with pytest.raises(InputError, match="binarize"):
        cc.smooth(model, weighted, **options)
    assert cc.smooth(model, weighted, binarize=True, **options).graph.digest
    half = data.clone()
    half.edge_index = half.edge_index[:, half.edge_index[0] < half.edge_index[1]]
    with pytest.raises(InputError, match="undirected"):
        cc.smooth(model, half, **options)
    assert not cc.smooth(model, half, undirected=True, **options).graph.directed


def test_a_wrapper_that_trains_is_found_out(data):
    model = geometric.GCN(24, 8, 2, 3, norm="batch_norm")

    def stubborn(model, x, edge_index):
        return model.train()(x, edge_index)

    with pytest.raises(InputError, match=r"seen before|reads more"):
        cc.smooth(model, data, layers=2, wrapper=stubborn, **ATTRIBUTES)
