"""Places of the engine that can be made wrong on purpose: twelve operators over nine areas, and a draw by a seed.

A mutant is stored as text (file, function, lines before and after), so that it is found again after code has moved.
"""

from __future__ import annotations

import ast
import copy
import random
import re
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from functools import lru_cache
from pathlib import Path

#: Files of each area; the first pattern that fits decides.
AREAS = {
    "ballots": "certcore/*/*ballots*.py certcore/ballots.py",
    "smooth": "certcore/smooth.py certcore/check_field.py",
    **{name: f"certcore/{name}/*.py" for name in ("base", "program", "verify", "solve", "sweep", "result")},
    "standalone": "certcore/standalone/*.py",
}
#: Folders with a `*ballots*.py` about other things than the program of ballots.
OTHERS = ("messages", "model_attack", "training")
#: Files that are about to be removed: their mutants could not be applied again.
LEAVING = ("summary",)
LONGEST = 6  # lines
TURNED: dict[type[ast.cmpop], type[ast.cmpop]] = {ast.Lt: ast.LtE, ast.LtE: ast.Lt, ast.Gt: ast.GtE, ast.GtE: ast.Gt}
NEGATED: dict[type[ast.cmpop], type[ast.cmpop]] = {
    ast.Lt: ast.GtE,
    ast.Gt: ast.LtE,
    ast.Eq: ast.NotEq,
    ast.In: ast.NotIn,
    ast.Is: ast.IsNot,
}
NEGATED |= {other: one for one, other in NEGATED.items()}
EXTREMES = {"min": "max", "minimum": "maximum", "argmin": "argmax", "fmin": "fmax"}
EXTREMES |= {other: one for one, other in EXTREMES.items()}
DROPPED = ("append", "extend", "add", "insert", "update", "at", "appendleft", "fill")
KEY = re.compile("key|digest|hashed|known|memo|cache|seen", re.IGNORECASE)
OTHER_CALLS = re.compile(f"notes|{KEY.pattern}")  # messages, and what is a stale key
NEED = re.compile("(^|_)needs?$")
LAYERS = re.compile("^(layers|hops|n_layers|hop)$")
POSITION = ("lineno", "end_lineno", "col_offset", "end_col_offset")
DEFINITIONS = (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)
#: A node and the text that takes its place.
Change = tuple[ast.AST, str]


@dataclass(frozen=True)
class Place:
    """One line made wrong; `occurrence` counts equal lines of the function."""

    area: str
    operator: str
    file: str
    line: int
    function: str
    before: str
    after: str
    occurrence: int = 0


def _name(node: ast.AST | None) -> str:
    """The last part of a dotted name."""
    return node.attr if isinstance(node, ast.Attribute) else node.id if isinstance(node, ast.Name) else ""


def _text(old: ast.AST, new: ast.AST) -> str:
    text = ast.unparse(new)
    weaker = isinstance(new, ast.BinOp | ast.BoolOp | ast.Compare | ast.IfExp) and type(new) is not type(old)
    return f"({text})" if weaker else text


def _with(node: ast.AST, **fields: object) -> Change:
    new = copy.copy(node)
    for field, value in fields.items():
        setattr(new, field, value)
    return node, _text(node, new)


def _compared(node: ast.AST, table: dict[type[ast.cmpop], type[ast.cmpop]]) -> Iterator[Change]:
    if isinstance(node, ast.Compare) and len(node.ops) == 1 and type(node.ops[0]) in table:
        yield _with(node, ops=[table[type(node.ops[0])]()])


