"""One live program: built once for all budgets, moved from request to request, every answer checked."""

from __future__ import annotations

import math
import threading
import time
from collections import OrderedDict, deque
from collections.abc import Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import lru_cache
from typing import Any

import numpy as np
import scipy.sparse as sp

from certcore.program.cuts import Cuts, violated
from certcore.program.problem import Problem
from certcore.program.program import Program, program_at
from certcore.program.structure import Structure, build_structure
from certcore.solve.highs import HighsModel, Outcome, Solution
from certcore.solve.relaxed import MAX_ROUNDS, ModelFactory, Proven, cold_method
from certcore.solve.status import Status
from certcore.sweep.known import Evaluator, Known, Position
from certcore.threat import MAX_BUDGET
from certcore.verify.bound import SCALE, scaled

Place = tuple[tuple[int, ...], int | None]

#: Bases kept to start from, multipliers kept for previews, answers kept as they are, and those with an allocation.
MAX_BASES, MAX_KNOWN, MAX_ANSWERS, MAX_ALLOCATIONS = 128, 32, 4096, 8
#: Beyond this distance from every known basis a cold start is the faster one.
FAR = 3.0
#: The same with σ, where the programs are larger and a basis is worth less.
FAR_WITH_SIGMA = 1.0
#: Going up to larger budgets takes this much longer than going down.
UPWARDS = 1.6
#: With more cuts than this in the model it starts again without any.
MAX_CUTS = 20_000
#: Feasible up to this much, relative to the right-hand side: what solvers call feasible, with some room.
TOLERANCE = 1e-5


@dataclass(frozen=True, eq=False)
class Answer:
    """A proven bound at one place, and how good it is at best."""

    place: Place
    numerator: int
    """The proven bound times SCALE, without the structure's constant."""
    lower: float
    """The relaxed optimum is at least this, as far as floating point can tell. It saves solves and is never a bound."""
    status: Status
    x: np.ndarray | None
    known: Known | None
    seconds: float
    solves: int

    @property
    def bound(self) -> Fraction:
        return Fraction(self.numerator, SCALE)

    @property
    def attacked(self) -> int:
        """How many of the program's targets can be attacked at most."""
        return self.numerator // SCALE


@dataclass(frozen=True, eq=False)
class _Attempt:
    """What one solve brought: its proven bound, the value of its solution, and whether both fit together."""

    solution: Solution
    found: tuple[int, Known | None]
    value: float
    trusted: bool


