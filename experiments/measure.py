"""Numbers of the paper's kind from stored results: ratios over splits, average radii, contours, plateaus, times."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from certcore.common.rounding import percent_down, percent_up, rounded_down
from certcore.common.statistics import average_radius, deviation, mean, mean_weights
from experiments.store import Result


@dataclass(frozen=True)
class Ours:
    """Our number next to one of the paper's: what it is, how far splits spread, and what is behind it."""

    value: float | None
    text: str
    spread: float | None = None
    splits: int = 0
    samples: int | None = None
    holds: bool | None = None
    """For claims in words: whether what the paper says is what we see."""
    also: str = ""
    """The same from fewer votes on other splits, if there are any."""
    label: str | None = None
    """The verdict in place of the claim's label, where it depends on what was found."""


def mean_ratio(results: Sequence[Result], key: str = "certified") -> np.ndarray:
    """Certified ratio per budget, averaged over splits; a curve that ended early has ended at its last value."""
    rows = [result.ratios(key) for result in results]
    longest = max(len(row) for row in rows)
    return mean([np.pad(row, (0, longest - len(row)), mode="edge") for row in rows])


def whole_radius(ratio: np.ndarray) -> float | None:
    """r̄ of ratios at the budgets 0, 1, 2, …"""
    return average_radius(np.arange(len(ratio)), ratio)


def _mean_radius(results: Sequence[Result], key: str) -> float | None:
    """r̄ of the mean over splits, from the counts themselves."""
    rows = [result.values[key] for result in results]
    if any(None in row for row in rows):
        return None
    longest = max(len(row) for row in rows)
    counts = [np.pad(np.array(row, dtype=np.int64), (0, longest - len(row)), mode="edge") for row in rows]
    return whole_radius(mean_weights(counts, [result.targets for result in results]))


def _spread(numbers: Sequence[float]) -> float | None:
    found = deviation(numbers)
    return None if found is None else float(found)


def radius(results: list[Result], key: str = "certified") -> Ours | None:
    """r̄ of the averaged ratios, as the paper has it; the spread is that of the splits' own r̄."""
    if not results:
        return None
    value = _mean_radius(results, key)
    single = [_mean_radius([result], key) for result in results]
    if value is None:
        return None
    known = [number for number in single if number is not None]
    spread = _spread(known)
    return Ours(value, rounded_down(value, 2), spread, len(results), results[0].samples)


def at_budget(results: list[Result], budget: int, key: str = "certified") -> Ours | None:
    """Mean certified ratio at one budget; the next larger budget stands in where it was not computed (sound)."""
    numbers = []
    for result in results:
        budgets = np.array(result.values["budgets"])
        index = int(np.searchsorted(budgets, budget))
        if index == len(budgets):
            if result.values[key][-1] > 0:
                return None
            index -= 1
        numbers.append(result.ratios(key)[index])
    if not numbers:
        return None
    spread = _spread(numbers)
    value = float(np.mean(numbers))
    return Ours(value, percent_down(value), spread, len(numbers), results[0].samples)


def map_ratio(results: list[Result], key: str = "certified") -> np.ndarray:
    """Mean certified ratio over a map of two budgets."""
    return mean([result.ratios(key) for result in results])


def mean_seconds(results: list[Result]) -> Ours | None:
    """Mean over the budgets of a timing experiment: processor time, which other work does not stretch."""
    numbers = [row["processor_seconds"] for result in results for row in result.values["rows"]]
    if not numbers:
        return None
    value = float(np.mean(numbers))
    return Ours(value, _seconds(value), None, len({result.split for result in results}), results[0].samples)


def sub_curve(result: Result, name: str, value: int | None) -> Result | None:
    """One of several curves in a result, as a result of its own."""
    for curve in result.values["curves"]:
        if curve[name] == value:
            return Result(**{**vars(result), "values": curve})
    return None


def fewest(*lists: list[Result]) -> tuple[int, int | None]:
    """Splits and samples to state for a comparison: the smaller of each."""
    samples = [result.samples for found in lists for result in found if result.samples is not None]
    return min(len(found) for found in lists), min(samples) if samples else None


def gain_text(difference: float, *, up: bool = False) -> str:
    """A difference of certified ratios with its sign: a gain is not made larger, unless it is an upper limit."""
    text = (percent_up if up else percent_down)(float(difference))
    return text if text.startswith("-") else f"+{text}"


def _seconds(value: float) -> str:
    return f"{value:.3f} s" if value < 1 else f"{value:.2f} s" if value < 100 else f"{value:.0f} s"
