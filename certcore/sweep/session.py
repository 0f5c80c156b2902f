"""A session: certificates of one instance fast enough for sliders, reusing programs, bases and dual values."""

from __future__ import annotations

import threading
import time
from collections import OrderedDict
from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any, Unpack

from certcore.common.interrupt import interruptible, run_or_leave
from certcore.domain.perturbations import TYPES
from certcore.domain.threat import MAX_BUDGET, Budgets, ThreatModel, read_threat
from certcore.instance.instance import Instance
from certcore.program.problem import Problem
from certcore.program.program import BudgetPoint
from certcore.program.relaxation import Relaxation
from certcore.result.allocation import Allocation
from certcore.result.assemble import from_answer, from_totals, with_bound
from certcore.result.certificate import Certificate
from certcore.result.tripwire import check_count, remember
from certcore.solve.highs import HighsModel
from certcore.solve.solver import ModelFactory, Solver, covers
from certcore.solve.status import Status
from certcore.solve.strong import Progress
from certcore.sweep.family import ThreatFamily
from certcore.sweep.solve_options import SolveOptions
from certcore.sweep.strong import Searches
from certcore.verify.proof import certified_count, whole_graph_attacked

#: MAX_SOLVERS: maximum number of stored programs.
#: MAX_ENTRIES: maximum number of their matrix entries together (about 80 bytes each).
MAX_SOLVERS, MAX_ENTRIES = 24, 12_000_000
#: Maximum number of stored attacks, which start later searches.
MAX_ATTACKS = 64


class Cancelled(Exception):
    """The request was cancelled before its program was built."""


@dataclass(frozen=True)
class Preview:
    """A sound bound from known results; a solve may give a better one."""

    targets: int
    certified: int
    naive_certified: int
    bound: Fraction
    final: bool
    """Whether this is already the result of a finished solve."""
    seconds: float

    @property
    def ratio(self) -> float:
        """Certified ratio; 0 if there are no targets."""
        return self.certified / self.targets if self.targets else 0.0


