"""Soft medoids in compiled code for voting: each pair of nodes is compared once per sample, not once per row.

Training needs gradients and uses torch. Both compute the same function, up to rounding.
"""

# Numba infers the types of compiled functions from their arguments.
# mypy: disable-error-code="no-untyped-def"
from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import scipy.sparse as sp
from numba import float32

from certcore.common.compiled import compiled
from certcore.common.vectors import WIDE, add_scaled_row, squared_distance


@dataclass(frozen=True, eq=False)
class Meetings:
    """Pairs of nodes that occur together in rows of a weight matrix."""

    matrix: sp.csr_array
    pairs: np.ndarray
    """Distinct pairs of nodes (first < second) that share a row."""
    places: np.ndarray
    """For every row, the indices in `pairs` of its pairs (0,1), (0,2), …, (1,2), …."""
    start: np.ndarray
    """Index in `places` of the first pair of each row."""

    @classmethod
    def of(cls, matrix: sp.csr_array) -> Meetings:
        """From a matrix whose rows have sorted, distinct columns."""
        n_nodes, lengths = matrix.shape[1], np.diff(matrix.indptr)
        start = np.concatenate([[0], np.cumsum(lengths * (lengths - 1) // 2)])
        keys = np.empty(start[-1], dtype=np.int64)
        for row, (low, high) in enumerate(zip(matrix.indptr[:-1], matrix.indptr[1:])):
            members = matrix.indices[low:high].astype(np.int64)
            first, second = np.triu_indices(len(members), 1)
            keys[start[row] : start[row + 1]] = members[first] * n_nodes + members[second]
        known, places = np.unique(keys, return_inverse=True)
        pairs = np.stack([known // n_nodes, known % n_nodes], axis=1)
        return cls(matrix, pairs, places.astype(np.int32), start)

    def soft_medoids(self, values: np.ndarray, temperature: float) -> np.ndarray:
        """Soft medoids of every row: values (copies, nodes, 64) in, the same shape out."""
        out = np.zeros_like(values)
        matrix = self.matrix
        for copy, result in zip(values, out):
            _medoids(
                copy, self.pairs, self.places, self.start, matrix.indptr, matrix.indices,
                matrix.data, np.float32(temperature), result,
            )  # fmt: skip
        return out


def fits(units: int) -> bool:
    """Whether the compiled code supports this number of hidden units."""
    return units == WIDE


@compiled(nogil=True)
def _medoids(values, pairs, places, start, indptr, indices, weights, temperature, out):
    apart = np.empty(len(pairs), dtype=np.float32)
    floor = float32(1e-6)  # as in training, where the square root must be differentiable
    for p in range(len(pairs)):
        apart[p] = np.sqrt(max(squared_distance(values, pairs[p, 0], pairs[p, 1]), floor))
    longest = 0
    for row in range(len(indptr) - 1):
        longest = max(longest, indptr[row + 1] - indptr[row])
    reach = np.empty(longest, dtype=np.float32)
    for row in range(len(indptr) - 1):
        low, count = indptr[row], indptr[row + 1] - indptr[row]
        whole = float32(0)
        for a in range(count):
            reach[a] = weights[low + a] * np.sqrt(floor)
            whole += weights[low + a]
        at = start[row]
        for a in range(count):
            mine, total = weights[low + a], float32(0)
            for b in range(a + 1, count):
                distance = apart[places[at]]
                at += 1
                total += weights[low + b] * distance
                reach[b] += mine * distance
            reach[a] += total
        nearest = float32(np.inf)
        for a in range(count):
            nearest = min(nearest, reach[a])
        total = float32(0)
        for a in range(count):
            reach[a] = np.exp((nearest - reach[a]) / temperature)
            total += reach[a]
        for a in range(count):
            add_scaled_row(values, indices[low + a], reach[a] / total * whole, out[row])
