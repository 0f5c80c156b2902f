"""Identification of the model behind stored votes: a digest of a torch module, or a key given by the user.

The digest covers parameters, buffers and plain settings of a module, the compiled code of its classes, and the name and
version of the libraries it uses. A module is refused if its output may depend on anything else (functions, hooks,
global variables, closures, files). Votes of such a model are stored only under an explicit `key`.
"""

from __future__ import annotations

import dis
import functools
import hashlib
import sys
import types
from collections.abc import Iterator
from typing import Any

import numpy as np

from certcore.common.errors import InputError

#: Installed libraries that are identified by their version.
LIBRARIES = frozenset({"certcore", "torch", "torch_geometric", "numpy", "math", "typing"})
#: Names through which code reads data outside the model: files, other modules, the environment, its caller, the clock.
_READS_ELSEWHERE = frozenset(
    {
        "open", "exec", "eval", "compile", "globals", "locals", "vars", "input", "getattr", "setattr", "__import__",
        "import_module", "modules", "load", "memmap", "fromfile", "loadtxt", "genfromtxt", "from_file", "from_dlpack",
        "hub", "ops", "environ", "getenv", "__dict__", "__globals__", "f_globals", "time",
    }
)  # fmt: skip
#: Bytecode instructions that look up a global name.
LOOKED_UP = ("LOAD_GLOBAL", "LOAD_NAME", "LOAD_FROM_DICT_OR_GLOBALS")
_PLAIN = (type(None), bool, int, float, complex, str, bytes, type(Ellipsis))
#: Class attributes that do not affect behaviour.
_SILENT = frozenset(
    {
        "__dict__", "__weakref__", "__doc__", "__module__", "__qualname__", "__firstlineno__", "__static_attributes__",
        "__annotations__", "__annotate__", "__annotate_func__", "__annotations_cache__", "__parameters__",
        "__orig_bases__",
    }
)  # fmt: skip


class Unrecognised(Exception):
    """A model cannot be identified; the text is the reason."""


def identity(module: Any, key: str | None = None) -> str:
    """SHA-256 of a module in its present state; `InputError` if its output may depend on more and there is no `key`."""
    digest = hashlib.sha256(b"certcore-module-2")
    try:
        for line in _module(module) if key is None else _keyed(module, key):
            digest.update(b"%d:" % len(line) + line)
    except Unrecognised as why:
        raise InputError(
            f"{why}, so it is not certain whose votes a checkpoint or another process would hold; give the model a "
            "name of its own with key=… (another one whenever it changes), or count with jobs=1 and without a "
            "checkpoint"
        ) from None
    return digest.hexdigest()


def code_digest(function: object) -> bytes:
    """SHA-256 of the compiled code of a Python function, without its closure and globals; empty for anything else."""
    code = getattr(function, "__code__", None)
    return hashlib.sha256(repr(_code(code)).encode()).digest() if isinstance(code, types.CodeType) else b""


def _keyed(module: Any, key: str) -> list[bytes]:
    """The key and all tensors of the module, so that retraining changes the identity under the same key."""
    if not isinstance(key, str) or not key:
        raise InputError(f"the key of the model is {key!r}; expected a name of its own, such as 'gat, 2 heads'")
    tensors = [*module.named_parameters(), *module.named_buffers()]
    return [b"key", key.encode(), *(part for name, value in tensors for part in (name.encode(), _tensor(value)))]


