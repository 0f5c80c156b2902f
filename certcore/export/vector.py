"""PDF, SVG and PNG by matplotlib: the same bytes for the same figure, from any thread."""

from __future__ import annotations

import io
from typing import Any

from certcore import __version__
from certcore.export.notes import note_below
from certcore.figures.escape import clean
from certcore.figures.figure import Figure


def printed(
    figure: Figure, kind: str, *, width: str | float = "one-column", title: bool = False, dpi: int = 300
) -> bytes:
    """One figure as the bytes of a PDF, SVG or PNG file."""
    from certcore.figures.matplotlib_figure import matplotlib, printing

    buffer = io.BytesIO()
    with printing():
        drawn = matplotlib(figure, width=width, title=title, note=note_below(figure))
        drawn.savefig(buffer, format=kind, dpi=dpi, metadata=_metadata(figure, kind), facecolor="white")
    return buffer.getvalue()


def printed_pages(figures: list[Figure], *, width: str | float = "one-column") -> bytes:
    """Several figures as one PDF, one page each, with titles."""
    from matplotlib.backends.backend_pdf import PdfPages

    from certcore.figures.matplotlib_figure import matplotlib, printing

    buffer = io.BytesIO()
    with printing():
        head = {"Title": "Figures", "Creator": f"certcore {__version__}", "CreationDate": None}
        with PdfPages(buffer, metadata=head) as pages:
            for figure in figures:
                pages.savefig(matplotlib(figure, width=width, title=True, note=note_below(figure)))
    return buffer.getvalue()


def _metadata(figure: Figure, kind: str) -> dict[str, Any]:
    """Title and alternative text in the words of each format; no dates, so that equal figures give equal files."""
    maker = f"certcore {__version__}"
    title, text = clean(figure.title or figure.name), clean(figure.description(), 2000)
    if kind == "pdf":
        return {"Title": title, "Subject": text, "Creator": maker, "CreationDate": None}
    if kind == "svg":
        return {"Title": title, "Description": text, "Creator": maker, "Date": None}
    return {"Title": title, "Description": text, "Software": maker}
