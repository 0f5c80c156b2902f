"""One live program, and the one way to a number: solve, check exactly, try the other method, cut, solve again.

What a solver says is a proposal. Its dual values are rounded to integers and their bound is evaluated exactly
(`certcore.verify.duals`); the value of its solution only tells whether that bound is as good as it can be.
"""

from __future__ import annotations

import math
import threading
import time
from collections import OrderedDict, deque
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import lru_cache
from typing import Any

import numpy as np
import scipy.sparse as sp

from certcore.common.products import dot
from certcore.domain.perturbations import ATTR_ADD, ATTR_DEL
from certcore.program.building import build_structure
from certcore.program.cuts import Cuts, Rows, violated
from certcore.program.problem import Problem
from certcore.program.program import BudgetPoint, Program
from certcore.program.relaxation import Relaxation
from certcore.program.structure import Structure
from certcore.solve.engine import Method
from certcore.solve.folded import FoldedModel, can_be_folded
from certcore.solve.highs import HighsModel, Solution
from certcore.solve.large import Large
from certcore.solve.large_sigma import large_program
from certcore.solve.status import Status
from certcore.verify.bound import scaled
from certcore.verify.duals import IntegerDuals, counting_bound, plain_bound

#: Bases kept to start from, dual values kept for previews, answers kept as they are, and those with an allocation.
MAX_BASES, MAX_KNOWN, MAX_ANSWERS, MAX_ALLOCATIONS = 128, 32, 4096, 8
#: Beyond this distance from every known basis a cold start is the faster one.
FAR = 3.0
#: The same with σ, where the programs are larger and a basis is worth less.
FAR_WITH_SIGMA = 1.0
#: Going up to larger budgets takes this much longer than going down.
UPWARDS = 1.6
#: With more cuts than this in the model it starts again without any.
MAX_CUTS = 20_000
#: More rounds of cuts than this do not pay.
MAX_ROUNDS = 60
#: Feasible up to this much, relative to the right-hand side: what solvers call feasible, with some room.
TOLERANCE = 1e-5
#: Beyond this many entries a cold start goes to the interior point method if several types are in play …
IPM_ENTRIES = 60_000
#: … and rows hold few entries each; long rows (fields of edges) cost it more than the simplex method …
DENSE_ROW = 100
#: … and beyond this many rows in any case.
IPM_ROWS = 15_000

#: Programs with more groups than this, or with σ and more entries than this, go by way of a restricted master. Smaller
#: ones are as quick as a whole from the second budget on, because then a basis of all of it is at hand.
LARGE_GROUPS, LARGE_ENTRIES_WITH_SIGMA = 5_000, 1_000_000
#: So do attribute additions and deletions together from this many entries on: at 235,000 (Cora-ML) the first cell takes
#: a quarter of the time and a step half of it, at 61,000 (Citeseer) steps take the same time.
LARGE_ENTRIES_OF_ATTRIBUTES = 150_000

ModelFactory = Callable[..., HighsModel]
"""Makes a model of a program; `integer=True` asks for whole numbers."""


@dataclass(frozen=True, eq=False)
class BoundResult:
    """A proven bound at one place, what proves it, and how good it is at best."""

    point: BudgetPoint
    bound: Fraction
    """How many targets can be attacked at most."""
    lower: float
    """The relaxed optimum is at least this, as far as floating point can tell. It saves solves and is never a bound."""
    status: Status
    x: np.ndarray | None
    """The relaxed solution: a proposal, used for pictures and as a start for attacks."""
    duals: IntegerDuals | None
    """None if the bound follows without any, or from another place."""
    seconds: float
    solves: int


@dataclass(frozen=True, eq=False)
class _Attempt:
    """What one solve brought: its proven bound, the value of its solution, and whether both fit together."""

    solution: Solution
    value: float
    """How many targets the solution breaks; nothing if it is not feasible."""
    bound: Fraction | None
    duals: IntegerDuals | None
    trusted: bool
    """Not so if the solver failed, or calls something optimal that its dual values do not prove."""

    @property
    def finished(self) -> bool:
        return self.solution.status is Status.OPTIMAL


