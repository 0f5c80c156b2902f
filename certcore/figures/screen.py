"""Figures for the screen (Plotly): tooltips with units, light and dark, the same colours as in print."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

import numpy as np

from certcore.common.rounding import rounded_down
from certcore.figures.escape import for_plotly
from certcore.figures.figure import Figure

if TYPE_CHECKING:
    import plotly.graph_objects as go

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
_FONT = "Source Sans Pro, Source Sans 3, Segoe UI, DejaVu Sans, Helvetica, Arial, sans-serif"


def plotly(figure: Figure, *, dark: bool = False, title: bool = False, transparent: bool = False) -> go.Figure:
    """The figure for the screen; its alternative text is in `layout.meta["alt"]`."""
    import plotly.graph_objects as go

    screen = go.Figure()
    figure.draw_screen(screen, dark)
    screen.update_layout(**_layout(dark, transparent), meta={"alt": figure.description(), "name": figure.name})
    if title and figure.title:
        screen.update_layout(title={"text": for_plotly(figure.title), "x": 0.02}, margin={"t": 48})
    return screen


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
    return {
        "template": "plotly_dark" if dark else "plotly_white",
        "paper_bgcolor": clear if transparent else paper,
        "plot_bgcolor": clear if transparent else paper,
        "font": {"color": ink, "family": _FONT, "size": 14},
        "xaxis": axis,
        "yaxis": axis,
        "margin": {"l": 8, "r": 8, "t": 16, "b": 8},
        "hoverlabel": {"font": {"family": _FONT}},
        # Anchored at the bottom of the picture: Plotly then reserves space below the axis title, however many lines it
        # has.
        "legend": {"orientation": "h", "yref": "container", "yanchor": "bottom", "y": 0, "x": 0, "font": {"size": 13}},
        "modebar": {"orientation": "v", "bgcolor": clear},
    }


def ratios(values: np.ndarray) -> list[str]:
    """Certified ratios as text, rounded down."""
    return [rounded_down(value, 4) if np.isfinite(value) else "not computed" for value in values.tolist()]


def legend_only(screen: Any, label: str, marker: dict[str, Any]) -> None:
    """A legend entry without a line of its own."""
    screen.add_scatter(x=[None], y=[None], mode="markers", marker=marker, name=label, hoverinfo="skip")


def whole_steps(end: float, *, lengths: bool = False) -> dict[str, Any]:
    """Integer ticks for an axis of counts; lengths have fractions between."""
    return {"tick0": 0, "dtick": 1} if end <= 8 and not lengths else {}


def translucent(colour: str, alpha: float) -> str:
    """A translucent version of a colour."""
    red, green, blue = (int(colour[i : i + 2], 16) for i in (1, 3, 5))
    return f"rgba({red},{green},{blue},{alpha})"
