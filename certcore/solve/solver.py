"""One program with its solver state: solve, verify exactly, retry with another method, add cuts, solve again.

Solver output is unverified. Its dual values are rounded to integers and their bound is evaluated exactly
(`certcore.verify.duals`). The value of its primal solution only shows how close that bound is to the optimum.
"""

from __future__ import annotations

import math
import threading
import time
from collections import OrderedDict, deque
from collections.abc import Callable
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any

import numpy as np
import scipy.sparse as sp

from certcore.common.products import dot
from certcore.domain.perturbations import ADJ_ADD, INJECT
from certcore.program.ballots import BallotsStructure
from certcore.program.build import build_structure
from certcore.program.cuts import Cuts, Rows, violated
from certcore.program.problem import Problem
from certcore.program.program import BudgetPoint, Program
from certcore.program.relaxation import Relaxation
from certcore.program.structure import Structure
from certcore.solve.engine import Method
from certcore.solve.large import Large
from certcore.solve.large_ballots import LargeBallots
from certcore.solve.large_sigma import LargeWithSigma
from certcore.solve.master import Proposal, WholeProgram
from certcore.solve.places import Places, distances, nearest
from certcore.solve.scaling import Scaling
from certcore.solve.status import Status
from certcore.solve.tuning import SOLVER
from certcore.verify.bound import scaled
from certcore.verify.duals import IntegerDuals, counting_bound, plain_bound, spread_duals

#: Bytes per entry of a program: its matrix and its copy in HiGHS.
BYTES_PER_ENTRY = 80
#: Bytes of a stored result without its vectors.
BYTES_PER_ANSWER = 1_000

ModelFactory = Callable[..., WholeProgram]
"""Builds a solver model of a program; `integer=True` makes it an integer program."""


@dataclass(frozen=True, eq=False)
class BoundResult:
    """A proven bound at one budget point, its dual values, and a lower estimate of the optimum."""

    point: BudgetPoint
    bound: Fraction
    """The largest number of targets that can be attacked."""
    lower: float
    """A floating-point lower estimate of the relaxed optimum. It saves solves and is never used as a bound."""
    status: Status
    x: np.ndarray | None
    """The relaxed solution, unverified; used in figures and to start attacks."""
    duals: IntegerDuals | None
    """None if the bound needs no dual values or comes from another budget point."""
    seconds: float
    solves: int


@dataclass(frozen=True, eq=False)
class _Attempt:
    """The result of one solve: its proven bound, the value of its solution, and whether the two agree."""

    solution: Proposal
    value: float
    """The value of the solution; −∞ if it is not feasible."""
    bound: Fraction | None
    duals: IntegerDuals | None
    trusted: bool
    """False if the solver failed or its dual values do not prove the optimality it claims."""

    @property
    def finished(self) -> bool:
        return self.solution.status is Status.OPTIMAL


