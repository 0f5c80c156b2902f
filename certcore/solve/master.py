"""The program in HiGHS: a part of it, with relevant sites and undecided groups, or the whole.

In a part, columns outside are 0. A group outside the master is replaced by a tangent: by weak duality, any dual values
of its own rows (fields and choice) bound its value by a linear function of the flips, which needs neither rows nor
columns. The master is therefore a restriction in its sites and a relaxation in its groups. `reduced_costs` shows which
sites are missing, and `gaps` which groups have too coarse a tangent. If none are, its optimum is that of the whole
program.

Nothing here proves a bound. The dual values of a `Proposal` cover every row of the program, and `certcore.verify`
evaluates their bound over all columns. Further columns and rows (cuts, levels) can be appended; they are numbered after
those of the structure. HiGHS sees all of them in the units of `scaling.py`.
"""

from __future__ import annotations

import threading
import time
from dataclasses import dataclass, replace
from typing import Any

import highspy
import numpy as np
import scipy.sparse as sp

from certcore.domain.perturbations import TABLE
from certcore.program.hull import Hull
from certcore.program.program import Program
from certcore.program.structure import Structure
from certcore.solve.engine import DUAL, PRIMAL, Method, add_columns, add_rows, quiet_highs, run
from certcore.solve.scaling import Scaling
from certcore.solve.status import Status

#: Beyond this the default tolerance of 1e-6 on whole numbers is no less than one unit of a weight.
LARGE_COEFFICIENT = 10**4
#: Programs whose coefficients are at most this need no scaling.
SMALL_COEFFICIENT = 64
#: Rules of the dual simplex method for the row that leaves the basis.
DANTZIG = 0
CHOOSE = -1


@dataclass(frozen=True, eq=False)
class Proposal:
    """An unverified solution of the restricted master, in the numbering of the whole program."""

    status: Status
    x: np.ndarray | None
    """Values of all columns, then of the further ones; points of groups outside are filled in from the flips."""
    y: np.ndarray | None
    """Dual values of all rows, then of the further ones; for groups outside, those of their tangents."""
    seconds: float
    iterations: int
    basis: Any = None
    limit: float = float("nan")
    """The solver's own upper bound on the optimum (integer programs)."""


