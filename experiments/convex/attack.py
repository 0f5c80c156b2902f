"""Attacks on a GCN that flip the bits with the largest gains in the convex relaxation."""

from __future__ import annotations

import numpy as np

from experiments.convex.batch import Batch, gains, linearise
from experiments.convex.hidden import ROUNDOFF


def smallest_attack(
    batch: Batch, which: int, lower: np.ndarray, upper: np.ndarray, local_budget: int, deletions: bool, limit: int
) -> int:
    """Number of flips, in the relaxation's order, that change the only node's label; −1 if `limit` do not."""
    linear = linearise(batch, which, lower, upper, limit, steep=False)
    rows, attributes = _ranked(gains(batch.network, batch.row_node, linear.gradient, deletions), local_budget, limit)
    if not len(rows):
        return -1
    margins, error = _margins_along(batch, rows, attributes)
    changed = np.flatnonzero((margins < -error).any(axis=1))
    return int(changed[0]) + 1 if len(changed) else -1


def _ranked(values: np.ndarray, local_budget: int, limit: int) -> tuple[np.ndarray, np.ndarray]:
    """Row and column of the largest positive entries in descending order, at most `local_budget` per row."""
    count = min(local_budget, values.shape[1])
    columns = np.argpartition(values, values.shape[1] - count, axis=1)[:, -count:]
    top = np.take_along_axis(values, columns, axis=1)
    order = np.argsort(-top, axis=None, kind="stable")[:limit]
    order = order[top.ravel()[order] > 0]
    return order // count, columns.ravel()[order]


def _margins_along(batch: Batch, rows: np.ndarray, attributes: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Margins of the label over each other class after each flip (flips × classes), with a bound on their error."""
    network = batch.network
    present = network.attributes[batch.row_node].toarray().astype(bool)[rows, attributes]
    change = np.where(present, -1.0, 1.0)[:, None] * network.weight1[attributes]
    through = batch.spread.toarray()[rows]  # flips × pairs
    hidden = network.hidden[batch.pair_node] + np.cumsum(through[:, :, None] * change[:, None, :], axis=0)
    node = batch.nodes[0]
    logits = np.einsum("p,fpu->fu", batch.pair_weight, np.maximum(hidden, 0.0)) @ network.weight2 + network.bias2
    sizes = network.hidden_sizes[batch.pair_node] + (through[:, :, None] * np.abs(change[:, None, :])).sum(axis=0)
    size = (batch.pair_weight @ sizes) @ np.abs(network.weight2) + np.abs(network.bias2)
    error = 16 * ROUNDOFF * (network.longest_sum + len(rows)) * 2 * size.max()
    label = network.prediction[node]
    return logits[:, [label]] - logits[:, batch.others[0]], np.full(network.n_classes - 1, error)
