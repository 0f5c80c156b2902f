"""The toy instances behind the net. They are frozen as files: a change of the generators cannot move a number."""

from __future__ import annotations

import dataclasses
from typing import Any

import numpy as np
import scipy.sparse as sp

from certcore import GridBase, Instance, save_instance
from certcore.base.grid import BaseLocal
from certcore.domain.perturbations import FLIPS
from tests.net.ask import INSTANCES
from tests.support import random_graph, random_grid
from tests.sweep.cases import middling, smoothed_like

SEED = 20250


def write_toys() -> list[str]:
    """Write those that are not there yet; returns all names."""
    INSTANCES.mkdir(parents=True, exist_ok=True)
    names = []
    for name, make in TOYS.items():
        names.append(name)
        if not (INSTANCES / f"{name}.npz").exists():
            save_instance(INSTANCES / f"{name}.npz", make())
    return names


def _named(instance: Instance, seed: int) -> Instance:
    """With predictions of three classes, true labels, a split and a layout."""
    rng = np.random.default_rng(seed)
    n = instance.graph.n_nodes
    base = instance.base
    if isinstance(base, GridBase) and base.prediction is None:
        base = dataclasses.replace(base, prediction=rng.integers(0, 3, n))
    return dataclasses.replace(
        instance,
        base=base,
        labels=rng.integers(0, 3, n),
        class_names=("red", "green", "blue"),
        split=np.arange(n) % 3,
        layout=rng.random((n, 2)),
        meta={"dataset": "net", "model": "toy", "seed": seed},
    )


def _middling(axes: tuple[str, ...], seed: int, **changes: Any) -> Instance:
    """A sparse graph with a random monotone grid, as the tests of sweeps use."""
    rng = np.random.default_rng(SEED + seed)
    made = middling(rng, axes, nodes=(30, 45))
    while made.graph.directed:  # direction has an instance of its own
        made = middling(rng, axes, nodes=(30, 45))
    return _named(dataclasses.replace(made, **changes), seed)


def _directed() -> Instance:
    rng = np.random.default_rng(SEED + 50)
    graph = random_graph(rng, 32, 6, 0.08, directed=True)
    base = GridBase(random_grid(rng, 32, (4, 4)), ("attr_del", "adj_del"))
    return _named(Instance(graph, base, layers=2, edge_field="messages"), 50)


def _explicit() -> Instance:
    rng = np.random.default_rng(SEED + 60)
    n = 36
    graph = random_graph(rng, n, 8, 0.08)
    reach = rng.random((n, n)) < 0.15
    np.fill_diagonal(reach, True)
    base = GridBase(random_grid(rng, n, (4, 5)), ("attr_add", "attr_del"))
    return _named(Instance(graph, base, layers=None, node_field=sp.csr_array(reach.astype(np.int8))), 60)


def _all_types() -> Instance:
    rng = np.random.default_rng(SEED + 70)
    graph = random_graph(rng, 24, 5, 0.12)
    base = GridBase(random_grid(rng, 24, (3, 3, 3, 3)), FLIPS)
    return _named(Instance(graph, base, layers=1), 70)


def _limited(local: BaseLocal, axes: tuple[str, ...], seed: int) -> Instance:
    """As the convex relaxation gives it: certified while few bits are flipped, at most so many at one node."""
    rng = np.random.default_rng(SEED + seed)
    n = 40
    graph = random_graph(rng, n, 10, 0.07)
    radius = rng.integers(1, 8, n)
    sides = np.indices((8,) * len(axes)).sum(axis=0)
    grid = sides[None] < radius.reshape(-1, *([1] * len(axes)))
    return _named(Instance(graph, GridBase(grid, axes, local), layers=2), seed)


def _votes(theta: tuple[str, ...], seed: int, layers: int = 2) -> Instance:
    """Votes as a smoothed classifier leaves them, some nodes undecided."""
    from certcore.base import SmoothingBase

    rng = np.random.default_rng(SEED + seed)
    n, samples = 40, 20_000
    graph = random_graph(rng, n, 40, 0.06)
    share = rng.beta(6, 0.6, n)
    label = rng.integers(0, 3, n)
    votes = np.zeros((n, 3), dtype=np.int64)
    wins = np.floor(share * samples).astype(np.int64)
    rest = samples - wins
    votes[np.arange(n), label] = wins
    votes[np.arange(n), (label + 1) % 3] = rest - rest // 3
    votes[np.arange(n), (label + 2) % 3] = rest // 3
    base = SmoothingBase(
        votes=votes, prediction=label, n_samples=samples, alpha="0.01", theta=theta, graph=graph
    )  # fmt: skip
    return _named(Instance(graph, base, layers=layers), seed)


TOYS = {
    "dels": lambda: _middling(("attr_del",), 1),
    "adds-dels": lambda: _middling(("attr_add", "attr_del"), 2),
    "edges": lambda: _middling(("adj_del",), 3, edge_field="degrees"),
    "edges-messages": lambda: _middling(("adj_del",), 4, edge_field="messages"),
    "dels-edges": lambda: _middling(("attr_del", "adj_del"), 5),
    "three-types": lambda: _middling(("attr_add", "attr_del", "adj_del"), 6),
    "directed": _directed,
    "explicit": _explicit,
    "all-types": _all_types,
    "limited-joint": lambda: _limited(BaseLocal(joint=3), ("attr_add", "attr_del"), 80),
    "limited-adds": lambda: _limited(BaseLocal(per_type=(2, None, None, None)), ("attr_add",), 81),
    "votes-attr": lambda: _votes(("0.01", "0.6", "0", "0"), 90),
    "votes-joint": lambda: _votes(("0.01", "0.6", "0", "0.4"), 91, layers=1),
    "votes-global": lambda: _votes(("0", "0", "0.001", "0.4"), 92),
    "shared-fronts": lambda: _named(smoothed_like(SEED, n=110), 100),
}
