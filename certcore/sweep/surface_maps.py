"""Surfaces: certified counts over two budgets (or a budget and σ), coarse first and then finer."""

from __future__ import annotations

import os
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any

import numpy as np

from certcore.common.errors import InputError
from certcore.common.executor import open_executor, run_tasks
from certcore.domain.perturbations import TABLE, TYPES
from certcore.domain.threat import ThreatModel
from certcore.instance.instance import Instance
from certcore.program.problem import Problem, by_division, whole_graph
from certcore.result.assemble import result_facts
from certcore.result.tripwire import KnownAttack
from certcore.solve.solver import Solver
from certcore.solve.status import Status
from certcore.sweep.axis import Axis, naive_counts, whole_values
from certcore.sweep.checkpoint import Checkpoint, exact
from certcore.sweep.counts import Counts
from certcore.sweep.interrupt import interruptible
from certcore.sweep.session import Cancelled, Session, as_session, threat_for
from certcore.sweep.solve_options import SolveOptions
from certcore.verify.proof import certified_count, whole_graph_attacked

Cell = tuple[int, int]

#: What `surfaces` can be asked for besides budgets.
_OPTIONS = frozenset({"relaxation", "time_limit", "rounds", "checkpoint", "jobs", "scheduler"})
#: Seconds between two looks at a growing surface.
REFRESH = 0.25


@dataclass(frozen=True, eq=False, repr=False, kw_only=True)
class Surface(Counts):
    """Certified counts over two quantities. Cells that are not `done` carry a sound bound from what is known so far."""

    x: str
    y: str
    x_values: np.ndarray
    y_values: np.ndarray
    bounds: np.ndarray
    """(nx, ny): upper limits on how many targets can be left uncertified, exactly."""
    done: np.ndarray
    """(nx, ny): whether the bound is the best this relaxation has to give."""

    def __repr__(self) -> str:
        size = f"{len(self.x_values)} × {len(self.y_values)} cells"
        return f"<Surface {self.x} × {self.y}: {size}, {self.targets} targets; {self.relaxation}, {self.status}>"

    def refuted_by(self, instance: Instance, attack: KnownAttack) -> tuple[ThreatModel, int] | None:
        """The largest of the cells whose counts an attack refutes."""
        over = self.certified > self.targets - attack.attacked
        for axis, values, side in ((self.x, self.x_values, (-1, 1)), (self.y, self.y_values, (1, -1))):
            least = Axis(axis).of(attack.threat)
            over = over & (values >= (values[-1] + 1 if least is None else least)).reshape(side)
        if not over.any():
            return None
        i, j = np.argwhere(over)[-1]
        threat = self.threat.replace(**{self.x: int(self.x_values[i]), self.y: int(self.y_values[j])})
        return (threat, int(self.certified[i, j])) if attack.within(instance, threat) else None

    @property
    def bound(self) -> np.ndarray:
        """The bounds as numbers for pictures."""
        return self.bounds.astype(np.float64)

    def bound_at(self, i: int, j: int) -> Fraction:
        """The exact bound of one cell."""
        bound: Fraction = self.bounds[i, j]
        return bound

    @property
    def share_done(self) -> float:
        return float(self.done.mean())

    def columns(self) -> dict[str, Any]:
        """Equally long columns for a table, one row per cell."""
        x, y = np.meshgrid(self.x_values, self.y_values, indexing="ij")
        return {
            "x": x.ravel(),
            "y": y.ravel(),
            "certified": self.certified.ravel(),
            "naive_certified": self.naive.ravel(),
            "bound": self.bound.ravel(),
            "verified": self.verified.ravel(),
            "done": self.done.ravel(),
        }

    def to_json(self) -> dict[str, Any]:
        """The fields of `surface --json`."""
        return {
            "x": self.x,
            "y": self.y,
            "targets": self.targets,
            "points": self._points(),
            **self._how(),
        }


