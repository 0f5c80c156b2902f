"""A drawing of the graph, computed once: distances on the screen follow distances in the graph.

Stochastic gradient descent on the stress Σ w (|x_i − x_j| − d_ij)², d the hop distance and w = 1/d² (Zheng, Pawar and
Goodman, "Graph drawing by stochastic gradient descent", 2019). Large graphs use the distances to random pivots only.
"""

from __future__ import annotations

import numpy as np
import scipy.sparse as sp
from scipy.sparse.csgraph import dijkstra

from certcore.graph import Graph

#: Up to this many nodes all pairs are drawn to each other.
_ALL_PAIRS = 4000


def layout_graph(graph: Graph, seed: int = 0, rounds: int = 30, pivots: int = 300) -> np.ndarray:
    """Positions (n_nodes, 2) within the unit square, centred."""
    from numba import njit  # compiled on first use; the dashboard reads finished layouts and needs no Numba

    rng = np.random.default_rng(seed)
    n_nodes = graph.n_nodes
    symmetric = sp.csr_array((graph.adjacency + graph.adjacency.T) > 0, dtype=np.float64)
    chosen = np.arange(n_nodes) if n_nodes <= _ALL_PAIRS else rng.permutation(n_nodes)[:pivots]
    hops = dijkstra(symmetric, indices=chosen, unweighted=True)
    finite = hops[np.isfinite(hops)]
    # Separate components keep apart, a little more than the widest of them.
    hops[~np.isfinite(hops)] = (finite.max() if finite.size else 0) + 2
    near = graph.edges
    positions = rng.normal(size=(n_nodes, 2))
    _relax = njit(_stress_rounds)
    largest = float(hops.max())
    _relax(positions, chosen, hops.astype(np.float32), near, largest, rounds, seed)
    positions -= positions.mean(axis=0)
    # The longer side lies across the screen.
    _, _, axes = np.linalg.svd(positions, full_matrices=False)
    positions = positions @ axes.T
    low, high = positions.min(axis=0), positions.max(axis=0)
    return ((positions - (low + high) / 2) / max((high - low).max(), 1e-9) + 0.5).astype(np.float32)


def _stress_rounds(
    positions: np.ndarray,
    chosen: np.ndarray,
    hops: np.ndarray,
    near: np.ndarray,
    largest: float,
    rounds: int,
    seed: int,
) -> None:
    """Move pairs towards their distance, in random order, with steps that shrink from d²_max to a tenth."""
    np.random.seed(seed)  # noqa: NPY002 - the generator that Numba compiles
    n_nodes = len(positions)
    first, last = largest * largest, 0.1
    for r in range(rounds):
        step = first * (last / first) ** (r / max(rounds - 1, 1))
        order = np.random.permutation(n_nodes)  # noqa: NPY002
        for turn in range(n_nodes):
            i = order[turn]
            shift = np.random.randint(0, len(chosen))  # noqa: NPY002
            for p in range(len(chosen)):
                q = (p + shift) % len(chosen)
                j = chosen[q]
                d = hops[q, i]
                if d <= 0:
                    continue
                mu = min(step / (d * d), 1.0)
                x, y = positions[i, 0] - positions[j, 0], positions[i, 1] - positions[j, 1]
                length = np.sqrt(x * x + y * y) + 1e-9
                move = mu * (length - d) / (2 * length)
                positions[i, 0] -= move * x
                positions[i, 1] -= move * y
                positions[j, 0] += move * x
                positions[j, 1] += move * y
        for e in range(len(near)):
            i, j = near[e, 0], near[e, 1]
            x, y = positions[i, 0] - positions[j, 0], positions[i, 1] - positions[j, 1]
            length = np.sqrt(x * x + y * y) + 1e-9
            move = min(step, 1.0) * (length - 1.0) / (2 * length)
            positions[i, 0] -= move * x
            positions[i, 1] -= move * y
            positions[j, 0] += move * x
            positions[j, 1] += move * y
