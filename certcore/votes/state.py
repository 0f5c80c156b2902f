"""What a model is besides its code: modes, caches, hooks and values that it keeps from one call to the next.

Votes are those of one function of the graph: the model as it was handed over. A module is copied, so whatever it keeps
can be set aside; a function brings along what it refers to, which is looked through and put back at the end.
"""

from __future__ import annotations

import contextlib
import copy
import dis
import functools
import sysconfig
import types
from collections.abc import Callable, Iterator
from typing import Any

import torch
from torch import Tensor, nn
from torch.nn.modules import module as torch_module
from torch.nn.parameter import is_lazy
from torch_geometric.nn import MessagePassing

from certcore.common.errors import InputError
from certcore.models.called import Called
from certcore.votes.identity import globals_of, identity

#: How deep lists, functions and objects are looked through for modules.
_DEEPEST = 12
_STDLIB = sysconfig.get_paths()["stdlib"]
_NO_MODULES = (Tensor, types.ModuleType, type, str, bytes, int, float, type(None))


def require_plain_torch() -> None:
    """Refuse what changes the answers of every module in this process and of none in another one."""
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


def reached_from(root: object) -> list[Any]:
    """All objects that can be reached: parts, plain lists, what functions, partials and bound methods refer to."""
    found: dict[int, Any] = {}

    def visit(value: object, depth: int) -> None:
        if depth <= _DEEPEST and id(value) not in found and not isinstance(value, _NO_MODULES):
            found[id(value)] = value
            for part in _parts(value):
                visit(part, depth + 1)

    visit(root, 0)
    return list(found.values())


def modules_of(root: object) -> list[nn.Module]:
    """The modules among them."""
    return [value for value in reached_from(root) if isinstance(value, nn.Module)]


def _parts(value: Any) -> list[Any]:
    if isinstance(value, dict):
        return list(value.values())
    if isinstance(value, list | tuple | set | frozenset):
        return list(value)
    if isinstance(value, functools.partial):
        return [value.func, *value.args, *value.keywords.values()]
    if isinstance(value, types.MethodType):
        return [value.__self__, value.__func__]
    if isinstance(value, types.FunctionType):
        if _of_a_library(value):
            return []
        inside = [*(value.__defaults__ or ()), *(value.__kwdefaults__ or {}).values(), *vars(value).values()]
        for cell in value.__closure__ or ():
            with contextlib.suppress(ValueError):  # an empty cell
                inside.append(cell.cell_contents)
        names = set(globals_of(value.__code__))
        return [*inside, *(value.__globals__[name] for name in names if name in value.__globals__)]
    return [*_methods_called(type(value)), *vars(value).values()] if hasattr(value, "__dict__") else []


def _methods_called(kind: type) -> list[types.FunctionType]:
    """Somebody's own methods that run when an object is called: `forward`, and those named in it, and so on."""
    methods = [part for base in kind.__mro__ for part in vars(base).values() if isinstance(part, types.FunctionType)]
    methods = [method for method in methods if not _of_a_library(method)]
    names, found = {"forward", "__call__"}, 0
    while len(names) > found:
        found = len(names)
        names |= {name for method in methods if method.__name__ in names for name in method.__code__.co_names}
    return [method for method in methods if method.__name__ in names]


def _of_a_library(function: types.FunctionType) -> bool:
    """Whether installed code stands behind a function: what it keeps is its own business."""
    home = function.__code__.co_filename
    return "-packages" in home or home.startswith((_STDLIB, "<frozen"))


def require_evaluation(called: Called) -> None:
    """Refuse parts in training mode that `eval` did not reach: behind functions, in plain lists, or stubborn ones."""
    if any(is_lazy(tensor) for tensor in [*called.parameters(), *called.buffers()]):
        raise InputError(
            "the model has lazy layers that have seen no data yet, so it has no weights; train it, or run it once"
        )
    for part in modules_of(called):
        if part.training:
            raise InputError(
                f"a {type(part).__name__} of the model stays in training mode, where chance or the statistics of whole "
                "graphs decide; call .eval() on every module that a function or a list holds, or give the module itself"
            )


