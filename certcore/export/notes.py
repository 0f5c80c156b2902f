"""What must be said under a figure wherever it is shown."""

from __future__ import annotations

from certcore import words
from certcore.figures.figure import Figure
from certcore.figures.kinds.curve import CurveFigure, Kind


def note_below(figure: Figure) -> str:
    """Why models that ignore edges are drawn across a curve; nothing where there are none."""
    if isinstance(figure, CurveFigure) and any(line.kind == Kind.CONTROL for line in figure.lines):
        return str(words.why_controls())
    return ""
