"""Graph layout, computed once: first the large distances, then separated clusters.

The first step is stochastic gradient descent on the stress Σ w (|x_i − x_j| − d_ij)², with hop distances d and w = 1/d²
(Zheng, Pawar and Goodman, "Graph drawing by stochastic gradient descent", 2019). Large graphs use only the distances to
random pivots. The second step is the force-directed layout of `forces`. Components have no distance to each other, so
each is laid out separately and `pack` places them side by side.
"""

from __future__ import annotations

import functools
from collections.abc import Callable

import numpy as np
import scipy.sparse as sp
from scipy.sparse.csgraph import connected_components, dijkstra

from certcore.domain.forces import spread_by_forces
from certcore.domain.graph import Graph

#: Up to this many nodes the stress covers all pairs.
_ALL_PAIRS = 4000
#: Margin around a component, in units of the space per node.
_MARGIN = 1.0


def layout_graph(graph: Graph, seed: int = 0, rounds: int = 30, pivots: int = 300) -> np.ndarray:
    """Positions (n_nodes, 2), centred in the unit square."""
    symmetric = sp.csr_array((graph.adjacency + graph.adjacency.T) > 0, dtype=np.float64)
    label = components(graph.n_nodes, graph.edges)
    positions = np.zeros((graph.n_nodes, 2))
    for nodes in np.split(np.argsort(label, kind="stable"), np.cumsum(np.bincount(label))[:-1]):
        if len(nodes) > 1:
            positions[nodes] = _one_component(sp.csr_array(symmetric[nodes][:, nodes]), seed, rounds, pivots)
    positions = pack(positions, label)
    low, high = positions.min(axis=0), positions.max(axis=0)
    return ((positions - (low + high) / 2) / max((high - low).max(), 1e-9) + 0.5).astype(np.float32)


def components(n_nodes: int, edges: np.ndarray) -> np.ndarray:
    """The component of each node, numbered from the largest (0) to the smallest."""
    pairs = np.asarray(edges).reshape(-1, 2)
    joined = sp.csr_array((np.ones(len(pairs)), (pairs[:, 0], pairs[:, 1])), shape=(n_nodes, n_nodes))
    number, label = connected_components(joined, directed=False)
    order = np.argsort(-np.bincount(label, minlength=number), kind="stable")
    rank = np.empty(number, dtype=np.int64)
    rank[order] = np.arange(number)
    return rank[label]


def pack(positions: np.ndarray, label: np.ndarray) -> np.ndarray:
    """Place components without overlap: the largest in the middle, the others in rows around it.

    Each keeps its shape, and all have the same space per node. `label` numbers components from the largest on.
    """
    number = int(label.max(initial=-1)) + 1
    if number < 2:
        return positions
    low, high = np.full((number, 2), np.inf), np.full((number, 2), -np.inf)
    np.minimum.at(low, label, positions)
    np.maximum.at(high, label, positions)
    scale = np.sqrt(np.bincount(label)) / np.maximum((high - low).max(axis=1), 1e-9)
    centres = _centres((high - low) * scale[:, None] + _MARGIN)
    return (positions - ((low + high) / 2)[label]) * scale[label, None] + centres[label]


def _centres(sizes: np.ndarray) -> np.ndarray:
    """The centre of each box. The whole is about twice as wide as tall, like a screen."""
    area = sizes.prod(axis=1)
    width = max(float(np.sqrt(2.2 * area.sum())), float(sizes[:, 0].max()))
    centres = np.zeros_like(sizes)
    if area[0] > max(0.3 * area.sum(), 2 * area[1]):  # a dominating component is placed alone, with rows at its sides
        (wide, tall), k = sizes[0], 1
        free = {-(width + wide) / 4: tall, (width + wide) / 4: tall}
        while (row := _row(sizes, k, (width - wide) / 2)) and (height := sizes[row, 1].max()) <= max(free.values()):
            x = max(free, key=free.__getitem__)
            centres[row], k = _line_up(sizes[row], x, free[x] - (tall + height) / 2), row[-1] + 1
            free[x] -= height
    else:
        row = _row(sizes, 0, width)
        row = row[1::2][::-1] + row[::2]
        centres[row], tall, k = _line_up(sizes[row], 0.0, 0.0), sizes[row, 1].max(), len(row)
    above = below = tall / 2
    while row := _row(sizes, k, width):
        height = sizes[row, 1].max()
        if below <= above:
            y, below = -below - height / 2, below + height
        else:
            y, above = above + height / 2, above + height
        centres[row], k = _line_up(sizes[row], 0.0, y), row[-1] + 1
    return centres


def _row(sizes: np.ndarray, first: int, width: float) -> list[int]:
    """The next boxes that fit into one row."""
    ends = np.cumsum(sizes[first : first + 1000, 0])
    return list(range(first, first + int(np.searchsorted(ends, width, side="right"))))


def _line_up(sizes: np.ndarray, x: float, y: float) -> np.ndarray:
    """The centres of boxes in one row around a point."""
    ends = np.cumsum(sizes[:, 0])
    return np.column_stack([x - ends[-1] / 2 + ends - sizes[:, 0] / 2, np.full(len(sizes), y)])


def _one_component(adjacency: sp.csr_array, seed: int, rounds: int, pivots: int) -> np.ndarray:
    """Positions of one connected component, with its longer side horizontal."""
    rng = np.random.default_rng(seed)
    n_nodes = adjacency.shape[0]
    chosen = np.arange(n_nodes) if n_nodes <= _ALL_PAIRS else rng.permutation(n_nodes)[:pivots]
    hops = dijkstra(adjacency, indices=chosen, unweighted=True)
    near = np.column_stack(sp.triu(adjacency, 1).nonzero()).astype(np.int64)
    positions = rng.normal(size=(n_nodes, 2))
    _compiled()(positions, chosen, hops.astype(np.float32), near, float(hops.max()), rounds, seed)
    positions = spread_by_forces(positions, near)
    positions -= positions.mean(axis=0)
    _, _, axes = np.linalg.svd(positions, full_matrices=False)
    return positions @ axes.T


@functools.cache
def _compiled() -> Callable[..., None]:
    from numba import njit  # compiled on first use; the dashboard reads stored layouts and needs no Numba

    compiled: Callable[..., None] = njit(_stress_rounds)
    return compiled


def _stress_rounds(
    positions: np.ndarray,
    chosen: np.ndarray,
    hops: np.ndarray,
    near: np.ndarray,
    largest: float,
    rounds: int,
    seed: int,
) -> None:
    """Move pairs towards their distance in random order; step sizes decrease from d²_max to a tenth."""
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


def quick_layout(n_nodes: int, edges: np.ndarray, rounds: int = 150, seed: int = 0) -> np.ndarray:
    """A spectral layout, spread by rank: two slowly mixing directions of a random walk, in well under a second.

    It is worse than a spring layout, but linear in the number of edges. Bundles store a better one. A random walk never
    leaves its component, so each component is centred, scaled and ranked separately. Then they are packed.
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
    """Values scaled to [−1, 1] in each component, mostly by rank."""
    order = np.lexsort((values, label))
    rank = np.empty(len(values))
    rank[order] = np.arange(len(values)) - np.repeat(np.cumsum(size) - size, size)
    largest = np.zeros(len(size))
    np.maximum.at(largest, label, np.abs(values))
    by_rank = 2 * rank / np.maximum(size[label] - 1, 1) - (size[label] > 1)
    return 0.8 * by_rank + 0.2 * values / np.maximum(largest, 1e-12)[label]
