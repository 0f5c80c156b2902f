"""Models on disk: tensors as safetensors, everything else as JSON in the same file; no pickles."""

from __future__ import annotations

import json
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import torch
from safetensors import SafetensorError, safe_open
from safetensors.torch import save

from certcore.common.errors import InputError
from certcore.common.files import atomic_write
from certcore.common.reading import read_json
from certcore.models.base import NodeClassifier
from certcore.models.gcn import gcn_class

FORMAT = "certcore-model-1"


def save_model(path: str | os.PathLike[str], model: NodeClassifier, facts: dict[str, Any]) -> None:
    """Write a model with its provenance and metrics (`facts`)."""
    header = {"format": FORMAT, "model": model.name, "options": model.options, "facts": facts}
    tensors = {key: value.detach().contiguous() for key, value in model.state_dict().items()}
    with atomic_write(path) as handle:
        handle.write(save(tensors, metadata={"certcore": json.dumps(header, sort_keys=True)}))


def load_model(
    path: str | os.PathLike[str], class_of: Callable[[str], type[NodeClassifier]] = gcn_class
) -> tuple[NodeClassifier, dict[str, Any]]:
    """Read a model and its facts; the model is in evaluation mode. `class_of` gives the class of a name."""
    path = Path(path)
    try:
        with safe_open(path, framework="pt") as file:
            header = read_json((file.metadata() or {}).get("certcore", "{}"), f"the description in {path}")
            tensors = {key: file.get_tensor(key) for key in file.keys()}  # noqa: SIM118 - not a mapping
    except FileNotFoundError as error:
        raise InputError(f"there is no model {path}; give the file of the model that was certified") from error
    except (SafetensorError, OSError, ValueError) as error:
        raise InputError(f"{path} is no readable safetensors file ({error}); train the model again") from error
    if not isinstance(header, dict) or header.get("format") != FORMAT:
        raise InputError(f"{path} carries no {FORMAT} description; expected a model of the repository's experiments")
    kind = class_of(str(header.get("model")))
    try:
        model, facts = kind(**header["options"]), dict(header["facts"])
        model.load_state_dict(tensors)
    except (KeyError, TypeError, ValueError, RuntimeError) as error:
        first = str(error).strip().splitlines()[0]
        raise InputError(f"the tensors in {path} do not fit its model ({first}); train the model again") from error
    require_finite(model, str(path))
    return model.eval(), facts


def require_finite(model: torch.nn.Module, where: str) -> None:
    """Refuse NaN or infinite weights: comparisons with NaN are false, so votes would be meaningless."""
    for key, value in model.state_dict().items():
        if not torch.isfinite(value).all():
            raise InputError(f"{key} of {where} contains NaN or infinite weights; train the model again")