class Solver:
    """A structure with its model in HiGHS, known bases and known multipliers. Thread-safe.

    One solve runs at a time; `best` answers from what is known without waiting for it.
    """

    def __init__(self, problem: Problem, relaxation: str, *, factory: ModelFactory = HighsModel) -> None:
        threat = problem.threat
        everything = tuple(MAX_BUDGET if b > 0 else 0 for b in threat.budgets)
        self.problem = problem
        self.structure: Structure = build_structure(problem, relaxation, everything)
        self.evaluator = Evaluator(self.structure)
        self._factory = factory
        self._lock = threading.RLock()
        self._model: HighsModel | None = None
        self._cuts = Cuts.none()
        self._cut_rows: sp.csr_array | None = None
        self._at: Place | None = None
        self._bases: list[tuple[Place, int, Any]] = []
        self._known: tuple[tuple[Place, Known], ...] = ()
        self._answers: OrderedDict[Place, Answer] = OrderedDict()
        self._with_x: deque[Place] = deque()
        self.solves = 0

    # What is known without solving.

    def position(self, place: Place) -> Position:
        return self.evaluator.position(*place)

    def answer_at(self, place: Place) -> Answer | None:
        """The final answer at a place, if there is one."""
        return self._answers.get(place)

    def best(self, place: Place) -> tuple[int, Known | None]:
        """The best bound at a place that follows from what is known (times SCALE, without the constant)."""
        s = self.structure
        position = self.position(place)
        best, by = self.trivial(position), None
        for _, known in self._known:
            value = self.evaluator.numerator(known, position)
            if value < best:
                best, by = value, known
        for answer in list(self._answers.values()):
            # An attacker with more budget can do all that one with less can.
            if answer.numerator < best and covers(answer.place, place):
                best, by = answer.numerator, None
        return min(best, int(s.weight.sum()) * SCALE), by

    def trivial(self, position: Position) -> int:
        """Every target with a point within reach counts as attacked."""
        return self.evaluator.within_reach(position.open) * SCALE

    # Solving.

    def solve(
        self, place: Place, *, time_limit: float, cancel: threading.Event | None = None, want_x: bool = False
    ) -> Answer:
        """The proven bound at a place; from memory if it is there."""
        started = time.perf_counter()
        while not self._lock.acquire(timeout=0.02):
            if cancel is not None and cancel.is_set():
                return self._unsolved(place, Status.INTERRUPTED)
            if time.perf_counter() - started > time_limit:
                return self._unsolved(place, Status.TIME_LIMIT)
        try:
            found = self._answers.get(place)
            if found is not None and (found.x is not None or not want_x):
                return found
            answer = self._solve(place, time_limit - (time.perf_counter() - started), cancel)
            if answer.status in (Status.OPTIMAL, Status.RECOMPUTED):
                self._remember(answer)
            return replace(answer, seconds=time.perf_counter() - started)
        finally:
            self._lock.release()

    def adopt(self, other: Solver) -> None:
        """Take over the bases of another program of the same form (other caps, same rows and columns)."""
        mine, theirs = self.structure.matrix, other.structure.matrix
        if (
            not self._bases
            and not len(self._cuts)
            and mine.shape == theirs.shape
            and np.array_equal(mine.indptr, theirs.indptr)
            and np.array_equal(mine.indices, theirs.indices)
        ):
            with self._lock:
                self._bases = [entry for entry in other._bases if entry[1] == 0]

    def proven(self, answer: Answer) -> Proven:
        """The answer in the form that `certcore.certify.finish` takes."""
        y = np.zeros(self.structure.matrix.shape[0], dtype=np.int64)
        cuts = Cuts.none()
        if answer.known is not None:
            y = self.evaluator.repaired(answer.known, self.position(answer.place))
            cuts = Cuts(self._cuts.is_touch[: answer.known.n_cuts], self._cuts.index[: answer.known.n_cuts])
        return Proven(
            answer.bound, y, cuts, answer.status, answer.x, answer.lower, answer.seconds, answer.solves
        )  # fmt: skip

    def _unsolved(self, place: Place, status: Status) -> Answer:
        numerator, known = self.best(place)
        return Answer(place, numerator, 0.0, status, None, known, 0.0, 0)

    def _solve(self, place: Place, time_limit: float, cancel: threading.Event | None) -> Answer:
        """Solve at a place; with σ, add the cuts that the solution violates and solve again, until there are none."""
        deadline = time.perf_counter() + time_limit
        program, position = program_at(self.structure, *place), self.position(place)
        best, known = self.trivial(position), None
        if best == 0:
            return Answer(place, 0, 0.0, Status.OPTIMAL, np.zeros(self.structure.n_columns), None, 0.0, 0)
        if len(self._cuts) > MAX_CUTS:
            self._forget_cuts()
        method = self._start(place, program)
        status, solves, lower, x, basis = Status.TIME_LIMIT, 0, 0.0, None, None
        recomputed = False
        for _ in range(MAX_ROUNDS):
            attempt = self._attempt(program, position, method, deadline, cancel)
            solves += 1
            if not attempt.trusted:
                # The answer does not stand up to its check: once more, cold, by the other method.
                best, known = min((best, known), attempt.found, key=lambda pair: pair[0])
                self._forget_model()
                self._fresh(program)
                attempt = self._attempt(program, position, "simplex" if method == "ipm" else "ipm", deadline, cancel)
                solves, recomputed = solves + 1, True
            if attempt.found[0] <= best:
                best, known = attempt.found
            if attempt.solution.outcome is not Outcome.OPTIMAL or not attempt.trusted:
                finished = attempt.solution.outcome is Outcome.OPTIMAL
                status = Status.FAILED if finished else Status(attempt.solution.outcome.value)
                break
            x, lower, basis = attempt.solution.x, attempt.value, attempt.solution.basis
            assert x is not None
            new = violated(self.structure, x, self._cuts)
            if not len(new):
                status = Status.RECOMPUTED if recomputed else Status.OPTIMAL
                break
            self._add_cuts(new)
            method = "simplex"
        self.solves += solves
        if status in (Status.OPTIMAL, Status.RECOMPUTED):
            self._keep_basis(place, basis)
        else:
            best, known = min((best, known), self.best(place), key=lambda pair: pair[0])
            if status is Status.FAILED or attempt.solution.basis is None:
                self._forget_model()
        return Answer(place, best, lower, status, x, known, 0.0, solves)

    def _attempt(
        self, program: Program, position: Position, method: str, deadline: float, cancel: threading.Event | None
    ) -> _Attempt:
        """One solve and its check."""
        assert self._model is not None
        left = deadline - time.perf_counter()
        solution = self._model.solve(time_limit=left, cancel=cancel, method=method)
        found: tuple[int, Known | None] = (self.trivial(position), None)
        known = None
        if solution.multipliers is not None and len(solution.multipliers) == program.matrix.shape[0] + len(self._cuts):
            known = self.evaluator.known(scaled(solution.multipliers), self._cut_rows)
        if known is not None:
            known = self.evaluator.settled(known, position)
            found = self.evaluator.numerator(known, position), known
        value = self._value(program, solution.x)
        agrees = known is not None and found[0] / SCALE <= value + 1e-3 + 1e-5 * abs(value)
        return _Attempt(solution, found, value, agrees or solution.outcome is not Outcome.OPTIMAL)

    def _start(self, place: Place, program: Program) -> str:
        """Bring the model to a place and choose how to solve: from the nearest known basis, or cold."""
        effort = efforts([entry[0] for entry in self._bases], place)
        nearest = int(np.argmin(effort)) if len(effort) else -1
        if self._model is None:
            self._fresh(program)
            self._at = None
        else:
            self._model.update(program)
        assert self._model is not None
        if nearest < 0 or effort[nearest] > (FAR_WITH_SIGMA if self.structure.has_sigma else FAR):
            self._model.clear()
            self._at = None
            return cold_method(program)
        # The model's own basis comes with a factorisation: it is preferred unless another one is clearly nearer.
        if self._at is None or effort[nearest] < 0.7 * efforts([self._at], place)[0]:
            self._set_basis(*self._bases[nearest][1:])
        return "simplex"

    def _fresh(self, program: Program) -> None:
        self._model = self._factory(program)
        if self._cut_rows is not None:
            self._model.add_rows(self._cut_rows)

    def _set_basis(self, n_cuts: int, basis: Any) -> None:
        """Give the model a basis; cuts that came later enter with a basic slack."""
        assert self._model is not None
        missing = len(self._cuts) - n_cuts
        if missing:
            basis = _extended(basis, missing)
        self._model.set_basis(basis)

    def _forget_model(self) -> None:
        self._model = None
        self._at = None

    def _forget_cuts(self) -> None:
        self._forget_model()
        self._cuts, self._cut_rows, self._bases = Cuts.none(), None, []
        for place, answer in self._answers.items():
            self._answers[place] = replace(answer, known=None)

    def _add_cuts(self, new: Cuts) -> None:
        assert self._model is not None
        rows = new.rows(self.structure)
        self._model.add_rows(rows)
        self._cuts = self._cuts.plus(new)
        self._cut_rows = rows if self._cut_rows is None else sp.csr_array(sp.vstack([self._cut_rows, rows], "csr"))

    def _value(self, program: Program, x: np.ndarray | None) -> float:
        """The objective of x if it is feasible up to a hair, else nothing."""
        if x is None or len(x) != len(program.upper) or not np.isfinite(x).all():
            return -math.inf
        wrong = max(float(-x.min(initial=0.0)), float((x - program.upper).max(initial=0.0)))
        excess = program.matrix @ x - program.rhs
        wrong = max(wrong, float((excess / np.maximum(np.abs(program.rhs), 1)).max(initial=0.0)))
        if self._cut_rows is not None:
            wrong = max(wrong, float((self._cut_rows @ x).max(initial=0.0)))
        return float(program.objective @ x) if wrong <= TOLERANCE else -math.inf

    # Memory.

    def _remember(self, answer: Answer) -> None:
        self._answers[answer.place] = answer
        self._answers.move_to_end(answer.place)
        while len(self._answers) > MAX_ANSWERS:
            self._answers.popitem(last=False)
        if answer.x is not None:
            self._with_x.append(answer.place)
        while len(self._with_x) > MAX_ALLOCATIONS:
            place = self._with_x.popleft()
            if place in self._answers and place not in self._with_x:
                self._answers[place] = replace(self._answers[place], x=None, known=None)
        if answer.known is not None:
            entries = [entry for entry in self._known if entry[0] != answer.place]
            entries.append((answer.place, answer.known))
            if len(entries) > MAX_KNOWN:
                entries.pop(_crowded([place for place, _ in entries]))
            self._known = tuple(entries)

    def _keep_basis(self, place: Place, basis: Any) -> None:
        self._at = place if basis is not None else None
        if basis is None:
            return
        self._bases = [entry for entry in self._bases if entry[0] != place]
        self._bases.append((place, len(self._cuts), basis))
        if len(self._bases) > MAX_BASES:
            self._bases.pop(_crowded([entry[0] for entry in self._bases]))


