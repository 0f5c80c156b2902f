"""How far apart two places in the space of budgets are, by the effort of getting from one to the other."""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache

import numpy as np

from certcore.program.program import BudgetPoint

#: Going up to larger budgets takes this much longer than going down.
UPWARDS = 1.6


@lru_cache(maxsize=4096)
def coordinates(place: BudgetPoint) -> np.ndarray:
    """Where a place is, on a scale on which distances are roughly proportional to the effort of getting there."""
    return np.log1p(np.array([*place[0], place[1] or 0], dtype=np.float64))


def distances(places: Sequence[BudgetPoint], to: BudgetPoint) -> np.ndarray:
    """How hard it is to get from each place to another one; upwards is harder, because points come in."""
    if not places:
        return np.zeros(0)
    steps = coordinates(to) - np.array([coordinates(place) for place in places])
    return np.asarray(np.where(steps > 0, UPWARDS * steps, -steps).sum(axis=1))
