"""The state of one sweep over one or two axes: the request, the bounds so far, and the checkpoint file.

Curves and surfaces fill it differently. Along one axis most values follow from solved neighbours (`sweep/line.py`). On
a surface every cell is solved, from coarse to fine.
"""

from __future__ import annotations

import os
import time
from collections.abc import Iterable
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any, TypeVar

import numpy as np

from certcore.common.errors import InputError
from certcore.domain.threat import ThreatModel
from certcore.instance.instance import Instance
from certcore.program.problem import Problem, whole_graph
from certcore.program.relaxation import Relaxation
from certcore.result.assemble import result_facts
from certcore.solve.status import Status
from certcore.sweep.axis import Axis, naive_counts
from certcore.sweep.checkpoint import Checkpoint, exact
from certcore.sweep.counts import Counts, counts_of, monotone
from certcore.sweep.family import Question
from certcore.sweep.gaps import Gaps
from certcore.sweep.session import Session
from certcore.sweep.solve_options import SolveOptions

C = TypeVar("C", bound=Counts)


@dataclass(frozen=True, eq=False)
class SweepSpec:
    """The request of a sweep without the instance."""

    threat: ThreatModel
    axes: tuple[Axis, ...]
    values: tuple[list[Any], ...]
    """Values of each axis, ascending."""
    options: SolveOptions
    tolerance: float = 0.0
    """Allowed difference from the counts that solving every cell would certify, as a share of the targets."""

    @property
    def shape(self) -> tuple[int, ...]:
        return tuple(len(values) for values in self.values)

    def threat_at(self, cell: Iterable[int]) -> ThreatModel:
        """The threat model of a cell; index −1 is the largest value of an axis."""
        return self.threat.replace(**{axis.name: v[c] for axis, v, c in zip(self.axes, self.values, cell)})

    @property
    def amounts(self) -> tuple[list[Any], ...]:
        """The values in the program's units."""
        return tuple(axis.amounts(self.threat, values) for axis, values in zip(self.axes, self.values))

    @property
    def largest(self) -> ThreatModel:
        return self.threat_at([-1] * len(self.axes))

    def key(self, instance: Instance) -> dict[str, Any]:
        """Fields that a checkpoint file must match."""
        names = [axis.name for axis in self.axes]
        fields = Question(instance, self.threat, tuple(names), self.options).stored()
        if self.tolerance:
            fields["tolerance"] = self.tolerance
        if len(names) > 1:
            return fields | {"axes": names, "values": list(self.values)}
        fields["threat"]["vary"] = names[0]
        return fields | {"values": [str(value) for value in self.values[0]]}


