"""Notebook display of results: a short text, data frames, graphs, plots and the workbench.

Each method imports `certcore.notebook` when it is called, so that computing a certificate imports neither pandas nor
Plotly nor the texts of messages.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from typing import Any

_VIEWS: dict[str, Callable[..., Any]] = {}


def register_views(**views: Callable[..., Any]) -> None:
    """Register the functions that display results, by name: layers below do not import those above them."""
    _VIEWS.update(views)


def view(name: str, *args: Any, **options: Any) -> Any:
    """Call the registered function of this name and return its result."""
    return _VIEWS[name](*args, **options)


class Display:
    """A result with a pandas frame and a plot."""

    def frame(self) -> Any:
        """The numbers as a pandas frame: of a certificate a row per node, of a sweep a row per value or cell."""
        return view("frame", self)

    def plot(self, path: str | os.PathLike[str] | None = None, **options: Any) -> Any:
        """Draw the result into a file (`.pdf`, `.svg`, `.png`, `.csv` or `.tex`; options `width="8.5cm"` and `font`).

        Without a file, show a curve or a surface for the screen (`dark=True`), and a certificate's graph as printed.
        """
        return view("plot", self, path, **options)