class Master:
    """Some columns and rows of a program at a budget point. Not thread-safe; `solve` releases the GIL."""

    def __init__(self, program: Program, tangents: np.ndarray | None = None, *, drop_dominated: bool = True) -> None:
        """Begin with only the budget rows; `tangents` are dual values of the groups' rows.

        `drop_dominated=False` keeps points above the hull of others, because further rows may distinguish them.
        """
        s = program.structure
        self.structure, self.program = s, program
        self.scaling = Scaling(s)
        self._h = quiet_highs()
        if any(not TABLE[k].whole for k in s.types):  # over thousands of units, reduced costs of 1e-7 add up
            self._h.setOptionValue("dual_feasibility_tolerance", 1e-10)
        self._hull = Hull(s) if drop_dominated else None
        self._needed = needed_rows(s)
        self.tangents = np.zeros(s.matrix.shape[0]) if tangents is None else tangents.astype(np.float64)
        if s.relaxation.has_indicators:
            self.tangents[s.rows["choose"]] = s.groups.weight  # an indicator has the value of its points
        self._upper = self._without_dominated(program).astype(np.float64)
        self._rhs = program.rhs.astype(np.float64)
        self._coefficients = program.coefficients
        self._row_place, self._rows = np.full(s.matrix.shape[0], -1), np.zeros(0, dtype=np.int64)
        self._column_place, self._columns = np.full(s.columns.count, -1), np.zeros(0, dtype=np.int64)
        self.group_in = np.zeros(len(s.groups), dtype=bool)
        self._objective = s.objective.astype(np.float64)
        self._more = sp.csr_array((0, s.columns.count), dtype=np.int64)
        self._more_by_column: sp.csr_array | None = None
        self._strategy, self._stale_costs = DUAL, True
        self._fill()

    def _fill(self) -> None:
        """Enter the first rows and columns."""
        rows = self.structure.rows
        head = [rows[name] for name in ("global", "sigma") if name in rows]
        self._enter_rows(np.concatenate([np.arange(part.start, part.stop) for part in head]))

    # Growing.

    @property
    def size(self) -> tuple[int, int]:
        """Rows and columns in the model."""
        return len(self._rows), len(self._columns)

    def has(self, columns: np.ndarray) -> np.ndarray:
        """Which of these columns are in the model."""
        return np.asarray(self._column_place[columns] >= 0)

    @property
    def rows_in(self) -> np.ndarray:
        """Which structure rows are in the model."""
        return np.asarray(self._row_place[: self.structure.matrix.shape[0]] >= 0)

    def add_columns_and_groups(self, flips: np.ndarray | None = None, groups: np.ndarray | None = None) -> None:
        """Add flips (with their attackers and limiting rows) and groups (with their rows and open points)."""
        s = self.structure
        new = [np.zeros(0, dtype=np.int64)]
        rows = [np.zeros(0, dtype=np.int64)]
        if flips is not None and len(flips):
            flips = np.unique(flips)
            new.append(flips[~self.has(flips)])
            limits = np.unique(_indices(s.steady_columns.others, new[-1]))
            limits = limits[s.row_group[limits] < 0]
            rows.append(limits)
            if s.has_sigma:
                paid = _indices(s.matrix, limits)
                inside = (paid >= s.columns.attackers.start) & (paid < s.columns.attackers.stop)
                attackers = np.unique(paid[inside])
                attackers = attackers[~self.has(attackers)]
                new.append(attackers)
                rows.append(s.attackers.rows[np.isin(s.attackers.columns, attackers)])
        if groups is not None and len(groups):
            entering = np.zeros(len(s.groups), dtype=bool)
            entering[groups] = True
            entering &= ~self.group_in
            self.group_in |= entering
            own = np.flatnonzero(self._needed & (s.row_group >= 0))
            rows.append(own[entering[s.row_group[own]]])
            new.append(self._missing_points())
            self._stale_costs = True
        columns = np.concatenate(new)
        if len(columns):
            self._enter_columns(columns)
            self._strategy = PRIMAL
        wanted = np.unique(np.concatenate(rows))
        self._enter_rows(wanted[self._row_place[wanted] < 0])

    def add_columns(self, objective: np.ndarray, upper: np.ndarray) -> np.ndarray:
        """Append further columns with bounds 0 and `upper` that are in no row yet; returns their numbers."""
        before = self._more.shape[1]
        count = len(objective)
        self._more = sp.csr_array(
            (self._more.data, self._more.indices, self._more.indptr), shape=(self._more.shape[0], before + count)
        )
        self._more_by_column = None
        self._objective = np.concatenate([self._objective, objective])
        self._upper = np.concatenate([self._upper, upper])
        self._column_place = np.concatenate([self._column_place, np.full(count, -1)])
        self._enter_columns(np.arange(before, before + count))
        return np.arange(before, before + count)

    def add_rows(self, matrix: sp.csr_array, rhs: np.ndarray) -> np.ndarray:
        """Append further rows matrix · x ≤ rhs over all columns, further ones included; returns their numbers.

        Groups whose points have entries in these rows are added to the model.
        """
        s, before = self.structure, len(self._rhs)
        own = matrix.indices[(matrix.indices >= s.columns.points.start) & (matrix.indices < s.columns.points.stop)]
        self.add_columns_and_groups(groups=np.unique(s.points.group[own - s.columns.points.start]))
        wide = sp.csr_array((matrix.data, matrix.indices, matrix.indptr), (matrix.shape[0], self._more.shape[1]))
        self._more = sp.csr_array(sp.vstack([self._more, wide], format="csr"))
        self._more_by_column = None
        self._rhs = np.concatenate([self._rhs, rhs.astype(np.float64)])
        self._row_place = np.concatenate([self._row_place, np.full(len(rhs), -1)])
        numbers = np.arange(before, before + len(rhs))
        self._enter_rows(numbers)
        self._strategy = DUAL
        return numbers

    def delete_rows(self, rows: np.ndarray) -> None:
        """Delete further rows and renumber later ones. The basis is kept if the slacks of all of them are basic."""
        n_rows = self.structure.matrix.shape[0]
        basis = self._h.getBasis()
        gone = np.zeros(len(self._rhs), dtype=bool)
        gone[rows] = True
        stays = ~gone[self._rows]
        places = np.flatnonzero(~stays)
        self._h.deleteRows(len(places), places.astype(np.int32))
        if basis.valid:
            kept = highspy.HighsBasis()
            kept.col_status = basis.col_status
            kept.row_status = [status for status, stay in zip(basis.row_status, stays.tolist()) if stay]
            kept.valid = True
            self._h.setBasis(kept)
        number = np.cumsum(~gone) - 1
        self._rows = number[self._rows[stays]]
        self._rhs = self._rhs[~gone]
        self._row_place = np.full(len(self._rhs), -1)
        self._row_place[self._rows] = np.arange(len(self._rows))
        self._more = sp.csr_array(self._more[np.flatnonzero(~gone[n_rows:])])
        self._more_by_column = None

    def slack_rows(self, rows: np.ndarray) -> np.ndarray:
        """Which of these rows have a basic slack, so that they do not bind."""
        basis = self._h.getBasis()
        if not basis.valid:
            return np.zeros(len(rows), dtype=bool)
        basic = np.array([status == highspy.HighsBasisStatus.kBasic for status in basis.row_status], dtype=bool)
        return np.asarray(basic[self._row_place[rows]])

    def move(self, program: Program) -> None:
        """Move to other budgets of the same structure. Further rows and columns stay unchanged."""
        s = self.structure
        n_rows, n_columns = s.matrix.shape
        upper, rhs = self._upper.copy(), self._rhs.copy()
        upper[:n_columns], rhs[:n_rows] = self._without_dominated(program), program.rhs
        changed = np.flatnonzero((upper != self._upper) & (self._column_place >= 0))
        if len(changed):
            most = upper[changed] / self.scaling.of_columns(changed)
            self._h.changeColsBounds(
                len(changed), self._column_place[changed].astype(np.int32), np.zeros(len(changed)), most
            )
        rows = np.flatnonzero((rhs != self._rhs) & (self._row_place >= 0))
        for row, most in zip(self._row_place[rows].tolist(), (rhs[rows] / self.scaling.of_rows(rows)).tolist()):
            self._h.changeRowBounds(row, -highspy.kHighsInf, most)
        coefficients = program.coefficients
        units = self.scaling.of_rows(s.attackers.rows)
        for i in np.flatnonzero(coefficients != self._coefficients).tolist():
            row, column = self._row_place[s.attackers.rows[i]], self._column_place[s.attackers.columns[i]]
            if row >= 0 and column >= 0:
                self._h.changeCoeff(int(row), int(column), -float(coefficients[i] / units[i]))
        self.program, self._upper, self._rhs, self._coefficients = program, upper, rhs, coefficients
        self._strategy = DUAL
        missing = self._missing_points()
        if len(missing):
            self._enter_columns(missing)

    # Solving.

    def solve(
        self, *, time_limit: float, cancel: threading.Event | None = None, method: Method = Method.SIMPLEX
    ) -> Proposal:
        """Solve: primal simplex after new columns, dual simplex after new rows or changed budgets."""
        started = time.perf_counter()
        if self._stale_costs:
            self._price_columns()
        h = self._h
        if not len(self._columns):
            nothing = self.completed(np.zeros(len(self._column_place)))
            return Proposal(Status.OPTIMAL, nothing, np.append(self.tangents, np.zeros(self._more.shape[0])), 0.0, 0)
        h.setOptionValue("simplex_strategy", self._strategy)
        status = run(h, time_limit=time_limit, cancel=cancel, method=method)
        self._strategy = DUAL
        if cancel is not None and cancel.is_set() and status is Status.INTERRUPTED:
            return Proposal(status, None, None, time.perf_counter() - started, 0)
        found = self._proposal(status, started)
        if found.x is None:
            return found
        return replace(found, x=self.completed(np.clip(found.x, 0.0, self._upper)))

    def _proposal(self, status: Status, started: float) -> Proposal:
        """What HiGHS has found, in the units and the numbering of the whole program."""
        solution, info = self._h.getSolution(), self._h.getInfo()
        x = y = None
        if solution.value_valid:
            x = np.zeros(len(self._column_place))
            x[self._columns] = np.array(solution.col_value) * self.scaling.of_columns(self._columns)
        if solution.dual_valid:
            y = np.zeros(len(self._rhs))
            y[: len(self.tangents)] = self.tangents
            solved = np.maximum(-np.array(solution.row_dual), 0.0)
            y[self._rows] = self.scaling.worth * solved / self.scaling.of_rows(self._rows)
        count = int(info.simplex_iteration_count + info.ipm_iteration_count)
        return Proposal(status, x, y, time.perf_counter() - started, count)

    def reduced_costs(self, y: np.ndarray) -> np.ndarray:
        """objective − yᵀA for all columns; a column outside the model with a positive value is missing."""
        s = self.structure
        n_rows = s.matrix.shape[0]
        result = self._objective.copy()
        result[: s.columns.count] -= s.steady_columns @ y[:n_rows]
        np.add.at(result, s.attackers.columns, self._coefficients * y[s.attackers.rows])
        if len(y) > n_rows:
            result -= self._by_column() @ y[n_rows:]
        return result

    def completed(self, x: np.ndarray) -> np.ndarray:
        """Extend x to groups outside the model: each uses the single point that the flips can reach furthest."""
        s = self.structure
        out = ~self.group_in
        share = reached(self.program, x)
        mine = out[s.points.group]
        x[s.columns.points][mine] = share[mine]
        if s.relaxation.has_indicators:
            total = np.bincount(s.points.group, weights=x[s.columns.points], minlength=len(s.groups))
            x[s.columns.indicators][out] = np.minimum(total, 1.0)[out]
        return x

    def gaps(self, x: np.ndarray, y: np.ndarray) -> np.ndarray:
        """Excess of each outside group's tangent over what x breaks of it (0 for groups in the model)."""
        s = self.structure
        worth = tangent_values(self.program, x[: s.columns.count], y)
        gap = worth - s.groups.weight * s.attacked(x[: s.columns.count])
        return np.where(self.group_in, 0.0, gap)

    # The model.

    def _without_dominated(self, program: Program) -> np.ndarray:
        return program.upper if self._hull is None else self._hull.drop_dominated(program.upper)

    def _missing_points(self) -> np.ndarray:
        """Open points (and indicators) of groups in the model that have no column there yet."""
        s = self.structure
        points = np.arange(s.columns.points.start, s.columns.points.stop)
        wanted = points[self.group_in[s.points.group] & (self._upper[points] > 0)]
        if s.relaxation.has_indicators:
            wanted = np.concatenate([wanted, s.columns.indicators.start + np.flatnonzero(self.group_in)])
        return wanted[~self.has(wanted)]

    def _enter_columns(self, columns: np.ndarray) -> None:
        s = self.structure
        inside = columns[columns < s.columns.count]
        place = self._row_place
        parts = [_renumbered(s.steady_columns.of(inside), place[: s.matrix.shape[0]], len(self._rows))]
        if len(inside) < len(columns):
            further = len(columns) - len(inside)
            parts.append(sp.csr_array((further, len(self._rows)), dtype=np.int64))
        block = sp.csr_array(sp.vstack(parts, format="csr"))
        if self._more.shape[0]:
            block = sp.csr_array(
                block + _taken(self._by_column(), columns, place[s.matrix.shape[0] :], len(self._rows))
            )
        self._column_place[columns] = len(self._columns) + np.arange(len(columns))
        self._columns = np.concatenate([self._columns, columns])
        unit = self.scaling.of_columns(columns)
        block = self.scaling.entries(block, unit, 1 / self.scaling.of_rows(self._rows))
        cost = -self._objective[columns] * unit / self.scaling.worth
        add_columns(self._h, block, cost, self._upper[columns] / unit)
        self._stale_costs = True

    def _enter_rows(self, rows: np.ndarray) -> None:
        if not len(rows):
            return
        s = self.structure
        n_rows = s.matrix.shape[0]
        inside, further = rows[rows < n_rows], rows[rows >= n_rows] - n_rows
        width = len(self._columns)
        block = sp.csr_array(
            sp.vstack(
                [
                    _taken(self.program.matrix, inside, self._column_place[: s.columns.count], width),
                    _taken(self._more, further, self._column_place, width),
                ],
                format="csr",
            )
        )
        order = np.concatenate([inside, further + n_rows])
        self._row_place[order] = len(self._rows) + np.arange(len(order))
        self._rows = np.concatenate([self._rows, order])
        unit = self.scaling.of_rows(order)
        block = self.scaling.entries(block, 1 / unit, self.scaling.of_columns(self._columns))
        add_rows(self._h, block, self._rhs[order] / unit)
        self._stale_costs = True

    def _by_column(self) -> sp.csr_array:
        if self._more_by_column is None:
            self._more_by_column = sp.csr_array(self._more.T)
        return self._more_by_column

    def _price_columns(self) -> None:
        """Set the flips' objective from the tangents of the groups outside the model."""
        s = self.structure
        rows = s.field_rows
        outside = np.where(self.group_in[s.row_group[rows]], 0.0, self.tangents[rows])
        worth = self._objective.copy()
        worth[s.columns.flips] += s.incidence.reach(outside)  # flips stand in the field rows with coefficient −1
        cost = -worth[self._columns] * self.scaling.of_columns(self._columns) / self.scaling.worth
        self._h.changeColsCost(len(self._columns), np.arange(len(self._columns), dtype=np.int32), cost)
        self._stale_costs = False


