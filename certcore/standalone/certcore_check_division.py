"""Division voting for certcore_check.py, which calls this file when an instance has votes over groups of edges.

A hash puts every pair of nodes into one of T groups, and a classifier has voted once per group. A flipped pair changes
at most the vote of its own group, and only for targets near one of its ends. From the votes this file computes labels
and thresholds, from the graph the groups and who is near whom, and from both the rows of the attacker's program; what
dual values prove on them is evaluated in certcore_check.py. It needs Python and numpy and shares no code with the
engine. What it does is said in docs/division.md, section "The proof file, exactly".
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Sequence
from functools import cache
from typing import Any

import numpy as np
from certcore_check import ADJ_ADD, ADJ_DEL, UNLIMITED, Arrays, Entries, Front, Instance, Program, Threat, need

ABSTAINS = -1
MAX_GROUPS, MAX_CLASSES, MAX_WEIGHT = 1000, 10**5, 10**6
FEW_VOTES = 2000  # up to so many votes in the program there are rows about all flips of a group


class Division:
    """The base certificate: votes, and how many of a node's must change at least before its label can."""

    local = None
    global_fields = fixed_adjacency = False
    either_end = True  # a vote may abstain where its node has no edge at all, sent or received

    def __init__(self, arrays: Arrays, n_nodes: int) -> None:
        self.groups = arrays.number("division_groups", 1, MAX_GROUPS)
        self.classes = arrays.number("division_classes", 1, MAX_CLASSES)
        votes = arrays.numbers("division_votes", ABSTAINS, self.classes - 1, self.groups)
        need(votes.shape == (self.groups, n_nodes), "division_votes has another shape")
        told = arrays["division_hash"]
        need(told.shape == (3,) and told.dtype.kind == "U", "division_hash is no list of three texts")
        name, version, salt = told.tolist()
        need((name, version) == ("splitmix64", "1"), "the hash is unknown")
        need(salt.isascii() and salt.isdigit() and int(salt) < 2**63, "the salt is no whole number")
        need("weights_read_edges" in arrays, "weights_read_edges is missing")
        self.told = f"votes over {self.groups} groups of edges, for certain: no sampling"
        self.votes, self.salt = votes.T.tolist(), int(salt)  # per node
        self.fixed, self.weight = [0] * n_nodes, 0  # votes that no edge changes
        self.hashed: dict[str, Any] = {"division_votes": votes, "weights_read_edges": arrays.flag("weights_read_edges")}
        self.hashed |= {"division_groups": self.groups, "division_classes": self.classes}
        self.hashed |= {"division_hash": np.array([name, version, str(self.salt)])}
        if "division_fixed" in arrays:
            fixed = arrays.numbers("division_fixed", 0, MAX_WEIGHT, n_nodes + 1)
            need(fixed.ndim == 1 and (fixed[:-1] < self.classes).all(), "division_fixed: no labels and a weight")
            self.fixed, self.weight = fixed[:-1].tolist(), int(fixed[-1])
            self.hashed["division_fixed"] = fixed
        self.threshold = cache(self._threshold)

    def group(self, u: int, v: int) -> int:
        """The group of a pair: splitmix64 of the smaller and the larger end, whether or not they are joined."""
        z = (self.salt + (min(u, v) << 32 | max(u, v)) * 0x9E3779B97F4A7C15) % 2**64
        z = ((z ^ z >> 30) * 0xBF58476D1CE4E5B9) % 2**64
        z = ((z ^ z >> 27) * 0x94D049BB133111EB) % 2**64
        return (z ^ z >> 31) % self.groups

    def _threshold(self, node: int) -> int:
        """The fewest group votes whose change to anything can change the label; UNLIMITED if none can."""
        mine = Counter(self.votes[node])
        count = [mine[c] + (self.weight if self.fixed[node] == c else 0) for c in range(self.classes)]
        label = count.index(max(count))  # of equal ones the smallest class
        least = UNLIMITED
        for rival in range(self.classes):
            if rival != label:
                # A vote that goes over from the label to the rival gains two, one that comes from elsewhere gains one.
                gap = count[label] - count[rival] + (label < rival)
                enough = (j for j in range(self.groups - mine[rival] + 1) if j + min(j, mine[label]) >= gap)
                least = min(least, next(enough, UNLIMITED))
        return least

    def fronts(self, nodes: np.ndarray, limits: Sequence[int]) -> list[Front]:
        """Node by node: no attribute may flip, and additions and deletions together stay below the threshold."""

        @cache
        def front(least: int) -> Front:
            flips = range(max(0, least - limits[ADJ_DEL]), min(least, limits[ADJ_ADD]) + 1)
            points = [(0, 0, added, least - added) for added in flips]
            attributes = [point for point, limit in (((0, 1, 0, 0), limits[1]), ((1, 0, 0, 0), limits[0])) if limit]
            return (*points, *attributes)

        return [front(self.threshold(node)) for node in nodes.tolist()]

    def program(self, instance: Instance, threat: Threat, targets: np.ndarray, relaxation: str) -> Program:
        """The program where only edges are flipped; with attribute flips it is that of fronts and fields."""
        return DivisionProgram(self, instance, threat, targets, relaxation)


