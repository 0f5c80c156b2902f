"""Statistics over splits, and the average radius of a curve; used by sweeps, figures and the reproduction."""

from __future__ import annotations

from collections.abc import Sequence

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


def average_radius(values: Sequence[int] | np.ndarray, ratio: np.ndarray) -> float | None:
    """The paper's average certifiable radius Σ ω(r)·r / Σ ω(r).

    None unless the values are 0, 1, 2, … and the last ratio is 0: otherwise part of the sum would be missing. None as
    well where nothing is certified at all: 0/0 is no radius.
    """
    values = np.asarray(values)
    if not len(values) or not np.array_equal(values, np.arange(len(values))) or ratio[-1] != 0:
        return None
    total = float(np.sum(ratio))
    return float(np.sum(ratio * values) / total) if total > 0 else None
