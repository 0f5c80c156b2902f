"""Sparse incidence of flips and fields, stored by row and by column: most of a large program's memory.

Entries of a pattern are all 1, so their values are stored in one byte each. Products are made block by block with one
short array of ones, which stays in the processor's cache.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from functools import cached_property

import numpy as np
import scipy.sparse as sp

#: Entries of a block of rows in a product. Of 26 million entries: 26 ms; 31 ms with all values in memory, 46 ms with
#: blocks of 16,384.
BLOCK = 1 << 18


class Incidence:
    """Field rows × flips, weighted: `into` sums flips over each field, `reach` sums field values over each flip."""

    def __init__(self, pattern: sp.csr_array) -> None:
        """Entries are weights; bytes mark a pattern without weights."""
        if pattern.dtype == np.int8 and (pattern.data != 1).any():
            raise AssertionError("an incidence in bytes has entries that are not 1, which products would take for 1")
        self.shape = pattern.shape
        self.starts, self.flips = _narrow(pattern.indptr), pattern.indices.astype(np.int32, copy=False)
        self.pattern = sp.csr_array((pattern.data, self.flips, self.starts), shape=self.shape)
        by_flip = sp.csr_array(self.pattern.T)
        self.flip_starts, self.fields = _narrow(by_flip.indptr), by_flip.indices.astype(np.int32, copy=False)
        self.by_flip = sp.csr_array((by_flip.data, self.fields, self.flip_starts), shape=by_flip.shape)

    @property
    def entries(self) -> int:
        return len(self.flips)

    @cached_property
    def _rows(self) -> list[sp.csr_array]:
        return list(_blocks(self.pattern, np.dtype(np.float64)))

    @cached_property
    def _columns(self) -> list[sp.csr_array]:
        return list(_blocks(self.by_flip, np.dtype(np.float64)))

    def into(self, flips: np.ndarray) -> np.ndarray:
        """The sum of the flips inside each field."""
        return _joined(self._rows, flips)

    def into_from(self, flips: np.ndarray, values: np.ndarray) -> np.ndarray:
        """The same as `into` if all other flips are 0."""
        return _spread(self.by_flip, flips, values)

    def reach(self, values: np.ndarray) -> np.ndarray:
        """For each flip, the sum of the values of the field rows that contain it; exact for integers."""
        if values.dtype == np.float64:
            return _joined(self._columns, values)
        return product(self.by_flip, values)

    def reach_from(self, rows: np.ndarray, values: np.ndarray) -> np.ndarray:
        """The same as `reach` if all other field rows have the value 0."""
        return _spread(self.pattern, rows, values)


class Transposed:
    """The transposed matrix of a program: a small matrix, minus the incidence at flip columns and field rows."""

    def __init__(self, others: sp.csr_array, incidence: Incidence | None, rows: slice) -> None:
        self.others, self.incidence, self.rows = others, incidence, rows

    @property
    def largest(self) -> float:
        """The largest absolute value, at least 1."""
        weights = self.incidence.pattern.data if self.incidence is not None else np.zeros(0)
        return max(float(np.abs(self.others.data).max(initial=1)), float(weights.max(initial=1)))

    def __matmul__(self, y: np.ndarray) -> np.ndarray:
        result = np.asarray(self.others @ y)
        if self.incidence is not None:
            result[: self.incidence.shape[1]] -= self.incidence.reach(y[self.rows])
        return result

    def absolute(self, y: np.ndarray) -> np.ndarray:
        """The product with all entries made positive."""
        result = np.asarray(abs(self.others) @ y)
        if self.incidence is not None:
            result[: self.incidence.shape[1]] += self.incidence.reach(y[self.rows])
        return result

    def of(self, columns: np.ndarray) -> sp.csr_array:
        """One row for each of these columns of the program."""
        part = sp.csr_array(self.others[columns])
        if self.incidence is None:
            return part
        flips = columns < self.incidence.shape[1]
        inside = self.incidence.by_flip[columns[flips]]
        lengths = np.zeros(len(columns), dtype=np.int64)
        lengths[flips] = np.diff(inside.indptr)
        starts = np.concatenate([[0], np.cumsum(lengths)])
        wide = (-inside.data.astype(part.dtype), inside.indices + np.int32(self.rows.start), starts)
        return sp.csr_array(part + sp.csr_array(wide, shape=part.shape))


def product(matrix: sp.csr_array, values: np.ndarray) -> np.ndarray:
    """matrix @ values in the type of the values, without a copy of the matrix in that type."""
    return _joined(_blocks(matrix, values.dtype), values)


def _joined(blocks: Iterable[sp.csr_array], values: np.ndarray) -> np.ndarray:
    parts = [block @ values for block in blocks]
    return np.asarray(parts[0]) if len(parts) == 1 else np.concatenate([*parts, np.zeros(0, dtype=values.dtype)])


def _spread(matrix: sp.csr_array, rows: np.ndarray, values: np.ndarray) -> np.ndarray:
    """matrix[rows].T @ values, in parts that are long compared with the result."""
    result = np.zeros(matrix.shape[1])
    starts = np.concatenate([[0], np.cumsum(matrix.indptr[rows + 1] - matrix.indptr[rows], dtype=np.int64)])
    for first, stop in _cuts(starts, max(BLOCK, 8 * matrix.shape[1])):
        part = matrix[rows[first:stop]]
        part.data = part.data.astype(np.float64)
        result += part.T @ values[first:stop]
    return result


def _blocks(matrix: sp.csr_array, dtype: np.dtype) -> Iterator[sp.csr_array]:
    """The matrix as blocks of rows in another type; those of a pattern share their values."""
    starts, plain = matrix.indptr, matrix.data.dtype == np.int8
    cuts = _cuts(starts, BLOCK)
    ones = np.ones(max((starts[b] - starts[a] for a, b in cuts), default=0) if plain else 0, dtype=dtype)
    for a, b in cuts:
        entries = slice(starts[a], starts[b])
        block = sp.csr_array((b - a, matrix.shape[1]), dtype=dtype)
        # The constructor would copy parts of long arrays.
        block.data = ones[: starts[b] - starts[a]] if plain else matrix.data[entries].astype(dtype)
        block.indices, block.indptr = matrix.indices[entries], starts[a : b + 1] - starts[a]
        yield block


def _cuts(starts: np.ndarray, most: int) -> list[tuple[int, int]]:
    """Ranges of rows with at most so many entries each, or of one row."""
    found, first, count = [], 0, len(starts) - 1
    while first < count:
        stop = int(np.searchsorted(starts, starts[first] + most, side="right")) - 1
        found.append((first, stop := min(max(stop, first + 1), count)))
        first = stop
    return found


def _narrow(starts: np.ndarray) -> np.ndarray:
    return starts.astype(np.int32 if starts[-1] < 2**31 else np.int64, copy=False)
