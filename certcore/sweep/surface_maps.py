"""Surfaces: certified counts over two budgets (or a budget and σ), coarse first and then finer."""

from __future__ import annotations

import os
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np

from certcore.common.errors import InputError
from certcore.common.executor import open_executor, run_tasks
from certcore.common.interrupt import interruptible
from certcore.domain.threat import ThreatModel
from certcore.instance.instance import Instance
from certcore.solve.status import Status
from certcore.sweep.axis import Axis, whole_values
from certcore.sweep.cell_solver import CellSolver, Solved, enter
from certcore.sweep.counts import Counts
from certcore.sweep.grid import Grid, SweepSpec
from certcore.sweep.session import Session, as_session, threat_for
from certcore.sweep.solve_options import SolveOptions
from certcore.sweep.tolerance import fill, read_tolerance

Cell = tuple[int, int]

#: What `surfaces` can be asked for besides budgets.
_OPTIONS = frozenset({"relaxation", "time_limit", "rounds", "tolerance", "checkpoint", "jobs", "scheduler"})
#: Seconds between two looks at a growing surface.
REFRESH = 0.25


@dataclass(frozen=True, eq=False, repr=False, kw_only=True)
class Surface(Counts):
    """Certified counts over two quantities. Cells that are not `done` carry a sound bound from what is known so far."""

    axis_columns = ("x", "y")

    def __repr__(self) -> str:
        size = f"{len(self.x_values)} × {len(self.y_values)} cells"
        return f"<Surface {self.x} × {self.y}: {size}, {self.targets} targets; {self.relaxation}, {self.status}>"

    @property
    def x(self) -> str:
        return self.axes[0]

    @property
    def y(self) -> str:
        return self.axes[1]

    @property
    def x_values(self) -> np.ndarray:
        return self.axis_values[0]

    @property
    def y_values(self) -> np.ndarray:
        return self.axis_values[1]

    def bound_at(self, i: int, j: int) -> Fraction:
        """The exact bound of one cell."""
        bound: Fraction = self.bounds[i, j]
        return bound

    @property
    def share_done(self) -> float:
        return float(self.done.mean())

    def columns(self) -> dict[str, Any]:
        """Equally long columns for a table, one row per cell."""
        return super().columns() | {"done": self.done.ravel()}

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
    tolerance: float = 0.0,
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

    With a `tolerance` (a share of the targets) only cells are solved that could otherwise certify more than that beyond
    what is proven there already, the widest gap first: from the first few on, each surface is a whole, proven map.
    """
    options = SolveOptions.read(relaxation, time_limit, rounds)
    session = as_session(source)
    axes = Axis.parse(x, local=False), Axis.parse(y, local=False)
    if axes[0] == axes[1]:
        raise InputError(f"both axes of the surface are {axes[0].name}; choose two different ones")
    values = whole_values(x_values, axes[0]), whole_values(y_values, axes[1])
    share = read_tolerance(tolerance, several=jobs != 1 or scheduler is not None)
    grid = Grid(session, SweepSpec(threat, axes, values, options, share))
    grid.resume(checkpoint)
    if coarser is not None:
        grid.refine(coarser)
    yield grid.result(Surface)
    cells = coarse_to_fine(len(values[0]), len(values[1])) if near is None else around(values, near)
    order = [cell for cell in cells if not grid.done[cell]]
    if share:
        source_of_answers = fill(grid, cancel)
    elif jobs == 1 and scheduler is None:
        source_of_answers = _here(grid, order, cancel)
    else:
        source_of_answers = _elsewhere(grid, order, cancel, jobs, scheduler)
    shown = time.perf_counter()
    try:
        for _ in source_of_answers:
            if time.perf_counter() - shown > REFRESH:
                grid.save()
                yield grid.result(Surface)
                shown = time.perf_counter()
    finally:
        grid.save()
    yield grid.result(Surface)


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


def around(values: tuple[list[int], list[int]], near: tuple[float, float]) -> list[Cell]:
    """All cells in rings around the cell of two values, each ring from large budgets to small ones."""
    at = [min(int(np.searchsorted(axis, value)), len(axis) - 1) for axis, value in zip(values, near)]
    i, j = np.indices([len(axis) for axis in values])
    ring = np.maximum(np.abs(i - at[0]), np.abs(j - at[1])).ravel()
    order = np.lexsort((-j.ravel(), -i.ravel(), ring))
    return list(zip(i.ravel()[order].tolist(), j.ravel()[order].tolist()))


def _here(grid: Grid, order: list[Cell], cancel: threading.Event | None) -> Iterator[None]:
    cells = CellSolver(grid.session, grid.spec)
    for cell in order:
        if cancel is not None and cancel.is_set():
            grid.status = Status.INTERRUPTED
            return
        enter(grid, cell, cells.solve(cell, cancel))
        if grid.status is Status.INTERRUPTED:
            return
        yield


def _elsewhere(
    grid: Grid, order: list[Cell], cancel: threading.Event | None, jobs: int, scheduler: str | None
) -> Iterator[None]:
    """Share the cells among processes or a cluster, in blocks of neighbours so that each worker walks warm."""
    with open_executor(jobs, scheduler) as (executor, workers):
        size = max(1, min(24, -(-len(order) // (4 * workers))))
        blocks = [order[i : i + size] for i in range(0, len(order), size)]
        tasks = [(grid.session.instance, grid.spec, block) for block in blocks]
        for (_, _, block), results in run_tasks(executor, workers, _solve_block, tasks):
            for cell, result in zip(block, results):
                enter(grid, cell, result)
            if cancel is not None and cancel.is_set():
                grid.status = Status.INTERRUPTED
                return
            yield


_worker: tuple[str, Session] | None = None


def _solve_block(instance: Instance, spec: SweepSpec, cells: list[Cell]) -> list[Solved | None]:
    """Solve some cells in a worker; it keeps its session for the next block of the same instance."""
    global _worker
    if _worker is None or _worker[0] != instance.digest:
        _worker = (instance.digest, Session(instance))
    here = CellSolver(_worker[1], spec)
    return [here.solve(cell, None) for cell in cells]
