"""The view: everything the sidebar says, as the objects the engine takes, and as a link."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np
import streamlit as st
from streamlit.runtime.scriptrunner import get_script_run_ctx

from certcore.common.errors import InputError
from certcore.domain.base_rule import BaseRule
from certcore.domain.perturbations import TABLE, TYPES, entry_of, preferred
from certcore.domain.threat import ThreatModel
from certcore.instance.instance import Instance
from certcore.instance.local_limits import most_per_node as most_per_node
from certcore.instance.local_limits import within_base as within_base
from certcore.program.relaxation import Relaxation
from certcore.sweep.family import Question

from ..messages.text import plain
from . import packing

#: A control's value at the start, and how its text in a link is read (ValueError: nonsense, says what was expected).
Control = tuple[Any, Callable[[str], Any]]

MAX_BUDGET = 1_000_000
#: From this length on a list of nodes is packed in links; and the longest text that a link may give for one control:
#: room for any selection among 100,000 nodes, and little enough for every server and browser on the way.
LONG, LONGEST = 200, 20_000
#: The budget a first view starts with, on the first type that the base certificate covers, in this order.
START = {name: entry_of(name).start for name in preferred()}


def whole(low: int = 0, high: int = MAX_BUDGET) -> Callable[[str], int]:
    """Reads a whole number in a range."""

    def read(text: str) -> int:
        if not re.fullmatch(r"\d{1,9}", text, flags=re.ASCII) or not low <= int(text) <= high:
            raise ValueError(f"expected a whole number from {low:,} to {high:,}")
        return int(text)

    return read


def share(text: str) -> float:
    """Reads a share from 0 to 100."""
    if not re.fullmatch(r"\d{1,3}(\.\d{1,6})?", text, flags=re.ASCII) or float(text) > 100:
        raise ValueError("expected a share such as 0.25, at most 100")
    return float(text)


def one_of(*choices: str) -> Callable[[str], str]:
    """Reads one of a few words."""

    def read(text: str) -> str:
        if text not in choices:
            raise ValueError(f"expected {' or '.join(choices)}")
        return text

    return read


def flag(text: str) -> bool:
    return one_of("1", "0")(text) == "1"


def words(*choices: str) -> Callable[[str], list[str]]:
    """Reads several of a few words, separated by commas."""

    def read(text: str) -> list[str]:
        return [one_of(*choices)(part) for part in text.split(",") if part]

    return read


def short_text(text: str, most: int = 4000) -> str:
    if len(text) > most:
        raise ValueError(f"expected at most {most:,} characters")
    return text


def long_text(text: str) -> str:
    """Text that may hold many nodes."""
    return short_text(text, LONGEST)


def node_text(text: str) -> str:
    """Nodes as people write them, or packed."""
    return write_nodes(packing.unpack(long_text(text))) if text.startswith(packing.SIGN) else long_text(text)


def packed_nodes(text: str) -> str:
    """The same nodes as short as a link has them; what names no nodes stays as it is."""
    if len(text) <= LONG:
        return text
    try:
        shorter = packing.pack(parse_nodes(text, packing.MOST_NODES))
    except InputError:
        return text
    return min(text, shorter, key=len)


#: The controls of the sidebar. Each is in the URL under its own name unless it is at its first value.
SHARED: dict[str, Control] = {
    "instance": ("", short_text),
    **{name: (0, whole()) for name in TYPES},
    "local": ("off", one_of("off", "absolute", "relative")),
    **{f"local_{name}": (None, whole()) for name in TYPES},
    **{f"share_{name}": (None, share) for name in TYPES},
    "sigma": (None, whole()),
    "targets": ("file", one_of("file", "test", "all", "class", "chosen")),
    "class": (0, whole()),
    "nodes": ("", node_text),
    "right": (False, flag),
    "relaxation": ("tight", one_of("tight", "paper", "exact")),
    "strengthen": (False, flag),
    "limit": (30, whole(1, 600)),
    "rule": ("binary", one_of("binary", "multiclass")),
    "protect": ("", node_text),
}

#: Controls that count only while another one (or one of several) has a certain value; otherwise they are in no link.
ONLY_WITH: dict[str, dict[str, Any]] = {
    **{f"local_{name}": {"local": "absolute"} for name in TYPES},
    **{f"share_{name}": {"local": "relative"} for name in TYPES},
    "class": {"targets": "class"},
    "nodes": {"targets": "chosen"},
    "strengthen": {"relaxation": "tight"},
    "limit": {"relaxation": "exact", "strengthen": True},
}


@dataclass(frozen=True, eq=False)
class View:
    """What is being looked at: an instance under a threat model, and how to solve it."""

    name: str
    instance: Instance
    threat: ThreatModel
    relaxation: Relaxation
    time_limit: float
    rule: BaseRule
    problem: str | None = None
    strengthen: bool = False
    """Whether the tight number is improved in place by the strong search."""
    counted: np.ndarray | None = None
    """All targets, right or wrong, where only the right labels are certified: what accuracy is a share of."""

    @property
    def targets(self) -> np.ndarray:
        chosen = self.threat.targets if self.threat.targets is not None else self.instance.targets
        assert chosen is not None
        return chosen

    @property
    def key(self) -> tuple[Any, ...]:
        """Equal keys, equal certificates."""
        return (*self.family, self.threat.budgets, self.threat.sigma, self.relaxation, self.time_limit)

    @cached_property
    def family(self) -> tuple[str]:
        """What stays the same while the budgets and σ move; with all that is shown of the instance, since results are
        shared between visitors and carry it."""
        return (Question(self.instance, self.threat, (*TYPES, "sigma")).key,)


def refused(instance: Instance) -> dict[str, str | None]:
    """For each perturbation type None, or the reason why nothing can be certified with a budget of it."""
    fixed = "The receptive fields of this instance hold only while the edges stay as they are."
    refuses = instance.node_field is not None
    return {entry.name: fixed if refuses and not entry.at_nodes else None for entry in TABLE}


def covered(instance: Instance) -> list[str]:
    """The types worth a slider's start, a curve or a map: the base certificate speaks about them."""
    reasons = refused(instance)
    return [name for name in TYPES if name in instance.base.axes and reasons[name] is None]


