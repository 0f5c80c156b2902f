"""The workbench as a Streamlit component: what is sent to it, and what somebody did in it.

What belongs together travels by itself: graph, attack, curve, map and frames are elements of their own, which Streamlit
sends again only if they have changed. What is drawn, and how, is in `certcore/workbench/`.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import streamlit as st

from certcore.instance.instance import Instance
from certcore.workbench.parts import markup, part, script, style


@dataclass(frozen=True)
class Event:
    """What somebody did in the workbench: its name, and what it is about."""

    name: str = ""
    value: Any = None


@st.cache_resource(show_spinner=False)
def _components() -> tuple[Any, Any, Any]:
    """The shelf, the workbench, and its scripts: Streamlit sends a component's script with each of its messages."""
    html, little = '<div class="shelf"></div>', part("bus") + part("component")
    shelf = st.components.v2.component("certcore_shelf", html=html, js=little)
    drawing = st.components.v2.component("certcore_bench", html=markup(), css=style(), js=little)
    scripts = st.components.v2.component("certcore_scripts", html=html, js=script() + part("scripts"))
    return shelf, drawing, scripts


def load() -> None:
    """Send the scripts."""
    _components()[2](key="shelf_scripts", height=1)


def put(name: str, data: dict[str, Any]) -> str:
    """Send something that the workbench needs and return its key; nothing is sent if the browser has it already."""
    _components()[0](key=f"shelf_{name}", data={"name": name, **data}, height=1)
    return str(data.get("key", ""))


def draw(instance: Instance, data: dict[str, Any]) -> Iterator[Event]:
    """Draw the workbench; then one event after the other that was told and not acted upon yet, oldest first.

    The browser tells every event again until a message says that it was heard: a run that a newer one overtakes takes
    what it was told with it. What was heard waits here, so that no run can take it away.
    """
    data = data | {"heard": st.session_state.get("_heard", 0)}
    _components()[1](key="workbench", data=data, on_event_change=_hear)
    waiting = st.session_state.get("_waiting", [])
    while waiting:
        yield read_event(waiting.pop(0), instance.graph.n_nodes)


def _hear() -> None:
    fresh = fresh_events((st.session_state.get("workbench") or {}).get("event"), st.session_state.get("_heard", 0))
    if fresh:
        st.session_state["_waiting"] = [*st.session_state.get("_waiting", []), *fresh]
        st.session_state["_heard"] = fresh[-1]["at"]


def fresh_events(said: Any, heard: int) -> list[dict[str, Any]]:
    """The events that came after the last one heard, oldest first."""
    events = said.get("events") if isinstance(said, dict) else None
    known = [one for one in events if isinstance(one, dict)] if isinstance(events, list) else []
    known = [one for one in known if isinstance(one.get("at"), int) and one["at"] > heard]
    return sorted(known, key=lambda one: one["at"])


def read_event(said: Any, n_nodes: int) -> Event:
    """What the browser says, believed only as far as it makes sense."""

    def known(value: Any) -> bool:
        return isinstance(value, int) and not isinstance(value, bool) and 0 <= value < n_nodes

    def some(values: Any) -> list[int]:
        return sorted({node for node in values if known(node)})

    if not isinstance(said, dict):
        return Event()
    for name in ("open", "protect"):
        if known(said.get(name)):
            return Event(name, said[name])
    for name in ("selected", "count", "shield", "guard"):
        if isinstance(said.get(name), list):
            return Event(name, some(said[name]))
    for name in ("drawer", "page", "axis", "colour", "play", "act", "adversary"):
        if isinstance(said.get(name), str):
            return Event(name, said[name][:40])
    if isinstance(said.get("only"), list):
        return Event("only", [code for code in said["only"] if isinstance(code, int) and 0 <= code < 6])
    if isinstance(said.get("move"), dict):
        moves = {k: v for k, v in said["move"].items() if v is None or (isinstance(v, int) and 0 <= v <= 10**6)}
        return Event("move", moves)
    return _chosen(said["chosen"], known) if "chosen" in said else Event()


def _chosen(chosen: Any, known: Any) -> Event:
    if isinstance(chosen, dict) and known(chosen.get("node")):
        role = {"as": "target"} if chosen.get("as") == "target" else {}
        return Event("chosen", {"node": chosen["node"]} | role)
    if isinstance(chosen, dict) and isinstance(chosen.get("edge"), str):
        return Event("chosen", {"edge": chosen["edge"][:40]})
    return Event("chosen")
