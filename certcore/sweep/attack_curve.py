"""The best attacks along a curve: the upper end of the bracket on the certified count, at each value."""

from __future__ import annotations

import itertools
import threading
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from certcore.domain.threat import ThreatModel
from certcore.instance.instance import Instance
from certcore.sweep.axis import Axis
from certcore.sweep.ranges import map_values
from certcore.sweep.session import Session, as_session

#: Number of values on each axis of a map at which attacks are searched for.
FEW_VALUES = 6


@dataclass(frozen=True, eq=False)
class Attacks:
    """The best known attacks along an axis: values with a known attack, and targets each leaves uncertified."""

    values: np.ndarray
    left: np.ndarray


def best_attacks(
    source: Instance | Session,
    threat: ThreatModel,
    vary: str,
    values: Sequence[Any],
    *,
    searched: Sequence[Any] | None = None,
    relaxation: str = "tight",
    cancel: threading.Event | None = None,
    progress: Callable[[float], None] | None = None,
) -> np.ndarray:
    """How many targets the best known replayed attack leaves uncertified at each of the ascending values.

    An attack within a smaller budget is also within a larger one, so the counts never decrease. Attacks are searched
    for at all values, or only at those in `searched`. Where the search was cancelled, the best attack at a smaller
    value counts.
    """
    places = values if searched is None else searched
    found = np.zeros(len(values), dtype=np.int64)
    for k, known in enumerate(attacks_along(source, threat, vary, places, relaxation=relaxation, cancel=cancel)):
        found = best_below(np.asarray(values), *known)
        if progress is not None:
            progress((k + 1) / len(places))
    return found


def attacks_along(
    source: Instance | Session,
    threat: ThreatModel,
    vary: str,
    values: Sequence[Any],
    *,
    relaxation: str = "tight",
    cancel: threading.Event | None = None,
) -> Iterator[tuple[np.ndarray, np.ndarray]]:
    """After each of the ascending values, yield the values so far and the targets an attack at each leaves uncertified.

    Between two of them the attack at the smaller one counts.
    """
    session, axis = as_session(source), Axis.parse(vary)
    found: list[int] = []
    for value in values:
        if cancel is not None and cancel.is_set():
            return
        result = session.certify(axis.at(threat, value), relaxation=relaxation, cancel=cancel)
        found.append(result.attack_found or 0)
        yield np.array(values[: len(found)]), np.maximum.accumulate(np.array(found, dtype=np.int64))


def best_below(values: np.ndarray, known: np.ndarray, found: np.ndarray) -> np.ndarray:
    """The best attack known at each of `values`, from those found at the ascending `known` values (0 below all)."""
    at = np.searchsorted(np.asarray(known), np.asarray(values), side="right")
    return np.concatenate([[0], np.maximum.accumulate(np.asarray(found, dtype=np.int64))])[at]


def attacks_over(
    source: Instance | Session,
    threat: ThreatModel,
    x: str,
    y: str,
    cells: Iterable[tuple[float, float]],
    *,
    relaxation: str = "tight",
    cancel: threading.Event | None = None,
) -> Iterator[tuple[float, float, int]]:
    """For each cell of a map, in the given order: its two budgets, and the targets left uncertified."""
    session, axes = as_session(source), (Axis.parse(x, local=False), Axis.parse(y, local=False))
    for cell in cells:
        here = threat
        for axis, value in zip(axes, cell):
            here = axis.at(here, value)
        result = session.certify(here, relaxation=relaxation, cancel=cancel)
        if cancel is not None and cancel.is_set():
            return
        yield (*cell, result.attack_found or 0)


def attacked_cells(ends: tuple[Any, Any], near: tuple[float, float]) -> list[tuple[Any, Any]]:
    """The cells of a map with these ends at which attacks are searched for: in rings around the one of two values, each
    ring from large budgets to small ones.
    """
    axes = [map_values(end, FEW_VALUES) for end in ends]
    at = [min(int(np.searchsorted(axis, value)), len(axis) - 1) for axis, value in zip(axes, near)]
    i, j = np.indices([len(axis) for axis in axes])
    ring = np.maximum(np.abs(i - at[0]), np.abs(j - at[1])).ravel()
    order = np.lexsort((-j.ravel(), -i.ravel(), ring)).tolist()
    cells = list(itertools.product(*axes))
    return [cells[k] for k in order]


def best_within(x_values: np.ndarray, y_values: np.ndarray, known: Sequence[tuple[float, float, int]]) -> np.ndarray:
    """The best known attack within the budgets of each cell of a map; NaN where there is none."""
    xs, ys = np.asarray(x_values), np.asarray(y_values)
    best = np.full((len(xs) + 1, len(ys) + 1), -1.0)
    if known:
        places = np.array(known, dtype=np.float64)  # lengths are not integers
        np.maximum.at(best, (np.searchsorted(xs, places[:, 0]), np.searchsorted(ys, places[:, 1])), places[:, 2])
    best = np.maximum.accumulate(np.maximum.accumulate(best, axis=0), axis=1)[:-1, :-1]
    return np.where(best < 0, np.nan, best)
