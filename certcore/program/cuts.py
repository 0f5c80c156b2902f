"""Cuts that sharpen σ: valid for every real attack, added only where the relaxed solution violates them.

- link: an edge paid by i needs attacker i entirely, d_ij ≤ a_i;
- touch: a touched target needs an attacker within reach, Σ_p s_p ≤ Σ of a over the nodes that touch its field.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import scipy.sparse as sp

from certcore.program.structure import Structure

#: Violations below this are not worth another round.
TOLERANCE = 1e-6


@dataclass(frozen=True, eq=False)
class Cuts:
    """Which cuts are in the program, in the order of their rows: True and a group, or False and a flip column."""

    is_touch: np.ndarray
    index: np.ndarray

    @classmethod
    def none(cls) -> Cuts:
        return cls(np.zeros(0, dtype=bool), np.zeros(0, dtype=np.int64))

    @property
    def links(self) -> np.ndarray:
        """Flip columns with a link cut."""
        return self.index[~self.is_touch]

    @property
    def touches(self) -> np.ndarray:
        """Groups with a touch cut."""
        return self.index[self.is_touch]

    def __len__(self) -> int:
        return len(self.index)

    def plus(self, other: Cuts) -> Cuts:
        """These cuts followed by the others; rows are only ever appended, so multipliers keep their places."""
        return Cuts(np.concatenate([self.is_touch, other.is_touch]), np.concatenate([self.index, other.index]))

    def rows(self, structure: Structure) -> sp.csr_array:
        """The cuts as rows with right-hand side 0."""
        stacked = sp.vstack([link_rows(structure, self.links), touch_rows(structure, self.touches)], format="csr")
        place = np.empty(len(self), dtype=np.int64)
        place[np.concatenate([np.flatnonzero(~self.is_touch), np.flatnonzero(self.is_touch)])] = np.arange(len(self))
        return sp.csr_array(stacked[place])


def link_rows(structure: Structure, links: np.ndarray) -> sp.csr_array:
    attacker = structure.first_attacker + np.searchsorted(structure.attackers, structure.flip_payer[links])
    count = len(links)
    row = np.tile(np.arange(count), 2)
    data = np.repeat(np.array([1, -1], dtype=np.int64), count)
    return sp.csr_array(
        sp.coo_array((data, (row, np.concatenate([links, attacker]))), shape=(count, structure.n_columns))
    )


def touch_rows(structure: Structure, touches: np.ndarray) -> sp.csr_array:
    assert structure.touch is not None
    near = structure.touch[touches]
    owner = np.repeat(np.arange(len(touches)), np.diff(near.indptr))
    order = np.argsort(structure.point_group, kind="stable")
    starts = np.searchsorted(structure.point_group[order], np.arange(structure.n_groups + 1))
    sizes = (starts[1:] - starts[:-1])[touches]
    point_row = np.repeat(np.arange(len(touches)), sizes)
    offset = np.arange(len(point_row)) - np.repeat(np.cumsum(sizes) - sizes, sizes)
    point = order[starts[touches][point_row] + offset]
    rows = np.concatenate([point_row, owner])
    columns = np.concatenate([structure.first_point + point, structure.first_attacker + near.indices])
    data = np.concatenate([np.ones(len(point_row), np.int64), -np.ones(len(owner), np.int64)])
    return sp.csr_array(sp.coo_array((data, (rows, columns)), shape=(len(touches), structure.n_columns)))


def violated(structure: Structure, x: np.ndarray, present: Cuts, at_most: int = 4000) -> Cuts:
    """The cuts that x violates by more than the tolerance, the worst ones first."""
    if structure.touch is None:
        return Cuts.none()
    share = x[structure.first_attacker : structure.first_point]
    links = np.flatnonzero(structure.flip_payer >= 0)
    owner = np.searchsorted(structure.attackers, structure.flip_payer[links])
    excess = x[links] - share[owner] if len(links) else np.zeros(0)
    excess[np.isin(links, present.links)] = 0
    worst = np.argsort(-excess, kind="stable")[: min(at_most, int((excess > TOLERANCE).sum()))]
    picked = x[structure.first_point : structure.first_indicator]
    taken = np.bincount(structure.point_group, weights=picked, minlength=structure.n_groups)
    gap = taken - structure.touch @ share
    gap[present.touches] = 0
    groups = np.argsort(-gap, kind="stable")[: min(at_most, int((gap > TOLERANCE).sum()))]
    kinds = np.concatenate([np.zeros(len(worst), dtype=bool), np.ones(len(groups), dtype=bool)])
    return Cuts(kinds, np.concatenate([links[worst], groups]))
