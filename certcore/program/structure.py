"""The program without its numbers: columns, rows and coefficients that stay when budgets move.

Columns: flips (attribute flips per node, edge deletions per edge), attackers (with σ), points (one per front
point of each group of targets) and, in the paper's form only, one indicator per group. Rows are all of the form
coefficients · variables ≤ right-hand side, with integer data, so that a bound can be proven in exact arithmetic.

Where a block of columns or rows begins is known here and to the builder (`certcore.program.build`) alone: others ask
`structure.columns.points` or `structure.rows["global"]`.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property
from itertools import pairwise

import numpy as np
import scipy.sparse as sp

from certcore.domain.perturbations import TABLE, TYPES
from certcore.program.incidence import Incidence
from certcore.program.relaxation import Relaxation
from certcore.program.supply import Supply


@dataclass(frozen=True, eq=False)
class Groups:
    """Targets that the adversary cannot tell apart, merged."""

    of_target: np.ndarray
    """Group of each target, by position; -1 for targets that are not in the program."""
    representative: np.ndarray
    """One target of each group, by position."""
    weight: np.ndarray
    """How many targets it stands for."""

    def __len__(self) -> int:
        return len(self.weight)


@dataclass(frozen=True, eq=False)
class Points:
    """Front points of the groups; those of one group stand together."""

    group: np.ndarray
    amount: np.ndarray
    """(points, types): flips of each type that the point needs."""
    first: np.ndarray
    """Position of the first point of each group."""

    def __len__(self) -> int:
        return len(self.group)


@dataclass(frozen=True, eq=False)
class Flips:
    """What can be flipped."""

    kind: np.ndarray
    """The perturbation type."""
    site: np.ndarray
    """Node (attribute flips) or position in `Graph.edges` (edge deletions)."""
    payer: np.ndarray
    """With σ on undirected graphs: the node that pays for the flip; otherwise -1."""
    cost: np.ndarray
    cap: np.ndarray

    def __len__(self) -> int:
        return len(self.kind)


def affordable(budgets: np.ndarray, kinds: np.ndarray, costs: np.ndarray) -> np.ndarray:
    """How much of its type each budget pays for at some cost; rounded up for real amounts, of which parts count."""
    paid = budgets[kinds] // costs
    if any(budget and not entry.whole for budget, entry in zip(budgets.tolist(), TABLE)):
        real = np.array([not entry.whole for entry in TABLE])
        paid += real[kinds] & (budgets[kinds] % costs > 0)
    return np.asarray(paid)


@dataclass(frozen=True, eq=False)
class Attackers:
    """Nodes with an attacker variable (with σ only), and their coefficients −cap, which small budgets make smaller."""

    nodes: np.ndarray
    entries: np.ndarray
    """Positions of the coefficients in `Structure.matrix.data`, and below their rows and columns."""
    rows: np.ndarray
    columns: np.ndarray
    caps: np.ndarray
    kinds: np.ndarray
    costs: np.ndarray
    touch: sp.csr_array | None = field(repr=False)
    """Groups × attackers: who can touch the field of a group at all (for the σ cuts of the tight form)."""

    def coefficients(self, budgets: np.ndarray) -> np.ndarray:
        """What one attacker can spend at most: its capacity, or all of the global budget."""
        return np.minimum(self.caps, affordable(budgets, self.kinds, self.costs))

    def steady_from(self, kind: int) -> int:
        """The budget of one type from which on its coefficients stay at the capacities."""
        return int((self.caps * self.costs)[self.kinds == kind].max(initial=0))


@dataclass(frozen=True)
class Columns:
    """Blocks of columns, in their order."""

    flips: slice
    attackers: slice
    points: slice
    indicators: slice
    inner: slice
    """Columns between flips and points: which votes change, and by whom (division voting only)."""

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
    """Everything about a program that does not depend on the values of the global budgets and of σ."""

    relaxation: Relaxation
    types: tuple[int, ...]
    extent: tuple[int, ...]
    """The largest budgets it holds for."""
    constant: int
    """Targets that are uncertified without any attack: they count as attacked and are not in the program."""
    groups: Groups
    points: Points
    flips: Flips
    attackers: Attackers
    has_sigma: bool
    columns: Columns
    rows: dict[str, slice]
    """Blocks of rows: `global`, `local`, `sigma`, `payer`, `pair`, `field0`, … by type, `choose`."""
    matrix: sp.csr_array
    rhs: np.ndarray
    """Right-hand sides; those of `global` and `sigma` rows are 0 here and are filled in with the budgets."""
    supply: dict[int, Supply] = field(repr=False)

    @cached_property
    def objective(self) -> np.ndarray:
        """What each column is worth: the targets of its group."""
        objective = np.zeros(self.columns.count, dtype=np.int64)
        if self.relaxation.has_indicators:
            objective[self.columns.indicators] = self.groups.weight
        else:
            objective[self.columns.points] = self.groups.weight[self.points.group]
        return objective

    @cached_property
    def global_row(self) -> np.ndarray:
        """For each type the row of its global budget (0 for types that are not in play)."""
        row = np.zeros(len(TYPES), dtype=np.int64)
        row[list(self.types)] = np.arange(self.rows["global"].start, self.rows["global"].stop)
        return row

    @cached_property
    def steady_columns(self) -> sp.csr_array:
        """The matrix transposed, without the attackers' coefficients: what no budget changes."""
        data = self.matrix.data.copy()
        data[self.attackers.entries] = 0
        return sp.csr_array(sp.csr_array((data, self.matrix.indices, self.matrix.indptr), self.matrix.shape).T)

    @cached_property
    def field_rows(self) -> slice:
        """The rows of all fields, type after type."""
        return slice(self.rows["choose"].start - sum(self._lengths), self.rows["choose"].start)

    @property
    def _lengths(self) -> list[int]:
        return [self.rows[f"field{k}"].stop - self.rows[f"field{k}"].start for k in self.types]

    @cached_property
    def incidence(self) -> Incidence:
        """Field rows × flips."""
        starts = self.matrix.indptr[self.field_rows.start : self.field_rows.stop + 1]
        columns = self.matrix.indices[starts[0] : starts[-1]]
        flips = columns < self.columns.flips.stop  # they are the first columns
        before = np.concatenate([[0], np.cumsum(flips)])[starts - starts[0]]
        shape = (len(starts) - 1, self.columns.flips.stop)
        return Incidence(sp.csr_array((np.ones(before[-1], dtype=np.int8), columns[flips], before), shape=shape))

    @cached_property
    def field_of_point(self) -> np.ndarray:
        """(points, types): the field row, counted from the first one, of what a point needs; -1 for no need."""
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
        """For each row the group whose points stand in it; -1 for rows of budgets and limits."""
        owner = np.full(self.matrix.shape[0], -1)
        for k in self.types:
            need = self.points.group[self.points.amount[:, k] > 0]
            owner[self.rows[f"field{k}"]] = need if self.relaxation.has_indicators else np.arange(len(self.groups))
        owner[self.rows["choose"]] = np.arange(len(self.groups))
        return owner

    @cached_property
    def largest_coefficient(self) -> float:
        """The largest one in `steady_columns`, at least 1."""
        return float(np.abs(self.steady_columns.data).max(initial=1))

    def open_points(self, amounts: np.ndarray, sigma: int | None) -> np.ndarray:
        """Points within the budgets and, except in the paper's form, within what the field can supply."""
        possible: np.ndarray = np.all(self.points.amount <= amounts, axis=1)
        for k, supply in self.supply.items():
            possible &= self.points.amount[:, k] <= supply.limit(sigma)[self.points.group]
        return possible

    def inner_upper(self, amounts: np.ndarray) -> np.ndarray:
        """Upper bounds of the inner columns."""
        return np.zeros(0, dtype=np.int64)

    def attacked(self, x: np.ndarray) -> np.ndarray:
        """How far a solution breaks each group: 0 to 1 per target of it."""
        if self.relaxation.has_indicators:
            return x[self.columns.indicators]
        return np.bincount(self.points.group, weights=x[self.columns.points], minlength=len(self.groups))

    def any_open(self, open_: np.ndarray) -> np.ndarray:
        """Groups with a point among the open ones."""
        if not len(self.groups):
            return np.zeros(0, dtype=bool)
        return np.maximum.reduceat(open_, self.points.first)

    def reach(self, kind: int, value: np.ndarray) -> np.ndarray:
        """For each flip, the values of the groups in whose fields it lies, summed (0 for flips of other types)."""
        first, stop = self.rows[f"field{kind}"].start, self.rows[f"field{kind}"].stop
        worth = np.zeros(self.field_rows.stop - self.field_rows.start)
        begin = first - self.field_rows.start
        worth[begin : begin + stop - first] = value[self.row_group[first:stop]]
        return self.incidence.reach(worth)
