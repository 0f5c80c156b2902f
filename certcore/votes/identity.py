"""Who a callable is, beyond doubt: a digest of everything its answers can depend on, or a refusal.

A name is no identity: notebooks define `model` ten times, partials and closures have no name of their own, and weights
change behind every name. So the digest walks through code, defaults, closures, the globals that the code refers to,
bound objects, classes, arrays and torch modules. Widely used libraries count by name and version; anything whose
contents cannot be seen (locks, open files, compiled code, caches) is refused rather than guessed.
"""

from __future__ import annotations

import builtins
import dis
import functools
import hashlib
import sys
import sysconfig
import types
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import scipy.sparse as sp

from certcore.common.errors import InputError

#: Installed libraries that are the same wherever their version is; code of anybody else is read.
LIBRARIES = frozenset({"numpy", "scipy", "torch", "torch_geometric", "torch_sparse", "sklearn", "networkx", "pandas"})
#: What a function reads with these is nowhere in the function.
UNSEEN = frozenset({"open", "exec", "eval", "compile", "globals", "input", "__import__"})
#: Entries of a class that say nothing about what it does, or only repeat other entries.
_SILENT = frozenset(
    {
        "__dict__",
        "__weakref__",
        "__doc__",
        "__module__",
        "__qualname__",
        "__firstlineno__",
        "__static_attributes__",
        "__annotations__",
        "__annotate__",
        "__annotate_func__",
        "__annotations_cache__",
        "__dataclass_fields__",
        "__dataclass_params__",
        "__abstractmethods__",
        "_abc_impl",
    }
)
_STDLIB = sysconfig.get_paths()["stdlib"]
_PLAIN = (type(None), bool, float, complex, str, bytes, range, type(Ellipsis), type(NotImplemented))
_DESCRIPTORS = (
    types.MemberDescriptorType,
    types.GetSetDescriptorType,
    types.WrapperDescriptorType,
    types.MethodDescriptorType,
    types.ClassMethodDescriptorType,
)


def identity(function: Callable[..., Any]) -> str:
    """SHA-256 over everything that decides what the function returns; `InputError` if that cannot be told."""
    walk = _Walk()
    try:
        walk.visit(function, "the function")
    except RecursionError as error:
        raise _refusal("the function", "is nested too deeply") from error
    return walk.digest.hexdigest()


def _refusal(where: str, why: str) -> InputError:
    return InputError(
        f"{where} {why}, so nobody can tell for certain whose votes a checkpoint or another process would hold; pass "
        "arrays, torch modules and plain functions instead, or count with jobs=1 and without a checkpoint"
    )


