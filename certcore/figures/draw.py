"""Drawing a figure: Plotly and matplotlib are imported only when something is drawn."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from certcore.figures.data import Figure

if TYPE_CHECKING:
    import plotly.graph_objects as go
    from matplotlib.figure import Figure as PrintFigure

#: No cloud button, no logo; for `st.plotly_chart(..., config=PLOTLY_CONFIG)` and HTML pages.
PLOTLY_CONFIG: Final[dict[str, Any]] = {
    "displaylogo": False,
    "showSendToCloud": False,
    "showEditInChartStudio": False,
    "plotlyServerURL": "",
    "responsive": True,
    "scrollZoom": False,
    "modeBarButtonsToRemove": ["sendDataToCloud", "lasso2d", "select2d"],
}


def plotly(figure: Figure, *, dark: bool = False, title: bool = False, transparent: bool = False) -> go.Figure:
    """The figure for the screen."""
    from certcore.figures.plots import draw

    return draw(figure, dark=dark, title=title, transparent=transparent)


def matplotlib(figure: Figure, *, width: str | float = "one-column", title: bool = False) -> PrintFigure:
    """The figure for print, as a matplotlib figure; `certcore.export` saves it in the right way."""
    from certcore.figures.print import draw

    return draw(figure, width=width, title=title)
