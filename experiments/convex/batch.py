"""Lower bounds on the margins of many nodes at once: one linear function of the bits per node and class."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
import scipy.sparse as sp

from experiments.convex.hidden import CHUNK, ROUNDOFF
from experiments.convex.network import GcnNetwork

#: Block width in columns for finding the largest entries of a row.
BLOCK = 32


@dataclass(frozen=True, eq=False)
class Batch:
    """Some nodes with the hidden units they read (`pairs`: node and neighbour) and the bits these read (`rows`).

    `pair_owner` and `row_owner` give the index in `nodes` to which a pair or row belongs. `spread` (rows × pairs) maps
    coefficients of hidden values to the nodes whose attributes enter them.
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
class LinearBound:
    """A linear lower bound of the margins: `constant` plus the effect of flips, −`gradient` times W₁ᵀ per row.

    `error` bounds the rounding error of the minimum.
    """

    constant: np.ndarray
    gradient: np.ndarray
    error: np.ndarray


def batches(network: GcnNetwork, nodes: np.ndarray) -> Iterator[Batch]:
    """Split `nodes`, in order, into batches that fit into memory."""
    reads = network.reads[nodes] * network.n_units
    start = 0
    while start < len(nodes):
        stop = start + max(1, int(np.searchsorted(np.cumsum(reads[start:]), CHUNK, side="right")))
        yield _batch(network, nodes[start:stop])
        start = stop


def linearise(
    batch: Batch, which: int, lower: np.ndarray, upper: np.ndarray, flips: int, *, steep: bool
) -> LinearBound:
    """Replace every relu by a line, and collect the coefficients of the bits."""
    network = batch.network
    low, high = lower[batch.pair_node], upper[batch.pair_node]
    difference = batch.differences(which)
    a = batch.pair_weight[:, None] * difference[batch.pair_owner]
    open_units = (low < 0) & (high > 0)
    chord = high / np.where(open_units, high - low, 1.0)
    # Where the coefficient is positive, any slope in [0, 1] is valid: that of the chord, or 0 or 1.
    free = (high > -low).astype(np.float64) if steep else chord
    slope = np.where(open_units, np.where(a < 0, chord, free), (low >= 0).astype(np.float64))
    # The line above relu must not be below it at either end of the interval.
    offset = np.where(open_units & (a < 0), np.maximum(-slope * low, high - slope * high), 0.0)
    alpha = a * slope
    constant = np.zeros(len(batch.nodes))
    terms = alpha * network.hidden[batch.pair_node] + a * offset
    np.add.at(constant, batch.pair_owner, terms.sum(axis=1))
    label = network.prediction[batch.nodes]
    other = batch.others[:, which]
    constant += network.bias2[label] - network.bias2[other]
    # Upper bound on all partial sums for any flips; each value goes through fewer roundings than `steps`.
    sizes = np.abs(a) * (network.hidden_sizes[batch.pair_node] + (high - low))
    size = np.abs(network.bias2[label]) + np.abs(network.bias2[other])
    np.add.at(size, batch.pair_owner, sizes.sum(axis=1))
    error = 16 * ROUNDOFF * (network.longest_sum + flips) * size
    return LinearBound(constant, batch.spread @ alpha, error)


