"""Summaries of base certificates: largest budgets per type, shares of nodes, and grids for other tools."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from certcore.base.grid import BaseCertificate, GridBase
from certcore.domain.fronts import Fronts
from certcore.domain.perturbations import TYPES, UNLIMITED

#: Largest number of grid entries; longer axes are cut.
MAX_ENTRIES = 2**27


def largest_budgets(fronts: Fronts, kind: int) -> np.ndarray:
    """Per node the largest certified budget of one type alone: −1 if not even 0, UNLIMITED if unbounded."""
    alone = (np.delete(fronts.points, kind, axis=1) == 0).all(axis=1)
    owner = np.repeat(np.arange(fronts.n_fronts), np.diff(fronts.indptr))
    ends = np.full(fronts.n_fronts, UNLIMITED, dtype=np.int64)
    np.minimum.at(ends, owner[alone], fronts.points[alone, kind] - 1)
    return ends[fronts.front_of_node]


def grid_of(base: BaseCertificate, bits: Sequence[int], limit: int | None = None) -> GridBase:
    """A base certificate as a boolean grid over the types it covers.

    Each axis ends where nothing more is certified, at the number of bits, or at `limit`. A grid that would be too large
    is cut at its longest axes. Budgets beyond the end of a grid count as uncertified, so cutting is safe.
    """
    fronts = base.fronts()
    kinds = [k for k, name in enumerate(TYPES) if name in base.axes] or [0]
    ends = []
    for k in kinds:
        largest = largest_budgets(fronts, k)
        end = min(max(int(largest.max(initial=0)), 0), int(bits[k]))
        ends.append(end if limit is None else min(end, limit))
    while fronts.n_nodes * math.prod(end + 1 for end in ends) > MAX_ENTRIES and max(ends) > 0:
        longest = int(np.argmax(ends))
        ends[longest] = ends[longest] * 3 // 4
    sides = [end + 1 for end in ends]
    grids = np.ones((fronts.n_fronts, *sides), dtype=bool)
    other = np.delete(fronts.points, kinds, axis=1)
    owner = np.repeat(np.arange(fronts.n_fronts), np.diff(fronts.indptr))
    for front, point in zip(owner[(other == 0).all(axis=1)], fronts.points[(other == 0).all(axis=1)][:, kinds]):
        grids[(front, *(slice(b, None) for b in point.tolist()))] = False
    return GridBase(
        grids[fronts.front_of_node],
        tuple(TYPES[k] for k in kinds),
        base.local,
        base.prediction,
        base.global_fields,
        base.fixed_adjacency,
    )
