"""Distance between two budget points, a measure of how long a warm start from one to the other takes."""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache

import numpy as np

from certcore.program.program import BudgetPoint
from certcore.solve.tuning import UPWARDS


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
