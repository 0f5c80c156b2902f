"""Random graphs, grids and threat models, and fields and grids read straight from the words of the design."""

from __future__ import annotations

import contextlib
import itertools
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np

from certcore import Graph, GridBase, Instance, ThreatModel
from certcore.domain.perturbations import FLIPS, TYPES
from certcore.result import attack


@contextlib.contextmanager
def few_steps() -> Iterator[None]:
    """For tests about something else than how good an attack is: two bursts around the greedy one, not 300 steps."""
    steps, attack.STEPS = attack.STEPS, 30
    try:
        yield
    finally:
        attack.STEPS = steps


@contextlib.contextmanager
def unhurried() -> Iterator[None]:
    """For recorded attacks: the number of steps ends a search, not the clock."""
    seconds, attack.SECONDS = attack.SECONDS, 1e6
    try:
        yield
    finally:
        attack.SECONDS = seconds


def flood_fill(certified: Callable[[tuple[int, ...]], bool], limits: Sequence[int]) -> np.ndarray:
    """Front of one node from a membership test, by flood fill and thinning (the paper's algorithm 1).

    Only budgets up to `limits` are looked at, and only front points within them are returned.
    """
    start: tuple[int, ...] = (0,) * len(limits)
    visited = {start}
    waiting = [start]
    outside: set[tuple[int, ...]] = set()
    while waiting:
        budget = waiting.pop()
        if not certified(budget):
            outside.add(budget)
            continue
        for axis in range(len(limits)):
            if budget[axis] < limits[axis]:
                larger = (*budget[:axis], budget[axis] + 1, *budget[axis + 1 :])
                if larger not in visited:
                    visited.add(larger)
                    waiting.append(larger)
    steps = [step for step in itertools.product((0, 1), repeat=len(limits)) if any(step)]
    front = [
        point for point in outside if not any(tuple(np.subtract(point, step).tolist()) in outside for step in steps)
    ]
    return np.array(sorted(front), dtype=np.int64).reshape(-1, len(limits))


def of_flips(points: np.ndarray) -> list[tuple[int, ...]]:
    """The points of a front that need nothing but flips of bits, over those four types."""
    mine = points[points[:, len(FLIPS) :].sum(axis=1) == 0, : len(FLIPS)]
    return sorted(map(tuple, mine.tolist()))


def random_graph(rng: np.random.Generator, n: int, n_attrs: int, density: float, directed: bool = False) -> Graph:
    pairs = np.array([(i, j) for i in range(n) for j in range(n) if i != j and (directed or i < j)]).reshape(-1, 2)
    edges = pairs[rng.random(len(pairs)) < density]
    attributes = (rng.random((n, n_attrs)) < 0.5).astype(np.int8)
    return Graph.from_edges(n, edges, attributes, directed=directed, n_attrs=n_attrs)


def random_grid(rng: np.random.Generator, n: int, sides: tuple[int, ...]) -> np.ndarray:
    """A random monotone grid: certified where a random increasing score stays below a threshold of the node."""
    score = np.zeros(sides)
    for axis, side in enumerate(sides):
        steps = np.concatenate([[0.0], np.cumsum(rng.random(side - 1) + 0.05)])
        score = score + steps.reshape([-1 if a == axis else 1 for a in range(len(sides))])
    threshold = rng.random(n) * (score.max() * 1.1) - 0.1
    return score[None] < threshold.reshape(-1, *([1] * len(sides)))


def random_instance(rng: np.random.Generator, *, max_nodes: int = 6, axes: tuple[str, ...] | None = None) -> Instance:
    n = int(rng.integers(2, max_nodes + 1))
    graph = random_graph(rng, n, int(rng.integers(1, 4)), float(rng.uniform(0.2, 0.8)), bool(rng.random() < 0.3))
    if axes is None:
        count = int(rng.integers(1, 3))
        axes = tuple(rng.permutation(["attr_add", "attr_del", "adj_del"])[:count].tolist())
    sides = tuple(int(rng.integers(2, 5)) for _ in axes)
    targets = np.sort(rng.permutation(n)[: int(rng.integers(1, n + 1))])
    return Instance(
        graph,
        GridBase(random_grid(rng, n, sides), axes),
        layers=int(rng.integers(0, 3)),
        edge_field=str(rng.choice(["degrees", "messages"])),
        targets=targets,
        split=np.full(n, 2),
    )


def random_threat(rng: np.random.Generator, instance: Instance, *, additions: bool = False) -> ThreatModel:
    graph = instance.graph
    values: dict[str, Any] = {}
    for name in (name for name in instance.base.axes if name in FLIPS):
        values[name] = int(rng.integers(0, 4))
        if rng.random() < 0.4:
            per_node = rng.random() < 0.5
            values[f"local_{name}"] = rng.integers(0, 3, graph.n_nodes) if per_node else int(rng.integers(0, 3))
    if additions:
        values["adj_add"] = int(rng.integers(1, 3))
    if rng.random() < 0.5:
        values["sigma"] = int(rng.integers(0, graph.n_nodes + 1))
    if rng.random() < 0.2:
        values["protected"] = np.flatnonzero(rng.random(graph.n_nodes) < 0.3)
    return ThreatModel(**values)


def hops(graph: Graph, node: int, k: int) -> set[int]:
    """Nodes within k hops, following messages from receiver to sender."""
    dense = graph.adjacency.toarray()
    seen = {node}
    for _ in range(k):
        seen |= {j for i in seen for j in range(graph.n_nodes) if dense[i, j]}
    return seen


def edge_field(instance: Instance, node: int) -> set[int]:
    """Positions of the edges in a node's field, straight from the words of the design."""
    graph, k = instance.graph, instance.layers
    assert k is not None
    near, outer = hops(graph, node, k - 1) if k else set(), hops(graph, node, k)
    result = set()
    for e, (i, j) in enumerate(graph.edges.tolist()):
        if instance.edge_field == "degrees":
            inside = i in outer or j in outer
        elif graph.directed:
            inside = i in near
        else:
            inside = i in near or j in near
        if inside:
            result.add(e)
    return result


def grid_certified(instance: Instance, node: int, budget: tuple[int, ...]) -> bool:
    """Look one budget up in the grid itself; beyond its end, or on a missing axis, nothing is certified."""
    base = instance.base
    assert isinstance(base, GridBase)
    index = []
    for name, amount in zip(TYPES, budget):
        if name not in base.axes and amount > 0:
            return False
    for name, side in zip(base.axes, base.grid.shape[1:]):
        amount = budget[TYPES.index(name)]
        if amount >= side:
            return False
        index.append(amount)
    return bool(base.grid[(node, *index)])
