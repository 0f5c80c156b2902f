"""Large programs against ballots: a restricted master of the changes with the largest values.

The restricted master holds some changes, the targets they can help to break, and the attackers who pay. The dual values
of all other rows follow in closed form: a target outside counts fully against every change that could help to break
it. So every restricted master gives dual values of the whole program, and a proven bound over all columns. Changes
whose value exceeds their price are missing and are added, until the bound meets the value of the solution.
"""

from __future__ import annotations

import threading
import time

import highspy
import numpy as np
import scipy.sparse as sp

from certcore.base.ballots import SHARE
from certcore.common.products import dot
from certcore.program.ballots import BallotsStructure
from certcore.program.program import Program
from certcore.solve.engine import DUAL, PRIMAL, Method, add_columns, add_rows, quiet_highs, run
from certcore.solve.large import Outcome, Publish
from certcore.solve.status import Status
from certcore.solve.tuning import BALLOTS
from certcore.verify.bound import scaled
from certcore.verify.duals import IntegerDuals, plain_bound


class LargeBallots:
    """Solves a structure for ballots that is too large to be given to HiGHS as a whole. Not thread-safe."""

    def __init__(self, structure: BallotsStructure) -> None:
        s = self.structure = structure
        self._chosen = np.zeros(s.columns.count, dtype=bool)
        """The changes inside the restricted master: flips, and ends of added edges that another node pays for."""
        self._is_change = np.zeros(s.columns.count, dtype=bool)
        self._is_change[s.columns.flips] = True
        self._is_change[s.columns.inner.start : s.columns.inner.start + s.other_ends] = True
        used = [np.arange(s.rows[name].start, s.rows[name].stop) for name in ("cut", "written") if name in s.rows]
        self._uses = np.concatenate([np.zeros(0, dtype=np.int64), *used])
        """Rows that limit what is used against one target by what is done; in the order of the inner columns."""
        self._parts = np.arange(s.columns.inner.start + s.other_ends, s.columns.inner.stop)
        self._made = sp.csr_array(s.matrix[self._uses][:, s.columns.flips] != 0)
        gains = [s.matrix[s.rows[name]] for name in ("share", "count")]
        self._helps = sp.csr_array(gains[0] != 0)
        """Targets × columns that can help to break them."""
        whole = SHARE, s.means.need
        totals = [-np.asarray(rows.sum(axis=1)).ravel() / size + 1 for rows, size in zip(gains, whole)]
        self._by_share = totals[0] <= totals[1]
        """Whether the share row values the changes against a target lower than the count row."""
        self._ties = self._tie_of_flip()
        self.forget()

    def _tie_of_flip(self) -> np.ndarray:
        """The row that ties a flip to its attackers; -1 without σ and for new nodes."""
        s, tie = self.structure, np.full(self.structure.columns.flips.stop, -1)
        for name in ("payer", "pair", "rewriting"):
            if s.has_sigma and name in s.rows:
                rows = sp.coo_array(s.matrix[s.rows[name]][:, s.columns.flips])
                tie[rows.col] = s.rows[name].start + rows.row
        return tie

    def forget(self) -> None:
        """Start the next solve from scratch."""
        s = self.structure
        self._chosen[:] = False
        self._warm = False
        """Whether there is a basis of a restricted master that the present one contains."""
        self._column_status = np.full(s.columns.count, highspy.HighsBasisStatus.kLower, dtype=object)
        self._row_status = np.full(s.matrix.shape[0], highspy.HighsBasisStatus.kBasic, dtype=object)

    def solve(
        self,
        program: Program,
        *,
        time_limit: float,
        cancel: threading.Event | None = None,
        publish: Publish | None = None,
    ) -> Outcome:
        """The best bound within the time limit; `optimal` if no change is missing."""
        deadline, s = time.perf_counter() + time_limit, self.structure
        outcome = Outcome(plain_bound(program))
        rows, duals = np.zeros(0, dtype=np.int64), np.zeros(0)
        for _ in range(BALLOTS.max_rounds):
            y, reduced = self._complete(program, rows, duals)
            better = outcome.offer(program, IntegerDuals.of(s, scaled(y, s.scale_bits)))
            if better and publish is not None and outcome.duals:
                publish(outcome.duals)
            if float(outcome.bound) - outcome.lower <= BALLOTS.close * max(s.mean_weight, float(outcome.bound)):
                outcome.status = Status.OPTIMAL
                break
            missing = self._missing(program, reduced)
            if outcome.solves and not len(missing):
                outcome.status = Status.OPTIMAL  # the caller compares bound and value
                break
            self._chosen[missing] = True
            status, columns, x, rows, duals = self._solve_master(
                program, deadline, cancel, PRIMAL if outcome.solves else DUAL
            )
            outcome.solves += 1
            if status is not Status.OPTIMAL:
                outcome.status = status
                break
            whole = np.zeros(s.columns.count)
            whole[columns] = x
            value = s.constant + dot(s.objective, whole)
            if value > outcome.lower:
                outcome.lower, outcome.x = value, whole
        return outcome

    def _inside(self) -> tuple[np.ndarray, np.ndarray]:
        """Columns of the restricted master, and its targets."""
        s = self.structure
        inside = self._chosen.copy()
        inside[self._parts] = (self._made @ inside[s.columns.flips]) > 0
        groups = (self._helps @ inside) > 0
        inside[s.columns.points] = groups
        if s.has_sigma:
            tied = self._ties[self._chosen[s.columns.flips]]
            inside[np.unique(s.matrix[np.unique(tied[tied >= 0])].indices)] |= True
            inside[s.columns.flips] = self._chosen[s.columns.flips]
        return inside, groups

    def _solve_master(
        self, program: Program, deadline: float, cancel: threading.Event | None, strategy: int
    ) -> tuple[Status, np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
        """Status, columns, their values, rows, and their dual values."""
        columns = np.flatnonzero(self._inside()[0])
        part = sp.csr_array(sp.csc_array(program.matrix)[:, columns])
        limits = np.asarray((part > 0).sum(axis=1)).ravel() > 0
        limits[self.structure.rows["choose"]] = False  # these repeat the upper bounds of the points
        rows = np.flatnonzero(limits)
        h, mean = quiet_highs(), self.structure.mean_weight
        upper = program.upper[columns].astype(np.float64)
        add_columns(h, sp.csr_array((len(columns), 0)), -program.objective[columns] / mean, upper)
        add_rows(h, part[rows], program.rhs[rows])
        if self._warm:
            basis = highspy.HighsBasis()
            basis.col_status, basis.row_status = self._column_status[columns].tolist(), self._row_status[rows].tolist()
            basis.valid = True
            h.setBasis(basis)
            h.setOptionValue("simplex_strategy", strategy)
        status = run(h, time_limit=deadline - time.perf_counter(), cancel=cancel, method=Method.SIMPLEX)
        if status is not Status.OPTIMAL:
            return status, columns, np.zeros(len(columns)), rows, np.zeros(len(rows))
        found, basis = h.getSolution(), h.getBasis()
        self._column_status[columns], self._row_status[rows] = basis.col_status, basis.row_status
        self._warm = True
        x = np.clip(np.array(found.col_value), 0.0, upper)
        return status, columns, x, rows, mean * np.maximum(-np.array(found.row_dual), 0.0)

    def _complete(self, program: Program, rows: np.ndarray, duals: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Dual values of all rows from those of the restricted master, and the reduced costs of all columns."""
        s = self.structure
        inside, groups = self._inside()
        y = np.zeros(s.matrix.shape[0])
        y[rows] = duals
        outside = program.open & ~groups
        y[s.rows["share"]][outside & self._by_share] = s.groups.weight[outside & self._by_share] / SHARE
        by_count = outside & ~self._by_share
        y[s.rows["count"]][by_count] = s.groups.weight[by_count] / s.means.need[by_count]
        worth = -(s.steady_columns @ y)
        absent = ~inside[self._parts]
        y[self._uses[absent]] = np.maximum(worth[self._parts[absent]], 0.0)
        worth = -(s.steady_columns @ y)[s.columns.flips]
        worth[program.upper[s.columns.flips] == 0] = 0.0
        tied = np.flatnonzero((self._ties >= 0) & ~self._chosen[s.columns.flips])
        np.maximum.at(y, self._ties[tied], worth[tied])
        reduced = s.objective - s.steady_columns @ y
        np.add.at(reduced, s.attackers.columns, program.coefficients * y[s.attackers.rows])
        reduced[tied] = worth[tied]
        return y, reduced

    def _missing(self, program: Program, reduced: np.ndarray) -> np.ndarray:
        """Changes outside the restricted master with positive reduced costs, those with the largest ones first."""
        s = self.structure
        least = BALLOTS.rounding * s.mean_weight
        value = np.where(self._is_change & ~self._chosen & (program.upper > 0), reduced, 0.0)
        if s.has_sigma:
            # A flip is missing if an attacker who can pay for it is.
            attackers = np.where(reduced[s.columns.attackers] > least, reduced[s.columns.attackers], 0.0)
            paid = sp.csr_array(program.matrix[:, s.columns.attackers] != 0)
            best = np.zeros(s.matrix.shape[0])
            best[:] = paid @ attackers
            tied = self._ties >= 0
            flips = value[s.columns.flips]
            flips[tied] = np.where(flips[tied] > 0, best[self._ties[tied]], 0.0)
        found = np.flatnonzero(value > least)
        kind = np.append(s.flips.kind, -1)[np.minimum(found, len(s.flips))]
        order = np.lexsort((-value[found], kind))
        rank = np.arange(len(order)) - np.searchsorted(kind[order], kind[order])
        most = np.maximum(np.append(BALLOTS.times_budget * program.amounts, 0), BALLOTS.least_changes)
        return found[order[rank < most[kind[order]]]]