def parse_nodes(text: str, n_nodes: int) -> np.ndarray:
    """Node indices from text such as `3, 17, 20-25`."""
    found: set[int] = set()
    for part in re.split(r"[,;\s]+", text.strip()):
        if not part:
            continue
        match = re.fullmatch(r"(\d{1,9})(?:[-–](\d{1,9}))?", part, flags=re.ASCII)
        first, last = (int(match[1]), int(match[2] or match[1])) if match else (0, -1)
        if not match or first > last or last >= n_nodes:
            raise InputError(
                f"“{part[:20]}” names no node; give indices from 0 to {n_nodes - 1:,} such as “3, 17, 20-25”"
            )
        found.update(range(first, last + 1))
    return np.array(sorted(found), dtype=np.int64)


def write_nodes(nodes: list[int] | np.ndarray) -> str:
    """The shortest text that `parse_nodes` reads back."""
    parts: list[str] = []
    numbers = sorted({int(n) for n in nodes})
    start = 0
    for i, number in enumerate(numbers):
        if i + 1 == len(numbers) or numbers[i + 1] != number + 1:
            parts.append(str(number) if start == i else f"{numbers[start]}-{number}")
            start = i + 1
    return ",".join(parts)


def parameters(own: dict[str, Control] | None = None, **changes: Any) -> dict[str, str]:
    """The URL parameters of the present view, with some changes; what is at its first value or idle is left out."""
    known = SHARED | (own or {})
    memory = st.session_state.get("_view", {})
    values = {key: memory.get(key, control[0]) for key, control in known.items()} | changes
    result = {
        key: packed_nodes(_write(value)) if key in known and known[key][1] is node_text else _write(value)
        for key, value in values.items()
        if value is not None and (key not in known or value != known[key][0]) and not _idle(key, values)
    }
    if not any(name in result for name in TYPES):
        result[TYPES[0]] = "0"  # without any budget a link would start with one of its own
    return result


def _idle(key: str, values: dict[str, Any]) -> bool:
    """Whether a control has no effect because of another one."""
    return key in ONLY_WITH and not any(
        values[other] == wanted and not _idle(other, values) for other, wanted in ONLY_WITH[key].items()
    )


def _write(value: Any) -> str:
    if isinstance(value, bool):
        return str(int(value))
    return ",".join(value) if isinstance(value, list) else str(value)


def move(**changes: Any) -> None:
    """Move controls from anywhere on a page (takes effect on the rerun it starts)."""
    st.session_state.setdefault("_moves", {}).update(changes)
    st.rerun()


