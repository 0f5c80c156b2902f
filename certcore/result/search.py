"""The searches for attacks on certificates: greedy runs, and simulated annealing; both work on one state.

A greedy run spends flips where they bring most targets closest to a front point, and takes back those that no broken
target needs. Annealing improves an attack: every step takes back some flips and spends them again, each at the site
with the largest gain plus noise that shrinks with the temperature. The gain counts broken targets, and a part of the
progress of other targets towards a front point. Neither replaces the other: against 50 attribute deletions (Citeseer)
greedy runs break 555 targets and annealing alone 539; with 50 edge deletions and σ = 5 it is 530 and 622. Soundness
does not depend on this module: attacks are replayed before they are used.
"""

from __future__ import annotations

import math
import threading
import time
from collections.abc import Callable, Iterator
from functools import cached_property
from itertools import count

import numpy as np

from certcore.common.interrupt import over
from certcore.domain.perturbations import ADJ_DEL, TABLE
from certcore.program.problem import Problem
from certcore.program.structure import Structure
from certcore.result.allocation import Allocation, columns_of, inadmissible, replay
from certcore.result.sites import AttackSites

#: Tolerance for rounding errors in sums of weights; attacks are replayed in exact integers.
ROUNDING = 1e-9
#: (share, power, temperature) of successive runs. An unbroken target counts share · progress ** power, where progress
#: is the fraction of the distance to a front point. The temperature, in targets, is that at the start of the run.
STYLES = ((0.5, 3.0, 2.0), (0.8, 6.0, 4.0), (0.3, 2.0, 1.5), (0.6, 10.0, 3.0), (0.4, 4.0, 1.0))
#: The temperature at the end of a run.
COLD = 0.08
#: From this fraction of a run on, (nearly) only broken targets count.
POLISH = 0.75
#: Probability of spending several flips at one site at a time.
BLOCKS = 0.4
#: Probability of taking back all flips.
AFRESH = 0.02
#: Number of steps before the search returns to the best attack.
BURST = 25
#: Steps of the first run, per flip that the budgets allow.
STEPS = 30
#: Maximum number of steps of a run.
MAX_STEPS = 6000
#: Size of the table of random numbers; each step reads its noise from a random position.
NOISE = 2**16


class _Flips:
    """Flips at the sites, what they leave of the budgets, and how many are inside the field of each group."""

    def __init__(self, problem: Problem, structure: Structure, sites: AttackSites, types: list[int]) -> None:
        self.problem, self.structure, self.sites, self.types = problem, structure, sites, types

    def clear(self) -> None:
        self.amount = np.zeros(len(self.sites.site), dtype=np.int64)
        self.left = np.array(self.problem.threat.budgets, dtype=np.int64)
        self.local_left = self.problem.local_limits[ADJ_DEL].copy()
        self.inside = np.zeros((len(self.structure.groups), len(self.types)))

    def fits(self, site: int) -> int:
        """How many more flips the site can take."""
        k = int(self.sites.kind[site])
        most = min(int(self.sites.cap[site] - self.amount[site]), int(self.left[k]))
        if k == ADJ_DEL:
            most = min(most, int(self.local_left[self.sites.ends[site]].min()))
        return max(most, 0)

    def move(self, site: int, count: int) -> np.ndarray:
        """Spend flips at a site, or take them back; returns the groups whose field contains it."""
        k = int(self.sites.kind[site])
        self.amount[site] += count
        self.left[k] -= count
        if k == ADJ_DEL:
            self.local_left[self.sites.ends[site]] -= count
        rows = self.sites.rows_of(site)
        self.inside[rows, self.types.index(k)] += count
        return rows


