"""Budget points: how far apart they are, and what is kept for some of them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import lru_cache
from typing import Generic, TypeVar

import numpy as np

from certcore.program.program import BudgetPoint
from certcore.solve.tuning import UPWARDS

T = TypeVar("T")


@lru_cache(maxsize=4096)
def coordinates(place: BudgetPoint) -> np.ndarray:
    """Logarithmic coordinates of a budget point; solve time is roughly proportional to distances between them."""
    return np.log1p(np.array([*place[0], place[1] or 0], dtype=np.float64))


def distances(places: Sequence[BudgetPoint], to: BudgetPoint) -> np.ndarray:
    """Distance from each budget point to `to`; larger budgets count as farther, because points become reachable."""
    if not places:
        return np.zeros(0)
    steps = coordinates(to) - np.array([coordinates(place) for place in places])
    return np.asarray(np.where(steps > 0, UPWARDS * steps, -steps).sum(axis=1))


def nearest(places: Sequence[BudgetPoint], to: BudgetPoint, within: float = np.inf) -> int | None:
    """Position of the budget point that is nearest to `to`; None if all are farther than `within`."""
    found = distances(places, to)
    return int(np.argmin(found)) if len(found) and found.min() <= within else None


class Places(Generic[T]):
    """Values at budget points, at most so many: beyond that, the most redundant point goes.

    Reading needs no lock: changes replace the tuple of entries.
    """

    def __init__(self, most: int) -> None:
        self.most = most
        self.entries: tuple[tuple[BudgetPoint, T], ...] = ()

    def __len__(self) -> int:
        return len(self.entries)

    def __iter__(self) -> Iterator[T]:
        return (value for _, value in self.entries)

    @property
    def points(self) -> list[BudgetPoint]:
        return [point for point, _ in self.entries]

    def at(self, point: BudgetPoint) -> T | None:
        return next((value for place, value in self.entries if place == point), None)

    def keep(self, point: BudgetPoint, value: T) -> None:
        """Keep a value at a point, instead of the one that is there."""
        entries = [entry for entry in self.entries if entry[0] != point]
        entries.append((point, value))
        if len(entries) > self.most:
            entries.pop(_crowded([place for place, _ in entries]))
        self.entries = tuple(entries)


def _crowded(places: list[BudgetPoint]) -> int:
    """Index of the most redundant entry (the newest excluded): the one with the nearest neighbour."""
    at = np.array([coordinates(point) for point in places])
    gaps = np.abs(at[:, None] - at[None]).sum(axis=2)
    np.fill_diagonal(gaps, np.inf)
    return int(np.argmin(gaps.min(axis=1)[:-1]))
