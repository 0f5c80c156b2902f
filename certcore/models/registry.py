"""Names of the models. Free of torch, so that the command line can list them quickly."""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING

from certcore.errors import InputError

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


def model_class(name: str) -> type[NodeClassifier]:
    """The class of a model by its name."""
    if name not in _MODELS:
        raise InputError(f"there is no model {name!r}; expected one of {', '.join(MODELS)}")
    module, attribute = _MODELS[name]
    try:
        return getattr(importlib.import_module(f"certcore.models.{module}"), attribute)
    except ModuleNotFoundError as error:
        if (error.name or "").startswith("certcore"):
            raise
        raise InputError(
            f"models need {error.name}, which is not installed; run `pip install -r requirements-train.txt`"
        ) from error
