"""How far a curve should go."""

from __future__ import annotations

import threading

from certcore.domain.threat import ThreatModel
from certcore.sweep import Session

_POINTS = 100
#: No curve goes further than this to find the budget that breaks everything.
FARTHEST = 8192


def curve_values(here: int) -> list[int]:
    """Budgets for a curve through `here`: from 0 to about twice as far, at most a hundred steps."""
    end = max(2 * here, 20)
    step = -(-end // _POINTS)
    return sorted({*range(0, end + step, step), here})


def zero_budget(
    session: Session,
    threat: ThreatModel,
    vary: str,
    *,
    relaxation: str = "tight",
    cancel: threading.Event | None = None,
) -> int | None:
    """The smallest budget of one type at which nothing is certified, None if that is farther than any curve goes.

    Up to there a curve over every whole number has an average radius. Doubling, then bisection: certified counts
    fall as the budget grows.
    """

    def certified(budget: int) -> int:
        here = threat.replace(**{vary: budget})
        return session.certify(here, relaxation=relaxation, attack=False, cancel=cancel).certified

    high = 16
    while certified(high) > 0:
        high *= 2
        if high > FARTHEST or (cancel is not None and cancel.is_set()):
            return None
    low = -1 if high == 16 else high // 2
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (middle, high) if certified(middle) > 0 else (low, middle)
    return high
