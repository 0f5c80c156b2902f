"""Gap between the proven bound and the relaxed optimum at every cell of a sweep, solved or not.

Upper bounds: the dual values of each solved cell give a proven bound at every cell (`verify/cells.py`), and a bound at
larger values holds at smaller ones. Lower estimates: a solution of one cell is feasible at all larger cells. A convex
combination of solutions is feasible wherever the budgets suffice, without the points that are not reachable there. This
uses the concavity of the optimum within one range of right-hand sides. In addition, the points of each group are
re-optimised for the flips in its field. The lower estimate is floating-point: it decides what is solved and is never a
bound.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from itertools import combinations

import numpy as np

from certcore.solve.solver import BoundResult
from certcore.sweep.counts import monotone
from certcore.sweep.line import ROUNDING
from certcore.verify.bound import SCALE
from certcore.verify.cells import Cells

Cell = tuple[int, ...]
#: Stands for −∞: value of a solution at cells where it is not feasible.
NOWHERE = -1e18
#: NEAREST: number of solutions combined with each other at a cell.
#: LOOKS: number of combinations that are re-optimised.
NEAREST, LOOKS = 10, 4


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
    near: np.ndarray | float
    """Sum of the attackers that reach each group, an upper bound on its broken fraction."""


class Gaps:
    """Proven bounds and lower estimates over the cells of a sweep; `on` is None if no single program has all cells."""

    def __init__(self, values: tuple[list[int], ...], bounds: np.ndarray, on: Cells | None) -> None:
        self.on = on
        self.axes: list[np.ndarray] = []
        self.upper = np.array([math.ceil(b * SCALE) for b in bounds.ravel().tolist()], dtype=np.int64)
        self.upper = self.upper.reshape(bounds.shape)
        self.lower = np.zeros(bounds.shape)
        self._solutions: list[_Solution] = []
        self._pair = np.full((2, *bounds.shape), -1)
        self._share = np.zeros(bounds.shape)
        self._looked = np.zeros(bounds.shape, dtype=bool)
        if on is not None:
            shapes = [[-1 if k == axis else 1 for k in range(len(values))] for axis in range(len(values))]
            self.axes = [np.asarray(v, dtype=np.float64).reshape(shape) for v, shape in zip(values, shapes)]
            self._bound(on.plain())
            self.lower[...] = on.structure.constant
            nothing = np.zeros(on.structure.columns.count)
            self._mix(self._solution(np.zeros(len(values)), nothing, float(on.structure.constant)))

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
            self._mix(self._solution(at, answer.x, answer.lower))

    def widest(self, tolerance: int, done: np.ndarray) -> Cell | None:
        """The cell with the widest gap above the tolerance, after re-optimising its estimate; None if none."""
        while True:
            gaps = np.where(done, -1, self.counts)
            cell = tuple(int(i) for i in np.unravel_index(int(np.argmax(gaps)), gaps.shape))
            if gaps[cell] <= tolerance:
                return None
            if self.on is None or self._looked[cell]:
                return cell
            self._looked[cell] = True
            if self.on.is_separable:
                self._raise(cell, max(self._chosen_again(self.on, cell, w) for w in self._combinations(cell)))

    def _bound(self, numerators: np.ndarray) -> None:
        most = int(self.upper.max(initial=0))
        self.upper = monotone(np.minimum(self.upper, np.minimum(numerators, most).astype(np.int64)))

    def _raise(self, cell: Cell, lower: float) -> None:
        larger = self.lower[tuple(slice(i, None) for i in cell)]
        np.maximum(larger, lower, out=larger)

    # Convex combinations of two solutions.

    def _solution(self, at: np.ndarray, x: np.ndarray, value: float) -> _Solution:
        assert self.on is not None
        s, on = self.on.structure, self.on
        near: np.ndarray | float = math.inf
        if not on.is_separable:  # ballots: reachability is not separable
            least, nothing = at, np.zeros(0)
            broken, points, fields = np.full(self.lower.shape, value), nothing, nothing
        else:
            points = np.clip(x[s.columns.points], 0.0, 1.0)
            if s.relaxation.has_indicators:
                whole = np.bincount(s.points.group, weights=points, minlength=len(s.groups))
                share = np.clip(x[s.columns.indicators], 0.0, 1.0) / np.maximum(whole, ROUNDING)
                points = points * np.minimum(share, 1.0)[s.points.group]
            broken = s.constant + on.sums(points * s.groups.weight[s.points.group])
            fields = s.incidence.into(x[s.columns.flips])
            touch = s.attackers.touch
            if touch is not None:
                near = np.asarray(touch @ x[s.columns.attackers])
            least = np.array([self._needs(kind, int(v)) for kind, v in zip(on.kinds, at)])
        for axis, needed in zip(self.axes, least):
            broken = np.where(axis >= needed, broken, NOWHERE)
        return _Solution(at, broken, points, fields, near)

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
        number = len(self._solutions)
        for other, old in enumerate(self._solutions):
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
                better = value > self.lower
                self.lower = np.where(better, value, self.lower)
                self._pair[:, better] = np.array([[other], [number]])
                self._share = np.where(better, share, self._share)
                self._looked &= ~better
        self._solutions.append(new)
        for number in range(self.lower.ndim):
            self.lower = np.maximum.accumulate(self.lower, axis=number)

    def _combinations(self, cell: Cell) -> list[dict[int, float]]:
        """Convex combinations of solutions that cost exactly a cell's budgets, best first: weights by number.

        Combinations of two leave some of one budget unspent, so (number of axes + 1) solutions are combined.
        """
        result: list[dict[int, float]] = []
        if self._pair[0][cell] >= 0:
            share = float(self._share[cell])
            result.append({int(self._pair[0][cell]): 1 - share, int(self._pair[1][cell]): share})
        to = np.array([axis.ravel()[i] for axis, i in zip(self.axes, cell)])
        at = np.array([solution.at for solution in self._solutions])
        broken = np.array([solution.broken[cell] for solution in self._solutions])
        far = np.where(broken > 0, np.abs(np.log1p(at) - np.log1p(to)).sum(axis=1), np.inf)
        near = [int(i) for i in np.argsort(far, kind="stable")[:NEAREST] if np.isfinite(far[i])]
        several = np.array(list(combinations(near, len(to) + 1)), dtype=np.int64).reshape(-1, len(to) + 1)
        corners = np.concatenate([at[several], np.ones((*several.shape, 1))], axis=2).transpose(0, 2, 1)
        several, corners = (part[np.abs(np.linalg.det(corners)) > 0.5] for part in (several, corners))
        right = np.tile(np.append(to, 1.0)[:, None], (len(several), 1, 1))
        shares = np.linalg.solve(corners, right)[..., 0]
        inside = (shares >= 0).all(axis=1)
        several, shares = several[inside], shares[inside]
        best = np.argsort(-(shares * broken[several]).sum(axis=1), kind="stable")[:LOOKS]
        return result + [dict(zip(several[i].tolist(), shares[i].tolist())) for i in best] or [{0: 1.0}]

    def _chosen_again(self, on: Cells, cell: Cell, shares: dict[int, float]) -> float:
        """The value of a combination at a cell if each group uses its best single point or the combination's points."""
        s = on.structure
        parts = [(self._solutions[number], share) for number, share in shares.items()]
        open_ = on.program(cell).open
        fields = np.sum([share * part.fields for part, share in parts], axis=0)
        amount = s.needs[:, list(s.types)]
        paid = np.where(amount > 0, fields[s.field_of_point] / np.maximum(amount, 1), np.inf).min(axis=1)
        best = np.maximum.reduceat(np.where(open_, paid, 0.0), s.points.first) if len(s.groups) else np.zeros(0)
        mixed = np.where(open_, np.sum([share * part.points for part, share in parts], axis=0), 0.0)
        broken = np.maximum(best, np.bincount(s.points.group, weights=mixed, minlength=len(s.groups)))
        near = sum(share * part.near for part, share in parts) if s.attackers.touch is not None else 1.0
        return s.constant + float(s.groups.weight @ np.minimum(broken, np.minimum(near, 1.0)))
