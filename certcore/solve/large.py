"""Large programs: a first-order method, then a restricted master grown until no column is missing.

Within a second or two the first-order method shows which sites have value and which groups are already decided. The
restricted master holds the rest, usually at most a tenth of the program, and is solved by simplex. Every stage gives
dual values for all rows of the whole program, and so a proven bound over all columns. The solution of the restricted
master, extended to the groups outside it, is feasible for the whole program. If its value equals the bound, the program
is solved. The next budgets start from the same restricted master.
"""

from __future__ import annotations

import math
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from fractions import Fraction

import numpy as np

from certcore.common.interrupt import over
from certcore.common.products import dot
from certcore.domain.perturbations import TABLE, TYPES
from certcore.program.hull import Hull
from certcore.program.program import Program
from certcore.program.structure import Structure
from certcore.solve.engine import Method
from certcore.solve.first_order import FirstOrder, Found, Limits, Shape, knapsack
from certcore.solve.master import Master, Proposal, reached, tangent_values
from certcore.solve.places import nearest
from certcore.solve.status import Status
from certcore.solve.tuning import LARGE, SIGMA
from certcore.verify.bound import scaled
from certcore.verify.duals import IntegerDuals, plain_bound

Publish = Callable[[IntegerDuals], None]


@dataclass(eq=False)
class Outcome:
    """The best proven bound so far, its dual values, and the best solution."""

    bound: Fraction
    duals: IntegerDuals | None = None
    lower: float = -math.inf
    """Objective of the best relaxed solution, in floating point."""
    x: np.ndarray | None = field(default=None, repr=False)
    status: Status = Status.ROUNDS
    solves: int = 0

    @property
    def gap(self) -> float:
        """Relative gap between the bound and the solution."""
        return (float(self.bound) - self.lower) / max(1.0, float(self.bound))

    def offer(self, program: Program, duals: IntegerDuals | None) -> bool:
        """Keep dual values if they prove a better bound; returns whether they do."""
        if duals is None:
            return False
        duals = duals.repaired_at(program)
        bound = duals.bound(program)
        better = bound < self.bound or (self.duals is None and bound == self.bound)
        if better:
            self.bound, self.duals = bound, duals
        return better


