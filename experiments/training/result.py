"""The result of training."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from certcore.common.reading import whole_number

if TYPE_CHECKING:
    from certcore.models.base import NodeClassifier


def check_numbers(split: int, seed: int | None, epochs: int | None) -> None:
    """Validate split, seed and epochs before training starts."""
    whole_number(split, "the split", 0, 2**62)
    if seed is not None:
        whole_number(seed, "the seed", 0, 2**62 - 1)
    if epochs is not None:
        whole_number(epochs, "the number of epochs", 1, 10**9)


@dataclass(frozen=True, eq=False)
class Trained:
    """A trained model, its split, and facts about its training."""

    model: NodeClassifier
    split: np.ndarray
    facts: dict[str, Any]
