"""Results that show themselves, without knowing how: cards, frames and plots are in a layer above.

`certcore.notebook` is asked for by its name, and only when somebody looks. So nothing that computes loads pandas,
Plotly or the module of words.
"""

from __future__ import annotations

from importlib import import_module
from typing import Any


def ask(module: str, name: str, *args: Any, **kwargs: Any) -> Any:
    """What a function of `certcore.notebook` answers."""
    return getattr(import_module(f"certcore.notebook.{module}"), name)(*args, **kwargs)


class Display:
    """A result with a card for notebooks, a pandas frame and a plot."""

    def _repr_html_(self) -> str:
        return str(ask("cards", "card", self))

    def to_frame(self) -> Any:
        """The numbers as a pandas frame."""
        return ask("tables", "frame", self)

    def plot(self, backend: str = "plotly", *, dark: bool = False) -> Any:
        """The picture of it, drawn by `plotly` (a `go.Figure`) or `matplotlib`."""
        return ask("plots", "plot", self, backend, dark=dark)