class WholeProgram(Master):
    """The whole linear (or integer) program, in its own order; later budgets change only bounds and coefficients."""

    def __init__(self, program: Program, *, integer: bool = False) -> None:
        self._integer = integer
        super().__init__(program)

    def _fill(self) -> None:
        s, program = self.structure, self.program
        self._rows, self._columns = np.flatnonzero(self._needed), np.arange(s.columns.count)
        self._row_place[self._rows] = np.arange(len(self._rows))
        self._column_place[:] = self._columns
        self.group_in[:] = True
        self._stale_costs = False
        rows, columns = self.scaling.of_rows(self._rows), self.scaling.of_columns(self._columns)
        matrix = self.scaling.entries(sp.csr_array(program.matrix[self._rows]), 1 / rows, columns)
        # Citeseer (split 1), 8 additions and 21 deletions, cold: 1.23 s with the defaults, 0.16 s without scaling and
        # with Dantzig's rule; 50 edge deletions: 0.13 and 0.05 s. Warm starts take a quarter longer with that rule, and
        # ballots are slower in any case (0.3 → 0.8 s).
        self._quick_cold = self._cold = not self._integer and s.has_fields
        largest = np.abs(matrix.data).max(initial=0)
        if self._quick_cold and largest <= SMALL_COEFFICIENT:
            self._h.setOptionValue("simplex_scale_strategy", 0)
        lp = highspy.HighsLp()
        lp.num_col_, lp.num_row_ = matrix.shape[1], matrix.shape[0]
        lp.col_cost_ = -program.objective / self.scaling.worth
        lp.col_lower_ = np.zeros(lp.num_col_)
        lp.col_upper_ = self._upper / columns
        lp.row_lower_ = np.full(lp.num_row_, -highspy.kHighsInf)
        lp.row_upper_ = self._rhs[self._rows] / rows
        lp.a_matrix_.format_ = highspy.MatrixFormat.kRowwise
        lp.a_matrix_.start_ = matrix.indptr.astype(np.int32)
        lp.a_matrix_.index_ = matrix.indices.astype(np.int32)
        lp.a_matrix_.value_ = matrix.data.astype(np.float64)
        if self._integer:
            self._h.setOptionValue("mip_rel_gap", 0.0)  # the default stops at a relative gap of 1e-4
            lp.integrality_ = _integrality(s)
            if largest > LARGE_COEFFICIENT:
                self._h.setOptionValue("mip_feasibility_tolerance", 1e-9)
        self._h.passModel(lp)

    def add_rows(self, matrix: sp.csr_array, rhs: np.ndarray) -> np.ndarray:
        numbers = super().add_rows(matrix, rhs)
        self._stale_costs = False  # no group is outside
        return numbers

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
    ) -> Proposal:
        """Solve within the time limit."""
        started, h = time.perf_counter(), self._h
        if cancel is not None and cancel.is_set():
            return Proposal(Status.INTERRUPTED, None, None, 0.0, 0)
        h.setOptionValue("simplex_dual_edge_weight_strategy", DANTZIG if self._cold else CHOOSE)
        h.setOptionValue("presolve", "off" if self._quick_cold and method is Method.SIMPLEX else "choose")
        status = run(h, time_limit=time_limit, cancel=cancel, method=method)
        found = self._proposal(status, started)
        if self._integer:
            return replace(found, y=None, limit=-self.scaling.worth * h.getInfo().mip_dual_bound)
        basis = h.getBasis()
        if not basis.valid:
            return found
        if self._cold:
            h.clearSolver()  # otherwise HiGHS would keep to the rule
            self.set_basis(basis)
        return replace(found, basis=basis)


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
    return needed