def without_caches(called: Called) -> list[str]:
    """Turn off `cached=True` of torch-geometric's layers in a copy, and tell which; refuse what cannot be turned off.

    A layer that remembers the edges of its first call would answer every sample with the same graph.
    """
    own = {id(part) for part in called.modules()}
    names = []
    for part in modules_of(called):
        known = isinstance(part, MessagePassing) and type(part).__module__.startswith("torch_geometric.")
        if not known or getattr(part, "cached", False) is not True:
            continue
        name = type(part).__name__
        if id(part) not in own:
            raise InputError(
                f"a {name} behind a function has cached=True, so it would answer every sample with the graph it has "
                "seen first; make it with cached=False, or give the module itself"
            )
        part.cached = False
        for key in [key for key in vars(part) if key.startswith("_cached")]:
            setattr(part, key, None)
        names.append(name)
    return names


def first_call(called: Called, x: Tensor, edge_index: Tensor) -> tuple[Tensor, bool, bool]:
    """Scores of a copy, whether the call changed the copy, and whether it changed what no copy can set aside.

    What cannot be told (see `identity`) counts as a change of the copy.
    """
    probe = copy.deepcopy(called)
    shared, before = _fingerprint(called), _fingerprint(probe)
    with torch.no_grad():
        scores = probe.scores(x.clone(), edge_index.clone())
    beyond = shared is not None and _fingerprint(called) != shared
    return scores, before is None or _fingerprint(probe) != before, beyond


def require_nothing_kept(beyond: bool) -> None:
    """Refuse a model that changes what it refers to, as `first_call` found out."""
    if beyond:
        raise InputError(
            "the model changes what it refers to whenever it is called (a list, a dictionary, a module behind a "
            "function), so later votes could depend on earlier ones; keep it in the module, or do not keep it"
        )


def _fingerprint(called: Called) -> str | None:
    try:
        return identity(called)
    except InputError:
        return None


@contextlib.contextmanager
def untouched(root: object) -> Iterator[None]:
    """Put back what calls changed: values, modes, statistics and caches of modules, and what functions keep.

    Otherwise a model that was refused for its memory would remember our graph, and pass the next time.
    """
    undo = [step for value in reached_from(root) for step in _undoing(value)]
    try:
        yield
    finally:
        for step in undo:
            step()


def _undoing(value: Any) -> Iterator[Callable[[], None]]:
    """Steps that put one object back as it is now."""
    if type(value) is dict:
        yield functools.partial(_refill, value, value.copy())
    elif type(value) is list:
        yield functools.partial(value.__setitem__, slice(None), value.copy())
    elif isinstance(value, types.FunctionType) and not _of_a_library(value):
        for cell in value.__closure__ or ():
            with contextlib.suppress(ValueError):  # an empty cell
                yield functools.partial(setattr, cell, "cell_contents", cell.cell_contents)
        written = {step.argval for step in dis.get_instructions(value) if step.opname == "STORE_GLOBAL"}
        kept = {name: value.__globals__[name] for name in written if name in value.__globals__}
        yield functools.partial(value.__globals__.update, kept)
    elif isinstance(value, nn.Module):
        inside = [vars(value), *(held for held in vars(value).values() if type(held) is dict)]
        yield from (functools.partial(_refill, held, held.copy()) for held in reversed(inside))
        for tensor in [*value.parameters(recurse=False), *value.buffers(recurse=False)]:
            if is_lazy(tensor) or tensor.layout is not torch.strided:
                continue
            yield functools.partial(_write_back, tensor, tensor.detach().clone())
    elif type(getattr(value, "__dict__", None)) is dict and not isinstance(value, types.MethodType):
        yield functools.partial(_refill, vars(value), vars(value).copy())


def _refill(held: dict[Any, Any], before: dict[Any, Any]) -> None:
    if held.keys() != before.keys() or any(held[key] is not before[key] for key in before):
        held.clear()
        held.update(before)


def _write_back(tensor: Tensor, value: Tensor) -> None:
    if not torch.equal(tensor, value):
        with torch.no_grad():
            tensor.copy_(value)
