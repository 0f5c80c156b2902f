"""Curves: certified counts over one budget, over σ or over a local budget, with a bound of its own at every value."""

from __future__ import annotations

import os
import threading
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any, Unpack

import numpy as np

from certcore.common.statistics import average_radius
from certcore.domain.local_mode import LocalMode
from certcore.domain.perturbations import TYPES
from certcore.domain.threat import Budgets, ThreatModel
from certcore.domain.weaker import can_do_no_more
from certcore.instance.instance import Instance
from certcore.program.problem import Problem, whole_graph
from certcore.program.relaxation import Relaxation
from certcore.result.assemble import result_facts
from certcore.result.tripwire import KnownAttack
from certcore.solve.solver import Solver
from certcore.solve.status import Status
from certcore.sweep.axis import Axis, local_values, naive_counts, whole_values
from certcore.sweep.checkpoint import Checkpoint
from certcore.sweep.counts import Counts
from certcore.sweep.interrupt import interruptible
from certcore.sweep.line import LineOfBounds, sweep_line
from certcore.sweep.session import Cancelled, Session, as_session, threat_for
from certcore.sweep.solve_options import SolveOptions
from certcore.verify.proof import certified_count, whole_graph_attacked

#: Values computed between two visits to the checkpoint file.
PORTION = 64


@dataclass(frozen=True, eq=False, repr=False, kw_only=True)
class Curve(Counts):
    """Certified counts at each value of what was varied; every count rests on a bound of its own."""

    vary: str
    values: np.ndarray
    bounds: tuple[Fraction, ...]
    """Upper limits on how many targets can be left uncertified, exactly; proven where `verified`."""
    final: np.ndarray
    """Where the bound is the best this relaxation has to give; elsewhere the sweep was stopped before."""

    def __repr__(self) -> str:
        span = f"{self.vary} {self.values[0]}…{self.values[-1]}"
        return f"<Curve {span}: {len(self.values)} values, {self.targets} targets; {self.relaxation}, {self.status}>"

    def refuted_by(self, instance: Instance, attack: KnownAttack) -> tuple[ThreatModel, int] | None:
        """The count at the largest value that an attack refutes: who can make it at a smaller one can do so there."""
        over = np.flatnonzero(self.certified > self.targets - attack.attacked)
        axis = Axis(self.vary)
        if not len(over) or (axis.is_local and self.threat.local_mode is LocalMode.RELATIVE):  # shares are rounded here
            return None
        value, least = int(self.values[over[-1]]), None if axis.is_local else axis.of(attack.threat)
        if least is not None and least > value:  # so it is for most attacks, and much quicker to see
            return None
        threat = axis.at(self.threat, value)
        return (threat, int(self.certified[over[-1]])) if attack.within(instance, threat) else None

    @property
    def bound(self) -> np.ndarray:
        """The bounds as numbers for pictures."""
        return np.array([float(b) for b in self.bounds])

    @property
    def average_radius(self) -> float | None:
        return average_radius(self.values, self.ratio)

    @property
    def naive_average_radius(self) -> float | None:
        return average_radius(self.values, self.naive_ratio)

    def columns(self) -> dict[str, Any]:
        """Equally long columns for a table."""
        return {
            "value": self.values,
            "certified": self.certified,
            "naive_certified": self.naive,
            "bound": self.bound,
            "verified": self.verified,
        }

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


def curve(
    source: Instance | Session,
    threat: ThreatModel | None = None,
    vary: str = "attr_del",
    values: Sequence[Any] | np.ndarray = range(101),
    *,
    relaxation: str = "tight",
    time_limit: float | None = None,
    rounds: int | None = None,
    cancel: threading.Event | None = None,
    progress: Callable[[float], None] | None = None,
    checkpoint: str | os.PathLike[str] | None = None,
    **budgets: Unpack[Budgets],
) -> Curve:
    """Certified counts at all values of one budget (`attr_del`, …), of σ (`sigma`) or of a local budget (`local_…`).

    What stays fixed is a `ThreatModel`, or plain arguments: `curve(instance, vary="attr_del", values=range(51),
    sigma=5)`. Solves only where the bound that follows from its neighbours may still be improved. `time_limit` holds
    for each solve, and `rounds` for the strong search at each value. A cancelled sweep returns what it has; its other
    bounds are sound but weak (`final` tells). With a `checkpoint` file the work continues where it stopped.
    """
    options = SolveOptions.read(relaxation, time_limit, rounds)
    started = time.perf_counter()
    session = as_session(source)
    threat = threat_for(session.instance, threat, budgets)
    axis = Axis.parse(vary)
    numbers = local_values(values, axis, threat) if axis.is_local else whole_values(values, axis)
    job = _CurveWork(session, threat, axis, numbers, options, cancel, progress)

    def work(stop: threading.Event | None) -> LineOfBounds:
        stoppable = replace(job, cancel=stop)
        return stoppable.run() if checkpoint is None else _resumed(stoppable, checkpoint)

    line = interruptible(work, cancel)
    problem = Problem(session.instance, axis.at(threat, numbers[-1]))
    targets = len(problem.targets)
    naive = naive_counts(problem.fronts, problem.targets, problem.threat.budgets, axis, numbers)
    return Curve(
        vary=axis.name,
        # A share may be written as a quotient (1/3), which only the threat model can read.
        values=np.array([v if isinstance(v, int) else float(axis.of(axis.at(threat, v))) for v in numbers]),
        targets=targets,
        certified=np.array([certified_count(targets, b) for b in line.bounds]),
        naive=naive,
        bounds=tuple(line.bounds),
        final=np.array(line.final),
        status=line.status,
        relaxation=options.relaxation,
        threat=threat,
        solves=line.solves,
        seconds=time.perf_counter() - started,
        facts=result_facts(session.instance),
        by_totals=Problem(session.instance, axis.at(threat, numbers[0])).whole_graph,
        instance=session.instance,
    )


