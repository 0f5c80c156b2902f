"""One HiGHS model, built once; later budgets change only bounds and a few coefficients."""

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
    """A solver's values, dual values and objective, all unverified."""

    status: Status
    x: np.ndarray | None
    duals: np.ndarray | None
    objective: float
    limit: float
    """The solver's own upper bound on the optimum (integer programs)."""
    seconds: float
    iterations: int
    basis: Any = None


#: Beyond this the default tolerance of 1e-6 on whole numbers is no less than one unit of a weight.
LARGE_COEFFICIENT = 10**4
#: Programs whose coefficients are at most this need no scaling.
SMALL_COEFFICIENT = 64
#: Rules of the dual simplex method for the row that leaves the basis.
DANTZIG = 0
CHOOSE = -1


class HighsModel:
    """A linear (or integer) program inside HiGHS, minimising −objective.

    Not thread-safe: one thread uses it at a time. `solve` releases the interpreter lock while HiGHS works.
    """

    def __init__(self, program: Program, *, integer: bool = False) -> None:
        self._h = quiet_highs()
        per_unit(self._h, program.structure)
        self._integer = integer
        self._hull = Hull(program.structure)
        self._upper = self._hull.drop_dominated(program.upper)
        self._rhs = program.rhs
        self._coefficients = program.coefficients
        self._n_rows = program.matrix.shape[0]
        self._kept = needed_rows(program.structure)
        self._row_place = np.full(self._n_rows, -1)
        self._row_place[self._kept] = np.arange(len(self._kept))
        matrix = sp.csr_array(program.matrix[self._kept])
        # Citeseer (split 1), 8 additions and 21 deletions, cold: 1.23 s with the defaults, 0.16 s without scaling and
        # with Dantzig's rule; 50 edge deletions: 0.13 and 0.05 s. Warm starts take a quarter longer with that rule, and
        # ballots are slower in any case (0.3 → 0.8 s).
        self._quick_cold = self._cold = not integer and program.structure.has_fields
        if self._quick_cold and np.abs(matrix.data).max(initial=0) <= SMALL_COEFFICIENT:
            self._h.setOptionValue("simplex_scale_strategy", 0)
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
            self._h.setOptionValue("mip_rel_gap", 0.0)  # the default stops at a relative gap of 1e-4
            lp.integrality_ = _integrality(program.structure)
            if np.abs(matrix.data).max(initial=0) > LARGE_COEFFICIENT:
                self._h.setOptionValue("mip_feasibility_tolerance", 1e-9)
        self._h.passModel(lp)

    def update(self, program: Program) -> None:
        """Move to other budgets of the same structure by changing bounds and attackers' coefficients."""
        upper = self._hull.drop_dominated(program.upper)
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
        """Start the next solve from this basis of the model."""
        self._h.setBasis(basis)
        self._cold = False

    def clear(self) -> None:
        """Forget basis and solution: the next solve starts cold."""
        self._h.clearSolver()
        self._cold = self._quick_cold

    def solve(
        self, *, time_limit: float, cancel: threading.Event | None = None, method: Method = Method.SIMPLEX
    ) -> Solution:
        """Solve within the time limit."""
        started = time.perf_counter()
        if cancel is not None and cancel.is_set():
            return Solution(Status.INTERRUPTED, None, None, float("nan"), float("nan"), 0.0, 0)
        h = self._h
        h.setOptionValue("simplex_dual_edge_weight_strategy", DANTZIG if self._cold else CHOOSE)
        h.setOptionValue("presolve", "off" if self._quick_cold and method is Method.SIMPLEX else "choose")
        status = run(h, time_limit=time_limit, cancel=cancel, method=method)
        solution, info = h.getSolution(), h.getInfo()
        x = np.array(solution.col_value) if solution.value_valid else None
        y = self._row_duals(solution.row_dual) if solution.dual_valid and not self._integer else None
        limit = -info.mip_dual_bound if self._integer else float("nan")
        basis = None if self._integer else h.getBasis()
        result = Solution(
            status=status,
            x=x,
            duals=y,
            objective=-info.objective_function_value if x is not None else float("nan"),
            limit=limit,
            seconds=time.perf_counter() - started,
            iterations=int(info.simplex_iteration_count + info.ipm_iteration_count),
            basis=basis if basis is not None and basis.valid else None,
        )
        if self._cold and result.basis is not None:
            h.clearSolver()  # otherwise HiGHS would keep to the rule
            self.set_basis(result.basis)
        return result

    def _row_duals(self, row_dual: Any) -> np.ndarray:
        """Dual values of all rows of the program, then of the cuts; 0 for rows that were not given to the solver."""
        dual = -np.array(row_dual)
        count = len(self._kept)
        y = np.zeros(self._n_rows + len(dual) - count)
        y[self._kept] = dual[:count]
        y[self._n_rows :] = dual[count:]
        return y


def per_unit(h: Any, structure: Structure) -> None:
    """Tighten the dual tolerance for real amounts: over thousands of units, reduced costs of 1e-7 add up."""
    if any(not TABLE[k].whole for k in structure.types):
        h.setOptionValue("dual_feasibility_tolerance", 1e-10)


def _integrality(structure: Structure) -> list[Any]:
    """Every column is integer, except flips of real amounts."""
    whole = [highspy.HighsVarType.kInteger] * structure.columns.count
    real = [k for k in structure.types if not TABLE[k].whole]
    for column in np.flatnonzero(np.isin(structure.flips.kind, real)).tolist():
        whole[column] = highspy.HighsVarType.kContinuous
    return whole


def needed_rows(structure: Structure) -> np.ndarray:
    """All rows except choice rows of groups with one point, where Σ s ≤ 1 repeats the point's upper bound."""
    needed = np.ones(structure.matrix.shape[0], dtype=bool)
    if not structure.relaxation.has_indicators:
        needed[structure.rows["choose"]] = np.bincount(structure.points.group, minlength=len(structure.groups)) > 1
    return np.flatnonzero(needed)
