"""The parts of a split: which nodes a model was trained on, chosen with, and is tested on."""

from __future__ import annotations

from typing import Any

import numpy as np

from certcore.common.errors import InputError
from certcore.common.reading import node_numbers

TRAIN, VALIDATION, TEST = 0, 1, 2
#: The names of the parts, as of torch-geometric's masks.
PARTS = {"train": TRAIN, "val": VALIDATION, "test": TEST}


def part_of_split(split: np.ndarray | None, name: str) -> np.ndarray:
    """The nodes of one part."""
    if split is None:
        raise InputError(
            f"this instance has no split, so there are no {name} nodes; use `all`, a mask or a file of indices"
        )
    return np.flatnonzero(np.asarray(split) == PARTS[name])


def chosen_nodes(targets: Any, n_nodes: int, split: np.ndarray | None) -> np.ndarray | None:
    """Targets by part, mask or indices; by default the test nodes if there are any. None: all nodes."""
    if targets is None:
        test = np.zeros(0, dtype=np.int64) if split is None else part_of_split(split, "test")
        return test if len(test) else None
    if not isinstance(targets, str):
        return node_numbers(targets, n_nodes, "targets")
    if targets == "all":
        return None
    if targets not in PARTS:
        raise InputError(f"targets are {targets!r}; expected 'all', {', '.join(map(repr, PARTS))}, a mask or indices")
    return part_of_split(split, targets)
