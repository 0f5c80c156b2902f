"""The attack map as a Streamlit component of our own; the browser gets numbers and plain text only.

The graph travels once: it is an element by itself, which Streamlit sends again only if it has changed. A new attack
sends what belongs to it. Scripts: `graph.js` arrays, `panel.js` one picture, `beside.js` what stands around it,
`player.js` budget as time, `hand.js` lasso and box, `map.js` camera and choice.
"""

from __future__ import annotations

import base64
import hashlib
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import streamlit as st

from certcore import words
from certcore.figures.geometry import GRAPH_ASPECT, graph_shares
from certcore.figures.kinds.graph import positions_of
from certcore.figures.style import (
    CLOSENESS,
    LOST_COLOUR,
    PROTECTED_COLOUR,
    SHARES,
    TYPE_COLOURS,
    series_colour,
    series_marker,
)
from certcore.instance.instance import Instance
from certcore.result.states import TargetState

from ..words.names import class_name
from ..words.text import plain

_HERE = Path(__file__).parent
SCRIPTS = ("graph", "hand", "panel", "beside", "player", "map")
#: More classes than this share one look: nobody can tell so many apart.
MOST_CLASSES = 24


@dataclass(frozen=True)
class Event:
    """What somebody did in the picture: chose a node or an edge (or nothing), opened a node, or selected some."""

    chosen: dict[str, Any] | None = None
    chose: bool = False
    opened: int | None = None
    selected: list[int] | None = None


def script() -> str:
    """All scripts of the map as one text, without what Streamlit mounts."""
    return "\n".join((_HERE / f"{name}.js").read_text(encoding="utf-8") for name in SCRIPTS)


def style() -> str:
    return (_HERE / "map.css").read_text(encoding="utf-8")


def markup() -> str:
    return (_HERE / "map.html").read_text(encoding="utf-8")


@st.cache_resource(show_spinner=False)
def _components() -> tuple[Any, Any]:
    mount = (_HERE / "component.js").read_text(encoding="utf-8")
    both = script() + mount
    shelf = st.components.v2.component("certcore_graph", html='<div class="shelf"></div>', js=both)
    drawing = st.components.v2.component("certcore_map", html=markup(), css=style(), js=both)
    return shelf, drawing


def draw(instance: Instance, data: dict[str, Any], *, key: str) -> Event:
    """Draw the map; returns what was done in it in this run."""
    shelf, drawing = _components()
    graph = graph_data(instance)
    shelf(key=f"{key}_graph", data=graph, height=1)
    answer = drawing(key=key, data={"version": graph["version"], **data}, on_event_change=lambda: None)
    said = answer.get("event") if answer else None
    return read_event(said, instance.graph.n_nodes)


def read_event(said: Any, n_nodes: int) -> Event:
    """What the browser says, believed only as far as it makes sense."""

    def known(value: Any) -> bool:
        return isinstance(value, int) and not isinstance(value, bool) and 0 <= value < n_nodes

    if not isinstance(said, dict):
        return Event()
    if known(said.get("open")):
        return Event(opened=said["open"])
    if isinstance(said.get("selected"), list):
        return Event(selected=sorted({node for node in said["selected"] if known(node)}))
    if "chosen" in said:
        chosen = said["chosen"]
        if isinstance(chosen, dict) and known(chosen.get("node")):
            role = {"as": "target"} if chosen.get("as") == "target" else {}
            return Event({"node": chosen["node"]} | role, chose=True)
        if isinstance(chosen, dict) and isinstance(chosen.get("edge"), str):
            return Event({"edge": chosen["edge"][:40]}, chose=True)
        return Event(chose=True)
    return Event()


def graph_data(instance: Instance) -> dict[str, Any]:
    """What stays the same under every attack: places, edges, names, predicted classes, which labels are right."""
    graph = instance.graph
    arrays = {"positions": pack(fitted(positions_of(instance)), np.uint16), "edges": pack(graph.edges, np.uint32)}
    data: dict[str, Any] = {"aspect": GRAPH_ASPECT, **arrays}
    data["names"] = None if instance.node_names is None else [plain(name) for name in instance.node_names]
    if instance.prediction is not None:
        label = np.minimum(np.asarray(instance.prediction), MOST_CLASSES)
        data["label"] = pack(label, np.uint8)
        names = [class_name(instance, k) for k in range(int(label.max(initial=0)) + 1)]
        names[MOST_CLASSES:] = ["other classes"] * bool(names[MOST_CLASSES:])
        data["classes"] = names
        data["groups"] = [
            {"label": name, "colour": _ink(series_colour(k)), "shape": series_marker(k).screen}
            for k, name in enumerate(names)
        ]
        if instance.right is not None:
            speaks = instance.base.fronts().clean
            data["right"] = pack(np.where(speaks, instance.right, 2), np.uint8)
    seen = hashlib.sha256()
    for name in sorted(data):
        seen.update(repr(data[name]).encode())
    return {"version": seen.hexdigest()[:16], **data}


def _ink(colour: str) -> str:
    return "ink" if colour == "#000000" else colour


def settings(
    colour: str, only: list[int], chosen: dict[str, Any] | None, selection: list[int], height: int
) -> dict[str, Any]:
    """How the map is to be seen."""
    return {
        "height": height,
        "colour": colour,
        "only": only,
        "chosen": chosen,
        "selection": selection,
        "states": [words.state_legend(state) for state in TargetState],
        "counted": [words.state_legend(state, relaxed=True) for state in TargetState],
        "colours": {
            "types": list(TYPE_COLOURS),
            "lost": LOST_COLOUR,
            "protected": PROTECTED_COLOUR,
            "margin": {"light": margin_scale(dark=False), "dark": margin_scale(dark=True)},
            "share": list(SHARES),
            "close": [
                {"most": step.most, "label": step.label, "light": step.colour, "dark": step.dark} for step in CLOSENESS
            ],
        },
    }


def margin_scale(*, dark: bool, steps: int = 11) -> list[str]:
    """Tones of margins, from one further flip to many: those of closeness with steps between them.

    The farther, the nearer to the page: what is safest must not outshine the attack.
    """
    tones = [step.dark if dark else step.colour for step in CLOSENESS]
    known = np.array([[int(tone[k : k + 2], 16) for k in (1, 3, 5)] for tone in tones])
    at = np.linspace(0, len(tones) - 1, steps)
    mixed = np.stack([np.interp(at, np.arange(len(tones)), known[:, k]) for k in range(3)], axis=1).round().astype(int)
    return ["#" + "".join(f"{part:02X}" for part in tone) for tone in mixed]


def fitted(positions: np.ndarray) -> np.ndarray:
    """Places in the picture as 16-bit numbers, from the top left corner."""
    return np.round(graph_shares(positions) * 65535)


def pack(array: Any, dtype: Any) -> str:
    """An array as the browser reads it back: its bytes, nothing rounded."""
    return base64.b64encode(np.ascontiguousarray(array, dtype=dtype).tobytes()).decode("ascii")
