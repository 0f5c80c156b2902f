"""Finds every public way to a certified count in the source, by types and values instead of the names of functions.

A result class has an attribute with `certified` in its name, or a field of such a class, or such a base class. A way is
a public function, method or module body that returns a result, takes one, reads an attribute `…certified…`, or uses
whatever returns a result, under any name. Source texts are read, so every new file is found and no page has to run.
"""

from __future__ import annotations

import ast
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import cache, cached_property
from pathlib import Path

ROOT = Path(__file__).parents[2]
COUNT = "certified"
FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef)
Names = frozenset[str]


@cache
def sources() -> dict[str, str]:
    """The text of every module of the engine and of the pages."""
    files = [path for top in ("certcore", "pages") for path in sorted((ROOT / top).rglob("*.py"))]
    return {module_of(str(path)): path.read_text(encoding="utf-8") for path in files}


@cache
def module_of(file: str) -> str:
    path = Path(file)
    if not path.is_relative_to(ROOT):
        return ""
    return ".".join(path.relative_to(ROOT).with_suffix("").parts).removesuffix(".__init__")


@dataclass(frozen=True)
class Item:
    """What a function, or the body of a module, mentions: dotted names as they are written."""

    gives: Names = frozenset()
    takes: Names = frozenset()
    uses: Names = frozenset()
    reads: Names = frozenset()
    """Names of attributes, of whatever."""


@dataclass
class Module:
    """Definitions of one source file; attributes of classes with the names in their annotations."""

    imports: dict[str, str] = field(default_factory=dict)
    items: dict[str, Item] = field(default_factory=dict)
    bases: dict[str, Names] = field(default_factory=dict)
    attributes: dict[str, dict[str, Names]] = field(default_factory=dict)
    fields: dict[str, Names] = field(default_factory=dict)


def names(nodes: Iterable[ast.AST | None]) -> Names:
    """Dotted names in expressions, also in quoted ones."""
    found: set[str] = set()
    for node in (part for one in nodes if one is not None for part in ast.walk(one)):
        if isinstance(node, ast.Name | ast.Attribute):
            found.add(_dotted(node))
        elif isinstance(node, ast.Constant) and isinstance(node.value, str):
            found |= names([ast.parse(node.value, mode="eval")])
    return frozenset(found - {""})


def _dotted(node: ast.expr) -> str:
    if isinstance(node, ast.Attribute):
        before = _dotted(node.value)
        return f"{before}.{node.attr}" if before else ""
    return node.id if isinstance(node, ast.Name) else ""


def _item(body: Iterable[ast.AST], signature: ast.arguments | None = None, returns: ast.expr | None = None) -> Item:
    parts = [part for one in body for part in ast.walk(one) if isinstance(part, ast.Name | ast.Attribute)]
    uses = frozenset(_dotted(part) for part in parts) - {""}
    reads = frozenset(part.attr for part in parts if isinstance(part, ast.Attribute) and isinstance(part.ctx, ast.Load))
    if signature is None:
        return Item(uses=uses, reads=reads)
    given = [*signature.posonlyargs, *signature.args, *signature.kwonlyargs, signature.vararg, signature.kwarg]
    return Item(names([returns]), names(one.annotation for one in given if one is not None), uses, reads)


@cache
def read_module(name: str, text: str) -> Module:
    made = Module()
    tree = ast.parse(text)
    parts = list(ast.walk(tree))
    for node in parts:
        if isinstance(node, ast.ImportFrom):
            above = name.split(".")[: -node.level] if node.level else []
            home = ".".join([*above, *filter(None, [node.module])])
            made.imports |= {one.asname or one.name: f"{home}.{one.name}" for one in node.names}
        elif isinstance(node, ast.Import):
            made.imports |= {one.asname or one.name: one.name for one in node.names}
    for node in tree.body:
        if isinstance(node, FUNCTIONS):
            made.items[node.name] = _item(node.body, node.args, node.returns)
        elif isinstance(node, ast.ClassDef):
            _read_class(made, node)
        elif isinstance(node, ast.Assign) and isinstance(node.value, ast.Name | ast.Attribute):
            of = names([node.value])  # another name for something
            made.items |= {one.id: Item(uses=of) for one in node.targets if isinstance(one, ast.Name)}
    rest = [node for node in tree.body if not isinstance(node, (*FUNCTIONS, ast.ClassDef, ast.Import, ast.ImportFrom))]
    made.items["<module>"] = _item(rest)
    used = {node.id for node in parts if isinstance(node, ast.Name)}
    for alias, of in made.imports.items():
        if alias not in used and alias != of.rpartition(".")[2]:
            made.items[alias] = Item(uses=frozenset([alias]))  # handed on under another name
    return made


