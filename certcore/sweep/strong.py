"""Strong searches of a session: one for each threat model, continued by later requests.

A search starts from results at other budgets: their sets (rows are rebuilt, because their coefficients depend on the
budgets) and their attacks, if the threat model allows them.
"""

from __future__ import annotations

import threading
import time
from collections import OrderedDict
from collections.abc import Callable
from dataclasses import replace
from fractions import Fraction

import numpy as np

from certcore.program.cuts import Cuts
from certcore.program.problem import Problem
from certcore.program.program import BudgetPoint, Program
from certcore.program.relaxation import Relaxation
from certcore.result.allocation import Allocation, fractional
from certcore.result.assemble import program_size, result_facts, with_bound
from certcore.result.attack import find_attack
from certcore.result.certificate import Certificate
from certcore.result.search import Annealer
from certcore.solve.places import coordinates
from certcore.solve.solver import BYTES_PER_ENTRY, covers
from certcore.solve.status import Status
from certcore.solve.strong import Progress, Seeds, StrongSearch
from certcore.sweep.family import ThreatFamily
from certcore.verify.duals import plain_duals
from certcore.verify.proof import make_proof
from certcore.verify.strong import StrongDuals, strong_bound

#: Maximum number of stored searches that can be continued.
MAX_SEARCHES = 8
#: Maximum number of stored results of other searches.
MAX_RESULTS = 512
#: Seconds for the greedy attack at the start of a search.
GREEDY = 0.5


