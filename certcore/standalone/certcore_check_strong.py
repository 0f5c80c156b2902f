"""The rows of the strong relaxation for certcore_check.py, which calls this file for proofs of the formats 2 and 5.

A proof lists sets of sites and, by tags, valid inequalities about the number of flips in them. This file rebuilds every
row from its tag and refuses tags that do not fit; certcore_check.py evaluates the dual bound. It needs Python alone and
shares no code with the engine. Proofs that the rows are valid are in docs/explanation/program.md.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable
from typing import Any

from certcore_check import ADJ_DEL, UNLIMITED, Entries, Program, is_whole, need, whole_list


class StrongRows:
    """Rows on sets of sites, rebuilt from their tags. Level t of set U is 1 if at least t flips are in U."""

    def __init__(self, program: Program, given: dict[str, Any], payers: bool = False) -> None:
        self.program, self.threat, self.payers = program, program.threat, payers  # only format 5 has rows on payers
        used = {k for k, *_ in program.flips}
        self.most = {k: self.threat.budgets[k] if k in used else 0 for k in self.threat.types}
        tags, values = given["strong_rows"], whole_list(given["strong_values"], 1, 2**62, "strong_values")
        lists = isinstance(given["sets"], list) and isinstance(tags, list)
        need(lists and len(tags) == len(values), "sets and strong_rows have another form")
        self.sets = [self._set(*each) for each in given["sets"]]
        self.columns = [[program.column(1) for _ in range(last)] for _, _, last, _ in self.sets]  # level columns
        for tag, y in zip(tags, values):
            program.add(*self._row(tag), y)

    def _sites(self, k: Any, given: Any) -> frozenset[int]:
        """A nonempty increasing list of sites that have flip columns."""
        need(is_whole(k, 0, 3) and k in self.most, "a set or row is about a type without a budget")
        sites = whole_list(given, 0, 2**62, "sites", rising=True)
        need(sites and set(sites) <= self.program.at[k].keys(), "sites: there is none, or one has no column")
        return frozenset(sites)

    def _set(self, k: Any, given: Any, last: Any) -> tuple[int, frozenset[int], int, int]:
        """Type, sites, number of level columns L, and the largest number R_U of flips in the set."""
        sites = self._sites(k, given)
        most = min(self.most[k], sum(self.program.cap[k].get(site, UNLIMITED) for site in sites))
        need(is_whole(last, 1, most), "a set has no level, or more than flips fit")
        return k, sites, last, most

    def _of(self, u: Any) -> tuple[int, frozenset[int], int, int]:
        need(is_whole(u, 0, len(self.sets) - 1), "a row names no set")
        return self.sets[u]

    def _field(self, k: Any, g: Any) -> frozenset[int]:
        """Sites in the field of a group that have flip columns."""
        good = is_whole(k, 0, 3) and k in self.most and is_whole(g, 0, len(self.program.points) - 1)
        need(good, "a row names no group, or a type without a budget")
        return frozenset(site for site in self.program.field[g][k] if site in self.program.at[k])

    def _flips(self, k: int, sites: Iterable[int], coefficient: int) -> Entries:
        return [(column, coefficient) for site in sites for column in self.program.at[k][site]]

    def _levels(self, u: int, first: int, last: int, coefficient: int) -> Entries:
        """Levels first … last; column L stands for the levels above L, and levels above R_U are 0."""
        (_, _, top, most), columns = self.sets[u], self.columns[u]
        above = max(0, min(last, most) - max(first - 1, top))
        each = [(columns[i - 1], coefficient) for i in range(first, min(last, top) + 1)]
        return [*each, (columns[-1], above * coefficient)]

    def _points(self, g: int, k: int, q: int, coefficient: int) -> Entries:
        """The front points of a group that need at least q flips of type k."""
        pairs = zip(self.program.points[g], self.program.fronts[g])
        return [(column, coefficient) for column, point in pairs if point[k] >= q]

    def _row(self, tag: Any) -> tuple[int, Entries]:
        """Right-hand side and entries of the row that a tag names."""
        match tag:
            case ["monotone", u, t]:
                need(is_whole(t, 1, self._of(u)[2] - 1), "monotone: no such level")
                return 0, self._levels(u, t + 1, t + 1, 1) + self._levels(u, t, t, -1)
            case ["least", u]:
                k, sites, last, _ = self._of(u)
                return 0, self._levels(u, 1, last, 1) + self._flips(k, sites, -1)
            case ["most", u]:
                k, sites, _, most = self._of(u)
                return 0, self._levels(u, 1, most, -1) + self._flips(k, sites, 1)
            case ["in", u, g, q, t]:  # of q flips in the field, q − t + 1 lie outside U or count as levels t … q of U
                k, sites, _, _ = self._of(u)
                outside = self._field(k, g) - sites
                need(is_whole(q, 1, self.most[k]) and is_whole(t, 1, q), "in: no such level")
                paid = self._levels(u, t, q, -1) + self._flips(k, outside, -1)
                return 0, self._points(g, k, q, q - t + 1) + paid
            case ["conflict", u, g, q, t]:  # a group has q flips in its field: at most R − q of U lie elsewhere
                k, sites, last, _ = self._of(u)
                inside, most = self._field(k, g) & sites, self.most[k]
                need(is_whole(q, 1, most) and is_whole(t, most - q + 1, last), "conflict: no such level")
                excess = t - (most - q)
                paid = self._levels(u, t - excess + 1, t, 1) + self._flips(k, inside, -1)
                return excess, self._points(g, k, q, excess) + paid
            case ["cover", k, g, q, list(blocks)]:  # blocks hold at most κ flips; q − κ lie elsewhere in the field
                rest, taken = self._field(k, g), 0
                for block in blocks:
                    need(isinstance(block, list), "cover: no block")
                    sites = self._sites(k, block[-1])
                    rest -= sites
                    if len(block) == len(sites) == 1:
                        taken += self.program.cap[k].get(block[0][0], UNLIMITED)
                    else:
                        limited = k == ADJ_DEL and self.threat.limited[k] and len(block) == 2
                        need(limited and is_whole(block[0], 0, len(self.threat.free) - 1), "cover: no block")
                        need(all(block[0] in self.program.instance.edges[e] for e in sites), "cover: not at the node")
                        taken += self.threat.limits[k][block[0]]
                need(is_whole(q, taken + 1, self.most[k]), "cover: no such level, or the blocks take everything")
                return 0, self._points(g, k, q, q - taken) + self._flips(k, rest, -1)
            case ["shift", g, chosen, list(shifts), weights]:
                return 0, self._shift(g, chosen, shifts, weights)
            case ["paid", k, g, q, spared, counted] if self.payers:
                return 0, self._paid(k, g, q, spared, counted)
        raise ValueError(f"a row has an unknown tag or another form: {str(tag)[:40]}")

    def _shift(self, g: Any, chosen: Any, shifts: list[Any], weights: Any) -> Entries:
        """Without κ flips per set, chosen points still weigh at least M, which higher levels and other flips supply."""
        rest = {k: self._field(k, g) for k in self.threat.types}
        places = whole_list(chosen, 0, len(self.program.points[g]) - 1, "shift: points", rising=True)
        w = whole_list(weights, 0, 2**20, "shift: weights")
        need(places and len(w) == 4 and all(k in rest for k in range(4) if w[k]), "shift: points or weights do not fit")
        conceded = [0] * 4
        for u, kappa in shifts:
            k, sites, _, _ = self._of(u)
            need(is_whole(kappa, 0, 2**31) and w[k] > 0, "shift: a set does not fit")
            conceded[k] += kappa
            rest[k] -= sites
        need(len({u for u, _ in shifts}) == len(shifts), "shift: a set is named twice")
        left = [[max(p - c, 0) for p, c in zip(self.program.fronts[g][i], conceded)] for i in places]
        mass = min(sum(a * b for a, b in zip(w, point)) for point in left)
        need(mass >= 1, "shift: nothing is left to pay")
        entries = [(self.program.points[g][i], mass) for i in places]
        height = {k: min(max(point[k] for point in left), -(-mass // w[k])) for k in range(4) if w[k]}
        for u, kappa in shifts:
            k = self.sets[u][0]
            entries += self._levels(u, kappa + 1, kappa + height[k], -w[k])
        return entries + [entry for k in height for entry in self._flips(k, rest[k], -w[k])]

    def _paid(self, k: Any, g: Any, q: Any, spared: Any, counted: Any) -> Entries:
        """Of q flips in the field, m are not paid by `spared`: each of `counted` pays for m at most if it attacks."""
        paid: dict[int, list[int]] = defaultdict(list)
        for site in self._field(k, g):
            for column in self.program.at[k][site]:
                paid[self.program.flips[column][2] if k == ADJ_DEL else site].append(column)
        need(self.program.sigma and paid and -1 not in paid, "paid: flips have no payers")
        lists = [whole_list(nodes, 0, 2**62, "paid: nodes", rising=True) for nodes in (spared, counted)]
        need({*lists[0], *lists[1]} <= paid.keys() and not {*lists[0]} & {*lists[1]}, "paid: no payers, or one twice")
        limit = self.threat.capacity[k]
        most = {m: min(limit[m], self.most[k], sum(self.program.columns[j][0] for j in paid[m])) for m in paid}
        taken = sum(most[m] for m in lists[0])
        need(is_whole(q, taken + 1, self.most[k]), "paid: no such level, or the payers take everything")
        entries = [(self.program.attacker[m], -min(most[m], q - taken)) for m in lists[1]]
        others = [(j, -1) for m in paid.keys() - {*lists[0], *lists[1]} for j in paid[m]]
        return self._points(g, k, q, q - taken) + entries + others
