"""How results show themselves in a notebook.

`certcore.notebook` is imported when a method is called: computing a certificate loads neither pandas nor Plotly nor
messages, and this layer knows nothing of those above it but that name.
"""

from __future__ import annotations

import os
from importlib import import_module
from typing import Any


class Display:
    """A result with a pandas frame and a plot."""

    def frame(self) -> Any:
        """The numbers as a pandas frame: of a certificate a row per node, of a sweep a row per value or cell."""
        return _notebook().frame(self)

    def plot(self, path: str | os.PathLike[str] | None = None, **options: Any) -> Any:
        """Draw the result into a file (`.pdf`, `.svg`, `.png`, `.csv` or `.tex`; options `width="8.5cm"` and `font`).

        Without a file, show a curve or a surface for the screen (`dark=True`), and a certificate's graph as printed.
        """
        return _notebook().plot(self, path, **options)


class GraphDisplay(Display):
    """A result on one graph, shown as a card that is read at a glance, a networkx graph and the workbench."""

    def _repr_html_(self) -> str:
        return str(_notebook().card(self))

    def graph(self) -> Any:
        """The attacked graph for networkx, with the columns of `frame()` as attributes; `networkx.write_graphml` and
        `write_gexf` write it for other viewers."""
        return _notebook().graph(self)

    def show(self) -> Any:
        """Show the interactive workbench in a notebook; it needs no running kernel."""
        return _notebook().show(self)


def _notebook() -> Any:
    return import_module("certcore.notebook")
