"""A classifier that is only a function: checkpoints of its votes know it by this module and name."""

from __future__ import annotations

import numpy as np
import scipy.sparse as sp


def by_ones(attributes: sp.csr_array, adjacency: sp.csr_array) -> np.ndarray:
    """The label from how many attributes and neighbours a node has."""
    ones = np.asarray(attributes.sum(axis=1)).ravel() + np.asarray(adjacency.sum(axis=1)).ravel()
    return ones.astype(np.int64) % 3