class DivisionProgram(Program):
    """Columns: additions per group, deletions, attackers, targets, changed votes, ends of additions, flips per group.

    Dual values are numbered by rows only, so the order of the columns is nobody's business.
    """

    def __init__(
        self, base: Division, instance: Instance, threat: Threat, targets: np.ndarray, relaxation: str
    ) -> None:
        need(relaxation == "tight", "division voting has neither the paper's rows nor strong ones")
        self.base, self.instance, self.threat = base, instance, threat
        self.sigma, self.all_groups = threat.sigma is not None, range(base.groups)
        self.adding, self.deleting = (k in threat.types for k in (ADJ_ADD, ADJ_DEL))
        self.columns, self.constant, self.fixed, self.count = [], 0, 0, 0
        additions, deletions = threat.budgets[ADJ_ADD], threat.budgets[ADJ_DEL]
        self.group_of = [base.group(u, v) for u, v in instance.edges]
        self.nodes = [n for n in targets.tolist() if base.threshold(n) <= additions + deletions]
        self.near = self._near()
        seen = [set[int]().union(*(near[t] for near in self.near)) for t in self.all_groups]

        self.added = [self.column(additions) for _ in self.all_groups] if self.adding else []
        self.deleted = {
            e: self.column(min(1, deletions // threat.edge_costs[e]))
            for e, (ends, group) in enumerate(zip(instance.edges, self.group_of))
            if self.deleting and threat.free_edges[e] and not seen[group].isdisjoint(ends)
        }
        self.deleted_at: dict[tuple[int, int], list[int]] = defaultdict(list)  # columns by group and end
        for e, column in self.deleted.items():
            for m in instance.edges[e]:
                self.deleted_at[self.group_of[e], m].append(column)
        # What the budgets pay for at most: so many pairs can be flipped.
        cheapest = min((threat.edge_costs[e] for e in self.deleted), default=UNLIMITED)
        self.most = additions + deletions // cheapest
        self._ends(seen)
        self.target = [self.column(self._can_fall(n, near), 1) for n, near in zip(self.nodes, self.near)]
        self.vote = [[self.column(1) for _ in self.all_groups] for _ in self.nodes]
        few = self.adding and len(self.nodes) * base.groups <= FEW_VOTES
        self.flipped = [self.column(min(self.most, UNLIMITED)) for _ in self.all_groups] if few else []

    def _near(self) -> list[list[set[int]]]:
        """For each target and group the nodes within k' hops, from receivers to senders over edges of the group."""
        senders: dict[tuple[int, int], list[int]] = defaultdict(list)
        for (u, v), group in zip(self.instance.edges, self.group_of):
            senders[group, u].append(v)
            if not self.instance.directed:
                senders[group, v].append(u)
        hops = self.instance.layers - 1 if self.instance.messages else self.instance.layers

        def reached(target: int, group: int) -> set[int]:
            inside = {target}
            for _ in range(hops):
                inside = inside.union(*(senders[group, m] for m in inside if (group, m) in senders))
            return inside

        return [[reached(n, t) for t in self.all_groups] for n in self.nodes]

    def _ends(self, seen: list[set[int]]) -> None:
        """Columns for ends of added pairs of a group at a node; with σ one for who pays and one for the other end."""
        able = [m for m, capacity in enumerate(self.threat.capacity[ADJ_ADD]) if capacity and self.adding]
        # With σ the end that pays may stand where no vote changes.
        places = [(t, m) for t in self.all_groups for m in able if self.sigma or m in seen[t]]
        kinds = range(2 if self.sigma else 1)
        most = [min(cap, self.most, UNLIMITED) for cap in self.threat.capacity[ADJ_ADD]]
        self.ends = {place: [self.column(most[place[1]]) for _ in kinds] for place in places}
        self.attacker: dict[int, int] = {}
        if self.sigma:
            ends = {m for e in self.deleted for m in self.instance.edges[e]}
            self.attacker = {m: self.column(1) for m in sorted(ends | {m for _, m in places})}

    def _can_fall(self, node: int, near: list[set[int]]) -> int:
        """Whether enough votes of a target can change at all."""
        capacity, can = self.threat.capacity[ADJ_ADD], 0
        for t, inside in enumerate(near):
            by_adding = self.adding and any(capacity[m] for m in inside)
            can += by_adding or any((t, m) in self.deleted_at for m in inside)
        return int(self.threat.sigma != 0 and self.base.threshold(node) <= min(can, self.most))

    def _rows(self) -> None:
        threat, edges = self.threat, self.instance.edges
        for k in threat.types:  # global budgets
            costs = ((column, threat.edge_costs[e]) for e, column in self.deleted.items())
            self.add(threat.budgets[k], costs if k == ADJ_DEL else _each(self.added, 1))
        if self.deleting and threat.limited[ADJ_DEL]:  # deleted edges at a node
            for m in range(self.instance.n):
                here = [column for t in self.all_groups for column in self.deleted_at.get((t, m), ())]
                if threat.limits[ADJ_DEL][m] < len(here):
                    self.add(threat.limits[ADJ_DEL][m], _each(here, 1))
        at_node: dict[int, list[list[int]]] = defaultdict(list)
        in_group: dict[int, list[list[int]]] = defaultdict(list)
        for (t, m), columns in self.ends.items():
            at_node[m].append(columns)
            in_group[t].append(columns)
        if threat.sigma is not None:
            self.add(threat.sigma, _each(self.attacker.values(), 1))
            for m, pairs in sorted(at_node.items()):  # an attacker pays for so many additions
                most = min(threat.capacity[ADJ_ADD][m], threat.budgets[ADJ_ADD])
                self.add(0, [(self.attacker[m], -most), *_each((pair[0] for pair in pairs), 1)])
            for e, column in self.deleted.items():  # an end of a deleted edge is an attacker
                self.add(0, [(column, 1), *_each((self.attacker[m] for m in edges[e]), -1)])
        for kind in range((2 if self.sigma else 1) if self.adding else 0):  # an added pair has two ends
            for t, column in enumerate(self.added):
                self.add(0, [(column, -1 if self.sigma else -2), *_each((pair[kind] for pair in in_group[t]), 1)])
        if self.flipped:
            for (t, _), columns in self.ends.items():  # at one node an addition has one end
                self.add(0, [(self.added[t], -1), *_each(columns, 1)])
            for t, column in enumerate(self.flipped):  # all flips of a group
                of_group = (self.deleted[e] for e in self.deleted if self.group_of[e] == t)
                self.add(0, [(column, 1), (self.added[t], -1), *_each(of_group, -1)])
        if self.adding and threat.limited[ADJ_ADD]:  # additions at a node
            for m, pairs in sorted(at_node.items()):
                self.add(threat.limits[ADJ_ADD][m], _each((column for pair in pairs for column in pair), 1))
        self._vote_rows()

    def _vote_rows(self) -> None:
        for t in self.all_groups:  # a vote changes if a flipped pair of its group ends near the target
            for votes, near in zip(self.vote, self.near):
                ends = {column for m in near[t] for column in self.ends.get((t, m), ())}
                edges = {column for m in near[t] for column in self.deleted_at.get((t, m), ())}
                self.add(0, [(votes[t], 1), *_each(ends | edges, -1)])
        for target, votes in zip(self.target, self.vote):  # a target that stays needs no changed vote
            for column in votes:
                self.add(0, [(column, 1), (target, -1)])
        for votes in self.vote if self.flipped else ():  # no changed vote without a flip in its group
            for column, flipped in zip(votes, self.flipped):
                self.add(0, [(column, 1), (flipped, -1)])
        for n, target, votes in zip(self.nodes, self.target, self.vote):  # who falls has lost enough votes
            self.add(0, [(target, self.base.threshold(n)), *_each(votes, -1)])
        for target in self.target:
            self.add(1, [(target, 1)])

    def _cuts(self, touch: Any, index: Any) -> None:
        need(touch == [] and index == [], "division voting has no cuts")


def _each(columns: Iterable[int], coefficient: int) -> Entries:
    return [(column, coefficient) for column in columns]
