"""Separation of strong rows, and the choice of sets that get levels. Soundness does not depend on this module.

Only the support of the relaxed solution is searched, for all targets at once. A *need* is a pair of a group and an
amount q; it stands for the group's points that need at least q flips of the type.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.sparse as sp

from certcore.domain.perturbations import ADJ_DEL
from certcore.program.levels import Levels, LevelSet, Sites
from certcore.program.program import Program
from certcore.solve.tuning import SEPARATION

Found = tuple[float, tuple[Any, ...]]
"""Violation of a row, weighted by the targets of its group, and the row's tag."""
Violated = tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]
"""Sets, live needs, violations and levels of rows (level 0: none)."""


@dataclass(frozen=True, eq=False)
class RelaxedView:
    """A relaxed solution restricted to one type."""

    flips: np.ndarray
    """Flips at each site."""
    used: np.ndarray
    """The sites with flips."""
    share: np.ndarray
    """The sum of the points of each live need (a need is live if this sum is positive)."""
    live: np.ndarray
    """The live needs, in descending order of their amounts."""
    near: np.ndarray
    """(live needs, used sites): which used sites lie in the need's field."""


class Separator:
    """The needs of one type, its candidate sets, and separation of the rows of its sets."""

    def __init__(self, levels: Levels, program: Program, kind: int) -> None:
        s = program.structure
        self.levels, self.structure, self.kind = levels, s, kind
        self.sites: Sites = levels.kinds[kind]
        sites = self.sites
        count = len(sites.site)
        owner = np.repeat(np.arange(len(s.groups)), np.diff(sites.field.indptr))
        field = sp.coo_array(
            (np.ones(len(owner), np.float32), (owner, sites.of_column[sites.field.indices])),
            shape=(len(s.groups), count),
        )
        self.field = sp.csr_array(field)
        self.field.data[:] = 1.0
        # A point may need more flips than the budget allows; its need is then cut to that number.
        amounts = np.minimum(s.points.amount[:, kind], sites.most)
        open_ = np.flatnonzero(program.open & (amounts > 0))
        amount, group = amounts[open_], s.points.group[open_]
        keys = np.unique(group.astype(np.int64) * (2**31) + amount)
        self.group, self.need = keys >> 31, keys & (2**31 - 1)
        # A point counts for every need of its group with at most its own amount.
        first = np.searchsorted(self.group, group)
        last = np.searchsorted(keys, group.astype(np.int64) * (2**31) + amount, side="right")
        lengths = last - first
        need = np.repeat(first - np.cumsum(lengths) + lengths, lengths) + np.arange(int(lengths.sum()))
        self.points = sp.csr_array(
            sp.coo_array((np.ones(len(need)), (need, np.repeat(open_, lengths))), shape=(len(keys), len(s.points)))
        )
        self.top = int(min(sites.most, self.need.max(initial=0)))
        """The largest useful number of levels: the largest amount that a target needs."""
        self.weight = s.groups.weight[self.group] / s.mean_weight
        self.numbers: list[int] = []
        """Numbers in `levels` of the sets of this type."""
        self.masks = np.zeros((0, count), dtype=bool)
        self.keys: dict[bytes, int] = {}
        self.candidates = self._candidates()

    def view(self, x: np.ndarray) -> RelaxedView:
        sites, s = self.sites, self.structure
        flips = np.bincount(sites.of_column, weights=np.maximum(x[sites.columns], 0.0), minlength=len(sites.site))
        used = np.flatnonzero(flips > SEPARATION.used)
        share = self.points @ x[s.columns.points]
        live = np.flatnonzero(share > 1e-6)
        live = live[np.argsort(-self.need[live], kind="stable")]
        groups, place = np.unique(self.group[live], return_inverse=True)
        near = sp.csr_array(self.field[groups][:, used]).toarray() if len(used) else np.zeros((len(groups), 0))
        return RelaxedView(flips, used, share[live], live, near[place.reshape(-1)].astype(np.float32))

    # Sets.

    def _candidates(self) -> sp.csr_array:
        """Candidate sets: single sites, distinct fields, and for edges the stars of nodes."""
        count = len(self.sites.site)
        parts = [sp.eye_array(count, dtype=np.float32, format="csr")] if self.kind != ADJ_DEL else []
        parts.append(self.field)
        if self.sites.ends is not None and count:
            rows, columns = self.sites.ends.T.ravel(), np.tile(np.arange(count), 2)
            star = sp.coo_array((np.ones(len(rows), np.float32), (rows, columns)))
            parts.append(sp.csr_array(star.tocsr()[:, :count]))
        return sp.csr_array(sp.vstack(parts, format="csr"))

    def best_sets(self, view: RelaxedView, most: int) -> list[LevelSet]:
        """Candidate sets whose level rows the solution violates most."""
        used, flips = view.used, view.flips[view.used]
        if not len(used) or not self.top:
            return []
        trace = sp.csr_array(self.candidates[:, used])
        salt = np.random.default_rng(7).random(len(used))
        _, first = np.unique(np.round(trace @ salt, 9), return_index=True)
        first = first[np.diff(trace.indptr)[first] > 0]
        if len(first) > SEPARATION.max_candidates:
            inside = (trace @ flips)[first]
            first = first[np.argsort(-inside, kind="stable")[: SEPARATION.max_candidates]]
        masks = trace[first].toarray() > 0
        score = self._scores(view, masks * flips)
        chosen: list[LevelSet] = []
        taken: list[np.ndarray] = []
        for i in np.argsort(-score, kind="stable").tolist():
            if score[i] < SEPARATION.least_score or len(chosen) >= most:
                break
            if any(flips[masks[i] ^ other].sum() < SEPARATION.alike * flips[masks[i] | other].sum() for other in taken):
                continue
            start, stop = self.candidates.indptr[first[i] : first[i] + 2]
            new = self.level_set(np.sort(self.candidates.indices[start:stop]))
            if new is not None:
                chosen.append(new)
                taken.append(masks[i])
        return chosen

    def common_sets(self, sites: np.ndarray, most: int) -> list[LevelSet]:
        """What fields have of these sites (positions), sets of most targets first."""
        if not len(sites) or not self.top:
            return []
        open_ = self.need > 1
        weight = np.bincount(self.group[open_], weights=self.weight[open_], minlength=self.field.shape[0])
        trace = sp.csr_array(self.field[:, sites])
        salt = np.random.default_rng(7).random(len(sites))
        _, first, same = np.unique(np.round(trace @ salt, 9), return_index=True, return_inverse=True)
        total = np.bincount(same.reshape(-1), weights=weight) * (np.diff(trace.indptr)[first] > 0)
        chosen = np.argsort(-total, kind="stable")[:most]
        traces = (trace.indices[trace.indptr[i] : trace.indptr[i + 1]] for i in first[chosen[total[chosen] > 0]])
        made = (self.level_set(np.sort(sites[inside])) for inside in traces)
        return [new for new in made if new is not None]

    def level_set(self, positions: np.ndarray) -> LevelSet | None:
        """A set with its levels; None if it exists already or has no capacity."""
        levels = min(self.top, self.sites.capacity(positions))
        if levels < 1 or positions.tobytes() in self.keys:
            return None
        return LevelSet(self.kind, self.sites.site[positions], levels)

    def adopt(self, new: LevelSet) -> int:
        """Add the level columns of a set; returns its number."""
        number = self.levels.add(new)
        positions = np.searchsorted(self.sites.site, new.sites)
        self.keys[positions.tobytes()] = number
        mask = np.zeros((1, len(self.sites.site)), dtype=bool)
        mask[0, positions] = True
        self.masks = np.concatenate([self.masks, mask])
        self.numbers.append(number)
        return number

    def _scores(self, view: RelaxedView, loads: np.ndarray) -> np.ndarray:
        """For each candidate set, by how much the lower bounds on its levels exceed the upper bounds from its flips."""
        near, need, share = _distinct(view, self.need[view.live])
        inside = loads.astype(np.float32) @ near.T
        outside = (near @ view.flips[view.used])[None, :] - inside
        total, most, top = loads.sum(axis=1), self.sites.most, self.top
        low = np.zeros((len(loads), top + 2), dtype=np.float32)
        high = np.ones((len(loads), top + 1), dtype=np.float32)
        for t in range(1, top + 1):
            count = int(np.searchsorted(-need, -t, side="right"))
            if count:
                low[:, t] = (share[:count] - outside[:, :count] / (need[:count] - t + 1)).max(axis=1)
            count = int(np.searchsorted(-need, -(most - t + 1), side="right"))
            if count:
                high[:, t] = (1 - share[:count] + inside[:, :count] / (t - most + need[:count])).min(axis=1)
        low = np.maximum.accumulate(np.maximum(low, 0)[:, ::-1], axis=1)[:, ::-1]
        high = np.minimum.accumulate(np.clip(high, 0, 1), axis=1)
        least, upper = low[:, 1 : top + 1], high[:, 1:]
        above = upper.sum(axis=1) + (most - top) * upper[:, -1]
        clash = np.maximum(least - upper, 0).sum(axis=1)
        return np.maximum(least.sum(axis=1) - total, 0) + np.maximum(total - above, 0) + clash

    # Rows of the existing sets.

    def guess(self, view: RelaxedView, x: np.ndarray, first: int) -> None:
        """Estimate levels of new sets (from `first` on) from the flips inside them, filling lower levels first."""
        for row in range(first, len(self.numbers)):
            mine = self.levels.sets[self.numbers[row]]
            inside = float(view.flips[self.masks[row]].sum())
            x[mine.start : mine.start + mine.levels] = np.clip(inside - np.arange(mine.levels), 0.0, 1.0)

    def level_rows(self, view: RelaxedView, x: np.ndarray, first: int = 0, most: int = 500) -> list[Found]:
        """Violated `in` and `conflict` rows of the sets from `first` on (about `most` new ones), and monotone rows."""
        numbers = self.numbers[first:]
        if not numbers:
            return []
        sums = np.zeros((len(numbers), self.top + 1))
        found: list[Found] = []
        for row, number in enumerate(numbers):
            mine = self.levels.sets[number]
            z = x[mine.start : mine.start + mine.levels]
            sums[row, 1 : len(z) + 1] = z
            for t in np.flatnonzero(np.diff(z) > 1e-6).tolist():
                found.append((1e3 + float(z[t + 1] - z[t]), ("monotone", number, t + 1)))
        np.cumsum(sums, axis=1, out=sums)
        if not len(view.live) or not len(view.used):
            return found
        masks = self.masks[first:, view.used]
        for family, violated in (("in", self._inside), ("conflict", self._conflicts)):
            found += self._worst(family, numbers, view, 3 * most, *violated(numbers, view, masks, sums))
        return found

    def _inside(self, numbers: list[int], view: RelaxedView, masks: np.ndarray, sums: np.ndarray) -> Violated:
        """Pairs of a set and a need are few: a need without flips in the set violates no `in` row of it."""
        need, share = self.need[view.live], view.share
        flips = view.flips[view.used]
        near = sp.csr_array(view.near)
        inside = sp.coo_array(sp.csr_array(masks * flips) @ near.T)
        outside = (near @ flips)[inside.col] - inside.data
        pair = np.flatnonzero(outside < (share * need)[inside.col])
        pair = pair[np.argsort(-need[inside.col[pair]], kind="stable")]
        row, column = inside.row[pair], inside.col[pair]
        q, u = need[column], share[column]
        upto = sums[row, np.minimum(q, self.top)] + outside[pair]
        best, level = np.full(len(pair), SEPARATION.least_violation), np.zeros(len(pair), dtype=np.int64)
        for t in range(1, self.top + 1):
            count = int(np.searchsorted(-q, -t, side="right"))
            excess = u[:count] - (upto[:count] - sums[row[:count], t - 1]) / (q[:count] - t + 1)
            better = excess > best[:count]
            best[:count][better] = excess[better]
            level[:count][better] = t
        return row, column, best, level

    def _conflicts(self, numbers: list[int], view: RelaxedView, masks: np.ndarray, sums: np.ndarray) -> Violated:
        """Needs that leave less than the highest level for flips elsewhere; the others conflict with nothing."""
        most = self.sites.most
        count = int(np.searchsorted(-self.need[view.live], self.top - most, side="left"))
        if not count:
            return np.zeros(0, np.int64), np.zeros(0, np.int64), np.zeros(0), np.zeros(0, np.int64)
        need, share = self.need[view.live[:count]], view.share[:count]
        inside = (masks * view.flips[view.used]) @ view.near[:count].T
        best, level = np.full(inside.shape, SEPARATION.least_violation), np.zeros(inside.shape, dtype=np.int64)
        has = np.array([self.levels.sets[number].levels for number in numbers])
        start = sums[:, np.clip(most - need, 0, self.top)] + inside
        for t in range(1, self.top + 1):
            count = int(np.searchsorted(-need, -(most - t + 1), side="right"))
            if not count:
                continue
            wide = t - most + need[:count]
            excess = share[:count] - 1 + (sums[:, t : t + 1] - start[:, :count]) / wide
            better = (excess > best[:, :count]) & (has[:, None] >= t)
            best[:, :count][better] = excess[better]
            level[:, :count][better] = t
        row, column = np.nonzero(level)
        return row, column, best[row, column], level[row, column]

    def _worst(
        self,
        family: str,
        numbers: list[int],
        view: RelaxedView,
        most: int,
        row: np.ndarray,
        column: np.ndarray,
        excess: np.ndarray,
        level: np.ndarray,
    ) -> list[Found]:
        """The rows of a family with the largest violation, at most a few for each need."""
        value = np.where(level > 0, excess * self.weight[view.live][column], 0.0)
        order = np.flatnonzero(value > 0)
        order = order[np.lexsort((-value[order], column[order]))]
        begins = np.flatnonzero(np.diff(column[order], prepend=-1))
        rank = np.arange(len(order)) - np.repeat(begins, np.diff(np.append(begins, len(order))))
        order = order[rank < SEPARATION.rows_each]
        order = order[np.argsort(-value[order], kind="stable")[:most]]
        group, need = self.group[view.live], self.need[view.live]
        return [
            (float(value[i]), (family, numbers[row[i]], int(group[column[i]]), int(need[column[i]]), int(level[i])))
            for i in order.tolist()
        ]

    # Covers.

    def covers(self, view: RelaxedView, most: int) -> list[Found]:
        """Cover rows of targets that use a site, or the edges at a node, beyond its capacity."""
        sites = self.sites
        if not len(view.used) or (sites.cap[view.used] > 2**40).all():
            return []
        flips, cap = view.flips[view.used], np.minimum(sites.cap[view.used], 2**40).astype(np.float64)
        share, need = view.share, self.need[view.live]
        missing = need * share - view.near @ flips
        # Blocks are chosen by an estimate of the violation: flips beyond the capacity of each site.
        excess = (view.near * np.maximum(flips[None, :] - share[:, None] * cap[None, :], 0.0)).sum(axis=1)
        if sites.limits is not None:
            excess = excess + view.near @ flips
        hopeful = np.flatnonzero((need > 1) & (share > 1e-4) & (missing + excess > SEPARATION.least_violation))
        hopeful = hopeful[np.argsort(-(missing + excess)[hopeful], kind="stable")[:most]]
        found = []
        for j in hopeful.tolist():
            blocks, gain, held = self._blocks(view, j, flips, cap)
            if blocks and missing[j] + gain > SEPARATION.least_violation * need[j]:
                value = float((missing[j] + gain) / (need[j] - held) * self.weight[view.live[j]])
                found.append((value, ("cover", self.kind, int(self.group[view.live[j]]), int(need[j]), blocks)))
        return found

    def _blocks(self, view: RelaxedView, j: int, flips: np.ndarray, cap: np.ndarray) -> tuple[list[Any], float, int]:
        """Greedy choice: stars of nodes whose edges carry more flips than the local budget, then single sites."""
        sites, share, need = self.sites, float(view.share[j]), int(self.need[view.live[j]])
        here = np.flatnonzero(view.near[j])
        blocks: list[Any] = []
        gain, held = 0.0, 0
        free = np.ones(len(here), dtype=bool)
        if sites.limits is not None and sites.ends is not None:
            ends = sites.ends[view.used[here]]
            while free.any():
                nodes, place = np.unique(ends[free].T.ravel(), return_inverse=True)
                load = np.bincount(place.reshape(-1), weights=np.tile(flips[here][free], 2))
                more = load - share * sites.limits[nodes]
                best = int(np.argmax(more))
                limit = int(sites.limits[nodes[best]])
                if more[best] <= 1e-6 or held + limit >= need:
                    break
                field = np.sort(self._field_of(view, j))
                star = field[(sites.ends[field] == nodes[best]).any(axis=1)]
                blocks.append([int(nodes[best]), sites.site[star].tolist()])
                gain, held = gain + float(more[best]), held + limit
                free &= ~(ends == nodes[best]).any(axis=1)
        over = np.where(free, flips[here] - share * cap[here], 0.0)
        for i in np.argsort(-over, kind="stable").tolist():
            if over[i] <= 1e-6:
                break
            if held + int(cap[here[i]]) < need:
                blocks.append([[int(sites.site[view.used[here[i]]])]])
                gain, held = gain + float(over[i]), held + int(cap[here[i]])
        return blocks, gain, held

    def _field_of(self, view: RelaxedView, j: int) -> np.ndarray:
        start, stop = self.field.indptr[self.group[view.live[j]] :][:2]
        positions: np.ndarray = self.field.indices[start:stop]
        return positions


def _distinct(view: RelaxedView, need: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Merge needs with equal amounts and equal used sites in their fields; the largest share of each counts."""
    salt = np.random.default_rng(11).random(view.near.shape[1])
    order = np.lexsort((-view.share, np.round(view.near @ salt, 4), -need))
    key = np.round(view.near @ salt, 4)[order]
    first = np.append(True, (np.diff(key) != 0) | (np.diff(need[order]) != 0))[: len(order)]
    kept = order[first]
    return view.near[kept], need[kept], view.share[kept].astype(np.float32)