class _Walk:
    """Feeds a digest with the parts of an object, every mutable part once."""

    def __init__(self) -> None:
        self.digest = hashlib.sha256(b"certcore-callable-1")
        self.seen: dict[int, int] = {}
        #: An address names an object only as long as the object lives.
        self.alive: list[Any] = []

    def put(self, *words: str | bytes) -> None:
        for word in words:
            data = word.encode("utf-8", "surrogatepass") if isinstance(word, str) else word
            self.digest.update(b"%d:" % len(data) + data)

    def visit(self, value: Any, where: str) -> None:
        kind = type(value)
        if kind in _PLAIN:
            self.put(kind.__name__, repr(value))
        elif kind is int:
            self.put("int", hex(value))
        elif kind is tuple:
            self._visit_all("tuple", value, where)
        elif kind is frozenset or kind is set:
            self.put(kind.__name__, *sorted(self._apart(item, where) for item in value))
        elif isinstance(value, np.ndarray | np.generic):
            self._visit_array(value, where)
        elif isinstance(value, sp.sparray | sp.spmatrix):
            # Not its fields: some of them only remember what was found out about the others.
            entries = value.tocoo()
            self._visit_all(
                f"sparse {value.format} {kind.__name__}", [value.shape, entries.coords, entries.data], where
            )
        elif _is_tensor(value):
            self._visit_tensor(value, where)
        elif (name := _library_name(value)) is not None:
            self.put("library", *name)
        elif id(value) in self.seen:
            self.put("again", str(self.seen[id(value)]))
        else:
            self.seen[id(value)] = len(self.seen)
            self.alive.append(value)
            self._visit_once(value, where)

    def _visit_all(self, kind: str, values: Any, where: str) -> None:
        values = list(values)
        self.put(kind, str(len(values)))
        for value in values:
            self.visit(value, where)

    def _visit_once(self, value: Any, where: str) -> None:
        kind = type(value)
        if kind is list:
            self._visit_all("list", value, where)
        elif kind is dict or kind is types.MappingProxyType:
            self._visit_all(kind.__name__, [part for item in value.items() for part in item], where)
        elif isinstance(value, types.FunctionType):
            self._visit_function(value)
        elif isinstance(value, types.CodeType):
            self._visit_code(value, where)
        elif isinstance(value, types.MethodType):
            self._visit_all("method", [value.__func__, value.__self__], where)
        elif isinstance(value, type):
            self._visit_class(value)
        elif isinstance(value, types.ModuleType):
            inside = {key: vars(value)[key] for key in sorted(vars(value)) if not key.startswith("__")}
            self._visit_all("module", [part for item in inside.items() for part in item], f"module {value.__name__}")
        elif isinstance(value, staticmethod | classmethod):
            self._visit_all(kind.__name__, [value.__func__], where)
        elif isinstance(value, property):
            self._visit_all("property", [value.fget, value.fset, value.fdel], where)
        elif isinstance(value, functools.cached_property):
            self._visit_all("cached_property", [value.func], where)
        elif kind is functools.partial:
            self._visit_all("partial", [value.func, value.args, value.keywords, vars(value)], where)
        elif isinstance(value, _DESCRIPTORS):
            self._visit_all("descriptor", [value.__name__, value.__objclass__], where)
        elif isinstance(value, types.BuiltinFunctionType | types.MethodWrapperType):
            owner = value.__self__
            if owner is None or isinstance(owner, types.ModuleType):
                raise _refusal(f"{where} ({value.__qualname__})", "is compiled code outside the known libraries")
            self._visit_all("builtin method", [value.__name__, owner], where)
        elif kind.__module__ == "typing" or isinstance(value, types.GenericAlias | types.UnionType):
            self._visit_all(repr(value), getattr(value, "__args__", ()), where)
        else:
            self._visit_instance(value, where)

    def _apart(self, value: object, where: str) -> str:
        """Members of sets have no order: each gets a digest of its own."""
        walk = _Walk()
        walk.visit(value, where)
        return walk.digest.hexdigest()

    def _visit_array(self, array: np.ndarray | np.generic, where: str) -> None:
        if array.dtype.hasobject or (isinstance(array, np.ndarray) and type(array) not in (np.ndarray, np.memmap)):
            raise _refusal(f"{where} ({type(array).__name__} of {array.dtype})", "is no array of plain numbers")
        self.put("array", str(array.dtype.descr), str(array.shape), np.ascontiguousarray(array).tobytes())

    def _visit_tensor(self, tensor: Any, where: str) -> None:
        torch = sys.modules["torch"]
        if type(tensor) not in (torch.Tensor, torch.nn.Parameter) or tensor.layout != torch.strided:
            raise _refusal(f"{where} ({type(tensor).__name__}, {tensor.layout})", "is no dense tensor")
        plain = tensor.detach().cpu().contiguous().reshape(-1)
        data = b"" if plain.numel() == 0 else plain.view(torch.uint8).numpy().tobytes()
        self.put("tensor", str(tensor.dtype), str(tuple(tensor.shape)), tensor.device.type, data)

    def _visit_function(self, function: types.FunctionType) -> None:
        where = f"the function {function.__qualname__}"
        self._visit_all(
            "function", [function.__code__, function.__defaults__, function.__kwdefaults__, function.__dict__], where
        )
        for name, cell in zip(function.__code__.co_freevars, function.__closure__ or ()):
            try:
                inside = cell.cell_contents
            except ValueError:
                self.put("empty cell", name)
                continue
            self.put("cell", name)
            self.visit(inside, f"{name!r} in the closure of {function.__qualname__}")
        for name in sorted(set(globals_of(function.__code__))):
            self.put("global", name)
            if name in function.__globals__:
                self.visit(function.__globals__[name], f"the global {name!r} of {function.__qualname__}")
            elif name in UNSEEN:
                raise _refusal(where, f"calls {name}(), and what it reads with it cannot be seen")
            elif hasattr(builtins, name):
                self.put("builtin")
            else:
                self.put("missing")
        for name in sorted(set(_imports_of(function.__code__))):
            self.put("import", name)
            module = sys.modules.get(name)
            if module is None:
                raise _refusal(where, f"imports {name!r} while it runs (import it at the top of its module)")
            self.visit(module, f"the module {name} in {function.__qualname__}")

    def _visit_code(self, code: types.CodeType, where: str) -> None:
        self.put("code", code.co_code, code.co_exceptiontable)
        counts = (code.co_argcount, code.co_posonlyargcount, code.co_kwonlyargcount, code.co_flags)
        names = (code.co_names, code.co_varnames, code.co_freevars, code.co_cellvars)
        self._visit_all("parts", [counts, names, code.co_consts], where)

    def _visit_class(self, kind: type) -> None:
        where = f"the class {kind.__qualname__}"
        if not kind.__flags__ & 1 << 9:  # made in C: there is no code to read
            raise _refusal(where, "is compiled code outside the known libraries")
        inside = {key: value for key, value in sorted(vars(kind).items()) if key not in _SILENT}
        self._visit_all("class", [type(kind), kind.__bases__, list(inside)], where)
        for name, value in inside.items():
            self.visit(value, f"{name!r} of the class {kind.__qualname__}")

    def _visit_instance(self, value: object, where: str) -> None:
        """What `copy` and `pickle` would take along, which C objects without a description refuse to give."""
        name = f"{where} ({type(value).__name__})"
        if hasattr(value, "py_func"):
            raise _refusal(name, "is compiled by numba, which keeps the globals of its first call")
        try:
            parts = value.__reduce_ex__(4)
        except Exception as error:
            raise _refusal(name, "has contents that cannot be read") from error
        if isinstance(parts, str):
            if not _is_constant(value, parts):
                raise _refusal(name, "has contents that cannot be read")
            self.put("constant", parts)
            return
        listed = [list(part) if isinstance(part, Iterator) else part for part in parts]
        # Its own description may leave things out; and no attributes are the same as none yet.
        listed = [None if type(part) is dict and not part else part for part in listed]
        self._visit_all("object", [type(value), *listed, getattr(value, "__dict__", None) or None], name)


