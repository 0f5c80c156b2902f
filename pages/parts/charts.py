"""Charts on a page: the same settings, alternative text and export menu for every one of them."""

from __future__ import annotations

import itertools
from collections.abc import Callable
from typing import Any

import numpy as np
import plotly.graph_objects as go
import streamlit as st

from certcore import figures
from certcore.figures.contour import cell_hover

from . import exports

#: Of pictures that grow; Streamlit takes no name twice in one run.
_NUMBERS = itertools.count()
FONT = '"Source Sans", "Source Sans Pro", sans-serif'


def is_dark() -> bool:
    """Whether the page is shown in dark colours."""
    theme = getattr(st.context, "theme", None)
    return getattr(theme, "type", "light") == "dark"


def show(
    figure: figures.Figure,
    *,
    key: str,
    height: int = 360,
    select: bool = False,
    note: str = "",
    restyle: Callable[[go.Figure], None] | None = None,
    growing: bool = False,
) -> Any:
    """Draw a figure with its export menu; with `select`, returns the customdata of a point just clicked.

    As long as it is `growing` there is nothing to press: the next picture takes its place in the same run.
    """
    screen = figure.plotly(dark=is_dark(), transparent=True)
    if restyle is not None:
        restyle(_styled(screen, height))
    if growing:
        drawn = f"{key} {next(_NUMBERS)}"
        draw(screen, figure.description(), key=drawn, height=height, styled=restyle is not None)
        st.caption(note)
        return None
    if select and isinstance(figure, figures.ContourFigure):
        screen.add_trace(_cells(figure))
    chosen = draw(screen, figure.description(), key=key, height=height, select=select, styled=restyle is not None)
    with st.container(horizontal=True, vertical_alignment="center", gap="small"):
        with st.container(width="content"):
            exports.menu(figure, key)
        if note:
            st.caption(note, width="stretch")
    if not select:
        return None
    points = chosen["selection"]["points"] if chosen else []
    data = [_listed(point.get("customdata")) for point in points if point.get("customdata") is not None]
    return _once(data[0] if data else None, key)


def draw(
    screen: go.Figure, alt: str, *, key: str, height: int = 360, select: bool = False, styled: bool = False
) -> Any:
    """Draw a picture of Plotly in the font of the page; returns what is selected in it."""
    return st.plotly_chart(
        screen if styled else _styled(screen, height),
        key=key,
        theme=None,
        config=dict(figures.PLOTLY_CONFIG),
        on_select="rerun" if select else "ignore",
        selection_mode="points",
        alt=alt,
    )


def _styled(screen: go.Figure, height: int) -> go.Figure:
    """The font of the page, so that Plotly measures what is drawn, and the same margins everywhere."""
    background = "rgba(0,0,0,0)"
    screen.update_layout(
        height=height,
        template="plotly_dark" if is_dark() else "plotly_white",
        font={"family": FONT},
        margin={"t": 28, "l": 4, "r": 4, "b": 4},
        paper_bgcolor=background,
        plot_bgcolor=background,
    )
    screen.update_xaxes(title={"font": {"size": 14}, "standoff": 8})
    screen.update_yaxes(title={"font": {"size": 14}, "standoff": 8})
    return screen


def click_points(edges: np.ndarray, log: bool, pieces: int = 32) -> tuple[np.ndarray, np.ndarray]:
    """Positions along one axis of a map that fill every cell evenly, and the number of the cell of each."""
    edges = np.log(edges) if log else edges
    widths = np.diff(edges)
    numbers = np.maximum(1, np.round(pieces * widths / widths.sum())).astype(int)
    where = [low + width * (np.arange(n) + 0.5) / n for low, width, n in zip(edges, widths, numbers)]
    places = np.concatenate(where)
    return np.exp(places) if log else places, np.repeat(np.arange(len(numbers)), numbers)


def _cells(figure: figures.ContourFigure) -> go.Scatter:
    """Invisible points all over the cells of a map: Plotly selects points, not cells."""
    xs, ys = figure.edges()
    across, i = click_points(xs, figure.x_log)
    up, j = click_points(ys, figure.y_log, 20)
    x, y = np.meshgrid(across, up, indexing="ij")
    column, row = (part.ravel() for part in np.meshgrid(i, j, indexing="ij"))
    data, hover = cell_hover(figure)
    return go.Scatter(
        x=x.ravel(),
        y=y.ravel(),
        customdata=[data[i][j] for i, j in zip(column.tolist(), row.tolist())],
        mode="markers",
        marker={"size": 26, "opacity": 0},
        unselected={"marker": {"opacity": 0}},
        selected={"marker": {"opacity": 0}},
        hovertemplate=f"{hover}<br>click to move the sliders here<extra></extra>",
        showlegend=False,
    )


def _listed(data: Any) -> list[Any]:
    """Plotly's arrays arrive as lists, or as objects with the positions as names."""
    return [data[k] for k in sorted(data, key=int)] if isinstance(data, dict) else list(data)


def _once(now: Any, key: str) -> Any:
    """A selection stays in the chart, but counts as a click only in the run in which it appears."""
    last = st.session_state.get(f"_clicked_{key}")
    st.session_state[f"_clicked_{key}"] = now
    return now if now is not None and now != last else None
