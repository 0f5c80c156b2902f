"""PDF, SVG and PNG by matplotlib: reproducible bytes, callable from any thread."""

from __future__ import annotations

import io
from dataclasses import dataclass
from typing import Any

from certcore import __version__
from certcore.export.notes import note_below
from certcore.figures.escape import clean
from certcore.figures.figure import Figure
from certcore.figures.print_style import PrintStyle


def printed(figure: Figure, kind: str, style: PrintStyle, *, dpi: int = 300) -> bytes:
    """One figure as the bytes of a PDF, SVG or PNG file."""
    from certcore.figures.matplotlib_figure import matplotlib, printing

    buffer = io.BytesIO()
    with printing(style.font):
        drawn = matplotlib(figure, style, note=note_below(figure))
        drawn.savefig(buffer, format=kind, dpi=dpi, metadata=_metadata(figure, kind), facecolor="white")
    return buffer.getvalue()


@dataclass(frozen=True)
class Preview:
    """An image of the printed figure, its size in centimetres, and its labels by their default text."""

    png: bytes
    size: tuple[float, float]
    labels: dict[str, str]
    keyed: bool
    """Whether lines or marks are named, in a legend or beside them."""


def preview(figure: Figure, style: PrintStyle, *, dpi: int = 150) -> Preview:
    """An image of the printed figure, for the screen."""
    from certcore.figures.matplotlib_figure import drawn, printing

    buffer = io.BytesIO()
    with printing(style.font):
        sheet = drawn(figure, style, note_below(figure))
        sheet.figure.savefig(buffer, format="png", dpi=dpi, facecolor="white")
    size = (sheet.width * 2.54, sheet.height * 2.54)
    return Preview(buffer.getvalue(), size, dict(sheet.asked), sheet.keyed)


def printed_pages(figures: list[Figure], style: PrintStyle) -> bytes:
    """Several figures as one PDF, one page each, with titles."""
    from matplotlib.backends.backend_pdf import PdfPages

    from certcore.figures.matplotlib_figure import matplotlib, printing

    buffer = io.BytesIO()
    with printing(style.font):
        head = {"Title": "Figures", "Creator": f"certcore {__version__}", "CreationDate": None}
        with PdfPages(buffer, metadata=head) as pages:
            for figure in figures:
                pages.savefig(matplotlib(figure, style, note=note_below(figure)))
    return buffer.getvalue()


def _metadata(figure: Figure, kind: str) -> dict[str, Any]:
    """Title and alternative text in the metadata fields of each format; no dates, so that files are reproducible."""
    maker = f"certcore {__version__}"
    title, text = clean(figure.title or figure.name), clean(figure.description(), 2000)
    if kind == "pdf":
        return {"Title": title, "Subject": text, "Creator": maker, "CreationDate": None}
    if kind == "svg":
        return {"Title": title, "Description": text, "Creator": maker, "Date": None}
    return {"Title": title, "Description": text, "Software": maker}
