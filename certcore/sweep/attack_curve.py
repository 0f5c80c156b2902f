"""The best attacks along a curve: the upper end of the bracket on the certified count, at each value."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from certcore.domain.perturbations import TYPES
from certcore.domain.threat import ThreatModel
from certcore.instance.instance import Instance
from certcore.program.problem import Problem
from certcore.result.shrink_attack import trimmed
from certcore.result.tripwire import remember
from certcore.sweep.axis import Axis
from certcore.sweep.session import Session, as_session


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
    """After each of the ascending values, yield all values with a known attack and the targets each leaves uncertified.

    Attacks are searched for at the given values. For integers between two of them, flips of the larger attack are taken
    back and the rest is replayed, which takes a hundredth of the time of a search.
    """
    session, axis = as_session(source), Axis.parse(vary)
    known: dict[Any, int] = {}
    last: Any = None
    for value in values:
        if cancel is not None and cancel.is_set():
            return
        here = axis.at(threat, value)
        result = session.certify(here, relaxation=relaxation, cancel=cancel)
        most = max(known.values(), default=0)
        known[value] = result.attack_found or 0
        if vary in TYPES and not axis.lengths and last is not None and result.attack is not None:
            between = range(int(last), int(value))
            taken_back = trimmed(Problem(session.instance, here), result.attack, TYPES.index(vary), between, cancel)
            for budget, left in zip(between, taken_back.tolist()):
                known[budget] = max(known.get(budget, 0), left)
                if left > most:
                    remember(session.instance, axis.at(threat, budget), left)
                    most = left
        last = value
        at = sorted(known)
        yield np.array(at), np.maximum.accumulate(np.array([known[one] for one in at], dtype=np.int64))


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


def best_within(x_values: np.ndarray, y_values: np.ndarray, known: Sequence[tuple[float, float, int]]) -> np.ndarray:
    """The best known attack within the budgets of each cell of a map; NaN where there is none."""
    xs, ys = np.asarray(x_values), np.asarray(y_values)
    best = np.full((len(xs) + 1, len(ys) + 1), -1.0)
    if known:
        places = np.array(known, dtype=np.float64)  # lengths are not integers
        np.maximum.at(best, (np.searchsorted(xs, places[:, 0]), np.searchsorted(ys, places[:, 1])), places[:, 2])
    best = np.maximum.accumulate(np.maximum.accumulate(best, axis=0), axis=1)[:-1, :-1]
    return np.where(best < 0, np.nan, best)
