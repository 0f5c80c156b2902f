"""Ballots for certcore_check.py, which calls this file when an instance has ballots instead of votes or a grid.

Every node has a ballot, one integer per class. A node's score is its own ballot times a weight plus the ballots of all
its senders; its label is the class with the largest score. From ballots and graph this file computes scores, labels and
an upper bound on what each added, deleted or rewritten sender gains for a rival class. From these it builds the rows of
the attacker's linear program; certcore_check.py evaluates the dual bound. It needs Python and numpy and shares no code
with the engine. Format and program are described in docs/reference/proof-files.md.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable
from typing import Any

import numpy as np
from certcore_check import (
    ADJ_ADD,
    ADJ_DEL,
    MAX_BUDGET,
    TYPES,
    UNLIMITED,
    Arrays,
    Entries,
    Instance,
    Program,
    Threat,
    need,
    scale_bits,
)  # fmt: skip

FULL = 2**20  # largest entry of a ballot; fractions of a gap are integers over it
MAX_CLASSES = 10**5
MAX_WEIGHT = 10**6
INJECT = "inject"


class Ballots:
    """The base certificate: ballots, and the resulting scores and labels on the clean graph."""

    local, format = None, "certcore-proof-4"
    global_fields = fixed_adjacency = False

    def __init__(self, arrays: Arrays, senders: list[list[int]]) -> None:
        n, self.senders = len(senders), senders
        ballots = arrays.numbers("ballots", 0, FULL, n)
        need(ballots.ndim == 2 and 1 <= ballots.shape[1] <= MAX_CLASSES, "ballots: not one row per node")
        self.weight = arrays.number("ballots_weight", 1, MAX_WEIGHT)
        need("weights_read_edges" in arrays, "weights_read_edges is missing")
        self.hashed: dict[str, Any] = {"ballots": ballots, "ballots_weight": self.weight}
        self.hashed["weights_read_edges"] = arrays.flag("weights_read_edges")
        known = "taken as given"
        if "ballots_checked" in arrays:
            self.hashed["ballots_checked"] = checked = arrays.number("ballots_checked", 1, n)
            known = f"checked on a model on {checked:,} of {n:,} rows, according to the file"
        self.told = (
            "ballots, deterministic: summed here again without sampling, provided that every ballot is made from "
        )
        self.told += f"its node's own attributes alone ({known})"
        self.ballots: list[list[int]] = ballots.tolist()
        scores = self.weight * ballots
        for node, mine in enumerate(senders):
            scores[node] += ballots[mine].sum(axis=0)
        self.scores: list[list[int]] = scores.tolist()

    threat = staticmethod(lambda given, instance: BallotsThreat(given, instance))

    def program(
        self, instance: Instance, threat: Threat, targets: np.ndarray, relaxation: str, weights: list[int]
    ) -> Program:
        assert isinstance(threat, BallotsThreat)
        return BallotsProgram(self, instance, threat, targets, relaxation, weights)

    def gaps(self, node: int) -> tuple[int, dict[int, int]]:
        """The label, and for each rival class the gain at which it overtakes the label."""
        scores = self.scores[node]
        label = scores.index(max(scores))  # ties go to the smallest class
        return label, {c: scores[label] - score + (label < c) for c, score in enumerate(scores) if c != label}


class BallotsThreat(Threat):
    """The threat model with injected nodes: their number, and how many edges to existing nodes each may have."""

    def __init__(self, given: Any, instance: Instance) -> None:
        rest, self.new, self.edges_each = dict(given), given.get(INJECT, 0), instance.n
        need(INJECT not in given or _is_whole(self.new, 1), "inject is no number of new nodes")
        rest.pop(INJECT, None)
        if isinstance(rest["local"], dict) and INJECT in rest["local"]:
            local = dict(rest["local"])
            each = local.pop(INJECT)
            need(_is_whole(each, 0), "inject sets no number of edges")
            self.edges_each = min(each, instance.n)
            need(local["mode"] in ("absolute", "relative"), "local has another form")
            rest["local"] = None if local == {"mode": local["mode"], **dict.fromkeys(TYPES)} else local
        super().__init__(rest, instance)
        need(self.sigma is None or not (self.new and any(self.budgets[2:])), "sigma, edges and new nodes together")
        self.whole_graph = False
        self.idle = self.idle and not (self.new and self.edges_each and any(self.free))  # new nodes need edges


class BallotsProgram(Program):
    """Columns: rewritten nodes by type, ends of added edges, deleted edges, edges of injected nodes, attackers,
    targets, and for each target the deletions and rewritings used against it.

    Dual values are numbered by rows only, so the order of the columns does not matter.
    """

    threat: BallotsThreat

    def __init__(
        self,
        base: Ballots,
        instance: Instance,
        threat: BallotsThreat,
        targets: np.ndarray,
        relaxation: str,
        weights: list[int],
    ) -> None:
        need(relaxation == "tight", "ballots have neither the paper's rows nor strong ones")
        self.base, self.instance, self.threat, self.new = base, instance, threat, threat.new
        self.sigma, self.directed = threat.sigma is not None, instance.directed
        self.adding, self.deleting = (k in threat.types for k in (ADJ_ADD, ADJ_DEL))
        self.attributes = [k for k in threat.types if k < ADJ_ADD]
        self.columns, self.constant, self.fixed, self.count = [], 0, 0, 0
        self.number = {edge: e for e, edge in enumerate(instance.edges)}
        free = threat.free
        self.writable = {k: [f and limit > 0 for f, limit in zip(free, threat.limits[k])] for k in self.attributes}
        self.bits = scale_bits(weights)
        facts = zip((_Facts(self, node) for node in targets.tolist()), weights)
        alive = [(fact, weight) for fact, weight in facts if fact.falls(None)]
        self.facts, self.weights = [fact for fact, _ in alive], [weight for _, weight in alive]
        self._columns()

    def can_write(self, node: int) -> bool:
        return any(self.writable[k][node] for k in self.attributes)

    def edge(self, receiver: int, sender: int) -> int:
        pair = (receiver, sender) if self.directed else (min(receiver, sender), max(receiver, sender))
        return self.number[pair]

    def _columns(self) -> None:
        threat, budgets, nodes = self.threat, self.threat.budgets, [fact.node for fact in self.facts]
        useful = {*nodes, *(m for fact in self.facts for m in fact.written)}
        self.rewritten: dict[int, dict[int, int]] = {k: {} for k in self.attributes}
        for k, m in ((k, m) for k in self.attributes for m in sorted(useful) if self.writable[k][m]):
            self.rewritten[k][m] = self.column(min(1, budgets[k]))
        # With sigma the paying end may be any node; the other ends have columns of their own.
        able = [m for m, capacity in enumerate(threat.capacity[ADJ_ADD]) if capacity and self.adding]
        ends = able if self.sigma else [m for m in nodes if threat.capacity[ADJ_ADD][m] and self.adding]
        self.added = {m: self.column(min(threat.capacity[ADJ_ADD][m], budgets[ADJ_ADD])) for m in ends}
        others = [m for m in nodes if threat.capacity[ADJ_ADD][m]] if self.sigma and self.adding else []
        self.other = {m: self.column(budgets[ADJ_ADD]) for m in others}
        sites = sorted({self.edge(fact.node, m) for fact in self.facts for m in fact.cut})
        self.deleted = {e: self.column(min(1, budgets[ADJ_DEL])) for e in sites}
        self.joined = {fact.node: self.column(self.new) for fact in self.facts if fact.joined}
        payers = {*self.added, *(m for e in sites for m in self.instance.edges[e])}
        payers |= {m for columns in self.rewritten.values() for m in columns}
        self.attacker = {m: self.column(1) for m in sorted(payers)} if self.sigma else {}
        falls = (int(fact.falls(threat.sigma)) for fact in self.facts)
        self.target = [self.column(upper, weight) for upper, weight in zip(falls, self.weights)]
        self.cut = [{m: self.column(1) for m in fact.cut} for fact in self.facts]
        self.written = [{m: self.column(1) for m in fact.written} for fact in self.facts]

    def _rows(self) -> None:
        threat, edges = self.threat, self.instance.edges
        for k in threat.types:  # global budgets; an undirected added edge has two receiving ends
            if k in self.attributes:
                self.add(threat.budgets[k], ((j, 1) for j in self.rewritten[k].values()))
            elif k == ADJ_ADD:
                ends = 1 if self.directed or self.sigma else 2
                self.add(ends * threat.budgets[k], _each(self.added.values(), 1))
            else:
                self.add(threat.budgets[k], ((j, 1) for j in self.deleted.values()))
        if self.new:
            self.add(self.new * threat.edges_each, _each(self.joined.values(), 1))
        if self.deleting and threat.limited[ADJ_DEL]:  # deleted edges at a node
            standing: dict[int, list[int]] = defaultdict(list)
            for e, column in self.deleted.items():
                for m in edges[e]:
                    standing[m].append(column)
            for m, here in sorted(standing.items()):
                if threat.limits[ADJ_DEL][m] < len(here):
                    self.add(threat.limits[ADJ_DEL][m], _each(here, 1))
        if threat.sigma is not None:
            self._attacker_rows(threat.sigma)
        if len(self.attributes) > 1 or (self.attributes and self.sigma):  # rewritten once, with sigma by an attacker
            for m in sorted({m for columns in self.rewritten.values() for m in columns}):
                mine = [columns[m] for columns in self.rewritten.values() if m in columns]
                self.add(0 if self.sigma else 1, _each(mine, 1) + ([(self.attacker[m], -1)] if self.sigma else []))
        self._gain_rows()

    def _attacker_rows(self, sigma: int) -> None:
        threat = self.threat
        self.add(sigma, _each(self.attacker.values(), 1))
        if self.adding:
            for m, column in self.added.items():  # capacity of an attacker
                most = min(threat.capacity[ADJ_ADD][m], threat.budgets[ADJ_ADD])
                self.add(0, [(column, 1), (self.attacker[m], -most)])
            self.add(0, _each(self.other.values(), 1) + _each(self.added.values(), -1))
            for m, column in self.other.items() if threat.limited[ADJ_ADD] else ():
                paid = [] if self.directed else [(self.added[m], 1)]
                self.add(threat.limits[ADJ_ADD][m], [(column, 1), *paid])
        if self.deleting:  # one end of a deleted edge is an attacker
            for e, column in self.deleted.items():
                self.add(0, [(column, 1), *_each((self.attacker[m] for m in self.instance.edges[e]), -1)])

    def _gain_rows(self) -> None:
        for place in (0, 1):  # gains must fill the gap of a target, in fractions of it and in units of FULL
            for fact, target, cut, written in zip(self.facts, self.target, self.cut, self.written):
                whole, new = ((FULL, fact.share_new), (fact.need, 1))[place]
                own = [columns[fact.node] for columns in self.rewritten.values() if fact.node in columns]
                entries = [(target, whole), *_each(own, -whole)]
                senders = [self.joined.get(fact.node), self.other.get(fact.node)]
                if not (self.sigma and self.directed):  # there the paying end need not be the receiver
                    senders.append(self.added.get(fact.node))
                entries += _each((j for j in senders if j is not None), -new)
                entries += [(j, -fact.cut[m][place]) for m, j in cut.items()]
                self.add(0, entries + [(j, -fact.written[m][place]) for m, j in written.items()])
        if self.deleting:  # only deletions and rewritings that were made can be used
            for fact, cut in zip(self.facts, self.cut):
                for m, column in cut.items():
                    self.add(0, [(column, 1), (self.deleted[self.edge(fact.node, m)], -1)])
        if self.attributes:
            for written in self.written:
                for m, column in written.items():
                    done = (columns[m] for columns in self.rewritten.values() if m in columns)
                    self.add(0, [(column, 1), *_each(done, -1)])
        for uses in (self.cut, self.written):  # and only against a target that falls
            for target, columns in zip(self.target, uses):
                for column in columns.values():
                    self.add(0, [(column, 1), (target, -1)])
        for target in self.target:
            self.add(1, [(target, 1)])

    def _cuts(self, touch: Any, index: Any) -> None:
        need(touch == [] and index == [], "ballots have no cuts")


class _Facts:
    """Gains of each action against one target, in fractions of its gap and in units of FULL, rounded up, maximised over
    rival classes.
    """

    def __init__(self, program: BallotsProgram, node: int) -> None:
        base, threat, self.program, self.node = program.base, program.threat, program, node
        label, gaps = base.gaps(node)
        self.need = min((-(-gap // FULL) for gap in gaps.values()), default=UNLIMITED)
        self.share_new = max((_share(FULL, gap) for gap in gaps.values()), default=0)
        self.cut: dict[int, tuple[int, int]] = {}
        self.written: dict[int, tuple[int, int]] = {}
        for m in base.senders[node]:
            shown = base.ballots[m]
            gains = [(shown[label] - shown[c], gap) for c, gap in gaps.items()]
            for found, able, more in (
                (self.cut, program.deleting and threat.free[m] and threat.free[node], 0),
                (self.written, program.can_write(m), FULL),
            ):
                share = max((_share(gain + more, gap) for gain, gap in gains), default=0)
                if able and share:
                    found[m] = share, max(-(-max(gain + more, 0) // FULL) for gain, _ in gains)
        self.joined = bool(program.new and threat.edges_each and threat.free[node])

    def falls(self, sigma: int | None) -> bool:
        """Whether the budgets could suffice if this target were the only one."""
        threat = self.program.threat
        budgets = [0] * 4 if sigma == 0 else threat.budgets
        rewritten = min(sum(budgets[:2]), UNLIMITED if sigma is None else sigma)
        new = (self.program.new if self.joined else 0) + min(threat.capacity[ADJ_ADD][self.node], budgets[ADJ_ADD])
        enough = True
        for place, (whole, each) in enumerate(((FULL, self.share_new), (self.need, 1))):
            gain = new * each
            for found, most in ((self.cut, budgets[ADJ_DEL]), (self.written, rewritten)):
                gain += sum(sorted((one[place] for one in found.values()), reverse=True)[:most])
            enough = enough and gain >= whole
        return enough or bool(rewritten and self.program.can_write(self.node))


def _is_whole(value: Any, low: int) -> bool:
    return type(value) is int and low <= value <= MAX_BUDGET


def _share(gain: int, gap: int) -> int:
    return min(max(-(-gain * FULL // gap), 0), FULL)


def _each(columns: Iterable[int], coefficient: int) -> Entries:
    return [(column, coefficient) for column in columns]