def _module(module: Any) -> list[bytes]:
    """Everything that identifies a module and its submodules."""
    import torch
    from torch import nn

    lines = [f"{sys.version_info[:2]}".encode()]
    classes: dict[type, None] = {}
    for name, part in module.named_modules(remove_duplicate=False):
        classes |= dict.fromkeys(type(part).__mro__)
        lines += [name.encode(), _name(type(part)).encode()]
        for attribute, value in vars(part).items():
            where = f"{attribute!r} of {type(part).__name__}"
            if attribute == "_modules":
                lines += [repr(list(value)).encode()]
            elif attribute in ("_parameters", "_buffers"):
                lines += [line for one, held in value.items() for line in (one.encode(), _value(held, where))]
            elif "_hooks" in attribute and isinstance(value, dict):
                if value and "backward" not in attribute and "state_dict" not in attribute:
                    raise Unrecognised(f"a {type(part).__name__} has hooks ({attribute})")
            elif type(value).__name__ != "Inspector" or not installed_version(type(value).__module__):
                lines += [attribute.encode(), _value(value, where)]
    own = [kind for kind in classes if _library(kind) is None]
    for kind in classes:
        found = _library(kind)
        lines.append(found.encode() if found else _class(kind, own))
    if torch.nn.Module not in classes or not isinstance(module, nn.Module):
        raise Unrecognised(f"the model is a {type(module).__name__} and no torch module")
    return lines


def _value(value: Any, where: str) -> bytes:
    """Bytes of a plain value, an array, a tensor, or an object of a known library."""
    import torch

    if type(value) in (torch.Tensor, torch.nn.Parameter):
        return _tensor(value)
    if type(value) is np.ndarray and not value.dtype.hasobject:
        return repr((value.dtype.str, value.shape)).encode() + value.tobytes()
    if type(value) in _PLAIN or isinstance(value, torch.dtype | torch.device):
        return f"{type(value).__name__} {value!r}".encode()
    if type(value) in (tuple, list, torch.Size):
        return type(value).__name__.encode() + b"".join(_sized(_value(one, where)) for one in value)
    if type(value) is dict:
        return b"dict" + b"".join(_sized(_value(one, where)) for item in value.items() for one in item)
    if type(value) is set:
        return b"set" + b"".join(sorted(_sized(_value(one, where)) for one in value))
    found = _library(value)
    if found is None:
        raise Unrecognised(f"{where} is a {type(value).__name__}, which cannot be looked into")
    return found.encode()


def _sized(data: bytes) -> bytes:
    return b"%d:" % len(data) + data


def _tensor(tensor: Any) -> bytes:
    import torch

    if tensor.layout != torch.strided or tensor.device.type == "meta":
        raise Unrecognised(f"a tensor of the model has the layout {tensor.layout} on {tensor.device}")
    plain = tensor.detach().cpu().contiguous().reshape(-1)
    data = b"" if plain.numel() == 0 else plain.view(torch.uint8).numpy().tobytes()
    return repr((str(tensor.dtype), tuple(tensor.shape), tensor.device.type)).encode() + data


def _class(kind: type, own: list[type]) -> bytes:
    """The code of a class that belongs to no known library; `own` are all such classes of the model."""
    if not kind.__flags__ & 1 << 9:
        raise Unrecognised(f"the class {kind.__qualname__} is compiled code of no known library")
    lines: list[Any] = [kind.__qualname__, [base.__qualname__ for base in kind.__bases__], _name(type(kind))]
    for name, value in sorted(vars(kind).items()):
        if name in _SILENT:
            continue
        where = f"{name!r} of the class {kind.__qualname__}"
        value = getattr(value, "__func__", value) if isinstance(value, staticmethod | classmethod) else value
        parts = [value.fget, value.fset, value.fdel] if isinstance(value, property) else [value]
        parts = [value.func] if isinstance(value, functools.cached_property) else parts
        for part in parts:
            if not isinstance(part, types.FunctionType) or _library(part):
                lines.append((name, _value(part, where)))
                continue
            if _generated(part, kind):
                continue
            given = _value((part.__defaults__, part.__kwdefaults__, vars(part)), where)
            lines.append((name, type(vars(kind)[name]).__name__, _code(part.__code__), given))
            if name != "__init__":  # what __init__ created is in the module's attributes
                lines.append(_outside(part, kind, own))
    return repr(lines).encode()


