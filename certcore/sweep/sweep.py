"""Sweeps: certified counts over one axis (a curve) or two (a map) of a threat model, proven at every moment.

On a curve over a global budget or σ most values follow from solved neighbours (`sweep/line.py`); over a local budget
each is solved. On a map a few cells are solved first, and their dual values bound all others. Then all cells are
solved line by line, from neighbour to neighbour: a jump along a line costs more than the solves that it saves.
"""

from __future__ import annotations

import itertools
import os
import threading
import time
from bisect import bisect_left
from collections.abc import Callable, Iterable, Iterator, Sequence
from fractions import Fraction
from typing import Any, NamedTuple, Unpack

import numpy as np

from certcore.common.errors import InputError
from certcore.common.interrupt import interruptible
from certcore.domain.perturbations import TABLE, TYPES
from certcore.domain.threat import Budgets, ThreatModel
from certcore.domain.weaker import can_do_no_more
from certcore.instance.instance import Instance
from certcore.program.problem import Problem, whole_graph
from certcore.program.program import BudgetPoint
from certcore.program.relaxation import Relaxation
from certcore.result.assemble import result_facts
from certcore.solve.solver import Solver
from certcore.solve.status import Status
from certcore.sweep.axis import Axis, local_values, naive_counts, whole_values
from certcore.sweep.checkpoint import Checkpoint, exact
from certcore.sweep.counts import Counts, counts_of, monotone
from certcore.sweep.family import Question
from certcore.sweep.line import LineSweep
from certcore.sweep.session import Cancelled, Session, as_session, threat_for
from certcore.sweep.solve_options import SolveOptions
from certcore.verify.duals import IntegerDuals
from certcore.verify.proof import whole_graph_attacked

Cell = tuple[int, ...]

#: Seconds between two results of a growing sweep, and between two writes of its checkpoint.
REFRESH = 0.25
#: Seconds for each of the first solves of a map. What is not finished by then is solved with its line.
FIRST_SECONDS = 1.0
#: Maps with fewer cells are solved at once: on them the first solves would already be most of the work.
MANY_CELLS = 50


class _Before(NamedTuple):
    """The value before on a curve: its program, and what it has proven."""

    threat: ThreatModel
    solver: Solver | None
    bound: Fraction
    status: Status


