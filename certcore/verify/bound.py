"""Upper bounds on the adversary's optimum, proven by weak duality in exact integer arithmetic.

For any dual values y ≥ 0 of the rows matrix · x ≤ rhs, and 0 ≤ x ≤ upper,

    objective · x  ≤  y · rhs + Σ_j max(0, objective_j − (yᵀ matrix)_j) · upper_j.

All data are integers and y is a vector of integers over a power of two, so the right-hand side is an exact
fraction. Poor dual values make it larger, never invalid: no solver has to be trusted.
"""

from __future__ import annotations

from fractions import Fraction
from typing import Protocol

import numpy as np
import scipy.sparse as sp

from certcore.program.problem import SCALE_BITS

#: Sums below this, estimated in floating point, do not overflow 64 bits.
_SAFE = float(2**61)


class Linear(Protocol):
    """The data of a linear program: maximise objective · x subject to matrix · x ≤ rhs, 0 ≤ x ≤ upper."""

    @property
    def matrix(self) -> sp.csr_array: ...
    @property
    def rhs(self) -> np.ndarray: ...
    @property
    def upper(self) -> np.ndarray: ...
    @property
    def objective(self) -> np.ndarray: ...


def scaled(duals: np.ndarray, bits: int = SCALE_BITS) -> np.ndarray:
    """Floating-point dual values as integers over 2**bits; negative and non-finite values become 0."""
    clean = np.where(np.isfinite(duals), duals, 0.0)
    return np.rint(np.clip(clean, 0.0, 2.0 ** (60 - bits)) * 2.0**bits).astype(np.int64)


def exact_bound(program: Linear, y: np.ndarray, bits: int = SCALE_BITS) -> Fraction:
    """The weak-duality bound for integer dual values y over 2**bits, as an exact fraction."""
    if len(y) != program.matrix.shape[0] or (len(y) and y.min() < 0):
        raise ValueError("one dual value of at least 0 is needed for every row")
    reduced_costs = _reduced(program, y, 1 << bits)
    positive = np.flatnonzero(reduced_costs > 0)
    total = _exact_dot(y, program.rhs) + _exact_dot(reduced_costs[positive], program.upper[positive])
    return Fraction(total, 1 << bits)


def _reduced(program: Linear, y: np.ndarray, scale: int) -> np.ndarray:
    """objective − yᵀ matrix, scaled, in exact integers (64 bits where a size check allows)."""
    transposed = program.matrix.T
    largest = 0.0
    if len(y):
        largest = float(np.max(abs(transposed) @ y.astype(np.float64), initial=0.0))
    largest += float(np.max(program.objective, initial=0)) * scale
    if largest < _SAFE:
        return program.objective * scale - transposed @ y
    coo = program.matrix.tocoo()
    result = program.objective.astype(object) * scale
    np.subtract.at(result, coo.col, coo.data.astype(object) * y.astype(object)[coo.row])
    return result


def _exact_dot(a: np.ndarray, b: np.ndarray) -> int:
    """Σ a_i b_i in exact integers."""
    if not len(a):
        return 0
    if a.dtype != object and a.min() >= 0:
        # Split into halves of 20 and up to 43 bits, so that the sums stay within 64 bits.
        high, low = a >> 20, a & ((1 << 20) - 1)
        size = float(np.abs(b).max()) * len(a)
        if max(float(high.max()), float(1 << 20)) * size < _SAFE:
            return (int(high @ b) << 20) + int(low @ b)
    return sum(int(x) * int(z) for x, z in zip(a.tolist(), b.tolist()) if x and z)