class Large:
    """Solves a structure that is too large to be given to HiGHS as a whole. Not thread-safe."""

    most_models = LARGE.max_models

    def __init__(self, structure: Structure) -> None:
        self.structure = structure
        self._publish: Publish | None = None
        self._hull = Hull(structure)
        shape = Shape.of(structure)
        self._first_order = FirstOrder(shape) if shape is not None else None
        self._close = LARGE.close if all(TABLE[k].whole for k in structure.types) else LARGE.close_real
        self._simple = len(structure.types) == 1 and not structure.has_sigma
        many = structure.matrix.nnz > LARGE.many_entries and not structure.has_sigma
        self._far = LARGE.far if self._simple else LARGE.far_many if many else LARGE.far_types
        several = len(structure.types) > 1 and not structure.has_sigma
        self._handover = LARGE.handover_types if several else LARGE.handover
        self._models: list[Master] = []
        """Restricted masters, most recently used last."""

    def forget(self) -> None:
        """Discard the restricted masters, so that the next solve starts from scratch."""
        self._models = []

    def solve(
        self,
        program: Program,
        *,
        time_limit: float,
        cancel: threading.Event | None = None,
        publish: Publish | None = None,
    ) -> Outcome:
        """The best bound within the time limit; `optimal` if the program was solved to optimality.

        `publish` is called with every set of dual values that improves the bound, while the solve is running.
        """
        deadline, self._publish, s = time.perf_counter() + time_limit, publish, self.structure
        outcome = Outcome(plain_bound(program))
        model = self._nearest(program)
        fresh = model is None
        if model is not None:
            model.move(program)
        for _ in range(LARGE.max_rounds):
            if model is None:
                model = self._begin(program, outcome, deadline, cancel)
            if model is None:  # no time left for more than the first-order bound
                stopped = cancel is not None and cancel.is_set()
                outcome.status = Status.INTERRUPTED if stopped else Status.TIME_LIMIT
                break
            method = Method.SIMPLEX
            if outcome.solves == 0 and fresh and s.has_sigma and model.size[0] > SIGMA.ipm_rows:
                method = Method.INTERIOR_POINT
            proposal = model.solve(time_limit=deadline - time.perf_counter(), cancel=cancel, method=method)
            outcome.solves += 1
            if proposal.status is not Status.OPTIMAL:
                outcome.status = proposal.status
                break
            grown = self._take(model, proposal, outcome)
            if outcome.gap <= LARGE.close or not grown:
                outcome.status = Status.OPTIMAL if outcome.gap <= self._close else Status.FAILED
                break
            if not fresh and outcome.gap > (LARGE.astray if self._simple else LARGE.astray_types):
                model, fresh = None, True
        if model is not None:
            self._models = [*self._models, model][-self.most_models :]
        return outcome

    def _nearest(self, program: Program) -> Master | None:
        """Remove and return the restricted master nearest to the budget point; None if all are too far away."""
        known = [(model.program.budgets, model.program.sigma) for model in self._models]
        found = nearest(known, (program.budgets, program.sigma), self._far)
        return None if found is None else self._models.pop(found)

    def _begin(
        self, program: Program, outcome: Outcome, deadline: float, cancel: threading.Event | None
    ) -> Master | None:
        """A restricted master of what the first-order method leaves undecided; None if the time is over."""
        s = self.structure
        x, y = np.zeros(s.columns.count), np.zeros(s.matrix.shape[0])
        if self._first_order is not None:
            found = self._first(self._first_order, program, outcome, deadline, cancel)
            self._tell(program, outcome, found)
            x[s.columns.flips], y[s.field_rows] = found.x, s.mean_weight * found.y
        else:
            y = crude_duals(program)
        if over(deadline, cancel):
            return None
        model = Master(program, y)
        worth = s.incidence.reach(y[s.field_rows])
        best = np.zeros(len(TYPES))
        np.maximum.at(best, s.flips.kind, worth)
        near = worth >= (1 - LARGE.near) * best[s.flips.kind]
        model.add_columns_and_groups(np.flatnonzero((x[s.columns.flips] > 0) | near), undecided(program, x, y))
        return model

    def _first(
        self,
        method: FirstOrder,
        program: Program,
        outcome: Outcome,
        deadline: float,
        cancel: threading.Event | None,
    ) -> Found:
        return method.run(
            Limits.of(program, self._hull),
            gap=self._handover,
            seconds=deadline - time.perf_counter(),
            cancel=cancel,
            report=lambda found: self._tell(program, outcome, found),
        )

    def _tell(self, program: Program, outcome: Outcome, found: Found) -> None:
        """Prove the bound of the first-order method's dual values so far, and publish it."""
        s = self.structure
        y = np.zeros(s.matrix.shape[0])
        y[s.field_rows] = s.mean_weight * found.y
        worth = s.incidence.reach(y[s.field_rows])
        upper = program.upper[s.columns.flips]
        for k in s.types:
            mine = s.flips.kind == k
            y[s.global_row[k]] = knapsack(worth[mine], upper[mine], program.budgets[k])[1]
        self._offer(program, outcome, IntegerDuals.of(s, scaled(y, s.scale_bits)))

    def _offer(self, program: Program, outcome: Outcome, duals: IntegerDuals | None) -> bool:
        """Keep and publish dual values that prove a better bound; returns whether they did."""
        better = outcome.offer(program, duals)
        if better and self._publish is not None:
            assert outcome.duals is not None
            self._publish(outcome.duals)
        return better

    def _take(self, model: Master, proposal: Proposal, outcome: Outcome) -> bool:
        """Prove a proposal's bound, keep the best, and add missing columns and groups; False if none were missing."""
        program, s = model.program, self.structure
        assert proposal.x is not None
        assert proposal.y is not None
        x, y = proposal.x, proposal.y
        self._offer(program, outcome, IntegerDuals.of(s, scaled(y, s.scale_bits)))
        value = s.constant + dot(s.objective, x)
        if value > outcome.lower:
            outcome.lower, outcome.x = value, x
        if outcome.gap <= LARGE.close:
            return True
        reduced = model.reduced_costs(y)[s.columns.flips]
        price = y[s.global_row[s.flips.kind]]
        absent = ~model.has(np.arange(len(s.flips)))
        sites = np.flatnonzero(absent & (reduced > LARGE.rounding * np.maximum(price, s.mean_weight)))
        if len(sites):
            more = np.flatnonzero(absent & (reduced > -0.003 * price))
            sites = more[np.argsort(-reduced[more])[: LARGE.max_sites]]
        groups = np.flatnonzero(model.gaps(x, y) > LARGE.rounding * s.mean_weight)
        model.add_columns_and_groups(sites, groups)
        return bool(len(sites) or len(groups))


def crude_duals(program: Program) -> np.ndarray:
    """Dual feasible values without a solve: each type pays the whole weight of a group, spread over its flips."""
    s = program.structure
    y = np.zeros(s.matrix.shape[0])
    prices = y[s.field_rows]
    for i, k in enumerate(s.types):
        row = s.field_of_point[:, i]
        need = np.flatnonzero((row >= 0) & program.open)
        np.maximum.at(prices, row[need], s.groups.weight[s.points.group[need]] / s.points.amount[need, k])
    return y


def undecided(program: Program, x: np.ndarray, y: np.ndarray) -> np.ndarray:
    """Groups that a tangent approximates badly: its gap at x is too large, or x is near a kink."""
    s = program.structure
    share = reached(program, x)
    best = np.bincount(s.points.group, weights=share, minlength=len(s.groups))
    gap = tangent_values(program, x, y) - s.groups.weight * np.minimum(best, 1.0)
    return np.flatnonzero((gap > LARGE.decided * s.groups.weight) | ((best > 1 - LARGE.near) & (best < 1)))
