"""Figures for print (matplotlib): column widths of papers, readable at 8.5 cm, distinguishable without colour.

`matplotlib` uses `Figure()` and never pyplot, so nothing is kept alive. matplotlib's settings are global to the
process, so everything that depends on them happens under one lock: `with printing(): …; figure.savefig(...)`. A kind of
figure draws itself onto a `Sheet`, which knows the width, the fonts, the legend and the axes.
"""

from __future__ import annotations

import contextlib
import textwrap
import threading
from collections.abc import Iterator
from functools import lru_cache
from typing import Any

from matplotlib import rc_context
from matplotlib.figure import Figure as PrintFigure
from matplotlib.font_manager import findfont, get_font
from matplotlib.layout_engine import ConstrainedLayoutEngine
from matplotlib.lines import Line2D
from matplotlib.patches import Patch
from matplotlib.ticker import FixedFormatter, FixedLocator, FuncFormatter, MaxNLocator, NullLocator

from certcore.common.errors import InputError
from certcore.figures.escape import clean
from certcore.figures.figure import Figure
from certcore.figures.geometry import log_ticks
from certcore.figures.style import WIDTHS

_LOCK = threading.RLock()
_FONT = "DejaVu Sans"
_INCH = 2.54

#: Type 42 embeds TrueType fonts in PDF (publishers refuse type 3); SVG letters become outlines and need no font.
_SETTINGS: dict[str, Any] = {
    "font.family": [_FONT],
    "pdf.fonttype": 42,
    "pdf.compression": 6,
    "svg.fonttype": "path",
    "svg.hashsalt": "certcore",
    "text.parse_math": False,
    "text.usetex": False,
    "axes.unicode_minus": True,
    "axes.linewidth": 0.6,
    "xtick.major.width": 0.6,
    "ytick.major.width": 0.6,
    "xtick.direction": "out",
    "ytick.direction": "out",
    "hatch.linewidth": 0.6,
    "legend.frameon": False,
    "legend.columnspacing": 1.2,
    "legend.borderaxespad": 0.2,
    "legend.borderpad": 0.1,
    "path.simplify": True,
    "agg.path.chunksize": 20000,
}


@contextlib.contextmanager
def printing() -> Iterator[None]:
    """Our settings, for this thread alone: matplotlib has one set of settings for the whole process."""
    with _LOCK, rc_context(_SETTINGS):
        yield


def centimetres(width: str | float) -> float:
    """A width by name or in centimetres."""
    value = WIDTHS.get(width) if isinstance(width, str) else float(width)
    if value is None or not 3 <= value <= 60:
        names = " or ".join(repr(name) for name in WIDTHS)
        raise InputError(f"the width is {width!r}; expected {names}, or 3 to 60 centimetres")
    return value


def matplotlib(
    figure: Figure, *, width: str | float = "one-column", title: bool = False, note: str = ""
) -> PrintFigure:
    """The figure for print, as a matplotlib figure. Save it inside `printing()`, or use `certcore.export`.

    A `note` stands below it.
    """
    with printing():
        sheet = Sheet(centimetres(width))
        figure.draw_print(sheet)
        if title and figure.title:
            sheet.figure.suptitle(printable(figure.title, 90), fontsize=sheet.font + 1)
        sheet.note(note)
        return sheet.figure


