"""The state of a model besides its code: modes, caches, hooks and values stored between calls.

Votes must belong to one function of the graph: the model as it was given. A module is copied, so its state can be
discarded. A function may refer to other objects, which are inspected and restored at the end.
"""

from __future__ import annotations

import contextlib
import copy
import sys
import sysconfig
import types
from collections import deque
from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn
from torch.nn.modules import module as torch_module
from torch.nn.parameter import is_lazy
from torch_geometric.nn import MessagePassing

from certcore.common.errors import InputError
from certcore.models.called import Called
from certcore.votes.identity import LOOKED_UP, installed_version, names_of

#: Largest depth of the search for modules in lists, functions and objects.
_DEEPEST = 12
_STDLIB = sysconfig.get_paths()["stdlib"]
_LEAVES = (type, str, bytes, int, float, type(None))


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


def reached_from(root: object) -> list[Any]:
    """All reachable objects: submodules, plain lists, and what functions, partials and bound methods refer to."""
    found: dict[int, Any] = {}

    def visit(value: object, depth: int) -> None:
        if depth <= _DEEPEST and id(value) not in found and not isinstance(value, _LEAVES):
            found[id(value)] = value
            for part in _parts(value):
                visit(part, depth + 1)

    visit(root, 0)
    return list(found.values())


def modules_of(root: object) -> list[nn.Module]:
    """The reachable modules."""
    return [value for value in reached_from(root) if isinstance(value, nn.Module)]


def _parts(value: Any) -> list[Any]:
    if isinstance(value, dict):
        return list(value.values())
    if isinstance(value, list | tuple | set | frozenset | deque):
        return list(value)
    if isinstance(value, Tensor | np.ndarray):
        return []
    if isinstance(value, partial):
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
        names = set(names_of(value.__code__, LOOKED_UP))
        return [*inside, *(value.__globals__[name] for name in names if name in value.__globals__)]
    if isinstance(value, types.ModuleType):
        return [] if _is_installed(value) else [part for name, part in vars(value).items() if name[:2] != "__"]
    if not hasattr(value, "__dict__"):
        return []
    shared = [part for kind in _own_classes(value) for name, part in vars(kind).items() if name[:2] != "__"]
    shared = [part for part in shared if not isinstance(part, types.FunctionType)]
    return [*_methods_called(type(value)), *shared, *vars(value).values()]


def _own_classes(value: object) -> list[type]:
    """The classes of an object that do not belong to a library."""
    return [kind for kind in type(value).__mro__ if not _is_installed(sys.modules.get(kind.__module__))]


def _is_installed(module: types.ModuleType | None) -> bool:
    """Whether a module is part of Python or of an installed package; a notebook's cells are in none."""
    if module is None:
        return False
    home = str(getattr(module, "__file__", None) or "")
    known = module.__name__ in sys.builtin_module_names or installed_version(module.__name__) is not None
    return known or "-packages" in home or (bool(home) and home.startswith(_STDLIB))


def _methods_called(kind: type) -> list[types.FunctionType]:
    """User-defined methods that run when an object is called: `forward`, the methods it names, and so on."""
    methods = [part for base in kind.__mro__ for part in vars(base).values() if isinstance(part, types.FunctionType)]
    methods = [method for method in methods if not _of_a_library(method)]
    names, found = {"forward", "__call__"}, 0
    while len(names) > found:
        found = len(names)
        names |= {name for method in methods if method.__name__ in names for name in method.__code__.co_names}
    return [method for method in methods if method.__name__ in names]


def _of_a_library(function: types.FunctionType) -> bool:
    """Whether a function is installed code, whose state is not inspected."""
    home = function.__code__.co_filename
    return "-packages" in home or home.startswith((_STDLIB, "<frozen"))


