"""The normal distribution function Φ in integer arithmetic with directed rounding, and verified quantiles.

Arguments are integers over 2³², values are integers over 2¹²⁸. For x ≥ 0

    Φ(x) = ½ + e^(−x²/2) / √(2π) · Σ_j x^(2j+1) / (1·3·…·(2j+1))

has positive terms only. So rounding each of them up (and e^(x²/2) and π down) rounds the value up. Functions take whole
arrays.
"""

from __future__ import annotations

from fractions import Fraction
from math import isqrt

import numpy as np
from scipy.special import ndtri

#: Denominator of arguments.
GRID = 1 << 32
BITS = 128
#: Denominator of values.
ONE = 1 << BITS
#: ⌊π · 2¹³⁶⌋.
PI = 273671317520631487452078175529438920524964
#: Beyond this many standard deviations Φ differs from 1 by less than 2⁻⁷⁰⁰, and the series would be long.
FAR = 32 * GRID
#: Represents −∞ among arguments.
NEVER = -(1 << 62)


def phi(z: np.ndarray, *, up: bool) -> np.ndarray:
    """Φ(z / 2³²) as an integer over 2¹²⁸, rounded up (`up`) or down."""
    z = np.asarray(z, dtype=object)
    values = np.empty(z.shape, dtype=object)
    negative = np.array(z < 0, dtype=bool)
    for chosen, direction in ((~negative, up), (negative, not up)):
        if chosen.any():
            part = _phi(np.abs(z[chosen]), up=direction)
            values[chosen] = ONE - part if direction is not up else part
    return values


def _phi(z: np.ndarray, *, up: bool) -> np.ndarray:
    """`phi` for non-negative arguments."""
    values = np.full(z.shape, ONE if up else ONE - 1, dtype=object)
    near = np.flatnonzero(np.array(z < FAR, dtype=bool))
    # Group arguments of similar size, which need a similar number of terms.
    for part in np.array_split(near[np.argsort(z[near], kind="stable")], 1 + len(near) // 500):
        if len(part):
            values[part] = _series(z[part], up=up)
    return values


def _series(z: np.ndarray, *, up: bool) -> np.ndarray:
    square = z * z  # x² over 2⁶⁴
    most = int(square.max() >> 64) + 1
    term = z << (BITS - 32)
    total, j = term.copy(), 0
    while 2 * j + 3 < 2 * most or max(term) > 1:
        j += 1
        term = _over(term * square, (2 * j + 1) << 64, up=up)
        total = total + term
    if up:  # every further term is at most half of its predecessor
        total = total + term
    root = isqrt(2 * (PI if up else PI + 1) << (2 * BITS - 136))  # √(2π), rounded down
    root += 0 if up else 1
    value = (ONE >> 1) + _over(total << (2 * BITS), root * _exp(square, up=not up), up=up)
    return np.minimum(value, ONE)


def _exp(square: np.ndarray, *, up: bool) -> np.ndarray:
    """e^(x²/2) over 2¹²⁸; `square` is x² over 2⁶⁴."""
    most = int(square.max() >> 65) + 1
    total = term = np.full(len(square), ONE, dtype=object)
    j = 0
    while j + 1 < 2 * most or max(term) > 1:
        j += 1
        term = _over(term * square, j << 65, up=up)
        total = total + term
    return total + term if up else total


def _over(numerator: np.ndarray, denominator: object, *, up: bool) -> np.ndarray:
    """A quotient rounded up or down."""
    result: np.ndarray = -(-numerator // denominator) if up else numerator // denominator
    return result


def passes(z: np.ndarray, p: np.ndarray, share: Fraction = Fraction(1)) -> np.ndarray:
    """Whether Φ(z / 2³²) ≤ 1 − (1 − p) / share is verified, for each pair."""
    ratios = [value.as_integer_ratio() for value in p.tolist()]
    whole = np.array([share.numerator * below for _, below in ratios] + [0], dtype=object)[:-1]
    lost = np.array([share.denominator * (below - above) for above, below in ratios] + [0], dtype=object)[:-1]
    return np.array(phi(z, up=True) * whole <= (whole - lost) << BITS, dtype=bool)


def quantiles(p: np.ndarray, share: Fraction = Fraction(1)) -> np.ndarray:
    """For each p the largest integer z for which Φ(z / 2³²) ≤ 1 − (1 − p) / share can be verified; or NEVER.

    `share` is θ^d, the probability that all of d deleted edges are absent from a clean sample as well. Floats are exact
    rationals, so p is used exactly. A library routine proposes z, and integer arithmetic verifies it.
    """
    p = np.asarray(p, dtype=np.float64)
    distinct, which = np.unique(p, return_inverse=True)
    found = np.full(len(distinct), NEVER, dtype=object)
    possible = np.flatnonzero([Fraction(value) > 1 - share for value in distinct.tolist()])
    with np.errstate(all="ignore"):
        guess = -ndtri(np.minimum((1 - distinct[possible]) / float(share), 1.0))
    z = np.array([int(np.floor(np.clip(x, -32.0, 32.0) * GRID)) for x in guess.tolist()] + [0], dtype=object)[:-1]
    step, left = 1, np.arange(len(possible))
    while len(left) and step < GRID:
        at = possible[left]
        good = passes(z[left], distinct[at], share)
        found[at[good]] = z[left[good]]
        left = left[~good]
        z[left] -= step
        step *= 4
    return found[which.reshape(-1)].reshape(p.shape)