def restore(page: str, own: dict[str, Control]) -> None:
    """Before any widget is drawn: set controls from the link or from memory, or leave them as the user set them.

    Streamlit keeps the sidebar's widgets from page to page, but forgets a widget that is not drawn: one of another
    page, or one that another control hides. So the values live in `_view`, where a page may also leave what the next
    one is to show, and the widgets are set from there. A new session and the browser's back button read the URL;
    turning to another page keeps the view, and takes only what belongs to that page from the link.
    """
    memory = st.session_state.setdefault("_view", {})
    started = "_page" not in st.session_state
    turned = st.session_state.get("_page") != page
    context = get_script_run_ctx()
    back = bool(getattr(context, "is_history_navigation", False))
    known = SHARED | own
    link = st.session_state.setdefault("_link", Link())
    if started or back or turned:
        link = st.session_state["_link"] = Link(back=back)
    if started or back:
        for key in st.query_params:
            if key not in known:
                link.notes[key] = f"{_said(key)}: this page knows no setting of that name"
    for key, control in known.items():
        if started or back or (turned and key in own and key in st.query_params):
            memory[key] = _read(key, control, link)
        memory.setdefault(key, control[0])
    link.shown = False
    moves = st.session_state.pop("_moves", {})
    memory |= moves
    if started or back:
        memory["_start"] = not any(name in st.query_params for name in TYPES)
    for key in known:
        if started or back or turned or key not in st.session_state or key in moves:
            st.session_state[key] = memory[key]
    st.session_state["_page"] = page


def remember(own: dict[str, Control]) -> None:
    """After the shared widgets are drawn: keep all values, and put them into the URL.

    Every new address is an entry of the browser's history. What a page has filled in by itself is no reason for one,
    and an address that the button "back" has led to stays until the visitor moves something: else "back" would lead to
    the same page again and again.
    """
    memory = st.session_state["_view"]
    for key, (first, _) in (SHARED | own).items():
        now = st.session_state.get(key)
        if now is not None or first is None:
            memory[key] = now
    link: Link = st.session_state["_link"]
    shared = parameters()
    if link.view is None:
        link.view = shared
        for key in link.asked & ONLY_WITH.keys():
            if _idle(key, memory):
                ways = " or ".join(f"{other}={_write(wanted)}" for other, wanted in ONLY_WITH[key].items())
                link.notes.setdefault(key, f"{_said(key)}: counts only with {ways}")
    elif link.view != shared:  # the visitor has moved on
        link = st.session_state["_link"] = Link(view=shared)
    wanted, here = parameters(own), st.query_params.to_dict()
    filled = {key for key, value in link.filled.items() if key not in here and value == memory[key]}
    told = {key: text for key, text in wanted.items() if key not in filled}
    if link.back and link.stays is None:
        link.stays = told
    if told not in (here, link.stays):
        st.query_params.from_dict(wanted)
        link.stays = {}


@dataclass
class Link:
    """What a link asked for and did not get; told until the visitor moves a control or turns the page."""

    asked: set[str] = field(default_factory=set)
    notes: dict[str, str] = field(default_factory=dict)
    view: dict[str, str] | None = None
    shown: bool = False
    filled: dict[str, Any] = field(default_factory=dict)
    """What the view has filled in by itself, as nobody had asked for anything."""
    back: bool = False
    """The address was reached by the browser's button "back" (or "forward") …"""
    stays: dict[str, str] | None = None
    """… and what it would be as we write it."""


def ignored() -> list[str]:
    """What the link asked for and did not get, and why (plain text), once everything shared is drawn."""
    link: Link = st.session_state["_link"]
    link.shown = True
    return list(link.notes.values())


def replace(key: str, value: Any, why: str) -> None:
    """Give a control another value than it has, since this view cannot have that; if a link asked for it, say so."""
    link: Link = st.session_state["_link"]
    if key in link.asked:
        link.asked.discard(key)
        link.notes[key] = f"{key}={plain(_write(st.session_state[key]), 60)}: {why}"
    st.session_state[key] = st.session_state["_view"][key] = link.filled[key] = value
    if link.shown and key in link.notes:
        st.rerun()  # the place where it is told is above


def _read(key: str, control: Control, link: Link) -> Any:
    first, read = control
    if key not in st.query_params:
        return first
    try:
        value = read(st.query_params[key])
    except (InputError, ValueError) as error:
        link.notes[key] = f"{_said(key)}: {error}"
        return first
    if value != first:
        link.asked.add(key)
    if len(st.query_params.get_all(key)) > 1:
        link.notes[key] = f"{_said(key)}: is there more than once, the last one counts"
    return value


def _said(key: str) -> str:
    return f"{plain(key, 40)}={plain(st.query_params[key], 60)}"
