"""The base class of all figures: a frozen object of plain numbers that can be drawn, tabulated and described.

Each kind of figure is one file in `certcore/figures/kinds/`: its numbers, its table, its description, and how it is
drawn on the screen (Plotly), for print (matplotlib) and in LaTeX (pgfplots and TikZ). No figure computes a certificate.
Plotly and matplotlib are imported only when something is drawn.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from certcore.common.errors import InputError
from certcore.domain.view_spec import ViewSpec
from certcore.figures.escape import clean
from certcore.figures.table import Table

if TYPE_CHECKING:
    from certcore.figures.matplotlib_figure import Sheet

Cells = Sequence[Sequence[Any]]


@dataclass(frozen=True, eq=False, kw_only=True)
class Figure:
    """Fields of all figures: a name for files, a title (drawn only on request), facts, and the view they show."""

    #: Fields that hold several objects of one class, needed to read a figure from JSON.
    PARTS: ClassVar[Mapping[str, type]] = {}
    #: Whether the figure needs more height on a page than its width suggests.
    TALL: ClassVar[bool] = False

    name: str = "figure"
    title: str = ""
    facts: Mapping[str, Any] = field(default_factory=dict)
    spec: ViewSpec | None = None

    def __post_init__(self) -> None:
        object.__setattr__(self, "facts", dict(self.facts))

    def table(self) -> Table:
        """Exactly the plotted numbers."""
        raise InputError(f"there is no table for a {type(self).__name__}")

    def paper_table(self) -> Table:
        """The table in the layout of a paper."""
        return self.table()

    def summary(self) -> Table | None:
        """A short table for a page, if the figure has one."""
        return None

    def shortened(self, rows: Cells, most: int) -> tuple[Cells, str]:
        """A selection of a long table's rows for print (some along the whole axis), and a note that states this."""
        step = -(-len(rows) // most)
        kept = rows[::step]
        return kept, f"{len(kept)} of {len(rows)} rows, one in {step}"

    def description(self) -> str:
        """One to three sentences of alternative text."""
        return clean(self.title or self.name)

    def note(self) -> str:
        """A note that is required wherever the figure is shown by itself; mostly empty."""
        return ""

    @property
    def has_controls(self) -> bool:
        """Whether it shows baselines that ignore edges, which need an explanation."""
        return False

    def draw_screen(self, screen: Any, dark: bool) -> None:
        """Draw into a Plotly figure."""
        raise InputError(f"there is no drawing of a {type(self).__name__} for the screen")

    def draw_print(self, sheet: Sheet) -> None:
        """Draw onto a matplotlib `Sheet`."""
        raise InputError(f"there is no drawing of a {type(self).__name__} for print")

    def draw_latex(self, width_cm: float) -> str:
        """The `tikzpicture`, for kinds that support LaTeX."""
        raise InputError(
            f"the figure {self.name!r} has no LaTeX source: graphs leave as PDF, SVG, PNG and HTML; export it as PDF "
            "and include that"
        )

    @property
    def has_latex(self) -> bool:
        return type(self).draw_latex is not Figure.draw_latex


def numbers(owner: object, name: str, shape: tuple[int | None, ...], what: str, *, finite: bool = True) -> None:
    """Replace a field by a read-only array of numbers of the expected shape (None stays None)."""
    value = getattr(owner, name)
    if value is None:
        return
    try:
        array = np.array(value)
        if array.dtype == object:  # None among numbers becomes NaN
            array = array.astype(float)
    except (TypeError, ValueError) as error:
        raise InputError(f"{name} of {what} is no array of numbers; expected numbers only") from error
    if array.size == 0:
        array = array.reshape([0 if side is None else side for side in shape])
    if array.dtype.kind not in "iufb" or array.ndim != len(shape):
        raise InputError(f"{name} of {what} has shape {array.shape} and type {array.dtype}; expected numbers, {shape}")
    if any(side is not None and side != got for side, got in zip(shape, array.shape)):
        raise InputError(f"{name} of {what} has shape {array.shape}; expected {shape}")
    if finite and array.dtype.kind == "f" and not np.isfinite(array).all():
        raise InputError(f"{name} of {what} contains NaN or infinity; expected finite numbers")
    array.setflags(write=False)
    object.__setattr__(owner, name, array)


def indices(owner: object, name: str, shape: tuple[int | None, ...], limit: int, what: str) -> None:
    """The same for integers from 0 to below `limit`."""
    numbers(owner, name, shape, what)
    array = getattr(owner, name)
    if array is None:
        return
    if array.size == 0:
        array = array.astype(np.int64)
        object.__setattr__(owner, name, array)
    if array.dtype.kind not in "iu" or (array.size and not 0 <= array.min() <= array.max() < limit):
        raise InputError(f"{name} of {what} are no indices from 0 to {limit - 1}")
