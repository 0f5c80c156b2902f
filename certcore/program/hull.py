"""Dominated points: points on or above the segment between two other points of their group.

In the tight program a group may use any Σ s_p · P_p with Σ s_p ≤ 1, so a dominated point adds nothing. Leaving out its
column makes the solver's program smaller and does not change the optimum. Only the solver uses the smaller program; the
bound is proven with all points. If both end points of the segment have reduced costs of at most 0, so has a point above
the segment.
"""

from __future__ import annotations

from itertools import combinations

import numpy as np

from certcore.program.relaxation import Relaxation
from certcore.program.structure import Structure

#: Fronts with more points are not searched for dominated points.
MAX_POINTS = 64


class Hull:
    """For one structure, finds the reachable points that the solver needs."""

    def __init__(self, structure: Structure) -> None:
        self.structure = structure
        self._above: tuple[np.ndarray, np.ndarray, np.ndarray] | None = None
        if structure.relaxation is Relaxation.TIGHT and len(structure.types) == 2 and len(structure.groups):
            self._above = self._segments()

    def _segments(self) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """All triples of point columns (left, middle, right) of one group with the middle on or above the segment."""
        all_points = self.structure.points
        starts = all_points.first
        sizes = np.diff(np.append(starts, len(all_points)))
        groups_of: dict[bytes, list[int]] = {}
        for group, (first, size) in enumerate(zip(starts.tolist(), sizes.tolist())):
            groups_of.setdefault(all_points.amount[first : first + size].tobytes(), []).append(group)
        parts = []
        for groups in groups_of.values():
            first, size = int(starts[groups[0]]), int(sizes[groups[0]])
            if not 3 <= size <= MAX_POINTS:
                continue
            points = all_points.amount[first : first + size][:, self.structure.types]
            order = np.argsort(points[:, 0], kind="stable")
            triples = np.array(list(combinations(range(size), 3)))
            left, middle, right = (points[order[triples[:, i]]] for i in range(3))
            cross = (right[:, 0] - left[:, 0]) * (middle[:, 1] - left[:, 1]) - (right[:, 1] - left[:, 1]) * (
                middle[:, 0] - left[:, 0]
            )
            between = (left[:, 0] < middle[:, 0]) & (middle[:, 0] < right[:, 0])
            found = order[triples[(cross >= 0) & between]]
            parts.append((starts[groups][:, None, None] + found[None]).reshape(-1, 3))
        triples = np.concatenate(parts) if parts else np.zeros((0, 3), dtype=np.int64)
        return triples[:, 0], triples[:, 1], triples[:, 2]

    def drop_dominated(self, upper: np.ndarray) -> np.ndarray:
        """Upper bounds of all columns, with 0 for dominated points."""
        if self._above is None:
            return upper
        left, middle, right = self._above
        points = self.structure.columns.points
        open_ = upper[points] > 0
        result = upper.copy()
        result[points][middle[open_[left] & open_[right]]] = 0
        return result
