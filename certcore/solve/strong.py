"""The anytime search of the strong form: a restricted model, rows where they are violated, sets where rows run out.

Nothing in the search needs trust. Whatever it proposes is rounded to integers and evaluated over all columns and rows
of the whole program before it is called a bound (`certcore.verify.strong`).
"""

from __future__ import annotations

import math
import threading
import time
from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, Protocol

import numpy as np
import scipy.sparse as sp

from certcore.common.errors import InputError
from certcore.domain.perturbations import ADJ_DEL
from certcore.program.cuts import Cuts, Rows, violated
from certcore.program.levels import Levels, LevelSet, Tag
from certcore.program.problem import Problem
from certcore.program.program import Program
from certcore.program.relaxation import Relaxation
from certcore.solve.pricing import Completed, Pricing
from certcore.solve.restricted import Proposal, Restricted
from certcore.solve.separate import Found, RelaxedView, Separator
from certcore.solve.shifts import Shifts
from certcore.solve.solver import Answer, Solver
from certcore.solve.status import Status
from certcore.verify.bound import SCALE, scaled
from certcore.verify.strong import StrongMultipliers, repaired, strong_bound, used_only

#: New rows in one round, and covers: where local limits or capacities of one make them the main thing, all there are.
MAX_ROWS, MAX_COVERS = 500, 2000
#: With fewer violated rows than this there are new sets, so many for each type.
FEW_ROWS, NEW_SETS = 100, 20
#: So are there after a round that gained less than this part of what is open.
SLOW = 0.05
#: … but not before the last new ones have had so many rounds to gain: every set brings a row per level and target, and
#: they come over several rounds. Cora-ML at 21 attribute deletions, 10 s: 813 with 0, 752 with 2, 699 with 4 rounds.
#: Rounds with edges are slower and fewer (Citeseer at 50: 729 with 2, 739 with 4).
SETTLE, SETTLE_EDGES = 4, 2
#: … unless a round gained next to nothing.
STUCK = 0.005
#: Rows that hold nothing for so many rounds are dropped, when there are so many of them.
IDLE_ROUNDS, IDLE_ROWS = 2, 100
#: Sites in the model from the start, per type, and new ones in a round.
FIRST_SITES, NEW_SITES = 100, 40
#: A round that gains less than this, several times, ends the search; so does this many rounds.
LEAST_GAIN, PATIENCE, MAX_ROUNDS = 1e-4, 12, 5000
#: Bounds are proven when they promise a further target, or this much.
WORTH_PROVING = 0.25
#: Part of the time that goes into the attack, at most so many seconds of it before the first round, and steps of it in
#: a round where no clock runs.
ATTACK_SHARE, FIRST_ATTACK, ATTACK_STEPS = 0.12, 0.5, 150


class Attack(Protocol):
    """What the search needs of an attack that is looked for beside it."""

    @property
    def found(self) -> int: ...
    def hint(self, x: np.ndarray) -> None: ...
    def run(self, *, steps: int | None = ..., seconds: float = ..., stop: Any = ...) -> None: ...


@dataclass(frozen=True)
class Progress:
    """Where a search stands: seconds, the proven bound, the best attack, and rounds."""

    seconds: float
    bound: Fraction
    attack: int
    rounds: int

    @property
    def closed(self) -> bool:
        """Whether nothing is left between the bound and the attack."""
        return math.floor(self.bound) <= self.attack


@dataclass(frozen=True, eq=False)
class Seeds:
    """What another budget of the same threat model has left: sets, and covers with a target for its group."""

    sets: tuple[LevelSet, ...] = ()
    covers: tuple[Tag, ...] = ()


