"""The parameters of a view: name, reader, default and help, once for the links of the dashboard and for other clients.

Texts are untrusted: a reader raises a ValueError that says what was expected.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from certcore.common import packing
from certcore.common.errors import InputError
from certcore.common.numbers import parse_nodes, write_nodes
from certcore.domain.perturbations import LABELS, TABLE, TYPES

#: The largest budget of a slider, a field or a link. The engine itself accepts more.
MAX_BUDGET = 1_000_000
#: Node lists of this length are packed in links.
LONG = 200
#: The longest accepted text of one parameter: any selection among 100,000 nodes, below the limits of browsers.
LONGEST = 20_000


def whole(low: int = 0, high: int = MAX_BUDGET) -> Callable[[str], int]:
    """A reader of whole numbers in a range."""

    def read(text: str) -> int:
        if not re.fullmatch(r"\d{1,9}", text, flags=re.ASCII) or not low <= int(text) <= high:
            raise ValueError(f"expected a whole number from {low:,} to {high:,}")
        return int(text)

    return read


def share(text: str) -> float:
    """Read a share from 0 to 100."""
    if not re.fullmatch(r"\d{1,3}(\.\d{1,6})?", text, flags=re.ASCII) or float(text) > 100:
        raise ValueError("expected a share such as 0.25, at most 100")
    return float(text)


def length(text: str) -> float:
    """Read a length, a decimal of at least 0."""
    if not re.fullmatch(r"\d{1,18}(\.\d{1,18})?", text, flags=re.ASCII) or float(text) > 10**9:
        raise ValueError("expected a decimal number such as 0.3")
    return float(text)


def one_of(*choices: str) -> Callable[[str], str]:
    """A reader that accepts one of these choices."""

    def read(text: str) -> str:
        if text not in choices:
            raise ValueError(f"expected {' or '.join(choices)}")
        return text

    return read


def _relaxation(text: str) -> str:
    if text == "exact":
        raise ValueError("expected tight or paper; `certcore certify --relaxation exact` asks the integer program")
    return one_of("tight", "paper")(text)


def flag(text: str) -> bool:
    return one_of("1", "0")(text) == "1"


def words(*choices: str) -> Callable[[str], list[str]]:
    """A reader of several choices, separated by commas."""

    def read(text: str) -> list[str]:
        return [one_of(*choices)(part) for part in text.split(",") if part]

    return read


def short_text(text: str, most: int = 4000) -> str:
    if len(text) > most:
        raise ValueError(f"expected at most {most:,} characters")
    return text


def long_text(text: str) -> str:
    """Text that may list many nodes."""
    return short_text(text, LONGEST)


def several(text: str) -> list[str]:
    """Read names, separated by commas."""
    return [part for part in short_text(text).split(",") if part]


def node_text(text: str) -> str:
    """A list of nodes, written out or packed."""
    return write_nodes(packing.unpack(long_text(text))) if text.startswith(packing.SIGN) else long_text(text)


def packed_nodes(text: str) -> str:
    """The shortest text of a node list for a link; other text is returned unchanged."""
    if len(text) <= LONG:
        return text
    try:
        shorter = packing.pack(parse_nodes(text, packing.MOST_NODES))
    except InputError:
        return text
    return min(text, shorter, key=len)


def write(value: Any) -> str:
    """A value as text in a link."""
    if isinstance(value, bool):
        return str(int(value))
    return ",".join(map(str, value)) if isinstance(value, list | tuple) else str(value)


@dataclass(frozen=True)
class Parameter:
    """One parameter of a view."""

    name: str
    read: Callable[[str], Any]
    default: Any
    help: str


_LIMITED = [entry for entry in TABLE if not entry.brings_nodes]
#: The question: instance, threat model, targets and solver options.
SHARED = (
    Parameter("instance", short_text, "", "name of an instance"),
    *(Parameter(e.name, length if e.lengths else whole(), 0, f"global budget: {LABELS[e.name]}") for e in TABLE),
    Parameter("local_mode", one_of("off", "absolute", "relative"), "off", "local budgets: none, counts or shares"),
    *(
        Parameter(f"local_{e.name}", length if e.lengths else whole(), None, f"{LABELS[e.name]} at each node")
        for e in _LIMITED
    ),
    *(Parameter(f"share_{e.name}", share, None, f"the same as a share: {LABELS[e.name]}") for e in _LIMITED),
    *(Parameter(e.local_name, whole(), None, f"edges of each of the {e.plural}") for e in TABLE if e.brings_nodes),
    Parameter("sigma", whole(), None, "how many nodes the attacker controls"),
    Parameter("targets", one_of("file", "test", "all", "class", "chosen"), "file", "whose labels are counted"),
    Parameter("class", whole(), 0, "the class, if those of one class are counted"),
    Parameter("nodes", node_text, "", "the nodes, if chosen ones are counted"),
    Parameter("right", flag, False, "count right labels only, for certified accuracy"),
    Parameter("relaxation", _relaxation, "tight", "which program bounds the adversary"),
    Parameter("strengthen", flag, False, "improve the tight bound by the strong search"),
    Parameter("time_limit", whole(1, 600), 30, "seconds of the strong search"),
    Parameter("base_rule", one_of("binary", "multiclass"), "binary", "how votes become base certificates"),
    Parameter("protect", node_text, "", "nodes that cannot be touched"),
)
#: What is drawn.
FIGURE = (
    Parameter("with", several, None, "further instances of a comparison"),
    Parameter("vary", short_text, "", "the axis of a curve"),
    Parameter("to", whole(1, 20_000), None, "the largest value on that axis"),
    Parameter("every", flag, False, "every integer, to where nothing is certified any more"),
    Parameter("family", one_of("none", "local", "sigma"), "none", "one line for each of several budgets …"),
    Parameter("members", short_text, "1, 2, 5", "… and which"),
    Parameter("splits", flag, False, "the mean over all splits"),
    Parameter("paper", flag, False, "lines of the paper's relaxation"),
    Parameter("log", flag, False, "logarithmic axis"),
    Parameter("x", short_text, "", "the horizontal axis of a map"),
    Parameter("x_to", whole(1, 20_000), None, "its largest value"),
    Parameter("y", short_text, "", "the vertical axis of a map"),
    Parameter("y_to", whole(1, 20_000), None, "its largest value"),
    Parameter("show", one_of("ratio", "naive", "paper", "bracket"), "ratio", "what fills the cells of a map"),
    Parameter("levels", words(*(f"0.{k}" for k in range(1, 10))), ["0.5", "0.7"], "level lines of a map"),
)
#: Names that earlier links have, and what they are called now.
FORMER = {"local": "local_mode", "limit": "time_limit", "rule": "base_rule"}

_ONLY_WITH: dict[str, dict[str, Any]] = {
    "class": {"targets": "class"},
    "nodes": {"targets": "chosen"},
    "strengthen": {"relaxation": "tight"},
    "time_limit": {"strengthen": True},
}


def only_with(name: str) -> dict[str, Any]:
    """Other parameters and values, one of which must hold for this one to have an effect; otherwise links omit it."""
    kind, _, of = name.partition("_")
    if of in TYPES and kind in ("local", "share"):
        return {"local_mode": "absolute" if kind == "local" else "relative"}
    return _ONLY_WITH.get(name, {})
