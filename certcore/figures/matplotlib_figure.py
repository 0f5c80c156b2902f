"""Figures for print (matplotlib): column widths of papers, readable at 8.5 cm, distinguishable without colour.

`matplotlib` uses `Figure()` and never pyplot, so no figure is kept alive. matplotlib's settings are global to the
process, so everything that depends on them runs under one lock: `with printing(): …; figure.savefig(...)`. A kind of
figure draws itself onto a `Sheet`, which has the width, the fonts, the legend and the axes.
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

from certcore.figures.escape import clean
from certcore.figures.figure import Figure
from certcore.figures.geometry import log_ticks
from certcore.figures.print_style import FONTS, PrintStyle

_LOCK = threading.RLock()
_INCH = 2.54
#: Height of a one-column figure, 8.5 × 5.6 cm, as a fraction of its width.
_HEIGHT = 5.6 / 8.5

#: Type 42 embeds TrueType fonts in PDF (publishers refuse type 3). In SVG, letters become outlines and need no font.
_SETTINGS: dict[str, Any] = {
    "pdf.fonttype": 42, "pdf.compression": 6, "svg.fonttype": "path", "svg.hashsalt": "certcore",
    "text.parse_math": False, "text.usetex": False, "axes.unicode_minus": True, "axes.linewidth": 0.6,
    "xtick.major.width": 0.6, "ytick.major.width": 0.6, "xtick.direction": "out", "ytick.direction": "out",
    "hatch.linewidth": 0.6, "legend.frameon": False, "legend.columnspacing": 1.2, "legend.borderaxespad": 0.2,
    "legend.borderpad": 0.1, "path.simplify": True, "agg.path.chunksize": 20000,
}  # fmt: skip


@contextlib.contextmanager
def printing(font: str = "sans") -> Iterator[None]:
    """Our settings under a lock, because matplotlib has one set of settings for the whole process."""
    with _LOCK, rc_context(_SETTINGS | {"font.family": [FONTS[font]]}):
        yield


def matplotlib(figure: Figure, style: PrintStyle | None = None, *, note: str = "") -> PrintFigure:
    """The figure for print, as a matplotlib figure. Save it inside `printing()`, or use `certcore.export`.

    A `note` is set below it.
    """
    return drawn(figure, style or PrintStyle.of(figure.spec), note).figure


def drawn(figure: Figure, style: PrintStyle, note: str = "") -> Sheet:
    """The same as a `Sheet`, which also has the labels that were requested."""
    with printing(style.font):
        sheet = Sheet(style)
        style.applied(figure).draw_print(sheet)
        if style.title and figure.title:
            sheet.figure.suptitle(sheet.label(figure.title, 90), fontsize=sheet.font + 1)
        sheet.note(note)
        return sheet


class Sheet:
    """A figure of a given width, with matching font sizes, whose height grows with its legend."""

    def __init__(self, style: PrintStyle) -> None:
        self.style = style
        self.face = FONTS[style.font]
        self.width = style.centimetres / _INCH
        self.wide = style.centimetres > 12
        # Letters of the serif font are smaller at the same nominal size.
        self.font = (9.0 if self.wide else 8.5) + (0.8 if style.font == "serif" else 0)
        self.height = self.width * (0.5 if self.wide else _HEIGHT)
        self.scale = 1.2 if self.wide else 1.0
        self.figure = self._page()
        self.asked: dict[str, str] = {}
        """Labels as drawn, by their default text."""
        self.below = 0.0
        """Height in inches of what is drawn below the axes, in `lower`."""
        self.lower: Any = None
        self.keyed = False
        """Whether lines or marks are named, in a legend or beside them."""

    def _page(self) -> PrintFigure:
        engine = ConstrainedLayoutEngine(w_pad=0.03, h_pad=0.03)
        return PrintFigure(figsize=(self.width, self.height), layout=engine)

    def restart(self) -> None:
        """An empty page of the same size."""
        self.figure, self.asked = self._page(), {}

    def settle(self) -> None:
        """Compute the layout: from here on the positions of the axes are final."""
        self.figure.draw_without_rendering()

    def resize(self, height: float) -> None:
        """Change the height, in inches."""
        self.height = height
        self.figure.set_size_inches(self.width, height)

    def axes(self) -> Any:
        if self.below:
            grid = self.figure.add_gridspec(2, 1, height_ratios=[self.height - self.below, self.below])
            axes, self.lower = self.figure.add_subplot(grid[0]), self.figure.add_subplot(grid[1])
            self.lower.set_axis_off()
        else:
            axes = self.figure.add_subplot()
        axes.tick_params(labelsize=self.font - 1, length=2.5, pad=2)
        for side in ("top", "right"):
            axes.spines[side].set_visible(False)
        return axes

    def labels(self, axes: Any, x: str, y: str, share: float = 0.75) -> None:
        axes.set_xlabel(self.fit(self.label(x), self.width * 72 * share, self.font), fontsize=self.font, labelpad=2)
        axes.set_ylabel(self.fit(self.label(y), self.height * 72 * 0.75, self.font), fontsize=self.font, labelpad=2)

    def legend(self, handles: list[Any]) -> None:
        """The legend below the axes, in as many columns as fit; the figure grows so that the axes keep their size."""
        self.keyed = bool(handles)
        for handle in handles:
            handle.set_label(self.label(handle.get_label(), 160))
        if not handles or self.style.labels == "none":
            return
        size = self.font - 1
        limit = self.width * 72 - 5 * size
        for handle in handles:
            handle.set_label(self.fit(handle.get_label(), limit, size))
        lines = max(handle.get_label().count("\n") + 1 for handle in handles)
        longest = max(self.text_width(part, size) for handle in handles for part in handle.get_label().split("\n"))
        sample = 2.6 if any(getattr(h, "get_linestyle", lambda: "")() not in ("", "None") for h in handles) else 1.4
        gaps = (sample + 0.8 + 1.2) * size  # line sample, space after it, space between columns
        columns = max(1, min(int((self.width * 72 + 1.2 * size) / (longest + gaps)), len(handles), 4))
        rows = -(-len(handles) // columns)
        self.resize(self.height + rows * lines * size * 1.35 / 72 + 0.03)
        self.figure.legend(
            handles=handles, loc="outside lower center", ncols=columns, fontsize=size, handlelength=sample
        )

    def note(self, text: str) -> None:
        """Text below everything; the figure grows, and what was drawn keeps its size."""
        if not text:
            return
        size = self.font - 1.5
        wrapped = self.fit(self.printable(text, 1000), self.width * 72 - 4 * size, size)
        before, extra = self.height, (wrapped.count("\n") + 1) * size * 1.35 / 72 + 0.06
        self.settle()  # from here on it is only moved up
        self.figure.set_layout_engine("none")
        self.resize(before + extra)

        def up(y: float) -> float:
            return (y * before + extra) / self.height

        for axes in self.figure.axes:
            place = axes.get_position()
            axes.set_position((place.x0, up(place.y0), place.width, up(place.y1) - up(place.y0)))
        for other in self.figure.texts:
            other.set_y(up(other.get_position()[1]))
        for legend in self.figure.legends:
            legend.set_bbox_to_anchor((0.0, up(0.0), 1.0, 1 - up(0.0)), transform=self.figure.transFigure)
        self.figure.text(0.015, 0.04 / self.height, wrapped, fontsize=size, va="bottom", gid="note")

    def printable(self, text: object, limit: int = 80) -> str:
        """Text that the font can render: missing characters become a box instead of a warning."""
        known = _glyphs(self.face)
        return "".join(sign if ord(sign) in known else "□" for sign in clean(text, limit))

    def label(self, text: object, limit: int = 80) -> str:
        """A label, or its replacement by the print style."""
        own = clean(text, limit)
        if own:
            self.asked[own] = self.printable(self.style.text(own), limit)
        return self.asked.get(own, "")

    def fit(self, text: str, limit: float, size: float) -> str:
        """Text broken into lines of at most `limit` points; “=” is not separated from its operands."""
        text = text.replace(" = ", "\u00a0=\u00a0")
        width = self.text_width(text, size)
        if width <= limit:
            return text
        return "\n".join(textwrap.wrap(text, max(8, int(len(text) * limit / width * 0.92))))

    def text_width(self, text: str, size: float) -> float:
        """Width of a line of text in points."""
        font = get_font(findfont(self.face))
        font.set_size(size, 72)
        font.set_text(text, 0.0)
        return float(font.get_width_height()[0]) / 64

    def sample(self, **style: Any) -> Any:
        """A line or marker that appears in the legend only."""
        return Line2D([], [], **style)

    def patch(self, **style: Any) -> Any:
        """A filled area that appears in the legend only."""
        return Patch(**style)

    def thousands(self, axis: Any) -> None:
        """Numbers with separators."""
        axis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:,.10g}"))

    def whole_ticks(self, axis: Any, *, lengths: bool = False) -> None:
        """Ticks at round numbers: integers for an axis of counts, decimals for one of lengths."""
        axis.set_major_locator(MaxNLocator(nbins=7, integer=not lengths, steps=[1, 2, 5, 10]))
        self.thousands(axis)

    def log_axis(self, axes: Any, which: str, largest: float) -> None:
        """A logarithmic axis that begins at 0."""
        where, text = log_ticks(largest)
        getattr(axes, f"set_{which}scale")("log")
        axis = getattr(axes, f"{which}axis")
        axis.set_major_locator(FixedLocator(where))
        axis.set_major_formatter(FixedFormatter(text))
        axis.set_minor_locator(NullLocator())


@lru_cache(maxsize=4)
def _glyphs(face: str) -> frozenset[int]:
    return frozenset(get_font(findfont(face)).get_charmap())
