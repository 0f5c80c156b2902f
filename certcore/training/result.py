"""What training returns."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from certcore.models.base import NodeClassifier


@dataclass(frozen=True, eq=False)
class Trained:
    """A trained model, the split it was trained on, and what is known about it."""

    model: NodeClassifier
    split: np.ndarray
    facts: dict[str, Any]
