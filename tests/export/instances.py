"""A small instance that has everything a report speaks about."""

from __future__ import annotations

import numpy as np

from certcore import GridBase, Instance
from tests.figures.samples import HOSTILE
from tests.support import random_graph, random_grid


def small_instance(axes: tuple[str, ...] = ("attr_add", "attr_del"), seed: int = 5, n: int = 40) -> Instance:
    rng = np.random.default_rng(seed)
    grid = random_grid(rng, n, tuple(4 + k for k in range(len(axes))))
    prediction = rng.integers(0, 3, n)
    return Instance(
        random_graph(rng, n, 12, 0.06),
        GridBase(grid, axes, prediction=prediction),
        layers=2,
        targets=np.arange(3, n),
        labels=prediction,
        class_names=("A <b>", HOSTILE, "C, D"),
        node_names=tuple(f"{HOSTILE} {k}" for k in range(n)),
        split=np.full(n, 2),
        meta={"dataset": "toy", "model": "gcn </script>", "seed": 7, "split": seed, "group": "toy-group"},
    )