class Solver:
    """A structure with its model in HiGHS, known bases and known dual values. Thread-safe.

    One solve runs at a time; `best` answers from what is known without waiting for it.
    """

    def __init__(
        self,
        problem: Problem,
        relaxation: Relaxation,
        extent: tuple[int, ...] | None = None,
        *,
        factory: ModelFactory = HighsModel,
    ) -> None:
        self.problem = problem
        self.structure: Structure = build_structure(problem, relaxation, extent)
        self._factory = FoldedModel if factory is HighsModel and can_be_folded(self.structure) else factory
        self._lock = threading.RLock()
        self._large = large_program(self.structure) if is_large(self.structure) else None
        self._model: HighsModel | None = None
        self._cuts = Cuts.none()
        self._cut_rows: Rows | None = None
        self._at: BudgetPoint | None = None
        self._bases: list[tuple[BudgetPoint, int, Any]] = []
        self._known: tuple[tuple[BudgetPoint, IntegerDuals], ...] = ()
        self._answers: OrderedDict[BudgetPoint, BoundResult] = OrderedDict()
        self._with_x: deque[BudgetPoint] = deque()
        self._free: Solver | None = None
        """The program without σ, made where the solver fails."""
        self.solves = 0

    # What is known without solving.

    def program(self, point: BudgetPoint) -> Program:
        """The program at a place, without cuts."""
        return Program(self.structure, *point)

    def answer_at(self, point: BudgetPoint) -> BoundResult | None:
        """The final answer at a place, if there is one."""
        return self._answers.get(point)

    def best(self, point: BudgetPoint) -> tuple[Fraction, IntegerDuals | None]:
        """The best bound at a place that follows from what is known."""
        program = self.program(point)
        best, by = plain_bound(program), None
        for _, duals in self._known:
            bound = duals.bound(program)
            if bound < best:
                best, by = bound, duals
        for answer in list(self._answers.values()):
            # An attacker with more budget can do all that one with less can.
            if covers(answer.point, point) and answer.bound < best:
                best, by = answer.bound, None
        return best, by

    # Solving.

    def solve(
        self, point: BudgetPoint, *, time_limit: float, cancel: threading.Event | None = None, want_x: bool = False
    ) -> BoundResult:
        """The proven bound at a place; from memory if it is there."""
        started = time.perf_counter()
        while not self._lock.acquire(timeout=0.02):
            if cancel is not None and cancel.is_set():
                return self._unsolved(point, Status.INTERRUPTED)
            if time.perf_counter() - started > time_limit:
                return self._unsolved(point, Status.TIME_LIMIT)
        try:
            found = self._answers.get(point)
            if found is not None and (found.x is not None or not want_x):
                return found
            answer = self._solve(point, time_limit - (time.perf_counter() - started), cancel)
            if answer.status.is_final:
                self._remember(answer)
            elif answer.duals is not None:
                self._know(point, answer.duals)
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

    def _unsolved(self, point: BudgetPoint, status: Status) -> BoundResult:
        bound, duals = self.best(point)
        return BoundResult(point, bound, 0.0, status, None, duals, 0.0, 0)

    def _solve(self, point: BudgetPoint, time_limit: float, cancel: threading.Event | None) -> BoundResult:
        """Solve at a place; with σ, add the cuts that the solution violates and solve again, until there are none."""
        deadline = time.perf_counter() + time_limit
        program = self.program(point)
        best, by = plain_bound(program), None
        lower = float(self.structure.constant)
        if best == self.structure.constant:
            return BoundResult(point, best, lower, Status.OPTIMAL, np.zeros(self.structure.columns.count), None, 0.0, 0)
        repaired_at = counting_bound(program)
        if repaired_at is not None:
            bound = repaired_at[0].bound(program)
            return BoundResult(point, bound, float(bound), Status.OPTIMAL, repaired_at[1], repaired_at[0], 0.0, 0)
        if self._large is not None:
            answer = self._solve_large(self._large, program, deadline, cancel)
            if answer.status is not Status.FAILED:
                return answer
            best, by = answer.bound, answer.duals
        if len(self._cuts) > MAX_CUTS:
            self._forget_cuts()
        method = self._start(point, program)
        status, solves, x, basis, recomputed = Status.TIME_LIMIT, 0, None, None, False
        for _ in range(MAX_ROUNDS):
            attempt = self._attempt(program, method, deadline, cancel)
            solves += 1
            if not attempt.trusted:
                # No answer, or one that does not stand up to its check: once more, cold, by the other method.
                if attempt.bound is not None and attempt.bound < best:
                    best, by = attempt.bound, attempt.duals
                self._forget_model()
                self._fresh(program)
                other = Method.INTERIOR_POINT if method is Method.SIMPLEX else Method.SIMPLEX
                attempt = self._attempt(program, other, deadline, cancel)
                solves, recomputed = solves + 1, True
            if attempt.bound is not None and (attempt.bound < best or (by is None and attempt.bound == best)):
                best, by = attempt.bound, attempt.duals  # of equal ones, those with fewer cuts
            if not attempt.finished or not attempt.trusted:
                status = Status.FAILED if attempt.finished else attempt.solution.status
                break
            x, lower, basis = attempt.solution.x, attempt.value, attempt.solution.basis
            assert x is not None
            new = violated(self.structure, x, self._cuts)
            if not len(new):
                status = Status.RECOMPUTED if recomputed else Status.OPTIMAL
                break
            self._add_cuts(new)
            method = Method.SIMPLEX
        self.solves += solves
        if status.is_final:
            self._keep_basis(point, basis)
        else:
            best, by = min((best, by), self.best(point), key=lambda pair: pair[0])
            if status is Status.FAILED or attempt.solution.basis is None:
                self._forget_model()
            if status is Status.FAILED and self.structure.has_sigma:
                # Of bounds that certify as many targets, the first: one with dual values before one without.
                known = [(best, by), *self._without_sigma(program, deadline, cancel)]
                best, by = min(known, key=lambda pair: math.floor(pair[0]))
        return BoundResult(point, best, lower, status, x, by, 0.0, solves)

    def _without_sigma(
        self, program: Program, deadline: float, cancel: threading.Event | None
    ) -> list[tuple[Fraction, IntegerDuals | None]]:
        """What is proven for attackers without number, who can do all that σ of them can.

        The program without σ has the rows of this one but those about attackers: its dual values do here, too, with
        what an edge is worth beyond its price on the row that lets one end pay for it, and both ends of an addition
        priced alike. A block of another length (nodes where tokens may stand) is left out: that is never
        wrong and may prove less, so that the number itself is given too.
        """
        s = self.structure
        if self._free is None:
            threat = self.problem.threat.replace(sigma=None)
            like = Problem(self.problem.instance, threat, like=self.problem)
            self._free = Solver(like, s.relaxation, s.extent, factory=self._factory)
        left = deadline - time.perf_counter()
        answer = self._free.solve((program.budgets, None), time_limit=left, cancel=cancel, want_x=True)
        result: list[tuple[Fraction, IntegerDuals | None]] = [(answer.bound, None)]
        if answer.duals is None:
            return result
        y = np.zeros(s.matrix.shape[0], dtype=np.int64)
        for name, rows in self._free.structure.rows.items():
            for block in [s.rows[name], *([s.rows["other_ends"]] if name == "tokens" else [])]:
                if block.stop - block.start == rows.stop - rows.start:
                    y[block] = answer.duals.y[rows]
        found = IntegerDuals.of(s, y)
        if found is not None and "pair" in s.rows and s.rhs[s.rows["pair"]].any():
            pairs = sp.csr_array(s.matrix[s.rows["pair"]])
            y[s.rows["pair"]] = np.maximum(found.reduced_costs[pairs.indices[pairs.indptr[:-1]]], 0)
            found = IntegerDuals.of(s, y)
        return result if found is None else [(found.bound(program), found), *result]

    def _solve_large(
        self, large: Large, program: Program, deadline: float, cancel: threading.Event | None
    ) -> BoundResult:
        """The same by a restricted master; failed if its solution does not stand up to its check."""
        point = (program.budgets, program.sigma)
        left = deadline - time.perf_counter()
        found = large.solve(program, time_limit=left, cancel=cancel, publish=lambda m: self._know(point, m))
        self.solves += found.solves
        best, by, status = found.bound, found.duals, found.status
        lower = float(self.structure.constant)
        if found.x is not None:
            lower = max(lower, self.structure.constant + self._objective(program, found.x))
        if status is Status.OPTIMAL and float(best) - lower > 1e-3 + 1e-5 * float(best):
            status = Status.FAILED
        if status is Status.FAILED:
            large.forget()
        if not status.is_final:
            best, by = min((best, by), self.best(point), key=lambda pair: pair[0])
        return BoundResult(point, best, lower, status, found.x, by, 0.0, found.solves)

    def _attempt(self, program: Program, method: Method, deadline: float, cancel: threading.Event | None) -> _Attempt:
        """One solve and its check."""
        assert self._model is not None
        left = deadline - time.perf_counter()
        solution = self._model.solve(time_limit=left, cancel=cancel, method=method)
        objective = self._objective(program, solution.x)
        y = solution.duals
        duals = bound = None
        if y is not None and len(y) == self.structure.matrix.shape[0] + len(self._cuts):
            duals = IntegerDuals.of(self.structure, scaled(y), self._cuts, self._cut_rows)
        if duals is not None:
            duals = duals.repaired_at(program)
            bound = duals.bound(program)
        constant = self.structure.constant
        agrees = bound is not None and float(bound - constant) <= objective + 1e-3 + 1e-5 * abs(objective)
        trusted = agrees if solution.status is Status.OPTIMAL else solution.status is not Status.FAILED
        return _Attempt(solution, constant + objective, bound, duals, trusted)

    def _start(self, point: BudgetPoint, program: Program) -> Method:
        """Bring the model to a place and choose how to solve: from the nearest known basis, or cold."""
        budget_distance = distances([entry[0] for entry in self._bases], point)
        nearest = int(np.argmin(budget_distance)) if len(budget_distance) else -1
        if self._model is None:
            self._fresh(program)
            self._at = None
        else:
            self._model.update(program)
        assert self._model is not None
        if nearest < 0 or budget_distance[nearest] > (FAR_WITH_SIGMA if self.structure.has_sigma else FAR):
            self._model.clear()
            self._at = None
            return cold_method(self.structure)
        # The model's own basis comes with a factorisation: it is preferred unless another one is clearly nearer.
        if self._at is None or budget_distance[nearest] < 0.7 * distances([self._at], point)[0]:
            self._set_basis(*self._bases[nearest][1:])
        return Method.SIMPLEX

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

    def _add_cuts(self, new: Cuts) -> None:
        assert self._model is not None
        rows = new.rows(self.structure)
        self._model.add_rows(rows)
        self._cuts = self._cuts.plus(new)
        if self._cut_rows is not None:
            before = self._cut_rows
            matrix = sp.csr_array(sp.vstack([before.matrix, rows.matrix], "csr"))
            rows = Rows(matrix, np.concatenate([before.rhs, rows.rhs]))
        self._cut_rows = rows

    def _objective(self, program: Program, x: np.ndarray | None) -> float:
        """The objective of x if it is feasible up to a hair, else nothing."""
        if x is None or len(x) != len(program.upper) or not np.isfinite(x).all():
            return -math.inf
        wrong = max(float(-x.min(initial=0.0)), float((x - program.upper).max(initial=0.0)))
        for matrix, rhs in [(program.matrix, program.rhs), *([self._cut_rows] if self._cut_rows is not None else [])]:
            excess = (matrix @ x - rhs) / np.maximum(np.abs(rhs), 1)
            wrong = max(wrong, float(excess.max(initial=0.0)))
        return dot(program.objective, x) if wrong <= TOLERANCE else -math.inf

    # Memory.

    def _remember(self, answer: BoundResult) -> None:
        self._answers[answer.point] = answer
        self._answers.move_to_end(answer.point)
        while len(self._answers) > MAX_ANSWERS:
            self._answers.popitem(last=False)
        if answer.x is not None:
            self._with_x.append(answer.point)
        while len(self._with_x) > MAX_ALLOCATIONS:
            point = self._with_x.popleft()
            if point in self._answers and point not in self._with_x:
                self._answers[point] = replace(self._answers[point], x=None, duals=None)
        if answer.duals is not None:
            self._know(answer.point, answer.duals)

    def _know(self, point: BudgetPoint, duals: IntegerDuals) -> None:
        """Keep dual values for `best`, in the place of those that were known there if they prove as much."""
        if any(known is duals for _, known in self._known):
            return
        before = next((known for at, known in self._known if at == point), None)
        if before is not None and before.bound(program := self.program(point)) < duals.bound(program):
            return
        entries = [entry for entry in self._known if entry[0] != point]
        entries.append((point, duals))
        if len(entries) > MAX_KNOWN:
            entries.pop(_crowded([known for known, _ in entries]))
        self._known = tuple(entries)

    def _keep_basis(self, point: BudgetPoint, basis: Any) -> None:
        self._at = point if basis is not None else None
        if basis is None:
            return
        self._bases = [entry for entry in self._bases if entry[0] != point]
        self._bases.append((point, len(self._cuts), basis))
        if len(self._bases) > MAX_BASES:
            self._bases.pop(_crowded([entry[0] for entry in self._bases]))


