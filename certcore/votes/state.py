"""What a model does beside its scores: global settings, training mode, caches, and values kept between calls.

Votes must belong to one function of the graph: the model as it was given. It is judged by what it does. Its scores are
compared before, while and after it votes (see `choose`), and a module that changes is copied for every call.
"""

from __future__ import annotations

import contextlib
import copy
import pickle
from collections.abc import Iterator

import numpy as np
import torch
from torch import Tensor, nn
from torch.nn.modules import module as torch_module
from torch.nn.parameter import is_lazy
from torch_geometric.nn import MessagePassing

from certcore.common.errors import InputError
from certcore.models.called import Called


def require_plain_torch() -> None:
    """Refuse global torch settings that change the output of every module in this process only."""
    hooks = ("_global_forward_hooks", "_global_forward_pre_hooks")
    if any(getattr(torch_module, name, None) for name in hooks):
        raise InputError(
            "a global forward hook of torch is registered, which may change what every module answers; remove it "
            "(handle.remove()) before votes are counted"
        )
    if torch.is_autocast_enabled("cpu") or torch.is_autocast_enabled("cuda"):
        raise InputError(
            "autocast is on, so the model would be computed in another precision than its own; leave the autocast block"
        )


@contextlib.contextmanager
def generators_kept() -> Iterator[None]:
    """Leave the global generators of torch and numpy as they were, whatever a model draws from them."""
    before = np.random.get_state()  # noqa: NPY002 (others use it)
    try:
        with torch.random.fork_rng():
            yield
    finally:
        np.random.set_state(before)  # noqa: NPY002


def require_evaluation(called: Called) -> None:
    """Refuse weights that are still missing, and modules that stay in training mode after `eval`."""
    if any(is_lazy(tensor) for tensor in [*called.parameters(), *called.buffers()]):
        raise InputError(
            "the model has lazy layers that have seen no data yet, so it has no weights; train it, or run it once"
        )
    for part in called.modules():
        if part.training:
            raise InputError(
                f"a {type(part).__name__} of the model stays in training mode whatever `eval` says, where chance or "
                "the statistics of whole graphs decide; let its `train` pass the mode on"
            )


def without_caches(called: Called) -> list[str]:
    """Turn off `cached=True` of torch-geometric's layers in a copy, and list them.

    A layer that caches the edges of its first call would use the same graph for every sample.
    """
    names = []
    for part in called.modules():
        if isinstance(part, MessagePassing) and getattr(part, "cached", False) is True:
            part.cached = False
            vars(part).update(dict.fromkeys((key for key in vars(part) if key.startswith("_cached")), None))
            names.append(type(part).__name__)
    return names


def first_scores(called: Called, x: Tensor, edge_index: Tensor) -> tuple[Tensor, bool]:
    """Scores of a copy, and whether the call changed the copy: then every call needs a copy of its own.

    A module that cannot be pickled counts as changed.
    """
    probe = copy.deepcopy(called)
    before = _content(probe)
    with torch.no_grad():
        scores = probe.scores(x.clone(), edge_index.clone())
    return scores, isinstance(called.model, nn.Module) and (before is None or _content(probe) != before)


def _content(called: Called) -> bytes | None:
    try:
        return pickle.dumps(called.model)
    except Exception:  # hooks and parametrisations, each with an error of its own
        return None
