"""Pages of the documentation that are made when the site is built, from parsers, docstrings and results.

mkdocs calls `on_files`; nothing that is made here is in the repository, so nothing of it can be out of date.
"""

from __future__ import annotations

import argparse
import importlib
import inspect
import re
import sys
from collections.abc import Callable
from pathlib import Path
from types import ModuleType
from typing import Any

ROOT = Path(__file__).resolve().parents[1]
EXAMPLES = ROOT / "docs" / "examples" / "names.py"

#: The Python reference in the order of the data flow: heading, module, and the names to show (None: all public ones).
SECTIONS: tuple[tuple[str, str, tuple[str, ...] | None], ...] = (
    ("The engine", "certcore", None),
    ("Sweeps", "certcore.sweep", None),
    ("Base certificates", "certcore.base", None),
    ("Fields", "certcore.instance.fields", None),
    ("Data", "certcore.data", None),
    ("Noise", "certcore.votes", None),
    ("Votes", "certcore.votes.run", ("Voter", "Votes", "collect_votes")),
    ("Votes of any model", "certcore.votes.function", ("FunctionVoter",)),
    ("Executors", "certcore.common.executor", ("open_executor", "run_tasks")),
    ("Figures", "certcore.figures", None),
    ("Report", "certcore.report", None),
)


def examples() -> dict[str, str]:
    """The parts of the file of examples by the name behind their `# %%`."""
    parts = EXAMPLES.read_text(encoding="utf-8").split("\n# %% ")[1:]
    return {part.split("\n", 1)[0].strip(): part.split("\n", 1)[1].strip() for part in parts}


def public_names(module: ModuleType) -> list[str]:
    """What a module offers: its `__all__`, or the functions and classes that are defined in it."""
    listed = getattr(module, "__all__", None)
    if listed is not None:
        return [name for name in listed if not name.startswith("__")]
    return [
        name
        for name, value in vars(module).items()
        if not name.startswith("_") and callable(value) and getattr(value, "__module__", "") == module.__name__
    ]


def python_reference() -> str:
    """One entry for each public name, from its docstring; those of the engine with their example."""
    shown = examples()
    parts = [
        "# Python\n",
        "The examples continue these lines, each by itself; what a line prints stands behind it.\n",
        f"```python\n{shown['setup']}\n```\n",
    ]
    seen: set[int] = set()
    for heading, module_name, names in SECTIONS:
        module = importlib.import_module(module_name)
        parts.append(f"## {heading}\n\n`{module_name}`: {' '.join((module.__doc__ or '').split('.')[0].split())}.\n")
        for name in names or public_names(module):
            value = getattr(module, name)
            # Some names are offered in two places; the first one tells about them.
            if id(value) in seen:
                continue
            seen.add(id(value))
            if inspect.isclass(value) or inspect.isfunction(value):
                parts.append(f"::: {value.__module__}.{value.__qualname__}\n")
            else:
                parts.append(f"### {name}\n\n```python\n{name} = {_short(value)}\n```\n")
            if module_name == "certcore":
                parts.append(f"```python\n{shown[name]}\n```\n")
    return "\n".join(parts)


def _short(value: Any) -> str:
    return "{" + ", ".join(f'"{key}": …' for key in value) + "}" if isinstance(value, dict) else repr(value)


def command_reference() -> str:
    """Every command with its options, as `--help` prints them."""
    from certcore.cli import build_parser
    from experiments import commands

    parts = [
        "# Commands\n",
        "What `certcore COMMAND --help` prints. `certcore-check PROOF INSTANCE` is the "
        "[small checker](../tutorials/check-a-claim.md).\n",
    ]
    for name, parser in _children(build_parser()):
        parts.append(f"## {name}\n\n```text\n{_help(parser)}\n```\n")
        for child, inner in _children(parser):
            parts.append(f"### {name} {child}\n\n```text\n{_help(inner)}\n```\n")
    parts.append("## In the repository\n\nWhat made the shipped bundles.\n")
    for name, parser in _children(commands.build_parser()):
        parts.append(f"### experiments {name}\n\n```text\n{_help(parser)}\n```\n")
    return "\n".join(parts)


def _children(parser: argparse.ArgumentParser) -> list[tuple[str, argparse.ArgumentParser]]:
    choices = [action.choices for action in parser._actions if isinstance(action, argparse._SubParsersAction)]
    return [(name, child) for found in choices for name, child in found.items()]


def _help(parser: argparse.ArgumentParser) -> str:
    parser.formatter_class = type("Wide", (parser.formatter_class,), {"__init__": _wide(parser.formatter_class)})
    return parser.format_help().strip()


def _wide(formatter: Any) -> Callable[..., None]:
    """The same help at a width of its own, wherever the site is built."""

    def start(self: Any, prog: str, **options: Any) -> None:
        formatter.__init__(self, prog, width=100)

    return start


def reproduction() -> str:
    """The paper's claims next to ours, from the stored results."""
    from experiments.source import RESULTS
    from experiments.store import Results
    from experiments.table import page

    return page(Results(RESULTS))[0]


def from_top(name: str) -> Callable[[], str]:
    """A document of the repository outside of docs/, its links as the site needs them."""

    def read() -> str:
        text = (ROOT / name).read_text(encoding="utf-8")
        text = re.sub(r"\]\((?:\.\./)?docs/", "](", text)
        return text.replace("](benchmarks/RESULTS.md", "](explanation/benchmarks.md")

    return read


#: Address of a page, and what writes it.
PAGES: dict[str, Callable[[], str]] = {
    "reference/commands.md": command_reference,
    "reference/python.md": python_reference,
    "explanation/reproduction.md": reproduction,
    "explanation/benchmarks.md": from_top("benchmarks/RESULTS.md"),
    "changelog.md": from_top("CHANGELOG.md"),
    "contributing.md": from_top("CONTRIBUTING.md"),
}


def on_files(files: Any, config: Any) -> Any:
    """mkdocs: add the generated pages to those of the folder."""
    from mkdocs.structure.files import File

    sys.path.insert(0, str(ROOT))
    for address, write in PAGES.items():
        files.append(File.generated(config, address, content=write()))
    return files