def surface(
    source: Instance | Session,
    threat: ThreatModel | None = None,
    x: str = "attr_add",
    x_values: Sequence[int] | np.ndarray = range(9),
    y: str = "attr_del",
    y_values: Sequence[int] | np.ndarray = range(0, 22),
    *,
    progress: Callable[[Surface], None] | None = None,
    cancel: threading.Event | None = None,
    **options: Any,
) -> Surface:
    """The complete surface; `progress` sees it grow. Options as for `surfaces`, and budgets that stay fixed:
    `surface(instance, x="attr_add", x_values=range(9), y="attr_del", y_values=range(22), sigma=5)`."""
    own = {name: options.pop(name) for name in list(options) if name not in _OPTIONS}
    session = as_session(source)
    fixed = threat_for(session.instance, threat, own)  # type: ignore[arg-type]

    def work(stop: threading.Event | None) -> Surface:
        last: Surface | None = None
        for last in surfaces(session, fixed, x, x_values, y, y_values, cancel=stop, **options):
            if progress is not None:
                progress(last)
        assert last is not None
        return last

    return interruptible(work, cancel)


def surfaces(
    source: Instance | Session,
    threat: ThreatModel,
    x: str,
    x_values: Sequence[int] | np.ndarray,
    y: str,
    y_values: Sequence[int] | np.ndarray,
    *,
    relaxation: str = "tight",
    time_limit: float | None = None,
    rounds: int | None = None,
    cancel: threading.Event | None = None,
    checkpoint: str | os.PathLike[str] | None = None,
    jobs: int = 1,
    scheduler: str | None = None,
    coarser: Surface | None = None,
    near: tuple[float, float] | None = None,
) -> Iterator[Surface]:
    """Yield the surface as it grows, coarse first; the last one is complete unless cancelled.

    `x` and `y` are two of the four budgets and `sigma`. `time_limit` (or `rounds` of strong search) holds for each
    cell. With a `checkpoint` file the work continues where it stopped. `jobs` processes, or the Dask cluster at
    `scheduler`, share the cells. A `coarser` surface of the same question is refined: its cells are taken over, and its
    bounds hold at all smaller budgets. With `near`, cells around those two values come first.
    """
    options = SolveOptions.read(relaxation, time_limit, rounds)
    session = as_session(source)
    axes = Axis.parse(x, local=False), Axis.parse(y, local=False)
    if axes[0] == axes[1]:
        raise InputError(f"both axes of the surface are {axes[0].name}; choose two different ones")
    values = whole_values(x_values, axes[0]), whole_values(y_values, axes[1])
    task = _SurfaceSpec(threat, axes, values, options)
    grid = _Grid(session, task)
    saved = None
    if checkpoint is not None:
        saved = Checkpoint(checkpoint, task.key(session.instance), grid.shape)
        grid.resume(saved)
    if coarser is not None:
        grid.refine(coarser)
    yield grid.snapshot()
    cells = coarse_to_fine(*grid.shape) if near is None else around(grid.shape, values, near)
    order = [cell for cell in cells if not grid.done[cell]]
    source_of_answers = (
        _here(grid, order, cancel)
        if jobs == 1 and scheduler is None
        else _elsewhere(grid, order, cancel, jobs, scheduler)
    )
    shown = time.perf_counter()
    try:
        for _ in source_of_answers:
            if time.perf_counter() - shown > REFRESH:
                if saved is not None:
                    grid.save(saved)
                yield grid.snapshot()
                shown = time.perf_counter()
    finally:
        if saved is not None:
            grid.save(saved)
    yield grid.snapshot()


def coarse_to_fine(nx: int, ny: int) -> list[Cell]:
    """All cells: the corners and a coarse grid first, then ever finer ones, each from neighbour to neighbour.

    From large budgets to small ones: that is the quicker way, and a bound at large budgets holds at all smaller ones.
    """
    order: list[Cell] = []
    seen: set[Cell] = set()
    stride = 1 << max(nx - 1, ny - 1, 1).bit_length()
    while stride:
        rows = sorted({*range(0, nx, stride), nx - 1}, reverse=True)
        columns = sorted({*range(0, ny, stride), ny - 1}, reverse=True)
        for number, i in enumerate(rows):
            for j in columns if number % 2 == 0 else reversed(columns):
                if (i, j) not in seen:
                    seen.add((i, j))
                    order.append((i, j))
        stride //= 2
    return order


def around(shape: Cell, values: tuple[list[int], list[int]], near: tuple[float, float]) -> list[Cell]:
    """All cells in rings around the cell of two values, each ring from large budgets to small ones."""
    at = [min(int(np.searchsorted(axis, value)), size - 1) for axis, value, size in zip(values, near, shape)]
    i, j = np.indices(shape)
    ring = np.maximum(np.abs(i - at[0]), np.abs(j - at[1])).ravel()
    order = np.lexsort((-j.ravel(), -i.ravel(), ring))
    return list(zip(i.ravel()[order].tolist(), j.ravel()[order].tolist()))


