"""Clopper–Pearson bounds against mpmath at 30 digits and more: never above, and hardly below."""

import math
import time
from fractions import Fraction

import mpmath
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from certcore.base import confidence
from certcore.base.confidence import lower_bounds
from certcore.common.errors import InputError

LEVELS = [Fraction(1, 100), Fraction(1, 281_000), Fraction(1, 10**10), Fraction(1, 3), Fraction(1, 2), Fraction(9, 10)]


def tail(trials: int, count: int, p: mpmath.mpf) -> mpmath.mpf:
    """P[Bin(trials, p) ≥ count], term by term."""
    term = mpmath.binomial(trials, count) * p**count * (1 - p) ** (trials - count)
    total = term
    for k in range(count, trials):
        term = term * (trials - k) / (k + 1) * p / (1 - p)
        total += term
        if term < total * mpmath.mpf(10) ** -45:
            break
    return total


def exact_bound(trials: int, count: int, level: Fraction, start: float) -> mpmath.mpf:
    """The p with tail(p) = level, by Newton's method at 50 digits from a value close to it."""
    goal = mpmath.mpf(level.numerator) / level.denominator
    p = mpmath.mpf(start)
    for _ in range(30):
        density = mpmath.binomial(trials, count) * count * p ** (count - 1) * (1 - p) ** (trials - count)
        change = (goal - tail(trials, count, p)) / density
        p += change
        if abs(change) < p * mpmath.mpf(10) ** -35:
            return p
    raise AssertionError("Newton's method did not converge; the start is far off")


def check(trials: int, count: int, level: Fraction, bound: float) -> None:
    with mpmath.workdps(50):
        exact = exact_bound(trials, count, level, bound)
        assert mpmath.mpf(bound) <= exact
        assert (exact - mpmath.mpf(bound)) / exact < 1e-11


@pytest.mark.parametrize("level", LEVELS)
@pytest.mark.parametrize("trials", [1, 2, 7, 30, 1000, 10**6])
def test_never_above_the_exact_value_and_hardly_below(trials: int, level: Fraction) -> None:
    shares = (0.0, 0.3, 0.5, 0.9, 0.999, 1.0)
    counts = sorted({min(max(1, round(s * trials)), trials) for s in shares} | {max(1, trials - 1)})
    for count, bound in zip(counts, lower_bounds(np.array(counts), trials, level)):
        check(trials, count, level, float(bound))


@settings(max_examples=150)
@given(st.data())
def test_any_count(data: st.DataObject) -> None:
    trials = data.draw(st.integers(1, 3000))
    count = data.draw(st.integers(1, trials))
    level = Fraction(1, data.draw(st.integers(2, 10**8)))
    check(trials, count, level, float(lower_bounds(np.array([count]), trials, level)[0]))


def test_closed_forms() -> None:
    assert lower_bounds(np.array([0, 0]), 10, Fraction(1, 100)).tolist() == [0.0, 0.0]
    with mpmath.workdps(40):
        for trials in (1, 1000, 10**6):
            bound = float(lower_bounds(np.array([trials]), trials, Fraction(1, 100))[0])
            exact = mpmath.mpf(1) / 100
            exact = exact ** (mpmath.mpf(1) / trials)
            assert 0 <= exact - mpmath.mpf(bound) < 1e-12


@pytest.mark.parametrize("error", [1e-9, 0.01, 0.3, float("nan")])
def test_a_wrong_proposal_is_noticed(error: float, monkeypatch: pytest.MonkeyPatch) -> None:
    """If the library's quantile is too large by whatever amount, the result is still on the safe side."""
    from scipy.special import betaincinv

    monkeypatch.setattr(confidence, "betaincinv", lambda a, b, y: np.minimum(betaincinv(a, b, y) * (1 + error), 1.0))
    counts = np.array([1, 50, 500, 900, 999, 1000])
    for count, bound in zip(counts.tolist(), lower_bounds(counts, 1000, Fraction(1, 1000))):
        check(1000, count, Fraction(1, 1000), float(bound))


def test_the_slow_way_ends_below_the_exact_value_too() -> None:
    """It goes up as far as the check lets it, so the check must leave room for its own rounding errors."""
    for trials, level in ((30, Fraction(1, 100)), (1000, Fraction(1, 281_000)), (4000, Fraction(1, 3))):
        counts = np.unique(np.linspace(1, trials, 12).astype(int))
        log_level = math.log(level.numerator) - math.log(level.denominator)
        bounds = confidence._bisect(counts.astype(float), (trials - counts).astype(float), log_level)
        for count, bound in zip(counts.tolist(), bounds.tolist()):
            check(trials, count, level, bound)


def test_levels_too_small_for_a_float_stay_sound() -> None:
    bounds = lower_bounds(np.array([1, 2, 3]), 3, Fraction(1, 10**400))
    with mpmath.workdps(50):
        for count, bound in zip((1, 2, 3), bounds):
            assert tail(3, count, mpmath.mpf(float(bound))) <= mpmath.mpf(10) ** -400


def test_bounds_grow_with_the_count_and_keep_shape() -> None:
    bounds = lower_bounds(np.arange(2001).reshape(3, 667), 2000, Fraction(1, 10**5))
    assert bounds.shape == (3, 667)
    assert (np.diff(bounds.reshape(-1)) > 0).all()
    assert (bounds < 1).all()


def test_twenty_thousand_different_counts_take_less_than_a_second() -> None:
    counts = np.linspace(300_000, 10**6, 20_000).astype(np.int64)
    start = time.process_time()
    lower_bounds(counts, 10**6, Fraction(1, 2_000_000))
    assert time.process_time() - start < 1


@pytest.mark.parametrize(
    ("counts", "trials", "level"),
    [
        ([11], 10, Fraction(1, 2)),
        ([-1], 10, Fraction(1, 2)),
        ([0.5], 10, Fraction(1, 2)),
        ([0], 0, Fraction(1, 2)),
        ([1], 10, Fraction(0)),
        ([1], 10, Fraction(1)),
        ([1], 10**10, Fraction(1, 2)),
    ],
)
def test_bad_input(counts: list[int], trials: int, level: Fraction) -> None:
    with pytest.raises(InputError):
        lower_bounds(np.array(counts), trials, level)
