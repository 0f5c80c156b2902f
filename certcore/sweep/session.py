"""A session: certificates of one instance at slider speed, with everything learnt on the way kept for the next one."""

from __future__ import annotations

import threading
import time
from collections import OrderedDict
from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any, TypeVar, Unpack

from certcore.domain.perturbations import TYPES
from certcore.domain.threat import MAX_BUDGET, Budgets, ThreatModel, read_threat
from certcore.instance.instance import Instance
from certcore.program.problem import Problem
from certcore.program.program import Place
from certcore.program.relaxation import Relaxation
from certcore.result.allocation import Allocation
from certcore.result.assemble import from_answer, from_totals, with_bound
from certcore.result.certificate import Certificate
from certcore.result.tripwire import check_count, most_attacked, remember
from certcore.solve.highs import HighsModel
from certcore.solve.solver import ModelFactory, Solver, covers
from certcore.solve.status import Status
from certcore.solve.strong import Progress
from certcore.sweep.effort import Effort
from certcore.sweep.family import ThreatFamily
from certcore.sweep.interrupt import interruptible
from certcore.sweep.strong import Searches
from certcore.verify.proof import certified_count, whole_graph_attacked

#: Live programs kept: at most so many, with at most so many entries together (about 80 bytes each).
MAX_SOLVERS, MAX_ENTRIES = 24, 12_000_000
#: Attacks kept to start others from.
MAX_ATTACKS = 64
T = TypeVar("T")
Other = TypeVar("Other")


class Cancelled(Exception):
    """The request was cancelled before its program was built."""


@dataclass(frozen=True)
class Preview:
    """A sound bound from what is known already; the real answer may be better."""

    targets: int
    certified: int
    naive_certified: int
    bound: Fraction
    final: bool
    """Whether this is the real answer already."""
    seconds: float

    @property
    def ratio(self) -> float:
        """Certified ratio; 0 if there are no targets."""
        return self.certified / self.targets if self.targets else 0.0


