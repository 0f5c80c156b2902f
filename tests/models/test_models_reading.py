"""What a module reads is derived from its calls: never too little, and refused where it is not certain."""

from __future__ import annotations

import numpy as np
import pytest

pytest.importorskip("torch_geometric")

import torch
import torch_geometric.nn as geometric
from torch import nn

from certcore.domain.graph import Graph
from certcore.instance.fields import hop_fields
from certcore.models.called import Called
from certcore.models.reading import LAYERS, Unreadable, read_module
from certcore.votes.module import clean_input
from tests.pipeline import zoo

N, D = 8, 5


def graphs(count: int) -> list[Graph]:
    """Small graphs with few edges, so that fields end before the graph does; one is directed."""
    random = np.random.default_rng(0)
    found = []
    path = np.stack([np.arange(N - 1), np.arange(1, N)], axis=1)
    for number in range(count):
        edges = path[random.random(N - 1) < 0.9] if number % 2 else random.integers(0, N, (7, 2))
        edges = edges[edges[:, 0] != edges[:, 1]]
        x = (random.random((N, D)) < 0.5).astype(np.int8)
        found.append(Graph.from_edges(N, edges, x, directed=number == 2))
    return found


def layer(kind: type) -> nn.Module:
    """A layer of each known kind from D to D columns."""
    if kind is geometric.GINConv:
        return kind(geometric.MLP([D, D, D], norm="batch_norm"))
    if kind in (geometric.SimpleConv,):
        return kind(aggr="mean", combine_root="sum")
    if kind is geometric.LGConv:
        return kind()
    if kind is geometric.APPNP:
        return kind(K=2, alpha=0.1)
    if kind is geometric.GCN2Conv:
        return kind(D, alpha=0.1)
    if kind in (geometric.SGConv, geometric.TAGConv):
        return kind(D, D, K=2)
    if kind is geometric.SSGConv:
        return kind(D, D, alpha=0.1, K=2)
    return kind(D, D)


def called(module: nn.Module) -> Called:
    """In evaluation mode, with weights that hide nothing behind a dead unit."""
    wrapper = None
    if isinstance(module, geometric.GCN2Conv):
        wrapper = lambda model, x, edge_index: model(x, x, edge_index)  # noqa: E731
    return Called(module, wrapper).eval().double()


def scores(model: Called, graph: Graph, x: np.ndarray, kept: np.ndarray) -> np.ndarray:
    edges = graph.edges[kept]
    edges = edges if graph.directed else np.concatenate([edges, edges[:, ::-1]])
    with torch.no_grad():
        return model(torch.from_numpy(x).double(), torch.from_numpy(edges[:, ::-1].T.copy())).numpy()


def violations(model: Called, graph: Graph, layers: int, rule: str) -> int:
    """All single attribute flips and all deletions of one or two edges, looked at from all nodes outside."""
    fields = hop_fields(graph, np.arange(N), layers, rule)
    near, links = fields.nodes.toarray() > 0, fields.edges.toarray() > 0
    x = graph.attributes.toarray().astype(float)
    everything = np.ones(graph.n_edges, dtype=bool)
    clean = scores(model, graph, x, everything)
    found = 0
    for node in range(N):
        for column in range(D):
            other = x.copy()
            other[node, column] = 1 - other[node, column]
            moved = np.abs(scores(model, graph, other, everything) - clean).max(axis=1) > 1e-9
            found += int((moved & ~near[:, node]).sum())
    for one in range(graph.n_edges):
        for two in range(one, graph.n_edges):
            kept = everything.copy()
            kept[[one, two]] = False
            moved = np.abs(scores(model, graph, x, kept) - clean).max(axis=1) > 1e-9
            found += int((moved & ~links[:, [one, two]].any(axis=1)).sum())
    return found


@pytest.mark.parametrize("kind", LAYERS, ids=lambda kind: kind.__name__)
def test_every_known_layer_reads_what_the_table_says(kind):
    """By enumeration: every flip outside the derived field, on every node."""
    torch.manual_seed(3)
    model = called(layer(kind))
    weaker = 0
    for graph in graphs(3):
        reading = read_module(model, *(t.double() if t.is_floating_point() else t for t in clean_input(graph)))
        assert violations(model, graph, reading.layers, reading.edge_field) == 0
        if reading.degrees:
            weaker += violations(model, graph, reading.layers, "messages")
        weaker += violations(model, graph, reading.layers - 1, reading.edge_field)
    assert weaker > 0, "the enumeration can see a field that is too small"


