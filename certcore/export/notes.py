"""What must be said under a figure wherever it is shown."""

from __future__ import annotations

from certcore import messages
from certcore.figures.figure import Figure


def note_below(figure: Figure) -> str:
    """The figure's own note, and why models that ignore edges are drawn across it: figures know no sentences."""
    return figure.note() or (str(messages.why_controls()) if figure.has_controls else "")
