"""All export formats of a figure, behind one function."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from certcore.common.errors import InputError
from certcore.export.html import figure_page
from certcore.export.notes import note_below
from certcore.export.scripts import command_script, has_command, python_script
from certcore.export.vector import printed
from certcore.figures.escape import for_file_name
from certcore.figures.figure import Figure
from certcore.figures.print_style import PrintStyle
from certcore.figures.serial import to_json


@dataclass(frozen=True)
class Format:
    """One format: key, display name, file extension and media type."""

    key: str
    label: str
    extension: str
    mime: str


def _latex(figure: Figure, *, style: PrintStyle, **_: Any) -> bytes:
    from certcore.figures.latex import standalone

    return standalone(figure, style, note=note_below(figure)).encode()


def _tabular(figure: Figure, **_: Any) -> bytes:
    from certcore.figures.tabular import tabular

    return tabular(figure).encode()


def _printed(kind: str) -> Callable[..., bytes]:
    def make(figure: Figure, *, style: PrintStyle, dpi: int, **_: Any) -> bytes:
        return printed(figure, kind, style, dpi=dpi)

    return make


_MAKERS: dict[str, tuple[Format, Callable[..., bytes]]] = {
    "pdf": (Format("pdf", "PDF (vector, fonts embedded)", ".pdf", "application/pdf"), _printed("pdf")),
    "svg": (Format("svg", "SVG (vector)", ".svg", "image/svg+xml"), _printed("svg")),
    "png": (Format("png", "PNG (pixels)", ".png", "image/png"), _printed("png")),
    "latex": (Format("latex", "LaTeX figure (pgfplots/TikZ)", ".tex", "application/x-tex"), _latex),
    "tabular": (Format("tabular", "LaTeX table (tabular)", ".table.tex", "application/x-tex"), _tabular),
    "csv": (
        Format("csv", "CSV (plotted numbers)", ".csv", "text/csv"),
        # The byte order mark tells spreadsheets that the file is UTF-8.
        lambda figure, **_: ("\ufeff" + figure.table().csv()).encode(),
    ),
    "json": (
        Format("json", "JSON (whole figure)", ".json", "application/json"),
        lambda figure, **_: to_json(figure).encode(),
    ),
    "html": (
        Format("html", "HTML (interactive, offline)", ".html", "text/html"),
        lambda figure, *, dark, **_: figure_page(figure, dark=dark).encode(),
    ),
    "python": (
        Format("python", "Python script that makes it again", ".py", "text/x-python"),
        lambda figure, **_: python_script(figure).encode(),
    ),
    "command": (
        Format("command", "Command line that makes it again", ".sh", "text/x-shellscript"),
        lambda figure, **_: command_script(figure).encode(),
    ),
}


#: Formats that hold the whole figure or the description it is made from: nothing is omitted.
_DATA = ("csv", "json", "tabular", "python", "command")


def formats(figure: Figure | None = None) -> tuple[Format, ...]:
    """All formats in menu order, or those that a figure has.

    Not every figure can be made again by one command, and graphs have no LaTeX source.
    """
    lacks: set[str] = set()
    if figure is not None:
        lacks = {key for key, there in (("command", has_command(figure)), ("latex", figure.has_latex)) if not there}
    return tuple(format for format, _ in _MAKERS.values() if format.key not in lacks)


def render(
    figure: Figure, format: str, style: PrintStyle | None = None, *, dpi: int = 300, dark: bool = False, **changes: Any
) -> bytes:
    """A figure in one format.

    The print style is the one in the figure's view unless another is given; `changes` are parts of it, such as `width`
    or `font`. `dark` is for HTML pages.
    """
    if format not in _MAKERS:
        raise InputError(f"the format is {format!r}; expected one of {', '.join(_MAKERS)}")
    if isinstance(dpi, bool) or not 50 <= dpi <= 1200:
        raise InputError(f"dpi is {dpi}; expected 50 to 1200")
    chosen = dataclasses.replace(PrintStyle.of(figure.spec) if style is None else style, **changes)
    shown = figure if format in _DATA else chosen.applied(figure)
    return _MAKERS[format][1](shown, style=chosen, dpi=dpi, dark=dark)


def file_name(figure: Figure, format: str) -> str:
    """A portable file name for a figure in one format."""
    if format not in _MAKERS:
        raise InputError(f"the format is {format!r}; expected one of {', '.join(_MAKERS)}")
    return for_file_name(figure.name) + _MAKERS[format][0].extension
