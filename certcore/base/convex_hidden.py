"""How far the hidden units of a GCN can move when an attacker flips attributes.

Unit j of node m is Σ_n Â[m, n] (X W₁)[n, j] + b₁[j]: linear in the bits. The worst flips for one unit are simply the
largest changes, at most q per node n and at most Q in total.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from certcore.base.network import GcnNetwork

#: Numbers held at once by one step (half a gigabyte of float64 is 2^26).
CHUNK = 2**23
ROUNDOFF = 2.0**-53


class HiddenBounds:
    """Bounds of all hidden units for any global budget, under one local budget."""

    def __init__(self, network: GcnNetwork, local_budget: int, deletions: bool) -> None:
        self.network = network
        self.deletions = deletions
        self.kept = max(1, min(local_budget, network.n_attrs))
        self.up = self._largest_changes(network.weight1)
        self.down = self._largest_changes(-network.weight1)

    def at(self, budget: int) -> tuple[np.ndarray, np.ndarray]:
        """(lower, upper) bounds of every hidden unit, widened by more than all rounding errors."""
        network = self.network
        rise, fall = self._total(self.up, budget), self._total(self.down, budget)
        error = 4 * ROUNDOFF * (network.longest_sum + budget) * (network.hidden_sizes + rise + fall)
        return network.hidden - fall - error, network.hidden + rise + error

    def _largest_changes(self, weight: np.ndarray) -> np.ndarray:
        """Per node and unit the `kept` largest increases by flips of the node's own bits (nodes × units × kept)."""
        network, kept = self.network, self.kept
        ones = np.diff(network.attributes.indptr)
        # Beyond the first `kept` plus the bits that are set already, no addition can be among the largest.
        reach = min(network.n_attrs, kept + int(ones.max(initial=0)))
        order = np.argsort(-weight, axis=0, kind="stable")[:reach].T  # units × reach
        best = np.maximum(np.take_along_axis(weight.T, order, axis=1), 0.0)
        result = np.zeros((network.n_nodes, network.n_units, kept))
        width = reach + (int(ones.max(initial=0)) if self.deletions else 0)
        for rows in _chunks(network.n_nodes, network.n_units * width):
            block = network.attributes[rows]
            present = block.toarray().astype(bool)
            values = np.where(present[:, order], 0.0, best[None])
            if self.deletions:
                values = np.concatenate([values, _deletions(block, weight, int(ones[rows].max(initial=0)))], axis=2)
            top = (
                np.partition(values, values.shape[2] - kept, axis=2)[:, :, -kept:] if values.shape[2] > kept else values
            )
            result[rows, :, : top.shape[2]] = top
        return result

    def _total(self, changes: np.ndarray, budget: int) -> np.ndarray:
        """Per node and unit the sum of the `budget` largest changes among the node's neighbours."""
        propagation, units = self.network.propagation, self.network.n_units
        kept = min(self.kept, budget)
        result = np.zeros((self.network.n_nodes, units))
        if budget == 0:
            return result
        if kept < self.kept:
            changes = np.partition(changes, self.kept - kept, axis=2)[:, :, -kept:]
        degrees = np.diff(propagation.indptr)
        # Nodes of similar degree go together, so that hardly anything is padded.
        by_degree = np.argsort(degrees, kind="stable")
        start = 0
        while start < len(by_degree):
            stop = start + 1
            while stop < len(by_degree) and (stop + 1 - start) * degrees[by_degree[stop]] * units * kept <= CHUNK:
                stop += 1
            nodes = by_degree[start:stop]
            width = int(degrees[nodes].max())
            slots = np.arange(width)
            valid = slots < degrees[nodes][:, None]
            position = np.where(valid, propagation.indptr[nodes][:, None] + slots, 0)
            weight = np.where(valid, propagation.data[position] if len(propagation.data) else 0.0, 0.0)
            neighbour = np.where(valid, propagation.indices[position] if len(propagation.indices) else 0, 0)
            values = changes[neighbour] * weight[:, :, None, None]
            values = values.transpose(0, 2, 1, 3).reshape(len(nodes), units, width * kept)
            if values.shape[2] > budget:
                values = np.partition(values, values.shape[2] - budget, axis=2)[:, :, -budget:]
            result[nodes] = values.sum(axis=2)
            start = stop
        return result


def _deletions(block: object, weight: np.ndarray, most: int) -> np.ndarray:
    """Increases by deleting bits that are set (rows × units × most)."""
    indptr, indices = block.indptr, block.indices  # type: ignore[attr-defined]
    counts = np.diff(indptr)
    slots = np.arange(most)
    valid = slots < counts[:, None]
    if not len(indices):
        return np.zeros((len(counts), weight.shape[1], most))
    attribute = indices[np.where(valid, indptr[:-1][:, None] + slots, 0)]
    values = np.where(valid[:, :, None], np.maximum(-weight[attribute], 0.0), 0.0)
    return values.transpose(0, 2, 1)


def _chunks(total: int, size: int) -> Iterator[slice]:
    step = max(1, CHUNK // max(1, size))
    for start in range(0, total, step):
        yield slice(start, min(start + step, total))
