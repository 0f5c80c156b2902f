"""A page of print (matplotlib): the width of a column, its fonts, its legend; every kind of figure draws onto one.

One column is 8.5 × 5.6 cm in both fonts, with the same layout: what decides it is measured in both. `Figure()` is used
and never pyplot, so no figure is kept alive. matplotlib's settings are global to the process, so everything that
depends on them runs under one lock: `with printing(font): …; figure.savefig(...)`.
"""

from __future__ import annotations

import contextlib
import re
import textwrap
import threading
from collections.abc import Iterator, Sequence
from functools import lru_cache
from typing import Any

from matplotlib import rc_context
from matplotlib.figure import Figure as PrintFigure
from matplotlib.font_manager import findfont, get_font
from matplotlib.layout_engine import ConstrainedLayoutEngine
from matplotlib.ticker import FixedFormatter, FixedLocator, FuncFormatter, MaxNLocator, NullLocator

from certcore.common.errors import InputError
from certcore.figures.escape import clean
from certcore.figures.geometry import log_ticks

#: Fonts that matplotlib ships: both have every character that our texts need, and may be embedded.
FONTS = {"sans": "DejaVu Sans", "serif": "STIXGeneral"}
#: Column widths of papers, in centimetres.
WIDTHS = {"one-column": 8.5, "two-column": 17.5}
#: Height of a figure as a fraction of its width: 5.6 of 8.5 cm, and flatter across two columns.
_HEIGHT, _WIDE_HEIGHT = 5.6 / 8.5, 0.45
_LOCK = threading.RLock()
_INCH = 2.54
#: The smallest font size, in points.
SMALLEST = 6.0

#: Type 42 embeds TrueType fonts in PDF (publishers refuse type 3). In SVG, letters become outlines and need no font.
_SETTINGS: dict[str, Any] = {
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
    "legend.frameon": False,
    "legend.borderaxespad": 0.1,
    "legend.borderpad": 0.1,
    "path.simplify": True,
    "agg.path.chunksize": 20000,
}


@contextlib.contextmanager
def printing(font: str = "sans") -> Iterator[None]:
    """Our settings under a lock, because matplotlib has one set of settings for the whole process."""
    if font not in FONTS:
        raise InputError(f"the font is {font!r}; expected {' or '.join(FONTS)}")
    with _LOCK, rc_context(_SETTINGS | {"font.family": [FONTS[font]]}):
        yield


def centimetres(width: str | float) -> float:
    """A width in centimetres: a number, the same as text (`8.5cm`), or the name of a column."""
    try:
        value = WIDTHS[width] if width in WIDTHS else float(str(width).strip().removesuffix("cm"))
    except ValueError:
        value = 0.0
    if not 3 <= value <= 60:
        raise InputError(f"the width is {str(width)[:40]!r}; expected 3 to 60 centimetres, such as 8.5cm")
    return value


