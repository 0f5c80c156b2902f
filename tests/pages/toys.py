"""Toy instances for the pages: a ring of forty nodes with a few chords."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from certcore.base.ballots import UNIT, BallotsBase
from certcore.base.grid import BaseLocal, GridBase
from certcore.base.smoothing import SmoothingBase
from certcore.domain.graph import Graph
from certcore.domain.perturbations import FLIPS
from certcore.instance.instance import Instance, save_instance

N = 40


def small_graph(seed: int = 0) -> Graph:
    """A ring with chords; every node has two or three of ten attributes."""
    rng = np.random.default_rng(seed)
    ring = np.stack([np.arange(N), (np.arange(N) + 1) % N], axis=1)
    chords = rng.integers(0, N, (12, 2))
    chords = chords[chords[:, 0] != chords[:, 1]]
    attributes = np.zeros((N, 10), dtype=np.int8)
    for node in range(N):
        attributes[node, rng.choice(10, 3, replace=False)] = 1
    return Graph.from_edges(N, np.concatenate([ring, chords]), attributes)


def facts(seed: int = 0) -> dict[str, object]:
    rng = np.random.default_rng(seed)
    return {
        "labels": rng.integers(0, 3, N),
        "class_names": ("red", "green", "blue"),
        "node_names": tuple(f"paper {i}" for i in range(N)),
        "layout": rng.random((N, 2)),
        "split": np.where(np.arange(N) < 10, 0, 2),
    }


def grid_instance(axes: tuple[str, ...] = ("attr_add", "attr_del"), seed: int = 0, **changes: object) -> Instance:
    """Certified while additions weigh three and deletions one, up to a strength per node."""
    rng = np.random.default_rng(seed)
    strength = rng.integers(0, 9, N)
    weights = {"attr_add": 3, "attr_del": 1, "adj_add": 4, "adj_del": 2}
    steps = [np.arange(8 if len(axes) < 3 else 5) * weights[name] for name in axes]
    cost = sum(np.meshgrid(*steps, indexing="ij")) if len(steps) > 1 else steps[0]
    grid = np.asarray(cost)[None] < strength.reshape(-1, *[1] * len(axes))
    prediction = rng.integers(0, 3, N)
    edges = any(name.startswith("adj") for name in axes)
    base = GridBase(grid, axes, None, prediction, fixed_adjacency=not edges)
    meta = {"dataset": "ring", "model": "toy", "group": f"ring-{'-'.join(axes)}", "split": seed}
    return Instance(small_graph(), base, layers=1, **(facts() | {"meta": meta} | changes))  # type: ignore[arg-type]


def limited_instance() -> Instance:
    """A deterministic base certificate that was made for at most two additions at one node."""
    strength = np.random.default_rng(7).integers(1, 8, N)
    grid = np.arange(12)[None] < strength[:, None]
    local = BaseLocal(per_type=(2, None, None, None))
    base = GridBase(grid, ("attr_add",), local, np.arange(N) % 3, fixed_adjacency=True)
    meta = {"dataset": "ring", "model": "gcn", "types": "convex"}
    return Instance(small_graph(), base, layers=1, meta=meta, **facts())  # type: ignore[arg-type]


def votes_instance(theta: tuple[str, str, str, str] = ("0.01", "0.6", "0", "0")) -> Instance:
    rng = np.random.default_rng(3)
    graph = small_graph()
    label = rng.integers(0, 3, N)
    wins = rng.integers(5000, 10_001, N)
    votes = np.zeros((N, 3), dtype=np.int64)
    votes[np.arange(N), label] = wins
    votes[np.arange(N), (label + 1) % 3] = 10_000 - wins
    base = SmoothingBase(votes=votes, prediction=label, n_samples=10_000, alpha=0.01, theta=theta, graph=graph)
    return Instance(graph, base, layers=1, meta={"dataset": "ring", "model": "voter"}, **facts())  # type: ignore[arg-type]


def hard_instance() -> Instance:
    """Large enough for an integer program that is not solved at once."""
    rng = np.random.default_rng(5)
    n = 900
    edges = rng.integers(0, n, (3 * n, 2))
    graph = Graph.from_edges(n, edges[edges[:, 0] != edges[:, 1]], (rng.random((n, 30)) < 0.2).astype(np.int8))
    strength = rng.integers(1, 30, n)
    added, deleted = np.arange(12)[None, :, None], np.arange(24)[None, None, :]
    grid = 3 * added + deleted + added * deleted % 3 < strength[:, None, None]
    grid = np.logical_and.accumulate(np.logical_and.accumulate(grid, axis=1), axis=2)
    return Instance(graph, GridBase(grid, ("attr_add", "attr_del")), layers=2, layout=rng.random((n, 2)))


def ballots_instance() -> Instance:
    """Ballots by weights that have read no edge, with a control beside."""
    rng = np.random.default_rng(2)
    shown = np.rint(rng.dirichlet(np.full(3, 0.3), N) * UNIT).astype(np.int64)
    base = BallotsBase(shown, weights_read_edges=False).for_graph(small_graph())
    meta = {"dataset": "ring", "model": "toy", "types": "ballots", "group": "ring-ballots", "split": 0}
    own = facts() | {"labels": np.where(rng.random(N) < 0.8, base.prediction, 0)}
    own |= {"meta": meta | {"controls": {"MLP without edges": 0.4}}, "targets": np.arange(10, N)}
    return Instance(small_graph(), base, layers=1, edge_field="messages", **own)  # type: ignore[arg-type]


def write_bundles(folder: Path) -> None:
    save_instance(folder / "ring-ballots-s0.npz", ballots_instance())
    save_instance(folder / "ring-gcn-attr-s0.npz", grid_instance(seed=0))
    save_instance(folder / "ring-gcn-attr-s1.npz", grid_instance(seed=1))
    save_instance(folder / "ring-edges-s0.npz", grid_instance(("adj_del",)))
    save_instance(folder / "ring-votes-s0.npz", votes_instance())
    save_instance(folder / "ring-all-s0.npz", grid_instance(FLIPS))
    save_instance(folder / "ring-gcn-convex-s0.npz", limited_instance())
