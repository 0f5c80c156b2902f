"""The packages that voting needs, which are an extra."""

from __future__ import annotations

import importlib.util

from certcore.common.errors import InputError


def require_training_packages() -> None:
    """Raise an error if packages for training are missing, before long computations."""
    needed = ("torch", "torch_geometric", "numba", "safetensors")
    missing = [name for name in needed if importlib.util.find_spec(name) is None]
    if missing:
        raise InputError(
            f"training and voting need {', '.join(missing)}, which is not installed; run "
            "`pip install 'certcore[train]'` (in a clone `pip install -r requirements-train.txt`)"
        )
