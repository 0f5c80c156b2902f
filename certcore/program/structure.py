"""The part of the program that does not depend on the budgets: columns, rows and constant coefficients.

Columns: flips (attribute flips per node, edge deletions per edge), attackers (with σ), points (one per front point of
each group of targets) and, in the paper's form only, one indicator per group. All rows have the form coefficients ·
variables ≤ right-hand side with integer data, so a bound can be proven in exact arithmetic.

Only this module and `certcore.program.builder` depend on the offsets of the blocks. All others use
`structure.columns.points` or `structure.rows["global"]`.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property
from itertools import pairwise

import numpy as np
import scipy.sparse as sp

from certcore.domain.perturbations import TYPES
from certcore.program.field_capacity import FieldCapacity
from certcore.program.incidence import Incidence, Transposed
from certcore.program.relaxation import Relaxation


@dataclass(frozen=True, eq=False)
class Groups:
    """Targets merged by equal fronts and equal fields."""

    of_target: np.ndarray
    """Group of each target, by position; -1 for targets outside the program."""
    representative: np.ndarray
    """One target of each group, by position."""
    weight: np.ndarray
    """Number of targets in the group, or the sum of their weights."""

    def __len__(self) -> int:
        return len(self.weight)


@dataclass(frozen=True, eq=False)
class Points:
    """Front points of the groups; points of one group are adjacent."""

    group: np.ndarray
    amount: np.ndarray
    """(points, types): flips of each type that the point needs."""
    first: np.ndarray
    """Position of the first point of each group."""

    def __len__(self) -> int:
        return len(self.group)


@dataclass(frozen=True, eq=False)
class Flips:
    """The flip columns: one per site that can be flipped."""

    kind: np.ndarray
    """The perturbation type."""
    site: np.ndarray
    """Node (attribute flips) or position in `Graph.edges` (edge deletions)."""
    payer: np.ndarray
    """With σ on undirected graphs: the end that pays for the deletion; otherwise -1."""
    cap: np.ndarray

    def __len__(self) -> int:
        return len(self.kind)


@dataclass(frozen=True, eq=False)
class Attackers:
    """Nodes with an attacker variable (with σ only), and their coefficients −min(capacity, flips the budget allows)."""

    nodes: np.ndarray
    entries: np.ndarray
    """Positions of the coefficients in `Structure.matrix.data`; `rows` and `columns` are their matrix indices."""
    rows: np.ndarray
    columns: np.ndarray
    caps: np.ndarray
    kinds: np.ndarray
    touch: sp.csr_array | None = field(repr=False)
    """Groups × attackers that can flip something in the group's field (for the σ cuts of the tight form)."""

    def coefficients(self, budgets: np.ndarray) -> np.ndarray:
        """The most flips of one attacker: its capacity or what the global budget allows, whichever is less."""
        return np.minimum(self.caps, budgets[self.kinds])

    def steady_from(self, kind: int) -> int:
        """The smallest budget of one type from which on the coefficients equal the capacities."""
        return int(self.caps[self.kinds == kind].max(initial=0))


@dataclass(frozen=True)
class Columns:
    """Blocks of columns, in their order."""

    flips: slice
    attackers: slice
    points: slice
    indicators: slice
    inner: slice
    """Ballots only: ends of added edges paid for at the other end, and changes used against single targets."""

    @classmethod
    def of(cls, flips: int, attackers: int, points: int, indicators: int, inner: int = 0) -> Columns:
        ends = np.cumsum([0, flips, attackers, points, indicators, inner]).tolist()
        return cls(*(slice(a, b) for a, b in pairwise(ends)))

    @property
    def count(self) -> int:
        end: int = self.inner.stop
        return end


