"""Declared fields against what small networks really read."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp

from certcore import Graph, GridBase, InputError, Instance, ThreatModel, certify
from certcore.instance.fields import hop_fields
from certcore.program.groups import merge_rows
from tests.support import edge_field, hops, random_graph


def gcn(graph: Graph, dense: np.ndarray, x: np.ndarray, normalisation: str, layers: int, seed: int) -> np.ndarray:
    """A small GCN written down from its formula; dense[i, j] means i receives from j, self loops are added."""
    a = dense + np.eye(len(dense))
    degree = a.sum(axis=1)
    if normalisation == "symmetric":
        a = a / np.sqrt(degree)[:, None] / np.sqrt(degree)[None, :]
    else:
        a = a / degree[:, None]
    rng = np.random.default_rng(seed)
    h = x
    for layer in range(layers):
        h = a @ h @ rng.normal(size=(h.shape[1], 4))
        if layer < layers - 1:
            h = np.maximum(h, 0)
    return h


def moved(graph: Graph, edge: int, normalisation: str, layers: int) -> np.ndarray:
    """Which nodes' outputs move when one edge goes."""
    dense = graph.adjacency.toarray().astype(float)
    x = graph.attributes.toarray() + 0.3
    i, j = graph.edges[edge]
    less = dense.copy()
    less[i, j] = 0
    if not graph.directed:
        less[j, i] = 0
    before, after = (gcn(graph, d, x, normalisation, layers, 1) for d in (dense, less))
    return np.abs(before - after).max(axis=1) > 1e-12


@pytest.mark.parametrize("seed", range(12))
@pytest.mark.parametrize("layers", [1, 2, 3])
@pytest.mark.parametrize("directed", [False, True])
@pytest.mark.parametrize(
    ("normalisation", "rule"), [("symmetric", "degrees"), ("rows", "messages"), ("rows", "degrees")]
)
def test_no_edge_outside_the_field_moves_an_output(
    seed: int, layers: int, directed: bool, normalisation: str, rule: str
) -> None:
    graph = random_graph(np.random.default_rng(seed), 9, 3, 0.2, directed)
    field = hop_fields(graph, np.arange(9), layers, rule).edges
    assert field is not None
    for edge in range(graph.n_edges):
        outside = field.toarray()[:, edge] == 0
        assert not (moved(graph, edge, normalisation, layers) & outside).any()


def test_symmetric_gcn_reads_an_edge_that_messages_leaves_out() -> None:
    """A path of four nodes: the two-layer GCN's output at node 0 moves when edge (2, 3) goes."""
    graph = Graph.from_edges(4, np.array([[0, 1], [1, 2], [2, 3]]), np.eye(4, dtype=np.int8))
    assert moved(graph, 2, "symmetric", 2)[0]
    assert not moved(graph, 2, "rows", 2)[0]
    inside = {r: hop_fields(graph, np.arange(4), 2, r).edges.toarray()[0, 2] for r in ("messages", "degrees")}
    assert inside == {"messages": 0, "degrees": 1}


@pytest.mark.parametrize("seed", range(8))
def test_attributes_outside_the_field_move_nothing(seed: int) -> None:
    rng = np.random.default_rng(seed)
    graph = random_graph(rng, 8, 3, 0.2, directed=seed % 2 == 1)
    field = hop_fields(graph, np.arange(8), 2, "degrees").nodes.toarray()
    dense, x = graph.adjacency.toarray().astype(float), graph.attributes.toarray().astype(float)
    for node in range(8):
        flipped = x.copy()
        flipped[node] = 1 - flipped[node]
        change = np.abs(gcn(graph, dense, x, "symmetric", 2, 1) - gcn(graph, dense, flipped, "symmetric", 2, 1)).max(
            axis=1
        )
        assert not ((change > 1e-12) & (field[:, node] == 0)).any()


@pytest.mark.parametrize("seed", range(10))
@pytest.mark.parametrize("rule", ["messages", "degrees"])
@pytest.mark.parametrize("layers", [0, 1, 2])
def test_fields_equal_a_search_written_twice(seed: int, rule: str, layers: int) -> None:
    rng = np.random.default_rng(seed)
    graph = random_graph(rng, 7, 2, 0.3, directed=seed % 2 == 0)
    targets = np.sort(rng.permutation(7)[:4])
    fields = hop_fields(graph, targets, layers, rule)
    base = GridBase(np.ones((7, 2), dtype=bool), ("attr_del",))
    instance = Instance(graph, base, layers, rule)
    for row, node in enumerate(targets.tolist()):
        assert set(fields.nodes[[row]].indices.tolist()) == hops(graph, node, layers)
        assert set(fields.edges[[row]].indices.tolist()) == edge_field(instance, node)


def test_explicit_fields_hold_for_attributes_only() -> None:
    graph = random_graph(np.random.default_rng(0), 5, 2, 0.5)
    base = GridBase(np.ones((5, 2, 2), dtype=bool), ("attr_del", "adj_del"))
    instance = Instance(graph, base, node_field=graph.adjacency)
    assert certify(instance, ThreatModel(attr_del=1)).certified == 5
    for name in ("adj_del", "adj_add"):
        with pytest.raises(InputError, match="explicit node fields"):
            certify(instance, ThreatModel(**{name: 1}))
    smoothed = GridBase(base.grid, base.axes, fixed_adjacency=False)
    with pytest.raises(InputError, match="explicit fields hold only while the adjacency is fixed"):
        Instance(graph, smoothed, node_field=graph.adjacency)


def test_smoothing_that_adds_edges_makes_fields_global() -> None:
    graph = Graph.from_edges(4, np.array([[0, 1]]), np.ones((4, 2), dtype=np.int8))
    grid = np.array([[1, 1, 0]] * 4, dtype=bool)
    local = certify(Instance(graph, GridBase(grid, ("attr_del",)), 1), ThreatModel(attr_del=2))
    everywhere = certify(Instance(graph, GridBase(grid, ("attr_del",), global_fields=True), 1), ThreatModel(attr_del=2))
    assert local.certified == 2
    assert everywhere.certified == 0


def test_a_collision_of_hashes_merges_nothing_that_differs(monkeypatch: pytest.MonkeyPatch) -> None:
    """Targets are merged when their rows are equal, not when their hashes are."""
    rng = np.random.default_rng(4)
    rows = [sp.csr_array((rng.random((60, 3)) < 0.5).astype(np.int32)) for _ in range(2)]
    labels = rng.integers(0, 2, 60)
    whole = np.column_stack([labels, *(matrix.toarray() for matrix in rows)])
    for collide in (False, True):
        if collide:
            monkeypatch.setattr("certcore.program.groups._row_sums", lambda salt, matrix: np.zeros(60, dtype=np.uint64))
        representative, group = merge_rows(labels, rows, np.arange(60))
        assert np.array_equal(whole[representative[group]], whole)


def test_as_many_paths_as_a_byte_holds_are_not_none() -> None:
    """Two nodes joined by 256 paths are in each other's fields, although patterns have a byte an entry."""
    middle = np.arange(2, 258)
    edges = np.concatenate([np.stack([np.full(256, end), middle], axis=1) for end in (0, 1)])
    field = hop_fields(Graph.from_edges(258, edges, n_attrs=1), np.array([0]), 2, "degrees")
    assert field.nodes.nnz == 258
    assert field.edges is not None
    assert field.edges.nnz == len(edges)
