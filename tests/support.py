"""Small random instances, and the oracle: an adversary that tries every attack.

`brute_force` takes the engine's own objects, so any test can ask it what is true; all it trusts of the engine is how it
reads its input. That reading is what `tests/second_opinion.py` is for.
"""

from __future__ import annotations

import contextlib
import itertools
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np

from certcore import Graph, GridBase, Instance, ThreatModel
from certcore.domain.perturbations import TYPES
from certcore.result import attack


@contextlib.contextmanager
def few_steps() -> Iterator[None]:
    """For tests about something else than how good an attack is: two bursts around the greedy one, not 300 steps."""
    steps, attack.STEPS = attack.STEPS, 30
    try:
        yield
    finally:
        attack.STEPS = steps


def flood_fill(certified: Callable[[tuple[int, ...]], bool], limits: Sequence[int]) -> np.ndarray:
    """Front of one node from a membership test, by flood fill and thinning (the paper's algorithm 1).

    Only budgets up to `limits` are looked at, and only front points within them are returned.
    """
    start: tuple[int, ...] = (0, 0, 0, 0)
    visited = {start}
    waiting = [start]
    outside: set[tuple[int, ...]] = set()
    while waiting:
        budget = waiting.pop()
        if not certified(budget):
            outside.add(budget)
            continue
        for axis in range(4):
            if budget[axis] < limits[axis]:
                larger = (*budget[:axis], budget[axis] + 1, *budget[axis + 1 :])
                if larger not in visited:
                    visited.add(larger)
                    waiting.append(larger)
    steps = [step for step in itertools.product((0, 1), repeat=4) if any(step)]
    front = [
        point for point in outside if not any(tuple(np.subtract(point, step).tolist()) in outside for step in steps)
    ]
    return np.array(sorted(front), dtype=np.int64).reshape(-1, 4)


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


def random_threat(
    rng: np.random.Generator, instance: Instance, *, additions: bool = False, costs: bool = True
) -> ThreatModel:
    graph = instance.graph
    values: dict[str, Any] = {}
    for name in instance.base.axes:
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
    if costs and rng.random() < 0.2:
        values["node_costs"] = rng.integers(1, 3, graph.n_nodes)
        values["edge_costs"] = rng.integers(1, 3, graph.n_edges)
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


def brute_force(instance: Instance, threat: ThreatModel) -> int:
    """The most targets that any admissible integer allocation leaves uncertified, by enumeration."""
    graph = instance.graph
    n = graph.n_nodes
    targets = (instance.targets if threat.targets is None else threat.targets).tolist()  # type: ignore[union-attr]
    global_field = threat.adj_add > 0
    nodes_in = [set(range(n)) if global_field else hops(graph, t, instance.layers or 0) for t in targets]
    edges_in = [set(range(graph.n_edges)) if global_field else edge_field(instance, t) for t in targets]
    ones = graph.ones.tolist()
    edges = [tuple(e) for e in graph.edges.tolist()]
    dense = graph.adjacency.toarray()
    missing = [
        (i, j) for i in range(n) for j in range(n) if i != j and not dense[i, j] and (graph.directed or i < j)
    ]  # fmt: skip
    edge_costs = [1] * len(edges) if threat.edge_costs is None else list(threat.edge_costs)
    adds = _vectors(threat, 0, [graph.n_attrs - o for o in ones])
    dels = _vectors(threat, 1, ones)
    plus = _subsets(threat, 2, missing, [1] * len(missing), n)
    minus = _subsets(threat, 3, edges, edge_costs, n)
    # Rows: what is chosen of a type. Columns: how much of it is inside the field of a target.
    inside = [
        np.array([[sum(v[m] for m in field) for field in nodes_in] for v in adds]),
        np.array([[sum(v[m] for m in field) for field in nodes_in] for v in dels]),
        np.array([[len(chosen)] * len(targets) for chosen in plus]),
        np.array([[sum(e in field for e in chosen) for field in edges_in] for chosen in minus]),
    ]
    sides = [int(part.max(initial=0)) + 1 for part in inside]
    broken = np.array(
        [[not grid_certified(instance, t, budget) for budget in itertools.product(*map(range, sides))] for t in targets]
    ).reshape(len(targets), *sides)
    everything = np.ix_(*(range(len(part)) for part in inside))
    attacked = np.zeros([len(part) for part in inside], dtype=np.int64)
    for place in range(len(targets)):
        attacked += broken[place][tuple(part[i, place] for part, i in zip(inside, everything))]
    if threat.sigma is None:
        return int(attacked.max())
    for worst in np.argsort(-attacked, axis=None, kind="stable"):
        a, d, p, m = np.unravel_index(worst, attacked.shape)
        changed = {node for node in range(n) if adds[a][node] or dels[d][node]}
        flipped = [missing[e] for e in plus[p]] + [edges[e] for e in minus[m]]
        if coverable(changed, flipped, threat.sigma):
            return int(attacked[a, d, p, m])
    raise AssertionError("doing nothing needs no attacker")


def _vectors(threat: ThreatModel, kind: int, room: list[int]) -> list[tuple[int, ...]]:
    """All ways to spend a budget of attribute flips, as amounts at the nodes."""
    n, protected = len(room), set(np.asarray(threat.protected).tolist())
    limits, budget = _per_node(threat.local[kind], n), threat.budgets[kind]
    costs = [1] * n if threat.node_costs is None else list(threat.node_costs)
    found: list[tuple[tuple[int, ...], int]] = [((), 0)]
    for node in range(n):
        most = 0 if node in protected else min(room[node], limits[node])
        found = [
            ((*v, amount), spent + amount * int(costs[node]))
            for v, spent in found
            for amount in range(min(most, (budget - spent) // int(costs[node])) + 1)
        ]
    return [v for v, _ in found]


def _subsets(
    threat: ThreatModel, kind: int, pool: list[tuple[int, int]], costs: list[int], n: int
) -> list[tuple[int, ...]]:
    """All sets of pairs that a budget of edge flips admits."""
    protected = set(np.asarray(threat.protected).tolist())
    limits, budget = _per_node(threat.local[kind], n), threat.budgets[kind]
    usable = [e for e, (i, j) in enumerate(pool) if i not in protected and j not in protected]
    result = []
    for size in range(min(budget, len(usable)) + 1):
        for chosen in itertools.combinations(usable, size):
            at = [0] * n
            for e in chosen:
                at[pool[e][0]] += 1
                at[pool[e][1]] += 1
            if all(a <= b for a, b in zip(at, limits)) and sum(costs[e] for e in chosen) <= budget:
                result.append(chosen)
    return result


def _per_node(value: Any, n: int) -> list[int]:
    if value is None:
        return [10**6] * n
    return list(value) if isinstance(value, np.ndarray) else [int(value)] * n


def coverable(changed: set[int], flipped: list[tuple[int, int]], sigma: int) -> bool:
    """Whether some set of at most sigma attackers explains all changes."""
    open_ = [e for e in flipped if not (e[0] in changed or e[1] in changed)]
    if len(changed) > sigma:
        return False
    if not open_:
        return True
    return any(coverable(changed | {end}, open_, sigma) for end in open_[0])
