"""Splits: 20 nodes per class for training, 20 per class for validation, and all others for testing.

If a class has fewer than 40 nodes (WebKB has one with 39), the nodes left after training are for validation.
"""

from __future__ import annotations

import numpy as np

from certcore.common.errors import InputError
from certcore.domain.split import TEST, TRAIN, VALIDATION

#: Nodes of each class in the training set, and in the validation set.
PER_CLASS = 20


def make_split(labels: np.ndarray, split: int, per_class: int = PER_CLASS) -> np.ndarray:
    """Split number `split` (also its seed): for each node 0 (train), 1 (validation) or 2 (test)."""
    rng = np.random.default_rng([split, 0x5EED])
    parts = np.full(len(labels), TEST, dtype=np.int8)
    for label in range(int(labels.max()) + 1):
        members = np.flatnonzero(labels == label)
        if len(members) <= per_class:
            raise InputError(
                f"class {label} has {len(members)} nodes; expected more than {per_class} "
                f"({per_class} to train on, at least one to validate with)"
            )
        chosen = rng.permutation(members)
        parts[chosen[:per_class]] = TRAIN
        parts[chosen[per_class : 2 * per_class]] = VALIDATION
    return parts