class Grid:
    """The cells of a sweep while it runs."""

    def __init__(self, session: Session, spec: SweepSpec) -> None:
        self.session, self.spec, self.shape = session, spec, spec.shape
        self.started = time.perf_counter()
        self.problem = Problem(session.instance, spec.largest)
        self.targets = len(self.problem.targets)
        self.naive = self._naive()
        self.bounds = exact([Fraction(n) for n in (self.targets - self.naive).ravel().tolist()], self.shape)
        self.done = np.zeros(self.shape, dtype=bool)
        self.status = Status.OPTIMAL
        self.solves = 0
        self.facts = result_facts(session.instance)
        self.gaps: Gaps | None = None
        """Bounds and estimates for unsolved cells; only with a tolerance."""
        self._file: Checkpoint | None = None

    def _naive(self) -> np.ndarray:
        """Targets certified one by one, computed row by row along the last axis."""
        spec, fronts, targets = self.spec, self.problem.fronts, self.problem.targets
        if spec.threat.attr_l2_sum and spec.axes[-1].is_local:  # the budget in units depends on the local one
            each = [fronts.certified(spec.threat_at(cell).budgets)[targets].sum() for cell in np.ndindex(self.shape)]
            return np.array(each, dtype=np.int64).reshape(self.shape)
        lines = [spec.threat_at((*cell, -1)).budgets for cell in np.ndindex(self.shape[:-1])]
        counts = [naive_counts(fronts, targets, budgets, spec.axes[-1], spec.amounts[-1]) for budgets in lines]
        return np.stack(counts).reshape(self.shape)

    def resume(self, path: str | os.PathLike[str] | None) -> None:
        """Continue from a checkpoint file, if it exists, and write to it from now on."""
        if path is None:
            return
        key, unsound = self.spec.key(self.session.instance), None
        if len(self.shape) == 1 and self.spec.options.relaxation is Relaxation.STRONG:
            # Until 0.2.0 strong curves used bounds of weaker attackers on plateaus, which was unsound; such files are
            # refused.
            key, unsound = key | {"plateaus": 2}, key
        self._file = Checkpoint(path, key, self.shape, unsound)
        found = self._file.load()
        if found is not None:
            self.done, bounds = found
            reached = self.done | (bounds > 0)  # curve files have a bound of 0 at values not reached yet
            self.bounds = np.where(reached, np.minimum(bounds, self.bounds), self.bounds)

    @property
    def is_kept(self) -> bool:
        """Whether there is a checkpoint file."""
        return self._file is not None

    def save(self) -> None:
        self._settle()
        if self._file is not None:
            self._file.store(self.done, self.bounds)

    def refine(self, coarser: Counts) -> None:
        """Take over a coarser sweep: its cells that exist here, and its bounds for all smaller budgets."""
        of = coarser.instance
        theirs = replace(self.spec, threat=coarser.threat, axes=tuple(Axis(name) for name in coarser.axes))
        same = of is not None and coarser.relaxation == self.spec.options.relaxation
        if of is None or not same or theirs.key(of) != self.spec.key(self.session.instance):
            raise InputError("the coarser surface answers another question; refine it with what it was made of")
        for cell in np.ndindex(*self.shape):
            at = [values[c] for values, c in zip(self.spec.values, cell)]
            other = tuple(int(np.searchsorted(known, v)) for known, v in zip(coarser.axis_values, at))
            if all(i < n for i, n in zip(other, coarser.bounds.shape)):
                self.bounds[cell] = min(self.bounds[cell], coarser.bounds[other])
                exactly = all(known[i] == v for known, i, v in zip(coarser.axis_values, other, at))
                self.done[cell] = exactly and bool(coarser.done[other])

    def enter(self, cell: tuple[int, ...], bound: Fraction, final: bool) -> None:
        """Enter a bound; it never replaces a better one."""
        self.bounds[cell] = min(self.bounds[cell], bound)
        self.done[cell] = final

    def count(self, status: Status, solves: int) -> None:
        """Record status and number of solves of entered bounds."""
        self.status, self.solves = self.status.then(status), self.solves + solves

    def _settle(self) -> None:
        """Enter bounds for unsolved cells, and mark cells that need no solve."""
        if self.gaps is not None:
            self.bounds = np.minimum(self.bounds, self.gaps.fractions())
            self.done |= self.gaps.counts == 0

    def _largest_gap(self, bounds: np.ndarray) -> float:
        """The largest possible increase of a count if its cell were solved, as a share of the targets."""
        if self.gaps is not None:
            gaps = self.gaps.counts
        else:  # lower estimates do not decrease with the budgets
            lower = np.where(self.done, bounds // 1, 0).astype(np.int64)
            for axis in range(lower.ndim):
                lower = np.maximum.accumulate(lower, axis=axis)
            gaps = (bounds // 1).astype(np.int64) - lower
        return float(np.where(self.done, 0, gaps).max(initial=0)) / max(self.targets, 1)

    def result(self, kind: type[C]) -> C:
        """The curve or surface in its current state."""
        self._settle()
        spec, bounds = self.spec, monotone(self.bounds)
        return kind(
            axes=tuple(axis.name for axis in spec.axes),
            axis_values=tuple(axis.shown(values, spec.threat) for axis, values in zip(spec.axes, spec.values)),
            targets=self.targets,
            certified=counts_of(self.targets, bounds),
            naive=self.naive,
            bounds=bounds,
            done=self.done.copy(),
            status=self.status,
            relaxation=spec.options.relaxation,
            threat=spec.threat,
            solves=self.solves,
            largest_gap=self._largest_gap(bounds),
            seconds=time.perf_counter() - self.started,
            facts=self.facts,
            by_totals=whole_graph(self.session.instance, spec.threat_at([0] * len(spec.axes))),
            instance=self.session.instance,
        )
