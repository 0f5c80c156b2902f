"""Approximate personalised PageRank with truncated rows, which makes APPNP and SMA local."""

from __future__ import annotations

import numpy as np
import scipy.sparse as sp

TELEPORT = 0.15
TOP = 64


def truncated_pagerank(adjacency: sp.csr_array, iterations: int, top: int = TOP, block: int = 256) -> sp.csr_array:
    """`iterations` steps of Π ← (1 − α)·Π·Â + α·I from Π = I, all but the `top` largest entries of a row set to 0.

    Â = D^-1/2 (A + I) D^-1/2. Of equal entries, the one with the lower index is kept.
    """
    n_nodes = adjacency.shape[0]
    looped = sp.csr_array(adjacency + sp.eye_array(n_nodes), dtype=np.float64)
    scale = sp.diags_array(1 / np.sqrt(np.asarray(looped.sum(axis=1)).ravel()))
    step = sp.csr_array(scale @ looped @ scale)
    backwards = sp.csr_array(step.T)
    rows = []
    for start in range(0, n_nodes, block):
        chosen = np.arange(start, min(start + block, n_nodes))
        unit = np.zeros((n_nodes, len(chosen)))
        unit[chosen, np.arange(len(chosen))] = 1
        rank = unit
        for _ in range(iterations):
            rank = (1 - TELEPORT) * (backwards @ rank) + TELEPORT * unit
        ranked = rank.T
        order = np.argsort(-ranked, axis=1, kind="stable")[:, :top]
        values = np.take_along_axis(ranked, order, axis=1)
        inside = values > 0
        owner = np.broadcast_to(np.arange(len(chosen))[:, None], order.shape)[inside]
        rows.append(sp.csr_array((values[inside], (owner, order[inside])), shape=(len(chosen), n_nodes)))
    result = sp.csr_array(sp.vstack(rows)).astype(np.float32)
    result.sort_indices()
    return result


class PagerankCache:
    """The truncated PageRank of the last adjacency, which is nearly always the same."""

    def __init__(self, iterations: int, top: int) -> None:
        self.iterations, self.top = iterations, top
        self.adjacency: sp.csr_array | None = None
        self.matrix: sp.csr_array | None = None

    def get(self, adjacency: sp.csr_array) -> sp.csr_array:
        """The matrix for `adjacency`, computed unless it is the last one."""
        same = (
            self.adjacency is not None
            and np.array_equal(self.adjacency.indptr, adjacency.indptr)
            and np.array_equal(self.adjacency.indices, adjacency.indices)
        )
        if not same or self.matrix is None:
            self.adjacency, self.matrix = adjacency, truncated_pagerank(adjacency, self.iterations, self.top)
        return self.matrix
