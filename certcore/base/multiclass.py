"""The multi-class rule: the label is compared with the runner-up, instead of with one half.

For a budget ρ let L_ρ(p) be the least mass that a classifier with clean mass p can have under the perturbed graph. L is
zero at first, then piecewise linear and convex. If the label has clean probability at least p_A and every other class
at most p_B, then under attack the label keeps at least L(p_A) and no other class exceeds 1 − L(1 − p_B). So the label
stays the only maximum if L(p_A) + L(1 − p_B) > 1. The proof is in docs/explanation/multiclass.md.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from certcore.base.cache import TableCache
from certcore.base.joint import Joint
from certcore.base.lattice import MAX_AXIS, NO_LIMITS, Extent, free_types, lattice_box, walk
from certcore.base.thresholds import next_ceiling, table_key
from certcore.domain.fronts import Fronts, fronts_from_lists
from certcore.domain.noise import Noise
from certcore.domain.perturbations import FLIPS

#: Bound on the rounding error of the sum of two interpolated values of L (each at most one).
MARGIN = 1e-14


@dataclass(frozen=True, eq=False)
class CornerTable:
    """The corners of L for every budget whose threshold is below `ceiling`.

    Budget `cells[i]` has the corners `clean[indptr[i]:indptr[i + 1]]` (rounded up) and `perturbed[...]` (rounded down).
    L is increasing, so interpolation between the rounded corners is a lower bound of L.
    """

    noise: Noise
    cells: np.ndarray
    indptr: np.ndarray
    clean: np.ndarray
    perturbed: np.ndarray
    ceiling: float
    limits: Extent
    cut: tuple[bool, ...] = (False, False, False, False)

    def least(self, cell: int, p: np.ndarray) -> np.ndarray:
        """L at the clean masses p for the budget with this index, up to a few units in the last place."""
        clean = self.clean[self.indptr[cell] : self.indptr[cell + 1]]
        perturbed = self.perturbed[self.indptr[cell] : self.indptr[cell + 1]]
        right = np.searchsorted(clean, p, side="right")  # the last corner is above one; the first may be above p
        inside = right > 0
        right = np.clip(right, 1, len(clean) - 1)
        start, end = clean[right - 1], clean[right]
        share = (p - start) / np.where(end > start, end - start, 1.0)
        value = perturbed[right - 1] + share * (perturbed[right] - perturbed[right - 1])
        return np.where(inside, value, 0.0)

    def fronts(self, label: np.ndarray, rest: np.ndarray) -> Fronts:
        """The fronts of nodes with p_A ≥ `label` and 1 − p_B ≥ `rest`.

        Budgets are visited in lexicographic order. A budget is a point of a node's front if the node is uncertified
        there and certified at every budget with one flip less.
        """
        pairs, which = np.unique(np.stack([label, rest], axis=1), axis=0, return_inverse=True)
        known = {tuple(cell): i for i, cell in enumerate(self.cells.tolist())}
        certified: dict[tuple[int, ...], np.ndarray] = {}
        owners, points = [np.zeros(0, dtype=np.int64)], [np.zeros((0, 4), dtype=np.int64)]
        for cell in sorted(self._candidates(known)):
            alive = np.ones(len(pairs), dtype=bool)
            for k in range(len(FLIPS)):
                if cell[k]:
                    below = certified.get((*cell[:k], cell[k] - 1, *cell[k + 1 :]))
                    alive &= False if below is None else np.unpackbits(below, count=len(pairs)).astype(bool)
            nodes = np.flatnonzero(alive)
            if not len(nodes):
                continue
            if cell in known:
                index = known[cell]
                sums = self.least(index, pairs[nodes, 0]) + self.least(index, pairs[nodes, 1])
                alive[nodes] = sums > 1 + MARGIN
                certified[cell] = np.packbits(alive)
                nodes = nodes[~alive[nodes]]
            owners.append(nodes)
            points.append(np.broadcast_to(np.array(cell, dtype=np.int64), (len(nodes), 4)))
        return _share(np.concatenate(owners), np.concatenate(points), len(pairs), which.reshape(-1))

    def _candidates(self, known: dict[tuple[int, ...], int]) -> set[tuple[int, ...]]:
        """The stored budgets and their upper neighbours within the number of bits; a free type adds none."""
        found = {(0, 0, 0, 0), *known}
        free = free_types(self.noise)
        for cell in known:
            for k in range(len(FLIPS)):
                if not free[k] and cell[k] < self.limits[k]:
                    found.add((*cell[:k], cell[k] + 1, *cell[k + 1 :]))
        return found


def grown_corners(
    theta: Sequence[Any] | Noise, probability: float, limits: Extent = NO_LIMITS, cache: TableCache | None = None
) -> CornerTable:
    """The corners of L for all budgets at which a node with 1 − p_B up to `probability` may be certified.

    L(p_A) ≤ L(1 − p_B), so a certified budget has L(1 − p_B) > 1/2: its threshold is below 1 − p_B.
    """
    noise = Noise.of(theta)
    ceiling = next_ceiling(probability)
    cache = TableCache() if cache is None else cache
    a, b, c, d = (min(limit, MAX_AXIS + 1) for limit in limits)  # larger limits make no difference
    key = table_key("corners", noise.fractions, (a, b, c, d), ceiling)
    number, whole = np.dtype(np.float64), np.dtype(np.int64)
    stored = cache.read(
        key,
        {
            "cells": (whole, None),
            "indptr": (whole, None),
            "clean": (number, None),
            "perturbed": (number, None),
            "cut": (np.dtype(bool), (4,)),
        },
    )
    if stored is None or not _well_formed(stored):
        stored = _collect(noise, ceiling, limits)
        cache.write(key, stored)
    arrays = {name: stored[name] for name in ("cells", "indptr", "clean", "perturbed")}
    return CornerTable(noise=noise, **arrays, ceiling=ceiling, limits=limits, cut=tuple(stored["cut"].tolist()))


def _collect(noise: Noise, ceiling: float, limits: Extent) -> dict[str, np.ndarray]:
    extent, cut = lattice_box(noise, ceiling, limits, corners=True)
    cleans: list[np.ndarray] = []
    perturbeds: list[np.ndarray] = []

    def visit(_: Extent, joint: Joint) -> bool:
        if joint.threshold() >= ceiling:
            return False
        clean, perturbed = (np.array(values) for values in joint.breakpoints())
        # Corners with the same clean mass (as floats) as the one before are redundant.
        new = np.ones(len(clean), dtype=bool)
        new[1:] = (np.diff(clean) > 0) | (np.diff(perturbed) > 0)
        # Round to the nearest float, then one further: never left of the corner, never above it.
        cleans.append(np.nextafter(clean[new], np.inf))
        perturbeds.append(np.maximum(np.nextafter(perturbed[new], -np.inf), 0.0))
        return True

    cells = list(walk(noise, extent, visit))
    return {
        "cells": np.array(cells, dtype=np.int64).reshape(-1, 4),
        "indptr": np.concatenate([[0], np.cumsum([len(c) for c in cleans])]).astype(np.int64),
        "clean": np.concatenate([np.zeros(0), *cleans]),
        "perturbed": np.concatenate([np.zeros(0), *perturbeds]),
        "cut": np.array(cut),
    }


def _well_formed(stored: dict[str, np.ndarray]) -> bool:
    cells, indptr = stored["cells"], stored["indptr"]
    return (
        cells.ndim == 2
        and cells.shape[1:] == (4,)
        and indptr.shape == (len(cells) + 1,)
        and stored["clean"].shape == stored["perturbed"].shape == (int(indptr[-1]),)
    )


def _share(owners: np.ndarray, points: np.ndarray, n_owners: int, which: np.ndarray) -> Fronts:
    """Group points by owner; owners with equal points share one front."""
    order = np.argsort(owners, kind="stable")
    sizes = np.bincount(owners, minlength=n_owners)
    fronts: list[np.ndarray] = []
    numbers: dict[bytes, int] = {}
    front_of_owner = np.zeros(n_owners, dtype=np.int64)
    for owner, front in enumerate(np.split(points[order], np.cumsum(sizes)[:-1])):
        key = front.tobytes()
        if key not in numbers:
            numbers[key] = len(fronts)
            fronts.append(front)
        front_of_owner[owner] = numbers[key]
    return fronts_from_lists(front_of_owner[which], fronts)
