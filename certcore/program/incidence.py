"""Which flips lie in which fields, both ways, without coefficients: the large part of every large program."""

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
        # Both directions share one array of ones: the pattern is all there is.
        self._columns = sp.csr_array((ones, self.fields, self.flip_starts), shape=(self.shape[1], self.shape[0]))

    @property
    def entries(self) -> int:
        return len(self.flips)

    def into(self, flips: np.ndarray) -> np.ndarray:
        """What each field receives of these flips."""
        return np.asarray(self.pattern @ flips)

    def into_from(self, flips: np.ndarray, values: np.ndarray) -> np.ndarray:
        """The same where only these flips are in use, with these values."""
        return np.asarray(self._columns[flips].T @ values)

    def reach(self, values: np.ndarray) -> np.ndarray:
        """What each flip is worth if fields are worth this much per flip."""
        return np.asarray(self._columns @ values)

    def reach_from(self, rows: np.ndarray, values: np.ndarray) -> np.ndarray:
        """The same where only these fields are worth something."""
        return np.asarray(self.pattern[rows].T @ values)


def _narrow(starts: np.ndarray) -> np.ndarray:
    return starts.astype(np.int32 if starts[-1] < 2**31 else np.int64, copy=False)
