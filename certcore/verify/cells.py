"""The exact bound of one set of dual values at all cells of a sweep at once.

Over the cells of one structure most terms of the formula in `certcore.verify.duals` separate. The terms of budgets and
flips depend on one axis each. A point that is reachable at some values stays reachable at larger ones. What remains is
the largest reduced cost among the reachable points of each group: a running maximum along the axes. All arithmetic is
in exact integers.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from itertools import product

import numpy as np

from certcore.program.program import BudgetPoint, Program
from certcore.program.structure import Structure
from certcore.verify.bound import SCALE
from certcore.verify.duals import IntegerDuals, plain_bound

#: Maximum number of cells times groups held in memory at once.
ROOM = 1 << 19
_SAFE = float(2**61)


@dataclass(frozen=True, eq=False)
class Cells:
    """Budget points of one structure along one or two axes; an axis is a perturbation type, or None for σ."""

    structure: Structure
    place: BudgetPoint
    """The budget point that gives the values of all other budgets."""
    kinds: tuple[int | None, ...]
    values: tuple[list[int], ...]
    """Values of each axis, ascending."""

    @property
    def shape(self) -> tuple[int, ...]:
        return tuple(len(values) for values in self.values)

    def place_of(self, cell: tuple[int, ...]) -> BudgetPoint:
        """Budgets and σ of a cell; index −1 is the largest value of an axis."""
        budgets, sigma = list(self.place[0]), self.place[1]
        for kind, values, i in zip(self.kinds, self.values, cell):
            if kind is None:
                sigma = values[i]
            else:
                budgets[kind] = values[i]
        return tuple(budgets), sigma

    def program(self, cell: tuple[int, ...]) -> Program:
        return Program(self.structure, *self.place_of(cell))

    # Bounds.

    def plain(self) -> np.ndarray:
        """The bound without dual values at each cell, times SCALE, as Python integers."""
        if not self.is_separable:
            return self._one_by_one(lambda program: int(plain_bound(program)) * SCALE)
        s = self.structure
        worth = s.groups.weight[s.points.group[self.ever_open]] * SCALE
        return self._worst(worth).astype(object) + s.constant * SCALE

    def bounds(self, duals: IntegerDuals) -> np.ndarray:
        """The bound of these dual values at each cell, times SCALE, as Python integers.

        It is at most `IntegerDuals.bound`. At each cell the dual value of a group's choice row is set to the largest
        reduced cost among the points reachable there, which is smaller where fewer points are reachable.
        """
        s = self.structure
        if not self.is_separable:
            return self._one_by_one(lambda program: int(duals.bound(program) * SCALE))
        worth, fixed, indicators = duals.reduced_costs[s.columns.points], duals.fixed, None
        if s.relaxation.has_indicators:
            indicators = duals.reduced_costs[s.columns.indicators]
        else:
            choose = duals.y[s.rows["choose"]]
            worth, fixed = worth + choose[s.points.group], fixed - sum(choose.tolist())
        worth = np.maximum(worth[self.ever_open], 0)
        if (
            float(worth.astype(np.float64).sum()) + float(np.abs(duals.reduced_costs[s.columns.indicators]).sum())
            >= _SAFE
        ):
            return self._one_by_one(lambda program: int(duals.bound(program) * SCALE))
        total = self._worst(worth, indicators).astype(object) + (s.constant * SCALE + fixed)
        amounts = self.program((-1,) * len(self.values)).amounts
        total += sum(duals.spent(k, amounts) for k in s.types if k not in self.kinds)
        for axis, (kind, values) in enumerate(zip(self.kinds, self.values)):
            if kind is not None and kind in s.types:
                at = [np.where(np.arange(len(amounts)) == kind, value, amounts) for value in values]
                total = total + self._along(axis, [duals.spent(kind, here) for here in at])
        return total + self._attackers(duals) if s.has_sigma else total

    def _attackers(self, duals: IntegerDuals) -> np.ndarray:
        """The terms of σ and the attackers; cells with equal coefficients are computed together."""
        result = np.empty(self.shape, dtype=object)
        known: dict[bytes, np.ndarray] = {}
        for cell in np.ndindex(self.shape):
            program = self.program(cell)
            key = program.coefficients.tobytes()
            if key not in known:
                known[key] = duals.attackers(program)
            result[cell] = duals.spent_on_attackers(program.sigma, known[key])
        return result

    def _along(self, axis: int, values: list[int]) -> np.ndarray:
        """Reshape values along one axis so that they broadcast over all cells."""
        column = np.empty(len(values), dtype=object)
        column[:] = values
        return column.reshape([-1 if k == axis else 1 for k in range(len(self.values))])

    def _one_by_one(self, bound: Callable[[Program], int]) -> np.ndarray:
        result = np.empty(self.shape, dtype=object)
        for cell in product(*(range(n) for n in self.shape)):
            result[cell] = bound(self.program(cell))
        return result

    # Reachable points.

    @cached_property
    def is_separable(self) -> bool:
        """Whether each point is reachable from a fixed value of each axis on, independently of the other axes."""
        return self.structure.has_fields

    @cached_property
    def ever_open(self) -> np.ndarray:
        """Points that are reachable at the largest values."""
        return np.flatnonzero(self.program((-1,) * len(self.values)).open)

    @cached_property
    def first_open(self) -> tuple[np.ndarray, ...]:
        """For each axis, the index of the first value at which these points are reachable."""
        result = []
        for axis in range(len(self.values)):
            closed = np.zeros(len(self.ever_open), dtype=np.int64)
            for i in range(self.shape[axis] - 1):
                cell = tuple(i if k == axis else -1 for k in range(len(self.values)))
                closed += ~self.program(cell).open[self.ever_open]
            result.append(closed)
        return tuple(result)

    def open_at(self, cell: tuple[int, ...]) -> np.ndarray:
        """The reachable points at a cell of a separable sweep; few cells differ in them, so they are kept."""
        key = tuple(min(i, int(start.max(initial=0))) for i, start in zip(cell, self.first_open))
        if key not in self._known_open:
            self._known_open[key] = self.program(key).open
        return self._known_open[key]

    @cached_property
    def _known_open(self) -> dict[tuple[int, ...], np.ndarray]:
        return {}

    def sums(self, worth: np.ndarray) -> np.ndarray:
        """Σ over the reachable points at each cell, in floating point."""
        table = np.zeros(self.shape)
        np.add.at(table, self.first_open, worth[self.ever_open])
        for axis in range(len(self.shape)):
            np.cumsum(table, axis=axis, out=table)
        return table

    def _worst(self, worth: np.ndarray, indicators: np.ndarray | None = None) -> np.ndarray:
        """Σ over groups of the largest value among their reachable points, at each cell.

        In the paper's form it is added to the reduced cost of the group's indicator, if any point is reachable. Only
        values at which a point becomes reachable are computed: beyond the largest need nothing changes.
        """
        group = self.structure.points.group[self.ever_open]
        counts = np.flatnonzero(worth > 0) if indicators is None else np.arange(len(worth))
        group, worth = group[counts], worth[counts]
        starts = [np.union1d(start[counts], 0) for start in self.first_open]
        first = [np.searchsorted(own, start[counts]) for own, start in zip(starts, self.first_open)]
        total = np.zeros([len(own) for own in starts], dtype=np.int64)
        present, column = np.unique(group, return_inverse=True)
        step = max(1, ROOM // max(total.size, 1))
        for start in range(0, len(present), step):
            here = np.flatnonzero((column >= start) & (column < start + step))
            table = np.full((*total.shape, min(step, len(present) - start)), -1, dtype=np.int64)
            np.maximum.at(table, (*(f[here] for f in first), column[here] - start), worth[here])
            for axis in range(total.ndim):
                np.maximum.accumulate(table, axis=axis, out=table)
            if indicators is not None:
                charged = np.maximum(indicators[present[start : start + step]] + table, 0)
                table = np.where(table >= 0, charged, 0)
            total += np.maximum(table, 0).sum(axis=-1)
        at = [np.searchsorted(own, np.arange(n), side="right") - 1 for own, n in zip(starts, self.shape)]
        return np.asarray(total[np.ix_(*at)])
