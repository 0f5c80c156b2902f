"""The view: everything the sidebar says, as the objects the engine takes, and as a link."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np
import streamlit as st
from streamlit.runtime.scriptrunner import get_script_run_ctx

from certcore.common.errors import InputError
from certcore.common.numbers import parse_nodes as parse_nodes
from certcore.common.numbers import write_nodes as write_nodes
from certcore.domain import parameters as table
from certcore.domain.base_rule import BaseRule
from certcore.domain.parameters import FORMER, only_with, packed_nodes, write
from certcore.domain.parameters import MAX_BUDGET as MAX_BUDGET
from certcore.domain.parameters import node_text as node_text
from certcore.domain.parameters import one_of as one_of
from certcore.domain.parameters import short_text as short_text
from certcore.domain.parameters import whole as whole
from certcore.domain.parameters import words as words
from certcore.domain.perturbations import TABLE, TYPES, entry_of, preferred
from certcore.domain.threat import ThreatModel
from certcore.instance.instance import Instance
from certcore.instance.local_limits import most_per_node as most_per_node
from certcore.instance.local_limits import within_base as within_base
from certcore.program.relaxation import Relaxation
from certcore.sweep.family import Question

from ..messages.text import plain

#: A control's value at the start, and how its text in a link is read (ValueError: nonsense, says what was expected).
Control = tuple[Any, Callable[[str], Any]]

#: The budget a first view starts with, on the first type that the base certificate covers, in this order.
START = {name: entry_of(name).start for name in preferred()}
#: The types whose local budget limits what is done at one node of the graph.
AT_NODES = [entry.name for entry in TABLE if not entry.brings_nodes]


#: The controls of the sidebar. Each is in the URL under its own name unless it is at its first value.
SHARED: dict[str, Control] = {one.name: (one.default, one.read) for one in table.SHARED}
_FIGURE: dict[str, Control] = {one.name: (one.default, one.read) for one in table.FIGURE}


def own(*names: str, **renamed: str) -> dict[str, Control]:
    """Controls of a page that are parameters of its figure, by the names they have in links."""
    there = {name: name for name in names} | renamed
    return {name: _FIGURE[what] for name, what in there.items()}


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
    result: dict[str, str | None] = {}
    for entry in TABLE:
        why = None
        if entry.brings_nodes and entry.name not in instance.base.axes:
            why = f"This file says nothing about {entry.plural}; files made from ballots do."
        elif entry.lengths and instance.scale is None:
            why = "This file says nothing about distances; files made with Gaussian noise on the attributes do."
        elif instance.node_field is not None and not entry.at_nodes:
            why = "The receptive fields of this instance hold only while the edges stay as they are."
        result[entry.name] = why
    return result


def covered(instance: Instance) -> list[str]:
    """The types worth a slider's start, a curve or a map: the base certificate speaks about them."""
    return list(instance.covered_types)


def parameters(own: dict[str, Control] | None = None, **changes: Any) -> dict[str, str]:
    """The URL parameters of the present view, with some changes; what is at its first value or idle is left out."""
    known = SHARED | (own or {})
    memory = st.session_state.get("_view", {})
    values = {key: memory.get(key, control[0]) for key, control in known.items()} | changes
    result = {
        key: packed_nodes(write(value)) if key in known and known[key][1] is node_text else write(value)
        for key, value in values.items()
        if value is not None and (key not in known or value != known[key][0]) and not _idle(key, values)
    }
    if not any(name in result for name in TYPES):
        result[TYPES[0]] = "0"  # without any budget a link would start with one of its own
    return result


def _idle(key: str, values: Any) -> bool:
    """Whether a control has no effect because of another one."""
    ways = only_with(key)
    return bool(ways) and not any(
        values[other] == wanted and not _idle(other, values) for other, wanted in ways.items()
    )


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
    if turned:
        st.session_state.pop("_export", None)  # a drawer belongs to the page it was opened on
    if started or back or turned:
        link = st.session_state["_link"] = Link(back=back)
    if started or back:
        for key in st.query_params:
            if FORMER.get(key, key) not in known:
                link.notes[key] = f"{_said(key)}: this page knows no setting of that name"
    for key, control in known.items():
        if started or back or (turned and key in own and _given(key) is not None):
            memory[key] = _read(key, control, link)
        memory.setdefault(key, control[0])
    link.shown = False
    moves = st.session_state.get("_moves", {})
    memory |= moves
    if started or back:
        memory["_start"] = not any(name in st.query_params for name in TYPES)
    for key in known:
        # What is not drawn, because another control hides it, comes from memory as well.
        if started or back or turned or key not in st.session_state or key in moves or _idle(key, memory):
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
        if now is not None or (first is None and not _idle(key, st.session_state)):
            memory[key] = now
    link: Link = st.session_state["_link"]
    shared = parameters()
    if link.view is None:
        link.view = shared
        for key in link.asked:
            if _idle(key, memory):
                ways = " or ".join(f"{other}={write(wanted)}" for other, wanted in only_with(key).items())
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
        link.notes[key] = f"{key}={plain(write(st.session_state[key]), 60)}: {why}"
    st.session_state[key] = st.session_state["_view"][key] = link.filled[key] = value
    if link.shown and key in link.notes:
        st.rerun()  # the place where it is told is above


def _read(key: str, control: Control, link: Link) -> Any:
    first, read = control
    given = _given(key)
    if given is None:
        return first
    try:
        value = read(st.query_params[given])
    except (InputError, ValueError) as error:
        link.notes[key] = f"{_said(given)}: {error}"
        return first
    if value != first:
        link.asked.add(key)
    if len(st.query_params.get_all(given)) > 1:
        link.notes[key] = f"{_said(given)}: is there more than once, the last one counts"
    return value


def _given(key: str) -> str | None:
    """The name under which a link gives a control: its own, or an earlier one; None if it does not."""
    earlier = (old for old, now in FORMER.items() if now == key)
    return next((name for name in (key, *earlier) if name in st.query_params), None)


def _said(key: str) -> str:
    return f"{plain(key, 40)}={plain(st.query_params[_given(key) or key], 60)}"