class Sweep:
    """Counts over one or two axes while they are computed; each bound is proven before it is entered.

    `axes` are one or two names (a global budget, σ as `sigma`; on one axis also a local budget) with ascending values.
    On a map, lines close to the values `near` are solved first. With a `checkpoint` file, an interrupted sweep
    continues.
    """

    def __init__(
        self,
        source: Instance | Session,
        threat: ThreatModel | None,
        axes: Sequence[tuple[str, Sequence[Any] | np.ndarray]],
        *,
        relaxation: str = "tight",
        time_limit: float | None = None,
        rounds: int | None = None,
        near: Sequence[float] | None = None,
        checkpoint: str | os.PathLike[str] | None = None,
        **budgets: Unpack[Budgets],
    ) -> None:
        self.options = SolveOptions.read(relaxation, time_limit, rounds)
        self.session = as_session(source)
        self.threat = threat_for(self.session.instance, threat, budgets)
        self.axes = tuple(Axis.parse(name, local=len(axes) == 1, new=True) for name, _ in axes)
        if len(set(self.axes)) < len(axes):
            raise InputError(f"both axes of the surface are {self.axes[0].name}; choose two different ones")
        self.values = tuple(
            local_values(values, axis, self.threat) if axis.is_local else whole_values(values, axis)
            for axis, (_, values) in zip(self.axes, axes)
        )
        self.shape = tuple(len(values) for values in self.values)
        self.near = None if near is None else self._cell_of(near)
        self._amounts = tuple(axis.amounts(self.threat, values) for axis, values in zip(self.axes, self.values))
        self._started = time.perf_counter()
        self._largest = Problem(self.session.instance, self.threat_at([-1] * len(self.axes)))
        self.options = self.options.answered(self._largest)
        self.targets = self._largest.total
        self._totals = self._whole_graph()
        self.naive = self._naive()
        self.bounds = exact([Fraction(n) for n in (self.targets - self.naive).ravel().tolist()], self.shape)
        self.done = np.zeros(self.shape, dtype=bool)
        self.status = Status.OPTIMAL
        self.solves = 0
        self._line: tuple[LineSweep, list[Cell], list[int]] | None = None
        self._program: Solver | None = None
        self._file = None if checkpoint is None else self._resume(checkpoint)

    def threat_at(self, cell: Iterable[int]) -> ThreatModel:
        """The threat model of a cell; index −1 is the largest value of an axis."""
        return self.threat.replace(**{axis.name: v[c] for axis, v, c in zip(self.axes, self.values, cell)})

    def run(self, cancel: threading.Event | None = None) -> Iterator[Counts]:
        """Yield the counts as they grow; every one is proven, and the last one is final unless cancelled."""
        yield self.result()
        shown = time.perf_counter()
        try:
            for _ in self._fill(cancel):
                if time.perf_counter() - shown >= REFRESH:
                    self._save()
                    yield self.result()
                    shown = time.perf_counter()
        finally:
            self._save()
        yield self.result()

    def finish(self, cancel: threading.Event | None = None, progress: Callable[[Counts], None] | None = None) -> Counts:
        """The last result of `run`; `progress` is called with each one. Ctrl-C in a notebook cancels."""

        def work(stop: threading.Event | None) -> Counts:
            for found in self.run(stop):
                if progress is not None:
                    progress(found)
            return found

        return interruptible(work, cancel)

    def result(self) -> Counts:
        """The counts as they are now."""
        self._take_line()
        bounds = monotone(self.bounds)
        return Counts(
            axes=tuple(axis.name for axis in self.axes),
            axis_values=tuple(axis.shown(values, self.threat) for axis, values in zip(self.axes, self.values)),
            targets=self.targets,
            certified=counts_of(self.targets, bounds),
            naive=self.naive,
            bounds=bounds,
            done=self.done.copy(),
            status=self.status,
            relaxation=self.options.relaxation,
            threat=self.threat,
            solves=self.solves,
            seconds=time.perf_counter() - self._started,
            facts=result_facts(self.session.instance),
            instance=self.session.instance,
        )

    # Cells.

    def _cell_of(self, near: Sequence[float]) -> Cell:
        """The cell of some values: on each axis the first value that is no smaller."""
        return tuple(min(bisect_left(v, at), len(v) - 1) for v, at in zip(self.values, near, strict=True))

    def _point(self, cell: Cell) -> BudgetPoint:
        """The budgets and σ of a cell of global axes, in the program's units."""
        point = self.threat.budgets, self.threat.sigma
        for axis, amounts, c in zip(self.axes, self._amounts, cell):
            point = axis.move(point, amounts[c])
        return point

    def _whole_graph(self) -> np.ndarray:
        """At which cells every field is the whole graph, so that only totals matter: from some budgets up."""
        first = []
        for number, values in enumerate(self.values):
            cells = [[i if k == number else 0 for k in range(len(self.axes))] for i in range(len(values))]
            first.append(bisect_left(cells, True, key=lambda c: whole_graph(self.session.instance, self.threat_at(c))))
        places = np.indices(self.shape)
        return np.any([place >= least for place, least in zip(places, first)], axis=0)

    def _naive(self) -> np.ndarray:
        """Targets certified one by one, computed row by row along the last axis."""
        problem = self._largest
        lines = [self.threat_at((*cell, -1)).budgets for cell in np.ndindex(self.shape[:-1])]
        counts = [naive_counts(problem, budgets, self.axes[-1], self._amounts[-1]) for budgets in lines]
        return np.stack(counts).reshape(self.shape)

    def _enter(self, cell: Cell, bound: Fraction, status: Status, solves: int = 0) -> None:
        """Enter a proven bound; it never replaces a better one."""
        self.bounds[cell] = min(self.bounds[cell], bound)
        # A strong search that used its time limit is not repeated.
        enough = status is Status.TIME_LIMIT and self.options.relaxation.is_timed
        self.done[cell] = status.is_final or enough
        self._count(status, solves)

    def _count(self, status: Status, solves: int) -> None:
        self.status, self.solves = self.status.then(status), self.solves + solves

    # The checkpoint file.

    def _resume(self, path: str | os.PathLike[str]) -> Checkpoint:
        """Continue from a checkpoint file, if it exists."""
        file = Checkpoint(path, self._key(), self.shape, self._largest.scale_bits)
        found = file.load()
        if found is not None:
            self.done, bounds = found
            reached = self.done | (bounds > 0)  # files of curves may have a bound of 0 at values not reached yet
            self.bounds = np.where(reached, np.minimum(bounds, self.bounds), self.bounds)
        return file

    def _key(self) -> dict[str, Any]:
        """Fields that a checkpoint file must match."""
        names = [axis.name for axis in self.axes]
        fields = Question(self.session.instance, self.threat, tuple(names), self.options).stored()
        if len(names) > 1:
            return fields | {"axes": names, "values": list(self.values)}
        fields["threat"]["vary"] = names[0]
        if self.options.relaxation is Relaxation.STRONG:
            fields["plateaus"] = 2  # files without this, of certcore 0.2.0 and older, may certify more than is true
        return fields | {"values": [str(value) for value in self.values[0]]}

    def _save(self) -> None:
        if self._file is not None:
            self._take_line()
            self._file.store(self.done, self.bounds)

    # Filling.

    def _fill(self, cancel: threading.Event | None) -> Iterator[None]:
        """Improve the bounds until all cells are done; nothing is yielded before it is proven."""
        cells = list(itertools.chain(*self._lines()))
        try:
            if self._on_one_program and len(self.axes) == 1:
                yield from self._fill_curve([cell for cell in cells if not self._totals[cell]], cancel)
                cells = [cell for cell in cells if self._totals[cell]]
            elif self._on_one_program and len(cells) >= MANY_CELLS:
                yield from self._bound_everywhere(cancel)
            if self.status is not Status.INTERRUPTED:
                yield from self._fill_cells(cells, cancel)
        except Cancelled:
            self.status = Status.INTERRUPTED

    @property
    def _on_one_program(self) -> bool:
        """Whether one program holds all cells whose fields are not the whole graph."""
        return not self.options.relaxation.is_timed and not any(axis.is_local for axis in self.axes)

    def _solver(self, cancel: threading.Event | None) -> Solver:
        """The one program of all cells whose fields are not the whole graph."""
        if self._program is None:
            last = self._largest.threat
            if whole_graph(self.session.instance, last):
                last = last.replace(**{entry.name: 0 for entry in TABLE if entry.adds_edges})
            types = [k for k in range(len(TYPES)) if last.budgets[k] > 0]
            self._program = self.session.solver(last, self.options.relaxation, types, cancel)
        return self._program

    def _bound_everywhere(self, cancel: threading.Event | None) -> Iterator[None]:
        """Bounds at all cells from a few solves: the dual values of each hold at every budget."""
        last, up = (n - 1 for n in self.shape)
        rest: list[Cell] = [(last, up), (last // 2, up // 2), (last, 0), (0, up), (0, 0)]
        # Where a budget is asked about, the map is on a screen: its first bounds come before all are solved.
        portions: list[list[Cell]] = [rest] if self.near is None else [[self.near, rest[0]], rest[1:]]
        for cells in portions:
            found: list[IntegerDuals] = []
            for cell in cells:
                if not self.done[cell] and not self._totals[cell]:
                    found += self._first_solve(cell, cancel)
                    yield
            if found:
                yield from self._apply(found, cancel)

    def _first_solve(self, cell: Cell, cancel: threading.Event | None) -> list[IntegerDuals]:
        """Solve one cell, or begin with it: the dual values found within a moment."""
        limit = min(FIRST_SECONDS, self.options.seconds)
        answer = self._solver(cancel).solve(self._point(cell), time_limit=limit, cancel=cancel)
        if answer.status is Status.INTERRUPTED:
            raise Cancelled
        if answer.status.is_final:
            self._enter(cell, answer.bound, answer.status, answer.solves)
        else:
            self.bounds[cell] = min(self.bounds[cell], answer.bound)
        return [] if answer.duals is None else [answer.duals]

    def _apply(self, duals: list[IntegerDuals], cancel: threading.Event | None) -> Iterator[None]:
        """Evaluate dual values at all open cells of the program, line by line from large budgets down."""
        solver = self._solver(cancel)
        for line in reversed(self._lines()):
            for cell in line:
                if not self.done[cell] and not self._totals[cell]:
                    program = solver.program(self._point(cell))
                    self.bounds[cell] = min(self.bounds[cell], *(values.bound(program) for values in duals))
            if cancel is not None and cancel.is_set():
                raise Cancelled
            yield

    def _lines(self) -> list[list[Cell]]:
        """The cells in lines along the longer axis, near lines first; each begins where the one before ended."""
        if len(self.shape) == 1:
            return [[(i,) for i in range(self.shape[0])]]
        along = int(self.shape[1] >= self.shape[0])
        order = list(range(self.shape[1 - along]))
        if self.near is not None:
            at = self.near[1 - along]
            order.sort(key=lambda k: abs(k - at))
        lines: list[list[Cell]] = []
        for number, k in enumerate(order):
            steps = range(self.shape[along])
            lines.append([(k, i) if along else (i, k) for i in (steps if number % 2 == 0 else reversed(steps))])
        return lines

    def _fill_curve(self, cells: list[Cell], cancel: threading.Event | None) -> Iterator[None]:
        """Fill the values of a curve on one program, most of them from solved neighbours."""
        cells = [cell for cell in cells if not self.done[cell]]
        if not cells:
            return
        # Two lengths may round to the same number of units.
        distinct, places = np.unique([self._amounts[0][i] for (i,) in cells], return_inverse=True)
        start, limit = self._point(cells[-1]), self.options.seconds
        line = LineSweep(self._solver(cancel), start, self.axes[0], distinct.tolist(), limit, cancel)
        self._line = line, cells, places.tolist()
        yield from line.run()
        self._take_line()
        self._line = None
        self._count(line.status, line.solves)

    def _take_line(self) -> None:
        """Enter what the present line has proven so far."""
        if self._line is None:
            return
        line, cells, places = self._line
        for cell, place in zip(cells, places):
            bound = line.bounds[place]
            if bound is not None:
                self.bounds[cell] = min(self.bounds[cell], bound)
                self.done[cell] = line.final[place]

    def _fill_cells(self, cells: list[Cell], cancel: threading.Event | None) -> Iterator[None]:
        """Fill the open cells in turn, each with a solve or a search."""
        before: _Before | None = None
        for cell in cells:
            if self.done[cell]:
                continue
            if cancel is not None and cancel.is_set():
                self.status = Status.INTERRUPTED
                return
            if self._totals[cell]:
                self._enter(cell, Fraction(whole_graph_attacked(self._problem(cell))), Status.OPTIMAL)
            elif self._on_one_program:
                answer = self._solver(cancel).solve(self._point(cell), time_limit=self.options.seconds, cancel=cancel)
                self._enter(cell, answer.bound, answer.status, answer.solves)
            else:
                before = self._certify(cell, before, cancel)
            if self.status is Status.INTERRUPTED:
                return
            yield

    def _problem(self, cell: Cell) -> Problem:
        local = any(axis.is_local for axis in self.axes)
        return Problem(self.session.instance, self.threat_at(cell), None if local else self._largest)

    def _certify(self, cell: Cell, before: _Before | None, cancel: threading.Event | None) -> _Before | None:
        """Fill a cell with a program or a search of its own; along a curve it starts from the one before."""
        threat, graph = self.threat_at(cell), self.session.instance.graph
        if before is not None and can_do_no_more(threat, before.threat, graph):
            # A local budget above what exists at a node or what the global budget pays for changes nothing.
            self._enter(cell, before.bound, before.status)
            return before
        solver = self._warm(threat, None if before is None else before.solver, cancel)
        found = self.session.certify(threat, **self.options.arguments, attack=False, cancel=cancel)
        self._enter(cell, found.bound, found.status, found.solves)
        return _Before(threat, solver, found.bound, found.status) if len(self.axes) == 1 else None

    def _warm(self, threat: ThreatModel, before: Solver | None, cancel: threading.Event | None) -> Solver | None:
        if self.options.relaxation.is_timed:
            return None
        solver = self.session.solver(threat, self.options.relaxation, (), cancel)
        if before is not None:
            solver.adopt(before)
        return solver


def curve(
    source: Instance | Session,
    threat: ThreatModel | None = None,
    vary: str = "attr_del",
    values: Sequence[Any] | np.ndarray = range(101),
    *,
    relaxation: str = "tight",
    time_limit: float | None = None,
    rounds: int | None = None,
    checkpoint: str | os.PathLike[str] | None = None,
    cancel: threading.Event | None = None,
    progress: Callable[[Counts], None] | None = None,
    **budgets: Unpack[Budgets],
) -> Counts:
    """Certified counts at all values of one budget (`attr_del`, …), of σ (`sigma`) or of a local budget (`local_…`).

    The fixed part is a `ThreatModel` or plain arguments: `curve(instance, vary="attr_del", values=range(51), sigma=5)`.
    A value is solved only if the bound from its neighbours could improve. `time_limit` applies to each solve, and
    `rounds` to the strong search at each value. `progress` is called with the curve as it grows. A cancelled sweep
    returns sound but weaker bounds where `done` is false. With a `checkpoint` file an interrupted sweep continues.
    """
    sweep = Sweep(
        source,
        threat,
        [(vary, values)],
        relaxation=relaxation,
        time_limit=time_limit,
        rounds=rounds,
        checkpoint=checkpoint,
        **budgets,
    )
    return sweep.finish(cancel, progress)


def surface(
    source: Instance | Session,
    threat: ThreatModel | None = None,
    x: str = "attr_add",
    x_values: Sequence[Any] | np.ndarray = range(9),
    y: str = "attr_del",
    y_values: Sequence[Any] | np.ndarray = range(0, 22),
    *,
    relaxation: str = "tight",
    time_limit: float | None = None,
    rounds: int | None = None,
    checkpoint: str | os.PathLike[str] | None = None,
    cancel: threading.Event | None = None,
    progress: Callable[[Counts], None] | None = None,
    **budgets: Unpack[Budgets],
) -> Counts:
    """Certified counts at all pairs of values of two budgets, or of a budget and σ; options are those of `curve`.

    Fixed budgets are a `ThreatModel` or plain arguments: `surface(instance, x="attr_add", x_values=range(9),
    y="attr_del", y_values=range(22), sigma=5)`.
    """
    sweep = Sweep(
        source,
        threat,
        [(x, x_values), (y, y_values)],
        relaxation=relaxation,
        time_limit=time_limit,
        rounds=rounds,
        checkpoint=checkpoint,
        **budgets,
    )
    return sweep.finish(cancel, progress)