class Solver:
    """A structure with its HiGHS model, known bases and known dual values. Thread-safe.

    One solve runs at a time. `best` uses known results and does not wait for a running solve.
    """

    def __init__(
        self,
        problem: Problem,
        relaxation: Relaxation,
        extent: tuple[int, ...] | None = None,
        *,
        factory: ModelFactory = WholeProgram,
    ) -> None:
        self.problem = problem
        self.structure: Structure = build_structure(problem, relaxation, extent)
        self._scaling = Scaling(self.structure)
        self._factory = factory
        self._lock = threading.RLock()
        self._large = large_solver(self.structure) if is_large(self.structure, once=extent is None) else None
        self._model: WholeProgram | None = None
        self._cuts = Cuts.none()
        self._cut_rows: Rows | None = None
        self._at: BudgetPoint | None = None
        self._bases: Places[tuple[int, Any]] = Places(SOLVER.max_bases)
        """The number of cuts in the model, and its basis."""
        self._known: Places[IntegerDuals] = Places(SOLVER.max_known)
        self._answers: OrderedDict[BudgetPoint, BoundResult] = OrderedDict()
        self._with_x: deque[BudgetPoint] = deque()
        self._free: Solver | None = None
        """Solver for the program without σ, built if a solve with σ fails."""
        self.solves = 0

    # What is known without solving.

    def program(self, point: BudgetPoint) -> Program:
        """The program at a budget point, without cuts."""
        return Program(self.structure, *point)

    def answer_at(self, point: BudgetPoint) -> BoundResult | None:
        """The final result at a budget point, if it is known."""
        return self._answers.get(point)

    def best(self, point: BudgetPoint) -> tuple[Fraction, IntegerDuals | None]:
        """The best bound at a budget point that follows from known results."""
        program = self.program(point)
        best, by = plain_bound(program), None
        for duals in self._known:
            bound = duals.bound(program)
            if bound < best:
                best, by = bound, duals
        for answer in list(self._answers.values()):
            # A bound at larger budgets holds at smaller ones.
            if covers(answer.point, point) and answer.bound < best:
                best, by = answer.bound, None
        return best, by

    # Solving.

    def solve(
        self, point: BudgetPoint, *, time_limit: float, cancel: threading.Event | None = None, want_x: bool = False
    ) -> BoundResult:
        """The proven bound at a budget point; cached if it is known."""
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

    @property
    def bytes(self) -> int:
        """An estimate of the memory of the program and of what is stored for later requests."""
        rows, columns = self.structure.matrix.shape
        vectors = len(self._bases) + 2 * len(self._known) + 3 * len(self._with_x)
        stored = 8 * (rows + columns) * vectors + BYTES_PER_ANSWER * len(self._answers)
        return BYTES_PER_ENTRY * self.structure.matrix.nnz + stored

    def adopt(self, other: Solver) -> None:
        """Take over the bases of another program with the same rows and columns but other caps."""
        mine, theirs = self.structure.matrix, other.structure.matrix
        if (
            not len(self._bases)
            and not len(self._cuts)
            and mine.shape == theirs.shape
            and np.array_equal(mine.indptr, theirs.indptr)
            and np.array_equal(mine.indices, theirs.indices)
        ):
            with self._lock:
                self._bases.entries = tuple(entry for entry in other._bases.entries if entry[1][0] == 0)

    def _unsolved(self, point: BudgetPoint, status: Status) -> BoundResult:
        bound, duals = self.best(point)
        return BoundResult(point, bound, 0.0, status, None, duals, 0.0, 0)

    def _solve(self, point: BudgetPoint, time_limit: float, cancel: threading.Event | None) -> BoundResult:
        """Solve at a budget point; with σ, add violated cuts and solve again until there are none."""
        deadline = time.perf_counter() + time_limit
        program = self.program(point)
        best, by = plain_bound(program), None
        lower = float(self.structure.constant)
        if best == self.structure.constant:
            return BoundResult(point, best, lower, Status.OPTIMAL, np.zeros(self.structure.columns.count), None, 0.0, 0)
        repaired_at = counting_bound(program)
        if repaired_at is not None and not program.amounts[INJECT]:
            bound = repaired_at[0].bound(program)
            return BoundResult(point, bound, float(bound), Status.OPTIMAL, repaired_at[1], repaired_at[0], 0.0, 0)
        # A new node joins each target once, which counting ignores: with new nodes it is only a first bound.
        first = spread_duals(program) if repaired_at is None else repaired_at[0]
        if first is not None and first.bound(program) < best:
            best, by = first.bound(program), first
            self._know(point, first)
        if self._large is not None:
            answer = self._solve_large(self._large, program, deadline, cancel)
            if answer.status is not Status.FAILED:
                return answer if answer.bound <= best else replace(answer, bound=best, duals=by)
            best, by = answer.bound, answer.duals
        if len(self._cuts) > SOLVER.max_cuts:
            self._forget_cuts()
        method = self._start(point, program)
        status, solves, x, basis, recomputed = Status.ROUNDS, 0, None, None, False
        for _ in range(SOLVER.max_rounds):
            attempt = self._attempt(program, method, deadline, cancel, best)
            solves += 1
            if not attempt.trusted:
                if attempt.bound is not None and attempt.bound < best:
                    best, by = attempt.bound, attempt.duals
                attempt = self._other_attempt(program, method, deadline, cancel, best)
                solves, recomputed = solves + 1, True
            if attempt.bound is not None and (attempt.bound < best or (by is None and attempt.bound == best)):
                best, by = attempt.bound, attempt.duals  # on ties, prefer fewer cuts
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
            lower = float(self.structure.constant)  # a solution that violates cuts breaks more than any that does not
            best, by = min((best, by), self.best(point), key=lambda pair: pair[0])
            if status is Status.FAILED or attempt.solution.basis is None:
                self._forget_model()
            if status is Status.FAILED and self.structure.has_sigma:
                # Among bounds that certify equally many targets take the first: bounds with dual values precede those
                # without.
                known = [(best, by), *self._without_sigma(program, deadline, cancel)]
                best, by = min(known, key=lambda pair: math.floor(pair[0]))
        return BoundResult(point, best, lower, status, x, by, 0.0, solves)

    def _without_sigma(
        self, program: Program, deadline: float, cancel: threading.Event | None
    ) -> list[tuple[Fraction, IntegerDuals | None]]:
        """Bounds without the limit σ, which also hold with σ because that attacker is weaker.

        The program without σ has the same rows except those about attackers. Its dual values are copied block by block.
        Pair rows then get the remaining positive reduced cost of their edge, and both ends of an added edge get the
        same dual value. Blocks of a different length get dual values of 0. The result is valid but may be weaker, so
        the bound without dual values is returned as well.
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
            block = s.rows[name]
            if block.stop - block.start == rows.stop - rows.start:
                y[block] = answer.duals.y[rows]
        if "other_ends" in s.rows:
            y[s.rows["other_ends"]] = y[s.global_row[ADJ_ADD]]
            y[s.global_row[ADJ_ADD]] *= self._free.structure.units[ADJ_ADD]
        found = IntegerDuals.of(s, y)
        if found is not None and "pair" in s.rows and s.rhs[s.rows["pair"]].any():
            pairs = sp.csr_array(s.matrix[s.rows["pair"]])
            y[s.rows["pair"]] = np.maximum(found.reduced_costs[pairs.indices[pairs.indptr[:-1]]], 0)
            found = IntegerDuals.of(s, y)
        return result if found is None else [(found.bound(program), found), *result]

    def _solve_large(
        self, large: Large | LargeBallots, program: Program, deadline: float, cancel: threading.Event | None
    ) -> BoundResult:
        """The same with a restricted master; the status is failed if its solution does not pass verification."""
        point = (program.budgets, program.sigma)
        left = deadline - time.perf_counter()
        found = large.solve(program, time_limit=left, cancel=cancel, publish=lambda m: self._know(point, m))
        self.solves += found.solves
        best, by, status = found.bound, found.duals, found.status
        lower = float(self.structure.constant)
        if found.x is not None:
            lower = max(lower, self.structure.constant + self._objective(program, found.x))
        if status is Status.OPTIMAL and float(best) - lower > 1e-3 * self.structure.mean_weight + 1e-5 * float(best):
            status = Status.FAILED
        if status is Status.FAILED:
            large.forget()
        if not status.is_final:
            best, by = min((best, by), self.best(point), key=lambda pair: pair[0])
        return BoundResult(point, best, lower, status, found.x, by, 0.0, found.solves)

    def _attempt(
        self, program: Program, method: Method, deadline: float, cancel: threading.Event | None, known: Fraction
    ) -> _Attempt:
        """One solve and its verification: its solution is optimal if its dual values or a known bound prove it."""
        assert self._model is not None
        left = deadline - time.perf_counter()
        solution = self._model.solve(time_limit=left, cancel=cancel, method=method)
        objective = self._objective(program, solution.x)
        y = solution.y
        duals = bound = None
        if y is not None and len(y) == self.structure.matrix.shape[0] + len(self._cuts):
            duals = IntegerDuals.of(self.structure, scaled(y, self.structure.scale_bits), self._cuts, self._cut_rows)
        if duals is not None:
            duals = duals.repaired_at(program)
            bound = duals.bound(program)
        constant = self.structure.constant
        least = known if bound is None else min(bound, known)
        agrees = float(least - constant) <= objective + 1e-3 * self.structure.mean_weight + 1e-5 * abs(objective)
        trusted = agrees if solution.status is Status.OPTIMAL else solution.status is not Status.FAILED
        return _Attempt(solution, constant + objective, bound, duals, trusted)

    def _other_attempt(
        self, program: Program, method: Method, deadline: float, cancel: threading.Event | None, known: Fraction
    ) -> _Attempt:
        """Retry from a cold start with the other method, after a solve that failed or did not pass verification."""
        self._forget_model()
        self._fresh(program)
        other = Method.INTERIOR_POINT if method is Method.SIMPLEX else Method.SIMPLEX
        return self._attempt(program, other, deadline, cancel, known)

    def _start(self, point: BudgetPoint, program: Program) -> Method:
        """Move the model to a budget point and choose the method: from the nearest known basis, or cold."""
        far = SOLVER.far_with_sigma if self.structure.has_sigma else SOLVER.far
        known = nearest(self._bases.points, point, far)
        if self._model is None:
            self._fresh(program)
            self._at = None
        else:
            self._model.move(program)
        assert self._model is not None
        if known is None:
            self._model.clear()
            self._at = None
            return cold_method(self.structure)
        place, basis = self._bases.entries[known]
        # The model's own basis has a factorisation, so another one is used only if it is clearly nearer.
        if self._at is None or distances([place], point)[0] < 0.7 * distances([self._at], point)[0]:
            self._set_basis(*basis)
        return Method.SIMPLEX

    def _fresh(self, program: Program) -> None:
        self._model = self._factory(program)
        if self._cut_rows is not None:
            self._model.add_rows(*self._cut_rows)

    def _set_basis(self, n_cuts: int, basis: Any) -> None:
        """Set the model's basis; slacks of cuts added since are basic."""
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
        self._cuts, self._cut_rows, self._bases = Cuts.none(), None, Places(SOLVER.max_bases)

    def _add_cuts(self, new: Cuts) -> None:
        assert self._model is not None
        rows = new.rows(self.structure)
        self._model.add_rows(*rows)
        self._cuts = self._cuts.plus(new)
        if self._cut_rows is not None:
            before = self._cut_rows
            matrix = sp.csr_array(sp.vstack([before.matrix, rows.matrix], "csr"))
            rows = Rows(matrix, np.concatenate([before.rhs, rows.rhs]))
        self._cut_rows = rows

    def _objective(self, program: Program, x: np.ndarray | None) -> float:
        """The objective of x if it is feasible up to the tolerance, else −∞."""
        if x is None or len(x) != len(program.upper) or not np.isfinite(x).all():
            return -math.inf
        unit = self._scaling.of_columns(np.arange(len(x)))
        wrong = max(float(-(x / unit).min(initial=0.0)), float(((x - program.upper) / unit).max(initial=0.0)))
        for matrix, rhs in [(program.matrix, program.rhs), *([self._cut_rows] if self._cut_rows is not None else [])]:
            unit = self._scaling.of_rows(np.arange(len(rhs))) if matrix is program.matrix else np.ones(len(rhs))
            excess = (matrix @ x - rhs) / np.maximum(np.abs(rhs), unit)
            wrong = max(wrong, float(excess.max(initial=0.0)))
        return dot(program.objective, x) if wrong <= SOLVER.tolerance else -math.inf

    # Stored results.

    def _remember(self, answer: BoundResult) -> None:
        self._answers[answer.point] = answer
        self._answers.move_to_end(answer.point)
        while len(self._answers) > SOLVER.max_answers:
            self._answers.popitem(last=False)
        if answer.x is not None:
            self._with_x.append(answer.point)
        while len(self._with_x) > SOLVER.max_allocations:
            point = self._with_x.popleft()
            if point in self._answers and point not in self._with_x:
                self._answers[point] = replace(self._answers[point], x=None, duals=None)
        if answer.duals is not None:
            self._know(answer.point, answer.duals)

    def _know(self, point: BudgetPoint, duals: IntegerDuals) -> None:
        """Store dual values for `best`; they replace those at the same budget point if they prove at least as much."""
        before = self._known.at(point)
        if any(known is duals for known in self._known):
            return
        if before is not None and before.bound(program := self.program(point)) < duals.bound(program):
            return
        self._known.keep(point, duals)

    def _keep_basis(self, point: BudgetPoint, basis: Any) -> None:
        self._at = point if basis is not None else None
        if basis is None:
            return
        self._bases.keep(point, (len(self._cuts), basis))