@dataclass(frozen=True, eq=False)
class _SurfaceSpec:
    """What to compute: everything about a surface but the instance."""

    threat: ThreatModel
    axes: tuple[Axis, Axis]
    values: tuple[list[int], list[int]]
    options: SolveOptions

    def threat_at(self, cell: Cell) -> ThreatModel:
        changes = {axis.name: values[c] for axis, values, c in zip(self.axes, self.values, cell)}
        return self.threat.replace(**changes)

    def key(self, instance: Instance) -> dict[str, Any]:
        """What a file of saved cells must agree with."""
        own = self.threat.targets
        plain = self.threat.to_json()
        for axis in self.axes:
            plain[axis.name] = None
        return {
            "instance": instance.digest,
            "base_rule": str(instance.base_rule),
            "threat": plain,
            "targets": None if own is None else np.asarray(own).tolist(),
            "axes": [axis.name for axis in self.axes],
            "values": list(self.values),
            "relaxation": self.options.relaxation,
            **({} if self.options.rounds is None else {"rounds": self.options.rounds}),
        }


class _Grid:
    """The cells of a surface as they fill."""

    def __init__(self, session: Session, task: _SurfaceSpec) -> None:
        self.session, self.task = session, task
        self.started = time.perf_counter()
        nx, ny = (len(v) for v in task.values)
        self.shape = (nx, ny)
        self.problem = Problem(session.instance, task.threat_at((nx - 1, ny - 1)))
        self.targets = len(self.problem.targets)
        self.naive = self._naive()
        self.bounds = exact([Fraction(n) for n in (self.targets - self.naive).ravel().tolist()], self.shape)
        self.done = np.zeros(self.shape, dtype=bool)
        self.status = Status.OPTIMAL
        self.solves = 0
        self._solver: Solver | None = None
        self.facts = result_facts(session.instance)

    def _naive(self) -> np.ndarray:
        (_, y), (xs, ys) = self.task.axes, self.task.values
        fronts, targets = self.problem.fronts, self.problem.targets
        rows = [
            naive_counts(fronts, targets, self.task.threat_at((i, len(ys) - 1)).budgets, y, ys) for i in range(len(xs))
        ]
        return np.stack(rows)

    def resume(self, saved: Checkpoint) -> None:
        found = saved.load()
        if found is not None:
            self.done, self.bounds = found[0], np.minimum(found[1], self.bounds)

    def refine(self, coarser: Surface) -> None:
        """Take over the cells of a coarser surface: those that are here too, and its bounds for all smaller budgets."""
        axes = Axis.parse(coarser.x, local=False), Axis.parse(coarser.y, local=False)
        theirs = replace(self.task, threat=coarser.threat, axes=axes)
        of = self.session.instance if coarser.instance is None else coarser.instance
        same = coarser.instance is not None and coarser.relaxation == self.task.options.relaxation
        if not same or theirs.key(of) != self.task.key(self.session.instance):
            raise InputError("the coarser surface answers another question; refine it with what it was made of")
        for cell in np.ndindex(*self.shape):
            at = [values[c] for values, c in zip(self.task.values, cell)]
            i, j = np.searchsorted(coarser.x_values, at[0]), np.searchsorted(coarser.y_values, at[1])
            if i < len(coarser.x_values) and j < len(coarser.y_values):
                self.bounds[cell] = min(self.bounds[cell], coarser.bounds[i, j])
                exactly = coarser.x_values[i] == at[0] and coarser.y_values[j] == at[1]
                self.done[cell] = exactly and bool(coarser.done[i, j])

    def save(self, saved: Checkpoint) -> None:
        saved.store(self.done, self.bounds)

    def solver(self, cancel: threading.Event | None) -> Solver:
        """One program for all cells whose fields are not the whole graph."""
        if self._solver is None:
            last = self.task.threat_at((self.shape[0] - 1, self.shape[1] - 1))
            no_new = {entry.name: 0 for entry in TABLE if entry.adds_edges}
            local = last if by_division(self.session.instance, last) else last.replace(**no_new)
            types = [k for k in range(len(TYPES)) if local.budgets[k] > 0]
            self._solver = self.session.solver(local, self.task.options.relaxation, types, cancel)
        return self._solver

    def solve(self, cell: Cell, cancel: threading.Event | None) -> tuple[Fraction, Status, int]:
        """Proven bound, status and number of solves of one cell."""
        threat = self.task.threat_at(cell)
        if whole_graph(self.session.instance, threat):
            problem = Problem(self.session.instance, threat, self.problem)
            return Fraction(whole_graph_attacked(problem)), Status.OPTIMAL, 0
        # Cells without attribute flips have a program of their own against division voting.
        last = self.task.threat_at((self.shape[0] - 1, self.shape[1] - 1))
        alone = by_division(self.session.instance, threat) and not by_division(self.session.instance, last)
        if alone or self.task.options.relaxation.is_timed:
            certificate = self.session.certify(threat, **self.task.options.arguments, attack=False, cancel=cancel)
            return certificate.bound, certificate.status, certificate.solves
        try:
            solver = self.solver(cancel)
        except Cancelled:
            return self.bounds[cell], Status.INTERRUPTED, 0
        place = (threat.budgets, threat.sigma)
        answer = solver.solve(place, time_limit=self.task.options.seconds, cancel=cancel)
        return answer.bound, answer.status, answer.solves

    def enter(self, cell: Cell, bound: Fraction, status: Status, solves: int) -> None:
        self.solves += solves
        self.bounds[cell] = min(self.bounds[cell], bound)
        # More than its time is not spent on a search or an integer program again.
        enough = status is Status.TIME_LIMIT and self.task.options.relaxation.is_timed
        self.done[cell] = status.is_final or enough
        self.status = self.status.then(status)

    def snapshot(self) -> Surface:
        """The surface so far; a bound at larger budgets holds at all smaller ones."""
        bounds = self.bounds[::-1, ::-1]
        bounds = np.minimum.accumulate(np.minimum.accumulate(bounds, axis=0), axis=1)[::-1, ::-1]
        (x, y), (xs, ys) = self.task.axes, self.task.values
        return Surface(
            x=x.name,
            y=y.name,
            x_values=np.array(xs),
            y_values=np.array(ys),
            targets=self.targets,
            certified=np.array([[certified_count(self.targets, b) for b in row] for row in bounds]),
            naive=self.naive,
            bounds=bounds,
            done=self.done.copy(),
            status=self.status,
            relaxation=self.task.options.relaxation,
            threat=self.task.threat,
            solves=self.solves,
            seconds=time.perf_counter() - self.started,
            facts=self.facts,
            instance=self.session.instance,
            by_totals=whole_graph(self.session.instance, self.task.threat_at((0, 0))),
        )


