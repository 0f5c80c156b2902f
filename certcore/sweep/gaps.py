"""How far bounds may be from the best their relaxation has to give, at every cell of a sweep, solved or not.

From above: the multipliers of each solved cell give a proven bound at every cell (`verify/cells.py`), and a bound at
larger values holds at smaller ones. From below: a solution of one cell is one at all larger cells, and a convex
combination of two is one wherever the budgets pay for it, less the points that are out of reach there. That is the
concavity of the optimum inside one range of right-hand sides, and a little more: the points of each group are chosen
again for what its field receives. The lower side is floating point: it decides what is solved and is never a bound.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from certcore.solve.solver import Answer
from certcore.sweep.counts import monotone
from certcore.sweep.line import HAIR
from certcore.verify.bound import SCALE
from certcore.verify.cells import Cells

Cell = tuple[int, ...]
#: Less than any count: where a solution is none.
NOWHERE = -1e18


@dataclass(frozen=True, eq=False)
class _Solution:
    """A relaxed adversary of one cell, and what is left of it at the others."""

    at: np.ndarray
    """Its values on the axes."""
    broken: np.ndarray
    """How many targets it breaks at each cell."""
    points: np.ndarray
    fields: np.ndarray
    """What each field receives."""
    near: np.ndarray | float
    """Attackers near each group, which no more of it than that can be broken by."""


class Gaps:
    """Proven bounds and estimates from below over the cells of a sweep; `on` is None where no one program holds all."""

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
        """How many more targets a solve could certify at most at each cell, as far as floating point can tell."""
        return np.maximum(self.upper // SCALE - np.floor(self.lower + HAIR).astype(np.int64), 0)

    def fractions(self) -> np.ndarray:
        """The proven bounds."""
        result = np.empty(self.upper.size, dtype=object)
        result[:] = [Fraction(n, SCALE) for n in self.upper.ravel().tolist()]
        return result.reshape(self.upper.shape)

    def learn(self, cell: Cell, bound: Fraction, lower: float) -> None:
        """A cell was solved: its bound holds at smaller values, and what its adversary breaks at larger ones."""
        self.upper[cell] = min(int(self.upper[cell]), math.ceil(bound * SCALE))
        self.upper = monotone(self.upper)
        self._raise(cell, lower)

    def learn_answer(self, cell: Cell, answer: Answer) -> None:
        """The same, with what its multipliers prove and its solution breaks elsewhere."""
        assert self.on is not None
        if answer.multipliers is not None:
            self._bound(self.on.bounds(answer.multipliers))
        self.learn(cell, answer.bound, answer.lower)
        if answer.x is not None and answer.status.is_final:
            at = np.array([axis.ravel()[i] for axis, i in zip(self.axes, cell)])
            self._mix(self._solution(at, answer.x, answer.lower))

    def widest(self, tolerance: int, done: np.ndarray) -> Cell | None:
        """The cell with the widest gap beyond so many targets, after another look at it; None if there is none."""
        while True:
            gaps = np.where(done, -1, self.counts)
            cell = tuple(int(i) for i in np.unravel_index(int(np.argmax(gaps)), gaps.shape))
            if gaps[cell] <= tolerance:
                return None
            if self.on is None or self._looked[cell]:
                return cell
            self._looked[cell] = True
            if self._pair[0][cell] >= 0:
                self._raise(cell, self._chosen_again(self.on, cell))

    def _bound(self, numerators: np.ndarray) -> None:
        most = int(self.upper.max(initial=0))
        self.upper = monotone(np.minimum(self.upper, np.minimum(numerators, most).astype(np.int64)))

    def _raise(self, cell: Cell, lower: float) -> None:
        larger = self.lower[tuple(slice(i, None) for i in cell)]
        np.maximum(larger, lower, out=larger)

    # Mixtures of two solutions.

    def _solution(self, at: np.ndarray, x: np.ndarray, value: float) -> _Solution:
        assert self.on is not None
        s, on = self.on.structure, self.on
        near: np.ndarray | float = math.inf
        if not on.is_separable:  # votes change in ways of their own
            least, nothing = at, np.zeros(0)
            broken, points, fields = np.full(self.lower.shape, value), nothing, nothing
        else:
            points = np.clip(x[s.columns.points], 0.0, 1.0)
            if s.relaxation.has_indicators:
                whole = np.bincount(s.points.group, weights=points, minlength=len(s.groups))
                share = np.clip(x[s.columns.indicators], 0.0, 1.0) / np.maximum(whole, HAIR)
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
        """From which value of an axis on a solution is one, apart from what it costs."""
        assert self.on is not None
        s = self.on.structure
        if kind is None:
            return 0
        if (s.flips.cost[s.flips.kind == kind] > 1).any():
            return value  # how often one flip can be paid for is rounded down
        return 0 if s.relaxation.has_indicators else min(value, s.attackers.steady_from(kind))

    def _mix(self, new: _Solution) -> None:
        """The best mixture of the new solution and each of those before."""
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

    def _chosen_again(self, on: Cells, cell: Cell) -> float:
        """What the mixture at a cell breaks if each group takes the best of its points, or the mixture of them."""
        if not on.is_separable:
            return NOWHERE
        s, share = on.structure, float(self._share[cell])
        a, b = (self._solutions[pair[cell]] for pair in self._pair)
        open_ = on.program(cell).open
        fields = (1 - share) * a.fields + share * b.fields
        amount = s.points.amount[:, list(s.types)]
        paid = np.where(amount > 0, fields[s.field_of_point] / np.maximum(amount, 1), np.inf).min(axis=1)
        best = np.maximum.reduceat(np.where(open_, paid, 0.0), s.points.first) if len(s.groups) else np.zeros(0)
        mixed = np.where(open_, (1 - share) * a.points + share * b.points, 0.0)
        broken = np.maximum(best, np.bincount(s.points.group, weights=mixed, minlength=len(s.groups)))
        near = (1 - share) * a.near + share * b.near if s.attackers.touch is not None else 1.0
        return s.constant + float(s.groups.weight @ np.minimum(broken, np.minimum(near, 1.0)))
