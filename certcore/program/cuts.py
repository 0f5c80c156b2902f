"""Cutting planes: rows that every integer attack satisfies, added only where a relaxed solution violates them.

A family builds rows from tags (integers), checks the tags in a proof, and finds the rows that a relaxed solution
violates (separation). Proofs name families by their number, so new families go to the end of `FAMILIES`. Both families
here tighten the constraint on σ.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple, Protocol

import numpy as np
import scipy.sparse as sp

from certcore.program.structure import Structure

#: Rows with a smaller violation are not added.
TOLERANCE = 1e-6
#: Maximum number of rows of one family added in a round.
MAX_NEW = 4000
_NOTHING = np.zeros(0, dtype=np.int64)


class Rows(NamedTuple):
    """matrix · x ≤ rhs with integer data."""

    matrix: sp.csr_array
    rhs: np.ndarray


class Family(Protocol):
    """Rows of one kind, valid for all budgets and every σ of the structure."""

    def fits(self, structure: Structure, index: np.ndarray) -> bool:
        """Whether every tag (all are at least 0) names a row of this family."""

    def rows(self, structure: Structure, index: np.ndarray) -> Rows: ...

    def violated(self, structure: Structure, x: np.ndarray, present: np.ndarray) -> np.ndarray:
        """Tags of rows not present that x violates by more than the tolerance, largest violation first."""


class LinkCut:
    """d_ij ≤ a_i: if i pays for deleting edge ij, i is an attacker. The tag is the flip's column."""

    def fits(self, structure: Structure, index: np.ndarray) -> bool:
        inside = structure.attackers.touch is not None and bool((index < len(structure.flips)).all())
        return inside and bool((structure.flips.payer[index] >= 0).all())

    def rows(self, structure: Structure, index: np.ndarray) -> Rows:
        count = len(index)
        attacker = structure.columns.attackers.start + self._payer(structure, index)
        row = np.tile(np.arange(count), 2)
        data = np.repeat(np.array([1, -1], dtype=np.int64), count)
        return _rows(structure, count, row, np.concatenate([index, attacker]), data)

    def violated(self, structure: Structure, x: np.ndarray, present: np.ndarray) -> np.ndarray:
        if structure.attackers.touch is None:
            return _NOTHING
        links = np.flatnonzero(structure.flips.payer >= 0)
        share = x[structure.columns.attackers]
        excess = x[structure.columns.flips][links]
        if len(links):
            excess = excess - share[self._payer(structure, links)]
        excess[np.isin(links, present)] = 0
        return links[_worst(excess)]

    @staticmethod
    def _payer(structure: Structure, links: np.ndarray) -> np.ndarray:
        return np.searchsorted(structure.attackers.nodes, structure.flips.payer[links])


class ReachCut:
    """Σ_p s_p ≤ Σ a_i: breaking a group needs an attacker who can flip something in its field. The tag is the group."""

    def fits(self, structure: Structure, index: np.ndarray) -> bool:
        return structure.attackers.touch is not None and bool((index < len(structure.groups)).all())

    def rows(self, structure: Structure, index: np.ndarray) -> Rows:
        assert structure.attackers.touch is not None
        near = structure.attackers.touch[index]
        owner = np.repeat(np.arange(len(index)), np.diff(near.indptr))
        starts = np.append(structure.points.first, len(structure.points))
        sizes = np.diff(starts)[index]
        point_row = np.repeat(np.arange(len(index)), sizes)
        offset = np.arange(len(point_row)) - np.repeat(np.cumsum(sizes) - sizes, sizes)
        point = structure.columns.points.start + starts[index][point_row] + offset
        columns = np.concatenate([point, structure.columns.attackers.start + near.indices])
        data = np.concatenate([np.ones(len(point), np.int64), -np.ones(len(owner), np.int64)])
        return _rows(structure, len(index), np.concatenate([point_row, owner]), columns, data)

    def violated(self, structure: Structure, x: np.ndarray, present: np.ndarray) -> np.ndarray:
        if structure.attackers.touch is None:
            return _NOTHING
        gap = structure.attacked(x) - structure.attackers.touch @ x[structure.columns.attackers]
        gap[present] = 0
        return _worst(gap)


#: All families; proofs name them by their position here.
FAMILIES: tuple[Family, ...] = (LinkCut(), ReachCut())


@dataclass(frozen=True, eq=False)
class Cuts:
    """The cuts in the program, in the order of their rows."""

    family: np.ndarray
    """Position in `FAMILIES`."""
    index: np.ndarray
    """The tag within the family."""

    @classmethod
    def none(cls) -> Cuts:
        return cls(np.zeros(0, dtype=np.int8), np.zeros(0, dtype=np.int64))

    def __len__(self) -> int:
        return len(self.index)

    def of(self, family: int) -> np.ndarray:
        """The tags of one family."""
        return self.index[self.family == family]

    def plus(self, other: Cuts) -> Cuts:
        """These cuts followed by `other`: appending keeps the positions of the dual values."""
        return Cuts(np.concatenate([self.family, other.family]), np.concatenate([self.index, other.index]))

    def fit(self, structure: Structure) -> bool:
        """Whether every tag names a row of this structure."""
        known = bool((self.family < len(FAMILIES)).all())
        return known and all(
            family.fits(structure, self.of(number)) for number, family in enumerate(FAMILIES) if len(self.of(number))
        )

    def rows(self, structure: Structure) -> Rows:
        parts = [_rows(structure, 0, _NOTHING, _NOTHING, _NOTHING)]
        parts += [FAMILIES[number].rows(structure, self.of(number)) for number in np.unique(self.family).tolist()]
        position = np.argsort(np.argsort(self.family, kind="stable"), kind="stable")
        matrix = sp.csr_array(sp.vstack([part.matrix for part in parts], format="csr"))
        return Rows(sp.csr_array(matrix[position]), np.concatenate([part.rhs for part in parts])[position])


def violated(structure: Structure, x: np.ndarray, present: Cuts) -> Cuts:
    """Cuts of all families that x violates and that are not present."""
    found = [family.violated(structure, x, present.of(number)) for number, family in enumerate(FAMILIES)]
    numbers = np.repeat(np.arange(len(found), dtype=np.int8), [len(index) for index in found])
    return Cuts(numbers, np.concatenate(found))


def _rows(structure: Structure, count: int, rows: np.ndarray, columns: np.ndarray, data: np.ndarray) -> Rows:
    matrix = sp.csr_array(sp.coo_array((data, (rows, columns)), shape=(count, structure.columns.count)))
    return Rows(matrix, np.zeros(count, dtype=np.int64))


def _worst(excess: np.ndarray) -> np.ndarray:
    return np.argsort(-excess, kind="stable")[: min(MAX_NEW, int((excess > TOLERANCE).sum()))]
