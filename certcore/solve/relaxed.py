"""From a relaxed program to a proven bound: solve, check in exact integers, cut, and solve again if need be."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from certcore.program.cuts import Cuts, violated
from certcore.program.program import Program
from certcore.program.structure import Structure
from certcore.solve.highs import HighsModel, Outcome, Solution
from certcore.solve.status import Status
from certcore.verify.bound import SCALE, exact_bound, lowered, repaired, rows_of, scaled

#: Beyond this many entries a cold start goes to the interior point method if several types are in play …
IPM_ENTRIES = 60_000
#: … and rows hold few entries each; long rows (fields of edges) cost it more than the simplex method …
DENSE_ROW = 100
#: … and beyond this many rows in any case.
IPM_ROWS = 15_000
MAX_ROUNDS = 60

ModelFactory = Callable[[Program], HighsModel]


@dataclass(frozen=True, eq=False)
class Proven:
    """A proven bound on how many of the program's targets can be attacked, and what proves it."""

    bound: Fraction
    """Without the structure's constant."""
    multipliers: np.ndarray
    """Integers over SCALE, one per row of the structure and then one per cut."""
    cuts: Cuts
    status: Status
    x: np.ndarray | None
    """The relaxed solution: a proposal, used for pictures and as a start for attacks."""
    objective: float
    seconds: float
    solves: int


def cover_rows(structure: Structure) -> tuple[np.ndarray, np.ndarray]:
    """For each column the row that may be raised, and the row that may be lowered, to pay for it (or -1)."""
    cover = np.full(structure.n_columns, -1, dtype=np.int64)
    anchor = cover.copy()
    place = np.zeros(4, dtype=np.int64)
    place[structure.global_types] = np.arange(len(structure.global_types))
    cover[: structure.n_flips] = structure.blocks["global"].start + place[structure.flip_type]
    if structure.has_sigma:
        cover[structure.first_attacker : structure.first_point] = structure.blocks["sigma"].start
    choose = structure.blocks["choose"].start + structure.point_group
    chosen = slice(structure.first_point, structure.first_indicator)
    if structure.relaxation == "paper":
        anchor[chosen] = choose
    else:
        cover[chosen] = choose
    return cover, anchor


def prove(program: Program, cuts: Cuts, multipliers: np.ndarray) -> tuple[Fraction, np.ndarray]:
    """The exact bound that floating-point multipliers give after repair, and the integer multipliers that prove it."""
    rows = rows_of(program, cuts)
    y = scaled(multipliers)
    cover, anchor = cover_rows(program.structure)
    if (anchor >= 0).any():
        y = lowered(rows, y, anchor)
    better = repaired(rows, y, cover)
    first, second = exact_bound(rows, y), exact_bound(rows, better)
    return (second, better) if second <= first else (first, y)


def trivial(program: Program) -> tuple[Fraction, np.ndarray]:
    """The bound without any solver: every target with a point in reach counts as attacked."""
    structure = program.structure
    y = np.zeros(structure.matrix.shape[0], dtype=np.int64)
    if structure.relaxation != "paper":
        open_ = program.upper[structure.first_point : structure.first_indicator] > 0
        groups = np.unique(structure.point_group[open_])
        y[structure.blocks["choose"].start + groups] = structure.weight[groups] * SCALE
    return exact_bound(rows_of(program, Cuts.none()), y), y


def agrees(bound: Fraction, objective: float) -> bool:
    """Whether the proven bound is as good as the solver's objective promised, up to a hair."""
    return float(bound) <= objective + 1e-3 + 1e-5 * abs(objective)


def _doubtful(solution: Solution, proven: tuple[Fraction, np.ndarray] | None) -> bool:
    """Whether the solver failed, or calls something optimal that its multipliers do not prove."""
    if solution.outcome is Outcome.OPTIMAL:
        return proven is None or not agrees(proven[0], solution.objective)
    return solution.outcome is Outcome.FAILED


def _usable(program: Program, x: np.ndarray | None) -> bool:
    return x is not None and len(x) == program.structure.n_columns and bool(np.isfinite(x).all())


def cold_method(program: Program) -> str:
    """Simplex for small programs, interior point for large ones (where they cross was measured)."""
    rows, entries = program.matrix.shape[0], program.matrix.nnz
    slow = len(program.structure.types) > 1 and IPM_ENTRIES < entries <= DENSE_ROW * rows
    return "ipm" if slow or rows > IPM_ROWS else "simplex"


def solve_relaxed(
    program: Program,
    *,
    time_limit: float,
    cancel: threading.Event | None = None,
    factory: ModelFactory = HighsModel,
) -> Proven:
    """Solve one relaxed program from scratch and prove its bound; σ cuts are added in rounds."""
    started = time.perf_counter()
    bound, y = trivial(program)
    best = Proven(bound, y, Cuts.none(), Status.OPTIMAL, None, float(bound), 0.0, 0)
    if bound == 0:
        return best
    model = factory(program)
    method = cold_method(program)
    cuts = Cuts.none()
    status = Status.OPTIMAL
    recomputed = False
    solves = 0
    x: np.ndarray | None = None
    objective = float(bound)
    for _ in range(MAX_ROUNDS):
        left = time_limit - (time.perf_counter() - started)
        solution, proven = _solve_checked(model, program, cuts, left, cancel, method)
        solves += 1
        if proven is not None and proven[0] < best.bound:
            best = Proven(proven[0], proven[1], cuts, Status.OPTIMAL, None, 0.0, 0.0, 0)
        if _doubtful(solution, proven):
            # No answer, or one that does not stand up to its check: once more, cold, by the other method.
            model.clear()
            left = time_limit - (time.perf_counter() - started)
            other = "simplex" if method == "ipm" else "ipm"
            solution, proven = _solve_checked(model, program, cuts, left, cancel, other)
            solves += 1
            recomputed = True
            if proven is not None and proven[0] < best.bound:
                best = Proven(proven[0], proven[1], cuts, Status.OPTIMAL, None, 0.0, 0.0, 0)
            if _doubtful(solution, proven):
                status = Status.FAILED
        if solution.outcome is Outcome.OPTIMAL and _usable(program, solution.x):
            x, objective = solution.x, solution.objective
        if solution.outcome is not Outcome.OPTIMAL:
            status = Status(solution.outcome.value)
        if status is not Status.OPTIMAL or x is None or program.structure.touch is None:
            break
        new = violated(program.structure, x, cuts)
        if not len(new):
            break
        cuts = cuts.plus(new)
        model.add_rows(new.rows(program.structure))
        method = "simplex"
    else:
        status = Status.TIME_LIMIT
    if status is Status.OPTIMAL and recomputed:
        status = Status.RECOMPUTED
    return Proven(best.bound, best.multipliers, best.cuts, status, x, objective, time.perf_counter() - started, solves)


def _solve_checked(
    model: HighsModel,
    program: Program,
    cuts: Cuts,
    time_limit: float,
    cancel: threading.Event | None,
    method: str,
) -> tuple[Solution, tuple[Fraction, np.ndarray] | None]:
    solution = model.solve(time_limit=time_limit, cancel=cancel, method=method)
    if solution.multipliers is None or len(solution.multipliers) != program.matrix.shape[0] + len(cuts):
        return solution, None
    return solution, prove(program, cuts, solution.multipliers)
