"""The rows of the page of benchmarks: one function each, grouped by the files of this folder.

A row's function measures and returns a `Figure`. `python -m benchmarks.run [ROW …]` (`make bench`) calls it, stores
what it found in the JSON file beside the row's module, and draws the page at the top of RESULTS.md from all stored
figures. The rows of one file share a process. The first line of a file is its heading on the page.
"""

from __future__ import annotations

import importlib
import json
import os
import pkgutil
import time
from collections import Counter
from collections.abc import Callable
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

YES, NO, OPEN = "yes", "**no**", "not measured"
HERE = Path(__file__).resolve().parent


@dataclass(frozen=True)
class Figure:
    """What a row found."""

    ours: float
    reference: float | None = None
    """The same quantity of what it is compared with."""
    detail: str = ""
    """One sentence for the details below the page: settings, distribution, what was compared."""


@dataclass(frozen=True)
class Row:
    """One line of the page and how it is measured."""

    what: str
    unit: str
    """Unit of `ours` and `reference`: "s" is shown as milliseconds where small."""
    against: str
    """What the reference is: "CVXPY", "before", or nothing."""
    ratio: float | None
    """Goal: the reference is at least this many times ours."""
    at_most: float | None
    """Goal: ours is at most this."""
    at_least: float | None
    measure: Callable[[], Figure]
    group: str

    @property
    def name(self) -> str:
        return f"{self.group}.{self.measure.__name__}"


ROWS: dict[str, Row] = {}


def row(
    what: str,
    *,
    unit: str = "s",
    against: str = "",
    ratio: float | None = None,
    at_most: float | None = None,
    at_least: float | None = None,
) -> Callable[[Callable[[], Figure]], Callable[[], Figure]]:
    """Register a function as a row of the page; the goal is one of `ratio`, `at_most` and `at_least`, or none."""

    def enter(measure: Callable[[], Figure]) -> Callable[[], Figure]:
        group = measure.__module__.rpartition(".")[2]
        new = Row(what, unit, against, ratio, at_most, at_least, measure, group)
        ROWS[new.name] = new
        return measure

    return enter


def all_rows() -> dict[str, Row]:
    """All rows by name, file after file."""
    for module in pkgutil.iter_modules([str(HERE)]):
        importlib.import_module(f"{__name__}.{module.name}")
    return ROWS


def store(name: str, figure: Figure) -> None:
    """Keep a figure with its date and the machine's load."""
    path = HERE / f"{name.partition('.')[0]}.json"
    stored = json.loads(path.read_text(encoding="utf-8")) if path.exists() else {}
    stored[name.partition(".")[2]] = asdict(figure) | {
        "date": time.strftime("%Y-%m-%d"),
        "load": round(os.getloadavg()[0], 1),
    }
    path.write_text(json.dumps(dict(sorted(stored.items())), indent=1, ensure_ascii=False) + "\n", encoding="utf-8")


def stored() -> dict[str, dict[str, Any]]:
    """The stored figures by the names of their rows."""
    found = {path.stem: json.loads(path.read_text(encoding="utf-8")) for path in sorted(HERE.glob("*.json"))}
    return {f"{group}.{name}": one for group, entries in found.items() for name, one in entries.items()}


def page() -> str:
    """The page in Markdown: one line a row, then one sentence a row."""
    found = stored()
    head = ("", "ours", "reference", "ratio", "goal", "met")
    lines, details = [], []
    group = ""
    for name, one in all_rows().items():
        if one.group != group:
            group, module = one.group, importlib.import_module(one.measure.__module__)
            lines.append(f"| **{module.__doc__}** |" + " |" * (len(head) - 1))
        figure = found.get(name)
        lines.append("| " + " | ".join(cells(one, figure)) + " |")
        if figure is not None:
            detail = f": {figure['detail']}" if figure["detail"] else ""
            details.append(f"- `{name}`, {figure['date']}, load {figure['load']}{detail}")
    said = Counter(met(one, found.get(name)) for name, one in all_rows().items())
    summary = f"{said[YES]} goals are met, {said[NO]} missed, {said[OPEN]} not measured."
    return "\n".join(
        [summary, "", "| " + " | ".join(head) + " |", "|" + "---|" * len(head), *lines, "", "### Details", "", *details]
    )


def cells(one: Row, figure: dict[str, Any] | None) -> list[str]:
    """The cells of one line."""
    if figure is None:
        return [one.what, "", "", "", goal(one), met(one, figure)]
    ours, reference = figure["ours"], figure["reference"]
    return [
        one.what,
        amount(ours, one.unit),
        "" if reference is None else f"{amount(reference, one.unit)} ({one.against})",
        "" if reference is None or one.unit != "s" else times(reference / ours),
        goal(one),
        met(one, figure),
    ]


def goal(one: Row) -> str:
    if one.ratio is not None:
        return f"≥ {times(one.ratio)}"
    if one.at_most is not None:
        return f"≤ {amount(one.at_most, one.unit)}" if one.at_most else "0"
    return "" if one.at_least is None else f"≥ {amount(one.at_least, one.unit)}"


def met(one: Row, figure: dict[str, Any] | None) -> str:
    if goal(one) == "":
        return ""
    if figure is None:
        return OPEN
    ours, reference = figure["ours"], figure["reference"]
    if one.ratio is not None:
        reached = reference is not None and reference >= one.ratio * ours
    else:
        reached = ours <= one.at_most if one.at_most is not None else ours >= (one.at_least or 0)
    return YES if reached else NO


def times(ratio: float) -> str:
    return f"{ratio:,.0f}×" if ratio >= 10 else f"{ratio:.1f}×"


def amount(value: float, unit: str) -> str:
    """A number a person reads: three digits, milliseconds where they are few."""
    if unit == "s" and value < 1:
        value, unit = 1000 * value, "ms"
    digits = 0 if value >= 100 or value == int(value) else 1 if value >= 10 else 2
    return f"{value:,.{digits}f} {unit}".rstrip()