def _codes(code: types.CodeType) -> Iterator[types.CodeType]:
    yield code
    for constant in code.co_consts:
        if isinstance(constant, types.CodeType):
            yield from _codes(constant)


def globals_of(code: types.CodeType) -> Iterator[str]:
    """Names that the code, or code inside it, looks up outside."""
    for part in _codes(code):
        for step in dis.get_instructions(part):
            if step.opname in ("LOAD_GLOBAL", "LOAD_NAME", "LOAD_FROM_DICT_OR_GLOBALS"):
                yield str(step.argval)


def _imports_of(code: types.CodeType) -> Iterator[str]:
    for part in _codes(code):
        yield from (str(step.argval) for step in dis.get_instructions(part) if step.opname == "IMPORT_NAME")


def _is_tensor(value: object) -> bool:
    torch = sys.modules.get("torch")  # who has a tensor has imported it
    return torch is not None and isinstance(value, torch.Tensor)


def _library(name: str | None) -> str | None:
    """The version of a module that counts by name and version, if it is one."""
    top = (name or "").partition(".")[0]
    module = sys.modules.get(top)
    if module is None:
        return None
    origin = str(getattr(getattr(module, "__spec__", None), "origin", None) or "")
    installed = "site-packages" in origin or "dist-packages" in origin
    if top in sys.stdlib_module_names:
        # A file of the same name in somebody's folder hides the module of the standard library.
        known = origin in ("", "built-in", "frozen") or (origin.startswith(_STDLIB) and not installed)
        return sys.version.split()[0] if known else None
    return str(getattr(module, "__version__", "")) if top in LIBRARIES and installed else None


def _library_name(value: object) -> tuple[str, str] | None:
    """Name and version of a module, class or function that a known library has under its own name."""
    if isinstance(value, types.ModuleType):
        version = _library(value.__name__)
        return None if version is None else (value.__name__, version)
    module, name = getattr(value, "__module__", None), getattr(value, "__qualname__", None)
    if not isinstance(module, str) or not isinstance(name, str):
        return None
    version = _library(module)
    found: Any = sys.modules.get(module)
    if version is None or found is None:
        return None
    for part in name.split("."):
        found = getattr(found, part, None)
    if found is not value and not (isinstance(value, type) and not value.__flags__ & 1 << 9):
        return None
    return f"{module}.{name}", version


def _is_constant(value: object, name: str) -> bool:
    """Whether a known library has this very object under this name (ufuncs, dtypes)."""
    homes = (sys.modules.get(home) for home in (type(value).__module__, "scipy.special"))
    return any(home is not None and _library(home.__name__) and getattr(home, name, None) is value for home in homes)
