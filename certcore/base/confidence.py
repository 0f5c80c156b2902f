"""One-sided Clopper–Pearson bounds that never exceed the exact lower bound.

The lower bound for x successes in n trials at level δ is the p with P[Bin(n, p) ≥ x] = δ. A library routine proposes p.
Then the tail at p is computed here with a bound on every rounding error, and p is accepted if the tail is at most δ.
Otherwise p is lowered until it passes, so the proposal need not be trusted. The result is below the exact value by less
than one part in 10^12 (for up to 10^7 trials).
"""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
from scipy.special import betaincinv

from certcore.common.errors import InputError
from certcore.domain.limits import MAX_TRIALS

#: Unit roundoff of float64.
ROUNDOFF = 2.0**-53
#: Summation stops when the remaining terms are below this fraction of the tail. The error bound allows ten times that.
CUT_OFF = 1e-14
#: log n! − log(√(2πn) (n/e)^n) for small n, where the series is not accurate enough.
STIRLING = np.array(
    [0.0] + [math.lgamma(n + 1) - 0.5 * math.log(2 * math.pi * n) - n * math.log(n) + n for n in range(1, 16)]
)


def lower_bounds(counts: np.ndarray, trials: int, level: Fraction) -> np.ndarray:
    """For each count of successes a p with P[Bin(trials, p) ≥ count] ≤ level, as large as can be verified."""
    counts = np.asarray(counts)
    if counts.dtype.kind not in "iu" or (counts.size and not 0 <= counts.min() <= counts.max() <= trials):
        raise InputError(f"counts must be whole numbers from 0 to the number of trials, {trials}")
    if not 1 <= trials <= MAX_TRIALS:
        raise InputError(f"the number of trials is {trials}; expected 1 to {MAX_TRIALS:,}")
    if not 0 < level < 1:
        raise InputError(f"the level of a confidence bound is {level}; expected a number between 0 and 1")
    distinct, which = np.unique(counts.reshape(-1).astype(np.int64), return_inverse=True)
    bounds = np.zeros(len(distinct))
    positive = distinct > 0
    bounds[positive] = _verified(distinct[positive], trials, level)
    return bounds[which.reshape(-1)].reshape(counts.shape)


def _verified(counts: np.ndarray, trials: int, level: Fraction) -> np.ndarray:
    log_level = math.log(level.numerator) - math.log(level.denominator)
    x, rest = counts.astype(np.float64), (trials - counts).astype(np.float64)
    with np.errstate(all="ignore"):
        proposal = betaincinv(x, rest + 1.0, float(level))
        head, error = _log_point_mass(x, rest, proposal)
        # d log tail / dp = (x / p)·P[Bin = x] / tail: by how much p must decrease to make up for the error bound.
        slope = np.exp(head + np.log(x) - np.log(proposal) - log_level)
        proposal = np.nextafter(proposal - 2 * error / slope, 0)
    # Above x / n the tail is at least one half (the median of a binomial), and its summation could take long.
    highest = x / trials if level < Fraction(1, 2) else 1.0
    usable = (proposal > 0) & (proposal < highest)
    passed = np.zeros(len(counts), dtype=bool)
    passed[usable] = _tail_at_most(x[usable], rest[usable], proposal[usable], log_level)
    low = np.where(passed, proposal, 0.0)
    again = np.flatnonzero(~passed)
    if len(again):
        low[again] = _bisect(x[again], rest[again], log_level)
    return low


def _bisect(x: np.ndarray, rest: np.ndarray, log_level: float) -> np.ndarray:
    """Bisection from p = 0, which always passes, up to x / n. Every returned value has passed the check."""
    low, high = np.zeros(len(x)), x / (x + rest)
    for _ in range(200):
        # While no value has passed, squaring decreases the exponent of a float quickly.
        middle = np.where(low > 0, (low + high) / 2, np.minimum(high / 2, high * high))
        inside = np.flatnonzero((middle > low) & (middle < high) & (middle > 1e-300))
        if not len(inside):
            break
        passed = _tail_at_most(x[inside], rest[inside], middle[inside], log_level)
        low[inside[passed]] = middle[inside[passed]]
        high[inside[~passed]] = middle[inside[~passed]]
    return low


def _tail_at_most(x: np.ndarray, rest: np.ndarray, p: np.ndarray, log_level: float) -> np.ndarray:
    """Whether P[Bin(n, p) ≥ x] ≤ exp(log_level) holds despite rounding errors, for 0 < p < 1."""
    head, error = _log_point_mass(x, rest, p)
    odds: np.ndarray = p / (1.0 - p)
    log_tail = np.empty(len(x))
    live: np.ndarray = np.arange(len(x))
    total: np.ndarray = np.ones(len(x))
    term, ratio = total.copy(), total.copy()
    k, left, steps = x.copy(), rest.copy(), 0
    while len(live):
        # In place, testing for the end every 16 steps only: there are up to thousands of steps for many counts.
        for _ in range(16):
            np.multiply(odds, left, out=ratio)  # ratio of P[Bin = k + 1] to P[Bin = k]
            k += 1.0
            ratio /= k
            left -= 1.0
            np.maximum(left, 0.0, out=left)
            term *= ratio
            total += term
        steps += 16
        # The ratio decreases with k, so the remaining terms are below a geometric series.
        finished = (ratio < 1) & (term <= CUT_OFF * total * (1.0 - ratio))
        if finished.any():
            # Each step multiplies a term by a ratio with at most five roundings, and adds it with one rounding.
            log_tail[live[finished]] = head[live[finished]] + np.log(total[finished]) + 8 * ROUNDOFF * steps
            live = live[~finished]
            total, term, ratio, odds, k, left = (a[~finished] for a in (total, term, ratio, odds, k, left))
    return log_tail + error < log_level


def _log_point_mass(x: np.ndarray, rest: np.ndarray, p: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """log P[Bin = x], and a bound on its error that also covers the summation of a tail.

    The formula (deviance plus Stirling's remainders) is accurate for large counts. `gap` = x − n·p is computed with the
    smaller of p and 1 − p. Its error enters the two deviance terms with factor one, because their derivatives with
    respect to it are x / x and rest / rest. All other errors are a few roundings relative to their terms.
    """
    n, q = x + rest, 1.0 - p
    gap = np.where(p < 0.5, x - n * p, n * q - rest)
    first = x * np.log1p(gap / (n * p))
    inner = rest > 0
    safe = np.where(inner, rest, 1.0)
    second = np.where(inner, safe * np.log1p(np.where(inner, -gap / (n * q), 0.0)), 0.0)
    scale = np.where(inner, 0.5 * np.log(n / (2 * math.pi * x * safe)), 0.0)
    remainders = np.where(inner, _stirling(n) - _stirling(x) - _stirling(safe), 0.0)
    sizes = np.abs(first) + np.abs(second) + np.abs(scale) + np.abs(gap)
    error = ROUNDOFF * (8 * n * np.minimum(p, q) + 16 * sizes) + 2e-13
    return scale + remainders - first - second, error


def _stirling(n: np.ndarray) -> np.ndarray:
    """log n! − log(√(2πn) (n/e)^n) for n ≥ 1, with an error below 1e-14."""
    small = n < len(STIRLING)
    squared = 1.0 / (n * n)
    series = (1 / 12 - squared * (1 / 360 - squared * (1 / 1260 - squared * (1 / 1680 - squared / 1188)))) / n
    return np.where(small, STIRLING[np.where(small, n, 1).astype(np.int64)], series)
