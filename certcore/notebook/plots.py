"""Figures of results, ready to be the last line of a cell."""

from __future__ import annotations

from typing import Any

import plotly.graph_objects as go

from certcore.common.errors import InputError
from certcore.figures import PLOTLY_CONFIG, Figure, matplotlib, plotly


class Screen(go.Figure):
    """A Plotly figure that shows itself without offering to send the chart to a cloud."""

    def show(self, *args: Any, **kwargs: Any) -> None:
        super().show(*args, **({"config": PLOTLY_CONFIG} | kwargs))

    def _ipython_display_(self) -> None:
        self.show()


def draw(figure: Figure, backend: str = "plotly", *, dark: bool = False) -> Any:
    """The figure for the screen (`plotly`, a `go.Figure`) or for print (`matplotlib`)."""
    if backend == "plotly":
        return Screen(plotly(figure, dark=dark))
    if backend == "matplotlib":
        return matplotlib(figure)
    raise InputError(f"the backend is {backend!r}; expected 'plotly' or 'matplotlib'")
