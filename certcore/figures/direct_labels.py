"""Labels beside the lines of a chart instead of a legend, if there is space for all of them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

#: In points. `_GAP`: distance of a label to its line. `_CLEAR`: distance of a label to everything else.
_GAP, _CLEAR = 2.0, 1.5
#: A label is placed only where every other line is at least this far (in points), so that it is unambiguous.
_OWN = 3.0
#: Preferred horizontal position of a label, as a fraction of the width: lines are usually far apart there.
_BEST = 0.62


@dataclass(frozen=True)
class Box:
    """A rectangle in points, from the lower left corner of the axes."""

    left: float
    bottom: float
    width: float
    height: float

    def meets(self, other: Box) -> bool:
        across = self.left < other.left + other.width + _CLEAR and other.left < self.left + self.width + _CLEAR
        up = self.bottom < other.bottom + other.height + _CLEAR and other.bottom < self.bottom + self.height + _CLEAR
        return across and up


def place_labels(
    heights: Sequence[np.ndarray],
    sizes: Sequence[tuple[float, float] | None],
    axes_size: tuple[float, float],
    taken: Sequence[Box] = (),
    *,
    own: float = _OWN,
) -> list[Box | None] | None:
    """Positions for the labels of lines; None if one of them does not fit.

    `heights` are the lines, sampled at every point 0, 1, … of the width (NaN where a line is absent). `sizes` are the
    label sizes (None: no label), `axes_size` width and height of the axes. `taken` are occupied
    boxes, `own` is the required distance of other lines. A label is next to its own line, and no line crosses it.
    """
    placed: list[Box] = []
    result: list[Box | None] = []
    for k, size in enumerate(sizes):
        if size is None:
            result.append(None)
            continue
        found = _best(heights, k, size, axes_size, [*taken, *placed], own)
        if found is None:
            return None
        placed.append(found)
        result.append(found)
    return result


def _best(
    heights: Sequence[np.ndarray],
    k: int,
    size: tuple[float, float],
    axes_size: tuple[float, float],
    taken: Sequence[Box],
    least: float,
) -> Box | None:
    """The position where the label is closest to its line, near the preferred horizontal position."""
    width, height = size
    best: tuple[float, Box] | None = None
    for left in np.arange(2.0, axes_size[0] - width - 1, 3.0):
        span = slice(int(left), int(left + width) + 1)
        own = heights[k][span]
        if not len(own) or np.isnan(own).any() or _nearest(heights, k, span) < least:
            continue
        for above in (True, False):
            bottom = float(own.max()) + _GAP if above else float(own.min()) - _GAP - height
            box = Box(float(left), bottom, width, height)
            cost = float(own.max() - own.min()) + 0.12 * abs(left + width / 2 - _BEST * axes_size[0]) + (not above)
            if (best is None or cost < best[0]) and _free(box, span, heights, axes_size, taken):
                best = cost, box
    return None if best is None else best[1]


def _nearest(heights: Sequence[np.ndarray], k: int, span: slice) -> float:
    """Distance to the nearest other line along a label (median over the label's width)."""
    others = [np.abs(line[span] - heights[k][span]) for j, line in enumerate(heights) if j != k]
    apart = [float(np.median(part[~np.isnan(part)])) for part in others if not np.isnan(part).all()]
    return min(apart, default=np.inf)


def pushed_apart(heights: Sequence[float], least: float, limit: float) -> list[float] | None:
    """The same heights in the same order, at least `least` apart and between 0 and `limit`; None if they do not fit."""
    order = np.argsort(heights, kind="stable")
    if least * len(heights) > limit:
        return None
    result = np.asarray(heights, dtype=float)
    low = least / 2
    for k in order:
        result[k] = low = max(result[k], low)
        low += least
    high = limit - least / 2
    for k in order[::-1]:
        result[k] = high = min(result[k], high)
        high -= least
    return [float(value) for value in result]


def _free(
    box: Box, span: slice, heights: Sequence[np.ndarray], axes_size: tuple[float, float], taken: Sequence[Box]
) -> bool:
    if box.bottom < 1 or box.bottom + box.height > axes_size[1] - 1 or any(box.meets(other) for other in taken):
        return False
    for line in heights:
        part = line[span]
        if ((part > box.bottom - _CLEAR) & (part < box.bottom + box.height + _CLEAR)).any():
            return False
    return True
