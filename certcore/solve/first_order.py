"""A first-order method for the adversary's program: good dual values of the field rows within seconds, at any size.

The adversary maximises Σ_g φ_g(flips in the field of g) over flips within the budgets. For any dual values y of the
field rows the optimum is at most the following, with equality for optimal y:

    Σ_types budget · (largest sum of duals at a flip)  +  Σ_g max(0, largest open point's weight − point · y_g).

This is a saddle point problem, solved by the primal-dual hybrid gradient method (Chambolle and Pock) with steps per row
and column, averaging and restarts. Rows of local edge budgets and of σ are omitted: their dual values stay 0, which can
weaken the bound but keeps it valid. Matrix products use only nonzero flips and changed dual values, which soon are few.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np
import scipy.sparse as sp

from certcore.common.products import dot
from certcore.domain.perturbations import TABLE
from certcore.program.hull import Hull
from certcore.program.incidence import Incidence
from certcore.program.program import Program
from certcore.program.structure import Structure
from certcore.solve.scaling import power_of_two
from certcore.solve.tuning import FIRST_ORDER


@dataclass(eq=False)
class Found:
    """The best dual values and flips so far; `upper` and `lower` are floating-point, used only for stopping."""

    y: np.ndarray
    x: np.ndarray
    upper: float = np.inf
    lower: float = -np.inf
    iterations: int = 0

    @property
    def gap(self) -> float:
        return (self.upper - self.lower) / max(abs(self.upper), 1.0)


@dataclass(frozen=True, eq=False)
class Shape:
    """The parts of a structure that the method uses: field rows, flip columns, groups and their points."""

    incidence: Incidence
    """Field rows (of all groups for the first kind of flow, then for the next) × columns."""
    block: np.ndarray
    """The kind of flow of each column: a perturbation type, or attackers."""
    amount: np.ndarray
    """(points, kinds): how much of each kind a point needs."""
    group: np.ndarray
    first: np.ndarray
    weight: np.ndarray
    has_attackers: bool
    """Whether attackers are the last kind of flow."""
    unit: np.ndarray
    """A power of two for each kind: real amounts of thousands of units would need other step lengths."""

    @classmethod
    def of(cls, structure: Structure) -> Shape | None:
        """The shape of a structure; None for the paper's form with several types.

        There every point has its own field rows. With σ, attackers are one more kind of flow, and every point needs one
        attacker.
        """
        s = structure
        incidence, amount = s.incidence, s.points.amount[:, list(s.types)].astype(np.float64)
        if incidence.shape[0] != len(s.types) * len(s.groups) or not len(s.groups):
            return None
        block = np.searchsorted(np.array(s.types), s.flips.kind)
        attackers = s.has_sigma and s.attackers.touch is not None
        if attackers:
            assert s.attackers.touch is not None
            count = len(s.attackers.nodes)
            touch = s.attackers.touch.astype(incidence.pattern.dtype)
            incidence = Incidence(sp.csr_array(sp.block_diag([incidence.pattern, touch], format="csr")))
            block = np.concatenate([block, np.full(count, len(s.types))])
            amount = np.concatenate([amount, np.ones((len(s.points), 1))], axis=1)
        weight = s.groups.weight / s.mean_weight
        unit = np.array([power_of_two(amount[:, i]) if not TABLE[k].whole else 1.0 for i, k in enumerate(s.types)])
        unit = np.append(unit, 1.0) if attackers else unit
        return cls(incidence, block, amount / unit, s.points.group, s.points.first, weight, attackers, unit)


@dataclass(frozen=True, eq=False)
class Limits:
    """The parts that depend on the budgets: reachable points, caps of the columns, budget of each kind of flow."""

    open: np.ndarray
    cap: np.ndarray
    budget: np.ndarray

    @classmethod
    def of(cls, program: Program, hull: Hull) -> Limits:
        s = program.structure
        open_ = hull.drop_dominated(program.upper)[s.columns.points] > 0
        cap, budget = program.upper[s.columns.flips], program.rhs[s.rows["global"]].astype(np.float64)
        if s.has_sigma and s.attackers.touch is not None:
            assert program.sigma is not None
            # The attackers' own limits usually bind long before a large global budget does.
            for i, k in enumerate(s.types):
                most = np.sort(program.coefficients[s.attackers.kinds == k])[::-1][: program.sigma]
                if len(most):
                    budget[i] = min(budget[i], float(most.sum()))
            cap = np.concatenate([cap, np.ones(len(s.attackers.nodes), dtype=np.int64)])
            budget = np.append(budget, float(program.sigma))
        return cls(open_, cap.astype(np.float64), budget)


class FirstOrder:
    """The method for one structure; `run` applies it at given budgets."""

    def __init__(self, shape: Shape) -> None:
        self.shape = shape
        self.types, self.count = shape.amount.shape[1], len(shape.weight)
        self.incidence, self.block, self.weight = shape.incidence, shape.block, shape.weight
        self.lengths = np.diff(self.incidence.starts).astype(np.float64)
        sizes = np.diff(np.append(shape.first, len(shape.group)))
        self.width = int(sizes.max(initial=1))
        self.slot = np.arange(len(shape.group)) - shape.first[shape.group]

    def run(
        self,
        limits: Limits,
        *,
        gap: float,
        seconds: float,
        cancel: threading.Event | None = None,
        report: Callable[[Found], None] | None = None,
    ) -> Found:
        """Iterate until the relative gap is small, the time limit is reached or `cancel` is set.

        `report` is called with the first useful dual values, and then each time the gap has halved.
        """
        return _Run(self, limits).until(gap, time.perf_counter() + seconds, cancel, report)


class _Run:
    def __init__(self, method: FirstOrder, limits: Limits) -> None:
        self.m = m = method
        self.budget, self.cap = limits.budget / m.shape.unit, limits.cap / m.shape.unit[m.block]
        self._points(limits.open)
        self.reach = np.maximum(self.incidence.reach(self.scale), 1e-9)
        """Upper bound on the sum of dual values at each flip."""
        self.tau = 1.0 / self.reach
        self.sigma = self.scale / np.maximum(m.lengths, 1.0)
        self.price = np.zeros(m.types)

    @property
    def incidence(self) -> Incidence:
        return self.m.incidence

    def _points(self, open_: np.ndarray) -> None:
        """Arrange the open points of every group in dense arrays; closed points get no positive reduced cost."""
        m, shape = self.m, self.m.shape
        self.need = np.zeros((m.types, m.width, m.count))  # groups last: faster sums over the few points
        self.worth = np.full((m.width, m.count), -np.inf)
        at = m.slot[open_], shape.group[open_]
        self.worth[at] = m.weight[at[1]]
        least = np.full((m.types, m.count), np.inf)
        for i in range(m.types):
            amount = shape.amount[open_, i]
            self.need[(i, *at)] = amount
            np.minimum.at(least[i], at[1][amount > 0], amount[amount > 0])
        self.scale = np.where(np.isfinite(least), m.weight / np.where(np.isfinite(least), least, 1.0), 0.0).ravel()
        self.simple = m.types == 1 and m.width == 1
        self.unit = float(m.weight.min(initial=1.0))

    def _start(self) -> tuple[np.ndarray, np.ndarray, float]:
        """Initial flips, dual values and primal weight (ratio of the step lengths)."""
        m = self.m
        total = np.bincount(m.block, minlength=m.types)
        x = np.minimum((self.budget / np.maximum(total, 1.0))[m.block], self.cap)
        if m.shape.has_attackers:
            # With σ, the start below converges sooner but spreads flips over more sites. The restricted master becomes
            # larger, and its simplex takes three times as long (Cora-ML, 200 edge deletions, σ = 10).
            return x, self.scale / m.types, 1.0
        best = np.zeros(m.types)
        np.maximum.at(best, m.block, self.reach)
        omega = FIRST_ORDER.start_balance * np.sqrt(self.reach.sum() / max(dot(self.budget, best), 1e-9))
        return x, FIRST_ORDER.start_price / m.types * self.scale, float(omega)

    # The iteration.

    def until(
        self,
        gap: float,
        deadline: float,
        cancel: threading.Event | None,
        report: Callable[[Found], None] | None,
    ) -> Found:
        m, inc = self.m, self.incidence
        x, y, omega = self._start()
        s = np.zeros((m.width, m.count))
        into, gain = inc.into(x), inc.reach(y)
        found = Found(y.copy(), x.copy())
        mean = _Mean(x, y, s, into, gain)
        anchor = (x.copy(), y.copy())
        first = before = np.inf
        settled = np.zeros(m.count, dtype=bool)
        iteration, told, last_gain, best_gap = 0, FIRST_ORDER.report_gap, 0, np.inf
        while True:
            iteration += 1
            tau = self.tau / omega
            moved = self._project(x + tau * gain, tau)
            received = self._into(moved)
            same = settled & self._by_group(received == into)
            active = np.flatnonzero(~same)
            rows = self._rows(active)
            target = y[rows] - omega * self.sigma[rows] * (2 * received[rows] - into[rows])
            priced, s[:, active] = self._prices(active, target, omega, s[:, active])
            step = priced - y[rows]
            large = np.abs(step) > 1e-7 * self.scale[rows]
            settled[:] = True
            settled[active] = self._by_group(~large & (received[rows] == into[rows]))
            changed, by = rows[large], step[large]
            y[changed] += by
            gain = self._reach(gain, y, changed, by)
            x, into = moved, received
            mean.add(x, y, s, into, gain)
            over = time.perf_counter() > deadline or (cancel is not None and cancel.is_set())
            if iteration % FIRST_ORDER.check_every and not over:
                continue
            gaps = self._judge(found, (x, y, s, into, gain), mean)
            found.iterations = iteration
            if found.gap < 0.9 * best_gap:
                best_gap, last_gain = found.gap, iteration
            if over or found.gap <= gap or iteration - last_gain > FIRST_ORDER.stalled:
                break
            if report is not None and found.gap <= told:
                report(self._in_units(found))
                told = found.gap / 2
            now = min(gaps)
            if now <= 0.3 * first or (now <= 0.8 * first and now > before) or mean.count >= max(0.36 * iteration, 20):
                if gaps[1] < gaps[0]:
                    x, y, s = mean.x.copy(), mean.y.copy(), mean.s.copy()
                into, gain = inc.into(x), inc.reach(y)
                omega = self._balance(omega, x - anchor[0], y - anchor[1])
                anchor = (x.copy(), y.copy())
                mean = _Mean(x, y, s, into, gain)
                settled[:] = False
                first = now
            before = now
        return self._in_units(found)

    def _in_units(self, found: Found) -> Found:
        """The result in the units of the program."""
        unit = self.m.shape.unit
        return replace(found, x=found.x * unit[self.m.block], y=found.y / np.repeat(unit, self.m.count))

    def _judge(self, found: Found, here: tuple[np.ndarray, ...], mean: _Mean) -> tuple[float, float]:
        """Keep the best of the known result, the current iterate and the average; returns the gaps of the last two."""
        x, y, s, into, gain = here
        now, average = ((self._upper(a, g), self._lower(i, p)) for a, g, i, p in ((y, gain, into, s), mean.parts()))
        for (upper, lower), (fx, fy) in ((now, (x, y)), (average, (mean.x, mean.y))):
            if upper < found.upper:
                found.upper, found.y = upper, fy.copy()
            if lower > found.lower:
                found.lower, found.x = lower, fx.copy()
        return now[0] - now[1], average[0] - average[1]

    def _balance(self, omega: float, dx: np.ndarray, dy: np.ndarray) -> float:
        """Primal weight from how far flips and dual values have moved since the last restart."""
        a = float((dx**2 / self.tau).sum())
        used = self.sigma > 0
        b = float((dy[used] ** 2 / self.sigma[used]).sum())
        return float(np.sqrt(omega * np.sqrt(b / a))) if a > 1e-20 and b > 1e-20 else omega

    # Flips.

    def _project(self, v: np.ndarray, tau: np.ndarray) -> np.ndarray:
        """Project flips onto budgets and caps: v − τ·λ, clipped, with λ by Newton's method for each type."""
        m = self.m
        result = np.zeros(len(v))
        for b in range(m.types):
            mine = np.flatnonzero((m.block == b) & (v > 0)) if m.types > 1 else np.flatnonzero(v > 0)
            value, slope, cap = v[mine], tau[mine], self.cap[mine]
            budget, price = self.budget[b], 0.0
            flips, ones = np.minimum(value, cap), np.ones(len(mine))  # `dot` adds in another order than `sum`
            if dot(ones, flips) > budget:
                low, high, price = 0.0, np.inf, self.price[b]
                for _ in range(60):
                    flips = value - slope * price
                    inner = (flips > 0) & (flips < cap)
                    flips = np.clip(flips, 0.0, cap)
                    excess = dot(ones, flips) - budget
                    if abs(excess) <= 1e-9 * budget:
                        break
                    low, high = (max(low, price), high) if excess > 0 else (low, min(high, price))
                    steep = float(slope[inner].sum())
                    price = price + excess / steep if steep > 0 else -1.0
                    if not low < price < high:
                        price = 0.5 * (low + high) if np.isfinite(high) else 2 * low + 1e-12
                self.price[b] = price
            result[mine] = flips
        return result

    def _into(self, x: np.ndarray) -> np.ndarray:
        inc = self.incidence
        used = np.flatnonzero(x)
        if FIRST_ORDER.few * int((inc.flip_starts[used + 1] - inc.flip_starts[used]).sum()) > inc.entries:
            return inc.into(x)
        return inc.into_from(used, x[used])

    # Dual values.

    def _reach(self, gain: np.ndarray, y: np.ndarray, rows: np.ndarray, by: np.ndarray) -> np.ndarray:
        inc = self.incidence
        if FIRST_ORDER.few * int((inc.starts[rows + 1] - inc.starts[rows]).sum()) > inc.entries:
            return inc.reach(y)
        return gain + inc.reach_from(rows, by)

    def _rows(self, groups: np.ndarray) -> np.ndarray:
        return (np.arange(self.m.types)[:, None] * self.m.count + groups).ravel()

    def _by_group(self, flags: np.ndarray) -> np.ndarray:
        return np.logical_and.reduce(flags.reshape(self.m.types, -1))

    def _prices(
        self, groups: np.ndarray, target: np.ndarray, omega: float, s: np.ndarray
    ) -> tuple[np.ndarray, np.ndarray]:
        """Proximal step of the groups' terms: new dual values near the target, and the points chosen."""
        m, count = self.m, len(groups)
        sigma = omega * self.sigma.reshape(m.types, m.count)[:, groups]
        target = target.reshape(m.types, count)
        need, worth = self.need[:, :, groups], self.worth[:, groups]
        if self.simple:
            need_, worth_ = need[0, 0], worth[0]
            usable = np.isfinite(worth_) & (need_ > 0)
            share = np.zeros(count)
            steep = sigma[0] * need_**2
            np.divide(worth_ - need_ * target[0], steep, out=share, where=usable & (steep > 0))
            share = np.clip(share, 0.0, 1.0)
            return np.where(usable, np.maximum(0.0, target[0] + sigma[0] * need_ * share), 0.0), share[None]
        s = np.where(np.isfinite(worth), s, 0.0)
        self._pairwise(target, sigma, need, worth, s)
        return np.maximum(0.0, target + sigma * _used(need, s)).ravel(), s

    def _pairwise(
        self, target: np.ndarray, sigma: np.ndarray, need: np.ndarray, worth: np.ndarray, s: np.ndarray
    ) -> None:
        """Groups with several points: move weight from the least to the most valuable point, a few times."""
        todo = np.arange(worth.shape[1])
        for _ in range(FIRST_ORDER.inner_steps):
            each = np.arange(len(todo))
            mine, points = s[:, todo], need[:, :, todo]
            price = np.maximum(0.0, target[:, todo] + sigma[:, todo] * _used(points, mine))
            value = worth[:, todo] - _paid(points, price)
            slack = np.maximum(0.0, 1.0 - mine.sum(axis=0))
            top, best = _extreme(value, np.greater)
            used = np.where(mine > 0, value, np.inf)
            bottom, worst = _extreme(used, np.less)
            from_slack = (slack > 0) & (worst > 0)
            worst = np.where(from_slack, 0.0, worst)
            gainful = np.maximum(best, 0.0) - worst
            keep = np.flatnonzero(np.isfinite(worst) & (gainful > 1e-5 * self.unit))
            if not len(keep):
                break
            each, todo, top, bottom = each[keep], todo[keep], top[keep], bottom[keep]
            gainful, slack, from_slack, to = gainful[keep], slack[keep], from_slack[keep], best[keep] > 0
            a = np.where(to, points[:, top, each], 0.0)
            b = np.where(from_slack, 0.0, points[:, bottom, each])
            curve = (sigma[:, todo] * (a - b) ** 2).sum(axis=0)
            room = np.where(from_slack, slack, mine[bottom, each])
            move = np.where(curve > 0, np.minimum(room, gainful / np.where(curve > 0, curve, 1.0)), room)
            left = room - move
            s[bottom[~from_slack], todo[~from_slack]] = np.where(left < 1e-13, 0.0, left)[~from_slack]
            s[top[to], todo[to]] += move[to]

    # Values.

    def _upper(self, y: np.ndarray, gain: np.ndarray) -> float:
        m = self.m
        left = self.worth - _paid(self.need, y.reshape(m.types, m.count))
        total = float(np.maximum(left.max(axis=0, initial=0.0), 0.0).sum())
        for b in range(m.types):
            mine = m.block == b
            total += knapsack(gain[mine], self.cap[mine], self.budget[b])[0]
        return total

    def _lower(self, into: np.ndarray, s: np.ndarray) -> float:
        """Lower bound of these flips: each group's best single point, or its points scaled to the flips there."""
        m = self.m
        flow = into.reshape(m.types, m.count)
        share = np.full((m.width, m.count), 1.0)
        for need, inside in zip(self.need, flow):
            share = np.minimum(share, np.where(need > 0, inside / np.maximum(need, 1e-9), 1.0))
        best = np.where(np.isfinite(self.worth), np.maximum(share, 0.0), 0.0).max(axis=0, initial=0.0)
        if not self.simple:
            used = _used(self.need, s)
            scale = np.where(used > 0, flow / np.where(used > 0, used, 1.0), 1.0).min(axis=0)
            best = np.maximum(best, np.minimum(1.0, s.sum(axis=0) * np.clip(scale, 0.0, 1.0)))
        return dot(m.weight, best)


