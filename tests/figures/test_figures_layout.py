"""Graphs of several components: each is drawn by itself, none on top of another, the largest in the middle."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

from certcore.domain.forces import make_room
from certcore.domain.graph import Graph
from certcore.domain.layout import components, layout_graph, quick_layout

LAYOUTS = {"stored": layout_graph, "quick": lambda graph: quick_layout(graph.n_nodes, graph.edges)}


def of_paths_and_a_blob(blob: int, others: list[int]) -> Graph:
    """A random tree with chords, and paths; the numbers of the nodes are shuffled."""
    rng = np.random.default_rng(1)
    pairs = [(i, int(rng.integers(0, i))) for i in range(1, blob)] + [(i, (i * 7 + 3) % blob) for i in range(blob)]
    start = blob
    for size in others:
        pairs += [(start + i, start + i + 1) for i in range(size - 1)]
        start += size
    edges = rng.permutation(start)[np.array([pair for pair in pairs if pair[0] != pair[1]])]
    return Graph.from_edges(start, edges, np.zeros((start, 1), dtype=np.int8))


@pytest.mark.parametrize("layout", LAYOUTS.values(), ids=LAYOUTS)
def test_components_stand_apart_with_the_largest_in_the_middle(layout: Callable[[Graph], np.ndarray]) -> None:
    graph = of_paths_and_a_blob(200, [20, 9, 5, 3, 3, 2, 2, 2, *[1] * 30])
    positions = layout(graph)
    assert np.isfinite(positions).all()
    assert np.array_equal(positions, layout(graph)), "the same picture every time"
    label = components(graph.n_nodes, graph.edges)
    boxes = [
        (positions[label == k].min(axis=0), positions[label == k].max(axis=0)) for k in range(int(label.max()) + 1)
    ]
    for i, (low, high) in enumerate(boxes):
        for other_low, other_high in boxes[:i]:
            assert (low > other_high).any() or (other_low > high).any(), "two components overlap"
    middle = (positions.min(axis=0) + positions.max(axis=0)) / 2
    assert (boxes[0][0] < middle).all()
    assert (middle < boxes[0][1]).all()


@pytest.mark.parametrize("layout", LAYOUTS.values(), ids=LAYOUTS)
@pytest.mark.parametrize("others", [[], [60], [60] * 7, [1] * 300])
def test_no_graph_is_a_streak(layout: Callable[[Graph], np.ndarray], others: list[int]) -> None:
    positions = layout(of_paths_and_a_blob(60, others))
    small, large = np.sqrt(np.linalg.eigvalsh(np.cov(positions.T.astype(float))))
    assert small > 0.25 * large


def test_a_picture_of_very_many_components_is_made_at_once() -> None:
    graph = of_paths_and_a_blob(5000, [3] * 1500 + [2] * 3000 + [1] * 4500)
    positions = LAYOUTS["quick"](graph)
    low, high = positions.min(axis=0), positions.max(axis=0)
    assert 0.3 < (high - low)[1] / (high - low)[0] < 1.5
    assert len(np.unique(positions, axis=0)) == graph.n_nodes, "no node hides another"


@pytest.mark.parametrize("n_nodes", [0, 1, 2, 3])
def test_the_smallest_graphs(n_nodes: int) -> None:
    assert quick_layout(n_nodes, np.zeros((0, 2), dtype=np.int64)).shape == (n_nodes, 2)


def test_nodes_have_room_and_clusters_stand_apart() -> None:
    """Two cliques joined by one edge: apart from each other, and nobody on top of anybody."""
    first = [(i, j) for i in range(12) for j in range(i)]
    edges = np.array(first + [(i + 12, j + 12) for i, j in first] + [(0, 12)])
    places = layout_graph(Graph.from_edges(24, edges, np.zeros((24, 1), dtype=np.int8)))
    near = np.linalg.norm(places[:, None] - places[None], axis=2)
    np.fill_diagonal(near, np.inf)
    assert near.min() > 0.02
    middle = np.linalg.norm(places[:12].mean(axis=0) - places[12:].mean(axis=0))
    spread = max(places[:12].std(axis=0).max(), places[12:].std(axis=0).max())
    assert middle > 2 * spread


def test_making_room_keeps_what_is_far_apart() -> None:
    points = np.concatenate([np.zeros((5, 2)), np.random.default_rng(0).random((200, 2)) * 100])
    moved = make_room(points)
    assert np.linalg.norm(moved[0] - moved[1]) > 1
    assert np.abs(moved[5:] - points[5:]).max() < 12
