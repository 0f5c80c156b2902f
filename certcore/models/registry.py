"""Names of the models. Does not import torch, so that the command line can list them quickly."""

from __future__ import annotations

import hashlib
import importlib
import importlib.util
import inspect
from typing import TYPE_CHECKING

from certcore.common.errors import InputError
from certcore.common.plugins import MODELS as GROUP
from certcore.common.plugins import load_plugin, plugins

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
            f"training and voting need {', '.join(missing)}, which is not installed; "
            "run `pip install -r requirements-train.txt`"
        )


def model_names() -> tuple[str, ...]:
    """Built-in models and those of installed packages."""
    return (*MODELS, *(name for name in plugins(GROUP) if name not in _MODELS))


def model_class(name: str) -> type[NodeClassifier]:
    """The class of a model by its name."""
    if name not in model_names():
        raise InputError(f"there is no model {name!r}; expected one of {', '.join(model_names())}")
    require_training_packages()
    if name not in _MODELS:
        return _from_package(name)
    module, attribute = _MODELS[name]
    return getattr(importlib.import_module(f"certcore.models.{module}"), attribute)


def model_identity(name: str) -> str:
    """The name and everything else besides weights that determines votes, so that stored votes are never mixed."""
    found = model_class(name)
    plain = name if found.revision == 1 else f"{name}-{found.revision}"
    if name in _MODELS:
        return plain
    # The code of other packages can change without a new revision, so its digest is included.
    modules = [module for cls in found.__mro__ if (module := inspect.getmodule(cls)) is not None]
    code = [inspect.getsource(m) for m in modules if not m.__name__.startswith(("torch", "builtins", "certcore."))]
    digest = hashlib.sha256("\n".join(code).encode()).hexdigest()
    return f"{plain}@{digest[:16]}"


def _from_package(name: str) -> type[NodeClassifier]:
    from certcore.models.base import NodeClassifier

    found = load_plugin(plugins(GROUP)[name])
    if not (isinstance(found, type) and issubclass(found, NodeClassifier)):
        raise InputError(
            f"the model {name!r} of another package is {found!r}; expected a class derived from "
            "certcore.models.base.NodeClassifier, which declares its receptive field"
        )
    return found
