"""Names of the models. Free of torch, so that the command line can list them quickly."""

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
#: Models of division voting; they vote on groups of edges and are no use with noise.
DIVISION_MODELS = ("decoupled", "sage")


def require_training_packages() -> None:
    """Say in one sentence what is missing, before anything long begins."""
    needed = ("torch", "torch_geometric", "numba", "safetensors")
    missing = [name for name in needed if importlib.util.find_spec(name) is None]
    if missing:
        raise InputError(
            f"training and voting need {', '.join(missing)}, which is not installed; "
            "run `pip install -r requirements-train.txt`"
        )


def model_class(name: str) -> type[NodeClassifier]:
    """The class of a model by its name."""
    if name not in _MODELS:
        raise InputError(f"there is no model {name!r}; expected one of {', '.join(MODELS)}")
    require_training_packages()
    module, attribute = _MODELS[name]
    return getattr(importlib.import_module(f"certcore.models.{module}"), attribute)
