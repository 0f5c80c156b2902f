"""Results that show themselves in notebooks: the cards, frames and plots are registered from the layer above.

`certcore/__init__.py` registers the functions of `certcore.notebook` such that each module is loaded at its first use:
nothing that computes loads pandas, Plotly or the messages.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

_VIEWS: dict[str, Callable[..., Any]] = {}


def register_views(**views: Callable[..., Any]) -> None:
    """Name the functions that show results."""
    _VIEWS.update(views)


def view(name: str, *args: Any, **options: Any) -> Any:
    """What the registered function of this name returns."""
    return _VIEWS[name](*args, **options)


class Display:
    """A result with a card for notebooks, a pandas frame and a plot."""

    def _repr_html_(self) -> str:
        return str(view("card", self))

    def to_frame(self) -> Any:
        """The numbers as a pandas frame."""
        return view("frame", self)

    def plot(self, backend: str = "plotly", *, dark: bool = False) -> Any:
        """The picture of it, drawn by `plotly` (a `go.Figure`) or `matplotlib`."""
        return view("plot", self, backend, dark=dark)
