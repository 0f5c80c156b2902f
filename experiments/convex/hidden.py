"""Bounds on the hidden units of a GCN under attribute flips.

Unit j of node m is Σ_n Â[m, n] (X W₁)[n, j] + b₁[j], which is linear in the bits. The worst flips for one unit are the
largest changes, at most q per node n and at most Q in total.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import scipy.sparse as sp

from experiments.convex.network import GcnNetwork

#: Largest number of values in memory in one step (64 MB of float64).
CHUNK = 2**23
ROUNDOFF = 2.0**-53


class HiddenBounds:
    """Bounds of the hidden units for any global budget, under one local budget."""

    def __init__(self, network: GcnNetwork, local_budget: int, deletions: bool) -> None:
        self.network = network
        self.deletions = deletions
        self.kept = max(1, min(local_budget, network.n_attrs))
        self.up = self._largest_changes(network.weight1)
        self.down = self._largest_changes(-network.weight1)

    def at(self, budget: int, nodes: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """(lower, upper) bounds of the hidden units that `nodes` read, widened by more than all rounding errors.

        Both are arrays over all nodes. Units that none of `nodes` reads have infinite bounds.
        """
        network = self.network
        read = np.zeros(network.n_nodes, dtype=bool)
        read[network.propagation[nodes].indices] = True
        members = np.flatnonzero(read)
        rise, fall = self._total(self.up, budget, members), self._total(self.down, budget, members)
        size = network.hidden_sizes[members] + rise + fall
        error = 4 * ROUNDOFF * (network.longest_sum + budget) * size
        lower = np.full(network.hidden.shape, -np.inf)
        lower[members] = network.hidden[members] - fall - error
        upper = np.full(network.hidden.shape, np.inf)
        upper[members] = network.hidden[members] + rise + error
        return lower, upper

    def _largest_changes(self, weight: np.ndarray) -> np.ndarray:
        """Per node and unit the `kept` largest increases by flips of the node's own bits, in descending order."""
        network, kept = self.network, self.kept
        ones = np.diff(network.attributes.indptr)
        # Additions beyond the first `kept` plus the number of set bits cannot be among the largest.
        reach = min(network.n_attrs, kept + int(ones.max(initial=0)))
        order = np.argsort(-weight, axis=0, kind="stable")[:reach].T  # units × reach
        best = np.maximum(np.take_along_axis(weight.T, order, axis=1), 0.0)
        result = np.zeros((network.n_nodes, network.n_units, kept))
        width = reach + (int(ones.max(initial=0)) if self.deletions else 0)
        for rows in _chunks(network.n_nodes, network.n_units * width):
            block = network.attributes[rows]
            values = np.where(block.toarray().astype(bool)[:, order], 0.0, best[None])
            if self.deletions:
                values = np.concatenate([values, _deletions(block, weight)], axis=2)
            if values.shape[2] > kept:
                values = np.partition(values, values.shape[2] - kept, axis=2)[:, :, -kept:]
            result[rows, :, : values.shape[2]] = -np.sort(-values, axis=2)
        return result

    def _total(self, changes: np.ndarray, budget: int, members: np.ndarray) -> np.ndarray:
        """Per member and unit the sum of the `budget` largest changes among the member's neighbours."""
        propagation, units = self.network.propagation, self.network.n_units
        kept = min(self.kept, budget)
        starts, degrees = propagation.indptr[members], np.diff(propagation.indptr)[members]
        result = np.zeros((len(members), units))
        # Members of similar degree are processed together, to need little padding.
        order = np.argsort(degrees, kind="stable")
        order = order[degrees[order] > 0] if budget else order[:0]
        start = 0
        while start < len(order):
            sizes = np.arange(1, len(order) - start + 1) * degrees[order[start:]] * units * kept
            part = order[start : start + max(1, int(np.searchsorted(sizes, CHUNK, side="right")))]
            start += len(part)
            width = int(degrees[part].max())
            valid = np.arange(width) < degrees[part][:, None]
            position = np.where(valid, starts[part][:, None] + np.arange(width), 0)
            weight = np.where(valid, propagation.data[position], 0.0)  # zero for padding
            values = changes[propagation.indices[position], :, :kept] * weight[:, :, None, None]
            values = values.transpose(0, 2, 1, 3).reshape(len(part), units, width * kept)
            if values.shape[2] > budget:
                values = np.partition(values, values.shape[2] - budget, axis=2)[:, :, -budget:]
            result[part] = values.sum(axis=2)
        return result


def _deletions(block: sp.csr_array, weight: np.ndarray) -> np.ndarray:
    """Increases by deleting set bits (rows × units × largest number of set bits in a row)."""
    counts = np.diff(block.indptr)
    slots = np.arange(counts.max(initial=0))
    valid = slots < counts[:, None]
    attribute = np.zeros(valid.shape, dtype=np.int64)
    attribute[valid] = block.indices
    values = np.where(valid[:, :, None], np.maximum(-weight[attribute], 0.0), 0.0)
    return values.transpose(0, 2, 1)


def _chunks(total: int, size: int) -> Iterator[slice]:
    step = max(1, CHUNK // max(1, size))
    for start in range(0, total, step):
        yield slice(start, min(start + step, total))
