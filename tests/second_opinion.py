"""What is true of tiny tasks, by enumeration: written from the design alone, without any code of the engine.

A `Case` is a plain description of a tiny graph, grid and threat model; `truth` enumerates its attacks. The rows of the
programs are the business of the other second opinion, the small checker (`certcore_check`, tests/checker).

It differs from the oracle in `tests/support.py` in what it doubts: the reading of shares, costs, explicit fields and
fronts too.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import Any

import numpy as np
import scipy.sparse as sp

from certcore import Graph, GridBase, Instance, ThreatModel
from certcore.domain.perturbations import TYPES

Budget = tuple[int, ...]
SHARES = ("0", "0.1", "0.25", "0.34", "0.5", "0.67", "0.999", "1", "1.5")


@dataclass
class Case:
    """A tiny certification task in plain Python."""

    n: int
    directed: bool
    edges: list[tuple[int, int]]
    attributes: np.ndarray
    layers: int
    rule: str
    explicit: np.ndarray | None
    axes: tuple[str, ...]
    grid: np.ndarray
    targets: list[int]
    budget: dict[str, int]
    mode: str
    local: dict[str, Any]
    sigma: int | None
    protected: list[int]
    node_costs: list[int]
    edge_costs: list[int]
    global_fields: bool

    def build(self) -> tuple[Instance, ThreatModel]:
        """The same task as the engine wants it."""
        pairs = np.array(self.edges, dtype=int).reshape(-1, 2)
        graph = Graph.from_edges(self.n, pairs, self.attributes, directed=self.directed)
        instance = Instance(
            graph,
            GridBase(self.grid, self.axes, global_fields=self.global_fields),
            self.layers,
            self.rule,
            node_field=None if self.explicit is None else sp.csr_array(self.explicit),
        )
        threat = ThreatModel(
            **self.budget,
            **{f"local_{name}": value for name, value in self.local.items()},
            local_mode=self.mode,
            sigma=self.sigma,
            targets=np.array(self.targets),
            protected=self.protected,
            node_costs=self.node_costs if max(self.node_costs) > 1 else None,
            edge_costs=self.edge_costs if max(self.edge_costs, default=1) > 1 else None,
        )
        return instance, threat

    @property
    def whole_graph(self) -> bool:
        return self.global_fields or self.budget["adj_add"] > 0

    @cached_property
    def ones(self) -> list[int]:
        return self.attributes.sum(axis=1).astype(int).tolist()

    @cached_property
    def limits(self) -> dict[str, list[int]]:
        """Local budgets as counts."""
        result = {}
        at_node = [sum(m in edge for edge in self.edges) for m in range(self.n)]
        for name in TYPES:
            value = self.local.get(name, 10**6)
            values = list(value) if isinstance(value, list | np.ndarray) else [value] * self.n
            if self.mode == "relative" and name in self.local:
                has = self.ones if name.startswith("attr") else at_node
                values = [math.floor(Fraction(share) * count) for share, count in zip(values, has)]
            result[name] = [int(v) for v in values]
        return result

    @cached_property
    def free_edges(self) -> list[int]:
        return [e for e, ends in enumerate(self.edges) if not set(ends) & set(self.protected)]

    @cached_property
    def capacity(self) -> dict[str, list[int]]:
        """Flips that a node can take: its local budget, what exists, protection."""
        width = self.attributes.shape[1]
        exists = {
            "attr_add": [width - o for o in self.ones],
            "attr_del": self.ones,
            "adj_del": [sum(m in self.edges[e] for e in self.free_edges) for m in range(self.n)],
        }
        return {
            name: [0 if m in self.protected else min(self.limits[name][m], counts[m]) for m in range(self.n)]
            for name, counts in exists.items()
        }

    @cached_property
    def distance(self) -> list[list[int]]:
        """Hops from receiver to sender, by repeated relaxation."""
        arcs = self.edges + ([] if self.directed else [(j, i) for i, j in self.edges])
        far = [[0 if i == j else 99 for j in range(self.n)] for i in range(self.n)]
        for _ in range(self.n):
            for row in far:
                for receiver, sender in arcs:
                    row[sender] = min(row[sender], row[receiver] + 1)
        return far

    def nodes_of(self, target: int) -> list[int]:
        if self.whole_graph:
            return list(range(self.n))
        if self.explicit is not None:
            return np.flatnonzero(self.explicit[target]).tolist()
        return [m for m in range(self.n) if self.distance[target][m] <= self.layers]

    def edges_of(self, target: int) -> list[int]:
        if self.whole_graph:
            return list(range(len(self.edges)))
        far, k = self.distance[target], self.layers
        chosen = []
        for e, (i, j) in enumerate(self.edges):
            if self.rule == "degrees":
                inside = min(far[i], far[j]) <= k
            elif self.directed:
                inside = far[i] <= k - 1
            else:
                inside = min(far[i], far[j]) <= k - 1 and max(far[i], far[j]) <= k
            if inside and self.explicit is None:
                chosen.append(e)
        return chosen

    def front(self, node: int) -> list[Budget]:
        """Minimal uncertified budgets by definition."""
        sides = dict(zip(self.axes, self.grid.shape[1:]))

        def certified(budget: Budget) -> bool:
            given = dict(zip(TYPES, budget))
            if any(amount and name not in sides for name, amount in given.items()):
                return False
            index = tuple(given[name] for name in self.axes)
            return all(given[name] < side for name, side in sides.items()) and bool(self.grid[(node, *index)])

        box = itertools.product(*(range(sides.get(name, 1) + 1) for name in TYPES))
        outside = [budget for budget in box if not certified(budget)]
        return [b for b in outside if not any(o != b and _reaches(b, o) for o in outside)]


def _reaches(budget: Budget, point: Budget) -> bool:
    return all(x >= p for x, p in zip(budget, point))


def random_case(rng: np.random.Generator) -> Case:
    """Everything a threat model can say, on at most five nodes and seven edges."""
    n, width = int(rng.integers(1, 6)), int(rng.integers(0, 4))
    directed, additions = bool(rng.random() < 0.35), bool(rng.random() < 0.12)
    pairs = [(i, j) for i in range(n) for j in range(n) if i != j and (directed or i < j)]
    density = rng.uniform(0.15, 0.9)
    edges = [pairs[i] for i in sorted(rng.permutation(len(pairs))[:7].tolist()) if rng.random() < density]
    pool = ["attr_add", "attr_del", "adj_del"] + (["adj_add"] if additions else [])
    axes = tuple(rng.permutation(pool)[: int(rng.integers(1, len(pool) + 1))].tolist())
    sides = tuple(int(rng.integers(1, 5)) for _ in axes)
    kinds = np.zeros((int(rng.integers(1, 4)), *sides), dtype=bool)  # unions of boxes: any monotone set can appear
    for kind in kinds:
        for _ in range(int(rng.integers(0, 4))):
            kind[tuple(slice(0, int(rng.integers(1, side + 1))) for side in sides)] = True
    explicit = (rng.random((n, n)) < 0.5).astype(int) if rng.random() < 0.15 and not additions else None
    budget = dict.fromkeys(TYPES, 0)
    for name in pool:
        if name in axes or rng.random() < 0.15:
            budget[name] = int(rng.integers(0, 4))
    if additions:
        budget["adj_add"] = int(rng.integers(1, 4))
    if explicit is not None:
        budget["adj_del"] = 0
    mode = "relative" if rng.random() < 0.3 else "absolute"
    local: dict[str, Any] = {}
    for name in TYPES:
        if rng.random() < 0.35:
            values = rng.integers(0, 4, n).tolist() if mode == "absolute" else rng.choice(SHARES, n).tolist()
            local[name] = values if rng.random() < 0.5 else values[0]
    return Case(
        n=n,
        directed=directed,
        edges=edges,
        attributes=(rng.random((n, width)) < 0.6).astype(int),
        layers=int(rng.integers(0, 4)),
        rule=str(rng.choice(["degrees", "messages"])),
        explicit=explicit,
        axes=axes,
        grid=kinds[rng.integers(0, len(kinds), n)],
        targets=np.sort(rng.permutation(n)[: int(rng.integers(1, n + 1))]).tolist(),
        budget=budget,
        mode=mode,
        local=local,
        sigma=int(rng.integers(0, n + 2)) if rng.random() < 0.5 else None,
        protected=np.flatnonzero(rng.random(n) < 0.3).tolist() if rng.random() < 0.25 else [],
        node_costs=rng.integers(1, 4, n).tolist() if rng.random() < 0.2 else [1] * n,
        edge_costs=rng.integers(1, 4, len(edges)).tolist() if rng.random() < 0.2 else [1] * len(edges),
        global_fields=bool(rng.random() < 0.05) and explicit is None,
    )


def truth(case: Case) -> int:
    """The most targets that an admissible attack leaves uncertified: every attacker set, every allocation."""
    everybody = range(case.n)
    size = case.n if case.sigma is None else min(case.sigma, case.n)
    width = case.attributes.shape[1]
    missing = [
        (i, j)
        for i in everybody
        for j in everybody
        if i != j and (i, j) not in case.edges and (case.directed or (i < j and (j, i) not in case.edges))
    ]
    fronts = {t: case.front(t) for t in case.targets}
    best = 0
    for attackers in itertools.combinations(everybody, size):
        adds = set(_vectors(case, "attr_add", attackers, [width - o for o in case.ones]))
        dels = set(_vectors(case, "attr_del", attackers, case.ones))
        minus = set(_subsets(case, "adj_del", attackers, case.edges, case.edge_costs))
        plus = max(len(s) for s in _subsets(case, "adj_add", attackers, missing, [1] * len(missing)))
        seen: set[tuple[Budget, ...]] = set()
        for a, d, e in itertools.product(
            {tuple(sum(v[m] for m in case.nodes_of(t)) for t in case.targets) for v in adds},
            {tuple(sum(v[m] for m in case.nodes_of(t)) for t in case.targets) for v in dels},
            {tuple(len(set(case.edges_of(t)) & set(s)) for t in case.targets) for s in minus},
        ):
            seen.add(tuple(zip(a, d, [plus] * len(case.targets), e)))
        for inside in seen:
            broken = (any(_reaches(x, p) for p in fronts[t]) for t, x in zip(case.targets, inside))
            best = max(best, sum(broken))
    return best


def _vectors(case: Case, name: str, attackers: tuple[int, ...], room: list[int]) -> Iterator[Budget]:
    budget, costs = case.budget[name], case.node_costs
    open_ = [m in attackers and m not in case.protected for m in range(case.n)]
    most = [min(room[m], case.limits[name][m], budget // costs[m]) if open_[m] else 0 for m in range(case.n)]
    for vector in itertools.product(*(range(m + 1) for m in most)):
        if sum(v * c for v, c in zip(vector, costs)) <= budget:
            yield vector


def _subsets(
    case: Case, name: str, attackers: tuple[int, ...], pool: list[tuple[int, int]], costs: list[int]
) -> Iterator[tuple[int, ...]]:
    usable = [e for e, ends in enumerate(pool) if set(ends) & set(attackers) and not set(ends) & set(case.protected)]
    for size in range(min(case.budget[name], len(usable)) + 1):
        for chosen in itertools.combinations(usable, size):
            at_node = [sum(m in pool[e] for e in chosen) for m in range(case.n)]
            fits = all(count <= limit for count, limit in zip(at_node, case.limits[name]))
            if fits and sum(costs[e] for e in chosen) <= case.budget[name]:
                yield chosen