class Page:
    """A figure of a given width with matching font sizes."""

    def __init__(self, width: str | float, font: str, note: str = "") -> None:
        wide = centimetres(width) > 12
        self.width = centimetres(width) / _INCH
        self.height = self.width * (_WIDE_HEIGHT if wide else _HEIGHT)
        self.face = FONTS[font]
        #: Line widths and marks are larger across two columns.
        self.scale = 1.2 if wide else 1.0
        # Letters of the serif font are smaller at the same nominal size.
        self.larger = {face: 1.1 if face == FONTS["serif"] else 1.0 for face in FONTS.values()}
        self.base = 8.5 if wide else 8.0
        self.font = self.base * self.larger[self.face]
        self.figure = PrintFigure(figsize=(self.width, self.height))
        self.figure.set_layout_engine(ConstrainedLayoutEngine(w_pad=0.02, h_pad=0.02))
        self._note(note)

    def _note(self, text: str) -> None:
        """A note below everything; the figure grows by its height."""
        if not text:
            return
        size = max(SMALLEST, self.font - 1.5)
        wrapped = self.fit(self.printable(text, 1000), self.width * 72 - 4 * size, self.base - 1.5)
        extra = (wrapped.count("\n") + 1) * size * 1.35 / 72 + 0.06
        self.height += extra
        self.figure.set_size_inches(self.width, self.height)
        share = extra / self.height
        engine = ConstrainedLayoutEngine(w_pad=0.02, h_pad=0.02, rect=(0, share, 1, 1 - share))
        self.figure.set_layout_engine(engine)
        self.figure.text(0.015, 0.04 / self.height, wrapped, fontsize=size, va="bottom", gid="note", in_layout=False)

    def at_least(self, share: float) -> None:
        """Make the figure at least this high, as a fraction of its width; its note stays below it."""
        self.height = max(self.height, share * self.width)
        self.figure.set_size_inches(self.width, self.height)

    def axes(self) -> Any:
        axes = self.figure.add_subplot()
        axes.tick_params(labelsize=self.font - 1, length=2.5, pad=2)
        for side in ("top", "right"):
            axes.spines[side].set_visible(False)
        return axes

    def labels(self, axes: Any, x: str, y: str) -> None:
        for which, text, limit in (("x", x, self.width), ("y", y, self.height)):
            fitted = self.fit(self.printable(text), limit * 72 * 0.75, self.base)
            getattr(axes, f"set_{which}label")(fitted, fontsize=self.font, labelpad=2)

    def legend(self, handles: Sequence[Any], most_rows: int = 2, sample: float = 1.8) -> None:
        """A legend above the axes, in as few rows as possible; smaller letters before a further row.

        `sample` is the width of a sample as a multiple of the font size.
        """
        if not handles:
            return
        texts = [self.printable(handle.get_label(), 60) for handle in handles]
        size, columns = self._legend_layout(texts, most_rows, sample)
        if columns * most_rows < len(texts):  # without the numbers of nodes
            texts = [re.sub(r" \([\d,]+\)$", "", text) for text in texts]
            size, columns = self._legend_layout(texts, most_rows, sample)
        for handle, text in zip(handles, texts):
            handle.set_label(text)
        self.figure.legend(
            handles=handles,
            loc="outside upper center",
            ncols=columns,
            fontsize=size * self.larger[self.face],
            handlelength=sample,
            handletextpad=_AFTER,
            columnspacing=_BETWEEN,
            labelspacing=0.25,
        )

    def _legend_layout(self, texts: Sequence[str], most_rows: int, sample: float) -> tuple[float, int]:
        """The font size and the number of columns with which the legend fits, in both fonts."""
        sizes = [self.base - 1, self.base - 1.5, SMALLEST]
        for rows in range(1, len(texts) + 1):
            columns = -(-len(texts) // rows)
            # A further row is better than small letters only as long as the rows are few.
            for size in sizes if rows >= most_rows else sizes[:1]:
                if self._legend_width(texts, columns, size, sample) <= self.width * 72 - 4:
                    return size, columns
        return SMALLEST, 1

    def _legend_width(self, texts: Sequence[str], columns: int, size: float, sample: float) -> float:
        """The width of a legend in points: matplotlib fills its columns from the top, the first ones with one more."""
        full, more = divmod(len(texts), columns)
        widest, start = 0.0, 0
        for face, larger in self.larger.items():
            total, start = 0.0, 0
            for column in range(columns):
                end = start + full + (column < more)
                total += max(text_width(face, text, size * larger) for text in texts[start:end])
                start = end
            gaps = columns * (sample + _AFTER) + (columns - 1) * _BETWEEN
            widest = max(widest, total + gaps * size * larger)
        return widest

    def printable(self, text: object, limit: int = 80) -> str:
        """Text that both fonts can render: missing characters become a box instead of a warning."""
        known = _glyphs(FONTS["sans"]) & _glyphs(FONTS["serif"])
        return "".join(sign if ord(sign) in known else "□" for sign in clean(text, limit))

    def fit(self, text: str, limit: float, size: float) -> str:
        """Text broken into lines of at most `limit` points, at the same places in both fonts."""
        width = max(text_width(face, text, size * larger) for face, larger in self.larger.items())
        if width <= limit:
            return text
        return "\n".join(textwrap.wrap(text, max(8, int(len(text) * limit / width * 0.92))))

    def text_size(self, text: str, size: float) -> tuple[float, float]:
        """Width and height of a line of text in points, the larger of both fonts."""
        return max(text_width(face, text, size * larger) for face, larger in self.larger.items()), size * 1.1

    def whole_ticks(self, axis: Any, *, lengths: bool = False) -> None:
        """Ticks at round numbers with separators: integers for an axis of counts, decimals for one of lengths."""
        axis.set_major_locator(MaxNLocator(nbins=7, integer=not lengths, steps=[1, 2, 5, 10]))
        axis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:,.10g}"))

    def log_axis(self, axes: Any, which: str, largest: float) -> None:
        """A logarithmic axis that begins at 0."""
        where, text = log_ticks(largest)
        getattr(axes, f"set_{which}scale")("log")
        axis = getattr(axes, f"{which}axis")
        axis.set_major_locator(FixedLocator(where))
        axis.set_major_formatter(FixedFormatter(text))
        axis.set_minor_locator(NullLocator())


#: Spaces in a legend as multiples of the font size: after a sample, and between columns.
_AFTER, _BETWEEN = 0.4, 0.8


def text_width(face: str, text: str, size: float) -> float:
    """Width of a line of text in points."""
    font = get_font(findfont(face))
    font.set_size(size, 72)
    font.set_text(text, 0.0)
    return float(font.get_width_height()[0]) / 64


@lru_cache(maxsize=4)
def _glyphs(face: str) -> frozenset[int]:
    return frozenset(get_font(findfont(face)).get_charmap())
