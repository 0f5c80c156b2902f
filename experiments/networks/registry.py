"""Names of the models. Does not import torch, so that the command line can list them quickly."""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING

from certcore.common.errors import InputError
from certcore.common.packages import require_training_packages

if TYPE_CHECKING:
    from certcore.models.base import NodeClassifier

#: Name → (module, class).
_MODELS = {
    "gcn": ("certcore.models.gcn", "GCN"),
    "gcn_mean": ("certcore.models.gcn", "GCNMean"),
    "gat": ("experiments.networks.gat", "GAT"),
    "appnp": ("experiments.networks.appnp", "APPNP"),
    "rgcn": ("experiments.networks.rgcn", "RGCN"),
    "sma": ("experiments.networks.sma", "SMA"),
}
MODELS = tuple(_MODELS)
#: Models for ballots, which sum over neighbours and use no noise.
BALLOT_MODELS = ("decoupled",)


def model_class(name: str) -> type[NodeClassifier]:
    """The class of a model by its name."""
    if name not in _MODELS:
        raise InputError(f"there is no model {name!r}; expected one of {', '.join(MODELS)}")
    require_training_packages()
    module, attribute = _MODELS[name]
    return getattr(importlib.import_module(module), attribute)


def model_identity(name: str) -> str:
    """The name and revision of a model, so that stored votes are never mixed."""
    found = model_class(name)
    return name if found.revision == 1 else f"{name}-{found.revision}"
