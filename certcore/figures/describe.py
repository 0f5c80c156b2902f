"""Figures in words: alternative texts for those who cannot see them."""

from __future__ import annotations

from decimal import Decimal
from functools import singledispatch

import numpy as np

from certcore.common.rounding import rounded_down
from certcore.figures.data import (
    BarFigure,
    ContourFigure,
    CurveFigure,
    DistributionFigure,
    Figure,
    FrontFigure,
    GraphFigure,
)
from certcore.figures.escape import clean
from certcore.figures.style import BAND_LABEL, KINDS, RATIO_LABEL, STATES, axis_label
from certcore.figures.table import format_cell

_MOST_LINES = 8


@singledispatch
def alt_text(figure: Figure) -> str:
    """One to three sentences that say what the figure shows."""
    return clean(figure.title or figure.name)


def line_label(name: str, kind: str, average_radius: float | None = None) -> str:
    """What a legend says about a line: its name, its kind, its average radius."""
    parts = [clean(name, 60), KINDS[kind].label]
    label = ", ".join(part for part in parts if part)
    return label if average_radius is None else f"{label} (r̄ = {rounded_down(average_radius, 2)})"


def level_label(level: float) -> str:
    """The level of a contour line with every digit it has: 0.9999999 is not 1."""
    return f"{Decimal(repr(float(level))).normalize():f}"


@alt_text.register
def _curve(figure: CurveFigure) -> str:
    axis = figure.x_label or axis_label(figure.vary)
    said = []
    for line in figure.lines[:_MOST_LINES]:
        first, last = f"{line.values[0]:g}", f"{line.values[-1]:g}"
        said.append(
            f"{line_label(line.name, line.kind, line.average_radius)}: "
            f"{rounded_down(float(line.ratio[0]))} at {first}, {rounded_down(float(line.ratio[-1]))} at {last}"
        )
    more = len(figure.lines) - _MOST_LINES
    rest = f"; and {more} more lines" if more > 0 else ""
    rest += f". {BAND_LABEL.capitalize()}" if any(line.low is not None for line in figure.lines) else ""
    return f"Curve of the {RATIO_LABEL} against {clean(axis)}. {'; '.join(said)}{rest}."


@alt_text.register
def _contour(figure: ContourFigure) -> str:
    known = np.isfinite(figure.filled)
    what = measure(figure)
    second = f" and {axis_label(figure.y)}" if len(figure.y_values) > 1 else ""
    text = f"Map of the {what} over {axis_label(figure.x)}{second}"
    text += f", {known.sum()} of {known.size} cells"
    if known.any():
        low, high = np.nanmin(figure.filled), np.nanmax(figure.filled)
        text += f", from {rounded_down(float(low))} to {rounded_down(float(high))}"
    if figure.levels:
        levels = ", ".join(level_label(level) for level in figure.levels)
        text += f". Lines at {levels}: {KINDS[figure.kind].label} solid"
        if figure.reference is not None:
            text += f", {KINDS[figure.reference_kind].label} dotted"
    return text + "."


def measure(figure: ContourFigure) -> str:
    """The name of what fills the cells of a map."""
    if figure.measure:
        return clean(figure.measure)
    if figure.show == "difference":
        return f"gain: {KINDS[figure.kind].label} − {KINDS[figure.reference_kind].label}"
    kind = figure.kind if figure.show == "ratio" else figure.reference_kind
    return f"{RATIO_LABEL} ({KINDS[kind].label})"


@alt_text.register
def _bars(figure: BarFigure) -> str:
    said = []
    for i, name in enumerate(figure.categories[:12]):
        numbers = [(bars.label, format_cell(bars.values[i].item(), figure.meaning)) for bars in figure.series]
        values = ", ".join(f"{clean(label, 30)} {text}" for label, text in numbers)
        said.append(f"{clean(name, 30)}: {values}")
    return f"Bars of {clean(figure.label)}. {'; '.join(said)}."


@alt_text.register
def _graph(figure: GraphFigure) -> str:
    counts = np.bincount(figure.state, minlength=len(figure.groups))
    said = []
    for name, count in zip(figure.groups, counts.tolist()):
        if count:
            said.append(f"{count:,} {STATES[name].label if figure.palette == 'state' else clean(name, 30)}")
    parts = [f"Graph of {len(figure.positions):,} nodes and {len(figure.edges):,} edges: {', '.join(said)}"]
    if figure.deleted is not None and len(figure.deleted):
        parts.append(f"{len(figure.deleted):,} edges are deleted")
    if figure.added is not None and len(figure.added):
        parts.append(f"{len(figure.added):,} edges are added")
    if figure.attackers is not None and len(figure.attackers):
        parts.append(f"{len(figure.attackers):,} nodes are under the attacker's control")
    if figure.relaxed:
        parts.append("This is the relaxed adversary of the linear program, not an attack")
    return ". ".join(parts) + "."


@alt_text.register
def _front(figure: FrontFigure) -> str:
    node = f" of node {clean(figure.node, 40)}" if figure.node else ""
    points = "; ".join(f"{x} and {y}" for x, y in figure.points[:8].tolist())
    text = f"Front{node}: smallest uncertified budgets of {axis_label(figure.x)} and {axis_label(figure.y)}: "
    text += points or "none, certified at every budget"
    if figure.received is not None:
        reached = "reaches the front" if figure.attacked else "does not reach the front"
        text += f". It receives {figure.received[0]:g} and {figure.received[1]:g}, which {reached}"
    return text + "."


@alt_text.register
def _distribution(figure: DistributionFigure) -> str:
    said = [f"{clean(bars.label, 40)}: {bars.values.sum():,.0f}" for bars in figure.series]
    lines = [f"{clean(name, 40)} at {value:g}" for name, value in figure.thresholds]
    text = f"Distribution of {clean(figure.label)}. {'; '.join(said)}"
    return text + (f". Marked: {', '.join(lines)}." if lines else ".")
