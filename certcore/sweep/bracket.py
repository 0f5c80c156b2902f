"""What the best attacks along a curve leave: the other edge of the bracket, value by value."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any

import numpy as np

from certcore.domain.threat import ThreatModel
from certcore.instance.instance import Instance
from certcore.sweep.axis import Axis
from certcore.sweep.session import Session, as_session


def best_attacks(
    source: Instance | Session,
    threat: ThreatModel,
    vary: str,
    values: Sequence[Any],
    *,
    relaxation: str = "tight",
    cancel: threading.Event | None = None,
    progress: Callable[[float], None] | None = None,
) -> np.ndarray:
    """How many targets the best replayed attack known leaves uncertified at each of the ascending values.

    An attack within a smaller budget is one within a larger budget too, so the counts never fall. Where the search
    was cancelled the best one below counts.
    """
    session, axis = as_session(source), Axis.parse(vary)
    found: list[int] = []
    for k, value in enumerate(values):
        best = found[-1] if found else 0
        if cancel is None or not cancel.is_set():
            result = session.certify(axis.at(threat, value), relaxation=relaxation, cancel=cancel)
            best = max(best, result.attack_found or 0)
        found.append(best)
        if progress is not None:
            progress((k + 1) / len(values))
    return np.array(found, dtype=np.int64)


def best_below(values: np.ndarray, known: np.ndarray, found: np.ndarray) -> np.ndarray:
    """The best attack known at each of `values`, from those found at the ascending `known` ones (0 below them all)."""
    at = np.searchsorted(np.asarray(known), np.asarray(values), side="right")
    return np.concatenate([[0], np.maximum.accumulate(np.asarray(found, dtype=np.int64))])[at]


def attacks_over(
    source: Instance | Session,
    threat: ThreatModel,
    x: str,
    y: str,
    cells: Iterable[tuple[int, int]],
    *,
    relaxation: str = "tight",
    cancel: threading.Event | None = None,
) -> Iterator[tuple[int, int, int]]:
    """For each cell of a map, in the given order: its two budgets, and what the best attack found there leaves."""
    session, axes = as_session(source), (Axis.parse(x, local=False), Axis.parse(y, local=False))
    for cell in cells:
        here = threat
        for axis, value in zip(axes, cell):
            here = axis.at(here, value)
        result = session.certify(here, relaxation=relaxation, cancel=cancel)
        if cancel is not None and cancel.is_set():
            return
        yield (*cell, result.attack_found or 0)


def best_within(x_values: np.ndarray, y_values: np.ndarray, known: Sequence[tuple[int, int, int]]) -> np.ndarray:
    """The best attack known in each cell of a map, NaN where there is none: one within smaller budgets is one here."""
    xs, ys = np.asarray(x_values), np.asarray(y_values)
    best = np.full((len(xs) + 1, len(ys) + 1), -1.0)
    if known:
        places = np.array(known, dtype=np.int64)
        np.maximum.at(best, (np.searchsorted(xs, places[:, 0]), np.searchsorted(ys, places[:, 1])), places[:, 2])
    best = np.maximum.accumulate(np.maximum.accumulate(best, axis=0), axis=1)[:-1, :-1]
    return np.where(best < 0, np.nan, best)
