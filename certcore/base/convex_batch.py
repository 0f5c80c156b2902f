"""The relaxed margin of many nodes at once: one linear function of the bits per node and class, and its minimum."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
import scipy.sparse as sp

from certcore.base.convex_hidden import CHUNK, ROUNDOFF
from certcore.base.network import GcnNetwork

#: Columns per block when the largest entries of a row are looked for.
BLOCK = 32


@dataclass(frozen=True, eq=False)
class Batch:
    """Some nodes with the hidden units they read (`pairs`: node and neighbour) and the bits these read (`rows`).

    `pair_owner` and `row_owner` say which of `nodes` a pair or row belongs to. `spread` (rows × pairs) carries a
    coefficient of a hidden value to the nodes whose attributes enter it.
    """

    network: GcnNetwork
    nodes: np.ndarray
    others: np.ndarray
    pair_owner: np.ndarray
    pair_node: np.ndarray
    pair_weight: np.ndarray
    row_owner: np.ndarray
    row_node: np.ndarray
    spread: sp.csr_array

    def differences(self, which: int) -> np.ndarray:
        """W₂[:, label] − W₂[:, other] for the other class number `which` of each node (nodes × units)."""
        weight = self.network.weight2.T
        return weight[self.network.prediction[self.nodes]] - weight[self.others[:, which]]


@dataclass(frozen=True, eq=False)
class Linear:
    """A linear lower bound of the margins: `constant` plus the effect of flips, −`gradient` times W₁ᵀ per row.

    `error` bounds what rounding can have added to the minimum.
    """

    constant: np.ndarray
    gradient: np.ndarray
    error: np.ndarray


def batches(network: GcnNetwork, nodes: np.ndarray) -> Iterator[Batch]:
    """Cut `nodes` into batches, in their order, whose rows of gains fit into memory."""
    counts = np.diff(network.propagation.indptr)
    reads = np.asarray(
        sp.csr_array(
            (np.ones(len(network.propagation.data)), network.propagation.indices, network.propagation.indptr),
            shape=network.propagation.shape,
        )
        @ counts
    )
    limit = max(1, CHUNK // max(1, network.n_attrs))
    start = 0
    while start < len(nodes):
        total = np.cumsum(reads[nodes[start:]])
        stop = start + max(1, int(np.searchsorted(total, limit, side="right")))
        yield _batch(network, nodes[start:stop])
        start = stop


def linearise(batch: Batch, which: int, lower: np.ndarray, upper: np.ndarray, flips: int, *, steep: bool) -> Linear:
    """Replace every relu by a line, and collect the result as a function of the bits."""
    network = batch.network
    low, high = lower[batch.pair_node], upper[batch.pair_node]
    difference = batch.differences(which)
    a = batch.pair_weight[:, None] * difference[batch.pair_owner]
    open_units = (low < 0) & (high > 0)
    chord = high / np.where(open_units, high - low, 1.0)
    # Where the unit counts in favour of the label, any slope in [0, 1] is valid: the chord's, or the nearer side.
    free = (high > -low).astype(np.float64) if steep else chord
    slope = np.where(open_units, np.where(a < 0, chord, free), (low >= 0).astype(np.float64))
    # The line above relu must pass both ends of the interval.
    offset = np.where(open_units & (a < 0), np.maximum(-slope * low, high - slope * high), 0.0)
    alpha = a * slope
    constant = np.zeros(len(batch.nodes))
    terms = alpha * network.hidden[batch.pair_node] + a * offset
    np.add.at(constant, batch.pair_owner, terms.sum(axis=1))
    label = network.prediction[batch.nodes]
    other = batch.others[:, which]
    constant += network.bias2[label] - network.bias2[other]
    # No partial sum exceeds this size, however the flips fall; each goes through fewer roundings than `steps`.
    sizes = np.abs(a) * (network.hidden_sizes[batch.pair_node] + (high - low))
    size = np.abs(network.bias2[label]) + np.abs(network.bias2[other])
    np.add.at(size, batch.pair_owner, sizes.sum(axis=1))
    error = 16 * ROUNDOFF * (network.longest_sum + flips) * size
    return Linear(constant, batch.spread @ alpha, error)


def gains(batch: Batch, gradient: np.ndarray, deletions: bool) -> np.ndarray:
    """By how much each flip lowers the bound (rows × attributes; zero where it does not or must not)."""
    network = batch.network
    values = gradient @ -network.weight1.T
    indptr = network.attributes.indptr
    counts = np.diff(indptr)[batch.row_node]
    row = np.repeat(np.arange(len(counts)), counts)
    position = (
        np.arange(len(row)) - np.repeat(np.cumsum(counts) - counts, counts) + np.repeat(indptr[batch.row_node], counts)
    )
    attribute = network.attributes.indices[position]
    values[row, attribute] = -values[row, attribute] if deletions else 0.0
    return np.maximum(values, 0.0, out=values)


def lower_margins(
    batch: Batch,
    which: int,
    lower: np.ndarray,
    upper: np.ndarray,
    budget: int,
    local_budget: int,
    deletions: bool,
    *,
    steep: bool,
) -> np.ndarray:
    """A lower bound on the margin of each node's label over one other class under any admissible flips."""
    linear = linearise(batch, which, lower, upper, budget, steep=steep)
    value = linear.constant - linear.error
    if budget == 0:
        return value
    top = largest(gains(batch, linear.gradient, deletions), min(budget, local_budget))
    owner = np.repeat(batch.row_owner, top.shape[1])
    order = np.lexsort((-top.ravel(), owner))
    owner = owner[order]
    rank = np.arange(len(owner)) - np.searchsorted(owner, owner, side="left")
    used = rank < budget
    return value - np.bincount(owner[used], weights=top.ravel()[order][used], minlength=len(batch.nodes))


