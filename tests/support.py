"""Small random instances, and the oracle: an adversary that tries every attack.

`brute_force` takes the engine's own objects, so any test can ask it what is true; all it trusts of the engine is how it
reads its input. That reading is what `tests/second_opinion.py` is for.
"""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np

from certcore import Graph, GridBase, Instance, ThreatModel
from certcore.domain.perturbations import TYPES


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
    nodes_in = {t: set(range(n)) if global_field else hops(graph, t, instance.layers or 0) for t in targets}
    edges_in = {t: set(range(graph.n_edges)) if global_field else edge_field(instance, t) for t in targets}
    protected = set(np.asarray(threat.protected).tolist())
    ones = graph.ones.tolist()
    limits = [_per_node(value, n) for value in threat.local]
    node_costs = [1] * n if threat.node_costs is None else list(threat.node_costs)
    edge_costs = [1] * graph.n_edges if threat.edge_costs is None else list(threat.edge_costs)
    edges = [tuple(e) for e in graph.edges.tolist()]
    dense = graph.adjacency.toarray()
    missing = [
        (i, j) for i in range(n) for j in range(n) if i != j and not dense[i, j] and (graph.directed or i < j)
    ]  # fmt: skip

    def vectors(kind: int, room: list[int]) -> list[tuple[int, ...]]:
        sides = [
            range((0 if m in protected else min(room[m], limits[kind][m], threat.budgets[kind])) + 1) for m in range(n)
        ]
        return [
            v for v in itertools.product(*sides) if sum(a * c for a, c in zip(v, node_costs)) <= threat.budgets[kind]
        ]

    def subsets(kind: int, pool: list[tuple[int, int]], costs: list[int]) -> list[tuple[int, ...]]:
        usable = [e for e, (i, j) in enumerate(pool) if i not in protected and j not in protected]
        result = []
        for size in range(min(threat.budgets[kind], len(usable)) + 1):
            for chosen in itertools.combinations(usable, size):
                at = [0] * n
                for e in chosen:
                    at[pool[e][0]] += 1
                    at[pool[e][1]] += 1
                if (
                    all(a <= b for a, b in zip(at, limits[kind]))
                    and sum(costs[e] for e in chosen) <= threat.budgets[kind]
                ):
                    result.append(chosen)
        return result

    best = 0
    for adds in vectors(0, [graph.n_attrs - o for o in ones]):
        for dels in vectors(1, ones):
            changed = {m for m in range(n) if adds[m] or dels[m]}
            if threat.sigma is not None and len(changed) > threat.sigma:
                continue
            for plus in subsets(2, missing, [1] * len(missing)):
                for minus in subsets(3, edges, edge_costs):
                    flipped = [missing[e] for e in plus] + [edges[e] for e in minus]
                    if threat.sigma is not None and not coverable(changed, flipped, threat.sigma):
                        continue
                    attacked = 0
                    for t in targets:
                        inside = (
                            sum(adds[m] for m in nodes_in[t]),
                            sum(dels[m] for m in nodes_in[t]),
                            len(plus),
                            sum(e in edges_in[t] for e in minus),
                        )
                        attacked += not grid_certified(instance, t, inside)
                    best = max(best, attacked)
    return best


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