class Greedy(_Flips):
    """Greedy runs over flip sites: attribute flips per type and node, deletions per edge."""

    def __init__(self, problem: Problem, structure: Structure, deadline: float, cancel: threading.Event | None) -> None:
        super().__init__(problem, structure, AttackSites(problem, structure), list(structure.types))
        self.deadline, self.cancel = deadline, cancel

    def attacker_sets(self, x: np.ndarray | None) -> list[np.ndarray | None]:
        """Candidate sets of σ attackers: by the relaxed solution, and by the number of targets they reach."""
        sigma = self.problem.threat.sigma
        if sigma is None:
            return [None]
        n = self.problem.instance.graph.n_nodes
        pull, sets = self.sites.pull, []
        if x is not None:
            share = np.zeros(n)
            if self.structure.has_sigma:
                share[self.structure.attackers.nodes] = x[self.structure.columns.attackers]
            else:  # σ stands for a sum of norms
                np.add.at(share, self.sites.ends[:, 0], self.sites.whole_parts(self.structure, x))
            sets.append(np.lexsort((-pull, -np.round(share, 9)))[:sigma])
        sets.append(np.argsort(-pull, kind="stable")[:sigma])
        return [np.sort(chosen) for chosen in sets]

    def run(self, x: np.ndarray | None, power: float, attackers: np.ndarray | None) -> Allocation:
        """One greedy run from the relaxed solution rounded down (or from no flips)."""
        self.clear()
        allowed, control = np.ones(len(self.sites.site), dtype=bool), None
        if attackers is not None:
            control = np.zeros(self.problem.instance.graph.n_nodes, dtype=bool)
            control[attackers] = True
            allowed = control[self.sites.ends].any(axis=1)
        if x is not None and len(self.sites.site):
            whole = self.sites.whole_parts(self.structure, x)
            for site in np.flatnonzero((whole > 0) & allowed).tolist():
                self.move(site, min(int(whole[site]), self.fits(site)))
        for _ in range(3):
            self._spend(allowed, power)
            if not self._reclaim():
                break
        return self.sites.allocation(self.problem, self.amount, control)

    def _deficits(self) -> tuple[np.ndarray, np.ndarray]:
        """For each group, the closest front point (in shares of the remaining budget) and the flips it still needs."""
        points, left = self.structure.points, self.left[self.types]
        missing = np.maximum(points.amount[:, self.types] - self.inside[points.group], 0)
        effort = np.where(missing > 0, missing / np.maximum(left, 1e-9), 0.0)
        total = np.where((missing > left).any(axis=1), np.inf, effort.sum(axis=1))
        closest = np.lexsort((total, points.group))[points.first]
        return missing[closest], total[closest]

    def _spend(self, allowed: np.ndarray, power: float) -> None:
        """Spend flips at the best site again and again, while a target can still be broken."""
        weight, sites = self.structure.groups.weight, self.sites
        while len(sites.site) and self.left.any() and not over(self.deadline, self.cancel):
            missing, effort = self._deficits()
            useful = np.isfinite(effort) & (effort > 0)
            if not useful.any():
                return
            pull = np.zeros(len(effort))
            pull[useful] = weight[useful] / effort[useful] ** power
            score = np.zeros(len(sites.site))
            for i, k in enumerate(self.types):
                mine = sites.kind == k
                score[mine] = (sites.by_site @ np.where(missing[:, i] > 0, pull, 0.0))[mine]
            open_ = allowed & (self.amount < sites.cap) & (self.left[sites.kind] > 0)
            if sites.is_edge.any():
                open_ &= ~sites.is_edge | (self.local_left[sites.ends].min(axis=1) > 0)
            score = np.where(open_, score, 0.0)
            site = int(np.argmax(score))
            if score[site] <= 0:
                return
            needed = missing[sites.rows_of(site), self.types.index(int(sites.kind[site]))]
            needed = needed[useful[sites.rows_of(site)] & (needed > 0)]
            step = int(needed.min()) if len(needed) else 1
            self.move(site, max(1, min(step, self.fits(site))))

    def _reclaim(self) -> bool:
        """Take back flips that no attacked group needs; returns whether there were any."""
        points = self.structure.points
        amount = points.amount[:, self.types]
        reached = (amount <= self.inside[points.group] + ROUNDING).all(axis=1)
        need = np.zeros(self.inside.shape)
        groups, first = np.unique(points.group[reached], return_index=True)
        need[groups] = amount[reached][first]
        found = False
        for site in np.flatnonzero(self.amount > 0).tolist():
            i, rows = self.types.index(int(self.sites.kind[site])), self.sites.rows_of(site)
            rows = rows[need[rows, i] > 0]
            spare = self.inside[rows, i] - need[rows, i]
            slack = int(self.amount[site])
            if len(rows):
                slack = min(slack, int((spare + ROUNDING).min()))
            if slack > 0:
                self.move(site, -slack)
                found = True
        return found