class _Mean:
    """Averages since the last restart; matrix products are linear, so they are averaged as well."""

    def __init__(self, *start: np.ndarray) -> None:
        self.x, self.y, self.s, self.into, self.gain = (part.copy() for part in start)
        self.count = 0

    def add(self, *parts: np.ndarray) -> None:
        self.count += 1
        for mean, part in zip((self.x, self.y, self.s, self.into, self.gain), parts):
            mean += (part - mean) / self.count

    def parts(self) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
        return self.y, self.gain, self.into, self.s


def _used(need: np.ndarray, s: np.ndarray) -> np.ndarray:
    """(types, groups): how much of each type the chosen points use."""
    return np.stack([(amount * s).sum(axis=0) for amount in need])


def _paid(need: np.ndarray, price: np.ndarray) -> np.ndarray:
    """(points, groups): the cost of each point at given dual values."""
    total = need[0] * price[0]
    for amount, each in zip(need[1:], price[1:]):
        total += amount * each
    return np.asarray(total)


def _extreme(values: np.ndarray, better: np.ufunc) -> tuple[np.ndarray, np.ndarray]:
    """For each group, the index and value of its largest (or least) point."""
    at, best = np.zeros(values.shape[1], dtype=np.int64), values[0].copy()
    for i, row in enumerate(values[1:], 1):
        beats = better(row, best)
        at[beats] = i
        np.copyto(best, row, where=beats)
    return at, best


def knapsack(worth: np.ndarray, cap: np.ndarray, budget: float) -> tuple[float, float]:
    """The largest total value of flips within caps and budget, and the budget's dual value that proves it."""
    useful = np.flatnonzero((worth > 0) & (cap > 0))
    if not len(useful):
        return 0.0, 0.0
    worth, cap = worth[useful], cap[useful]
    if cap.min() >= budget:
        price = float(worth.max())
        return budget * price, price
    order = np.argsort(-worth)
    spent = np.cumsum(cap[order])
    last = int(np.searchsorted(spent, budget))
    price = float(worth[order[last]]) if last < len(order) else 0.0
    return budget * price + float((np.maximum(worth - price, 0.0) * cap).sum()), price
