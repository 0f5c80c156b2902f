"""Names of the models. Does not import torch, so that the command line can list them quickly."""

from __future__ import annotations

import importlib
import importlib.util
from typing import TYPE_CHECKING

from certcore.common.errors import InputError

if TYPE_CHECKING:
    from certcore.models.base import NodeClassifier

#: Name → (module, class).
_MODELS = {
    "gcn": ("gcn", "GCN"),
    "gcn_mean": ("gcn", "GCNMean"),
    "gat": ("gat", "GAT"),
    "appnp": ("appnp", "APPNP"),
    "rgcn": ("rgcn", "RGCN"),
    "sma": ("sma", "SMA"),
}
MODELS = tuple(_MODELS)
#: Models for ballots, which sum over neighbours and use no noise.
BALLOT_MODELS = ("decoupled",)


def require_training_packages() -> None:
    """Raise an error if packages for training are missing, before long computations."""
    needed = ("torch", "torch_geometric", "numba", "safetensors")
    missing = [name for name in needed if importlib.util.find_spec(name) is None]
    if missing:
        raise InputError(
            f"training and voting need {', '.join(missing)}, which is not installed; run "
            "`pip install 'certcore[train]'` (in a clone `pip install -r requirements-train.txt`)"
        )


def model_class(name: str) -> type[NodeClassifier]:
    """The class of a model by its name."""
    if name not in _MODELS:
        raise InputError(f"there is no model {name!r}; expected one of {', '.join(MODELS)}")
    require_training_packages()
    module, attribute = _MODELS[name]
    return getattr(importlib.import_module(f"certcore.models.{module}"), attribute)


def model_identity(name: str) -> str:
    """The name and revision of a model, so that stored votes are never mixed."""
    found = model_class(name)
    return name if found.revision == 1 else f"{name}-{found.revision}"
