"""Sweeps to a tolerance: solve the cell with the widest gap until all gaps are within the tolerance."""

from __future__ import annotations

import math
import threading
from collections.abc import Iterator
from itertools import product

import numpy as np

from certcore.common.errors import InputError
from certcore.solve.status import Status
from certcore.sweep.cell_solver import Cell, CellSolver, enter
from certcore.sweep.gaps import Gaps
from certcore.sweep.grid import Grid
from certcore.sweep.session import Cancelled
from certcore.verify.cells import Cells


def read_tolerance(value: object, *, several: bool = False) -> float:
    """Read a share of the targets; refused for `several` workers, because each cell depends on earlier ones."""
    if isinstance(value, bool) or not isinstance(value, int | float) or not 0 <= value < 1:
        raise InputError(
            f"the tolerance is {value!r}; expected a share of the targets from 0 to below 1, such as 0.005"
        )
    if value and several:
        raise InputError(
            "a tolerance is given together with several workers, but each cell is chosen after the one before; leave "
            "out one of them"
        )
    return float(value)


def fill(grid: Grid, cancel: threading.Event | None) -> Iterator[None]:
    """Solve until no cell could certify more than the tolerance beyond what is proven; yields after each solve."""
    cells = CellSolver(grid.session, grid.spec)
    try:
        gaps = Gaps(grid.spec.amounts, grid.bounds, _on_one_program(cells, cancel))
    except Cancelled:
        grid.status = Status.INTERRUPTED
        return
    for known in map(tuple, np.argwhere(grid.done).tolist()):  # from a checkpoint file or a coarser sweep
        gaps.learn(known, grid.bounds[known], float(grid.bounds[known]))
    grid.gaps = gaps
    most = math.floor(grid.spec.tolerance * grid.targets)
    first = [cell for cell in corners_and_centre(grid.shape) if not grid.done[cell]]
    tried = grid.done.copy()
    while grid.status is not Status.INTERRUPTED:
        cell: Cell | None = first.pop(0) if first else gaps.widest(most, tried)
        if cell is None:
            return
        if cancel is not None and cancel.is_set():
            grid.status = Status.INTERRUPTED
            return
        tried[cell] = True
        _solve(grid, cells, gaps, cell, cancel)
        yield


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
