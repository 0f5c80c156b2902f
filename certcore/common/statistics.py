"""Statistics over splits, and the average radius of a curve; used by sweeps, figures and the reproduction."""

from __future__ import annotations

import math
from collections.abc import Sequence
from fractions import Fraction

import numpy as np


def mean(rows: Sequence[np.ndarray] | np.ndarray) -> np.ndarray:
    """The mean over splits, one row each."""
    return np.asarray(np.mean(np.asarray(rows, dtype=float), axis=0))


def deviation(rows: Sequence[np.ndarray] | Sequence[float] | np.ndarray) -> np.ndarray | None:
    """The sample standard deviation over splits (divisor: number of splits − 1).

    None for a single split, for which it is not defined.
    """
    array = np.asarray(rows, dtype=float)
    return None if len(array) < 2 else np.asarray(array.std(axis=0, ddof=1))


def band(rows: Sequence[np.ndarray] | np.ndarray) -> tuple[np.ndarray, np.ndarray] | None:
    """One deviation below and above the mean, within 0 and 1; None for a single split."""
    middle, spread = mean(rows), deviation(rows)
    if spread is None:
        return None
    return np.clip(middle - spread, 0, 1), np.clip(middle + spread, 0, 1)


def mean_weights(counts: Sequence[np.ndarray], targets: Sequence[int]) -> np.ndarray:
    """Exact multiples of the mean ratios over splits: integers that give the same average radius."""
    whole = math.lcm(*(max(int(of), 1) for of in targets))
    parts = [np.asarray(row).astype(object) * (whole // max(int(of), 1)) for row, of in zip(counts, targets)]
    return np.asarray(sum(parts[1:], parts[0]))


def average_radius(values: Sequence[int] | np.ndarray, ratio: np.ndarray) -> float | None:
    """The paper's average certifiable radius Σ ω(r)·r / Σ ω(r), never rounded up: it is a guarantee.

    The ratios may be multiplied by any number: with counts the result is exact before it is rounded.

    None unless the values are 0, 1, 2, … and the last ratio is 0: otherwise part of the sum would be missing. None as
    well where nothing is certified at all: 0/0 is no radius.
    """
    values = np.asarray(values)
    if not len(values) or not np.array_equal(values, np.arange(len(values))) or ratio[-1] != 0:
        return None
    weights = np.asarray(ratio).tolist()
    if any(weight != weight for weight in weights):  # NaN: not computed
        return None
    weights = [Fraction(weight) for weight in weights]
    total = sum(weights)
    if total <= 0:
        return None
    exact = sum(weight * value for value, weight in enumerate(weights)) / total
    nearest = float(exact)
    # Compared as it is printed, by its shortest decimal form.
    return nearest if Fraction(repr(nearest)) <= exact else math.nextafter(nearest, -math.inf)