def _rounding(node: ast.AST) -> Iterator[Change]:
    match node:
        case ast.UnaryOp(ast.USub(), ast.BinOp(ast.UnaryOp(ast.USub(), left), ast.FloorDiv(), right)):
            yield node, _text(node, ast.BinOp(left, ast.FloorDiv(), right))
        case ast.BinOp(left, ast.FloorDiv(), right) if not isinstance(left, ast.UnaryOp):
            yield node, f"-(-({ast.unparse(left)}) // ({ast.unparse(right)}))"
        case ast.Attribute(_, "floor" | "ceil" as name):
            yield _with(node, attr="ceil" if name == "floor" else "floor")
        case ast.Call(func, [_, limit, *_]) if _name(func) == "nextafter":
            yield limit, f"-({ast.unparse(limit)})"
        case ast.keyword("up", value):
            yield value, f"(not {ast.unparse(value)})"
        case ast.keyword("side", ast.Constant(value)):
            yield node.value, "'left'" if value == "right" else "'right'"


def _off_by_one(node: ast.AST) -> Iterator[Change]:
    match node:
        case ast.BinOp(left, ast.Add() | ast.Sub(), ast.Constant(1)):
            yield node, _text(node, left)
        case ast.Name(name, ast.Load()) | ast.Attribute(_, name, ast.Load()) if NEED.search(name):
            yield node, f"({ast.unparse(node)} + 1)"


def _hop(node: ast.AST) -> Iterator[Change]:
    match node:
        case ast.Call(args=some) | ast.Tuple(some) | ast.Compare(_, [ast.Lt() | ast.Gt() | ast.Eq()], some):
            for part in [*some, *([node.left] if isinstance(node, ast.Compare) else [])]:
                if LAYERS.match(_name(part)):
                    yield part, f"({ast.unparse(part)} - 1)"
        case ast.keyword("layers", value):
            yield value, f"{ast.unparse(value)} - 1"


def _dropped(node: ast.AST) -> Iterator[Change]:
    match node:
        case ast.Expr(ast.Call(ast.Attribute(owner, name))) if name in DROPPED and not OTHER_CALLS.search(_name(owner)):
            yield node, "pass"
        case ast.AugAssign() | ast.Assign([ast.Subscript()]):
            yield node, "pass"


def _shorter(node: ast.AST) -> Iterator[Change]:
    """A key without one of its parts."""
    for part in ast.walk(node):
        if isinstance(part, ast.Tuple | ast.List) and isinstance(part.ctx, ast.Load) and len(part.elts) > 1:
            for k in range(len(part.elts)):
                yield part, ast.unparse(ast.Tuple([*part.elts[:k], *part.elts[k + 1 :]], ast.Load()))
        elif isinstance(part, ast.Dict) and len(part.keys) > 1:
            for k in range(len(part.keys)):
                yield _with(
                    part, keys=part.keys[:k] + part.keys[k + 1 :], values=part.values[:k] + part.values[k + 1 :]
                )
        elif isinstance(part, ast.JoinedStr):
            for one in part.values:
                if isinstance(one, ast.FormattedValue):
                    yield _with(part, values=[other for other in part.values if other is not one])
        elif isinstance(part, ast.BinOp) and isinstance(part.op, ast.Add | ast.BitOr):
            yield from ((part, _text(part, side)) for side in (part.left, part.right))


def _stale(node: ast.AST, function: str) -> Iterator[Change]:
    match node:
        case ast.Assign([target], value) if KEY.search(_name(target)) or KEY.search(function.split(".")[-1]):
            yield from _shorter(value)
        case ast.Return(value) if value is not None and re.search("key|digest", function.split(".")[-1]):
            yield from _shorter(value)
        case ast.Subscript(owner, ast.Tuple() as key) if KEY.search(_name(owner)):
            yield from _shorter(key)
        case ast.Call(ast.Attribute(owner, "get" | "add" | "setdefault" | "pop"), [key, *_]) if KEY.search(
            _name(owner)
        ):
            yield from _shorter(key)
        case ast.Expr(ast.Call(ast.Attribute(owner, "update"))) if KEY.search(_name(owner)):
            yield node, "pass"


