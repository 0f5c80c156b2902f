"""Write docs/api.md from the docstrings of the public functions and classes.

python docs/build_api.py            write the file
python docs/build_api.py --check    exit code 1 if it is not up to date
"""

from __future__ import annotations

import ast
import dataclasses
import enum
import importlib
import inspect
import sys
import textwrap
from functools import cached_property
from pathlib import Path
from types import ModuleType
from typing import Any

ROOT = Path(__file__).resolve().parents[1]
TARGET = ROOT / "docs" / "api.md"
EXAMPLES = ROOT / "docs" / "examples" / "names.py"

#: Sections in the order of the data flow: heading, module, and the names to show (None: all public ones).
SECTIONS: tuple[tuple[str, str, tuple[str, ...] | None], ...] = (
    ("The engine", "certcore", None),
    ("Sweeps", "certcore.sweep", None),
    ("Base certificates", "certcore.base", None),
    ("Fields", "certcore.instance.fields", None),
    ("Data", "certcore.data", None),
    ("Models", "certcore.models", None),
    ("Training", "certcore.training", None),
    ("Noise", "certcore.votes", None),
    ("Votes", "certcore.votes.run", ("Voter", "Votes", "collect_votes")),
    ("Votes of any model", "certcore.votes.function", ("FunctionVoter",)),
    ("Bundles", "certcore.pipeline.bundle", ("BundleRecipe", "make_bundle", "smoothed_instance")),
    ("Executors", "certcore.common.executor", ("open_executor", "run_tasks")),
    ("Figures", "certcore.figures", None),
    ("Exports", "certcore.export", None),
)

HEAD = """\
# Public functions and classes

Written by `python docs/build_api.py` from the docstrings; change those, not this file. How the parts fit together is
in [architecture.md](architecture.md), worked examples are in [guide.md](guide.md).
"""

#: Above the examples of the first section.
START = """\
The examples below continue these lines, each by itself; what a line prints stands behind it
([examples/names.py](examples/names.py), run by the tests).

```python
{setup}
```
"""


def main(arguments: list[str]) -> int:
    text = build()
    if "--check" in arguments:
        if TARGET.exists() and TARGET.read_text(encoding="utf-8") == text:
            return 0
        print("docs/api.md is not up to date; run: python docs/build_api.py", file=sys.stderr)
        return 1
    TARGET.write_text(text, encoding="utf-8")
    print(f"wrote {TARGET.relative_to(ROOT)}")
    return 0


def build() -> str:
    """The whole page."""
    parts = [HEAD]
    shown = examples()
    contents = []
    seen: set[int] = set()
    for heading, module_name, names in SECTIONS:
        module = importlib.import_module(module_name)
        contents.append(f"- [{heading}](#{slug(heading)}) – `{module_name}`")
        parts.append(f"## {heading}\n\n`{module_name}`: {sentence(module.__doc__ or '')}\n")
        if module_name == "certcore":
            parts.append(START.format(setup=shown["setup"]))
        for name in names or public_names(module):
            value = getattr(module, name)
            # Some names are offered in two places; the first one tells about them.
            if id(value) not in seen:
                seen.add(id(value))
                parts.append(describe(module, name))
                if module_name == "certcore":
                    parts.append(f"Example:\n\n```python\n{shown[name]}\n```\n")
    parts.insert(1, "\n".join(contents) + "\n")
    return "\n".join(parts).rstrip() + "\n"


def examples() -> dict[str, str]:
    """The parts of the file of examples by the name behind their `# %%`."""
    parts = EXAMPLES.read_text(encoding="utf-8").split("\n# %% ")[1:]
    return {part.split("\n", 1)[0].strip(): part.split("\n", 1)[1].strip() for part in parts}


def slug(heading: str) -> str:
    """The anchor that Markdown viewers give a heading."""
    kept = [c for c in heading.lower() if c.isalnum() or c in " -_"]
    return "".join(kept).replace(" ", "-")


def public_names(module: ModuleType) -> list[str]:
    """What a module offers: its `__all__`, or the functions and classes that are defined in it."""
    listed = getattr(module, "__all__", None)
    if listed is not None:
        return [name for name in listed if not name.startswith("__")]
    return [
        name
        for name, value in vars(module).items()
        if not name.startswith("_")
        and (inspect.isclass(value) or inspect.isfunction(value))
        and value.__module__ == module.__name__
    ]


def describe(module: ModuleType, name: str) -> str:
    """One entry: signature, docstring, and for classes their public members."""
    value = getattr(module, name)
    if inspect.isclass(value):
        return describe_class(name, value)
    if callable(value):
        return f"### {name}\n\n```python\n{signature(name, value)}\n```\n\n{doc(value)}\n"
    about = constant_doc(module, name)
    shown = "{" + ", ".join(f'"{key}": …' for key in value) + "}" if isinstance(value, dict) else repr(value)
    shown = shown.replace("'", '"')
    return f"### {name}\n\n```python\n{name} = {shown}\n```\n" + (f"\n{about}\n" if about else "")


