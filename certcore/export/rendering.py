"""All formats a figure can leave in, behind one function."""

from __future__ import annotations

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
from certcore.figures.serial import to_json
from certcore.figures.style import WIDTHS


@dataclass(frozen=True)
class Format:
    """One format: its key, what people call it, the end of its file name, its media type."""

    key: str
    label: str
    extension: str
    mime: str


def _latex(figure: Figure, *, width: str | float, title: bool, **_: Any) -> bytes:
    from certcore.figures.latex import standalone
    from certcore.figures.matplotlib_figure import centimetres

    return standalone(figure, width_cm=centimetres(width), title=title, note=note_below(figure)).encode()


def _tabular(figure: Figure, **_: Any) -> bytes:
    from certcore.figures.tabular import tabular

    return tabular(figure).encode()


def _printed(kind: str) -> Callable[..., bytes]:
    def make(figure: Figure, *, width: str | float, title: bool, dpi: int, **_: Any) -> bytes:
        return printed(figure, kind, width=width, title=title, dpi=dpi)

    return make


_MAKERS: dict[str, tuple[Format, Callable[..., bytes]]] = {
    "pdf": (Format("pdf", "PDF (vector, fonts embedded)", ".pdf", "application/pdf"), _printed("pdf")),
    "svg": (Format("svg", "SVG (vector)", ".svg", "image/svg+xml"), _printed("svg")),
    "png": (Format("png", "PNG (pixels)", ".png", "image/png"), _printed("png")),
    "latex": (Format("latex", "LaTeX figure (pgfplots/TikZ)", ".tex", "application/x-tex"), _latex),
    "tabular": (Format("tabular", "LaTeX table (tabular)", ".table.tex", "application/x-tex"), _tabular),
    "csv": (
        Format("csv", "CSV (plotted numbers)", ".csv", "text/csv"),
        # The mark at the beginning tells spreadsheets that this is UTF-8.
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


def formats(figure: Figure | None = None) -> tuple[Format, ...]:
    """All formats, in the order menus show them; of a figure those it has: not all can be made again by one command,
    and graphs have no LaTeX source."""
    lacks: set[str] = set()
    if figure is not None:
        lacks = {key for key, there in (("command", has_command(figure)), ("latex", figure.has_latex)) if not there}
    return tuple(format for format, _ in _MAKERS.values() if format.key not in lacks)


def render(
    figure: Figure,
    format: str,
    *,
    width: str | float = "one-column",
    dpi: int = 300,
    title: bool = False,
    dark: bool = False,
) -> bytes:
    """A figure in one format. `width`, `dpi` and `title` are for print, `dark` is for HTML pages."""
    if format not in _MAKERS:
        raise InputError(f"the format is {format!r}; expected one of {', '.join(_MAKERS)}")
    if isinstance(width, str) and width not in WIDTHS:
        raise InputError(f"the width is {width!r}; expected {' or '.join(map(repr, WIDTHS))}, or centimetres")
    if isinstance(dpi, bool) or not 50 <= dpi <= 1200:
        raise InputError(f"dpi is {dpi}; expected 50 to 1200")
    return _MAKERS[format][1](figure, width=width, dpi=dpi, title=title, dark=dark)


def file_name(figure: Figure, format: str) -> str:
    """A plain file name for a figure in one format."""
    if format not in _MAKERS:
        raise InputError(f"the format is {format!r}; expected one of {', '.join(_MAKERS)}")
    return for_file_name(figure.name) + _MAKERS[format][0].extension
