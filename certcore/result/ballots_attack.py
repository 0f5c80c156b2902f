"""Greedy attacks on ballots with real edges, new nodes and rewritten nodes; every label is recomputed.

First, the nodes whose changed ballot changes most labels are rewritten. Second, edges are added between pairs of
targets that both break by it. Third, the other targets are broken one by one, those that need the fewest new senders
first, each by the changes with the largest gains for one rival class.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator
from typing import NamedTuple

import numpy as np

from certcore.base.ballots import UNIT
from certcore.common.interrupt import over
from certcore.domain.perturbations import ADJ_ADD, ADJ_DEL, ATTR_ADD, ATTR_DEL, INJECT, UNLIMITED, node_types
from certcore.program.problem import Problem
from certcore.result.allocation import Allocation, replay

#: How many nodes with the best ballots are tried as the other end of an added edge.
MOST_ENDS = 200
#: Pairs are formed among this many targets with the smallest gaps.
MOST_PARTNERS = 1200
#: The search ends after this many consecutive pairs of a target and a rival without success.
PATIENCE = 1000


class _Change(NamedTuple):
    gain: int
    kind: int
    other: int
    """The sender that is added or removed, or the number of the new node."""


def ballots_attack(problem: Problem, time_limit: float, cancel: threading.Event | None = None) -> Allocation:
    """The attack that the greedy search finds within the time limit."""
    return _Greedy(problem, time.perf_counter() + time_limit, cancel).run()


class _Greedy:
    def __init__(self, problem: Problem, deadline: float, cancel: threading.Event | None) -> None:
        self.problem, self.deadline, self.cancel = problem, deadline, cancel
        self.graph, base = problem.instance.graph, problem.ballots
        self.weight, self.label = base.weight, base.prediction
        self.ballots, self.scores = base.ballots.copy(), base.scores.copy()
        self.rows = np.repeat(np.arange(self.graph.n_nodes), np.diff(self.graph.adj_indptr))
        self.target = np.zeros(self.graph.n_nodes, dtype=bool)
        self.target[problem.targets] = True
        self.left = list(problem.threat.budgets)
        self.limits = np.minimum(problem.local_limits, np.where(problem.free, problem.capacities.max(initial=0), 0))
        self.limits[[ADJ_ADD, ADJ_DEL]] = problem.capacities[[ADJ_ADD, ADJ_DEL]]
        self.attackers: set[int] = set()
        self.edge_number = {edge: i for i, edge in enumerate(map(tuple, self.graph.edges.tolist()))}
        self.deleted: set[int] = set()
        self.added: set[tuple[int, int]] = set()
        self.rewritten: dict[int, tuple[int, int]] = {}
        each = problem.threat.inject_edges
        self.edges_each = self.graph.n_nodes if each is None else each
        self.new: list[tuple[int, set[int]]] = []
        """For each new node, the class it shows and the nodes it is joined to."""
        self._best_ends: dict[tuple[int, int], np.ndarray] = {}

    def run(self) -> Allocation:
        while not over(self.deadline, self.cancel) and self._rewrite():
            pass
        self._join_pairs()
        failed = 0
        for node, rival in self._pairs():
            if failed > PATIENCE or over(self.deadline, self.cancel):
                break
            if not self._lost(node):
                changes = self._plan(node, rival)
                failed = 0 if changes else failed + 1
                for change in changes:
                    self._take(node, rival, change)
        return self._allocation()

    def _allocation(self) -> Allocation:
        n = self.graph.n_nodes
        attributes = np.zeros((len(node_types()), n), dtype=np.int64)
        for node, (kind, _) in self.rewritten.items():
            attributes[node_types().index(kind), node] = 1
        deleted = np.zeros(self.graph.n_edges, dtype=np.int64)
        deleted[sorted(self.deleted)] = 1
        attackers = np.zeros(n)
        attackers[sorted(self.attackers)] = 1
        joined = [(n + i, m) for i, (_, at) in enumerate(self.new) for m in sorted(at)]
        shown = [(m, c) for m, (_, c) in sorted(self.rewritten.items())]
        shown += [(n + i, c) for i, (c, _) in enumerate(self.new)]
        return replay(
            self.problem,
            attributes,
            deleted,
            np.array(sorted(self.added), dtype=np.int64).reshape(-1, 2),
            attackers,
            np.array(joined, dtype=np.int64).reshape(-1, 2),
            np.array(shown, dtype=np.int64).reshape(-1, 2),
        )

    def _lost(self, node: int) -> bool:
        return bool(self.scores[node].argmax() != self.label[node])

    def _pairs(self) -> Iterator[tuple[int, int]]:
        """Targets and rival classes: fewest new senders first, then rivals close at most targets, then the gap."""
        nodes, classes = self.problem.targets, np.arange(self.scores.shape[1])
        label = self.label[nodes][:, None]
        gap = np.take_along_axis(self.scores[nodes], label, axis=1) - self.scores[nodes] + (label < classes)
        need = np.where(label == classes, UNLIMITED, -(-gap // UNIT))
        waiting = (need <= 1).sum(axis=0)
        order = np.lexsort((gap.ravel(), -np.tile(waiting, len(nodes)), need.ravel()))
        order = order[need.ravel()[order] < UNLIMITED]
        return zip(nodes[order // len(classes)].tolist(), (order % len(classes)).tolist())

    # Rewritten nodes.

    def _rewrite(self) -> bool:
        """Rewrite the node that changes most labels; returns whether one changes any."""
        payable = np.zeros(self.graph.n_nodes, dtype=bool)
        for kind in (ATTR_ADD, ATTR_DEL):
            payable |= (self.left[kind] > 0) & (self.limits[kind] > 0)
        payable[list(self.rewritten)] = False
        if not self._may_pay():
            payable &= np.isin(np.arange(self.graph.n_nodes), sorted(self.attackers))
        if not payable.any():
            return False
        best = (0, -1, -1)
        standing = self.target & (self.scores.argmax(axis=1) == self.label)
        entries = payable[self.graph.adj_indices] & standing[self.rows]
        receiver, sender = self.rows[entries], self.graph.adj_indices[entries]
        if self.deleted:
            stays = np.array([self._edge(n, m) not in self.deleted for n, m in zip(receiver.tolist(), sender.tolist())])
            receiver, sender = receiver[stays], sender[stays]
        for rival in range(self.scores.shape[1]):
            shown = np.zeros(self.scores.shape[1], dtype=np.int64)
            shown[rival] = UNIT
            now = (self.scores[receiver] - self.ballots[sender] + shown).argmax(axis=1)
            gain = np.bincount(sender[now != self.label[receiver]], minlength=len(standing))
            own = (self.scores + self.weight * (shown - self.ballots)).argmax(axis=1) != self.label
            gain = np.where(payable, gain + (own & standing), 0)
            node = int(gain.argmax())
            best = max(best, (int(gain[node]), node, rival))
        most, node, rival = best
        if not most:
            return False
        kind = max((k for k in (ATTR_ADD, ATTR_DEL) if self.limits[k][node] > 0), key=lambda k: self.left[k])
        self.left[kind] -= 1
        if self.problem.threat.sigma is not None:
            self.attackers.add(node)
        shown = np.zeros(self.scores.shape[1], dtype=np.int64)
        shown[rival] = UNIT
        change = shown - self.ballots[node]
        receivers = self.rows[self.graph.adj_indices == node]
        self.scores[receivers] += change
        self.scores[node] += self.weight * change
        self.ballots[node] = shown
        self.rewritten[node] = (kind, rival)
        return True

    # Pairs of targets.

    def _join_pairs(self) -> None:
        """Add edges between targets that both break by it, those with the fewest partners first."""
        if not self.left[ADJ_ADD] or self.graph.directed or self.problem.threat.sigma is not None:
            return
        nodes = np.array([node for node, _ in self._pairs() if self.limits[ADJ_ADD][node] > 0], dtype=np.int64)
        first = np.sort(np.unique(nodes, return_index=True)[1])
        nodes = nodes[first][: min(MOST_PARTNERS, 20 + 6 * self.left[ADJ_ADD])]
        fall = np.array(
            [(self.scores[n] + self.ballots[nodes]).argmax(axis=1) != self.label[n] for n in nodes.tolist()]
        )
        both = fall & fall.T & ~np.eye(len(nodes), dtype=bool) if len(nodes) else np.zeros((0, 0), dtype=bool)
        both &= self.graph.adjacency[nodes][:, nodes].toarray() == 0
        for place in np.argsort(both.sum(axis=1), kind="stable").tolist():
            partners = np.flatnonzero(both[place])
            if not self.left[ADJ_ADD]:
                break
            if len(partners):
                other = partners[both[partners].sum(axis=1).argmin()]
                self._take(int(nodes[place]), 0, _Change(0, ADJ_ADD, int(nodes[other])))
                both[[place, other]] = both[:, [place, other]] = False

    # Single targets.

    def _plan(self, node: int, rival: int) -> list[_Change]:
        """The changes with the largest gains that put the rival ahead; empty if the budgets do not suffice."""
        label = int(self.label[node])
        gap = int(self.scores[node, label] - self.scores[node, rival]) + (label < rival)
        room = {kind: [self.left[kind], int(self.limits[kind][node])] for kind in (ADJ_ADD, ADJ_DEL)}
        taken = []
        for change in sorted(self._changes(node, label, rival, gap), key=lambda change: -change.gain):
            if gap <= 0:
                break
            if change.kind != INJECT:
                if min(room[change.kind]) < 1:
                    continue
                room[change.kind] = [room[change.kind][0] - 1, room[change.kind][1] - 1]
            taken.append(change)
            gap -= change.gain
        return taken if gap <= 0 else []

    def _changes(self, node: int, label: int, rival: int, gap: int) -> list[_Change]:
        found = []
        if (self.left[INJECT] or self.new) and self.edges_each and self.problem.free[node]:
            same = [(i, at) for i, (c, at) in enumerate(self.new) if c == rival]
            room = [i for i, at in same if len(at) < self.edges_each and node not in at]
            fresh = range(len(self.new), len(self.new) + self.left[INJECT])
            wanted = -(-gap // UNIT)
            found += [_Change(UNIT, INJECT, i) for i in [*room, *fresh][:wanted]]
        if self.left[ADJ_DEL] and self.limits[ADJ_DEL][node] > 0 and self.problem.free[node]:
            start, stop = self.graph.adj_indptr[node : node + 2].tolist()
            for sender in self.graph.adj_indices[start:stop].tolist():
                edge = self._edge(node, sender)
                gain = int(self.ballots[sender, label] - self.ballots[sender, rival])
                able = self.limits[ADJ_DEL][sender] > 0
                if gain > 0 and able and edge not in self.deleted and self._may_pay(node, sender):
                    found.append(_Change(gain, ADJ_DEL, edge))
        if self.left[ADJ_ADD] and self.limits[ADJ_ADD][node] > 0 and self.problem.free[node]:
            found += self._additions(node, label, rival, gap)
        return found

    def _additions(self, node: int, label: int, rival: int, gap: int) -> list[_Change]:
        """The best other ends; among those that close the gap alone, ends that break as well come first."""
        if (label, rival) not in self._best_ends:
            gain = self.problem.ballots.ballots[:, rival] - self.problem.ballots.ballots[:, label]
            self._best_ends[label, rival] = np.argsort(-gain, kind="stable")[:MOST_ENDS]
        ends = self._best_ends[label, rival]
        gain = self.ballots[ends, rival] - self.ballots[ends, label]
        open_ = (gain > 0) & (ends != node) & (self.limits[ADJ_ADD][ends] > 0)
        ends, gain = ends[open_], gain[open_]
        if not self.graph.directed:
            stands = self.target[ends] & (self.scores[ends].argmax(axis=1) == self.label[ends])
            falls = stands & ((self.scores[ends] + self.ballots[node]).argmax(axis=1) != self.label[ends])
            order = np.argsort(~(falls & (gain >= gap)), kind="stable")
            ends, gain = ends[order], gain[order]
        found: list[_Change] = []
        for other, worth in zip(ends.tolist(), gain.tolist()):
            pair = (node, other) if self.graph.directed else (min(node, other), max(node, other))
            if pair not in self.edge_number and pair not in self.added and self._may_pay(node, other):
                found.append(_Change(worth, ADJ_ADD, other))
                if worth >= gap or len(found) == self.left[ADJ_ADD]:
                    break
        return found

    def _may_pay(self, *ends: int) -> bool:
        """Whether one of the nodes is an attacker or can become one."""
        sigma = self.problem.threat.sigma
        return sigma is None or len(self.attackers) < sigma or not self.attackers.isdisjoint(ends)

    def _edge(self, node: int, sender: int) -> int:
        pair = (node, sender) if self.graph.directed else (min(node, sender), max(node, sender))
        return self.edge_number[pair]

    def _take(self, node: int, rival: int, change: _Change) -> None:
        if change.kind == INJECT:
            if change.other == len(self.new):
                self.new.append((rival, set()))
                self.left[INJECT] -= 1
            self.new[change.other][1].add(node)
            self.scores[node, rival] += UNIT
            return
        if change.kind == ADJ_DEL:
            first, second = self.graph.edges[change.other].tolist()
            other = second if first == node else first
            self.deleted.add(change.other)
            self.left[ADJ_DEL] -= 1
        else:
            other = change.other
            self.added.add((node, other) if self.graph.directed else (min(node, other), max(node, other)))
            self.left[ADJ_ADD] -= 1
        sign = 1 if change.kind == ADJ_ADD else -1
        self.limits[change.kind][[node, other]] -= 1
        self.scores[node] += sign * self.ballots[other]
        if not self.graph.directed:
            self.scores[other] += sign * self.ballots[node]
        if self.problem.threat.sigma is not None and not self.attackers & {node, other}:
            self.attackers.add(node)
