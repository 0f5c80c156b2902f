"""Curves: certified counts over one global budget, σ or a local budget; each value has its own bound."""

from __future__ import annotations

import os
import threading
from bisect import bisect_left
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any, Unpack

import numpy as np

from certcore.common.interrupt import interruptible
from certcore.common.options import show_options
from certcore.common.statistics import average_radius
from certcore.domain.perturbations import TYPES
from certcore.domain.threat import Budgets, ThreatModel
from certcore.domain.weaker import can_do_no_more
from certcore.instance.instance import Instance
from certcore.program.problem import Problem, whole_graph
from certcore.solve.solver import Solver
from certcore.solve.status import Status
from certcore.sweep.axis import Axis, local_values, whole_values
from certcore.sweep.counts import Counts
from certcore.sweep.grid import Grid, SweepSpec
from certcore.sweep.line import LineOfBounds, LineSweep
from certcore.sweep.session import Cancelled, Session, as_session, threat_for
from certcore.sweep.solve_options import SOLVE_DEFAULTS, SolveArguments, SolveOptions
from certcore.sweep.tolerance import fill, read_tolerance
from certcore.verify.proof import whole_graph_attacked

#: Number of values computed between two writes of the checkpoint file.
PORTION = 64


@dataclass(frozen=True, eq=False, repr=False, kw_only=True)
class Curve(Counts):
    """Certified counts at each value of the varied quantity; each count has its own bound."""

    axis_columns = ("value",)

    def __repr__(self) -> str:
        span = f"{self.vary} {self.values[0]}…{self.values[-1]}"
        return f"<Curve {span}: {len(self.values)} values, {self.targets} targets; {self.relaxation}, {self.status}>"

    @property
    def vary(self) -> str:
        return self.axes[0]

    @property
    def values(self) -> np.ndarray:
        return self.axis_values[0]

    @property
    def final(self) -> np.ndarray:
        """Where the relaxation gives no better bound; elsewhere the sweep stopped early."""
        return self.done

    @property
    def average_radius(self) -> float | None:
        return average_radius(self.values, self.ratio)

    @property
    def naive_average_radius(self) -> float | None:
        return average_radius(self.values, self.naive_ratio)

    def to_json(self) -> dict[str, Any]:
        """The fields of `curve --json`."""
        return {
            "vary": self.vary,
            "targets": self.targets,
            "points": self._points(),
            "average_radius": self.average_radius,
            "naive_average_radius": self.naive_average_radius,
            **self._how(),
        }


class CurveArguments(SolveArguments, Budgets, total=False):
    """Solver options, and the fixed parts of the threat model."""


def curve(
    source: Instance | Session,
    threat: ThreatModel | None = None,
    vary: str = "attr_del",
    values: Sequence[Any] | np.ndarray = range(101),
    *,
    tolerance: float = 0.0,
    cancel: threading.Event | None = None,
    progress: Callable[[float], None] | None = None,
    checkpoint: str | os.PathLike[str] | None = None,
    **options: Unpack[CurveArguments],
) -> Curve:
    """Certified counts at all values of one budget (`attr_del`, …), of σ (`sigma`) or of a local budget (`local_…`).

    The fixed part is a `ThreatModel` or plain arguments: `curve(instance, vary="attr_del", values=range(51), sigma=5)`.
    A value is solved only if the bound from its neighbours could improve. `time_limit` applies to each solve, and
    `rounds` to the strong search at each value. A cancelled sweep returns sound but weaker bounds where `final` is
    false. With a `checkpoint` file an interrupted sweep continues. With a `tolerance` (a share of the targets), a value
    is solved only if it could certify more than that beyond what is proven.
    """
    budgets: Any = dict(options)
    how = SolveOptions.take(budgets)
    session = as_session(source)
    threat = threat_for(session.instance, threat, budgets)
    axis = Axis.parse(vary)
    numbers = local_values(values, axis, threat) if axis.is_local else whole_values(values, axis)
    grid = Grid(session, SweepSpec(threat, (axis,), (numbers,), how, read_tolerance(tolerance)))
    grid.resume(checkpoint)
    work = _fill_to_tolerance if grid.spec.tolerance else _fill
    interruptible(lambda stop: work(grid, stop, progress), cancel)
    return grid.result(Curve)


show_options(curve, SOLVE_DEFAULTS, CurveArguments.__annotations__, rest="Budgets")