class StrongSearch:
    """One search for one threat model; it can be stopped and continued. Not thread-safe."""

    def __init__(self, problem: Problem, attack: Attack | None = None, seeds: Seeds | None = None) -> None:
        if not problem.has_strong_rows:
            raise ValueError("strong rows do not hold for this problem; the tight program answers it")
        self.problem, self.attack = problem, attack
        self.solver = Solver(problem, Relaxation.TIGHT)
        self.structure = self.solver.structure
        self.place = (problem.threat.budgets, problem.threat.sigma)
        self.program = Program(self.structure, *self.place)
        self.tight: Answer | None = None
        self.bound: Fraction | None = None
        self.by: StrongMultipliers | None = None
        """What proves the bound; None as long as the tight program does."""
        self.status = Status.TIME_LIMIT
        self.seconds, self.rounds = 0.0, 0
        self.x: np.ndarray | None = None
        self._seeds = Seeds() if seeds is None else seeds
        self._core: _Core | None = None

    @property
    def progress(self) -> Progress:
        assert self.bound is not None
        return Progress(self.seconds, self.bound, self.found, self.rounds)

    @property
    def seeds(self) -> Seeds:
        """What a search at another budget can begin with: the sets and covers that proved something here."""
        if self.by is None:
            return self._seeds
        target = self.structure.groups.representative
        covers = [tag for tag in self.by.tags if tag[0] == "cover"]
        return Seeds(self.by.sets, tuple((name, k, int(target[g]), *rest) for name, k, g, *rest in covers))

    @property
    def found(self) -> int:
        return max(self.structure.constant, -1 if self.attack is None else self.attack.found)

    def run(
        self,
        *,
        time_limit: float = math.inf,
        rounds: int | None = None,
        cancel: threading.Event | None = None,
    ) -> Iterator[Progress]:
        """Search until the time is over, the rounds are done, it is cancelled, or nothing is left to be found.

        Yields whenever bound or attack have improved, each bound proven in exact integers; `status` tells how it
        ended. With `rounds` no clock is looked at, so that the same call gives the same numbers everywhere.
        """
        began, before = time.perf_counter(), self.seconds
        clock = rounds is None
        deadline = began + time_limit if clock else math.inf

        def stop() -> bool:
            return (cancel is not None and cancel.is_set()) or time.perf_counter() > deadline

        def now() -> Progress:
            self.seconds = before + time.perf_counter() - began
            return self.progress

        if self.tight is None or not self.tight.status.is_final:
            answer = self.solver.solve(
                self.place, time_limit=max(deadline - began, 0.05) if clock else 1e6, cancel=cancel, want_x=True
            )
            self.tight, self.x, self.status = answer, answer.x, answer.status
            self.bound = answer.bound if self.bound is None else min(answer.bound, self.bound)
            yield now()
            if not answer.status.is_final or answer.x is None:
                return
        attacked = 0.0
        if self.attack is not None and self.rounds == 0:
            if self.x is not None:
                self.attack.hint(self.x)
            start = time.perf_counter()
            self._attack(min(FIRST_ATTACK, ATTACK_SHARE * time_limit) if clock else None, stop)
            attacked = time.perf_counter() - start
            yield now()
        if self.progress.closed or not len(self.structure.groups) or not len(self.structure.flips):
            self.status = Status.OPTIMAL
            return
        if self._core is None:
            self._core = _Core(self, self._seeds)
        last = self.rounds + rounds if rounds is not None else MAX_ROUNDS
        self.status = Status.OPTIMAL
        while self.rounds < last:
            known = self.progress
            if known.closed:
                break
            if stop():
                self.status = Status.INTERRUPTED if cancel is not None and cancel.is_set() else Status.TIME_LIMIT
                break
            more = self._core.round(deadline - time.perf_counter() if clock else 1e6, cancel)
            self.rounds += 1
            if self.attack is not None and not self.progress.closed:
                if self._core.x is not None:
                    self.attack.hint(self._core.x[: self.structure.columns.count])
                start, spent = time.perf_counter(), time.perf_counter() - began
                if not clock:
                    self._attack(None, stop)
                elif attacked < ATTACK_SHARE * spent:
                    self._attack(max(0.02, ATTACK_SHARE * spent - attacked), stop)
                    attacked += time.perf_counter() - start
            found = now()
            if found.bound < known.bound or found.attack > known.attack:
                yield found
            if not more:
                stopped = self._core.status
                self.status = Status.OPTIMAL if stopped is None else stopped
                break
        else:
            self.status = Status.TIME_LIMIT
        self._core.finish()
        yield now()

    def _attack(self, seconds: float | None, stop: Any) -> None:
        assert self.attack is not None

        def enough() -> bool:
            assert self.bound is not None
            return bool(stop() or self.found >= math.floor(self.bound))

        if seconds is None:
            self.attack.run(steps=ATTACK_STEPS, stop=enough)
        else:
            self.attack.run(seconds=seconds, stop=enough)