def reached(program: Program, x: np.ndarray) -> np.ndarray:
    """The fraction of each point that x reaches; except in the paper's form, only the best point of a group counts."""
    s = program.structure
    share = np.where(program.open, 1.0, 0.0)
    inside = s.incidence.into(x[s.columns.flips])
    for i, k in enumerate(s.types):
        row = s.field_of_point[:, i]
        need = np.flatnonzero(row >= 0)
        share[need] = np.minimum(share[need], np.maximum(inside[row[need]], 0.0) / s.points.amount[need, k])
    if s.relaxation.has_indicators or not len(s.groups):
        return share
    best = np.flatnonzero(share >= np.maximum.reduceat(share, s.points.first)[s.points.group])
    only = np.zeros(len(share))
    only[best[np.unique(s.points.group[best], return_index=True)[1]]] = 1.0
    return share * only


def tangent_values(program: Program, x: np.ndarray, y: np.ndarray) -> np.ndarray:
    """Upper bound on the value of each group from the dual values of its own rows."""
    s = program.structure
    y = y[s.field_rows]
    left = np.where(program.open, s.groups.weight[s.points.group], 0.0)
    for i, k in enumerate(s.types):
        row = s.field_of_point[:, i]
        need = np.flatnonzero(row >= 0)
        left[need] -= s.points.amount[need, k] * y[row[need]]
    paid = y * s.incidence.into(x[s.columns.flips])
    value = np.bincount(s.row_group[s.field_rows], weights=paid, minlength=len(s.groups))
    return value + np.maximum.reduceat(np.maximum(left, 0.0), s.points.first) if len(s.groups) else value


def _indices(matrix: sp.csr_array, rows: np.ndarray) -> np.ndarray:
    """Column indices of all entries in these rows."""
    return np.asarray(matrix[rows].indices)


def _taken(matrix: sp.csr_array, rows: np.ndarray, place: np.ndarray, width: int) -> sp.csr_array:
    """Rows of a matrix, renumbered."""
    return _renumbered(matrix[rows], place, width)


def _renumbered(part: sp.csr_array, place: np.ndarray, width: int) -> sp.csr_array:
    """A matrix with columns renumbered by `place`; columns without a new number are dropped."""
    column = place[part.indices]
    keep = (column >= 0) & (part.data != 0)
    before = np.concatenate([[0], np.cumsum(keep)])
    return sp.csr_array((part.data[keep], column[keep], before[part.indptr]), shape=(part.shape[0], width))
