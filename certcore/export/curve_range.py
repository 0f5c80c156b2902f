"""Ranges of budgets for curves."""

from __future__ import annotations

import math
from fractions import Fraction

_POINTS, _LENGTHS = 100, 24
#: Largest budget tried when searching for the one at which nothing is certified.
FARTHEST = 8192


def length_values(here: float, step: float) -> list[float]:
    """Lengths for a curve through `here`: from 0 to about 2 · `here`, a few dozen, each a multiple of `step`."""
    end = max(2 * here, 20 * step)
    many = max(1, math.ceil(end / step / _LENGTHS))
    whole = Fraction(repr(step))
    return sorted({*(float(k * many * whole) for k in range(math.ceil(end / step / many) + 1)), here})


def curve_values(here: int) -> list[int]:
    """Budgets for a curve through `here`: from 0 to about 2 · `here`, in at most a hundred steps."""
    end = max(2 * here, 20)
    step = -(-end // _POINTS)
    return sorted({*range(0, end + step, step), here})