class Session:
    """Certificates of one instance, each starting from the results of earlier ones. Thread-safe.

    One program is built and kept in HiGHS for each structure (types in play, local budgets, σ or not, targets,
    protection, costs, relaxation). Later requests change its bounds and start from the nearest known basis. Every
    result is verified; if verification fails, the program is solved again from scratch.
    """

    def __init__(
        self,
        instance: Instance,
        *,
        factory: ModelFactory = HighsModel,
        max_solvers: int = MAX_SOLVERS,
        once: bool = False,
    ) -> None:
        self.instance = instance
        self._factory = factory
        self._max_solvers = max_solvers
        self._once = once
        """Build programs for exactly the requested budgets: smaller and usable for proofs, but not reusable."""
        self._lock = threading.Lock()
        self._building: dict[Any, threading.Lock] = {}
        self._solvers: OrderedDict[Any, Solver] = OrderedDict()
        self._past_solves = 0
        self._searches = Searches()
        self._attacks: OrderedDict[tuple[ThreatFamily, BudgetPoint], Allocation] = OrderedDict()

    def certify(
        self,
        threat: ThreatModel,
        *,
        relaxation: str = "tight",
        time_limit: float | None = None,
        rounds: int | None = None,
        attack: bool = True,
        proof: bool = False,
        cancel: threading.Event | None = None,
        progress: Callable[[Progress], None] | None = None,
    ) -> Certificate:
        """The collective certificate, as from `certcore.certify`, but fast after similar requests.

        `attack=False` skips the search for an integer attack, which takes up to two seconds (except for `strong`, whose
        stopping rule needs an attack). After `cancel` is set, the call returns the best known bound within a tenth of a
        second. A strong search continues where an earlier request for the same threat model stopped; `time_limit` and
        `rounds` are totals. `progress` is called with each proven improvement of it.
        """
        options = SolveOptions.read(relaxation, time_limit, rounds)
        form = options.relaxation
        started = time.perf_counter()
        problem = Problem(self.instance, threat)

        def work() -> Certificate:
            if form is Relaxation.STRONG and not problem.has_strong_rows:
                # Strong rows are not valid for this program: the tight relaxation is used and reported.
                tight = SolveOptions(Relaxation.TIGHT, options.seconds)
                return self._certify(problem, tight, attack, proof, cancel, started)
            if form is Relaxation.STRONG and not problem.whole_graph:
                return self._strong(problem, options, proof, cancel, started, progress)
            return self._certify(problem, options, attack, proof, cancel, started)

        if cancel is None or self._once:
            return work()
        return run_or_leave(work, cancel, lambda: self._interrupted(problem, form, started))

    def preview(self, threat: ThreatModel, *, relaxation: str = "tight") -> Preview:
        """A sound bound within milliseconds: from stored dual values, larger budgets or the naive certificate."""
        started = time.perf_counter()
        form = Relaxation.parse(relaxation, "the relaxation")
        problem = Problem(self.instance, threat)
        targets, naive = len(problem.targets), problem.naive_certified
        if problem.whole_graph:
            bound, final = Fraction(whole_graph_attacked(problem)), True
        else:
            bound, final = self._best_known(problem, form)
        count = certified_count(targets, bound)
        check_count(self.instance, problem.threat, targets, count)
        return Preview(targets, count, naive, bound, final, time.perf_counter() - started)

    def proof(
        self,
        threat: ThreatModel,
        *,
        relaxation: str = "tight",
        time_limit: float | None = None,
        rounds: int | None = None,
        cancel: threading.Event | None = None,
    ) -> dict[str, Any] | None:
        """The content of a proof file, solved on its own minimal program; None if cancelled first."""
        form = Relaxation.parse(relaxation, "the relaxation")
        if form is Relaxation.STRONG:
            options: dict[str, Any] = {"time_limit": time_limit, "rounds": rounds, "cancel": cancel, "proof": True}
            return self.certify(threat, relaxation=form, **options).proof
        relaxed = form.relaxed
        return certify(self.instance, threat, relaxation=relaxed, attack=False, cancel=cancel).proof

    def solver(
        self,
        threat: ThreatModel,
        relaxation: str = "tight",
        types: Iterable[int] = (),
        cancel: threading.Event | None = None,
    ) -> Solver:
        """The stored program for this threat model, built if needed; `types` are further perturbation types in play.

        Raises `Cancelled` if cancelled before it is built; building then continues in the background.
        """
        form = Relaxation.parse(relaxation, "the relaxation")
        if cancel is None:
            return self._solver(threat, form, types)
        found = run_or_leave(lambda: self._solver(threat, form, types), cancel, lambda: None)
        if found is None:
            raise Cancelled
        return found

    def _solver(self, threat: ThreatModel, relaxation: Relaxation, types: Iterable[int]) -> Solver:
        own = [k for k in range(len(TYPES)) if threat.budgets[k] > 0]
        wanted = tuple(sorted({*own, *types}))
        key = (wanted, ThreatFamily.of(threat), relaxation, threat.budgets if self._once else None)
        with self._lock:
            found = self._solvers.get(key)
            if found is not None:
                self._solvers.move_to_end(key)
                return found
            gate = self._building.setdefault(key, threading.Lock())
        with gate:
            with self._lock:
                found = self._solvers.get(key)
            if found is None:
                full = threat.with_types(wanted)
                extent = None if self._once else tuple(MAX_BUDGET if b > 0 else 0 for b in full.budgets)
                found = Solver(Problem(self.instance, full), relaxation, extent, factory=self._factory)
                with self._lock:
                    self._solvers[key] = found
                    self._evict()
                    self._building.pop(key, None)
        return found

    def _evict(self) -> None:
        """Drop the least recently used programs."""
        entries = sum(solver.structure.matrix.nnz for solver in self._solvers.values())
        while len(self._solvers) > 1 and (len(self._solvers) > self._max_solvers or entries > MAX_ENTRIES):
            _, gone = self._solvers.popitem(last=False)
            entries -= gone.structure.matrix.nnz
            self._past_solves += gone.solves

    @property
    def solves(self) -> int:
        """Number of programs solved so far."""
        with self._lock:
            return self._past_solves + sum(solver.solves for solver in self._solvers.values())

    def _certify(
        self,
        problem: Problem,
        options: SolveOptions,
        attack: bool,
        proof: bool,
        cancel: threading.Event | None,
        started: float,
    ) -> Certificate:
        threat, relaxation, limit = problem.threat, options.relaxation, options.seconds
        if problem.whole_graph:
            certificate = from_totals(problem, relaxation, started=started, attack=attack, proof=proof)
            self._keep_attack(problem, certificate)
            return certificate
        solver = self.solver(threat, relaxation.relaxed)
        left = limit - (time.perf_counter() - started)
        answer = solver.solve((threat.budgets, threat.sigma), time_limit=left, cancel=cancel, want_x=True)
        if not answer.status.is_final and not self._once:
            known, _ = self._best_known(problem, relaxation)
            if known < answer.bound:
                answer = replace(answer, bound=known, duals=None)
        search = attack and (self._once or cancel is None or not cancel.is_set())
        certificate = from_answer(
            replace(problem, like=solver.problem),
            solver.structure,
            answer,
            relaxation,
            started=started,
            limit=limit,
            attacks=self._known_attacks(problem) if search else None,
            proof=proof and self._once,
            factory=self._factory,
            cancel=cancel,
        )
        self._keep_attack(problem, certificate)
        found = self.proof(threat, relaxation=relaxation.relaxed, cancel=cancel) if proof and not self._once else None
        return certificate if found is None else _with_proof(certificate, found)

    def _strong(
        self,
        problem: Problem,
        options: SolveOptions,
        proof: bool,
        cancel: threading.Event | None,
        started: float,
        progress: Callable[[Progress], None] | None,
    ) -> Certificate:
        """Start or continue a strong search; it never certifies less than known results."""
        certificate = self._searches.certify(
            problem,
            ThreatFamily.of(problem.threat),
            started=started,
            limit=options.seconds,
            rounds=options.rounds,
            proof=proof,
            cancel=cancel,
            progress=progress,
            attacks=self._known_attacks(problem) if options.rounds is None else [],
        )
        self._keep_attack(problem, certificate)
        bound = certificate.bound if proof else min(certificate.bound, self._best_known(problem, Relaxation.STRONG)[0])
        count = certified_count(certificate.targets, bound)
        return replace(certificate, bound=bound, certified=count, verified_certified=count)

    def _known_attacks(self, problem: Problem) -> list[Allocation]:
        """The best attacks found at smaller budgets of the same threat model, strongest first."""
        family, point = ThreatFamily.of(problem.threat), (problem.threat.budgets, problem.threat.sigma)
        with self._lock:
            found = [attack for (of, at), attack in self._attacks.items() if of == family and covers(point, at)]
        return sorted(found, key=lambda attack: -float(attack.attacked.sum()))[:4]

    def best_attack(self, threat: ThreatModel) -> int:
        """Targets broken by the best attack found so far within these budgets; 0 if none was found."""
        known = self._known_attacks(Problem(self.instance, threat))
        return int(known[0].attacked.sum()) if known else 0

    def _keep_attack(self, problem: Problem, certificate: Certificate) -> None:
        if certificate.attack is None:
            return
        remember(self.instance, problem.threat, int(certificate.attack.attacked.sum()))
        key = (ThreatFamily.of(problem.threat), (problem.threat.budgets, problem.threat.sigma))
        with self._lock:
            before = self._attacks.get(key)
            if before is None or before.attacked.sum() < certificate.attack.attacked.sum():
                self._attacks[key] = certificate.attack
            self._attacks.move_to_end(key)
            while len(self._attacks) > MAX_ATTACKS:
                self._attacks.popitem(last=False)

    def _best_known(self, problem: Problem, relaxation: Relaxation) -> tuple[Fraction, bool]:
        threat = problem.threat
        best = Fraction(len(problem.targets) - problem.naive_certified)
        family = ThreatFamily.of(threat)
        with self._lock:
            solvers = list(self._solvers.items())
        final = False
        for (_, of_family, of_relaxation, _), solver in solvers:
            missing = any(threat.budgets[k] > solver.structure.extent[k] for k in range(len(TYPES)))
            if missing or of_relaxation is not relaxation.relaxed or not of_family.holds_for(family):
                continue
            point: BudgetPoint = (threat.budgets, threat.sigma if of_family.sigma else None)
            answer = solver.answer_at(point)
            if answer is not None:
                final |= of_family == family
            best = min(best, solver.best(point)[0] if answer is None else answer.bound)
        if relaxation is Relaxation.STRONG:
            found, done = self._searches.best(family, (threat.budgets, threat.sigma))
            return best if found is None else min(best, found), done
        return best, final and relaxation.is_proven

    def _interrupted(self, problem: Problem, relaxation: Relaxation, started: float) -> Certificate:
        bound, _ = self._best_known(problem, relaxation)
        return with_bound(problem, relaxation, bound, Status.INTERRUPTED, started)


