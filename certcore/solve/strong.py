"""The anytime search of the strong form: a restricted master, separation of violated rows, new sets when rows run out.

Soundness does not depend on the search. Every proposal is rounded to integers and evaluated exactly over all columns
and rows of the whole program before it becomes a bound (`certcore.verify.strong`).
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
from certcore.solve.master import Master, Proposal
from certcore.solve.paid import PaidRows
from certcore.solve.pricing import Completed, Pricing
from certcore.solve.separate import Found, RelaxedView, Separator
from certcore.solve.solver import BoundResult, Solver
from certcore.solve.status import Status
from certcore.solve.tuning import STRONG
from certcore.verify.bound import scaled
from certcore.verify.strong import StrongDuals, repaired, strong_bound, used_only


class Attack(Protocol):
    """The interface of the attack that runs beside the search."""

    @property
    def found(self) -> int: ...
    def hint(self, x: np.ndarray) -> None: ...
    def run(self, *, steps: int | None = ..., seconds: float = ..., stop: Any = ..., cancel: Any = ...) -> None: ...


@dataclass(frozen=True)
class Progress:
    """Progress of a search: seconds, proven bound, best attack, and rounds."""

    seconds: float
    bound: Fraction
    attack: int
    rounds: int

    @property
    def closed(self) -> bool:
        """Whether the bound equals the attack."""
        return math.floor(self.bound) <= self.attack


@dataclass(frozen=True, eq=False)
class Seeds:
    """Results of a search at another budget that start this one: sets, and covers (with a target naming the group)."""

    sets: tuple[LevelSet, ...] = ()
    covers: tuple[Tag, ...] = ()


class StrongSearch:
    """One search for one threat model; can be stopped and continued. Not thread-safe."""

    def __init__(self, problem: Problem, attack: Attack | None = None, seeds: Seeds | None = None) -> None:
        if not problem.has_strong_rows:
            raise ValueError("strong rows do not hold for this problem; the tight program answers it")
        self.problem, self.attack = problem, attack
        self.solver = Solver(problem, Relaxation.TIGHT)
        self.structure = self.solver.structure
        self.point = (problem.threat.budgets, problem.threat.sigma)
        self.program = Program(self.structure, *self.point)
        self.tight: BoundResult | None = None
        self.bound: Fraction | None = None
        self.by: StrongDuals | None = None
        """Dual values of the strong bound; None while the tight program gives the best bound."""
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
        """Sets and covers with dual values here, to start a search at another budget."""
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
        """Search until the time limit, the last round, cancellation, or until no further improvement is found.

        Yields whenever bound or attack improve; each bound is proven in exact integers. `status` shows how the search
        ended. With `rounds` no clock is used, so that results are reproducible.
        """
        watch = _Watch(time.perf_counter(), self.seconds, time_limit if rounds is None else None, cancel)
        if self.tight is None or not self.tight.status.is_final:
            limit = 1e6 if watch.limit is None else max(watch.limit, 0.05)
            answer = self.solver.solve(self.point, time_limit=limit, cancel=cancel, want_x=True)
            self.tight, self.x, self.status = answer, answer.x, answer.status
            self.bound = answer.bound if self.bound is None else min(answer.bound, self.bound)
            yield self._now(watch)
            if not answer.status.is_final or answer.x is None:
                return
        if self.attack is not None and self.rounds == 0:
            if self.x is not None:
                self.attack.hint(self.x)
            seconds = None if watch.limit is None else min(STRONG.first_attack, STRONG.attack_share * watch.limit)
            self._attack(seconds, watch)
            yield self._now(watch)
        if self.progress.closed or not len(self.structure.groups) or not len(self.structure.flips):
            self.status = Status.OPTIMAL
            return
        if self._core is None:
            self._core = _Core(self, self._seeds)
        yield from self._improve(self._core, watch, self.rounds + rounds if rounds is not None else STRONG.max_rounds)
        self._core.finish()
        yield self._now(watch)

    def _improve(self, core: _Core, watch: _Watch, last: int) -> Iterator[Progress]:
        """Rounds of search up to `last`, with attacks between them; yields improvements."""
        self.status = Status.OPTIMAL
        while self.rounds < last:
            known = self.progress
            if known.closed:
                return
            if watch.is_over():
                self.status = Status.INTERRUPTED if watch.is_cancelled() else Status.TIME_LIMIT
                return
            more = core.round(watch.left(), watch.cancel)
            self.rounds += 1
            if self.attack is not None and not self.progress.closed:
                if core.x is not None:
                    self.attack.hint(core.x[: self.structure.columns.count])
                spent = time.perf_counter() - watch.began
                if watch.limit is None:
                    self._attack(None, watch)
                elif watch.attacked < STRONG.attack_share * spent:
                    self._attack(max(0.02, STRONG.attack_share * spent - watch.attacked), watch)
            found = self._now(watch)
            if found.bound < known.bound or found.attack > known.attack:
                yield found
            if not more:
                self.status = Status.OPTIMAL if core.status is None else core.status
                return
        self.status = Status.TIME_LIMIT

    def _now(self, watch: _Watch) -> Progress:
        self.seconds = watch.before + time.perf_counter() - watch.began
        return self.progress

    def _attack(self, seconds: float | None, watch: _Watch) -> None:
        assert self.attack is not None

        def enough() -> bool:
            assert self.bound is not None
            return watch.is_over() or self.found >= math.floor(self.bound)

        start = time.perf_counter()
        if seconds is None:
            self.attack.run(steps=STRONG.attack_steps, stop=enough, cancel=watch.cancel)
        else:
            self.attack.run(seconds=seconds, stop=enough, cancel=watch.cancel)
        watch.attacked += time.perf_counter() - start


@dataclass(eq=False)
class _Watch:
    """When a search has to stop, and how much time its attacks have used."""

    began: float
    before: float
    """Seconds of earlier calls."""
    limit: float | None
    """Seconds for this call; None if no clock is used."""
    cancel: threading.Event | None
    attacked: float = 0.0

    def left(self) -> float:
        return 1e6 if self.limit is None else self.began + self.limit - time.perf_counter()

    def is_cancelled(self) -> bool:
        return self.cancel is not None and self.cancel.is_set()

    def is_over(self) -> bool:
        return self.is_cancelled() or self.left() < 0


@dataclass(frozen=True, eq=False)
class _Pending:
    """A proposal to be proven, and the rows it refers to."""

    found: Completed
    tags: list[Any]
    cuts: Cuts
    rows: Rows


class _Core:
    """The restricted master with its sets and rows. Rows are built over all program columns, then restricted."""

    def __init__(self, search: StrongSearch, seeds: Seeds) -> None:
        self.search = search
        self.program, self.structure = search.program, search.structure
        answer = search.tight
        assert answer is not None
        assert answer.x is not None
        s = self.structure
        self.levels = Levels(search.problem, self.program)
        self.separators = {k: Separator(self.levels, self.program, k) for k in s.types}
        self.payers = {k: PaidRows(one, s) for k, one in self.separators.items() if one.sites.payer is not None}
        self.cuts = Cuts.none()
        self.tags: list[tuple[Any, ...] | None] = []
        """Tags of the further rows in the model, in order; None for a σ cut."""
        self.rows = sp.csr_array((0, s.columns.count), dtype=np.int64)
        self.rhs = np.zeros(0, dtype=np.int64)
        self.idle = np.zeros(0, dtype=np.int64)
        self.have: set[str] = set()
        self.sets: list[LevelSet] = []
        self.x: np.ndarray | None = None
        self.status: Status | None = None
        self.promised = float(answer.bound)
        self._slow, self._gain, self._since_sets = 0, math.inf, 0
        self._settle = STRONG.settle_edges if s.types == (ADJ_DEL,) else STRONG.settle
        self._pending: _Pending | None = None
        self._last: Completed | None = None
        """Dual values and reduced costs of the last solution."""
        self._large = len(s.groups) > STRONG.large_groups
        self._max_rows = STRONG.max_rows_large if self._large else STRONG.max_rows
        self.model = self._begin(answer)
        self.pricing = Pricing(self.program, self.model)
        for new in seeds.sets:
            if new.kind in self.separators:
                self._seed(new)
        self._seed_covers(seeds.covers)

    def _begin(self, answer: BoundResult) -> Master:
        s, program = self.structure, self.program
        y = np.zeros(s.matrix.shape[0])
        if answer.duals is not None:
            y = answer.duals.y[: s.matrix.shape[0]] / s.scale
            if len(answer.duals.cuts):
                self.cuts = answer.duals.cuts
        else:
            y[s.rows["choose"]] = s.groups.weight
        model = Master(program, y, drop_dominated=len(s.types) == 1)
        assert answer.x is not None
        flips = answer.x[s.columns.flips]
        chosen = [np.flatnonzero(flips > 1e-9)]
        worth = model.reduced_costs(y)[s.columns.flips] if answer.duals is not None else -flips
        for k in s.types:
            mine = np.flatnonzero(s.flips.kind == k)
            chosen.append(mine[np.argsort(-worth[mine], kind="stable")[: STRONG.first_sites]])
        groups = np.arange(len(s.groups))
        model.add_columns_and_groups(np.concatenate(chosen), groups)
        if len(self.cuts):
            cuts, self.cuts = self.cuts, Cuts.none()
            self._add_cuts(model, cuts)
        return model

    # One round.

    def round(self, seconds: float, cancel: threading.Event | None) -> bool:
        """Separate, solve, price, prove; False if nothing, or no time, is left."""
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
        self._slow = self._slow + 1 if before - self.promised < STRONG.least_gain * max(1.0, before) else 0
        return self._slow < STRONG.patience

    def finish(self) -> None:
        """Prove the best proposal whose proof was postponed because its estimated gain was small."""
        self._prove()

    def _separate(self) -> int:
        assert self.x is not None
        x = self.x
        views = {k: separator.view(x) for k, separator in self.separators.items()}
        found: list[Found] = []
        for k, separator in self.separators.items():
            found += separator.level_rows(views[k], x, most=self._max_rows)
        added = self._add_tags(found, self._max_rows)
        covers: list[Found] = []
        for k, separator in self.separators.items():
            covers += separator.covers(views[k], STRONG.max_covers)
        for k, paid in self.payers.items():
            covers += paid.rows(views[k], x)
        added += self._add_tags(covers, STRONG.max_covers)
        if self.structure.has_sigma:
            cuts = violated(self.structure, x[: self.structure.columns.count], self.cuts)
            if len(cuts):
                added += len(cuts)
                self._add_cuts(self.model, cuts)
        self._since_sets += 1
        gained = self._gain / max(self.promised - self.search.found, 1e-9)
        slow = gained < STRONG.stuck or (gained < STRONG.slow and self._since_sets > self._settle)
        if added < STRONG.few_rows or slow:
            added += self._new_sets(views)
            self._since_sets = 0
        return added

    def _new_sets(self, views: dict[int, RelaxedView]) -> int:
        """Add sets whose rows the solution violates, with these rows."""
        assert self.x is not None
        count, found = 0, []
        for k, separator in self.separators.items():
            first = len(separator.numbers)
            if self._large:
                sites = self._worth_most(k, separator)
                new_sets = separator.common_sets(np.union1d(sites, views[k].used), STRONG.new_sets_large)
            else:
                new_sets = separator.best_sets(views[k], STRONG.new_sets)
            for new in new_sets:
                self._add_set(new)
            count += len(new_sets)
            x = np.concatenate([self.x, np.zeros(self.levels.count - len(self.x))])
            separator.guess(views[k], x, first)
            found += separator.level_rows(views[k], x, first, self._max_rows)
        return count + self._add_tags(found, self._max_rows)

    def _worth_most(self, k: int, separator: Separator) -> np.ndarray:
        """Sites whose reduced costs are close to 0: the attacker moves to them when those in use lose by new rows."""
        assert self._last is not None
        s, sites = self.structure, separator.sites
        price = float(self._last.y[s.global_row[k]])
        lack = -self._last.reduced_costs[sites.columns]
        return np.unique(sites.of_column[lack <= STRONG.near_price * price])

    def _price(self, found: Completed, turn: int) -> bool:
        """Add sites with positive reduced costs; False if there are none, or if their gain is negligible."""
        flips, lack = self.pricing.missing(found, STRONG.new_sites)
        if not len(flips) or (turn >= 2 and lack < 0.05):
            return False
        self.model.add_columns_and_groups(flips)
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

    def _append(self, model: Master, rows: Rows, tags: list[Any]) -> None:
        model.add_rows(rows.matrix, rows.rhs)
        width = self.levels.count
        before = sp.csr_array((self.rows.data, self.rows.indices, self.rows.indptr), (self.rows.shape[0], width))
        wide = sp.csr_array((rows.matrix.data, rows.matrix.indices, rows.matrix.indptr), (len(rows.rhs), width))
        self.rows = sp.csr_array(sp.vstack([before, wide], format="csr"))
        self.rhs = np.concatenate([self.rhs, rows.rhs])
        self.idle = np.concatenate([self.idle, np.zeros(len(tags), dtype=np.int64)])
        self.tags += tags

    def _add_cuts(self, model: Master, cuts: Cuts) -> None:
        self._append(model, cuts.rows(self.structure), [None] * len(cuts))
        self.cuts = self.cuts.plus(cuts)

    def _add_set(self, new: LevelSet) -> None:
        number = self.separators[new.kind].adopt(new)
        self.sets.append(new)
        self.model.add_columns(np.zeros(new.levels), np.ones(new.levels))
        self._enter([("least", number), ("most", number)])

    def _seed(self, old: LevelSet) -> None:
        separator = self.separators[old.kind]
        sites = old.sites[np.isin(old.sites, separator.sites.site)]
        if len(sites) and separator.top:
            new = separator.level_set(np.searchsorted(separator.sites.site, sites))
            if new is not None:
                self._add_set(new)

    def _seed_covers(self, covers: tuple[Tag, ...]) -> None:
        """Add covers from another budget, where their targets, sites and needs exist at this one."""
        fitting: list[Found] = []
        for name, k, target, *rest in covers:
            tag = (name, k, int(self.structure.groups.of_target[target]), *rest)
            try:
                self.levels.row(tag)
            except InputError:
                continue
            fitting.append((1.0, tag))
        self._add_tags(fitting, STRONG.max_rows)

    def _purge(self) -> None:
        """Drop rows that have been slack for some rounds; σ cuts and rows between levels stay."""
        if not self.tags:
            return
        first = self.structure.matrix.shape[0]
        slack = self.model.slack_rows(first + np.arange(len(self.tags)))
        loose = np.array([tag is not None and tag[0] not in ("least", "most") for tag in self.tags])
        self.idle = np.where(slack, self.idle + 1, 0)
        gone = loose & slack & (self.idle >= STRONG.idle_rounds)
        if int(gone.sum()) < STRONG.idle_rows:
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
        """Estimate the bound of a proposal, and keep the best one to be proven."""
        assert proposal.y is not None
        y = np.where(np.isfinite(proposal.y), np.maximum(proposal.y, 0.0), 0.0)
        found = self.pricing.complete(y)
        self._last = found
        value = self.pricing.bound(found, self.rhs)
        if value >= self.promised - 1e-9 * self.structure.mean_weight:
            return found
        self.promised = value
        self._pending = _Pending(found, list(self.tags), self.cuts, Rows(self.rows, self.rhs))
        return found

    def _worth_proving(self) -> bool:
        known, value = self.search.bound, self.promised
        assert known is not None
        s = self.structure
        more = math.floor((value + 1e-7 * s.mean_weight) / s.step) < math.floor(known / s.step)
        return more or value < float(known) - STRONG.worth_proving * s.mean_weight

    def _prove(self) -> None:
        """Round the best proposal to integers and evaluate it exactly; every row is rebuilt from its tag."""
        if self._pending is None:
            return
        held, self._pending = self._pending, None
        y, tags, rows = held.found.y, held.tags, held.rows
        cuts = held.cuts.plus(held.found.links)
        first = self.structure.matrix.shape[0]
        is_cut = np.array([tag is None for tag in tags], dtype=bool)
        bits = self.structure.scale_bits
        further = scaled(y[first:], bits)
        own = [tag for tag in tags if tag is not None]
        base = np.concatenate([scaled(y[:first], bits), further[is_cut], scaled(held.found.values, bits)])
        values = further[~is_cut]
        strong = Rows(sp.csr_array(rows.matrix[np.flatnonzero(~is_cut)]), rows.rhs[~is_cut])
        cut_rows = cuts.rows(self.structure) if len(cuts) else None
        fixed = repaired(self.program, base, cuts, cut_rows, values, strong)
        if fixed is None:
            return
        by = used_only(fixed, cuts, self.sets, own, values)
        bound = strong_bound(self.search.problem, self.program, by)
        assert self.search.bound is not None
        if bound < self.search.bound:
            self.search.bound, self.search.by = bound, by