def _sign(node: ast.AST) -> Iterator[Change]:
    joined = (ast.List, ast.Tuple, ast.JoinedStr, ast.ListComp)
    match node:
        case ast.BinOp(left, ast.Add() | ast.Sub() as op, right):
            sides = (left, right)
            text = any(isinstance(side, ast.Constant) and isinstance(side.value, str | bytes) for side in sides)
            if not text and not any(isinstance(side, joined) for side in sides):
                yield _with(node, op=ast.Sub() if isinstance(op, ast.Add) else ast.Add())
        case ast.UnaryOp(ast.USub(), operand) if not isinstance(operand, ast.Constant):
            yield node, _text(node, operand)


def _junction(node: ast.AST) -> Iterator[Change]:
    match node:
        case ast.BoolOp(op):
            yield _with(node, op=ast.Or() if isinstance(op, ast.And) else ast.And())
        case ast.BinOp(_, ast.BitAnd() | ast.BitOr() as op):
            yield _with(node, op=ast.BitOr() if isinstance(op, ast.BitAnd) else ast.BitAnd())


def _guard(node: ast.AST) -> Iterator[Change]:
    match node:
        case ast.If(test, [*_, ast.Raise()]):
            yield test, "False"
        case ast.Expr(ast.Call(func)) if re.match("_?(require|need$|check|refuse)", _name(func)):
            yield node, "pass"


def _index(node: ast.AST) -> Iterator[Change]:
    match node:
        case ast.Subscript(_, ast.Constant(int(k)) as key, ast.Load()):
            yield key, str(k + 1)
        case ast.Subscript(_, ast.UnaryOp(ast.USub(), ast.Constant(int(k))) as key, ast.Load()):
            yield key, f"-{k + 1}"
        case ast.Slice(lower, upper, None):
            yield from ((end, f"{ast.unparse(end)} + 1") for end in (lower, upper) if end is not None)
        case ast.keyword("axis", ast.Constant(int(k)) as value):
            yield value, str(1 - k)


def _extremes(node: ast.AST) -> Iterator[Change]:
    if _name(node) in EXTREMES:
        yield _with(node, **{"attr" if isinstance(node, ast.Attribute) else "id": EXTREMES[_name(node)]})


#: What can be made wrong at a node of a function.
OPERATORS: dict[str, Callable[[ast.AST, str], Iterator[Change]]] = {
    "comparison turned": lambda node, _: _compared(node, TURNED),
    "comparison negated": lambda node, _: _compared(node, NEGATED),
    "rounding direction": lambda node, _: _rounding(node),
    "off by one": lambda node, _: _off_by_one(node),
    "extremes exchanged": lambda node, _: _extremes(node),
    "field one hop short": lambda node, _: _hop(node),
    "row dropped": lambda node, _: _dropped(node),
    "stale key": _stale,
    "sign changed": lambda node, _: _sign(node),
    "and for or": lambda node, _: _junction(node),
    "guard removed": lambda node, _: _guard(node),
    "index shifted": lambda node, _: _index(node),
}


def _inside(node: ast.AST, function: str = "", within: bool = False) -> Iterator[tuple[str, ast.AST]]:
    """Nodes of functions, with the function's qualified name; no annotations, messages or defaults."""
    if isinstance(node, DEFINITIONS):
        for child in node.body:
            yield from _inside(
                child, f"{function}.{node.name}".strip("."), within or not isinstance(node, ast.ClassDef)
            )
        return
    if isinstance(node, ast.Raise | ast.Assert | ast.expr_context | ast.operator | ast.cmpop):
        return
    if within:
        yield function, node
    for field, value in ast.iter_fields(node):
        if field != "annotation" and not isinstance(node, ast.JoinedStr):
            for child in value if isinstance(value, list) else [value]:
                if isinstance(child, ast.AST):
                    yield from _inside(child, function, within)


def files(root: Path) -> dict[str, str]:
    """The area of every file."""
    found: dict[str, str] = {}
    for area, patterns in AREAS.items():
        for path in sorted(path for pattern in patterns.split() for path in root.glob(pattern)):
            if path.parent.name not in OTHERS and path.stem not in LEAVING:
                found.setdefault(path.relative_to(root).as_posix(), area)
    return found


