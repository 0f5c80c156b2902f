"""Notes that are required under a figure."""

from __future__ import annotations

from certcore import messages
from certcore.figures.figure import Figure


def note_below(figure: Figure) -> str:
    """The figure's own note, and an explanation of baselines that ignore edges, if it shows any."""
    return figure.note() or (str(messages.why_controls()) if figure.has_controls else "")
