"""Surfaces: certified counts over two budgets (or a budget and σ), coarse first and then finer."""

from __future__ import annotations

import os
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, Unpack

import numpy as np

from certcore.common.errors import InputError
from certcore.common.executor import open_executor, run_tasks
from certcore.common.interrupt import interruptible
from certcore.common.options import defaults_of, show_options, take
from certcore.domain.threat import Budgets, ThreatModel
from certcore.instance.instance import Instance
from certcore.solve.status import Status
from certcore.sweep.axis import Axis, whole_values
from certcore.sweep.cell_solver import CellSolver, Solved, enter, worker_cells
from certcore.sweep.counts import Counts
from certcore.sweep.grid import Grid, SweepSpec
from certcore.sweep.session import Session, as_session, threat_for
from certcore.sweep.solve_options import SOLVE_DEFAULTS, SolveArguments, SolveOptions
from certcore.sweep.tolerance import fill, fill_apart, read_tolerance

Cell = tuple[int, int]

#: Seconds between two updates of a growing surface.
REFRESH = 0.25
#: Distance of the cells of the first, coarse grid. On Citeseer (split 1, 9 × 22 cells) 4 takes 2.9 s, every cell in
#: turn 2.6; on Cora-ML (split 1) 14.3 and 8.3.
COARSEST = 4


@dataclass(frozen=True, eq=False, repr=False, kw_only=True)
class Surface(Counts):
    """Certified counts over two quantities. Cells that are not `done` have a sound bound from known results."""

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
        """Columns of equal length for a table, one row per cell."""
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


@dataclass(frozen=True, kw_only=True)
class SurfaceWork:
    """Tolerance, checkpoint file and parallel workers of a surface."""

    tolerance: float = 0.0
    checkpoint: str | os.PathLike[str] | None = None
    jobs: int = 1
    scheduler: str | None = None

    @property
    def elsewhere(self) -> bool:
        return self.jobs != 1 or self.scheduler is not None


class SurfaceArguments(SolveArguments, Budgets, total=False):
    """Solver options, the fields of `SurfaceWork`, and the fixed parts of the threat model."""

    tolerance: float
    checkpoint: str | os.PathLike[str] | None
    jobs: int
    scheduler: str | None


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
    **options: Unpack[SurfaceArguments],
) -> Surface:
    """The complete surface; `progress` is called with it as it grows.

    Options are those of `surfaces`, and fixed budgets: `surface(instance, x="attr_add", x_values=range(9),
    y="attr_del", y_values=range(22), sigma=5)`.
    """

    def work(stop: threading.Event | None) -> Surface:
        last: Surface | None = None
        coarse = progress is not None
        for last in surfaces(source, threat, x, x_values, y, y_values, cancel=stop, coarse=coarse, **options):
            if progress is not None:
                progress(last)
        assert last is not None
        return last

    return interruptible(work, cancel)


def surfaces(
    source: Instance | Session,
    threat: ThreatModel | None,
    x: str,
    x_values: Sequence[int] | np.ndarray,
    y: str,
    y_values: Sequence[int] | np.ndarray,
    *,
    cancel: threading.Event | None = None,
    coarser: Surface | None = None,
    near: tuple[float, float] | None = None,
    coarse: bool = True,
    **options: Unpack[SurfaceArguments],
) -> Iterator[Surface]:
    """Yield the surface as it grows, coarse first; the last one is complete unless cancelled.

    `x` and `y` are two of the budgets and `sigma`. `time_limit` (or `rounds` of strong search) applies to each cell.
    With a `checkpoint` file an interrupted surface continues. `jobs` processes, or the Dask cluster at `scheduler`,
    share the cells. A `coarser` surface of the same request is refined: its cells are reused, and its bounds hold at
    all smaller budgets. With `near`, cells around those two values come first. Without `coarse`, cells come one after
    the other from small budgets up, which is faster.

    With a `tolerance` (a share of the targets), a cell is solved only if it could certify more than that beyond what is
    proven there, widest gap first. After the first few solves, every yielded surface has proven bounds at all cells.
    """
    budgets: Any = dict(options)
    how, work = SolveOptions.take(budgets), take(SurfaceWork, budgets)
    session = as_session(source)
    threat = threat_for(session.instance, threat, budgets)
    axes = Axis.parse(x, local=False, new=True), Axis.parse(y, local=False, new=True)
    if axes[0] == axes[1]:
        raise InputError(f"both axes of the surface are {axes[0].name}; choose two different ones")
    values = whole_values(x_values, axes[0]), whole_values(y_values, axes[1])
    share = read_tolerance(work.tolerance)
    if any(axis.is_local for axis in axes):
        share = 0.0  # every cell has its own program: dual values of one do not apply to another
    grid = Grid(session, SweepSpec(threat, axes, values, how, share))
    grid.resume(work.checkpoint)
    if coarser is not None:
        grid.refine(coarser)
    yield grid.result(Surface)
    stride = COARSEST if coarse else 1
    cells = coarse_to_fine(len(values[0]), len(values[1]), stride) if near is None else around(values, near)
    order = [cell for cell in cells if not grid.done[cell]]
    if share:
        source_of_answers = (
            fill_apart(grid, cancel, work.jobs, work.scheduler) if work.elsewhere else fill(grid, cancel)
        )
    elif work.elsewhere:
        source_of_answers = _elsewhere(grid, order, cancel, work)
    else:
        source_of_answers = _here(grid, order, cancel)
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


for _function in (surface, surfaces):
    show_options(_function, SOLVE_DEFAULTS | defaults_of(SurfaceWork), SurfaceArguments.__annotations__, "Budgets")


def coarse_to_fine(nx: int, ny: int, stride: int = COARSEST) -> list[Cell]:
    """All cells: a coarse grid first, then finer grids, each from neighbour to neighbour and from small budgets up.

    Neighbours along the longer axis come one after the other. Starting with the largest cell takes up to twice as long.
    """
    if nx > ny:
        return [(i, j) for j, i in coarse_to_fine(ny, nx, stride)]
    order: list[Cell] = []
    seen: set[Cell] = set()
    while stride:
        rows = sorted({*range(0, nx, stride), nx - 1})
        columns = sorted({*range(0, ny, stride), ny - 1})
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


def _elsewhere(grid: Grid, order: list[Cell], cancel: threading.Event | None, work: SurfaceWork) -> Iterator[None]:
    """Share the cells among processes or a cluster, in blocks of neighbours so that workers can warm-start."""
    with open_executor(work.jobs, work.scheduler, keep=True) as (executor, workers):
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


def _solve_block(instance: Instance, spec: SweepSpec, cells: list[Cell]) -> list[Solved | None]:
    """Solve some cells in a worker."""
    here = worker_cells(instance, spec)
    return [here.solve(cell, None) for cell in cells]
