"""Where floating-point numbers begin: the units in which solvers see a program.

A solver's tolerances are absolute, while real amounts have units of which a target may need a million: rounding errors
of their small dual values, times large budgets, are whole targets. So every row and every flip column of a type with
real amounts is divided by one power of two, and the objective by one near the mean weight of targets. The factor is 1
for flips and for targets without weights. Powers of two are exact, and what a solver returns is in the program's own
units again: integers, proofs and checkers never see the factors.
"""

from __future__ import annotations

from functools import cached_property

import numpy as np
import scipy.sparse as sp

from certcore.domain.perturbations import TABLE, TYPES
from certcore.program.structure import Structure

#: The median need in a solver. Digits, length 2 and σ = 3: 0.47 s in units of which targets need 7,500, 0.22 s with 4.
USUAL = 4.0
#: Without σ, median needs up to this keep their units: their bounds are equal to the bit to those of version 0.3. Times
#: would be half (lengths 2 to 14 on digits), and bounds differ by 10⁻⁷.
SMALL_NEED = 2**15


class Scaling:
    """The power of two by which solvers divide each row and each column of one structure."""

    def __init__(self, structure: Structure) -> None:
        self.structure = structure
        self.worth = structure.mean_weight
        self.of_type = np.ones(len(TYPES))
        for k in structure.types:
            if not TABLE[k].whole:
                self.of_type[k] = self._of_needs(structure.points.amount[:, k])
        self.is_one = bool((self.of_type == 1).all())

    def _of_needs(self, needs: np.ndarray) -> float:
        small = not self.structure.has_sigma and np.median(needs[needs > 0]) <= SMALL_NEED if needs.any() else True
        return 1.0 if small else power_of_two(needs)

    @cached_property
    def _columns(self) -> np.ndarray:
        s = self.structure
        columns = np.ones(s.columns.count)
        columns[s.columns.flips] = self.of_type[s.flips.kind]
        return columns

    @cached_property
    def _rows(self) -> np.ndarray:
        s = self.structure
        rows = np.ones(s.matrix.shape[0])
        for k in np.flatnonzero(self.of_type > 1).tolist():
            rows[s.global_row[k]] = rows[s.rows[f"field{k}"]] = self.of_type[k]
            rows[s.attackers.rows[s.attackers.kinds == k]] = self.of_type[k]
        return rows

    def of_columns(self, columns: np.ndarray) -> np.ndarray:
        """What one unit of each of these columns in a solver is in the program; 1 for columns added later."""
        return _at(self._columns, columns)

    def of_rows(self, rows: np.ndarray) -> np.ndarray:
        """By how much each of these rows is divided, so that their dual values are too; 1 for rows added later."""
        return _at(self._rows, rows)

    def entries(self, block: sp.csr_array, by_row: np.ndarray, by_column: np.ndarray) -> sp.csr_array:
        """A block of entries times one factor for each of its rows and each of its columns."""
        if self.is_one:
            return block
        data = block.data * np.repeat(by_row, np.diff(block.indptr)) * by_column[block.indices]
        return sp.csr_array((data, block.indices, block.indptr), shape=block.shape)


def _at(units: np.ndarray, places: np.ndarray) -> np.ndarray:
    found = np.ones(len(places))
    inside = places < len(units)
    found[inside] = units[places[inside]]
    return found


def power_of_two(needs: np.ndarray) -> float:
    """The power of two that brings the median need to that of flips; at least 1."""
    positive = needs[needs > 0]
    return float(2.0 ** np.floor(np.log2(max(np.median(positive) / USUAL, 1.0)))) if len(positive) else 1.0