@dataclass(frozen=True, eq=False)
class Structure:
    """The part of a program that does not depend on the values of the global budgets and of σ."""

    relaxation: Relaxation
    types: tuple[int, ...]
    extent: tuple[int, ...]
    """The largest budgets for which the structure is valid."""
    constant: int
    """Targets that are uncertified without any attack: they count as attacked and are not in the program."""
    groups: Groups
    points: Points
    flips: Flips
    attackers: Attackers
    has_sigma: bool
    columns: Columns
    rows: dict[str, slice]
    """Row blocks by name: `global`, `local`, `sigma`, `payer`, `pair`, `field0`, … (one per type), `choose`."""
    matrix: sp.csr_array
    rhs: np.ndarray
    """Right-hand sides; those of `global` and `sigma` rows are 0 here and are set at each budget point."""
    field_capacity: dict[int, FieldCapacity] = field(repr=False)
    units: np.ndarray = field(repr=False)
    """(types,): how many flips one unit of a global budget pays for; 1 except for ballots."""
    scale_bits: int
    """See `certcore.program.problem.Problem`, also for the next two."""
    step: int
    mean_weight: float

    @property
    def scale(self) -> int:
        """The common denominator of all dual values."""
        return 1 << self.scale_bits

    @property
    def has_fields(self) -> bool:
        """Whether there are field rows, which the method for large programs needs."""
        return self.columns.inner.start == self.columns.inner.stop

    @cached_property
    def objective(self) -> np.ndarray:
        """Objective coefficients: the weight of a group."""
        objective = np.zeros(self.columns.count, dtype=np.int64)
        if self.relaxation.has_indicators:
            objective[self.columns.indicators] = self.groups.weight
        else:
            objective[self.columns.points] = self.groups.weight[self.points.group]
        return objective

    @cached_property
    def global_row(self) -> np.ndarray:
        """For each type the index of its global budget row (0 for types not in play)."""
        row = np.zeros(len(TYPES), dtype=np.int64)
        row[list(self.types)] = np.arange(self.rows["global"].start, self.rows["global"].stop)
        return row

    @cached_property
    def steady_columns(self) -> Transposed:
        """The transposed matrix without the attackers' coefficients, which depend on the budgets."""
        matrix, rows = self.matrix, slice(0, 0)
        data = matrix.data
        if len(self.attackers.entries):
            data = data.copy()
            data[self.attackers.entries] = 0
        indices, starts, incidence = matrix.indices, matrix.indptr, None
        if self.has_fields and self.types:
            incidence, rows = self.incidence, self.field_rows
            first, stop = starts[[rows.start, rows.stop]].tolist()
            kept = np.concatenate([np.arange(first), self._point_entries, np.arange(stop, len(indices))])
            data, indices, starts = data[kept], indices[kept], np.searchsorted(kept, starts)
        return Transposed(sp.csr_array(sp.csr_array((data, indices, starts), matrix.shape).T), incidence, rows)

    @cached_property
    def field_rows(self) -> slice:
        """The field rows of all types, type after type."""
        return slice(self.rows["choose"].start - sum(self._lengths), self.rows["choose"].start)

    @property
    def _lengths(self) -> list[int]:
        return [self.rows[f"field{k}"].stop - self.rows[f"field{k}"].start for k in self.types]

    @cached_property
    def _point_entries(self) -> np.ndarray:
        """Positions of those entries of the field rows that belong to points; flips are the first columns."""
        first, stop = self.matrix.indptr[[self.field_rows.start, self.field_rows.stop]].tolist()
        return first + np.flatnonzero(self.matrix.indices[first:stop] >= self.columns.flips.stop)

    @cached_property
    def incidence(self) -> Incidence:
        """Field rows × flips."""
        starts = self.matrix.indptr[self.field_rows.start : self.field_rows.stop + 1]
        flips = np.ones(starts[-1] - starts[0], dtype=bool)
        flips[self._point_entries - starts[0]] = False
        before = starts - starts[0] - np.searchsorted(self._point_entries, starts)
        columns = self.matrix.indices[starts[0] : starts[-1]][flips]
        ones = np.ones(len(columns), dtype=np.int8)
        return Incidence(sp.csr_array((ones, columns, before), shape=(len(starts) - 1, self.columns.flips.stop)))

    @cached_property
    def field_of_point(self) -> np.ndarray:
        """(points, types): the point's field row, relative to the first one; -1 if it needs no such flips."""
        row = np.full((len(self.points), len(self.types)), -1)
        first = 0
        for i, (k, length) in enumerate(zip(self.types, self._lengths)):
            need = self.points.amount[:, k] > 0
            by_point = self.relaxation.has_indicators
            row[need, i] = first + (np.arange(length) if by_point else self.points.group[need])
            first += length
        return row

    @cached_property
    def row_group(self) -> np.ndarray:
        """For each row the group whose points have entries in it; -1 for rows of budgets and limits."""
        owner = np.full(self.matrix.shape[0], -1)
        for k in self.types:
            need = self.points.group[self.points.amount[:, k] > 0]
            owner[self.rows[f"field{k}"]] = need if self.relaxation.has_indicators else np.arange(len(self.groups))
        owner[self.rows["choose"]] = np.arange(len(self.groups))
        return owner

    @cached_property
    def largest_coefficient(self) -> float:
        """The largest absolute value in `steady_columns`, at least 1."""
        return self.steady_columns.largest

    def open_points(self, amounts: np.ndarray, sigma: int | None) -> np.ndarray:
        """Points within the budgets and, except in the paper's form, within the field capacity."""
        possible: np.ndarray = np.all(self.points.amount <= amounts, axis=1)
        for k, field_capacity in self.field_capacity.items():
            possible &= self.points.amount[:, k] <= field_capacity.limit(sigma)[self.points.group]
        return possible

    def inner_upper(self, amounts: np.ndarray) -> np.ndarray:
        """Upper bounds of the inner columns."""
        return np.zeros(0, dtype=np.int64)

    def attacked(self, x: np.ndarray) -> np.ndarray:
        """The fraction (0 to 1) of each group that a solution breaks."""
        if self.relaxation.has_indicators:
            return x[self.columns.indicators]
        return np.bincount(self.points.group, weights=x[self.columns.points], minlength=len(self.groups))

    def any_open(self, open_: np.ndarray) -> np.ndarray:
        """Groups with at least one open point."""
        if not len(self.groups):
            return np.zeros(0, dtype=bool)
        return np.maximum.reduceat(open_, self.points.first)

    def reach(self, kind: int, value: np.ndarray) -> np.ndarray:
        """For each flip, the sum of the values of the groups whose fields contain it (0 for flips of other types)."""
        first, stop = self.rows[f"field{kind}"].start, self.rows[f"field{kind}"].stop
        values = np.zeros(self.field_rows.stop - self.field_rows.start)
        begin = first - self.field_rows.start
        values[begin : begin + stop - first] = value[self.row_group[first:stop]]
        return self.incidence.reach(values)