def _resumed(job: _CurveWork, path: str | os.PathLike[str]) -> LineOfBounds:
    """Compute in portions and keep each on disk as soon as it is there."""
    own = job.threat.targets
    key = {
        "instance": job.session.instance.digest,
        "base_rule": str(job.session.instance.base_rule),
        "threat": {**job.threat.to_json(), "vary": job.axis.name, job.axis.name: None},
        "targets": None if own is None else np.asarray(own).tolist(),
        "values": [str(v) for v in job.values],
        "relaxation": job.options.relaxation,
        **({} if job.options.rounds is None else {"rounds": job.options.rounds}),
    }
    # Until 0.2.0 strong curves took bounds of smaller attackers for plateaus: files of those are refused.
    strong = job.options.relaxation is Relaxation.STRONG
    saved = Checkpoint(path, key | {"plateaus": 2} if strong else key, (len(job.values), 1), key if strong else None)
    final, bounds = saved.load() or (np.zeros(saved.shape, dtype=bool), np.zeros(saved.shape, dtype=object))
    # What is not reached (a 0 in the file) counts every target as attacked; larger values may know better.
    total = len(Problem(job.session.instance, job.axis.at(job.threat, job.values[0])).targets)
    bounds[~final & (bounds == 0)] = Fraction(total)
    status, solves = Status.OPTIMAL, 0
    missing = np.flatnonzero(~final[:, 0])
    for portion in np.array_split(missing, max(1, -(-len(missing) // PORTION))):
        if not len(portion):
            break
        line = replace(job, values=[job.values[i] for i in portion], progress=None).run()
        final[portion, 0], bounds[portion, 0] = line.final, line.bounds
        solves += line.solves
        saved.store(final, bounds)
        if job.progress is not None:
            job.progress(float(final.mean()))
        if line.status is not Status.OPTIMAL:
            status = line.status
        if status is Status.INTERRUPTED:
            break
    return LineOfBounds(bounds[:, 0].tolist(), final[:, 0].tolist(), status, solves).monotone()


@dataclass(frozen=True, eq=False)
class _CurveWork:
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
        """All values on one structure; those whose fields are the whole graph need no program."""
        largest = Problem(self.session.instance, self.axis.at(self.threat, self.values[-1]))
        whole = [self._whole_graph(v) for v in self.values]
        head = [v for v, flag in zip(self.values, whole) if not flag]
        if not head:
            line = LineOfBounds()
        else:
            types = [k for k in range(len(TYPES)) if self.axis.at(self.threat, head[-1]).budgets[k] > 0]
            start = self.axis.at(self.threat, head[-1])
            try:
                solver = self.session.solver(start, self.options.relaxation, types, self.cancel)
            except Cancelled:
                line = self._unsolved(largest, head)
            else:
                line = sweep_line(
                    solver, (start.budgets, start.sigma), self.axis, head,
                    time_limit=self.options.seconds, cancel=self.cancel, progress=self.progress,
                )  # fmt: skip
        for value in self.values[len(head) :]:
            problem = Problem(self.session.instance, self.axis.at(self.threat, value), largest)
            line = line.plus(Fraction(whole_graph_attacked(problem)))
        return line.monotone()

    def _unsolved(self, largest: Problem, values: list[int]) -> LineOfBounds:
        """What is true without any program: targets certified one by one stay certified."""
        naive = naive_counts(largest.fronts, largest.targets, largest.threat.budgets, self.axis, values)
        attacked = [Fraction(len(largest.targets) - count) for count in naive.tolist()]
        return LineOfBounds(attacked, [False] * len(values), Status.INTERRUPTED, 0)

    def _whole_graph(self, value: int) -> bool:
        return whole_graph(self.session.instance, self.axis.at(self.threat, value))

    def _one_by_one(self) -> LineOfBounds:
        """Every value has a program of its own; it starts from the one before where both have the same form."""
        line = LineOfBounds()
        before: tuple[ThreatModel, Solver | None] | None = None
        graph = self.session.instance.graph
        for value in self.values:
            threat = self.axis.at(self.threat, value)
            problem = Problem(self.session.instance, threat)
            if self.options.relaxation.is_proven and before is not None and can_do_no_more(threat, before[0], graph):
                # More at a node than exists there, or than the global budget pays for, is no more: a plateau.
                line = line.plus(line.bounds[-1], final=line.final[-1], status=line.status)
            else:
                solver = self._warm(problem, before[1] if before is not None else None)
                before = threat, solver
                certificate = self.session.certify(threat, **self.options.arguments, attack=False, cancel=self.cancel)
                status = certificate.status
                line = line.plus(certificate.bound, final=status.is_final, status=status, solves=certificate.solves)
            if self.progress is not None:
                self.progress(len(line.bounds) / len(self.values))
        return line.monotone()

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