@dataclass(frozen=True, eq=False)
class _Pending:
    """A proposal to be proven, and the rows it is about."""

    found: Completed
    tags: list[Any]
    cuts: Cuts
    rows: Rows


class _Core:
    """The model, its sets and rows. Rows are made over all columns of the program and only then restricted."""

    def __init__(self, search: StrongSearch, seeds: Seeds) -> None:
        self.search = search
        self.program, self.structure = search.program, search.structure
        answer = search.tight
        assert answer is not None
        assert answer.x is not None
        s = self.structure
        self.levels = Levels(search.problem, self.program)
        self.separators = {k: Separator(self.levels, self.program, k) for k in s.types}
        self.shifts = Shifts(self.levels, self.program, self.separators) if len(s.types) > 1 else None
        self.cuts = Cuts.none()
        self.tags: list[tuple[Any, ...] | None] = []
        """The tags of the further rows in the model, in their order; None for a σ cut."""
        self.rows = sp.csr_array((0, s.columns.count), dtype=np.int64)
        self.rhs = np.zeros(0, dtype=np.int64)
        self.idle = np.zeros(0, dtype=np.int64)
        self.have: set[str] = set()
        self.sets: list[LevelSet] = []
        self.x: np.ndarray | None = None
        self.status: Status | None = None
        self.promised = float(answer.bound)
        self._slow, self._gain, self._since_sets = 0, math.inf, 0
        self._settle = SETTLE_EDGES if s.types == (ADJ_DEL,) else SETTLE
        self._pending: _Pending | None = None
        self.model = self._begin(answer)
        self.pricing = Pricing(self.program, self.model)
        for new in seeds.sets:
            if new.kind in self.separators:
                self._seed(new)
        self._seed_covers(seeds.covers)

    def _begin(self, answer: Answer) -> Restricted:
        s, program = self.structure, self.program
        y = np.zeros(s.matrix.shape[0])
        if answer.multipliers is not None:
            y = answer.multipliers.y[: s.matrix.shape[0]] / SCALE
            if len(answer.multipliers.cuts):
                self.cuts = answer.multipliers.cuts
        else:
            y[s.rows["choose"]] = s.groups.weight
        model = Restricted(program, y, thin=len(s.types) == 1)
        assert answer.x is not None
        flips = answer.x[s.columns.flips]
        chosen = [np.flatnonzero(flips > 1e-9)]
        worth = model.reduced_costs(y)[s.columns.flips] if answer.multipliers is not None else -flips
        for k in s.types:
            mine = np.flatnonzero(s.flips.kind == k)
            chosen.append(mine[np.argsort(-worth[mine], kind="stable")[:FIRST_SITES]])
        groups = np.arange(len(s.groups))
        model.admit(np.concatenate(chosen), groups)
        if len(self.cuts):
            cuts, self.cuts = self.cuts, Cuts.none()
            self._add_cuts(model, cuts)
        return model

    # One round.

    def round(self, seconds: float, cancel: threading.Event | None) -> bool:
        """Separate, solve, price, prove; False when there is nothing more to do (or no time)."""
        began = time.perf_counter()
        added = 0
        if self.x is None:
            added = 1
        else:
            self._purge()
            added = self._separate()
        if not added:
            return False
        before = self.promised
        for turn in range(6):
            left = seconds - (time.perf_counter() - began)
            proposal = self.model.solve(time_limit=max(left, 0.01), cancel=cancel)
            if proposal.status is not Status.OPTIMAL or proposal.x is None or proposal.y is None:
                self.status = proposal.status if proposal.status is not Status.FAILED else Status.TIME_LIMIT
                if proposal.y is not None:
                    self._consider(proposal)
                return False
            self.x = proposal.x
            if not self._price(self._consider(proposal), turn):
                break
        if self._worth_proving():
            self._prove()
        self._gain = before - self.promised
        self._slow = self._slow + 1 if before - self.promised < LEAST_GAIN * max(1.0, before) else 0
        return self._slow < PATIENCE

    def finish(self) -> None:
        """Prove the best proposal that was not worth it so far."""
        self._prove()

    def _separate(self) -> int:
        assert self.x is not None
        x = self.x
        views = {k: separator.view(x) for k, separator in self.separators.items()}
        found: list[Found] = []
        for k, separator in self.separators.items():
            found += separator.level_rows(views[k], x)
        added = self._add_tags(found, MAX_ROWS)
        covers: list[Found] = []
        for k, separator in self.separators.items():
            covers += separator.covers(views[k], MAX_COVERS)
        added += self._add_tags(covers, MAX_COVERS)
        if self.shifts is not None:
            added += self._shift(views)
        if self.structure.has_sigma:
            cuts = violated(self.structure, x[: self.structure.columns.count], self.cuts)
            if len(cuts):
                added += len(cuts)
                self._add_cuts(self.model, cuts)
        self._since_sets += 1
        gained = self._gain / max(self.promised - self.search.found, 1e-9)
        slow = gained < STUCK or (gained < SLOW and self._since_sets > self._settle)
        if added < FEW_ROWS or slow:
            added += self._new_sets(views)
            self._since_sets = 0
        return added

    def _new_sets(self, views: dict[int, RelaxedView]) -> int:
        """Sets that contradict the solution, with the rows that say so."""
        assert self.x is not None
        count, found = 0, []
        for k, separator in self.separators.items():
            first = len(separator.numbers)
            for new in separator.best_sets(views[k], NEW_SETS):
                self._add_set(new)
                count += 1
            x = np.concatenate([self.x, np.zeros(self.levels.count - len(self.x))])
            separator.guess(views[k], x, first)
            found += separator.level_rows(views[k], x, first)
        return count + self._add_tags(found, MAX_ROWS)

    def _shift(self, views: dict[int, RelaxedView]) -> int:
        assert self.shifts is not None
        assert self.x is not None
        new = self.shifts.new_sites(views)
        for one in new:
            self.shifts.adopt(one, self._add_set(one))
        x = np.concatenate([self.x, np.zeros(self.levels.count - len(self.x))])
        self.shifts.guess(x, len(self.x), views)
        return len(new) + self._add_tags(self.shifts.rows(x, views), MAX_ROWS)

    def _price(self, found: Completed, turn: int) -> bool:
        """Take in sites that would pay; False if there are none, or too few to matter."""
        flips, lack = self.pricing.missing(found, NEW_SITES)
        if not len(flips) or (turn >= 2 and lack < 0.05):
            return False
        self.model.admit(flips)
        return True

    # Rows and sets.

    def _add_tags(self, found: list[Found], most: int) -> int:
        new = []
        seen = self.have
        for _, tag in sorted(found, key=lambda pair: -pair[0]):
            key = repr(tag)
            if key in seen:
                continue
            seen.add(key)
            new.append(tag)
            if len(new) >= most:
                break
        if new:
            self._enter(new)
        return len(new)

    def _enter(self, tags: list[Any]) -> None:
        rows = self.levels.rows(tags)
        self._append(self.model, rows, list(tags))

    def _append(self, model: Restricted, rows: Rows, tags: list[Any]) -> None:
        model.add_rows(rows.matrix, rows.rhs)
        width = self.levels.count
        before = sp.csr_array((self.rows.data, self.rows.indices, self.rows.indptr), (self.rows.shape[0], width))
        wide = sp.csr_array((rows.matrix.data, rows.matrix.indices, rows.matrix.indptr), (len(rows.rhs), width))
        self.rows = sp.csr_array(sp.vstack([before, wide], format="csr"))
        self.rhs = np.concatenate([self.rhs, rows.rhs])
        self.idle = np.concatenate([self.idle, np.zeros(len(tags), dtype=np.int64)])
        self.tags += tags

    def _add_cuts(self, model: Restricted, cuts: Cuts) -> None:
        self._append(model, cuts.rows(self.structure), [None] * len(cuts))
        self.cuts = self.cuts.plus(cuts)

    def _add_set(self, new: LevelSet) -> int:
        number = self.separators[new.kind].adopt(new)
        self.sets.append(new)
        self.model.add_columns(np.zeros(new.levels), np.ones(new.levels))
        self._enter([("least", number), ("most", number)])
        return number

    def _seed(self, old: LevelSet) -> None:
        separator = self.separators[old.kind]
        sites = old.sites[np.isin(old.sites, separator.sites.site)]
        if len(sites) and separator.top:
            new = separator.level_set(np.searchsorted(separator.sites.site, sites))
            if new is not None:
                number = self._add_set(new)
                if len(sites) == 1 and self.shifts is not None:
                    self.shifts.adopt(new, number)

    def _seed_covers(self, covers: tuple[Tag, ...]) -> None:
        """Covers of another budget, as far as their targets, sites and needs are there at this one."""
        fitting: list[Found] = []
        for name, k, target, *rest in covers:
            tag = (name, k, int(self.structure.groups.of_target[target]), *rest)
            try:
                self.levels.row(tag)
            except InputError:
                continue
            fitting.append((1.0, tag))
        self._add_tags(fitting, MAX_ROWS)

    def _purge(self) -> None:
        """Drop rows that have held nothing for some rounds; those of σ and of the levels themselves stay."""
        if not self.tags:
            return
        first = self.structure.matrix.shape[0]
        slack = self.model.slack_rows(first + np.arange(len(self.tags)))
        loose = np.array([tag is not None and tag[0] not in ("least", "most") for tag in self.tags])
        self.idle = np.where(slack, self.idle + 1, 0)
        gone = loose & slack & (self.idle >= IDLE_ROUNDS)
        if int(gone.sum()) < IDLE_ROWS:
            return
        self.model.delete_rows(first + np.flatnonzero(gone))
        for i in np.flatnonzero(gone).tolist():
            self.have.discard(repr(self.tags[i]))
        kept = np.flatnonzero(~gone)
        self.rows = sp.csr_array(self.rows[kept])
        self.rhs, self.idle = self.rhs[kept], self.idle[kept]
        self.tags = [self.tags[i] for i in kept.tolist()]

    # Bounds.

    def _consider(self, proposal: Proposal) -> Completed:
        """Estimate what a proposal proves, and keep the best one to be proven."""
        assert proposal.y is not None
        y = np.where(np.isfinite(proposal.y), np.maximum(proposal.y, 0.0), 0.0)
        found = self.pricing.complete(y)
        value = self.pricing.bound(found, self.rhs)
        if value >= self.promised - 1e-9:
            return found
        self.promised = value
        self._pending = _Pending(found, list(self.tags), self.cuts, Rows(self.rows, self.rhs))
        return found

    def _worth_proving(self) -> bool:
        known, value = self.search.bound, self.promised
        assert known is not None
        return math.floor(value + 1e-7) < math.floor(known) or value < float(known) - WORTH_PROVING

    def _prove(self) -> None:
        """Round the best proposal to integers and evaluate it exactly, every row made anew from its tag."""
        if self._pending is None:
            return
        held, self._pending = self._pending, None
        y, tags, rows = held.found.y, held.tags, held.rows
        cuts = held.cuts.plus(held.found.links)
        first = self.structure.matrix.shape[0]
        is_cut = np.array([tag is None for tag in tags], dtype=bool)
        further = scaled(y[first:])
        own = [tag for tag in tags if tag is not None]
        base = np.concatenate([scaled(y[:first]), further[is_cut], scaled(held.found.values)])
        values = further[~is_cut]
        strong = Rows(sp.csr_array(rows.matrix[np.flatnonzero(~is_cut)]), rows.rhs[~is_cut])
        cut_rows = cuts.rows(self.structure) if len(cuts) else None
        mended = repaired(self.program, base, cuts, cut_rows, values, strong)
        if mended is None:
            return
        by = used_only(mended, cuts, self.sets, own, values)
        bound = strong_bound(self.search.problem, self.program, by)
        assert self.search.bound is not None
        if bound < self.search.bound:
            self.search.bound, self.search.by = bound, by
