"""What must be said under a figure wherever it is shown."""

from __future__ import annotations

from certcore import words
from certcore.figures.figure import Figure
from certcore.figures.kinds.curve import CurveFigure, Kind
from certcore.figures.kinds.graph import GraphFigure


def note_below(figure: Figure) -> str:
    """Why models that ignore edges are drawn across a curve, and what a magnified graph counts; mostly nothing."""
    if isinstance(figure, GraphFigure) and figure.zoomed:
        return "Magnified to where the attack is; numbers in the legend count the whole graph."
    if isinstance(figure, CurveFigure) and any(line.kind == Kind.CONTROL for line in figure.lines):
        return str(words.why_controls())
    return ""
