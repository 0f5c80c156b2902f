"""The workbench as a Streamlit component of our own; the browser gets numbers and plain text only.

What belongs together travels by itself: graph, attack, curve, map and frames are elements of their own, which Streamlit
sends again only if they have changed. Scripts: `bus.js` what parts tell each other, `graph.js` arrays, `panel.js` one
picture, `hand.js` lasso and box, `beside.js` what stands upon it, `stage.js` camera and choice, `answer.js` number and
bar, `curve.js` the two charts, `player.js` budget as time, `bench.js` one set of budgets for all of them.
"""

from __future__ import annotations

import base64
import functools
import hashlib
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import streamlit as st

from certcore.figures.geometry import GRAPH_ASPECT, graph_shares
from certcore.figures.kinds.graph import positions_of
from certcore.figures.style import CLASSES, CLOSENESS, TOKENS
from certcore.instance.instance import Instance

from ..messages.names import class_name
from ..messages.text import plain

_HERE = Path(__file__).parent
SCRIPTS = ("bus", "graph", "hand", "panel", "beside", "stage", "answer", "curve", "player", "bench")
#: Classes that have a colour of their own; those beyond share the last one.
MOST_CLASSES = len(CLASSES) - 1


@dataclass(frozen=True)
class Event:
    """What somebody did in the workbench: its name, and what it is about."""

    name: str = ""
    value: Any = None


def part(name: str) -> str:
    """One of the scripts."""
    return (_HERE / f"{name}.js").read_text(encoding="utf-8")


def script() -> str:
    """All scripts as one text, without what Streamlit mounts."""
    return "\n".join(part(name) for name in SCRIPTS)


def style() -> str:
    """The style, with the colours of both themes."""
    schemes = []
    for place, scheme in ((".bench", "light"), (".bench.dark", "dark")):
        colours = "".join(f"--{name}: {getattr(token, scheme)}; " for name, token in TOKENS.items())
        shade = "#0008" if scheme == "dark" else "#1b243022"
        card = f"color-mix(in srgb, {getattr(TOKENS['paper'], scheme)} 93%, transparent)"
        schemes.append(f"{place} {{ {colours}--card: {card}; --shade: 0 1px 2px {shade}, 0 4px 14px {shade}; }}")
    return "\n".join([*schemes, (_HERE / "bench.css").read_text(encoding="utf-8")])


def markup() -> str:
    return (_HERE / "bench.html").read_text(encoding="utf-8")


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


def put(name: str, data: dict[str, Any]) -> None:
    """Send something that the workbench needs; nothing is sent if the browser has it already."""
    _components()[0](key=f"shelf_{name}", data={"name": name, **data}, height=1)


def draw(instance: Instance, data: dict[str, Any]) -> Event:
    """Draw the workbench; returns what was done in it in this run."""
    answer = _components()[1](key="workbench", data=data, on_event_change=lambda: None)
    said = answer.get("event") if answer else None
    return read_event(said, instance.graph.n_nodes)


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
    for name in ("selected", "count", "shield"):
        if isinstance(said.get(name), list):
            return Event(name, some(said[name]))
    for name in ("drawer", "page", "axis", "colour", "play", "act"):
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


@functools.lru_cache(maxsize=6)
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
        data["groups"] = [{"label": name, "light": tone.light, "dark": tone.dark} for name, tone in zip(names, CLASSES)]
        if instance.right is not None:
            speaks = instance.base.fronts().clean
            data["right"] = pack(np.where(speaks, instance.right, 2), np.uint8)
    seen = hashlib.sha256()
    for name in sorted(data):
        seen.update(repr(data[name]).encode())
    return {"version": seen.hexdigest()[:16], **data}


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
