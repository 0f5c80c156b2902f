"""A session: certificates of one instance fast enough for sliders, reusing programs, bases and dual values."""

from __future__ import annotations

import threading
import time
from collections import OrderedDict
from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any, Unpack

import numpy as np

from certcore.common.interrupt import interruptible, run_or_leave
from certcore.common.reading import node_numbers
from certcore.domain.perturbations import TYPES
from certcore.domain.threat import MAX_BUDGET, Budgets, ThreatModel, read_threat
from certcore.instance.instance import Instance
from certcore.program.problem import Problem
from certcore.program.program import BudgetPoint
from certcore.program.relaxation import Relaxation
from certcore.result.allocation import Allocation
from certcore.result.assemble import from_answer, from_totals, integer_claim, with_bound
from certcore.result.certificate import Certificate
from certcore.result.tripwire import check_count, remember
from certcore.solve.master import WholeProgram
from certcore.solve.solver import ModelFactory, Solver, covers
from certcore.solve.status import Status
from certcore.solve.strong import Progress
from certcore.sweep.family import ThreatFamily
from certcore.sweep.solve_options import SolveOptions
from certcore.sweep.strong import Searches
from certcore.verify.proof import certified_count, count_in, whole_graph_attacked

#: Maximum number of bytes that a session stores by default.
MAX_BYTES = 2**30
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
    protection, relaxation). Later requests change its bounds and start from the nearest known basis. Every
    result is verified; if verification fails, the program is solved again from scratch.
    """

    def __init__(
        self,
        instance: Instance,
        *,
        factory: ModelFactory = WholeProgram,
        max_bytes: int = MAX_BYTES,
        once: bool = False,
    ) -> None:
        self.instance = instance
        self._factory = factory
        self._max_bytes = max_bytes
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
        started = time.perf_counter()
        problem = Problem(self.instance, threat)
        options = SolveOptions.read(relaxation, time_limit, rounds, claims=True).answered(problem)
        form = options.relaxation
        if form is Relaxation.EXACT:
            found = self.certify(threat, time_limit=options.seconds, attack=attack, proof=proof, cancel=cancel)
            left = options.seconds - (time.perf_counter() - started)
            claim = integer_claim(problem, found, self._factory, left, cancel)
            return replace(found, integer_claim=claim, seconds=time.perf_counter() - started)

        def work() -> Certificate:
            if form is Relaxation.STRONG and not problem.whole_graph:
                return self._strong(problem, options, proof, cancel, started, progress)
            return self._certify(problem, options, attack, proof, cancel, started)

        if cancel is None or self._once:
            return work()
        return run_or_leave(work, cancel, lambda: self._interrupted(problem, form, started))

    def preview(self, threat: ThreatModel, *, relaxation: str = "tight") -> Preview:
        """A sound bound within milliseconds: from stored dual values, larger budgets or the naive certificate."""
        started = time.perf_counter()
        form = SolveOptions.read(relaxation).relaxation
        problem = Problem(self.instance, threat)
        targets, naive = problem.total, problem.naive_certified
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
                    self._building.pop(key, None)
                self._evict()
        return found

    @property
    def bytes(self) -> int:
        """An estimate of the memory of everything that is stored here; the instance itself is not counted."""
        with self._lock:
            solvers, attacks = list(self._solvers.values()), list(self._attacks.values())
        return sum(solver.bytes for solver in solvers) + sum(a.bytes for a in attacks) + self._searches.bytes

    def _evict(self) -> None:
        """Drop the least recently used programs, but for the latest one, until the rest is small enough."""
        while self.bytes > self._max_bytes:
            with self._lock:
                if len(self._solvers) < 2:
                    return
                self._past_solves += self._solvers.popitem(last=False)[1].solves

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
            attacks=self._known_attacks(problem) if search else None,
            proof=proof and self._once,
            cancel=cancel,
        )
        self._keep_attack(problem, certificate)
        self._evict()
        if not proof or self._once:
            return certificate
        # A proof needs a program for exactly these budgets.
        alone = certify(self.instance, threat, relaxation=relaxation.relaxed, attack=False, cancel=cancel)
        found = alone.unchecked_proof
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
        return replace(certificate, bound=bound, certified=count)

    def _known_attacks(self, problem: Problem) -> list[Allocation]:
        """The best attacks found at smaller budgets of the same threat model, strongest first."""
        family, point = ThreatFamily.of(problem.threat), (problem.threat.budgets, problem.threat.sigma)
        with self._lock:
            found = [attack for (of, at), attack in self._attacks.items() if of == family and covers(point, at)]
        return sorted(found, key=lambda attack: -attack.loss)[:4]

    def best_attack(self, threat: ThreatModel) -> int:
        """Targets broken by the best attack found so far within these budgets; 0 if none was found."""
        known = self._known_attacks(Problem(self.instance, threat))
        return known[0].loss if known else 0

    def _keep_attack(self, problem: Problem, certificate: Certificate) -> None:
        if certificate.attack is None:
            return
        remember(self.instance, problem.threat, certificate.attack.loss)
        key = (ThreatFamily.of(problem.threat), (problem.threat.budgets, problem.threat.sigma))
        with self._lock:
            before = self._attacks.get(key)
            if before is None or before.loss < certificate.attack.loss:
                self._attacks[key] = certificate.attack
            self._attacks.move_to_end(key)
            while len(self._attacks) > MAX_ATTACKS:
                self._attacks.popitem(last=False)

    def _best_known(self, problem: Problem, relaxation: Relaxation) -> tuple[Fraction, bool]:
        threat = problem.threat
        best = Fraction(problem.total - problem.naive_certified)
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
        return best, final

    def _interrupted(self, problem: Problem, relaxation: Relaxation, started: float) -> Certificate:
        bound, _ = self._best_known(problem, relaxation)
        return with_bound(problem, relaxation, bound, Status.INTERRUPTED, started)


class Sessions:
    """Sessions of many instances within one limit of memory: the least recently used one goes first. Thread-safe."""

    def __init__(self, max_bytes: int = 2 * MAX_BYTES) -> None:
        self._max_bytes = max_bytes
        self._lock = threading.Lock()
        self._sessions: OrderedDict[str, Session] = OrderedDict()

    def of(self, instance: Instance) -> Session:
        """The session of an instance, shared by instances that are equal in everything that results show.

        Results carry names and provenance, so the digest of what is solved is not enough.
        """
        with self._lock:
            found = self._sessions.pop(instance.full_digest, None) or Session(
                instance, max_bytes=min(MAX_BYTES, self._max_bytes)
            )
            self._sessions[instance.full_digest] = found
            while len(self._sessions) > 1 and sum(one.bytes for one in self._sessions.values()) > self._max_bytes:
                self._sessions.popitem(last=False)
        return found

    def clear(self) -> None:
        """Forget all of them."""
        with self._lock:
            self._sessions.clear()


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
    factory: ModelFactory = WholeProgram,
    **budgets: Unpack[Budgets],
) -> Certificate:
    """Certify how many targets keep their labels under one shared perturbed graph, with a session used once.

    The threat model is a `ThreatModel` or plain arguments: `certify(instance, attr_del=10, sigma=5)`, where targets may
    be named (`targets="test"`). `relaxation` is `tight` (default), `strong` or `paper`; `exact` adds the
    `integer_claim` of a solver, which is not proven. `time_limit` is in seconds (default: 10 for strong, 30 for exact,
    600 otherwise). For `strong`, `rounds` instead of a time limit makes
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
    """The given threat model, or one from plain arguments, where targets may be named, and nodes given as masks."""
    targets, protected, n_nodes = budgets.get("targets"), budgets.get("protected"), instance.graph.n_nodes
    if isinstance(targets, str):
        budgets = {**budgets, "targets": instance.select_targets(targets)}
    elif targets is not None:
        budgets = {**budgets, "targets": node_numbers(targets, n_nodes, "targets")}
    if protected is not None:
        budgets = {**budgets, "protected": node_numbers(protected, n_nodes, "protected nodes")}
    bound = read_threat(threat, budgets).bound_to(instance.scale)
    return bound.weighed(instance.graph, np.asarray(instance.targets))


def as_session(source: Instance | Session) -> Session:
    return source if isinstance(source, Session) else Session(source)


def _with_proof(certificate: Certificate, proof: dict[str, Any]) -> Certificate:
    """Attach a proof, and set the claimed bound to the one it proves."""
    bound = Fraction(*proof["bound"])
    return replace(certificate, unchecked_proof=proof, certified=count_in(proof), bound=bound)