def is_large(structure: Structure, *, once: bool) -> bool:
    """Whether the method for large programs is faster (thresholds were measured); `once`: for one budget point."""
    if isinstance(structure, BallotsStructure):
        return len(structure.groups) > SOLVER.large_ballots
    entries, many = structure.matrix.nnz, False
    if structure.has_sigma:
        many = entries > SOLVER.large_entries_with_sigma
    elif not structure.relaxation.has_indicators and (once or len(structure.types) > 1):
        many = entries > SOLVER.large_entries
    return many or len(structure.groups) > SOLVER.large_groups


def large_solver(structure: Structure) -> Large | LargeBallots:
    """The method for a large structure."""
    if isinstance(structure, BallotsStructure):
        return LargeBallots(structure)
    return LargeWithSigma(structure) if structure.has_sigma else Large(structure)


def cold_method(structure: Structure) -> Method:
    """Simplex for small programs, interior point for large ones (thresholds were measured).

    Ballots have many short rows between flips and points, where simplex is faster.
    """
    if not structure.has_fields:
        return Method.SIMPLEX
    rows, entries = structure.matrix.shape[0], structure.matrix.nnz
    slow = len(structure.types) > 1 and SOLVER.ipm_entries < entries <= SOLVER.dense_row * rows
    return Method.INTERIOR_POINT if slow or rows > SOLVER.ipm_rows else Method.SIMPLEX


def covers(larger: BudgetPoint, smaller: BudgetPoint) -> bool:
    """Whether every attack within the smaller budgets is also within the larger budgets."""
    if (larger[1] is None) != (smaller[1] is None):
        return False
    sigma = larger[1] is None or smaller[1] is None or larger[1] >= smaller[1]
    return sigma and all(x >= y for x, y in zip(larger[0], smaller[0]))


def _extended(basis: Any, rows: int) -> Any:
    """Extend a basis to more rows, whose slacks are basic."""
    import highspy

    longer = highspy.HighsBasis()
    longer.col_status = basis.col_status
    longer.row_status = [*basis.row_status, *[highspy.HighsBasisStatus.kBasic] * rows]
    longer.valid = True
    return longer
