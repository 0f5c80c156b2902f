"""Names and numbers at the ends of lines, in the colours of the lines: a comparison needs no legend."""

from __future__ import annotations

import html
import math
from collections.abc import Sequence
from dataclasses import dataclass

import plotly.graph_objects as go
import streamlit as st

from certcore.figures import CurveFigure
from certcore.figures.style import COMPARED, Kind

#: The picture and its margins, and how far apart two names stand at least, all in pixels.
HEIGHT, TOP, BOTTOM, LEFT, APART = 440, 28, 52, 58, 66
STYLE = """
.ends {position: relative; height: %HEIGHT%px; line-height: 1.25; font-size: 14px;}
.ends i {position: absolute; left: 0; height: 0; border-top: 1.4px solid; transform-origin: left;}
.ends p {position: absolute; left: 36px; margin: 0; transform: translateY(-13px);}
.ends b {display: block; font-size: 18px;} .ends small {display: block; font-size: 13px; opacity: 0.8;}
@media (max-width: 759px) {.ends {height: auto;} .ends i {display: none;}
  .ends p {position: static; transform: none; margin: 0 0 8px;}}
"""


@dataclass(frozen=True)
class End:
    """What stands at the end of one line."""

    name: str
    ratio: float
    rows: Sequence[str]


def coinciding(figure: CurveFigure) -> dict[int, str]:
    """For each line that runs where an earlier one does: what to say of it, by its group."""
    seen: list[tuple[int, str, list[float]]] = []
    said = {}
    for line in figure.lines:
        if line.kind == Kind.NAIVE:
            continue
        ratio = line.ratio.tolist()
        for _, name, other in seen:
            apart = max((abs(a - b) for a, b in zip(ratio, other)), default=0.0)
            if len(ratio) == len(other) and apart <= 0.005:
                said[line.group] = f"same line as {name}" if not apart else f"within 0.5 points of {name}"
                break
        seen.append((line.group, line.name, ratio))
    return said


def restyle(screen: go.Figure, figure: CurveFigure) -> None:
    """Lines without a legend."""
    for trace in screen.data:
        trace.showlegend = False
        if not (trace.legendgroup or "").startswith("line-") or trace.mode != "lines+markers":
            continue
        line = figure.lines[int(trace.legendgroup.removeprefix("line-"))]
        naive = line.kind == Kind.NAIVE
        trace.line.width = 1.4 if naive else 2.4
        if naive and not line.ratio.all():  # along the axis there is nothing to see
            last = int((line.ratio > 0).sum()) + 1
            trace.x, trace.y, trace.customdata = trace.x[:last], trace.y[:last], trace.customdata[:last]
    # At the right there is room for half of the last number.
    screen.update_layout(margin={"t": TOP, "b": BOTTOM, "l": LEFT, "r": 16})
    screen.update_xaxes(automargin=False)
    if not figure.log:
        screen.update_xaxes(range=[0, max(1.0, float(figure.lines[0].values[-1]))])
    screen.update_yaxes(automargin=False, tickformat=".0%", title=None)


def draw(ends: Sequence[End], *, dark: bool) -> None:
    """The names beside the picture, each where its line ends or as near as the others leave room."""
    inner = HEIGHT - TOP - BOTTOM
    order = sorted(range(len(ends)), key=lambda k: (-ends[k].ratio, k))
    at = {k: TOP + inner * (1.02 - ends[k].ratio) / 1.04 for k in order}
    places, lowest = {}, HEIGHT - 40 - APART * (len(ends) - 1)
    above = 0.0
    for k in order:
        places[k] = max(above, min(at[k], lowest))
        above, lowest = places[k] + APART, lowest + APART
    names, leaders = [], []
    for k, end in enumerate(ends):
        token = COMPARED[k % len(COMPARED)]
        colour = token.dark if dark else token.light
        rows = "".join(f"<small>{html.escape(row)}</small>" for row in end.rows)
        names.append(
            f'<p style="top: {places[k]:.0f}px"><b style="color: {colour}">{html.escape(end.name)}</b>{rows}</p>'
        )
        down, turn = places[k] - at[k], math.atan2(places[k] - at[k], 30)
        line = f"top: {at[k]:.0f}px; width: {math.hypot(30, down):.0f}px; transform: rotate({turn:.3f}rad)"
        leaders.append(f'<i style="{line}; border-color: {colour}"></i>')
    style = STYLE.replace("%HEIGHT%", str(HEIGHT))
    st.html(f"<style>{style}</style><div class=ends>{''.join(leaders + names)}</div>")
