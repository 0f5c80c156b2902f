"""Positions for graphs that come without any."""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.sparse as sp


def positions_of(instance: Any) -> np.ndarray:
    """The layout of the instance, or a quick one of our own."""
    if instance.layout is not None:
        return np.asarray(instance.layout, dtype=float)
    return quick_layout(instance.graph.n_nodes, instance.graph.edges)


def quick_layout(n_nodes: int, edges: np.ndarray, rounds: int = 150, seed: int = 0) -> np.ndarray:
    """Two slow directions of a random walk, spread by rank: neighbours stay close, in well under a second.

    Not as pretty as a spring layout, but linear in the edges; bundles carry a better one.
    """
    if n_nodes < 3:
        return np.column_stack([np.arange(n_nodes, dtype=float), np.zeros(n_nodes)])
    pairs = np.asarray(edges).reshape(-1, 2)
    ones = np.ones(len(pairs))
    adjacency = sp.csr_array((ones, (pairs[:, 0], pairs[:, 1])), shape=(n_nodes, n_nodes))
    adjacency = adjacency + adjacency.T + sp.eye_array(n_nodes)
    degrees = np.asarray(adjacency.sum(axis=1)).ravel()
    walk = sp.diags_array(1 / degrees) @ adjacency
    positions = np.random.default_rng(seed).standard_normal((n_nodes, 2))
    weights = degrees / degrees.sum()
    for _ in range(rounds):
        positions = 0.5 * (positions + walk @ positions)
        positions -= weights @ positions
        first = positions[:, 0] / np.sqrt(weights @ positions[:, 0] ** 2)
        second = positions[:, 1] - (weights @ (positions[:, 1] * first)) * first
        positions = np.column_stack([first, second / np.sqrt(weights @ second**2)])
    ranks = positions.argsort(axis=0, kind="stable").argsort(axis=0, kind="stable") / n_nodes
    spread = positions / np.abs(positions).max(axis=0)
    return 0.8 * (2 * ranks - 1) + 0.2 * spread
