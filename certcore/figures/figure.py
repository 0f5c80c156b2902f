"""The base class of all figures: a frozen object of plain numbers with a table, a description and its drawings.

Each kind of figure is one file: `curve.py`, `contour.py`, `graph.py`. No figure computes a certificate. pandas, Plotly
and matplotlib are imported only when something is shown.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from certcore.common.errors import InputError
from certcore.figures.escape import clean
from certcore.figures.table import Table

if TYPE_CHECKING:
    import pandas as pd
    import plotly.graph_objects as go
    from matplotlib.figure import Figure as PrintFigure

    from certcore.figures.page import Page

#: No cloud button, no logo; for `st.plotly_chart(..., config=PLOTLY_CONFIG)` and notebooks.
PLOTLY_CONFIG: Final[dict[str, Any]] = {
    "displaylogo": False,
    "showSendToCloud": False,
    "showEditInChartStudio": False,
    "plotlyServerURL": "",
    "responsive": True,
    "scrollZoom": False,
    "modeBarButtonsToRemove": ["sendDataToCloud", "lasso2d", "select2d"],
}
_FONT = "Source Sans Pro, Source Sans 3, Segoe UI, DejaVu Sans, Helvetica, Arial, sans-serif"


@dataclass(frozen=True, eq=False, kw_only=True)
class Figure(ABC):
    """Fields of all figures: a name for files, a title for their metadata, a note that is set below the figure, and the
    command that makes it, if there is one.
    """

    name: str = "figure"
    title: str = ""
    note: str = ""
    command: str = ""

    @abstractmethod
    def table(self) -> Table:
        """Exactly the plotted numbers."""

    def paper_table(self) -> Table:
        """The table in the layout of a paper."""
        return self.table()

    @abstractmethod
    def description(self) -> str:
        """One to three sentences for those who cannot see the figure."""

    def frame(self) -> pd.DataFrame:
        """The plotted numbers as a pandas frame."""
        return self.table().frame()

    def tex(self) -> str:
        """A table for a paper, as a LaTeX `tabular`."""
        return self.paper_table().tex(self.name)

    def matplotlib(self, width: str | float = 8.5, font: str = "sans") -> PrintFigure:
        """The figure for print, `width` centimetres wide; `figures.save` writes it to a file."""
        from certcore.figures.page import Page, printing

        with printing(font):
            page = Page(width, font, self.note)
            self.draw_print(page)
            return page.figure

    def plotly(self, *, dark: bool = False, transparent: bool = False) -> go.Figure:
        """The figure for the screen; its description is in `layout.meta["alt"]`."""
        import plotly.graph_objects as go

        screen = go.Figure()
        self.draw_screen(screen, dark)
        screen.update_layout(**_layout(dark, transparent), meta={"alt": self.description(), "name": self.name})
        return screen

    @abstractmethod
    def draw_print(self, page: Page) -> None:
        """Draw onto a `Page`."""

    def draw_screen(self, screen: go.Figure, dark: bool) -> None:
        """Draw into a Plotly figure."""
        raise InputError(
            f"there is no interactive drawing of the {clean(self.name)}; expected a curve or a map; the workbench "
            "(certificate.show()) has the interactive graph"
        )


def _layout(dark: bool, transparent: bool) -> dict[str, Any]:
    ink, paper, grid = ("#E6E6E6", "#0E1117", "#31353D") if dark else ("#1F2328", "#FFFFFF", "#E3E5E8")
    clear = "rgba(0,0,0,0)"
    axis = {
        "gridcolor": grid,
        "linecolor": ink,
        "zerolinecolor": grid,
        "automargin": True,
        "ticks": "outside",
        "separatethousands": True,
    }
    # Anchored at the bottom of the picture: Plotly then reserves space below the axis title, however many lines it has.
    legend = {"orientation": "h", "yref": "container", "yanchor": "bottom", "y": 0, "x": 0, "font": {"size": 13}}
    return {
        "template": "plotly_dark" if dark else "plotly_white",
        "paper_bgcolor": clear if transparent else paper,
        "plot_bgcolor": clear if transparent else paper,
        "font": {"color": ink, "family": _FONT, "size": 14},
        "xaxis": axis,
        "yaxis": axis,
        "margin": {"l": 8, "r": 8, "t": 16, "b": 8},
        "hoverlabel": {"font": {"family": _FONT}},
        "legend": legend,
        "modebar": {"orientation": "v", "bgcolor": clear},
    }


def whole_steps(end: float, *, lengths: bool = False) -> dict[str, Any]:
    """Integer ticks on the screen for an axis of counts; lengths have fractions between."""
    return {"tick0": 0, "dtick": 1} if end <= 8 and not lengths else {}


def translucent(colour: str, alpha: float) -> str:
    """A translucent version of a colour, for the screen."""
    red, green, blue = (int(colour[i : i + 2], 16) for i in (1, 3, 5))
    return f"rgba({red},{green},{blue},{alpha})"


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
