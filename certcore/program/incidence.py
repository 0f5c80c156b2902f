"""Which flips lie in which fields, stored by row and by column without coefficients: most of a large program."""

from __future__ import annotations

import numpy as np
import scipy.sparse as sp


class Incidence:
    """A pattern of field rows × flips: `into` sums flips over each field, `reach` sums values of fields over flips."""

    def __init__(self, pattern: sp.csr_array) -> None:
        self.shape = pattern.shape
        self.starts, self.flips = _narrow(pattern.indptr), pattern.indices.astype(np.int32, copy=False)
        ones = np.ones(len(self.flips), dtype=np.float64)
        self.pattern = sp.csr_array((ones, self.flips, self.starts), shape=self.shape)
        by_flip = sp.csr_array(self.pattern.T)
        self.flip_starts, self.fields = _narrow(by_flip.indptr), by_flip.indices.astype(np.int32, copy=False)
        # Both directions share one array of ones.
        self._columns = sp.csr_array((ones, self.fields, self.flip_starts), shape=(self.shape[1], self.shape[0]))

    @property
    def entries(self) -> int:
        return len(self.flips)

    def into(self, flips: np.ndarray) -> np.ndarray:
        """The sum of the flips inside each field."""
        return np.asarray(self.pattern @ flips)

    def into_from(self, flips: np.ndarray, values: np.ndarray) -> np.ndarray:
        """The same if only these flips are not 0, with these values."""
        return np.asarray(self._columns[flips].T @ values)

    def reach(self, values: np.ndarray) -> np.ndarray:
        """For each flip the sum of the values of the field rows it is in."""
        return np.asarray(self._columns @ values)

    def reach_from(self, rows: np.ndarray, values: np.ndarray) -> np.ndarray:
        """The same if only these field rows have values other than 0."""
        return np.asarray(self.pattern[rows].T @ values)


def _narrow(starts: np.ndarray) -> np.ndarray:
    return starts.astype(np.int32 if starts[-1] < 2**31 else np.int64, copy=False)