def _here(grid: _Grid, order: list[Cell], cancel: threading.Event | None) -> Iterator[None]:
    for cell in order:
        if cancel is not None and cancel.is_set():
            grid.status = Status.INTERRUPTED
            return
        grid.enter(cell, *grid.solve(cell, cancel))
        if grid.status is Status.INTERRUPTED:
            return
        yield


def _elsewhere(
    grid: _Grid, order: list[Cell], cancel: threading.Event | None, jobs: int, scheduler: str | None
) -> Iterator[None]:
    """Share the cells among processes or a cluster, in blocks of neighbours so that each worker walks warm."""
    with open_executor(jobs, scheduler) as (executor, workers):
        size = max(1, min(24, -(-len(order) // (4 * workers))))
        blocks = [order[i : i + size] for i in range(0, len(order), size)]
        tasks = [(grid.session.instance, grid.task, block) for block in blocks]
        for (_, _, block), results in run_tasks(executor, workers, _solve_block, tasks):
            for cell, result in zip(block, results):
                grid.enter(cell, *result)
            if cancel is not None and cancel.is_set():
                grid.status = Status.INTERRUPTED
                return
            yield


_worker: tuple[str, Session] | None = None


def _solve_block(instance: Instance, task: _SurfaceSpec, cells: list[Cell]) -> list[tuple[Fraction, Status, int]]:
    """Solve some cells in a worker; it keeps its session for the next block of the same instance."""
    global _worker
    if _worker is None or _worker[0] != instance.digest:
        _worker = (instance.digest, Session(instance))
    grid = _Grid(_worker[1], task)
    return [grid.solve(cell, None) for cell in cells]
