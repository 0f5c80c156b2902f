"""Numbers and names as people read them; names from files are never trusted."""

from __future__ import annotations

import html
from typing import Any

from certcore.common.rounding import percent_down
from certcore.domain.perturbations import TABLE
from certcore.messages.text import budget_words, count, length, listing, markdown, plain, samples

__all__ = [
    "SHORT",
    "budget_words",
    "count",
    "length",
    "listing",
    "markdown",
    "markup",
    "percent_down",
    "plain",
    "samples",
    "seconds",
]

#: What each type is called where there is little room.
SHORT = {entry.name: entry.short for entry in TABLE}


def seconds(value: float) -> str:
    return f"{value * 1000:.0f} ms" if value < 0.95 else f"{value:.1f} s" if value < 90 else f"{value / 60:.1f} min"


def markup(name: Any, longest: int = 60) -> str:
    """A name from a file for use inside HTML (and Plotly labels, which read some HTML)."""
    return html.escape(plain(name, longest), quote=True)
