"""One HiGHS model: built once, then only bounds and a few coefficients change."""

from __future__ import annotations

import threading
import time
from dataclasses import dataclass
from typing import Any

import highspy
import numpy as np
import scipy.sparse as sp

from certcore.domain.perturbations import TABLE
from certcore.program.cuts import Rows
from certcore.program.hull import Hull
from certcore.program.program import Program
from certcore.program.structure import Structure
from certcore.solve.engine import Method, add_rows, quiet_highs, run
from certcore.solve.status import Status


@dataclass(frozen=True, eq=False)
class Solution:
    """What the solver proposes: values, multipliers and an objective. Nothing in it has been checked."""

    status: Status
    x: np.ndarray | None
    multipliers: np.ndarray | None
    objective: float
    limit: float
    """The solver's own upper bound on the optimum (integer programs)."""
    seconds: float
    iterations: int
    basis: Any = None


class HighsModel:
    """A linear (or integer) program inside HiGHS, minimising −objective.

    Not thread-safe: one thread uses it at a time. `solve` releases the interpreter lock while HiGHS works.
    """

    def __init__(self, program: Program, *, integer: bool = False) -> None:
        self._h = quiet_highs()
        self._integer = integer
        self._hull = Hull(program.structure)
        self._upper = self._hull.thin(program.upper)
        self._rhs = program.rhs
        self._coefficients = program.coefficients
        self._n_rows = program.matrix.shape[0]
        self._kept = needed_rows(program.structure)
        self._row_place = np.full(self._n_rows, -1)
        self._row_place[self._kept] = np.arange(len(self._kept))
        matrix = sp.csr_array(program.matrix[self._kept])
        if len(program.structure.types) == 1 and np.abs(matrix.data).max(initial=0) <= 64:
            self._h.setOptionValue("simplex_scale_strategy", 0)  # small whole numbers need none
        lp = highspy.HighsLp()
        lp.num_col_, lp.num_row_ = matrix.shape[1], matrix.shape[0]
        lp.col_cost_ = -program.objective.astype(np.float64)
        lp.col_lower_ = np.zeros(lp.num_col_)
        lp.col_upper_ = self._upper.astype(np.float64)
        lp.row_lower_ = np.full(lp.num_row_, -highspy.kHighsInf)
        lp.row_upper_ = program.rhs[self._kept].astype(np.float64)
        lp.a_matrix_.format_ = highspy.MatrixFormat.kRowwise
        lp.a_matrix_.start_ = matrix.indptr.astype(np.int32)
        lp.a_matrix_.index_ = matrix.indices.astype(np.int32)
        lp.a_matrix_.value_ = matrix.data.astype(np.float64)
        if integer:
            self._h.setOptionValue("mip_rel_gap", 0.0)  # by default it would stop a ten-thousandth too early
            lp.integrality_ = _integrality(program.structure)
        self._h.passModel(lp)

    def update(self, program: Program) -> None:
        """Move to other budgets of the same structure: changed bounds and attackers' coefficients only."""
        upper = self._hull.thin(program.upper)
        columns = np.flatnonzero(upper != self._upper)
        if len(columns):
            self._h.changeColsBounds(
                len(columns),
                columns.astype(np.int32),
                np.zeros(len(columns)),
                upper[columns].astype(np.float64),
            )
        for row in np.flatnonzero(program.rhs != self._rhs).tolist():
            self._h.changeRowBounds(int(self._row_place[row]), -highspy.kHighsInf, float(program.rhs[row]))
        attackers, coefficients = program.structure.attackers, program.coefficients
        for i in np.flatnonzero(coefficients != self._coefficients).tolist():
            row, column = int(attackers.rows[i]), int(attackers.columns[i])
            self._h.changeCoeff(int(self._row_place[row]), column, -float(coefficients[i]))
        self._upper, self._rhs, self._coefficients = upper, program.rhs, coefficients

    def add_rows(self, rows: Rows) -> None:
        """Append rows (cuts)."""
        add_rows(self._h, *rows)

    def set_basis(self, basis: Any) -> None:
        """Start the next solve from a known basis of this model."""
        self._h.setBasis(basis)

    def clear(self) -> None:
        """Forget basis and solution: the next solve starts cold, with presolve."""
        self._h.clearSolver()

    def solve(
        self, *, time_limit: float, cancel: threading.Event | None = None, method: Method = Method.SIMPLEX
    ) -> Solution:
        """Solve within the time limit."""
        started = time.perf_counter()
        if cancel is not None and cancel.is_set():
            return Solution(Status.INTERRUPTED, None, None, float("nan"), float("nan"), 0.0, 0)
        h = self._h
        status = run(h, time_limit=time_limit, cancel=cancel, method=method)
        solution, info = h.getSolution(), h.getInfo()
        x = np.array(solution.col_value) if solution.value_valid else None
        y = self._multipliers(solution.row_dual) if solution.dual_valid and not self._integer else None
        limit = -info.mip_dual_bound if self._integer else float("nan")
        basis = None if self._integer else h.getBasis()
        return Solution(
            status=status,
            x=x,
            multipliers=y,
            objective=-info.objective_function_value if x is not None else float("nan"),
            limit=limit,
            seconds=time.perf_counter() - started,
            iterations=int(info.simplex_iteration_count + info.ipm_iteration_count),
            basis=basis if basis is not None and basis.valid else None,
        )

    def _multipliers(self, row_dual: Any) -> np.ndarray:
        """Multipliers of all rows of the program and then of the cuts; 0 for rows the solver did not need."""
        dual = -np.array(row_dual)
        count = len(self._kept)
        y = np.zeros(self._n_rows + len(dual) - count)
        y[self._kept] = dual[:count]
        y[self._n_rows :] = dual[count:]
        return y


def _integrality(structure: Structure) -> list[Any]:
    """Every column is a whole number, except flips of types with real amounts."""
    whole = [highspy.HighsVarType.kInteger] * structure.columns.count
    real = [k for k in structure.types if not TABLE[k].whole]
    for column in np.flatnonzero(np.isin(structure.flips.kind, real)).tolist():
        whole[column] = highspy.HighsVarType.kContinuous
    return whole


def needed_rows(structure: Structure) -> np.ndarray:
    """All rows but the choices of groups with one point: Σ s ≤ 1 says no more there than the point's upper bound."""
    needed = np.ones(structure.matrix.shape[0], dtype=bool)
    if not structure.relaxation.has_indicators:
        needed[structure.rows["choose"]] = np.bincount(structure.points.group, minlength=len(structure.groups)) > 1
    return np.flatnonzero(needed)
