"""Attacks on division voting: real pairs to add and edges to delete, chosen one after the other.

Every step takes the flip that brings targets furthest: a target counts the more, the fewer of its votes are missing.
Only targets that the tokens can suffice for are looked at. An added pair must exist in its group: the hash says which
pairs do, so the best ends of each group are tried against each other.
"""

from __future__ import annotations

import time
from typing import NamedTuple

import numpy as np
import scipy.sparse as sp

from certcore.domain.perturbations import ADJ_ADD, ADJ_DEL
from certcore.program.problem import Problem
from certcore.result.allocation import Allocation, empty_edges, replay

#: So many of the most promising ends of a group are paired with each other.
MOST_ENDS = 48


def division_attack(problem: Problem, time_limit: float) -> Allocation:
    """The best of a few greedy runs that differ in how much they prefer targets that are nearly lost."""
    deadline = time.perf_counter() + time_limit
    best: Allocation | None = None
    for power in (3.0, 1.0, 6.0):
        found = _Greedy(problem, power).run(deadline)
        if best is None or found.attacked.sum() > best.attacked.sum():
            best = found
        if time.perf_counter() > deadline:
            break
    assert best is not None
    return best


class _Step(NamedTuple):
    gain: float
    kind: int
    ends: tuple[int, int] = (0, 0)
    edge: int = -1
    """Position in `Graph.edges` of a deleted one."""


class _Greedy:
    def __init__(self, problem: Problem, power: float) -> None:
        self.problem, self.power = problem, power
        graph, threat, division = problem.instance.graph, problem.threat, problem.division
        self.graph, self.division, self.adjacency = graph, division, graph.adjacency
        self.groups = division.hash.groups
        self.by_node = [sp.csr_array(near.T.tocsr()) for near in division.near]
        self.left = np.array(threat.budgets, dtype=np.int64)
        self.limits = np.minimum(problem.local_limits, problem.capacities)
        self.attackers = np.zeros(graph.n_nodes, dtype=bool)
        self.changed = np.zeros((len(problem.targets), self.groups), dtype=bool)
        self.deleted = np.zeros(graph.n_edges, dtype=np.int64)
        self.added: list[tuple[int, int]] = []
        self.possible = problem.free[graph.edges].all(axis=1)

    def run(self, deadline: float) -> Allocation:
        while (self.left > 0).any() and time.perf_counter() < deadline:
            value = self._values()
            if not value.any():
                break
            step = max(self._best_addition(value), self._best_deletion(value), key=lambda found: found.gain)
            if step.gain <= 0:
                break
            self._take(step)
        added = np.array(self.added, dtype=np.int64) if self.added else empty_edges()
        return replay(
            self.problem, np.zeros((2, self.graph.n_nodes), np.int64), self.deleted, added, self.attackers.astype(float)
        )

    def _values(self) -> np.ndarray:
        """(groups, nodes): what an end of a pair of each group at each node would bring."""
        need = self.division.thresholds - self.changed.sum(axis=1)
        flips = int(self.left[ADJ_ADD] + self.left[ADJ_DEL])
        worth = np.where((need > 0) & (need <= flips), 1.0 / np.maximum(need, 1) ** self.power, 0.0)
        return np.stack([self.by_node[t] @ (worth * ~self.changed[:, t]) for t in range(self.groups)])

    def _may_pay(self, nodes: np.ndarray) -> np.ndarray:
        """Who is an attacker, or may become one."""
        sigma = self.problem.threat.sigma
        if sigma is None or int(self.attackers.sum()) < sigma:
            return np.ones(len(nodes), dtype=bool)
        return self.attackers[nodes]

    def _best_addition(self, value: np.ndarray) -> _Step:
        best = _Step(0.0, ADJ_ADD)
        if self.left[ADJ_ADD] < 1:
            return best
        open_ = self.limits[ADJ_ADD] > 0
        tried = {tuple(sorted(pair)) for pair in self.added}
        for t in range(self.groups):
            worth = np.where(open_, value[t], -1.0)
            ends = np.argsort(-worth, kind="stable")[:MOST_ENDS]
            ends = ends[worth[ends] >= 0]
            if len(ends) < 2 or 2 * worth[ends[0]] <= best.gain:
                continue
            i, j = np.triu_indices(len(ends), 1)
            pairs = np.stack([ends[i], ends[j]], axis=1)
            gain = worth[pairs].sum(axis=1)
            fits = (self.division.hash.of(pairs) == t) & (gain > best.gain)
            fits &= self._may_pay(pairs[:, 0]) | self._may_pay(pairs[:, 1])
            for place in np.flatnonzero(fits)[np.argsort(-gain[fits], kind="stable")].tolist():
                u, v = (int(node) for node in pairs[place])
                exists = self.adjacency[u, v] or self.adjacency[v, u]
                if not exists and (min(u, v), max(u, v)) not in tried:
                    best = _Step(float(gain[place]), ADJ_ADD, (u, v))
                    break
        return best

    def _best_deletion(self, value: np.ndarray) -> _Step:
        edges, costs = self.graph.edges, self.problem.edge_costs
        fits = self.possible & (self.deleted == 0) & (costs <= self.left[ADJ_DEL])
        fits &= (self.limits[ADJ_DEL][edges] > 0).all(axis=1)
        fits &= self._may_pay(edges[:, 0]) | self._may_pay(edges[:, 1])
        if not fits.any():
            return _Step(0.0, ADJ_DEL)
        group = self.division.group_of_edge
        gain = np.where(fits, value[group, edges[:, 0]] + value[group, edges[:, 1]], 0.0) / costs
        place = int(np.argmax(gain))
        return _Step(float(gain[place]), ADJ_DEL, (int(edges[place, 0]), int(edges[place, 1])), place)

    def _take(self, step: _Step) -> None:
        kind, ends = step.kind, np.array(step.ends)
        group = int(self.division.hash.of(ends[None])[0])
        if kind == ADJ_ADD:
            self.added.append(step.ends)
            self.left[ADJ_ADD] -= 1
        else:
            self.deleted[step.edge] = 1
            self.left[ADJ_DEL] -= int(self.problem.edge_costs[step.edge])
        self.limits[kind, ends] -= 1
        if self.problem.threat.sigma is not None and not self.attackers[ends].any():
            self.attackers[int(ends[0])] = True
        for end in ends.tolist():
            near = self.by_node[group]
            self.changed[near.indices[near.indptr[end] : near.indptr[end + 1]], group] = True
