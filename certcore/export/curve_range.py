"""How far a curve should go."""

from __future__ import annotations

_POINTS = 100
#: No curve goes further than this to find the budget that breaks everything.
FARTHEST = 8192


def curve_values(here: int) -> list[int]:
    """Budgets for a curve through `here`: from 0 to about twice as far, at most a hundred steps."""
    end = max(2 * here, 20)
    step = -(-end // _POINTS)
    return sorted({*range(0, end + step, step), here})
