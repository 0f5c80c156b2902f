"""Static parts of the workbench in the browser: scripts, style, markup, and the graph as arrays of numbers and text.

The scripts are one text in the order of `SCRIPTS`; the first line of each says what it is about.
"""

from __future__ import annotations

import functools
import hashlib
from pathlib import Path
from typing import Any

import numpy as np

from certcore.figures.geometry import GRAPH_ASPECT, graph_shares
from certcore.figures.graph import positions_of
from certcore.figures.style import CLASSES, TOKENS
from certcore.instance.instance import Instance
from certcore.messages.names import class_name
from certcore.messages.text import plain
from certcore.workbench.packing import pack
from certcore.workbench.replay import replay_data

_HERE = Path(__file__).parent
DRAWING = ("graph", "attack", "looks", "ground", "ways", "marks", "spread", "sites", "names", "panel")
STAGE = ("groups", "hand", "pointer", "tools", "beside", "legend", "stage")
SIDE = ("tables", "nodes", "replay", "own", "try", "protect", "side")
SCRIPTS = ("bus", *DRAWING, *STAGE, *SIDE, "answer", "curve", "number", "player", "bench")
#: Number of classes with a colour of their own; further ones share the last colour.
MOST_CLASSES = len(CLASSES) - 1


def part(name: str) -> str:
    """One of the scripts."""
    return (_HERE / f"{name}.js").read_text(encoding="utf-8")


def script() -> str:
    """All scripts as one text, without the Streamlit component."""
    return "\n".join(part(name) for name in SCRIPTS)


def style() -> str:
    """The style sheet, with the colours of both themes."""
    schemes = []
    for place, scheme in ((".bench", "light"), (".bench.dark", "dark")):
        colours = "".join(f"--{name}: {getattr(token, scheme)}; " for name, token in TOKENS.items())
        shade = "#0008" if scheme == "dark" else "#1b243022"
        card = f"color-mix(in srgb, {getattr(TOKENS['paper'], scheme)} 93%, transparent)"
        schemes.append(f"{place} {{ {colours}--card: {card}; --shade: 0 1px 2px {shade}, 0 4px 14px {shade}; }}")
    sheets = [(_HERE / f"{name}.css").read_text(encoding="utf-8") for name in ("bench", "stage")]
    return "\n".join([*schemes, *sheets])


def markup() -> str:
    return (_HERE / "bench.html").read_text(encoding="utf-8")


@functools.lru_cache(maxsize=6)
def graph_data(instance: Instance) -> dict[str, Any]:
    """Data that no attack changes: positions, edges, names, predicted classes, and which labels are right."""
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
    data["replay"] = replay_data(instance)
    seen = hashlib.sha256()
    for name in sorted(data):
        seen.update(repr(data[name]).encode())
    return {"version": seen.hexdigest()[:16], **data}


def fitted(positions: np.ndarray) -> np.ndarray:
    """Positions in the picture as 16-bit integers, from the top left corner."""
    return np.round(graph_shares(positions) * 65535)
