"""The settings of a view: their names, default values and parsers.

One table serves page addresses, the options of `certcore draw` and JSON; see `view_spec.py`. The input is untrusted:
invalid text raises a ValueError that states what was expected.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

from certcore.common import packing
from certcore.common.errors import InputError
from certcore.common.numbers import parse_nodes, write_nodes
from certcore.domain.perturbations import TYPES, entry_of

#: The largest budget of a slider, a field or a link. The engine itself accepts more.
MAX_BUDGET = 1_000_000
#: LONG: from this length on, a list of nodes is packed in links. LONGEST: the longest accepted text of one setting. It
#: fits any selection among 100,000 nodes, and the length limits of servers and browsers.
LONG, LONGEST = 200, 20_000


def whole(low: int = 0, high: int = MAX_BUDGET) -> Callable[[str], int]:
    """A parser of whole numbers in a range."""

    def read(text: str) -> int:
        if not re.fullmatch(r"\d{1,9}", text, flags=re.ASCII) or not low <= int(text) <= high:
            raise ValueError(f"expected a whole number from {low:,} to {high:,}")
        return int(text)

    return read


def share(text: str) -> float:
    """Parse a share from 0 to 100."""
    if not re.fullmatch(r"\d{1,3}(\.\d{1,6})?", text, flags=re.ASCII) or float(text) > 100:
        raise ValueError("expected a share such as 0.25, at most 100")
    return float(text)


def length(text: str) -> float:
    """Parse a length, a decimal of at least 0."""
    if not re.fullmatch(_LENGTH, text, flags=re.ASCII) or float(text) > 10**9:
        raise ValueError("expected a decimal number such as 0.3")
    return float(text)


def one_of(*choices: str) -> Callable[[str], str]:
    """A parser that accepts one of these choices."""

    def read(text: str) -> str:
        if text not in choices:
            raise ValueError(f"expected {' or '.join(choices)}")
        return text

    return read


def flag(text: str) -> bool:
    return one_of("1", "0")(text) == "1"


def words(*choices: str) -> Callable[[str], list[str]]:
    """A parser of several choices, separated by commas."""

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


def any_text(text: str) -> str:
    """Text that is parsed later, where it is used."""
    return text


def several(text: str) -> list[str]:
    """Parse names, separated by commas."""
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
class Setting:
    """One setting: its default value, its parser, and a pattern of further values that figures accept."""

    first: Any
    read: Callable[[str], Any]
    also: str = ""
    """Further values that only `certcore draw` accepts, as a regular expression."""
    numbers: bool = False
    """Whether it is a list of numbers and ranges such as 0:10,20; shares may be decimals."""
    metavar: str = ""
    help: str = ""
    """Help text of the option of `certcore draw`; settings without it have no such option."""
    group: str = ""

    def check(self, text: str) -> None:
        """Raise a ValueError unless a page or a figure accepts this text."""
        if not (self.also and re.fullmatch(self.also, text, flags=re.ASCII)):
            self.read(text)


#: One local budget per node, or one number beyond the range of the sliders.
_COUNTS = r"\d{1,18}(,\d{1,18})*"
_LENGTH = r"\d{1,18}(\.\d{1,18})?"
_SHARES = r"\d{1,18}([./]\d{1,18})?(,\d{1,18}([./]\d{1,18})?)*"
_RATIOS = r"none|[01](\.\d{1,18})?(,[01](\.\d{1,18})?)*"
_VALUES = "A:B:STEP,…"
_VALUES_HELP = "numbers and ranges (both ends included), such as 0,1,2,5,10:100:10"


@lru_cache(maxsize=4)
def _shared(types: tuple[str, ...]) -> dict[str, Setting]:
    entries = [entry_of(name) for name in types]
    limited = [entry for entry in entries if not entry.brings_nodes]
    return {
        "instance": Setting("", short_text),
        **{entry.name: Setting(0, length if entry.lengths else whole(), r"\d{1,18}") for entry in entries},
        "local": Setting("off", one_of("off", "absolute", "relative")),
        **{
            f"local_{entry.name}": Setting(None, *((length, _SHARES) if entry.lengths else (whole(), _COUNTS)))
            for entry in limited
        },
        **{f"share_{entry.name}": Setting(None, share, _SHARES) for entry in limited},
        **{entry.local_name: Setting(None, whole(), r"\d{1,18}") for entry in entries if entry.brings_nodes},
        "sigma": Setting(None, whole(), r"\d{1,18}"),
        "targets": Setting("file", one_of("file", "test", "all", "class", "chosen")),
        "class": Setting(0, whole(), r"[^,]{1,200}"),
        "nodes": Setting("", node_text),
        "right": Setting(False, flag),
        "relaxation": Setting("tight", one_of("tight", "paper", "exact")),
        "strengthen": Setting(False, flag),
        "limit": Setting(30, whole(1, 600), r"\d{1,6}(\.\d{1,6})?"),
        "rule": Setting("binary", one_of("binary", "multiclass")),
        "protect": Setting("", node_text),
    }


def shared() -> dict[str, Setting]:
    """Settings of every page: instance, threat model, targets and solver options."""
    return _shared(tuple(TYPES))


@lru_cache(maxsize=4)
def _every(types: tuple[str, ...]) -> dict[str, Setting]:
    return _shared(types) | FIGURE


def every() -> dict[str, Setting]:
    """All settings in the order in which they are written; perturbation types may be registered at run time."""
    return _every(tuple(TYPES))


def only_with(name: str) -> dict[str, Any]:
    """Other settings and values, one of which must hold for this setting to have an effect; otherwise links omit it."""
    if name.removeprefix("local_") in TYPES and name not in TYPES:
        return {"local": "absolute"}
    if name.removeprefix("share_") in TYPES and name not in TYPES:
        return {"local": "relative"}
    return _ONLY_WITH.get(name, {})


_ONLY_WITH: dict[str, dict[str, Any]] = {
    "class": {"targets": "class"},
    "nodes": {"targets": "chosen"},
    "strengthen": {"relaxation": "tight"},
    "limit": {"relaxation": "exact", "strengthen": True},
    "accuracy_of": {"right": True},
}
#: Settings that have an effect for some kinds of figures only.
ONLY_FOR = {"bracket": ("curve",), "within_base": ("curve", "map", "classes", "front", "graph")}
_LINES, _MAP, _GRAPH = "curve and compare", "map (x and y also: base, front)", "graph, front and votes"
_PRINT = "print"
#: Settings of figures that pages do not share, by the name of their option.
FIGURE = {
    "with": Setting(None, several),
    "attr_l2_sum": Setting(None, any_text, _LENGTH),
    "node_costs": Setting("", any_text),
    "edge_costs": Setting("", any_text),
    "rounds": Setting(None, whole()),
    "within_base": Setting(
        True, flag, group="threat model",
        help="local budgets no larger than the base certificate was made for, as the dashboard has them",
    ),
    "vary": Setting("", short_text, metavar="TYPE|local-TYPE|sigma", help="what to vary", group=_LINES),
    "to": Setting(None, whole(1, 20_000), metavar="N", help="the largest value on the axis", group=_LINES),
    "every": Setting(False, flag, help="every integer, to where nothing is certified any more", group=_LINES),
    "values": Setting("", any_text, numbers=True, metavar=_VALUES, help=_VALUES_HELP, group=_LINES),
    "family": Setting(
        "none", one_of("none", "local", "sigma"), r"local[_-][a-z_-]+", metavar="local-TYPE|sigma",
        help="one line for each of several budgets …", group=_LINES,
    ),
    "members": Setting(
        "1, 2, 5", short_text, numbers=True, metavar=_VALUES, help="… and which (default: 1,2,5)", group=_LINES
    ),
    "splits": Setting(False, flag, help="the mean over all splits that lie beside this file", group=_LINES),
    "bracket": Setting(
        "auto", any_text, numbers=True, metavar=f"auto|{_VALUES}", group=_LINES,
        help="of a single line: look for attacks at these values, and draw the band up to what the best one leaves",
    ),
    "left": Setting(
        "", any_text, metavar="X/Y/N,…", group=_MAP,
        help="attacks found earlier, at X and Y, which left N targets uncertified: look for none",
    ),
    "accuracy_of": Setting(
        "all", one_of("all", "none"), r"\d{1,9}", metavar="all|N", group=_LINES,
        help="with --targets correct: ratios of all targets, or of so many, which makes them certified accuracies",
    ),
    "paper": Setting(False, flag, help="add lines of the paper's relaxation", group=_LINES),
    "no_naive": Setting(False, flag, help="leave out the naive count", group=_LINES),
    "log": Setting(False, flag, help="logarithmic axis", group=_LINES),
    "names": Setting([], several),
    "x": Setting("", short_text, metavar="TYPE|sigma", help="what varies along x", group=_MAP),
    "x_to": Setting(None, whole(1, 20_000), metavar="N", help="the largest value along x", group=_MAP),
    "x_values": Setting("", any_text, numbers=True, metavar=_VALUES, help=_VALUES_HELP, group=_MAP),
    "y": Setting("", short_text, metavar="TYPE|sigma", help="what varies along y", group=_MAP),
    "y_to": Setting(None, whole(1, 20_000), metavar="N", help="the largest value along y", group=_MAP),
    "y_values": Setting("", any_text, numbers=True, metavar=_VALUES, help=_VALUES_HELP, group=_MAP),
    "show": Setting(
        "ratio", one_of("ratio", "naive", "paper", "bracket"), metavar="ratio|naive|paper|bracket", group=_MAP,
        help="the certified ratio, the gain over the naive count or over the paper, or how far the proven bound and "
        "the best attack found are apart (default: ratio)",
    ),
    "levels": Setting(
        ["0.5", "0.7"], words(*(f"0.{k}" for k in range(1, 10))), _RATIOS, metavar="R,R,…", group=_MAP,
        help="contour lines at these ratios, or `none` (default: 0.5,0.7)",
    ),
    "node": Setting(None, whole(), metavar="N", help="which node", group=_GRAPH),
    "attack": Setting(
        "", any_text, metavar="TEXT", group=_GRAPH,
        help="replay this attack (attr_del@NODExCOUNT, adj_del@NODE-NODE, attacker@NODE, separated by commas) instead "
        "of looking for one",
    ),
    "adversary": Setting("attack", one_of("attack", "model", "relaxed", "both")),
    "palette": Setting(
        "state", one_of("state", "class", "margin", "correct"), metavar="state|class|margin|correct", group=_GRAPH,
        help="what colours mean (default: state)",
    ),
    "only": Setting(
        "", any_text, metavar="STATE,…", help="fade nodes in other states, such as lost,before", group=_GRAPH
    ),
    "width": Setting(
        "one-column", one_of("one-column", "two-column"), r"\d{1,2}(\.\d{1,4})?", metavar="one-column|two-column|CM",
        help="8.5 or 17.5 cm, or centimetres (default: one-column)", group=_PRINT,
    ),
    "font": Setting("sans", one_of("sans", "serif"), metavar="sans|serif", help="default: sans", group=_PRINT),
    "labels": Setting(
        "auto", one_of("auto", "legend", "none"), metavar="auto|legend|none", group=_PRINT,
        help="labels at the lines where they fit and else in a legend, always in a legend, or none (default: auto)",
    ),
    "no_marker": Setting(False, flag, help="leave out the mark of the present budget", group=_PRINT),
    "no_table": Setting(False, flag, help="leave out the table below a comparison", group=_PRINT),
    "title": Setting(False, flag, help="draw the title", group=_PRINT),
    "texts": Setting([], several),
    "zoomed": Setting(False, flag, help="only the part of the graph where the attack is", group=_GRAPH),
}  # fmt: skip
