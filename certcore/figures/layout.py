"""Positions for graphs that come without any."""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.sparse as sp

from certcore.domain.layout import components, pack


def positions_of(instance: Any) -> np.ndarray:
    """The layout of the instance, or a quick one of our own."""
    if instance.layout is not None:
        return np.asarray(instance.layout, dtype=float)
    return quick_layout(instance.graph.n_nodes, instance.graph.edges)


def quick_layout(n_nodes: int, edges: np.ndarray, rounds: int = 150, seed: int = 0) -> np.ndarray:
    """Two slow directions of a random walk, spread by rank: neighbours stay close, in well under a second.

    Not as pretty as a spring layout, but linear in the edges; bundles carry a better one. A walk never leaves its
    component, so each one is centred, scaled and ranked by itself (all at once), and then they are packed.
    """
    pairs = np.asarray(edges).reshape(-1, 2)
    label = components(n_nodes, pairs)
    size = np.bincount(label)
    adjacency = sp.csr_array((np.ones(len(pairs)), (pairs[:, 0], pairs[:, 1])), shape=(n_nodes, n_nodes))
    adjacency = adjacency + adjacency.T + sp.eye_array(n_nodes)
    degrees = np.asarray(adjacency.sum(axis=1)).ravel()
    walk = sp.diags_array(1 / degrees) @ adjacency
    weights = degrees / np.bincount(label, degrees)[label]

    def mean(values: np.ndarray) -> np.ndarray:
        return np.bincount(label, weights * values)[label]

    def unit(values: np.ndarray) -> np.ndarray:
        return values / np.sqrt(np.maximum(mean(values**2), 1e-30))

    first, second = np.random.default_rng(seed).standard_normal((2, n_nodes))
    for _ in range(rounds):
        first, second = (0.5 * (part + walk @ part) for part in (first, second))
        first = unit(first - mean(first))
        second = unit(second - mean(second) - mean(second * first) * first)
    return pack(np.column_stack([_spread(part, label, size) for part in (first, second)]), label)


def _spread(values: np.ndarray, label: np.ndarray, size: np.ndarray) -> np.ndarray:
    """Values between -1 and 1 in each component, mostly by rank."""
    order = np.lexsort((values, label))
    rank = np.empty(len(values))
    rank[order] = np.arange(len(values)) - np.repeat(np.cumsum(size) - size, size)
    largest = np.zeros(len(size))
    np.maximum.at(largest, label, np.abs(values))
    by_rank = 2 * rank / np.maximum(size[label] - 1, 1) - (size[label] > 1)
    return 0.8 * by_rank + 0.2 * values / np.maximum(largest, 1e-12)[label]