def largest(values: np.ndarray, count: int) -> np.ndarray:
    """The `count` largest entries of each row, in no order.

    They lie in the `count` blocks with the largest maxima, and finding those needs only one pass over the rows.
    """
    rows, columns = values.shape
    if columns <= count:
        return values
    blocks = columns // BLOCK
    if blocks > 2 * count:
        whole = values[:, : blocks * BLOCK].reshape(rows, blocks, BLOCK)
        tops = whole.max(axis=2)
        chosen = np.argpartition(tops, blocks - count, axis=1)[:, -count:]
        inside = np.take_along_axis(whole, chosen[:, :, None], axis=1).reshape(rows, -1)
        values = np.concatenate([inside, values[:, blocks * BLOCK :]], axis=1)
    return np.partition(values, values.shape[1] - count, axis=1)[:, -count:]


def _batch(network: GcnNetwork, nodes: np.ndarray) -> Batch:
    propagation = network.propagation
    pair_owner, pair_position = _expand(propagation.indptr, nodes)
    pair_node = propagation.indices[pair_position].astype(np.int64)
    pair, position = _expand(propagation.indptr, pair_node)
    keys = pair_owner[pair] * network.n_nodes + propagation.indices[position]
    distinct, row = np.unique(keys, return_inverse=True)
    spread = sp.csr_array((propagation.data[position], (row.reshape(-1), pair)), shape=(len(distinct), len(pair_node)))
    classes = np.broadcast_to(np.arange(network.n_classes), (len(nodes), network.n_classes))
    others = classes[classes != network.prediction[nodes][:, None]].reshape(len(nodes), -1)
    return Batch(
        network=network,
        nodes=nodes,
        others=others,
        pair_owner=pair_owner,
        pair_node=pair_node,
        pair_weight=propagation.data[pair_position],
        row_owner=distinct // network.n_nodes,
        row_node=distinct % network.n_nodes,
        spread=spread,
    )


def _expand(indptr: np.ndarray, rows: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """For every stored entry of the given CSR rows: which of `rows` it belongs to, and its position."""
    counts = np.diff(indptr)[rows]
    owner = np.repeat(np.arange(len(rows)), counts)
    position = np.arange(len(owner)) - np.repeat(np.cumsum(counts) - counts, counts) + indptr[rows][owner]
    return owner, position
