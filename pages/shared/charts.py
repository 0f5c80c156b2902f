"""Charts on a page: the same settings, alternative text and export menu for every one of them."""

from __future__ import annotations

from typing import Any

import streamlit as st

from certcore import figures
from pages.shared import exports


def is_dark() -> bool:
    """Whether the page is shown in dark colours."""
    theme = getattr(st.context, "theme", None)
    return getattr(theme, "type", "light") == "dark"


def show(figure: figures.Figure, *, key: str, height: int = 360, select: bool = False) -> Any:
    """Draw a figure with its export menu; with `select`, returns the customdata of a point just clicked."""
    screen = figures.plotly(figure, dark=is_dark(), transparent=True)
    # The legend stands below the axis title, whatever the height.
    screen.update_layout(height=height, legend={"y": -64 / max(height - 120, 80)})
    chosen = st.plotly_chart(
        screen,
        key=key,
        theme=None,
        config=dict(figures.PLOTLY_CONFIG),
        on_select="rerun" if select else "ignore",
        selection_mode="points",
        alt=figures.alt_text(figure),
    )
    exports.menu(figure, key, is_dark())
    if not select:
        return None
    points = chosen["selection"]["points"] if chosen else []
    data = [point.get("customdata") for point in points if point.get("customdata") is not None]
    return _once(data[0] if data else None, key)


def _once(now: Any, key: str) -> Any:
    """A selection stays in the chart, but counts as a click only in the run in which it appears."""
    last = st.session_state.get(f"_clicked_{key}")
    st.session_state[f"_clicked_{key}"] = now
    return now if now is not None and now != last else None
