"""Models on disk, whatever their kind."""

from __future__ import annotations

import os
from typing import Any

from certcore.models import storage
from certcore.models.base import NodeClassifier
from certcore.models.storage import save_model
from experiments.networks.registry import model_class

__all__ = ["load_model", "save_model"]


def load_model(path: str | os.PathLike[str]) -> tuple[NodeClassifier, dict[str, Any]]:
    """Read a model and its facts; the model is in evaluation mode."""
    return storage.load_model(path, model_class)
