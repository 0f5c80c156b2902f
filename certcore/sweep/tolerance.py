"""Sweeps to a tolerance: solve the cell with the widest gap until all gaps are within the tolerance."""

from __future__ import annotations

import math
import threading
from collections.abc import Iterable, Iterator
from concurrent.futures import FIRST_COMPLETED, Future, wait
from dataclasses import replace
from itertools import product

import numpy as np

from certcore.common.errors import InputError
from certcore.common.executor import open_executor, result_of
from certcore.instance.instance import Instance
from certcore.program.cuts import Cuts
from certcore.solve.solver import BoundResult
from certcore.solve.status import Status
from certcore.sweep.cell_solver import Cell, CellSolver, Solved, enter, worker_cells
from certcore.sweep.gaps import Gaps
from certcore.sweep.grid import Grid, SweepSpec
from certcore.sweep.session import Cancelled
from certcore.verify.cells import Cells
from certcore.verify.duals import IntegerDuals

#: Cells within this share of both axes of a cell that is being solved are not started beside it.
APART = 0.15
#: Seconds between two checks whether a sweep in other processes has been cancelled.
WAIT = 0.05


def read_tolerance(value: object) -> float:
    """Read a share of the targets."""
    if isinstance(value, bool) or not isinstance(value, int | float) or not 0 <= value < 1:
        raise InputError(
            f"the tolerance is {value!r}; expected a share of the targets from 0 to below 1, such as 0.005"
        )
    return float(value)


def fill(grid: Grid, cancel: threading.Event | None) -> Iterator[None]:
    """Solve until no cell could certify more than the tolerance beyond what is proven; yields after each solve."""
    cells, choice = CellSolver(grid.session, grid.spec), _Choice(grid)
    if not choice.begin(cells, cancel):
        return
    while grid.status is not Status.INTERRUPTED:
        cell = choice.next(())
        if cell is None:
            return
        if cancel is not None and cancel.is_set():
            grid.status = Status.INTERRUPTED
            return
        _solve(grid, cells, choice.gaps, cell, cancel)
        yield


def fill_apart(grid: Grid, cancel: threading.Event | None, jobs: int, scheduler: str | None) -> Iterator[None]:
    """The same with one cell at a time in each worker, far from the cells that the others are solving."""
    cells, choice, instance = CellSolver(grid.session, grid.spec), _Choice(grid), grid.session.instance
    if not choice.begin(cells, cancel):
        return
    with open_executor(jobs, scheduler, keep=True) as (executor, workers):
        running: dict[Future[_Apart], Cell] = {}
        while True:
            while len(running) < workers and (cell := choice.next(running.values())) is not None:
                running[executor.submit(_solve_apart, instance, grid.spec, cell)] = cell
            if not running:
                return
            for done in wait(running, timeout=WAIT, return_when=FIRST_COMPLETED).done:
                _learn_apart(grid, choice.gaps, running.pop(done), result_of(done))
                yield
            if (cancel is not None and cancel.is_set()) or grid.status is Status.INTERRUPTED:
                for future in running:
                    future.cancel()
                grid.status = Status.INTERRUPTED
                return


class _Choice:
    """Which cell comes next: the corners and the centre, then the widest gap."""

    gaps: Gaps

    def __init__(self, grid: Grid) -> None:
        self.grid = grid
        self.most = math.floor(grid.spec.tolerance * grid.targets)
        self.first = [cell for cell in corners_and_centre(grid.shape) if not grid.done[cell]]
        self.tried = grid.done.copy()

    def begin(self, cells: CellSolver, cancel: threading.Event | None) -> bool:
        """Build the program; False if cancelled first."""
        grid = self.grid
        try:
            self.gaps = grid.gaps = Gaps(grid.spec.amounts, grid.bounds, _on_one_program(cells, cancel))
        except Cancelled:
            grid.status = Status.INTERRUPTED
            return False
        for known in map(tuple, np.argwhere(grid.done).tolist()):  # from a checkpoint file or a coarser sweep
            self.gaps.learn(known, grid.bounds[known], float(grid.bounds[known]))
        return True

    def next(self, running: Iterable[Cell]) -> Cell | None:
        """The next cell, far from those that are being solved; None if there is none."""
        blocked = self.tried.copy()
        for other in running:
            near = [(i, int(APART * n)) for i, n in zip(other, self.grid.shape)]
            blocked[tuple(slice(max(0, i - room), i + room + 1) for i, room in near)] = True
        cell: Cell | None = self.first.pop(0) if self.first else self.gaps.widest(self.most, blocked)
        if cell is not None:
            self.tried[cell] = True
        return cell


_Apart = tuple[Solved | None, BoundResult | None, np.ndarray | None, Cuts | None]
"""The result of a cell, and its solution and dual values if it is on the shared program."""


def _solve_apart(instance: Instance, spec: SweepSpec, cell: Cell) -> _Apart:
    """Solve one cell in a worker; dual values are sent without the program, which is built there and here."""
    cells, threat = worker_cells(instance, spec), spec.threat_at(cell)
    if not cells.on_program(threat):
        return cells.solve(cell, None), None, None, None
    answer = cells.answer(threat, None, want_x=True)
    assert answer is not None
    y, cuts = (None, None) if answer.duals is None else (answer.duals.y, answer.duals.cuts)
    return (answer.bound, answer.status, answer.solves), replace(answer, duals=None), y, cuts


def _learn_apart(grid: Grid, gaps: Gaps, cell: Cell, found: _Apart) -> None:
    solved, answer, y, cuts = found
    enter(grid, cell, solved)
    if gaps.on is None or answer is None:
        if solved is not None:
            gaps.learn(cell, solved[0], float(solved[0]) if grid.done[cell] else 0.0)
        return
    duals = None if y is None else IntegerDuals.of(gaps.on.structure, y, cuts)
    gaps.learn_answer(cell, replace(answer, duals=duals))


def corners_and_centre(shape: tuple[int, ...]) -> list[Cell]:
    """The first cells of a sweep: the largest cell, the other corners, and the centre."""
    corners = product(*([n - 1, 0] if n > 1 else [0] for n in shape))
    return list(dict.fromkeys([*corners, tuple(n // 2 for n in shape)]))


def _solve(grid: Grid, cells: CellSolver, gaps: Gaps, cell: Cell, cancel: threading.Event | None) -> None:
    threat = grid.spec.threat_at(cell)
    if gaps.on is None or not cells.on_program(threat):
        enter(grid, cell, solved := cells.solve(cell, cancel))
        if solved is not None:
            gaps.learn(cell, solved[0], float(solved[0]) if grid.done[cell] else 0.0)
        return
    answer = cells.answer(threat, cancel, want_x=True)
    enter(grid, cell, None if answer is None else (answer.bound, answer.status, answer.solves))
    if answer is not None:
        gaps.learn_answer(cell, answer)


def _on_one_program(cells: CellSolver, cancel: threading.Event | None) -> Cells | None:
    """The cells on one shared program, if one is valid for all of them."""
    spec = cells.spec
    ends = product(*([0, -1] for _ in spec.axes))
    if not all(cells.on_program(spec.threat_at(cell)) for cell in ends):
        return None
    threat, kinds = spec.largest, tuple(None if axis.is_sigma else axis.kind for axis in spec.axes)
    return Cells(cells.solver(cancel).structure, (threat.budgets, threat.sigma), kinds, spec.amounts)
