"""The whole graph on a canvas, as a Streamlit component of our own; the browser gets numbers and plain text only."""

from __future__ import annotations

import base64
import hashlib
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import streamlit as st

from certcore.figures.geometry import GRAPH_ASPECT, graph_shares

_HERE = Path(__file__).parent
_HTML = """
<div class="graph">
  <ul class="legend"></ul>
  <div class="stage">
    <canvas tabindex="0" role="img"></canvas>
    <div class="tip" role="tooltip"></div>
    <div class="buttons">
      <button type="button" aria-label="Zoom in" title="Zoom in">+</button>
      <button type="button" aria-label="Zoom out" title="Zoom out">−</button>
      <button type="button" aria-label="Show the whole graph" title="Show the whole graph">⤢</button>
    </div>
    <div class="live" aria-live="polite"></div>
  </div>
</div>
"""


@dataclass(frozen=True)
class Group:
    """Nodes that look alike: a label, a colour (`ink` follows the theme) and a shape."""

    label: str
    colour: str
    shape: str = "circle"


@dataclass(frozen=True, eq=False)
class Picture:
    """What the canvas shows. All arrays have one entry per node unless said otherwise."""

    positions: np.ndarray
    edges: np.ndarray
    group: np.ndarray
    groups: list[Group]
    size: np.ndarray
    shown: np.ndarray
    attackers: np.ndarray
    protected: np.ndarray
    deleted: np.ndarray
    amount: np.ndarray
    alt: str
    names: list[str] | None = None
    extra: dict[int, str] = field(default_factory=dict)
    tour: list[int] = field(default_factory=list)
    selected: int = -1
    deleted_colour: str = "#CC79A7"
    protected_colour: str = "#0072B2"
    selected_colour: str = "#E69F00"


@st.cache_resource(show_spinner=False)
def _component() -> Any:
    return st.components.v2.component(
        "certcore_graph",
        html=_HTML,
        css=(_HERE / "graphview.css").read_text(encoding="utf-8"),
        js=(_HERE / "graphview.js").read_text(encoding="utf-8"),
    )


def draw(picture: Picture, *, key: str, height: int = 620) -> int | None:
    """Draw the graph; returns the node that was clicked in this run."""
    answer = _component()(key=key, data=payload(picture, height), on_clicked_change=lambda: None)
    clicked = answer.get("clicked") if answer else None
    node = clicked.get("node") if isinstance(clicked, dict) else None
    return node if isinstance(node, int) and 0 <= node < len(picture.positions) else None


def payload(picture: Picture, height: int) -> dict[str, Any]:
    """The data the browser gets; arrays travel as base64."""
    positions = fitted(picture.positions)
    marks = (
        picture.shown.astype(np.uint8) + 2 * picture.attackers.astype(np.uint8) + 4 * picture.protected.astype(np.uint8)
    )
    if picture.selected >= 0:
        marks[picture.selected] += 8
    counts = np.bincount(picture.group, minlength=len(picture.groups))
    marks_legend: list[dict[str, Any]] = []
    if picture.attackers.any():
        marks_legend.append(
            {"label": "attacker-controlled", "colour": "ink", "ring": 1, "count": int(picture.attackers.sum())}
        )
    if picture.protected.any():
        marks_legend.append(
            {
                "label": "protected",
                "colour": picture.protected_colour,
                "ring": 2,
                "count": int(picture.protected.sum()),
            }
        )
    if len(picture.deleted):
        marks_legend.append(
            {"label": "deleted edge", "colour": picture.deleted_colour, "line": True, "count": len(picture.deleted)}
        )
    edges = _pack(picture.edges, np.uint32)
    version = hashlib.sha256((_pack(positions, np.uint16) + edges).encode()).hexdigest()[:16]
    return {
        "version": version,
        "height": height,
        "aspect": GRAPH_ASPECT,
        "alt": picture.alt,
        "positions": _pack(positions, np.uint16),
        "edges": edges,
        "group": _pack(picture.group, np.uint8),
        "groups": [
            {"label": g.label, "colour": g.colour, "shape": g.shape, "count": int(c)}
            for g, c in zip(picture.groups, counts)
        ],
        "size": _pack(picture.size, np.float32),
        "marks": _pack(marks, np.uint8),
        "deleted": _pack(picture.deleted, np.uint32),
        "amount": _pack(picture.amount, np.float32),
        "names": picture.names,
        "extra": {str(node): text for node, text in picture.extra.items()},
        "tour": picture.tour[:2000],
        "centre": picture.selected,
        "markLegend": marks_legend,
        "deletedColour": picture.deleted_colour,
        "protectedColour": picture.protected_colour,
        "selectedColour": picture.selected_colour,
    }


def fitted(positions: np.ndarray) -> np.ndarray:
    """Places in the picture as 16-bit numbers, from the top left corner."""
    return np.round(graph_shares(positions) * 65535)


def _pack(array: np.ndarray, dtype: Any) -> str:
    return base64.b64encode(np.ascontiguousarray(array, dtype=dtype).tobytes()).decode("ascii")
