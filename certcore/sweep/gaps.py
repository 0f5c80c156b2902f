"""Gap between the proven bound and the relaxed optimum at every cell of a sweep, solved or not.

Upper bounds: the dual values of each solved cell give a proven bound at every cell (`verify/cells.py`), and a bound at
larger values holds at smaller ones. Lower estimates: a solution of one cell is feasible at all larger cells. A convex
combination of solutions is feasible wherever the budgets suffice, without the points that are not reachable there. This
uses the concavity of the optimum within one range of right-hand sides. In addition, the flips of a combination are
scaled to the budgets, and each group uses the best points for the flips in its field. The lower estimate is
floating-point: it decides what is solved and is never a bound.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from itertools import combinations

import numpy as np

from certcore.program.structure import Structure
from certcore.solve.solver import BoundResult
from certcore.sweep.counts import monotone
from certcore.sweep.line import ROUNDING
from certcore.verify.bound import SCALE
from certcore.verify.cells import Cells
from certcore.verify.duals import IntegerDuals

Cell = tuple[int, ...]
#: Stands for −∞: value of a solution at cells where it is not feasible.
NOWHERE = -1e18
#: NEAREST: number of solutions combined with each other at a cell.
#: LOOKS: number of combinations between them that are re-optimised.
#: SAME: distance of two cells, in targets, that counts as none.
NEAREST, LOOKS, SAME = 12, 2, 1.0
#: Instead of a cell one up to STEPS larger is solved if its gap is at least KEEP times as wide.
STEPS, KEEP = 2, 0.6
#: Rows that limit flips beside the global budgets.
LIMITS = ("local", "sigma", "payer", "pair")


@dataclass(frozen=True, eq=False)
class _Solution:
    """A relaxed solution of one cell, and its value at the other cells."""

    at: np.ndarray
    """Its coordinates on the axes."""
    broken: np.ndarray
    """How many targets it breaks at each cell."""
    points: np.ndarray
    fields: np.ndarray
    """Flips in each field."""
    scalable: np.ndarray
    """For each type in play, the largest factor on its flips that no limit but the global budget forbids."""
    near: np.ndarray | float
    """Sum of the attackers that reach each group, an upper bound on its broken fraction."""
    prices: np.ndarray
    """Targets that one more unit of each axis would break, from the dual values."""


class _Pairs:
    """Pairs of points of one group that together spend all flips of two types in its field."""

    def __init__(self, structure: Structure) -> None:
        amount, group = structure.needs[:, list(structure.types)], structure.points.group
        found = []
        for apart in range(1, int(np.bincount(group).max(initial=0))):
            first = np.flatnonzero(group[apart:] == group[:-apart])
            found.append(np.stack([first, first + apart]))
        both = np.concatenate(found, axis=1) if found else np.zeros((2, 0), dtype=np.int64)
        a, b = amount[both[0]].T, amount[both[1]].T
        both = both[:, (a[0] - b[0]) * (a[1] - b[1]) < 0]  # otherwise one point needs no more of both types
        self.first, self.second = both[:, np.argsort(both[0], kind="stable")]
        self.a, self.b = amount[self.first].astype(np.float64).T, amount[self.second].astype(np.float64).T
        self.determinant = self.a[0] * self.b[1] - self.a[1] * self.b[0]
        self.groups, self.starts = np.unique(group[self.first], return_index=True)

    def raise_to(self, broken: np.ndarray, flips: np.ndarray, open_: np.ndarray) -> None:
        """Raise the broken fraction of each group to that of its best pair; `flips` in the fields of the points."""
        if not len(self.first):
            return
        x, y = np.where(self.a > 0, flips[self.first].T, flips[self.second].T)
        p, q = (x * self.b[1] - y * self.b[0]) / self.determinant, (y * self.a[0] - x * self.a[1]) / self.determinant
        possible = (p >= 0) & (q >= 0) & open_[self.first] & open_[self.second]
        best = np.maximum.reduceat(np.where(possible, p + q, 0.0), self.starts)
        broken[self.groups] = np.maximum(broken[self.groups], best)


class Gaps:
    """Proven bounds and lower estimates over the cells of a sweep; `on` is None if no single program has all cells."""

    def __init__(self, values: tuple[list[int], ...], bounds: np.ndarray, on: Cells | None) -> None:
        self.on = on
        self.axes: list[np.ndarray] = []
        self.upper = np.array([math.ceil(b * SCALE) for b in bounds.ravel().tolist()], dtype=np.int64)
        self.upper = self.upper.reshape(bounds.shape)
        self.lower = np.zeros(bounds.shape)
        self._solutions: list[_Solution] = []
        self._looked: dict[Cell, set[tuple[tuple[int, float], ...]]] = {}
        if on is not None:
            shapes = [[-1 if k == axis else 1 for k in range(len(values))] for axis in range(len(values))]
            self.axes = [np.asarray(v, dtype=np.float64).reshape(shape) for v, shape in zip(values, shapes)]
            self._bound(on.plain())
            self.lower[...] = on.structure.constant
            nothing = np.zeros(on.structure.columns.count)
            self._mix(self._solution(np.zeros(len(values)), nothing, float(on.structure.constant), None))

    @property
    def counts(self) -> np.ndarray:
        """Upper estimate of how many more targets a solve could certify at each cell, in floating point."""
        return np.maximum(self.upper // SCALE - np.floor(self.lower + ROUNDING).astype(np.int64), 0)

    def fractions(self) -> np.ndarray:
        """The proven bounds."""
        result = np.empty(self.upper.size, dtype=object)
        result[:] = [Fraction(n, SCALE) for n in self.upper.ravel().tolist()]
        return result.reshape(self.upper.shape)

    def learn(self, cell: Cell, bound: Fraction, lower: float) -> None:
        """Record a solved cell: its bound holds at smaller values, its lower value at larger ones."""
        self.upper[cell] = min(int(self.upper[cell]), math.ceil(bound * SCALE))
        self.upper = monotone(self.upper)
        self._raise(cell, lower)

    def learn_answer(self, cell: Cell, answer: BoundResult) -> None:
        """Record a solved cell, and evaluate its dual values and its solution at the other cells."""
        assert self.on is not None
        if answer.duals is not None:
            self._bound(self.on.bounds(answer.duals))
        self.learn(cell, answer.bound, answer.lower)
        if answer.x is not None and answer.status.is_final:
            at = np.array([axis.ravel()[i] for axis, i in zip(self.axes, cell)])
            self._mix(self._solution(at, answer.x, answer.lower, answer.duals))

    def widest(self, tolerance: int, done: np.ndarray) -> Cell | None:
        """The cell with the widest gap above the tolerance, after re-optimising its estimate; None if none."""
        while True:
            gaps = np.where(done, -1, self.counts)
            cell = tuple(int(i) for i in np.unravel_index(int(np.argmax(gaps)), gaps.shape))
            if gaps[cell] <= tolerance:
                return None
            if self.on is None or not self.on.is_separable:
                return cell
            best = self._combinations(cell)
            new = [shares for shares in best if tuple(shares.items()) not in self._looked.get(cell, ())]
            if not new:
                return self._upwards(cell, gaps)
            self._looked[cell] = {tuple(shares.items()) for shares in best}
            for shares in new:
                self._raise(cell, self._chosen_again(self.on, cell, shares))
                if self.counts[cell] <= tolerance:
                    break

    def _upwards(self, cell: Cell, gaps: np.ndarray) -> Cell:
        """A slightly larger cell whose gap is about as wide, if any.

        Dual values bound smaller cells well, but larger ones poorly: they leave free the points that become reachable.
        """
        least = KEEP * gaps[cell]
        for _ in range(STEPS):
            larger = [tuple(c + (k == axis) for k, c in enumerate(cell)) for axis in range(gaps.ndim)]
            larger = [c for c in larger if all(i < n for i, n in zip(c, gaps.shape)) and gaps[c] >= least]
            if not larger:
                break
            cell = max(larger, key=lambda c: gaps[c])
        return cell

    def _bound(self, numerators: np.ndarray) -> None:
        most = int(self.upper.max(initial=0))
        self.upper = monotone(np.minimum(self.upper, np.minimum(numerators, most).astype(np.int64)))

    def _raise(self, cell: Cell, lower: float) -> None:
        larger = self.lower[tuple(slice(i, None) for i in cell)]
        np.maximum(larger, lower, out=larger)

    # Convex combinations of two solutions.

    def _solution(self, at: np.ndarray, x: np.ndarray, value: float, duals: IntegerDuals | None) -> _Solution:
        assert self.on is not None
        s, on = self.on.structure, self.on
        near: np.ndarray | float = math.inf
        if not on.is_separable:  # ballots: reachability is not separable
            least, nothing = at, np.zeros(0)
            broken, points, fields, scalable = np.full(self.lower.shape, value), nothing, nothing, nothing
        else:
            points = np.clip(x[s.columns.points], 0.0, 1.0)
            if s.relaxation.has_indicators:
                whole = np.bincount(s.points.group, weights=points, minlength=len(s.groups))
                share = np.clip(x[s.columns.indicators], 0.0, 1.0) / np.maximum(whole, ROUNDING)
                points = points * np.minimum(share, 1.0)[s.points.group]
            broken = s.constant + on.sums(points * s.groups.weight[s.points.group])
            fields, scalable = s.incidence.into(x[s.columns.flips]), self._scalable(x[s.columns.flips])
            touch = s.attackers.touch
            if touch is not None:
                near = np.asarray(touch @ x[s.columns.attackers])
            least = np.array([self._needs(kind, int(v)) for kind, v in zip(on.kinds, at)])
        for axis, needed in zip(self.axes, least):
            broken = np.where(axis >= needed, broken, NOWHERE)
        prices = np.ones(len(at))
        if duals is not None:
            rows = [s.rows["sigma"].start if kind is None else s.global_row[kind] for kind in on.kinds]
            prices = duals.y[rows] / SCALE
        return _Solution(at, broken, points, fields, scalable, near, prices)

    def _scalable(self, flips: np.ndarray) -> np.ndarray:
        assert self.on is not None
        s = self.on.structure
        limited = any(s.rows[name].stop > s.rows[name].start for name in LIMITS if name in s.rows)
        room = np.full(len(flips), 1.0) if limited else s.flips.cap / np.maximum(flips, ROUNDING)
        return np.array([room[s.flips.kind == k].min(initial=np.inf) for k in s.types])

    def _needs(self, kind: int | None, value: int) -> int:
        """The smallest value of an axis at which a solution stays valid, if its flips can be paid for."""
        assert self.on is not None
        s = self.on.structure
        if kind is None:
            return 0
        if (s.flips.cost[s.flips.kind == kind] > 1).any():
            return value  # the number of affordable flips is rounded down
        return 0 if s.relaxation.has_indicators else min(value, s.attackers.steady_from(kind))

    def _mix(self, new: _Solution) -> None:
        """Update the lower estimates with convex combinations of the new solution and each earlier one."""
        for old in self._solutions:
            low, high = np.zeros(self.lower.shape), np.ones(self.lower.shape)
            for axis, a, b in zip(self.axes, old.at.tolist(), new.at.tolist()):
                if b > a:
                    high = np.minimum(high, (axis - a) / (b - a))
                elif b < a:
                    low = np.maximum(low, (a - axis) / (a - b))
                else:
                    high = np.where(axis >= a, high, -1.0)
            for share in (low, high):
                value = np.where(low <= high, (1 - share) * old.broken + share * new.broken, NOWHERE)
                self.lower = np.maximum(self.lower, value)
        self._solutions.append(new)
        for number in range(self.lower.ndim):
            self.lower = np.maximum.accumulate(self.lower, axis=number)

    def _combinations(self, cell: Cell) -> list[dict[int, float]]:
        """Convex combinations of the nearest solutions, to be scaled to a cell's budgets: weights by number.

        The first ones cost exactly the budgets, (number of axes + 1) solutions each. The last one also serves cells
        that are not between solutions.
        """
        to = np.array([axis.ravel()[i] for axis, i in zip(self.axes, cell)])
        at = np.array([solution.at for solution in self._solutions])
        broken = np.array([solution.broken[cell] for solution in self._solutions])
        prices = np.array([solution.prices for solution in self._solutions])
        far = np.where(broken > 0, (np.abs(at - to) * prices).sum(axis=1), np.inf)
        far[0] = np.inf  # the solution without flips
        near = [int(i) for i in np.argsort(far, kind="stable")[:NEAREST] if np.isfinite(far[i])]
        several = np.array(list(combinations(near, len(to) + 1)), dtype=np.int64).reshape(-1, len(to) + 1)
        corners = np.concatenate([at[several], np.ones((*several.shape, 1))], axis=2).transpose(0, 2, 1)
        several, corners = (part[np.abs(np.linalg.det(corners)) > 0.5] for part in (several, corners))
        right = np.tile(np.append(to, 1.0)[:, None], (len(several), 1, 1))
        shares = np.linalg.solve(corners, right)[..., 0]
        inside = (shares >= 0).all(axis=1)
        several, shares = several[inside], shares[inside]
        best = np.argsort(-(shares * broken[several]).sum(axis=1), kind="stable")[:LOOKS]
        result = [dict(zip(several[i].tolist(), shares[i].tolist())) for i in best]
        few = near[: len(to) + 1]
        weights = 1 / (far[few] + SAME)
        return [*result, dict(zip(few, (weights / weights.sum()).tolist()))] if few else [{0: 1.0}]

    def _scale(self, cell: Cell, parts: list[tuple[_Solution, float]]) -> np.ndarray:
        """For each type in play, the factor on the flips of a combination that spends the cell's budget."""
        assert self.on is not None
        s = self.on.structure
        budgets, _ = self.on.place_of(cell)
        result = np.ones(len(s.types))
        for axis, kind in enumerate(self.on.kinds):
            if kind in s.types:
                spent = sum(share * part.at[axis] for part, share in parts)
                i = s.types.index(kind)
                most = min(part.scalable[i] for part, _ in parts)
                result[i] = min(budgets[kind] / spent, max(most, 1.0)) if spent > 0 else 1.0
        return result

    @cached_property
    def _pairs(self) -> _Pairs:
        assert self.on is not None
        return _Pairs(self.on.structure)

    def _chosen_again(self, on: Cells, cell: Cell, shares: dict[int, float]) -> float:
        """The value of a combination's flips at a cell if each group uses its best points.

        With two types these are one point or two (its linear program has two rows beside the choice row). With more
        they are one point or the combination's own, which is feasible too.
        """
        s = on.structure
        parts = [(self._solutions[number], share) for number, share in shares.items()]
        open_ = on.open_at(cell)
        flips = np.sum([share * part.fields for part, share in parts], axis=0)[s.field_of_point]
        scale = self._scale(cell, parts)
        flips = flips * scale
        amount = s.needs[:, list(s.types)]
        single = np.where(amount > 0, flips / np.maximum(amount, 1), np.inf).min(axis=1)
        mixed = np.where(open_, np.sum([share * part.points for part, share in parts], axis=0), 0.0)
        mixed *= min(1.0, scale.min(initial=1.0))
        broken = np.bincount(s.points.group, weights=mixed, minlength=len(s.groups))
        if len(s.groups):
            broken = np.maximum(broken, np.maximum.reduceat(np.where(open_, single, 0.0), s.points.first))
        if len(s.types) == 2:
            self._pairs.raise_to(broken, flips, open_)
        near = sum(share * part.near for part, share in parts) if s.attackers.touch is not None else 1.0
        return s.constant + float(s.groups.weight @ np.minimum(broken, np.minimum(near, 1.0)))