def _fill(grid: Grid, cancel: threading.Event | None, progress: Callable[[float], None] | None) -> None:
    """Compute the missing values; with a checkpoint file, in portions that are written at once."""
    spec, missing = grid.spec, np.flatnonzero(~grid.done)
    portions = np.array_split(missing, -(-len(missing) // PORTION)) if grid.is_kept and len(missing) else [missing]
    for portion in filter(len, portions):
        values = [spec.values[0][i] for i in portion]
        told = None if grid.is_kept else progress
        line = _CurveWork(grid.session, spec.threat, spec.axes[0], values, spec.options, cancel, told).run()
        for i, bound, final in zip(portion.tolist(), line.bounds, line.final):
            grid.enter((i,), bound, final)
        grid.count(line.status, line.solves)
        grid.save()
        if grid.is_kept and progress is not None:
            progress(float(grid.done.mean()))
        if line.status is Status.INTERRUPTED:
            break


def _fill_to_tolerance(grid: Grid, cancel: threading.Event | None, progress: Callable[[float], None] | None) -> None:
    for _ in fill(grid, cancel):
        if grid.is_kept:
            grid.save()
        if progress is not None:
            progress(float(grid.done.mean()))
    grid.save()


@dataclass(frozen=True, eq=False)
class _CurveWork:
    """Values of a curve that still need bounds."""

    session: Session
    threat: ThreatModel
    axis: Axis
    values: list[Any]
    options: SolveOptions
    cancel: threading.Event | None
    progress: Callable[[float], None] | None

    def run(self) -> LineOfBounds:
        if self.options.relaxation.is_timed or self.axis.is_local:
            return self._one_by_one()
        return self._together()

    def _together(self) -> LineOfBounds:
        """All values on one structure; values with whole-graph fields need no program."""
        # Budgets ascend, so the values with whole-graph fields come last.
        count = bisect_left(self.values, True, key=lambda v: whole_graph(self.session.instance, self._threat(v)))
        head = self.values[:count]
        line = self._on_one_structure(head) if head else LineOfBounds()
        largest = Problem(self.session.instance, self._threat(self.values[-1]))
        for value in self.values[len(head) :]:
            problem = Problem(self.session.instance, self._threat(value), largest)
            line = line.plus(Fraction(whole_graph_attacked(problem)))
        return line

    def _on_one_structure(self, values: list[int]) -> LineOfBounds:
        start = self._threat(values[-1])
        types = [k for k in range(len(TYPES)) if start.budgets[k] > 0]
        try:
            solver = self.session.solver(start, self.options.relaxation, types, self.cancel)
        except Cancelled:
            targets = len(Problem(self.session.instance, start).targets)
            return LineOfBounds([Fraction(targets)] * len(values), [False] * len(values), Status.INTERRUPTED)
        place, limit = (start.budgets, start.sigma), self.options.seconds
        # Two lengths may round to the same number of units.
        amounts = self.axis.amounts(self.threat, values)
        distinct = sorted(set(amounts))
        line = LineSweep(solver, place, self.axis, distinct, limit, self.cancel, self.progress).run()
        at = [distinct.index(amount) for amount in amounts]
        return replace(line, bounds=[line.bounds[i] for i in at], final=[line.final[i] for i in at])

    def _threat(self, value: Any) -> ThreatModel:
        return self.axis.at(self.threat, value)

    def _one_by_one(self) -> LineOfBounds:
        """Each value has its own program; it is warm-started from the previous one if both have the same form."""
        line = LineOfBounds()
        before: tuple[ThreatModel, Solver | None] | None = None
        graph = self.session.instance.graph
        for value in self.values:
            threat = self._threat(value)
            problem = Problem(self.session.instance, threat)
            if self.options.relaxation.is_proven and before is not None and can_do_no_more(threat, before[0], graph):
                # A local budget above what exists at a node or what the global budget pays for changes nothing: a
                # plateau.
                line = line.plus(line.bounds[-1], final=line.final[-1], status=line.status)
            else:
                solver = self._warm(problem, before[1] if before is not None else None)
                before = threat, solver
                certificate = self.session.certify(threat, **self.options.arguments, attack=False, cancel=self.cancel)
                status = certificate.status
                line = line.plus(certificate.bound, final=status.is_final, status=status, solves=certificate.solves)
            if self.progress is not None:
                self.progress(len(line.bounds) / len(self.values))
        return line

    def _warm(self, problem: Problem, before: Solver | None) -> Solver | None:
        if self.options.relaxation.is_timed or problem.whole_graph:
            return None
        try:
            solver = self.session.solver(problem.threat, self.options.relaxation, (), self.cancel)
        except Cancelled:
            return None
        if before is not None:
            solver.adopt(before)
        return solver