def certify(
    instance: Instance,
    threat: ThreatModel | None = None,
    *,
    relaxation: str = "tight",
    time_limit: float | None = None,
    rounds: int | None = None,
    attack: bool = True,
    proof: bool = True,
    cancel: threading.Event | None = None,
    progress: Callable[[Progress], None] | None = None,
    factory: ModelFactory = HighsModel,
    **budgets: Unpack[Budgets],
) -> Certificate:
    """Certify how many targets keep their labels under one shared perturbed graph, with a session used once.

    The threat model is a `ThreatModel` or plain arguments: `certify(instance, attr_del=10, sigma=5)`, where targets may
    be named (`targets="test"`). `relaxation` is `tight` (default), `strong`, `paper` or `exact`. `time_limit` is in
    seconds (default: 10 for strong, 30 for exact, 600 otherwise). For `strong`, `rounds` instead of a time limit makes
    results reproducible, and `progress` is called with every proven improvement (seconds, bound, attack). Setting
    `cancel`, or interrupting a notebook, stops the solve; bounds proven by then remain valid.
    """
    model = threat_for(instance, threat, budgets)
    session = Session(instance, factory=factory, once=True)
    return interruptible(
        lambda stop: session.certify(
            model,
            relaxation=relaxation,
            time_limit=time_limit,
            rounds=rounds,
            attack=attack,
            proof=proof,
            cancel=stop,
            progress=progress,
        ),
        cancel,
    )


def threat_for(instance: Instance, threat: ThreatModel | None, budgets: Budgets) -> ThreatModel:
    """The given threat model, or one from plain arguments, where targets may be named."""
    named = budgets.get("targets")
    if isinstance(named, str):
        budgets = {**budgets, "targets": instance.select_targets(named)}
    return read_threat(threat, budgets).bound_to(instance.scale)


def as_session(source: Instance | Session) -> Session:
    return source if isinstance(source, Session) else Session(source)


def _with_proof(certificate: Certificate, proof: dict[str, Any]) -> Certificate:
    """Attach a proof, and set the claimed bound to the one it proves."""
    if certificate.relaxation == Relaxation.EXACT:
        return replace(certificate, proof=proof, verified_certified=proof["certified"])
    count = proof["certified"]
    return replace(
        certificate, proof=proof, certified=count, verified_certified=count, bound=Fraction(*proof["bound"])
    )  # fmt: skip
