"""Identification of the model behind stored votes by its weights, its classes, and what it says about 64 samples.

Votes are continued, and counted by other processes, only if all of these are equal to the bit. Functions have no
weights and no class of their own, so they also need a `key` of the user's.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from typing import TYPE_CHECKING

import numpy as np

from certcore.common.errors import InputError

if TYPE_CHECKING:
    from certcore.models.called import Called

#: Number of samples whose scores belong to the identity.
SAMPLES = 64


def digest_of(parts: Iterator[bytes]) -> str:
    """SHA-256 of several parts, each with its length."""
    digest = hashlib.sha256(b"certcore-model-1")
    for part in parts:
        digest.update(b"%d:" % len(part) + part)
    return digest.hexdigest()


def require_key(key: str | None) -> str:
    """The user's name of a function; refused if there is none."""
    if isinstance(key, str) and key:
        return key
    raise InputError(
        "a function has no certain identity, so it is not certain whose votes a checkpoint or another process would "
        "hold; give it a name of its own with key=… (another one whenever it changes), or count with jobs=1 and "
        "without a checkpoint"
    )


def parts_of(called: Called, key: str | None) -> Iterator[bytes]:
    """What is seen of a model without calling it: versions, key, classes, settings of the call, and all tensors."""
    import torch
    import torch_geometric
    from torch import nn

    yield f"{torch.__version__} {torch_geometric.__version__} {called.form}".encode()
    if not isinstance(called.model, nn.Module) or called.wrapper is not None:
        require_key(key)
    yield repr(key).encode()
    for name, part in called.named_modules(remove_duplicate=False):
        yield f"{name} {type(part).__module__}.{type(part).__qualname__} {part.training}".encode()
    for name, tensor in [*called.named_parameters(), *called.named_buffers()]:
        yield name.encode()
        yield from tensor_bytes(tensor)


def tensor_bytes(tensor: object) -> Iterator[bytes]:
    """Type, shape and numbers of a tensor."""
    import torch

    assert isinstance(tensor, torch.Tensor)
    plain = tensor.detach().cpu()
    plain = (plain if plain.layout is torch.strided else plain.to_dense()).contiguous().reshape(-1)
    yield f"{tensor.dtype} {tuple(tensor.shape)} {tensor.device.type} {tensor.layout}".encode()
    yield b"" if plain.numel() == 0 else np.asarray(plain.view(torch.uint8)).tobytes()