def require_evaluation(called: Called) -> None:
    """Refuse submodules that stay in training mode after `eval`: behind functions, in plain lists, or overriding it."""
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
    """Turn off `cached=True` of torch-geometric's layers in a copy and list them; refuse other caches.

    A layer that caches the edges of its first call would use the same graph for every sample.
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


def call_twice(called: Called, x: Tensor, edge_index: Tensor) -> tuple[Tensor, bool, bool]:
    """Scores of a copy, whether the call changed the copy, and whether it changed objects outside the copy.

    Objects that cannot be inspected count as a change of the copy.
    """
    probe = copy.deepcopy(called)
    shared, own = Snapshot(called), Snapshot(probe)
    with torch.no_grad():
        scores = probe.scores(x.clone(), edge_index.clone())
    return scores, own.opaque or own.changed, shared.changed


def require_nothing_kept(beyond: bool) -> None:
    """Refuse a model that changes objects outside itself, as `call_twice` found."""
    if beyond:
        raise InputError(
            "the model changes what it refers to whenever it is called (a list, a dictionary, a module behind a "
            "function), so later votes could depend on earlier ones; keep it in the module, or do not keep it"
        )


@contextlib.contextmanager
def untouched(root: object) -> Iterator[None]:
    """Restore what calls change: values, modes, statistics and caches of modules, and state of functions.

    Otherwise a model that was refused for its memory would keep our graph, and pass the check the next time.
    """
    before = Snapshot(root)
    try:
        yield
    finally:
        before.restore()


class Snapshot:
    """The state of everything reachable from an object: to detect changes, and to undo them."""

    def __init__(self, root: object) -> None:
        reached = reached_from(root)
        self.kept = [part for value in reached for part in _kept(value)]
        #: Whether an object with hidden state was reached: locks, generators, caches written in C.
        self.opaque = any(_is_opaque(value) for value in reached)

    @property
    def changed(self) -> bool:
        return any(differs() for differs, _ in self.kept)

    def restore(self) -> None:
        for differs, put_back in self.kept:
            if differs():
                put_back()


#: Two functions: whether an object differs from its copy, and how to restore the copy.
Kept = tuple[Callable[[], bool], Callable[[], object]]


def _kept(value: Any) -> Iterator[Kept]:
    """Copies of an object's own content; referenced objects are reached separately."""
    if isinstance(value, dict):
        yield _kept_dict(value)
    elif isinstance(value, list | deque):
        items = list(value)
        yield (lambda: not _same(list(value), items)), (lambda: (value.clear(), value.extend(items)))
    elif isinstance(value, set):
        members = set(value)
        yield (lambda: value != members), (lambda: value.__iand__(members).__ior__(members))
    elif isinstance(value, Tensor):
        if not is_lazy(value) and value.layout is torch.strided:
            was = value.detach().clone()
            yield (lambda: not _equal(value, was)), (lambda: _write_back(value, was))
    elif isinstance(value, np.ndarray):
        array = value.copy()
        yield (lambda: value.tobytes() != array.tobytes()), (lambda: np.copyto(value, array))
    elif isinstance(value, types.FunctionType):
        if not _of_a_library(value):
            yield from _kept_by_function(value)
    elif type(getattr(value, "__dict__", None)) is dict and not isinstance(value, types.MethodType):
        # The attribute dictionaries of a module are reached as objects of their own.
        yield _kept_dict(vars(value))
        yield from map(_kept_class, _own_classes(value))


def _kept_class(kind: type) -> Kept:
    before = {name: part for name, part in vars(kind).items() if name[:2] != "__"}

    def changes() -> list[str]:
        return [name for name, part in before.items() if not _same([vars(kind).get(name)], [part])]

    def put_back() -> None:
        for name in changes():
            setattr(kind, name, before[name])

    return (lambda: bool(changes())), put_back


def _kept_dict(value: dict[Any, Any]) -> Kept:
    keys, values = list(value), list(value.values())

    def put_back() -> None:
        value.clear()
        value.update(zip(keys, values))

    return (lambda: list(value) != keys or not _same(list(value.values()), values)), put_back


def _kept_by_function(function: types.FunctionType) -> Iterator[Kept]:
    """The cells of a closure, and the globals that its code writes."""
    yield _kept_dict(vars(function))
    for cell in function.__closure__ or ():
        with contextlib.suppress(ValueError):  # an empty cell
            held = cell.cell_contents
            yield (
                partial(lambda cell, held: not _same([cell.cell_contents], [held]), cell, held),
                partial(setattr, cell, "cell_contents", held),
            )
    space = function.__globals__
    written = {name: space.get(name) for name in names_of(function.__code__, ("STORE_GLOBAL",))}
    yield (
        (lambda: not _same([space.get(name) for name in written], list(written.values()))),
        (lambda: space.update(written)),
    )


def _same(now: list[Any], before: list[Any]) -> bool:
    """Whether two lists hold the same objects, or equal numbers and texts."""
    return len(now) == len(before) and all(
        one is two or (type(one) is type(two) and isinstance(one, int | float | str | bytes) and one == two)
        for one, two in zip(now, before)
    )


def _is_opaque(value: Any) -> bool:
    """Whether an object has state that neither its attributes nor its items show."""
    seen = (dict, list, tuple, set, frozenset, deque, partial, Tensor, np.ndarray, types.MethodType, types.FunctionType)
    return not (isinstance(value, seen) or hasattr(value, "__dict__") or _is_constant(value))


def _is_constant(value: Any) -> bool:
    constant = (types.BuiltinFunctionType, torch.dtype, torch.device, complex, range, np.generic, np.ufunc, np.dtype)
    return isinstance(value, constant) or value in (Ellipsis, NotImplemented)


def _equal(tensor: Tensor, value: Tensor) -> bool:
    """Bitwise comparison, so that NaN equals itself."""
    if tensor.shape != value.shape or tensor.dtype != value.dtype or tensor.device != value.device:
        return False
    return torch.equal(tensor, value) or bool(((tensor == value) | ((tensor != tensor) & (value != value))).all())


def _write_back(tensor: Tensor, value: Tensor) -> None:
    with torch.no_grad():
        tensor.copy_(value) if tensor.shape == value.shape else tensor.set_(value)