class Sheet:
    """A figure of a given width, with font sizes for it, that grows in height with its legend."""

    def __init__(self, width_cm: float) -> None:
        self.width = width_cm / _INCH
        self.wide = width_cm > 12
        self.font = 9.0 if self.wide else 8.0
        self.height = self.width * (0.5 if self.wide else 0.68)
        engine = ConstrainedLayoutEngine(w_pad=0.03, h_pad=0.03)
        self.figure = PrintFigure(figsize=(self.width, self.height), layout=engine)
        self.scale = 1.2 if self.wide else 1.0

    def resize(self, height: float) -> None:
        """Change the height, in inches."""
        self.height = height
        self.figure.set_size_inches(self.width, height)

    def axes(self) -> Any:
        axes = self.figure.add_subplot()
        axes.tick_params(labelsize=self.font - 1, length=2.5, pad=2)
        for side in ("top", "right"):
            axes.spines[side].set_visible(False)
        return axes

    def labels(self, axes: Any, x: str, y: str, room: float = 0.75) -> None:
        axes.set_xlabel(fit(printable(x), self.width * 72 * room, self.font), fontsize=self.font, labelpad=2)
        axes.set_ylabel(fit(printable(y), self.height * 72 * 0.75, self.font), fontsize=self.font, labelpad=2)

    def legend(self, handles: list[Any]) -> None:
        """The legend below the axes, in as many columns as fit; the figure grows so that the axes keep their size."""
        if not handles:
            return
        size = self.font - 1
        room = self.width * 72 - 5 * size
        for handle in handles:
            handle.set_label(fit(handle.get_label(), room, size))
        lines = max(handle.get_label().count("\n") + 1 for handle in handles)
        longest = max(_text_width(part, size) for handle in handles for part in handle.get_label().split("\n"))
        sample = 2.6 if any(getattr(h, "get_linestyle", lambda: "")() not in ("", "None") for h in handles) else 1.4
        gaps = (sample + 0.8 + 1.2) * size  # the sample, the space after it, the space between columns
        columns = max(1, min(int((self.width * 72 + 1.2 * size) / (longest + gaps)), len(handles), 4))
        rows = -(-len(handles) // columns)
        self.resize(self.height + rows * lines * size * 1.35 / 72 + 0.03)
        self.figure.legend(
            handles=handles, loc="outside lower center", ncols=columns, fontsize=size, handlelength=sample
        )

    def note(self, text: str) -> None:
        """Text below everything; the figure grows for it, and what was drawn keeps its room."""
        if not text:
            return
        size = self.font - 1.5
        told = fit(printable(text, 1000), self.width * 72 - 4 * size, size)
        before, room = self.height, (told.count("\n") + 1) * size * 1.35 / 72 + 0.06
        self.figure.draw_without_rendering()  # lays everything out; from here on it only moves up
        self.figure.set_layout_engine("none")
        self.resize(before + room)

        def up(y: float) -> float:
            return (y * before + room) / self.height

        for axes in self.figure.axes:
            place = axes.get_position()
            axes.set_position((place.x0, up(place.y0), place.width, up(place.y1) - up(place.y0)))
        for other in self.figure.texts:
            other.set_y(up(other.get_position()[1]))
        for legend in self.figure.legends:
            legend.set_bbox_to_anchor((0.0, up(0.0), 1.0, 1 - up(0.0)), transform=self.figure.transFigure)
        self.figure.text(0.015, 0.04 / self.height, told, fontsize=size, va="bottom", gid="note")

    def printable(self, text: object, limit: int = 80) -> str:
        """Text the font can set."""
        return printable(text, limit)

    def fit(self, text: str, room: float, size: float) -> str:
        """Text broken into lines that fit into `room` points."""
        return fit(text, room, size)

    def sample(self, **style: Any) -> Any:
        """A line or marker for the legend alone."""
        return Line2D([], [], **style)

    def patch(self, **style: Any) -> Any:
        """A filled area for the legend alone."""
        return Patch(**style)

    def thousands(self, axis: Any) -> None:
        """Numbers with separators."""
        axis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:,.10g}"))

    def whole_ticks(self, axis: Any, most: int = 7) -> None:
        """Ticks of an axis that counts: at round numbers, never between two whole ones."""
        axis.set_major_locator(MaxNLocator(nbins=most, integer=True, steps=[1, 2, 5, 10]))
        self.thousands(axis)

    def log_axis(self, axes: Any, which: str, largest: float) -> None:
        """A logarithmic axis that begins at 0."""
        where, text = log_ticks(largest)
        getattr(axes, f"set_{which}scale")("log")
        axis = getattr(axes, f"{which}axis")
        axis.set_major_locator(FixedLocator(where))
        axis.set_major_formatter(FixedFormatter(text))
        axis.set_minor_locator(NullLocator())


def fit(text: str, room: float, size: float) -> str:
    """Text broken into lines that fit into `room` points; a number stays with its sign."""
    text = text.replace(" = ", "\u00a0=\u00a0")
    width = _text_width(text, size)
    if width <= room:
        return text
    return "\n".join(textwrap.wrap(text, max(8, int(len(text) * room / width * 0.92))))


def _text_width(text: str, size: float) -> float:
    """Width of a line of text in points."""
    font = get_font(findfont(_FONT))
    font.set_size(size, 72)
    font.set_text(text, 0.0)
    return float(font.get_width_height()[0]) / 64


@lru_cache(maxsize=1)
def _glyphs() -> frozenset[int]:
    return frozenset(get_font(findfont(_FONT)).get_charmap())


def printable(text: object, limit: int = 80) -> str:
    """Text the font can set: signs it lacks become a box instead of a warning."""
    known = _glyphs()
    return "".join(sign if ord(sign) in known else "□" for sign in clean(text, limit))
