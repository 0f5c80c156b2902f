"""What training returns."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from certcore.errors import InputError

if TYPE_CHECKING:
    from certcore.models.base import NodeClassifier


def check_numbers(split: int, seed: int | None, epochs: int | None) -> None:
    """Numbers that people type: refused with a sentence before anything begins."""
    if split < 0:
        raise InputError(f"the split is {split}; expected 0, 1, 2, …")
    if seed is not None and not 0 <= seed < 2**62:
        raise InputError(f"the seed is {seed}; expected a whole number from 0 to 2^62")
    if epochs is not None and epochs < 1:
        raise InputError(f"the number of epochs is {epochs}; expected at least 1")


@dataclass(frozen=True, eq=False)
class Trained:
    """A trained model, the split it was trained on, and what is known about it."""

    model: NodeClassifier
    split: np.ndarray
    facts: dict[str, Any]