def is_large(structure: Structure) -> bool:
    """Whether the machine for large programs is the quicker one (where they cross was measured)."""
    usual = structure.columns.inner.start == structure.columns.inner.stop
    entries, both = structure.matrix.nnz, structure.types == (ATTR_ADD, ATTR_DEL)
    many = structure.has_sigma and entries > LARGE_ENTRIES_WITH_SIGMA
    if both and not structure.has_sigma and not structure.relaxation.has_indicators:
        many = entries > LARGE_ENTRIES_OF_ATTRIBUTES
    return usual and (many or len(structure.groups) > LARGE_GROUPS)


def cold_method(structure: Structure) -> Method:
    """Simplex for small programs, interior point for large ones (where they cross was measured).

    Division voting has many short rows between flips and points, where the simplex method is two to three times faster.
    """
    if structure.columns.inner.stop > structure.columns.inner.start:
        return Method.SIMPLEX
    rows, entries = structure.matrix.shape[0], structure.matrix.nnz
    slow = len(structure.types) > 1 and IPM_ENTRIES < entries <= DENSE_ROW * rows
    return Method.INTERIOR_POINT if slow or rows > IPM_ROWS else Method.SIMPLEX


@lru_cache(maxsize=4096)
def coordinates(point: BudgetPoint) -> np.ndarray:
    """Where a place is, on a scale on which distances are roughly proportional to the effort of getting there."""
    return np.log1p(np.array([*point[0], point[1] or 0], dtype=np.float64))


def distances(places: Sequence[BudgetPoint], to: BudgetPoint) -> np.ndarray:
    """How hard it is to get from each place to another one; upwards is harder, because points come in."""
    if not places:
        return np.zeros(0)
    steps = coordinates(to) - np.array([coordinates(point) for point in places])
    return np.asarray(np.where(steps > 0, UPWARDS * steps, -steps).sum(axis=1))


def covers(larger: BudgetPoint, smaller: BudgetPoint) -> bool:
    """Whether every attack within the smaller budgets is one within the larger budgets."""
    if (larger[1] is None) != (smaller[1] is None):
        return False
    sigma = larger[1] is None or smaller[1] is None or larger[1] >= smaller[1]
    return sigma and all(x >= y for x, y in zip(larger[0], smaller[0]))


def _crowded(places: list[BudgetPoint]) -> int:
    """The entry (not the newest) that is missed least: the one with the nearest neighbour."""
    at = np.array([coordinates(point) for point in places])
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
