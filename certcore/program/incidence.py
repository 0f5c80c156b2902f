"""Sparse incidence of flips and fields, with weights, stored by row and by column: most of a large program's memory."""

from __future__ import annotations

import numpy as np
import scipy.sparse as sp


class Incidence:
    """Field rows × flips, weighted: `into` sums flips over each field, `reach` sums field values over each flip."""

    def __init__(self, pattern: sp.csr_array) -> None:
        self.shape = pattern.shape
        self.starts, self.flips = _narrow(pattern.indptr), pattern.indices.astype(np.int32, copy=False)
        weights = pattern.data.astype(np.float64)
        self.pattern = sp.csr_array((weights, self.flips, self.starts), shape=self.shape)
        by_flip = sp.csr_array(self.pattern.T)
        self.flip_starts, self.fields = _narrow(by_flip.indptr), by_flip.indices.astype(np.int32, copy=False)
        # Without weights, both directions share one array of ones.
        weights = weights if (weights == 1).all() else by_flip.data
        self._columns = sp.csr_array((weights, self.fields, self.flip_starts), shape=(self.shape[1], self.shape[0]))

    @property
    def entries(self) -> int:
        return len(self.flips)

    def into(self, flips: np.ndarray) -> np.ndarray:
        """The sum of the flips inside each field."""
        return np.asarray(self.pattern @ flips)

    def into_from(self, flips: np.ndarray, values: np.ndarray) -> np.ndarray:
        """The same as `into` if all other flips are 0."""
        return np.asarray(self._columns[flips].T @ values)

    def reach(self, values: np.ndarray) -> np.ndarray:
        """For each flip, the sum of the values of the field rows that contain it."""
        return np.asarray(self._columns @ values)

    def reach_from(self, rows: np.ndarray, values: np.ndarray) -> np.ndarray:
        """The same as `reach` if all other field rows have the value 0."""
        return np.asarray(self.pattern[rows].T @ values)


def _narrow(starts: np.ndarray) -> np.ndarray:
    return starts.astype(np.int32 if starts[-1] < 2**31 else np.int64, copy=False)