def describe_class(name: str, cls: type) -> str:
    lines = [f"### {name}\n"]
    if issubclass(cls, enum.Enum):
        lines.append(f"{doc(cls)}\n")
        told = field_docs(cls)
        lines += [f"- `{member.value}` – {sentence(told.get(member.name, member.name))}" for member in cls]
        return "\n".join(lines) + "\n"
    if not getattr(cls, "_is_protocol", False) and not issubclass(cls, Exception):
        lines.append(f"```python\n{signature(name, cls)}\n```\n")
    lines.append(f"{doc(cls)}\n")
    ours = [kind for kind in reversed(cls.__mro__) if kind.__module__.startswith("certcore.")]
    told = {field: text for kind in ours for field, text in field_docs(kind).items()}
    lines += [f"- `{field}` – {sentence(text)}" for field, text in told.items()]
    members = {member: value for kind in ours for member, value in vars(kind).items() if not member.startswith("_")}
    lines += [shown for member, value in members.items() if (shown := describe_member(member, value))]
    return "\n".join(lines) + ("" if lines[-1].endswith("\n") else "\n")


def field_docs(cls: type) -> dict[str, str]:
    """Sentences that stand below the fields of a class in its source."""
    tree = ast.parse(textwrap.dedent(inspect.getsource(cls))).body[0]
    assert isinstance(tree, ast.ClassDef)
    found = {}
    for field, below in zip(tree.body, tree.body[1:]):
        if isinstance(field, ast.AnnAssign):
            target: ast.expr = field.target
        elif isinstance(field, ast.Assign):
            target = field.targets[0]
        else:
            continue
        value = below.value if isinstance(below, ast.Expr) else None
        if isinstance(target, ast.Name) and isinstance(value, ast.Constant) and isinstance(value.value, str):
            found[target.id] = value.value
    return found


def describe_member(name: str, value: Any) -> str | None:
    """A property or method as one item of a list; data fields stand in the signature already."""
    function = value
    if isinstance(value, property):
        function, head = value.fget, f"`{name}`"
    elif isinstance(value, cached_property):
        function, head = value.func, f"`{name}`"
    elif isinstance(value, classmethod | staticmethod):
        function = value.__func__
        head = f"`{signature(name, function, skip_first=isinstance(value, classmethod))}`"
    elif inspect.isfunction(value):
        head = f"`{signature(name, value, skip_first=True)}`"
    else:
        return None
    text = inspect.getdoc(function)
    return f"- {' '.join(head.split())}" + (f" – {sentence(text)}" if text else "")


def signature(name: str, value: Any, *, skip_first: bool = False) -> str:
    """A call as one would write it; defaults that are objects are shown by name."""
    found = inspect.signature(value)
    parameters = list(found.parameters.values())[1 if skip_first else 0 :]
    parts, keyword_only = [], False
    for parameter in parameters:
        if parameter.kind is parameter.KEYWORD_ONLY and not keyword_only:
            keyword_only = True
            if not any(p.kind is p.VAR_POSITIONAL for p in parameters):
                parts.append("*")
        stars = {parameter.VAR_POSITIONAL: "*", parameter.VAR_KEYWORD: "**"}.get(parameter.kind, "")
        text = f"{stars}{parameter.name}"
        if parameter.annotation is not parameter.empty:
            text += f": {annotation(parameter.annotation)}"
        if parameter.default is not parameter.empty:
            text += f" = {default(parameter.default)}"
        parts.append(text)
    answer = "" if found.return_annotation is found.empty else f" -> {annotation(found.return_annotation)}"
    if inspect.isclass(value):
        answer = ""
    line = f"{name}({', '.join(parts)}){answer}"
    if len(line) <= 100 or skip_first:
        return line
    return f"{name}(\n    " + ",\n    ".join(parts) + f",\n){answer}"


def annotation(value: Any) -> str:
    return value if isinstance(value, str) else inspect.formatannotation(value)


def default(value: Any) -> str:
    if inspect.isclass(value) or inspect.isfunction(value):
        return "…" if value.__name__ == "<lambda>" else value.__name__
    if isinstance(value, enum.Enum):
        return repr(str(value))  # what people write
    if type(value).__name__ == "_HAS_DEFAULT_FACTORY_CLASS":
        return "…"
    return repr(value)


def doc(value: Any) -> str:
    """The docstring of an object itself; what a dataclass writes for us is no docstring."""
    text = inspect.cleandoc(value.__doc__ or "")
    if dataclasses.is_dataclass(value) and text.startswith(f"{getattr(value, '__name__', '')}("):
        return ""
    return text


def sentence(text: str) -> str:
    """The first paragraph on one line."""
    return " ".join(inspect.cleandoc(text).split("\n\n")[0].split())


def constant_doc(module: ModuleType, name: str) -> str:
    """The `#:` comment above a constant, searched where the constant is defined."""
    for candidate in [module, *[m for m in sys.modules.values() if m and getattr(m, name, None) is not None]]:
        if not getattr(candidate, "__name__", "").startswith("certcore"):
            continue
        lines = inspect.getsource(candidate).splitlines()
        for number, line in enumerate(lines):
            if line.startswith((f"{name} =", f"{name}:")):
                above = []
                while number and lines[number - 1].startswith("#:"):
                    number -= 1
                    above.insert(0, lines[number].removeprefix("#:").strip())
                return " ".join(above)
    return ""


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
