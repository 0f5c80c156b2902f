"""A structure at one budget point: maximise objective · x subject to matrix · x ≤ rhs, 0 ≤ x ≤ upper."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property

import numpy as np
import scipy.sparse as sp

from certcore.program.cuts import Cuts
from certcore.program.structure import Structure

BudgetPoint = tuple[tuple[int, ...], int | None]
"""A budget point: the global budgets, and σ."""


@dataclass(frozen=True, eq=False)
class Program:
    """The adversary's linear program with integer data at one budget point; its arrays are computed lazily.

    Only right-hand sides, upper bounds and attackers' coefficients depend on the budget point. The rows of `cuts` come
    last.
    """

    structure: Structure
    budgets: tuple[int, ...]
    sigma: int | None = None
    cuts: Cuts = field(default_factory=Cuts.none)

    def __post_init__(self) -> None:
        extent = self.structure.extent
        if any(value > most for value, most in zip(self.budgets, extent)):
            raise ValueError(f"budgets {self.budgets} exceed the extent {extent} this structure was built for")
        if (self.sigma is None) == self.structure.has_sigma:
            raise ValueError("a structure is built either with σ or without it")

    @cached_property
    def amounts(self) -> np.ndarray:
        """The global budgets as an array."""
        return np.array(self.budgets, dtype=np.int64)

    @cached_property
    def open(self) -> np.ndarray:
        """The front points that the budgets and the field capacities allow."""
        return self.structure.open_points(self.amounts, self.sigma)

    @cached_property
    def coefficients(self) -> np.ndarray:
        """For each entry of `structure.attackers`, how many flips one attacker can pay for."""
        attackers = self.structure.attackers
        return attackers.caps if self.structure.relaxation.has_indicators else attackers.coefficients(self.amounts)

    @cached_property
    def matrix(self) -> sp.csr_array:
        matrix, entries = self.structure.matrix, self.structure.attackers.entries
        if len(entries) and not self.structure.relaxation.has_indicators:
            data = matrix.data.copy()
            data[entries] = -self.coefficients
            matrix = sp.csr_array((data, matrix.indices, matrix.indptr), shape=matrix.shape)
        if len(self.cuts):
            matrix = sp.csr_array(sp.vstack([matrix, self.cuts.rows(self.structure).matrix], format="csr"))
        return matrix

    @cached_property
    def rhs(self) -> np.ndarray:
        structure = self.structure
        rhs = structure.rhs.copy()
        rhs[structure.rows["global"]] = (self.amounts * structure.units)[list(structure.types)]
        if structure.has_sigma:
            rhs[structure.rows["sigma"]] = self.sigma
        return np.concatenate([rhs, self.cuts.rows(structure).rhs]) if len(self.cuts) else rhs

    @cached_property
    def upper(self) -> np.ndarray:
        structure, flips = self.structure, self.structure.flips
        upper = np.ones(structure.columns.count, dtype=np.int64)
        upper[structure.columns.flips] = np.minimum(flips.cap, self.amounts[flips.kind])
        upper[structure.columns.points] = self.open
        if structure.relaxation.has_indicators:
            upper[structure.columns.indicators] = structure.any_open(self.open)
        upper[structure.columns.inner] = structure.inner_upper(self.amounts)
        return upper

    @property
    def objective(self) -> np.ndarray:
        return self.structure.objective

    @property
    def constant(self) -> int:
        """Targets that are uncertified without any attack; they count as attacked."""
        return self.structure.constant

    def same_rhs_range(self, other: Program) -> bool:
        """Whether only right-hand sides differ; the optimum is then concave between the two budget points."""
        return np.array_equal(self.open, other.open) and np.array_equal(self.coefficients, other.coefficients)
