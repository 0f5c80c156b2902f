"""Upper bounds on the adversary's optimum, proven by weak duality in exact integer arithmetic.

For any multipliers y ≥ 0 of the rows matrix · x ≤ rhs, and 0 ≤ x ≤ upper,

    objective · x  ≤  y · rhs + Σ_j max(0, objective_j − (yᵀ matrix)_j) · upper_j.

All data are integers and y is a vector of integers over a power of two, so the right-hand side is an exact
fraction. Wrong multipliers make it larger, never wrong: no solver has to be trusted.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction

import numpy as np
import scipy.sparse as sp

from certcore.program.cuts import Cuts
from certcore.program.program import Program

#: Multipliers are integers over 2**SCALE_BITS.
SCALE_BITS = 40
SCALE = 1 << SCALE_BITS
_SAFE = float(2**61)


@dataclass(frozen=True, eq=False)
class Rows:
    """A program as the bound sees it: structure rows and cuts together."""

    matrix: sp.csr_array
    rhs: np.ndarray
    upper: np.ndarray
    objective: np.ndarray


def rows_of(program: Program, cuts: Cuts) -> Rows:
    """The program with its cuts, as the exact bound wants it."""
    if not len(cuts):
        return Rows(program.matrix, program.rhs, program.upper, program.objective)
    extra = cuts.rows(program.structure)
    matrix = sp.csr_array(sp.vstack([program.matrix, extra], format="csr"))
    rhs = np.concatenate([program.rhs, np.zeros(extra.shape[0], dtype=np.int64)])
    return Rows(matrix, rhs, program.upper, program.objective)


def scaled(multipliers: np.ndarray) -> np.ndarray:
    """Floating-point multipliers as integers over SCALE; anything negative or not finite becomes 0."""
    clean = np.where(np.isfinite(multipliers), multipliers, 0.0)
    return np.rint(np.clip(clean, 0.0, 2.0**20) * SCALE).astype(np.int64)


def exact_bound(rows: Rows, y: np.ndarray) -> Fraction:
    """The weak-duality bound for integer multipliers y over SCALE, as an exact fraction."""
    if len(y) != rows.matrix.shape[0] or (len(y) and y.min() < 0):
        raise ValueError("one multiplier of at least 0 is needed for every row")
    surplus = _reduced(rows, y)
    positive = np.flatnonzero(surplus > 0)
    total = _exact_dot(y, rows.rhs) + _exact_dot(surplus[positive], rows.upper[positive])
    return Fraction(total, SCALE)


def lowered(rows: Rows, y: np.ndarray, anchor: np.ndarray) -> np.ndarray:
    """Lower multipliers of rows whose coefficient −1 at a column (anchor[j], or -1) makes that column unpaid."""
    surplus = _reduced(rows, y)
    if surplus.dtype == object:
        return y
    unpaid = np.flatnonzero((surplus > 0) & (anchor >= 0) & (rows.upper > 0))
    lower_by = np.zeros(len(y), dtype=np.int64)
    np.maximum.at(lower_by, anchor[unpaid], surplus[unpaid])
    return np.maximum(y - lower_by, 0)


def repaired(rows: Rows, y: np.ndarray, cover: np.ndarray) -> np.ndarray:
    """Raise multipliers where rounding or tolerances left columns slightly unpaid.

    `cover[j]` is a row with a positive coefficient at column j and no negative one, or -1. Paying each column its
    own surplus × upper costs whole nodes when thousands are off by a hair; raising the covering row by the worst
    surplus costs its right-hand side once. Per row the cheaper of the two is taken.
    """
    surplus = _reduced(rows, y)
    if surplus.dtype == object:  # absurd multipliers: not worth a repair
        return y
    unpaid = np.flatnonzero((surplus > 0) & (cover >= 0) & (rows.upper > 0))
    if not len(unpaid):
        return y
    row = cover[unpaid]
    missing = surplus[unpaid]
    coefficient = _cover_coefficients(rows.matrix, row, unpaid)
    usable = coefficient > 0
    row, missing, coefficient, unpaid = row[usable], missing[usable], coefficient[usable], unpaid[usable]
    raise_by = np.zeros(len(y), dtype=np.float64)
    needed = -(-missing // coefficient)
    np.maximum.at(raise_by, row, needed.astype(np.float64))
    separately = np.zeros(len(y))
    np.add.at(separately, row, missing.astype(np.float64) * rows.upper[unpaid])
    # Only a choice between two sound bounds depends on these floats, never a bound itself.
    better = raise_by * rows.rhs < separately
    lift = np.zeros(len(y), dtype=np.int64)
    exact_lift = np.zeros(len(y), dtype=np.int64)
    np.maximum.at(exact_lift, row, needed.astype(np.int64))
    lift[better] = exact_lift[better]
    return y + lift


def _reduced(rows: Rows, y: np.ndarray) -> np.ndarray:
    """objective − yᵀ matrix, scaled, in exact integers (64 bits where a size check allows)."""
    transposed = rows.matrix.T
    largest = 0.0
    if len(y):
        largest = float(np.max(abs(transposed) @ y.astype(np.float64), initial=0.0))
    largest += float(np.max(rows.objective, initial=0)) * SCALE
    if largest < _SAFE:
        return rows.objective * SCALE - transposed @ y
    coo = rows.matrix.tocoo()
    result = rows.objective.astype(object) * SCALE
    np.subtract.at(result, coo.col, coo.data.astype(object) * y.astype(object)[coo.row])
    return result


def _exact_dot(a: np.ndarray, b: np.ndarray) -> int:
    """Σ a_i b_i in exact integers."""
    if not len(a):
        return 0
    if a.dtype != object and a.min() >= 0:
        # In two halves of 20 and up to 43 bits, so that the sums stay within 64 bits.
        high, low = a >> 20, a & ((1 << 20) - 1)
        room = float(np.abs(b).max()) * len(a)
        if max(float(high.max()), float(1 << 20)) * room < _SAFE:
            return (int(high @ b) << 20) + int(low @ b)
    return sum(int(x) * int(z) for x, z in zip(a.tolist(), b.tolist()) if x and z)


def _cover_coefficients(matrix: sp.csr_array, rows: np.ndarray, columns: np.ndarray) -> np.ndarray:
    width = matrix.shape[1]
    owner = np.repeat(np.arange(matrix.shape[0], dtype=np.int64), np.diff(matrix.indptr))
    keys = owner * width + matrix.indices
    wanted = rows.astype(np.int64) * width + columns
    place = np.minimum(np.searchsorted(keys, wanted), len(keys) - 1)
    return np.where(keys[place] == wanted, matrix.data[place], 0)
