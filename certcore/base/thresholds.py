"""Threshold tables: for every budget the probability p* above which a node is certified.

One table serves all nodes: a node whose label has probability at least p is certified at budget ρ iff p > p*(ρ). The
entries are exact rationals rounded up, so that comparing floats never certifies too much.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np

from certcore.base.cache import TableCache
from certcore.base.joint import Joint
from certcore.base.lattice import MAX_AXIS, NO_LIMITS, Extent, free_types, lattice_box, walk
from certcore.common.errors import InputError
from certcore.common.exact import decimal_text
from certcore.common.reading import whole_numbers
from certcore.domain.fronts import Fronts
from certcore.domain.noise import Noise
from certcore.domain.perturbations import FLIPS, UNLIMITED

#: Largest number of budgets in a table with a given extent.
MAX_CELLS = 10**7


@dataclass(frozen=True, eq=False)
class ThresholdTable:
    """p* for the budgets up to `extent`.

    `values[ρ]` is exact (rounded up) wherever it is below `ceiling`. Entries that were not needed are 1, which
    certifies nothing. A budget beyond the end of an axis has a threshold of at least `ceiling`, unless the axis ends at
    the number of bits (`limits`) or is free (flips have no effect). `cut` marks axes that end earlier to save time;
    budgets beyond count as uncertified.
    """

    noise: Noise
    values: np.ndarray
    ceiling: float
    limits: Extent
    cut: tuple[bool, ...] = (False, False, False, False)

    @property
    def extent(self) -> Extent:
        a, b, c, d = (side - 1 for side in self.values.shape)
        return (a, b, c, d)

    def largest(self, probability: float) -> list[int | None]:
        """The largest certified budget of each type alone at one probability; None if unbounded."""
        found: list[int | None] = []
        for k in range(len(FLIPS)):
            line = self.values[tuple(slice(None) if j == k else 0 for j in range(len(FLIPS)))]
            certified = int(np.count_nonzero(line < probability)) - 1
            if free_types(self.noise)[k] and certified >= 0:
                found.append(None if self.limits[k] >= NO_LIMITS[k] else self.limits[k])
            else:
                found.append(max(certified, 0))
        return found

    def fronts(self, probabilities: np.ndarray) -> Fronts:
        """The fronts of nodes whose labels have at least these probabilities.

        Budget ρ is on the front at p iff p*(ρ) ≥ p but every budget with one flip less has a threshold below p. So each
        cell is on the fronts of one interval of probabilities, and no grid per node is needed.
        """
        probabilities = np.asarray(probabilities, dtype=np.float64)
        distinct = np.unique(self.values)
        # The number of distinct thresholds below p; equal numbers mean equal certified budgets.
        rank = np.searchsorted(distinct, probabilities, side="left")
        ranks, front_of_node = np.unique(rank, return_inverse=True)
        padding = [(0, 0 if self._ends_with_bits(k) else 1) for k in range(len(FLIPS))]
        own = np.searchsorted(distinct, self.values, side="left")
        own = np.pad(own, padding, constant_values=len(distinct))  # beyond the end: never certified
        before = np.full(own.shape, -1, dtype=np.int64)
        for axis in range(len(FLIPS)):
            low, high = [slice(None)] * 4, [slice(None)] * 4
            low[axis], high[axis] = slice(0, -1), slice(1, None)
            np.maximum(before[tuple(high)], own[tuple(low)], out=before[tuple(high)])
        # With `rank` thresholds below p, cell ρ is certified iff own[ρ] < rank.
        start = np.searchsorted(ranks, before, side="right").ravel()
        stop = np.searchsorted(ranks, own, side="right").ravel()
        cells = np.flatnonzero(stop > start)
        lengths = stop[cells] - start[cells]
        front = np.arange(lengths.sum()) - np.repeat(np.cumsum(lengths) - lengths, lengths)
        front += np.repeat(start[cells], lengths)
        by_front = np.argsort(front, kind="stable")
        points = np.stack(np.unravel_index(np.repeat(cells, lengths)[by_front], own.shape), axis=1)
        indptr = np.concatenate([[0], np.cumsum(np.bincount(front, minlength=len(ranks)))])
        return Fronts(front_of_node.reshape(-1), indptr, points)

    def _ends_with_bits(self, kind: int) -> bool:
        return free_types(self.noise)[kind] or self.extent[kind] >= self.limits[kind]


def threshold_table(
    theta: Sequence[Any] | Noise, extent: Sequence[int], cache: TableCache | None = None
) -> ThresholdTable:
    """The table of all budgets up to `extent` (flips per type, inclusive)."""
    noise = Noise.of(theta)
    counts = whole_numbers(extent, "the extent of a threshold table", 0, UNLIMITED, shape=(len(FLIPS),)).tolist()
    a, b, c, d = (0 if free else e for e, free in zip(counts, free_types(noise)))
    end: Extent = (a, b, c, d)
    if math.prod(e + 1 for e in end) > MAX_CELLS:
        raise InputError(f"a threshold table up to {end} has too many budgets; expected at most {MAX_CELLS:,}")
    cache = TableCache() if cache is None else cache
    key = table_key("box", noise.fractions, end, 1.0)
    stored = cache.read(key, {"values": (np.dtype(np.float64), tuple(e + 1 for e in end))})
    if stored is None:
        stored = {"values": _fill(noise, end, 1.0)}
        cache.write(key, stored)
    return ThresholdTable(noise, stored["values"], 1.0, NO_LIMITS)


def grown_thresholds(
    theta: Sequence[Any] | Noise, probability: float, limits: Extent = NO_LIMITS, cache: TableCache | None = None
) -> ThresholdTable:
    """The table for all budgets that can be certified at this probability, and no larger ones.

    The ceiling is the next 1 − 2^(−k), so that instances with similar votes share a table on disk.
    """
    noise = Noise.of(theta)
    ceiling = next_ceiling(probability)
    cache = TableCache() if cache is None else cache
    a, b, c, d = (min(limit, MAX_AXIS + 1) for limit in limits)  # larger limits make no difference
    key = table_key("grown", noise.fractions, (a, b, c, d), ceiling)
    stored = cache.read(key, {"values": (np.dtype(np.float64), None), "cut": (np.dtype(bool), (4,))})
    if stored is None or stored["values"].ndim != len(FLIPS):
        extent, cut = lattice_box(noise, ceiling, limits)
        stored = {"values": _fill(noise, extent, ceiling), "cut": np.array(cut)}
        cache.write(key, stored)
    return ThresholdTable(noise, stored["values"], ceiling, limits, tuple(stored["cut"].tolist()))


def next_ceiling(probability: float) -> float:
    """The smallest 1 − 2^(−k) that is not below `probability` (at most 1)."""
    if not 0 <= probability <= 1:
        raise InputError(f"the probability is {probability}; expected a number from 0 to 1")
    return next((c for c in (1 - math.ldexp(1.0, -k) for k in range(1, 53)) if c >= probability), 1.0)


def _fill(noise: Noise, extent: Extent, ceiling: float) -> np.ndarray:
    values = np.ones([e + 1 for e in extent])

    def visit(budget: Extent, joint: Joint) -> bool:
        values[budget] = joint.threshold()
        return bool(values[budget] < ceiling)

    for _ in walk(noise, extent, visit):
        pass
    return values


def table_key(kind: str, theta: Sequence[Fraction], extent: Extent, ceiling: float) -> str:
    """The cache key of a table: everything it depends on, as text."""
    return f"{kind}|{','.join(decimal_text(t) for t in theta)}|{','.join(map(str, extent))}|{ceiling.hex()}"
