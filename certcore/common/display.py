"""Notebook display of results: cards, data frames and plots.

`certcore/__init__.py` registers the functions of `certcore.notebook` here. Each of their modules is imported at its
first use, so that computing a certificate imports neither pandas nor Plotly nor the message texts.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

_VIEWS: dict[str, Callable[..., Any]] = {}


def register_views(**views: Callable[..., Any]) -> None:
    """Register the functions that display results, by name."""
    _VIEWS.update(views)


def view(name: str, *args: Any, **options: Any) -> Any:
    """Call the registered function of this name and return its result."""
    return _VIEWS[name](*args, **options)


class Display:
    """A result with a card for notebooks, a pandas frame and a plot."""

    def _repr_html_(self) -> str:
        return str(view("card", self))

    def to_frame(self) -> Any:
        """The numbers as a pandas frame."""
        return view("frame", self)

    def plot(self, backend: str = "plotly", *, dark: bool = False) -> Any:
        """A plot of the result, drawn by `plotly` (a `go.Figure`) or `matplotlib`."""
        return view("plot", self, backend, dark=dark)