@pytest.mark.parametrize(
    ("model", "layers", "rule"),
    [
        (geometric.GCN(24, 8, 2, 3), 2, "degrees"),
        (geometric.GCN(24, 8, 3, 3, norm="batch_norm", jk="lstm"), 3, "degrees"),
        (geometric.GCN(24, 8, 2, 3, normalize=False), 2, "messages"),
        (geometric.GraphSAGE(24, 8, 3, 3, jk="cat", dropout=0.5), 3, "messages"),
        (geometric.GAT(24, 8, 2, 3, heads=2, v2=True), 2, "messages"),
        (geometric.GIN(24, 8, 2, 3, norm="batch_norm"), 2, "messages"),
        (zoo.Tutorial(), 2, "degrees"),
        (zoo.Repeated(), 3, "messages"),
        (
            geometric.Sequential(
                "x, edge_index", [(geometric.GCNConv(24, 8), "x, edge_index -> x"), nn.ReLU(), nn.Linear(8, 3)]
            ),
            1,
            "degrees",
        ),
        (geometric.MLP([24, 8, 3]), 0, "messages"),
    ],
    ids=lambda value: type(value).__name__ if isinstance(value, nn.Module) else str(value),
)
def test_networks_are_read(model, layers, rule):
    wrapper = zoo.without_edges if isinstance(model, geometric.MLP) else None
    reading = read_module(Called(model, wrapper).eval(), *clean_input(zoo.DATASET.graph))
    assert (reading.layers, reading.edge_field) == (layers, rule)


class Own(geometric.GCNConv):
    """Inherits from a known layer, and may compute anything."""

    def forward(self, x, edge_index, edge_weight=None):
        return super().forward(x, edge_index) + x.mean()


def hooked() -> nn.Module:
    model = geometric.GCN(24, 8, 2, 3)
    model.convs[0].register_forward_hook(lambda module, given, answer: answer + answer.mean(dim=0))
    return model


def replaced() -> nn.Module:
    model = geometric.GCN(24, 8, 2, 3)
    model.convs[1].forward = lambda x, edge_index, edge_weight=None: x[:, :3].mean(dim=0, keepdim=True) + x[:, :3]
    return model


REFUSED = {
    "pooling": (zoo.Pooled, "mean"),
    "virtual node": (zoo.VirtualNode, "stand-ins"),
    "an alias changed in place": (zoo.Aliased, "other scores"),
    "numbers that broadcast": (zoo.PerNode, "no table"),
    "inherited layer": (lambda: Own(24, 3), "none of the layers"),
    "graph norm": (lambda: geometric.GCN(24, 8, 2, 3, norm="graph_norm"), "GraphNorm"),
    "layer norm over the graph": (lambda: geometric.GCN(24, 8, 2, 3, norm="layer_norm"), "whole graph"),
    "no running statistics": (
        lambda: geometric.GCN(24, 8, 2, 3, norm="batch_norm", norm_kwargs={"track_running_stats": False}),
        "whole graph|statistics",
    ),
    "cache": (lambda: geometric.GCN(24, 8, 2, 3, cached=True), "caches"),
    "hook": (hooked, "hooks"),
    "replaced method": (replaced, "replaced"),
    "other direction": (lambda: geometric.GCNConv(24, 3, flow="target_to_source"), "direction"),
    "another aggregation": (lambda: geometric.SAGEConv(24, 3, aggr="softmax"), "aggregation"),
    "unknown layer": (lambda: geometric.ChebConv(24, 3, K=2), "none of the layers"),
}


@pytest.mark.parametrize("case", REFUSED)
def test_what_is_not_certain_is_refused_with_its_name(case):
    make, why = REFUSED[case]
    with pytest.raises(Unreadable, match=why):
        read_module(Called(make()).eval(), *clean_input(zoo.DATASET.graph))


def test_training_mode_is_refused():
    with pytest.raises(Unreadable, match="training mode"):
        read_module(Called(zoo.Tutorial()), *clean_input(zoo.DATASET.graph))


def test_a_result_written_into_another_value_is_refused():
    """`float()` gives the same memory in single precision: two hops were told as none, and `check_field` saw a copy."""

    class Hidden(nn.Module):
        def __init__(self):
            super().__init__()
            self.lin, self.conv = nn.Linear(D, 3), geometric.GCNConv(D, 3)

        def forward(self, x, edge_index):
            own = self.lin(x)
            torch.sub(self.conv(x, edge_index), 0, out=own.float().detach())
            return own

    with pytest.raises(Unreadable, match="writes what sub gives into another value"):
        read_module(Hidden().eval(), *clean_input(graphs(1)[0]))


def test_rows_are_normalised_into_a_new_value_only():
    """`F.normalize` is recorded with out=None; with a value there, that value changes unseen."""

    class Normalised(nn.Module):
        def __init__(self, hidden: bool) -> None:
            super().__init__()
            self.conv, self.hidden = geometric.GCNConv(D, 3), hidden

        def forward(self, x, edge_index):
            h = self.conv(x, edge_index)
            out = h.float().detach() if self.hidden else None
            return torch.nn.functional.normalize(h, dim=1, out=out)

    given = clean_input(graphs(1)[0])
    assert read_module(Normalised(hidden=False).eval(), *given).layers == 1
    with pytest.raises(Unreadable, match="writes what normalize gives into another value"):
        read_module(Normalised(hidden=True).eval(), *given)