def places(root: Path) -> list[Place]:
    """Every place of every operator."""
    found = dict[Place, None]()
    for file, area in files(root).items():
        source = (root / file).read_text(encoding="utf-8")
        lines = source.split("\n")
        for function, node in _inside(ast.parse(source)):
            for operator, part, text in (
                (name, *one) for name, find in OPERATORS.items() for one in find(node, function)
            ):
                first, last, left, right = (getattr(part, name) for name in POSITION)
                if last - first < LONGEST:  # columns count bytes
                    head, tail = lines[first - 1].encode()[:left].decode(), lines[last - 1].encode()[right:].decode()
                    before, after = "\n".join(lines[first - 1 : last]).strip(), (head + text + tail).strip()
                    found[Place(area, operator, file, first, function, before, after)] = None
    return list(found)


@lru_cache(maxsize=256)
def span(source: str, function: str) -> range:
    """Line numbers (from 0) of a function; empty if there is none of that name."""
    node: ast.AST = ast.parse(source)
    for name in function.split("."):
        bodies = (child for child in ast.walk(node) if isinstance(child, DEFINITIONS) and child.name == name)
        if (node := next(bodies, ast.Pass())) and not isinstance(node, DEFINITIONS):
            return range(0)
    return range(node.lineno - 1, node.end_lineno or 0)  # type: ignore[attr-defined]


def windows(lines: list[str], where: range, before: str) -> list[int]:
    """Where the lines of `before` stand, however far they are indented."""
    wanted = [line.strip() for line in before.split("\n")]
    size = len(wanted)
    return [k for k in where if [line.strip() for line in lines[k : k + size]] == wanted]


def applied(source: str, place: Place) -> str | None:
    """The mutated source; None if the function or its line is not there (any more)."""
    lines = source.split("\n")
    at = windows(lines, span(source, place.function), place.before)
    if place.occurrence >= len(at):
        return None
    first = at[place.occurrence]
    indent = lines[first][: len(lines[first]) - len(lines[first].lstrip())]
    lines[first : first + len(place.before.split("\n"))] = [indent + place.after]
    changed = "\n".join(lines)
    try:
        compile(changed, place.file, "exec")
    except SyntaxError:
        return None
    return changed


def found_again(root: Path, place: Place) -> Place | None:
    """Where the same line of the same function is now: in its file, or in the only other one that has it."""
    others = [path.relative_to(root).as_posix() for path in sorted((root / "certcore").rglob("*.py"))]
    for files in ([file for file in others if file == place.file], others):
        sources = {file: (root / file).read_text(encoding="utf-8") for file in files}
        fits = [file for file, source in sources.items() if applied(source, place) is not None]
        if len(fits) == 1:
            source = sources[fits[0]]
            at = windows(source.split("\n"), span(source, place.function), place.before)
            return replace(place, file=fits[0], line=at[place.occurrence] + 1)
    return None


def numbered(root: Path, place: Place) -> Place | None:
    """With its number among the equal lines of its function; None where a change does not compile."""
    source = (root / place.file).read_text(encoding="utf-8")
    equal = windows(source.split("\n"), span(source, place.function), place.before)
    if place.line - 1 not in equal:  # the second function of this name
        return None
    found = replace(place, occurrence=equal.index(place.line - 1))
    return None if applied(source, found) is None else found


def draw(root: Path, seed: int, count: int) -> list[Place]:
    """Operators in turn, each in the area with its fewest mutants and the fewest at all so far; one mutant a line."""
    left, drawn = places(root), list[Place]()
    random.Random(seed).shuffle(left)
    areas, both = Counter[str](), Counter[tuple[str, str]]()
    for operator in list(OPERATORS) * count:
        mine = [place for place in left if place.operator == operator and len(drawn) < count]
        for place in sorted(mine, key=lambda place: (both[place.operator, place.area], areas[place.area])):
            found = numbered(root, place)
            if found is not None:
                left = [other for other in left if (other.file, other.line) != (found.file, found.line)]
                drawn.append(found)
                areas[found.area] += 1
                both[found.operator, found.area] += 1
                break
    return drawn