def _read_class(made: Module, node: ast.ClassDef) -> None:
    typed = {
        one.target.id: names([one.annotation])
        for one in node.body
        if isinstance(one, ast.AnnAssign) and isinstance(one.target, ast.Name)
    }
    items = {one.name: _item(one.body, one.args, one.returns) for one in node.body if isinstance(one, FUNCTIONS)}
    for one in node.body:
        if isinstance(one, ast.Assign):
            items |= {target.id: _item([one.value]) for target in one.targets if isinstance(target, ast.Name)}
    made.bases[node.name] = names(node.bases)
    made.fields[node.name] = frozenset().union(*typed.values())
    made.attributes[node.name] = typed | {name: one.gives for name, one in items.items()}
    made.items |= {f"{node.name}.{name}": one for name, one in items.items()}


class Finder:
    """Result classes and ways in the given sources."""

    def __init__(self, texts: Mapping[str, str], no_results: Iterable[str] = (), carriers: Iterable[str] = ()) -> None:
        self.modules = {name: read_module(name, text) for name, text in texts.items()}
        self._no_results, self._carriers = set(no_results), set(carriers)
        self._known: dict[tuple[str, str], str] = {}

    def resolve(self, module: str, name: str) -> str:
        """Where a name of a module is defined."""
        if (module, name) not in self._known:
            self._known[module, name] = self._resolve(module, name)
        return self._known[module, name]

    def _resolve(self, module: str, name: str) -> str:
        head, _, rest = name.partition(".")
        of = self.modules[module]
        if head not in of.imports:
            return f"{module}.{name}"
        full = ".".join(part for part in (of.imports[head], rest) if part)
        home = full.rpartition(".")[0]
        while home and home not in self.modules:
            home = home.rpartition(".")[0]
        inner = full.removeprefix(f"{home}.")
        return self.resolve(home, inner) if home and inner.partition(".")[0] in self.modules[home].imports else full

    def _mention(self, module: str, given: Names, wanted: set[str]) -> bool:
        return any(self.resolve(module, name) in wanted for name in given)

    def classes(self) -> Iterator[tuple[str, str, str]]:
        yield from ((name, one, f"{name}.{one}") for name, module in self.modules.items() for one in module.bases)

    @cached_property
    def results(self) -> set[str]:
        """Classes of objects that hold a certified count, however deep."""
        counts = {full for name, one, full in self.classes() if COUNT in " ".join(self.modules[name].attributes[one])}
        found = (self._carriers | counts) - self._no_results
        parts = {
            full: (name, self.modules[name].fields[one] | self.modules[name].bases[one])
            for name, one, full in self.classes()
        }
        before = 0
        while len(found) > before:
            before = len(found)
            found |= {full for full, (name, of) in parts.items() if self._mention(name, of, found)} - self._no_results
        return found

    @cached_property
    def _items(self) -> dict[str, tuple[str, Item]]:
        return {
            f"{module}.{name}": (module, one) for module, of in self.modules.items() for name, one in of.items.items()
        }

    @cached_property
    def ways(self) -> set[str]:
        """Public functions, methods of other classes and module bodies that give, take, read or use results.

        Private functions are part of those that use them.
        """
        items = self._items
        gives = {full for full, (module, one) in items.items() if self._mention(module, one.gives, self.results)}
        methods = self._telling(gives)
        found = {
            full
            for full, (module, one) in items.items()
            if full in gives
            or self._mention(module, one.takes, self.results)
            or one.reads & methods
            or any(COUNT in read for read in one.reads)
            or self._mention(module, one.uses, gives)
        }
        new = found
        while inner := {full for full in new if not public(full)}:
            own = {(items[full][0], full.rpartition(".")[2]) for full in inner}
            new = {
                full
                for full, (module, one) in items.items()
                if any((module, read) in own for read in one.reads) or self._mention(module, one.uses, inner)
            } - found
            found |= new
        return {full for full in found if public(full) and full.rpartition(".")[0] not in self.results}

    def _telling(self, gives: set[str]) -> set[str]:
        """Names of methods of which at least half give a result, in whatever class."""
        methods = [full.rpartition(".") for full in self._items if full.rpartition(".")[0] not in self.modules]
        tally = Counter(name for _, _, name in methods)
        giving = Counter(name for home, _, name in methods if f"{home}.{name}" in gives)
        return {name for name, number in giving.items() if 2 * number >= tally[name]}

    @cached_property
    def attributes(self) -> set[str]:
        """Public attributes of all public result classes, unless their type says that they hold no number."""
        return {
            f"{full}.{attribute}"
            for module, one, full in self.classes()
            if full in self.results and public(full)
            for attribute, of in self.modules[module].attributes[one].items()
            if public(attribute) and not self._numberless(module, of)
        }

    def _numberless(self, module: str, of: Names) -> bool:
        """Whether an annotation names truth values and classes of this project only, none of them a result."""
        return bool(of) and all(name == "bool" or self.resolve(module, name) in self._others for name in of)

    @cached_property
    def _others(self) -> set[str]:
        return {full for _, _, full in self.classes()} - self.results


def public(name: str) -> bool:
    return not any(part.startswith("_") for part in name.split("."))