class Annealer:
    """The search for one threat model; can be stopped, continued, and started from known attacks."""

    def __init__(self, problem: Problem, structure: Structure, *, seed: int = 0) -> None:
        self.problem, self.structure = problem, structure
        self.sites = AttackSites(problem, structure)
        self._seed = seed
        self.rng = np.random.default_rng(seed)
        self.best: Allocation | None = None
        self.best_amount = np.zeros(len(self.sites.site), dtype=np.int64)
        self.runs = 0
        self.useful = bool(len(self.sites.site) and len(structure.groups) and problem.threat.sigma != 0)
        """Whether at least one site, group and attacker exists."""
        self._going: Iterator[int] | None = None
        """The current run."""
        self._hint: np.ndarray | None = None
        self._waiting = False

    # Built lazily: not needed if the first attack meets the bound.

    @cached_property
    def _work(self) -> _Annealed:
        return _Annealed(self.problem, self.structure, self.sites, self.rng)

    @cached_property
    def _rounding(self) -> _Annealed:
        return _Annealed(self.problem, self.structure, self.sites, np.random.default_rng(self._seed))

    @property
    def found(self) -> int:
        """Targets that the best attack breaks, or the sum of their weights."""
        return -1 if self.best is None else self.best.loss

    def offer(self, attack: Allocation | None) -> None:
        """Offer a known attack (greedy, other budgets); it is kept if it is admissible and the best so far."""
        if attack is None or inadmissible(self.problem, attack) is not None:
            return
        again = replay(self.problem, attack.attributes, attack.deleted, attack.added, attack.attackers)
        if again.loss > self.found:
            self.best = again
            self.best_amount = self.sites.amounts_of(again)

    def hint(self, x: np.ndarray) -> None:
        """Round a relaxed solution down, complete it greedily to an attack, and start the next run from it."""
        if not self.useful:
            return
        whole = self.sites.whole_parts(self.structure, x)
        if self._hint is not None and np.array_equal(whole, self._hint):
            return
        self._hint, self._waiting = whole, True
        state = self._rounding
        state.reset(whole)
        state.value_by(0.5, 3.0)
        state.refill(0.0)
        if state.broken > self.found - self.structure.constant:
            self._keep(state)

    def run(
        self,
        *,
        steps: int | None = None,
        seconds: float = math.inf,
        stop: Callable[[], bool] | None = None,
        cancel: threading.Event | None = None,
    ) -> None:
        """Anneal for a number of steps or seconds, until `stop()` or `cancel` is set; the next call continues."""
        if not self.useful:
            return
        deadline = time.perf_counter() + seconds
        for done in count() if steps is None else range(steps):
            if cancel is not None and cancel.is_set():
                return
            if done % 16 == 0 and (time.perf_counter() > deadline or (stop is not None and stop())):
                return
            if self._going is None:
                self._going = self._steps(self._work)
            if next(self._going, None) is None:
                self._going = None

    def _steps(self, state: _Annealed) -> Iterator[int]:
        """The steps of one run: bursts around the best attack alternate with annealing to low temperature."""
        share, power, hot = STYLES[self.runs // 2 % len(STYLES)]
        units = int(sum(self.problem.threat.budgets[k] for k in self.structure.types))
        length = min(MAX_STEPS, max(200, STEPS * units) * (1 + self.runs // (2 * len(STYLES))))
        self.runs += 1
        if self.best is not None and self.runs % 2:
            for step in range(length):
                if step % BURST == 0:
                    share, power, hot = STYLES[step // BURST % len(STYLES)]
                    state.reset(self.best_amount, self.best)
                    state.value_by(share, power)
                self._step(state, min(hot, 1.0))
                yield step
            return
        if self._waiting and self._hint is not None and self.runs % 4 == 0:
            state.reset(self._hint)
            self._waiting = False
        elif self.runs % 6 == 2 or self.best is None:
            state.reset(np.zeros_like(self.best_amount))
        else:
            state.reset(self.best_amount, self.best)
        state.value_by(share, power)
        state.refill(hot)
        for step in range(length):
            if step == int(POLISH * length) + 1:
                state.value_by(0.02, 1.0)
            self._step(state, hot * (COLD / hot) ** (step / length))
            yield step

    def _step(self, state: _Annealed, heat: float) -> None:
        state.take_back()
        state.refill(heat)
        if state.broken > self.found - self.structure.constant:
            self._keep(state)

    def _keep(self, state: _Annealed) -> None:
        attack = self.sites.allocation(self.problem, state.amount, state.attackers)
        reason = inadmissible(self.problem, attack)
        if reason is not None:
            raise AssertionError(f"the attack breaks the threat model: {reason}")
        if attack.loss > self.found:
            self.best, self.best_amount = attack, state.amount.copy()


class _Annealed(_Flips):
    """The current flips with the gain of one more flip of each type for each group."""

    def __init__(self, problem: Problem, structure: Structure, sites: AttackSites, rng: np.random.Generator) -> None:
        budgets = np.array(problem.threat.budgets, dtype=np.int64)
        super().__init__(problem, structure, sites, [k for k in structure.types if budgets[k] > 0])
        self.rng = rng
        self.sigma = problem.threat.sigma
        points = structure.points
        sizes = np.diff(np.append(points.first, len(points)))
        within = np.arange(len(points)) - points.first[points.group]
        amounts = points.amount[:, self.types]
        far = (amounts > budgets[self.types]).any(axis=1)
        self.weight = structure.groups.weight / structure.mean_weight
        shape = (len(structure.groups), int(sizes.max(initial=1)), len(self.types))
        self.need = np.full(shape, max(10**6, 4 * int(amounts.max(initial=0))), dtype=np.float64)
        self.need[points.group[~far], within[~far]] = amounts[~far]
        self.effort = 1.0 / budgets[self.types]
        self.whole = np.maximum((self.need * self.effort).sum(axis=2), 1e-12)
        self.site_gain = np.zeros(len(sites.site))
        self.mine = [_SitesOfType(sites, k, self.site_gain) for k in self.types]
        # The sites of each type in the field of each group: one row per type and group, ordered by type.
        seen = [columns_of(mine.by_site) for mine in self.mine]
        before = np.cumsum([0, *(part.nnz for part in seen)])
        self.first_line = np.arange(len(seen))[:, None] * shape[0]
        self.starts = np.concatenate([part.indptr[:-1] + first for part, first in zip(seen, before)] or [before[:0]])
        self.ends = np.concatenate([part.indptr[1:] + first for part, first in zip(seen, before)] or [before[:0]])
        self.seen_from = np.concatenate([mine.all[part.indices] for mine, part in zip(self.mine, seen)] or [before[:0]])
        self.noise = rng.gumbel(size=NOISE + len(sites.site))
        self.reset(np.zeros(len(sites.site), dtype=np.int64))

    def reset(self, amount: np.ndarray, like: Allocation | None = None) -> None:
        self.clear()
        self.attackers = np.zeros(self.problem.instance.graph.n_nodes, dtype=bool)
        if self.sigma is not None and like is not None:
            self.attackers = like.attackers > 0.5
        for site in np.flatnonzero(amount).tolist():
            count = min(int(amount[site]), self.fits(site))
            if count > 0 and self._has_attacker(site):
                self.move(site, count)
        self.share, self.power = 0.5, 3.0
        self._revalue()

    def value_by(self, share: float, power: float) -> None:
        self.share, self.power = share, power
        self._revalue()

    @property
    def broken(self) -> int:
        """What the current flips break of the program: a number of targets, or the sum of their weights."""
        return int(self.structure.groups.weight[self.reached].sum())

    # Gains.

    def _revalue(self, rows: np.ndarray | None = None) -> None:
        """Recompute the gains of some groups (None: all) and of the sites in their fields."""
        chosen = slice(None) if rows is None else rows
        missing = np.maximum(self.need[chosen] - self.inside[chosen][:, None, :], 0.0)
        open_ = missing @ self.effort
        # Values at the current flips, and with one more flip of each type.
        ahead = np.empty((1 + len(self.types), *open_.shape))
        ahead[0] = open_
        np.subtract(open_, (self.effort * (missing > 0)).transpose(2, 0, 1), out=ahead[1:])
        values, reached = self._value(ahead, self.whole[chosen])
        gain = (values[1:] - values[0]) * self.weight[chosen]
        if rows is None:
            self.value, self.reached, self.gain = values[0], reached[0], gain
            for mine, of_group in zip(self.mine, gain):
                mine.gain[:] = mine.by_site @ of_group
            return
        self.value[rows], self.reached[rows] = values[0], reached[0]
        change = gain - self.gain[:, rows]
        self.gain[:, rows] = gain
        self._spread(rows, change)

    def _spread(self, groups: np.ndarray, change: np.ndarray) -> None:
        """Add changes of groups' gains to the sites in their fields."""
        moved = change.ravel().nonzero()[0]
        if not len(moved):
            return
        change = change.ravel()[moved]
        lines = (self.first_line + groups).ravel()[moved]
        stop = self.ends[lines]
        lengths = stop - self.starts[lines]
        total = lengths.cumsum()
        entries = (stop - total).repeat(lengths) + np.arange(total[-1])
        seen = self.seen_from[entries]
        self.site_gain += np.bincount(seen, weights=change.repeat(lengths), minlength=len(self.site_gain))

    def _value(self, open_: np.ndarray, whole: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """The value of each group: 1 if broken, else a part of the progress towards its nearest point."""
        way = (1.0 - open_ / whole).max(axis=-1)
        reached = way > 1.0 - 1e-9
        soft = self.share * np.maximum(way, 0.0) ** self.power
        return np.where(reached, 1.0, soft), reached

    # Moves.

    def take_back(self) -> None:
        """Take back some flips at one site, or all flips that need one attacker."""
        used = np.flatnonzero(self.amount)
        if not len(used):
            return
        if self.sigma is not None and self.rng.random() < 0.25 and self.attackers.any():
            node = int(self.rng.choice(np.flatnonzero(self.attackers)))
            self.attackers[node] = False
            for site in used[~self.attackers[self.sites.ends[used]].any(axis=1)].tolist():
                self._spend(site, -int(self.amount[site]))
            return
        if self.rng.random() < AFRESH:
            for site in used.tolist():
                self._spend(site, -int(self.amount[site]))
            self.attackers[:] = False
            return
        for _ in range(1 if self.rng.random() < 0.7 else 2):
            site = int(used[self.rng.integers(len(used))])
            has = int(self.amount[site])
            if has:
                self._spend(site, -(1 if self.rng.random() < 0.6 else int(self.rng.integers(1, has + 1))))
        if self.sigma is not None:
            self._dismiss()

    def refill(self, heat: float) -> None:
        for number, k in enumerate(self.types):
            mine = self.mine[number]
            while self.left[k] > 0 and len(mine.all):
                free = mine.cap - self.amount[mine.all]
                open_ = free > 0
                if k == ADJ_DEL:
                    open_ &= (self.local_left[mine.one] > 0) & (self.local_left[mine.other] > 0)
                if self.sigma is not None and int(self.attackers.sum()) >= self.sigma:
                    open_ &= self.attackers[mine.one] | self.attackers[mine.other]
                if not open_.any():
                    break
                count = self._block(k) if self.rng.random() < BLOCKS else 1
                if count > 1:
                    fits = open_ & (free >= count) & (count <= self.left[k])
                    count, open_ = (count, fits) if fits.any() else (1, open_)
                score = mine.gain if count == 1 else mine.by_site @ self._gain_of(number, count)
                first = int(self.rng.integers(NOISE))
                score = score + heat * self.noise[first : first + len(score)]
                score[~open_] = -np.inf
                site = int(mine.all[int(np.argmax(score))])
                if not self._has_attacker(site):
                    break
                self._spend(site, count if TABLE[k].whole or count > 1 else self._completing(number, site))

    def _block(self, kind: int) -> int:
        """How many flips to spend at one site together; for targets that need many, a single flip gains little."""
        left = int(self.left[kind])
        if kind == ADJ_DEL or left == 1:
            return 1
        return (left, left // 2, (left + 1) // 2, int(self.rng.integers(1, left + 1)))[int(self.rng.integers(4))]

    def _completing(self, number: int, site: int) -> int:
        """The amount that breaks one more target near a site; real amounts have too many units for single steps."""
        rows = self.sites.rows_of(site)
        missing = (self.need[rows] - self.inside[rows][:, None, :])[:, :, number]
        least = missing[missing > 0].min(initial=np.inf)
        return max(1, int(min(least, self.fits(site))))

    def _gain_of(self, number: int, count: int) -> np.ndarray:
        """The gain of `count` more flips of a type for each group."""
        missing = np.maximum(self.need - self.inside[:, None, :], 0.0)
        missing[:, :, number] = np.maximum(missing[:, :, number] - count, 0.0)
        return np.asarray((self._value(missing @ self.effort, self.whole)[0] - self.value) * self.weight)

    def _has_attacker(self, site: int) -> bool:
        """With σ: make one end of the site an attacker if none is; False if σ attackers exist already."""
        if self.sigma is None:
            return True
        ends = self.sites.ends[site]
        if self.attackers[ends].any():
            return True
        if int(self.attackers.sum()) >= self.sigma:
            return False
        self.attackers[ends[self.sites.pull[ends].argmax()]] = True
        return True

    def _dismiss(self) -> None:
        """Remove attackers that pay for no flip."""
        used = np.flatnonzero(self.amount)
        needed = np.zeros_like(self.attackers)
        needed[self.sites.ends[used].ravel()] = True
        self.attackers &= needed

    def _spend(self, site: int, count: int) -> None:
        self._revalue(self.move(site, count))


class _SitesOfType:
    """The sites of one type, which are adjacent, and the gain of one more flip at each."""

    def __init__(self, sites: AttackSites, kind: int, site_gain: np.ndarray) -> None:
        self.all = np.flatnonzero(sites.kind == kind)
        self.cap = sites.cap[self.all]
        self.one, self.other = sites.ends[self.all].T.copy()
        self.by_site = sites.by_site[self.all]
        self.gain = site_gain[self.all[0] : self.all[-1] + 1] if len(self.all) else site_gain[:0]
