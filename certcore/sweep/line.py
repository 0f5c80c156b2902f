"""Bounds along one axis of a structure: solve at a few values, re-evaluate their dual values at the others.

Between values with the same reachable points and coefficients (a range of right-hand sides, here a stretch) the relaxed
optimum is concave. It lies above the chord between two solved values and below the bounds from their dual values. Where
both have the same integer part, solving cannot improve the count and is skipped. The chord is never used as a bound.
"""

from __future__ import annotations

import math
import threading
from collections.abc import Iterator
from dataclasses import dataclass, replace
from fractions import Fraction
from itertools import pairwise

import numpy as np

from certcore.program.program import BudgetPoint, Program
from certcore.solve.solver import BoundResult, Solver
from certcore.solve.status import Status
from certcore.sweep.axis import Axis
from certcore.verify.duals import plain_bound

#: An optimum this close below an integer is rounded up when deciding whether to solve.
ROUNDING = 1e-6


class _Stopped(Exception):
    """The sweep was cancelled or a solve reached its time limit."""


@dataclass(eq=False)
class LineSweep:
    """Bounds at all ascending values of one budget or of σ, with a time limit for each solve.

    `bounds` are proven as soon as they are there (None: not reached yet), and `final` where solving cannot improve the
    count.
    """

    solver: Solver
    point: BudgetPoint
    axis: Axis
    values: list[int]
    time_limit: float
    cancel: threading.Event | None = None

    def __post_init__(self) -> None:
        self.answers: dict[int, BoundResult] = {}
        self.bounds: list[Fraction | None] = [None] * len(self.values)
        self.final = [False] * len(self.values)
        self.status = Status.OPTIMAL
        self.solves = 0

    def run(self) -> Iterator[None]:
        """Fill in the bounds, with a yield after each improvement."""
        try:
            for first, last in self._stretches():
                yield from self._stretch(first, last)
                self._stop_if_cancelled()
        except _Stopped:
            return

    def _place(self, i: int) -> BudgetPoint:
        return self.axis.move(self.point, self.values[i])

    def _program(self, i: int) -> Program:
        return self.solver.program(self._place(i))

    def _stretches(self) -> list[tuple[int, int]]:
        """Ranges of values between which only right-hand sides change."""
        s = self.solver.structure
        if self.axis.is_sigma or not s.has_fields:  # reachability depends on more than the point's own amounts
            programs = [self._program(i) for i in range(len(self.values))]
            same = [a.same_rhs_range(b) for a, b in pairwise(programs)]
        else:
            k = self.axis.kind
            coordinates = np.unique(s.points.amount[:, k])
            bucket = np.searchsorted(coordinates, self.values, side="right")
            same = (bucket[1:] == bucket[:-1]).tolist()
            # Attackers' coefficients change until they reach the capacities.
            moving = 0 if s.relaxation.has_indicators else s.attackers.steady_from(k)
            same = [flag and value >= moving for flag, value in zip(same, self.values)]
        edges = [0, *(i + 1 for i, flag in enumerate(same) if not flag), len(self.values)]
        return [(a, b - 1) for a, b in pairwise(edges)]

    def _solve(self, i: int) -> BoundResult:
        found = self.answers.get(i)
        if found is not None:
            return found
        answer = self.solver.solve(self._place(i), time_limit=self.time_limit, cancel=self.cancel)
        self.solves += answer.solves
        self.bounds[i] = answer.bound
        self.final[i] = answer.status.is_final
        self.status = self.status.then(answer.status)
        if answer.status in (Status.TIME_LIMIT, Status.INTERRUPTED):
            raise _Stopped
        self.answers[i] = replace(answer, x=None)
        return answer

    def _stretch(self, first: int, last: int) -> Iterator[None]:
        """Sweep over a stretch with steps that grow as long as no value between them has to be solved."""
        at, step = first, 1
        self._solve(at)
        yield
        while at < last:
            ahead = self._look_ahead(at, last)
            if ahead > last:
                return
            to = min(last, max(ahead, at + step))
            before = self.solves
            self._solve(to)
            yield
            yield from self._fill(at, to)
            for i in range(at, to):
                if i in self.answers:  # their dual values are no longer needed
                    self.answers[i] = replace(self.answers[i], duals=None)
            between = self.solves - before - 1
            step = step * 2 if between <= 0 else step if between == 1 else max(1, step // 2)
            at = to
            self._stop_if_cancelled()

    def _look_ahead(self, at: int, last: int) -> int:
        """The first value after a solved one that its dual values do not settle; most curves end in a plateau."""
        ahead, chunk = at, 8
        while ahead < last:
            end = min(last, ahead + chunk)
            self._settle(at, ahead, end)
            open_ = next((i for i in range(ahead + 1, end + 1) if not self.final[i]), None)
            if open_ is not None:
                return open_
            ahead, chunk = end, 2 * chunk
        return last + 1

    def _fill(self, left: int, right: int) -> Iterator[None]:
        """Settle all values between two solved ones, solving in the middle of the open range."""
        self._settle(left, left, right - 1, right)
        open_ = [i for i in range(left + 1, right) if not self.final[i]]
        if open_:
            middle = open_[len(open_) // 2]
            self._solve(middle)
            yield
            yield from self._fill(left, middle)
            yield from self._fill(middle, right)

    def _settle(self, left: int, first: int, last: int, right: int | None = None) -> None:
        """Bounds between (or beyond) solved values from their dual values; final where solving cannot improve them."""
        inside = [i for i in range(first + 1, last + 1) if not self.final[i]]
        if not inside:
            return
        a, b = self.answers[left], self.answers[right] if right is not None else None
        rhs_range, s = self.solver.program(a.point), self.solver.structure
        total = plain_bound(rhs_range)
        chosen = [self.values[i] for i in inside]
        kind = None if self.axis.is_sigma else self.axis.kind
        candidates = [
            answer.duals.bounds(rhs_range, kind, chosen)
            for answer in (a, b)
            if answer is not None and answer.duals is not None
        ]
        for point, i in enumerate(inside):
            upper = min([total, *(c[point] for c in candidates)])
            lower = a.lower
            if b is not None and right is not None:
                upper = min(upper, b.bound)
                share = (self.values[i] - self.values[left]) / (self.values[right] - self.values[left])
                lower = max(lower, a.lower + share * (b.lower - a.lower))
            known = self.bounds[i]
            self.bounds[i] = upper if known is None else min(upper, known)
            self.final[i] = math.floor(upper / s.step) <= math.floor((lower + ROUNDING * s.mean_weight) / s.step)

    def _stop_if_cancelled(self) -> None:
        if self.cancel is not None and self.cancel.is_set():
            self.status = Status.INTERRUPTED
            raise _Stopped