class Searches:
    """All strong searches of one session. Thread-safe: one thread works on a search at a time."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._entries: OrderedDict[tuple[ThreatFamily, BudgetPoint, bool], _KeptSearch] = OrderedDict()

    def certify(
        self,
        problem: Problem,
        family: ThreatFamily,
        *,
        started: float,
        limit: float,
        rounds: int | None,
        proof: bool,
        cancel: threading.Event | None,
        progress: Callable[[Progress], None] | None,
        attacks: list[Allocation],
    ) -> Certificate:
        """The best certificate within a total of seconds (or rounds) of search, including earlier requests."""
        entry = self._entry(problem, family, rounds)
        while not entry.lock.acquire(timeout=0.02):
            if cancel is not None and cancel.is_set():
                return with_bound(problem, Relaxation.STRONG, entry.bound(problem), Status.INTERRUPTED, started)
        try:
            search = entry.prepared(problem, self._seeds(entry), [*attacks, *self._attacks(entry)])
            self._work(entry, search, limit, rounds, cancel, progress)
            return _certificate(problem, search, entry, started, proof)
        finally:
            entry.lock.release()

    def best(self, family: ThreatFamily, point: BudgetPoint) -> tuple[Fraction | None, bool]:
        """The best bound proven by any search at these or larger budgets, and whether its own search is finished."""
        found: Fraction | None = None
        finished = False
        for entry in self._all():
            bound = entry.known
            if bound is not None and entry.family.holds_for(family) and covers(entry.point, _like(point, entry.point)):
                found = bound if found is None else min(found, bound)
            finished |= entry.finished and entry.family == family and entry.point == point
        return found, finished

    def _work(
        self,
        entry: _KeptSearch,
        search: StrongSearch,
        limit: float,
        rounds: int | None,
        cancel: threading.Event | None,
        progress: Callable[[Progress], None] | None,
    ) -> None:
        if entry.finished:
            return
        more = None if rounds is None else rounds - search.rounds
        left = limit - search.seconds
        if (left if more is None else more) <= 0:
            return
        for step in search.run(time_limit=left, rounds=more, cancel=cancel):
            if search.rounds == 0 and not entry.greedy:
                entry.greedy = True
                seconds = GREEDY if rounds is None else 1e6
                greedy = find_attack(search.problem, search.structure, search.x, seconds, cancel)
                entry.annealer.offer(greedy)
                step = search.progress
            entry.known, entry.by, entry.attack = step.bound, search.by, entry.annealer.best
            if progress is not None:
                progress(step)
        entry.finished = search.status is Status.OPTIMAL

    # Memory.

    @property
    def bytes(self) -> int:
        """An estimate of the memory of the searches that can be continued."""
        searches = [search for entry in self._all() if (search := entry.search) is not None]
        return sum(BYTES_PER_ENTRY * search.structure.matrix.nnz for search in searches)

    def _entry(self, problem: Problem, family: ThreatFamily, rounds: int | None) -> _KeptSearch:
        point: BudgetPoint = (problem.threat.budgets, problem.threat.sigma)
        key = (family, point, rounds is not None)
        with self._lock:
            found = self._entries.get(key)
            if found is None:
                found = self._entries[key] = _KeptSearch(family, point, rounds is not None)
            self._entries.move_to_end(key)
            while len(self._entries) > MAX_RESULTS:
                self._entries.popitem(last=False)
            for old in list(self._entries.values())[:-MAX_SEARCHES]:
                old.rest()
        return found

    def _all(self) -> list[_KeptSearch]:
        with self._lock:
            return list(self._entries.values())

    def _neighbours(self, entry: _KeptSearch) -> list[_KeptSearch]:
        """Other searches of the same family, nearest first."""
        here = coordinates(entry.point)
        others = [o for o in self._all() if o is not entry and o.family == entry.family and o.counted == entry.counted]
        return sorted(others, key=lambda other: float(np.abs(coordinates(other.point) - here).sum()))

    def _seeds(self, entry: _KeptSearch) -> Seeds:
        found = [other.seeds for other in self._neighbours(entry) if other.seeds is not None]
        return found[0] if found else Seeds()

    def _attacks(self, entry: _KeptSearch) -> list[Allocation]:
        return [other.attack for other in self._neighbours(entry)[:8] if other.attack is not None]


class _KeptSearch:
    """One search, or its results if the search itself was dropped."""

    def __init__(self, family: ThreatFamily, point: BudgetPoint, counted: bool) -> None:
        self.family, self.point, self.counted = family, point, counted
        self.lock = threading.Lock()
        self.search: StrongSearch | None = None
        self.annealer: Annealer  # set together with the search
        self.known: Fraction | None = None
        self.by: StrongDuals | None = None
        self.attack: Allocation | None = None
        self.seeds: Seeds | None = None
        self.greedy = self.finished = False

    def prepared(self, problem: Problem, seeds: Seeds, attacks: list[Allocation]) -> StrongSearch:
        """The search, built if it does not exist (any more)."""
        if self.search is None:
            search = StrongSearch(problem, None, seeds if self.seeds is None else self.seeds)
            self.annealer = Annealer(problem, search.structure)
            search.attack = self.annealer
            if self.by is not None:
                search.bound, search.by = self.known, self.by
            for attack in [*attacks, *([self.attack] if self.attack is not None else [])]:
                self.annealer.offer(attack)
            self.search, self.greedy, self.finished = search, False, False
        return self.search

    def rest(self) -> None:
        """Drop the program but keep the results."""
        if self.search is not None and self.lock.acquire(blocking=False):
            try:
                self.seeds, self.search = self.search.seeds, None
            finally:
                self.lock.release()

    def bound(self, problem: Problem) -> Fraction:
        return Fraction(problem.total - problem.naive_certified) if self.known is None else self.known


def _certificate(
    problem: Problem, search: StrongSearch, entry: _KeptSearch, started: float, proof: bool
) -> Certificate:
    entry.seeds = search.seeds
    bound, by = search.bound, search.by
    assert bound is not None
    if by is None:
        by = _tight_duals(search)
        bound = strong_bound(problem, search.program, by)
    certificate = replace(
        with_bound(problem, Relaxation.STRONG, bound, search.status, started),
        attack=entry.annealer.best,
        fractional=None if search.x is None else fractional(problem, search.structure, search.x),
        unchecked_proof=make_proof(problem, Relaxation.STRONG, bound, by.y, by.cuts, by) if proof else None,
        size=program_size(problem, search.structure),
        facts=result_facts(problem.instance),
        solves=search.solver.solves + search.rounds,
        rounds=search.rounds,
    )
    return replace(certificate, seconds=time.perf_counter() - started)


def _tight_duals(search: StrongSearch) -> StrongDuals:
    """Dual values of the tight bound, for a proof without strong rows."""
    program = Program(search.structure, *search.point)
    y, cuts = plain_duals(program), Cuts.none()
    answer = search.tight
    if answer is not None and answer.duals is not None:
        y, cuts = answer.duals.repaired(program), answer.duals.cuts
    return StrongDuals(y, cuts, (), (), np.zeros(0, dtype=np.int64))


def _like(point: BudgetPoint, other: BudgetPoint) -> BudgetPoint:
    """The budget point, without σ if the other one has none (an attacker without σ is at least as strong)."""
    return (point[0], None) if other[1] is None else point
