"""Instances of middling size for sweeps: too large for brute force, small enough for hundreds of cold solves."""

from __future__ import annotations

import numpy as np

from certcore import GridBase, Instance
from tests.support import random_graph, random_grid

AXES = (
    ("attr_del",),
    ("attr_add", "attr_del"),
    ("adj_del",),
    ("attr_del", "adj_del"),
    ("attr_add", "attr_del", "adj_del"),
)


def middling(
    rng: np.random.Generator, axes: tuple[str, ...] | None = None, nodes: tuple[int, int] = (15, 50)
) -> Instance:
    """A sparse random graph with a random monotone base certificate."""
    n = int(rng.integers(*nodes))
    graph = random_graph(rng, n, int(rng.integers(3, 9)), float(rng.uniform(2, 5)) / n, bool(rng.random() < 0.3))
    chosen = AXES[int(rng.integers(len(AXES)))] if axes is None else axes
    grid = random_grid(rng, n, tuple(int(rng.integers(3, 8)) for _ in chosen))
    rule = str(rng.choice(["degrees", "messages"]))
    return Instance(graph, GridBase(grid, chosen), layers=int(rng.integers(1, 3)), edge_field=rule)


def smoothed_like(seed: int = 0, n: int = 300, sides: tuple[int, int] = (6, 12)) -> Instance:
    """Two-dimensional fronts that many nodes share, as smoothing gives them."""
    rng = np.random.default_rng(seed)
    graph = random_graph(rng, n, 60, 4.0 / n)
    strength = rng.beta(2, 1.5, size=n)[:, None, None]
    a = np.arange(sides[0])[None, :, None] / sides[0]
    d = np.arange(sides[1])[None, None, :] / sides[1]
    return Instance(graph, GridBase(np.sqrt(a) * 0.7 + d < strength * 1.3, ("attr_add", "attr_del")), layers=2)