@lru_cache(maxsize=4096)
def coordinates(place: Place) -> np.ndarray:
    """Where a place is, on a scale on which distances are roughly proportional to the effort of getting there."""
    return np.log1p(np.array([*place[0], place[1] or 0], dtype=np.float64))


def efforts(places: Sequence[Place], to: Place) -> np.ndarray:
    """How hard it is to get from each place to another one; upwards is harder, because points come in."""
    if not places:
        return np.zeros(0)
    steps = coordinates(to) - np.array([coordinates(place) for place in places])
    return np.asarray(np.where(steps > 0, UPWARDS * steps, -steps).sum(axis=1))


def covers(larger: Place, smaller: Place) -> bool:
    """Whether every attack within the smaller budgets is one within the larger budgets."""
    if (larger[1] is None) != (smaller[1] is None):
        return False
    sigma = larger[1] is None or smaller[1] is None or larger[1] >= smaller[1]
    return sigma and all(x >= y for x, y in zip(larger[0], smaller[0]))


def _crowded(places: list[Place]) -> int:
    """The entry (not the newest) that is missed least: the one with the nearest neighbour."""
    at = np.array([coordinates(place) for place in places])
    gaps = np.abs(at[:, None] - at[None]).sum(axis=2)
    np.fill_diagonal(gaps, np.inf)
    return int(np.argmin(gaps.min(axis=1)[:-1]))


def _extended(basis: Any, rows: int) -> Any:
    """A basis for a model with more rows, whose slacks are basic."""
    import highspy

    longer = highspy.HighsBasis()
    longer.col_status = basis.col_status
    longer.row_status = [*basis.row_status, *[highspy.HighsBasisStatus.kBasic] * rows]
    longer.valid = True
    return longer
