"""Shifted covers for several types: rows for what a target needs beyond the levels already reached.

With two types most of the gap comes from partly broken targets: one that needs (4, 2) flips and receives (4, 1) counts
as half broken. Single sites get levels. The levels that the solution has (nearly) reached are subtracted from the
target's points. A line below the remaining points then cuts off the solution.
"""

from __future__ import annotations

from itertools import combinations, pairwise, product
from math import gcd
from typing import NamedTuple

import numpy as np

from certcore.domain.perturbations import FLIPS
from certcore.program.levels import Levels, LevelSet
from certcore.program.program import Program
from certcore.solve.separate import Found, RelaxedView, Separator
from certcore.solve.tuning import SEPARATION


class _Marked(NamedTuple):
    """One type with all levels above a threshold (mark) subtracted, for each group."""

    kind: int
    mark: float
    off: np.ndarray
    """Number of subtracted levels in its field."""
    left: np.ndarray
    """Flips that remain there."""


class Shifts:
    """Levels of single sites, and separation of shifted covers."""

    def __init__(self, levels: Levels, program: Program, separators: dict[int, Separator]) -> None:
        self.levels, self.separators = levels, separators
        s = self.structure = program.structure
        self.numbers: dict[int, dict[int, int]] = {k: {} for k in separators}
        """For each type, the single-site sets by position of the site."""
        ends = np.append(s.points.first, len(s.points))
        fronts: dict[bytes, int] = {}
        self.front = np.zeros(len(s.groups), dtype=np.int64)
        self.amounts: list[np.ndarray] = []
        self.places: list[list[int]] = []
        for g, (start, stop) in enumerate(zip(ends[:-1].tolist(), ends[1:].tolist())):
            places = np.flatnonzero(program.open[start:stop])
            amount = s.points.amount[start + places]
            key = places.tobytes() + b"|" + amount.tobytes()
            if key not in fronts:
                fronts[key] = len(self.amounts)
                self.amounts.append(amount)
                self.places.append(places.tolist())
            self.front[g] = fronts[key]
        self._facets: dict[tuple[int, int, int, int, int], np.ndarray] = {}

    def new_sites(self, views: dict[int, RelaxedView]) -> list[LevelSet]:
        """Single sites that the solution uses and that have no levels yet."""
        new = []
        for k, view in views.items():
            separator, known = self.separators[k], self.numbers[k]
            order = view.used[np.argsort(-view.flips[view.used], kind="stable")]
            count = 0
            for position in order[view.flips[order] > SEPARATION.site_flips].tolist():
                if position in known:
                    continue
                key = np.array([position]).tobytes()
                if key in separator.keys:
                    known[position] = separator.keys[key]
                    continue
                made = separator.level_set(np.array([position]))
                if made is not None and count < SEPARATION.new_site_levels:
                    new.append(made)
                    count += 1
        return new

    def adopt(self, new: LevelSet, number: int) -> None:
        sites = self.separators[new.kind].sites.site
        self.numbers[new.kind][int(np.searchsorted(sites, new.sites[0]))] = number

    def guess(self, x: np.ndarray, known: int, views: dict[int, RelaxedView]) -> None:
        """Estimate levels that are not in the solution yet from the flips at the site."""
        for k, numbers in self.numbers.items():
            for position, number in numbers.items():
                mine = self.levels.sets[number]
                if mine.start >= known:
                    x[mine.start : mine.start + mine.levels] = np.clip(
                        views[k].flips[position] - np.arange(mine.levels), 0.0, 1.0
                    )

    def rows(self, x: np.ndarray, views: dict[int, RelaxedView]) -> list[Found]:
        """For each target the most violated shifted cover over two types."""
        s = self.structure
        share = np.bincount(s.points.group, weights=np.maximum(x[s.columns.points], 0), minlength=len(s.groups))
        groups = np.flatnonzero(share > 1e-4)
        if not len(groups):
            return []
        share = share[groups]
        best = np.full(len(groups), SEPARATION.least_violation)
        choice: list[tuple[int, int, float, float, tuple[int, int, int]] | None] = [None] * len(groups)
        marked = {k: self._marked(x, views[k], groups, k) for k in views}
        for a, b in combinations(sorted(views), 2):
            for first, second in product(marked[a], marked[b]):
                self._improve(first, second, groups, share, best, choice)
        found: list[Found] = []
        for i, chosen in enumerate(choice):
            if chosen is not None:
                tag = self._tag(x, views, int(groups[i]), *chosen)
                found.append((float(best[i] * s.groups.weight[groups[i]]), tag))
        return found

    def _marked(self, x: np.ndarray, view: RelaxedView, groups: np.ndarray, kind: int) -> list[_Marked]:
        """For each mark and group: levels subtracted in the field, and flips that remain."""
        field = self.separators[kind].field[groups]
        total = field @ view.flips
        result = []
        for mark in SEPARATION.marks:
            count, taken = np.zeros(len(view.flips)), np.zeros(len(view.flips))
            for position, number in self.numbers[kind].items():
                reached = self._reached(x, number, mark)
                mine = self.levels.sets[number]
                count[position] = reached
                taken[position] = x[mine.start : mine.start + reached].sum()
            off = np.rint(field @ count).astype(np.int64)
            result.append(_Marked(kind, mark, off, np.maximum(total - field @ taken, 0.0)))
        return result

    def _reached(self, x: np.ndarray, number: int, mark: float) -> int:
        """How many consecutive levels of a set, from the first on, lie above the mark."""
        mine = self.levels.sets[number]
        below = np.flatnonzero(x[mine.start : mine.start + mine.levels] <= mark)
        return int(below[0]) if len(below) else mine.levels

    def _improve(
        self,
        a: _Marked,
        b: _Marked,
        groups: np.ndarray,
        share: np.ndarray,
        best: np.ndarray,
        choice: list[tuple[int, int, float, float, tuple[int, int, int]] | None],
    ) -> None:
        """Compute the violation for this pair of marks in every group; keep the largest."""
        keys = np.stack([self.front[groups], a.off, b.off], axis=1)
        unique, place = np.unique(keys, axis=0, return_inverse=True)
        order = np.argsort(place.reshape(-1), kind="stable")
        starts = np.searchsorted(place.reshape(-1)[order], np.arange(len(unique) + 1))
        for number, (front, moved_a, moved_b) in enumerate(unique.tolist()):
            facets = self._lines(front, a.kind, b.kind, moved_a, moved_b)
            if not len(facets):
                continue
            members = order[starts[number] : starts[number + 1]]
            value = (a.left[members, None] * facets[:, 0] + b.left[members, None] * facets[:, 1]) / facets[:, 2]
            line = value.argmin(axis=1)
            excess = share[members] - value[np.arange(len(members)), line]
            for i in np.flatnonzero(excess > best[members] + 1e-9).tolist():
                best[members[i]] = excess[i]
                w0, w1, total = facets[line[i]].tolist()
                choice[members[i]] = (a.kind, b.kind, a.mark, b.mark, (int(w0), int(w1), int(total)))

    def _lines(self, front: int, a: int, b: int, moved_a: int, moved_b: int) -> np.ndarray:
        """Lines w · (p − moved)⁺ ≥ M below the shifted points of a front: both axes and the edges of the hull."""
        key = (front, a, b, moved_a, moved_b)
        found = self._facets.get(key)
        if found is not None:
            return found
        amount = self.amounts[front]
        left = sorted({(max(0, p[a] - moved_a), max(0, p[b] - moved_b)) for p in amount.tolist()})
        lines = []
        if left and (0, 0) not in left:
            low = min(p for p, _ in left), min(p for _, p in left)
            lines += [(1, 0, low[0])] * (low[0] > 0) + [(0, 1, low[1])] * (low[1] > 0)
            hull: list[tuple[int, int]] = []
            for p in left:
                if hull and p[1] >= hull[-1][1]:
                    continue
                while len(hull) > 1 and _turns(hull[-2], hull[-1], p) <= 0:
                    hull.pop()
                hull.append(p)
            for p, q in pairwise(hull):
                w0, w1 = p[1] - q[1], q[0] - p[0]
                scale = gcd(w0, w1)
                w0, w1 = w0 // scale, w1 // scale
                if w0 * p[0] + w1 * p[1] > 0:
                    lines.append((w0, w1, w0 * p[0] + w1 * p[1]))
        found = np.array(lines, dtype=np.float64).reshape(-1, 3)
        self._facets[key] = found
        return found

    def _tag(
        self,
        x: np.ndarray,
        views: dict[int, RelaxedView],
        group: int,
        a: int,
        b: int,
        first: float,
        second: float,
        line: tuple[int, int, int],
    ) -> tuple[object, ...]:
        weights = [0] * max(len(FLIPS), 1 + a, 1 + b)
        weights[a], weights[b] = line[0], line[1]
        shifts = []
        for k, mark in ((a, first), (b, second)):
            if not weights[k]:
                continue
            field = self.separators[k].field
            near = field.indices[field.indptr[group] : field.indptr[group + 1]]
            used = views[k].flips
            for position in np.sort(near).tolist():
                number = self.numbers[k].get(position)
                if number is not None and used[position] > 1e-7:
                    shifts.append([number, self._reached(x, number, mark)])
        return ("shift", group, self.places[self.front[group]], sorted(shifts), weights)


def _turns(p: tuple[int, int], q: tuple[int, int], r: tuple[int, int]) -> int:
    """Positive if p, q, r turn left: q then lies below the line from p to r."""
    return (q[0] - p[0]) * (r[1] - p[1]) - (q[1] - p[1]) * (r[0] - p[0])