def gains(network: GcnNetwork, nodes: np.ndarray, gradient: np.ndarray, deletions: bool) -> np.ndarray:
    """By how much each flip lowers the bound (rows × attributes); 0 if it does not, or if it is not allowed."""
    values = gradient @ -network.weight1.T
    row, position = _expand(network.attributes.indptr, nodes)
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
    """A lower bound on the margin of each node's label over one other class under any admissible flips.

    If the sign is known without examining single flips, a weaker bound of the same sign is returned (−∞ if the bound
    cannot be positive).
    """
    network = batch.network
    linear = linearise(batch, which, lower, upper, budget, steep=steep)
    value = linear.constant - linear.error
    if budget == 0 or network.n_attrs == 0:
        return value
    # No flip at a row gains more than the product of the norms (Cauchy–Schwarz); the factor covers rounding.
    norms = np.sqrt(np.einsum("ru,ru->r", linear.gradient, linear.gradient)) * (1 + 1e-9)
    reach = norms * network.largest_norm
    most = np.zeros(len(batch.nodes))
    np.maximum.at(most, batch.row_owner, reach)
    crude = value - most * budget * (1 + 1e-9)
    open_nodes = (value > 0) & (crude <= 0)
    result = np.where(value > 0, np.where(open_nodes, value, crude), -np.inf)
    rows = np.flatnonzero(open_nodes[batch.row_owner])
    if not len(rows):
        return result
    count = min(budget, local_budget, network.n_attrs)
    # Rows with the largest possible gains first. Rows below the budget-th largest gain found can be skipped.
    order = rows[np.lexsort((-reach[rows], batch.row_owner[rows]))]
    first = _rank(batch.row_owner[order]) < -(-budget // count)
    strong, others = order[first], order[~first]
    top = _top_gains(batch, strong, linear.gradient, deletions, count)
    owner, top = np.repeat(batch.row_owner[strong], count), top.ravel()
    floor = _nth_largest(owner, top, budget, len(batch.nodes))
    others = np.sort(others[reach[others] > floor[batch.row_owner[others]]])
    if len(others):
        more = _top_gains(batch, others, linear.gradient, deletions, count)
        owner = np.concatenate([owner, np.repeat(batch.row_owner[others], count)])
        top = np.concatenate([top, more.ravel()])
    order = np.lexsort((-top, owner))
    used = order[_rank(owner[order]) < budget]
    return result - np.bincount(owner[used], weights=top[used], minlength=len(batch.nodes))


def _top_gains(batch: Batch, rows: np.ndarray, gradient: np.ndarray, deletions: bool, count: int) -> np.ndarray:
    """The `count` largest gains of each row (rows × count), computed in blocks that fit into the processor's cache."""
    step = max(64, CHUNK // 8 // batch.network.n_attrs)
    parts = []
    for start in range(0, len(rows), step):
        part = rows[start : start + step]
        parts.append(largest(gains(batch.network, batch.row_node[part], gradient[part], deletions), count))
    return np.concatenate(parts)


def _rank(owner: np.ndarray) -> np.ndarray:
    """The index of each entry among the entries of its owner; owners are sorted."""
    return np.arange(len(owner)) - np.searchsorted(owner, owner, side="left")


def _nth_largest(owner: np.ndarray, values: np.ndarray, n: int, n_owners: int) -> np.ndarray:
    """Per owner the n-th largest value; 0 if there are fewer."""
    order = np.lexsort((-values, owner))
    last = order[_rank(owner[order]) == n - 1]
    result = np.zeros(n_owners)
    result[owner[last]] = values[last]
    return result


def largest(values: np.ndarray, count: int) -> np.ndarray:
    """The `count` largest entries of each row, unsorted.

    They lie in the `count` blocks with the largest maxima, which one pass over the rows finds.
    """
    rows, columns = values.shape
    if columns <= count:
        return values
    blocks = columns // BLOCK
    if blocks > 2 * count:
        whole = values[:, : blocks * BLOCK].reshape(rows, blocks, BLOCK)
        chosen = np.argpartition(whole.max(axis=2), blocks - count, axis=1)[:, -count:]
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
    # The runner-up first: most nodes that fail, fail against it.
    classes = np.argsort(-network.logits[nodes], axis=1, kind="stable")
    others = classes[classes != network.prediction[nodes][:, None]].reshape(len(nodes), -1)
    return Batch(
        network=network, nodes=nodes, others=others, pair_owner=pair_owner, pair_node=pair_node,
        pair_weight=propagation.data[pair_position], row_owner=distinct // network.n_nodes,
        row_node=distinct % network.n_nodes, spread=spread,
    )  # fmt: skip


def _expand(indptr: np.ndarray, rows: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """For every stored entry of the given CSR rows: the index in `rows`, and the position of the entry."""
    counts = np.diff(indptr)[rows]
    owner = np.repeat(np.arange(len(rows)), counts)
    position = np.arange(len(owner)) - np.repeat(np.cumsum(counts) - counts, counts) + indptr[rows][owner]
    return owner, position