def _outside(function: types.FunctionType, kind: type, own: list[type]) -> list[Any]:
    """Global values that a method uses; refused unless they are libraries, constants and the model's classes."""
    where = f"{kind.__qualname__}.{function.__name__}"
    for name, cell in zip(function.__code__.co_freevars, function.__closure__ or ()):
        if name != "__class__" or cell.cell_contents not in own:
            raise Unrecognised(f"{where} refers to {name!r} outside of it")
    hidden = sorted(_READS_ELSEWHERE & set(names_of(function.__code__)))
    if hidden:
        raise Unrecognised(f"{where} uses {hidden[0]!r}, and what it reads with it cannot be seen")
    if imported := sorted(set(names_of(function.__code__, ("IMPORT_NAME",)))):
        raise Unrecognised(f"{where} imports {imported[0]!r} while it runs")
    found: list[Any] = []
    for name in sorted(set(names_of(function.__code__, LOOKED_UP))):
        value = function.__globals__.get(name)
        if name in function.__globals__ and not (isinstance(value, type) and value in own):
            found.append((name, _value(value, f"the global {name!r} of {where}")))
    return found


def _generated(function: types.FunctionType, kind: type) -> bool:
    """Whether torch-geometric generated the function, from a template and the signatures of the class's methods."""
    layer = getattr(sys.modules.get("torch_geometric.nn"), "MessagePassing", None)
    home = str(function.__globals__.get("__name__"))
    return layer is not None and issubclass(kind, layer) and home.startswith(f"{kind.__module__}_{kind.__name__}_")


def names_of(code: types.CodeType, steps: tuple[str, ...] = ()) -> Iterator[str]:
    """Names that code and nested code mention; with `steps`, those that these instructions look up."""
    found = (str(step.argval) for step in dis.get_instructions(code) if step.opname in steps)
    yield from found if steps else code.co_names
    for part in code.co_consts:
        if isinstance(part, types.CodeType):
            yield from names_of(part, steps)


def _code(code: types.CodeType) -> tuple[Any, ...]:
    """Compiled code without file name and line numbers."""
    constants = [
        _code(part)
        if isinstance(part, types.CodeType)
        else ("frozenset", sorted(map(repr, part)))
        if isinstance(part, frozenset)
        else (type(part).__name__, repr(part))
        for part in code.co_consts
    ]
    counts = (code.co_argcount, code.co_posonlyargcount, code.co_kwonlyargcount, code.co_flags)
    names = (code.co_names, code.co_varnames, code.co_freevars, code.co_cellvars)
    return (code.co_code, code.co_exceptiontable, counts, names, constants)


def _name(value: Any) -> str:
    return f"{value.__module__}.{value.__qualname__}"


def installed_version(name: str) -> str | None:
    """The version of an installed library (or of Python, for its standard library); None for anything else."""
    top = name.partition(".")[0]
    module = sys.modules.get(top)
    if top not in LIBRARIES or module is None:
        return "builtin" if name == "builtins" else None
    origin = str(getattr(getattr(module, "__spec__", None), "origin", None) or "")
    if top in sys.stdlib_module_names or top == "certcore" or "-packages" in origin:
        return str(getattr(module, "__version__", sys.version_info[:3]))
    return None


def _library(value: Any) -> str | None:
    """Name and version of a module, class or function that is found unchanged under its name in a known library."""
    if isinstance(value, types.ModuleType):
        version = installed_version(value.__name__)
        return None if version is None else f"{value.__name__} {version}"
    home, name = getattr(value, "__module__", None), getattr(value, "__qualname__", None)
    if isinstance(value, np.ufunc | types.BuiltinFunctionType):  # implemented in C, identified by their short name
        home, name = "numpy" if isinstance(value, np.ufunc) else home or "torch", value.__name__
    if not isinstance(home, str) or not isinstance(name, str) or (version := installed_version(home)) is None:
        return None
    found: Any = sys.modules.get(home)
    for part in name.split("."):
        found = getattr(found, part, None)
    if found is not value or (isinstance(value, type) and not _as_installed(value)):
        return None
    return f"{home}.{name} {version}"


def _as_installed(kind: type) -> bool:
    """Whether all methods of a library's class are the library's own, that is, none was replaced."""
    methods = [part for part in vars(kind).values() if isinstance(part, types.FunctionType)]
    return all(installed_version(str(method.__globals__.get("__name__"))) is not None for method in methods)