class Session:
    """Certificates of one instance, each starting from what the earlier ones have left. Thread-safe.

    Per structure (types in play, local budgets, σ or not, targets, protection, costs, relaxation) one program is
    built and kept in HiGHS. Later requests change its bounds and start from the nearest known basis. Every answer is
    verified; one that does not stand up to its check is solved again from scratch.
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
        """Programs hold the budgets asked for and no more: smaller, and fit for a proof, but of no use for the next."""
        self._lock = threading.Lock()
        self._building: dict[Any, threading.Lock] = {}
        self._solvers: OrderedDict[Any, Solver] = OrderedDict()
        self._past_solves = 0
        self._searches = Searches()
        self._attacks: OrderedDict[tuple[ThreatFamily, Place], Allocation] = OrderedDict()

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
        """The collective certificate, as `certcore.certify` gives it, but fast when something similar was asked before.

        `attack=False` leaves out the search for an integer attack, which may take up to two seconds (not for `strong`,
        which needs one to know when it is done). With `cancel` set the call returns within a tenth of a second with
        the best bound known. A strong search is continued where an earlier request for the same threat model left it:
        `time_limit` and `rounds` are what it may take in all. `progress` sees each proven improvement of it.
        """
        effort = Effort.read(relaxation, time_limit, rounds)
        form = effort.relaxation
        started = time.perf_counter()
        problem = Problem(self.instance, threat)

        def work() -> Certificate:
            if form is Relaxation.STRONG and not problem.has_strong_rows:
                # Strong rows do not apply to its program: the tight one answers, and is named.
                tight = Effort(Relaxation.TIGHT, effort.seconds)
                return self._certify(problem, tight, attack, proof, cancel, started)
            if form is Relaxation.STRONG and not problem.whole_graph:
                return self._strong(problem, effort, proof, cancel, started, progress)
            return self._certify(problem, effort, attack, proof, cancel, started)

        if cancel is None or self._once:
            return work()
        return self._cancellable(work, cancel, lambda: self._interrupted(problem, form, started))

    def preview(self, threat: ThreatModel, *, relaxation: str = "tight") -> Preview:
        """A sound bound within milliseconds: from stored multipliers, from larger budgets, or one by one."""
        started = time.perf_counter()
        form = Relaxation.parse(relaxation, "the relaxation")
        problem = Problem(self.instance, threat)
        targets, naive = len(problem.targets), problem.naive_certified
        if problem.whole_graph:
            bound, final = Fraction(whole_graph_attacked(problem)), True
        else:
            bound, final = self._best_known(problem, form)
        count = certified_count(targets, bound)
        check_count(self.instance, threat, targets, count)
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
        """A proof file's content for this threat model, solved on its own minimal program; None if cancelled first."""
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
        """The live program for this threat model, with further perturbation types in play if asked for.

        Raises `Cancelled` when cancelled before it is built; it is then finished in the background.
        """
        form = Relaxation.parse(relaxation, "the relaxation")
        if cancel is None:
            return self._solver(threat, form, types)
        found = self._cancellable(lambda: self._solver(threat, form, types), cancel, lambda: None)
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
                full = threat.replace(**{TYPES[k]: max(1, threat.budgets[k]) for k in wanted})
                extent = None if self._once else tuple(MAX_BUDGET if b > 0 else 0 for b in full.budgets)
                found = Solver(Problem(self.instance, full), relaxation, extent, factory=self._factory)
                with self._lock:
                    self._solvers[key] = found
                    self._evict()
                    self._building.pop(key, None)
        return found

    def _evict(self) -> None:
        """Let go of the programs that were used longest ago."""
        entries = sum(solver.structure.matrix.nnz for solver in self._solvers.values())
        while len(self._solvers) > 1 and (len(self._solvers) > self._max_solvers or entries > MAX_ENTRIES):
            _, gone = self._solvers.popitem(last=False)
            entries -= gone.structure.matrix.nnz
            self._past_solves += gone.solves

    @property
    def solves(self) -> int:
        """How many programs have been solved so far."""
        with self._lock:
            return self._past_solves + sum(solver.solves for solver in self._solvers.values())

    def _certify(
        self,
        problem: Problem,
        effort: Effort,
        attack: bool,
        proof: bool,
        cancel: threading.Event | None,
        started: float,
    ) -> Certificate:
        threat, relaxation, limit = problem.threat, effort.relaxation, effort.seconds
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
                answer = replace(answer, bound=known, multipliers=None)
        certificate = from_answer(
            replace(problem, like=solver.problem),
            solver.structure,
            answer,
            relaxation,
            started=started,
            limit=limit,
            attack=attack and (self._once or cancel is None or not cancel.is_set()),
            proof=proof and self._once,
            factory=self._factory,
            cancel=cancel,
            attacks=self._known_attacks(problem),
            broken=most_attacked(self.instance, threat) if relaxation is Relaxation.EXACT else 0,
        )
        self._keep_attack(problem, certificate)
        found = self.proof(threat, relaxation=relaxation.relaxed, cancel=cancel) if proof and not self._once else None
        return certificate if found is None else _with_proof(certificate, found)

    def _strong(
        self,
        problem: Problem,
        effort: Effort,
        proof: bool,
        cancel: threading.Event | None,
        started: float,
        progress: Callable[[Progress], None] | None,
    ) -> Certificate:
        """A strong search, begun or continued; it never certifies less than what is known without it."""
        certificate = self._searches.certify(
            problem,
            ThreatFamily.of(problem.threat),
            started=started,
            limit=effort.seconds,
            rounds=effort.rounds,
            proof=proof,
            cancel=cancel,
            progress=progress,
            attacks=self._known_attacks(problem) if effort.rounds is None else [],
        )
        self._keep_attack(problem, certificate)
        bound = certificate.bound if proof else min(certificate.bound, self._best_known(problem, Relaxation.STRONG)[0])
        count = certified_count(certificate.targets, bound)
        return replace(certificate, bound=bound, certified=count, verified_certified=count)

    def _known_attacks(self, problem: Problem) -> list[Allocation]:
        """The best attacks found at smaller budgets of the same threat model, the strongest first."""
        family, place = ThreatFamily.of(problem.threat), (problem.threat.budgets, problem.threat.sigma)
        with self._lock:
            found = [attack for (of, at), attack in self._attacks.items() if of == family and covers(place, at)]
        return sorted(found, key=lambda attack: -float(attack.attacked.sum()))[:4]

    def best_attack(self, threat: ThreatModel) -> int:
        """How many targets the best attack found so far at these budgets or smaller ones breaks; 0 if none was."""
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
            place: Place = (threat.budgets, threat.sigma if of_family.sigma else None)
            answer = solver.answer_at(place)
            if answer is not None:
                final |= of_family == family
            best = min(best, solver.best(place)[0] if answer is None else answer.bound)
        if relaxation is Relaxation.STRONG:
            found, done = self._searches.best(family, (threat.budgets, threat.sigma))
            return best if found is None else min(best, found), done
        return best, final and relaxation.is_proven

    def _interrupted(self, problem: Problem, relaxation: Relaxation, started: float) -> Certificate:
        bound, _ = self._best_known(problem, relaxation)
        return with_bound(problem, relaxation, bound, Status.INTERRUPTED, started)

    def _cancellable(self, work: Callable[[], T], cancel: threading.Event, otherwise: Callable[[], Other]) -> T | Other:
        """Run the work in a thread and leave it behind when cancelled: building a program cannot be interrupted."""
        if cancel.is_set():
            return otherwise()
        outcome: list[Any] = [None, None]
        done = threading.Event()

        def run() -> None:
            try:
                outcome[0] = work()
            except BaseException as error:
                outcome[1] = error
            finally:
                done.set()

        # No daemon: a process must not end in the middle of a solve.
        threading.Thread(target=run, name="certcore-session").start()
        try:
            while not done.wait(0.02):
                if cancel.is_set() and not done.wait(0.04):
                    return otherwise()
        except BaseException:
            cancel.set()
            raise
        if outcome[1] is not None:
            raise outcome[1]
        result: T = outcome[0]
        return result


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
    """Certify how many targets keep their labels under one shared perturbed graph: a session used once.

    What the attacker may do is a `ThreatModel`, or plain arguments: `certify(instance, attr_del=10, sigma=5)`; targets
    may be given by name there (`targets="test"`). `relaxation` is `tight` (default), `strong`, `paper` or `exact`;
    `time_limit` is in seconds (default: 10 for strong, 30 for exact, 600 otherwise). For `strong`, `rounds` instead of
    a time limit gives the same numbers every time, and `progress` sees every improvement (seconds, bound, attack) once
    it is proven. Setting `cancel`, or interrupting a notebook, stops the solve; what has been proven by then stands.
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
    """The threat model, as given or from plain arguments, in which targets may be named."""
    named = budgets.get("targets")
    if isinstance(named, str):
        budgets = {**budgets, "targets": instance.select_targets(named)}
    return read_threat(threat, budgets)


def as_session(source: Instance | Session) -> Session:
    return source if isinstance(source, Session) else Session(source)


def _with_proof(certificate: Certificate, proof: dict[str, Any]) -> Certificate:
    """Attach a proof; what is claimed next to it is what it proves."""
    if certificate.relaxation == Relaxation.EXACT:
        return replace(certificate, proof=proof, verified_certified=proof["certified"])
    count = proof["certified"]
    return replace(
        certificate, proof=proof, certified=count, verified_certified=count, bound=Fraction(*proof["bound"])
    )  # fmt: skip
