"""Figures: plain numbers first, then drawn for the screen, for print and for LaTeX.

A figure is a frozen object of plain numbers. Build it from results of the engine with the functions
here, or from arrays with the classes themselves. Nothing here computes a certificate.

    from certcore import figures, export

    figure = figures.curve_figure([curve], vary="attr_del", marker=50)       # a Curve of certcore.sweep
    figure = figures.CurveFigure(vary="sigma", lines=(figures.Line(values=[0, 1, 2], ratio=[1, .8, .8]),))
    screen = figures.plotly(figure, dark=True)          # go.Figure; show it with config=figures.PLOTLY_CONFIG
    figures.alt_text(figure)                            # one or two sentences for those who cannot see it
    figures.table(figure)                               # Table(columns, rows): exactly the plotted numbers
    figures.from_json(figures.to_json(figure))          # the same figure again
    export.render(figure, "pdf", width="one-column")    # bytes; see certcore.export for all formats

Each kind of figure is a class with a builder beside it, in one file of `certcore/figures/kinds/`; every class also
takes `name`, `title`, `facts` and `spec`, and builders pass further fields on to the figure.

Reading the screen figures back (clicks in the dashboard): every point of a curve carries `customdata[0]` =
the true budget (on a logarithmic axis 0 is drawn at one half), every cell of a map `customdata` = [x, y, …],
every node of a graph `customdata[0]` = its index.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from certcore.domain.view_spec import ViewSpec
from certcore.figures.figure import Figure
from certcore.figures.kinds.bars import BarFigure, Bars, class_figure, votes_figure
from certcore.figures.kinds.base import base_figure
from certcore.figures.kinds.compare import CompareEntry, CompareFigure, compare_figure
from certcore.figures.kinds.contour import ContourFigure, contour_figure
from certcore.figures.kinds.curve import CurveFigure, Line
from certcore.figures.kinds.curve_lines import controls_beside, curve_figure, lines_of, mean_lines
from certcore.figures.kinds.distribution import DistributionFigure, distribution_figure
from certcore.figures.kinds.front import FrontFigure, front_figure
from certcore.figures.kinds.graph import GraphFigure, graph_figure
from certcore.figures.print_style import PrintStyle
from certcore.figures.screen import PLOTLY_CONFIG, plotly
from certcore.figures.serial import from_json, to_json
from certcore.figures.table import Table

if TYPE_CHECKING:
    from matplotlib.figure import Figure as PrintFigure


def table(figure: Figure) -> Table:
    """The table of a figure: exactly the plotted numbers."""
    return figure.table()


def alt_text(figure: Figure) -> str:
    """One to three sentences that say what the figure shows."""
    return figure.description()


def matplotlib(figure: Figure, *, width: str | float = "one-column", title: bool = False) -> PrintFigure:
    """The figure for print, as a matplotlib figure; `certcore.export` saves it with the right settings."""
    from certcore.figures.matplotlib_figure import matplotlib

    return matplotlib(figure, replace(PrintStyle.of(figure.spec), width=width, title=title))


__all__ = [
    "PLOTLY_CONFIG", "BarFigure", "Bars", "CompareEntry", "CompareFigure", "ContourFigure", "CurveFigure",
    "DistributionFigure", "Figure", "FrontFigure", "GraphFigure", "Line", "PrintStyle", "Table", "ViewSpec",
    "alt_text", "base_figure", "class_figure", "compare_figure", "contour_figure", "controls_beside", "curve_figure",
    "distribution_figure", "from_json", "front_figure", "graph_figure", "lines_of", "matplotlib", "mean_lines",
    "plotly", "table", "to_json", "votes_figure",
]  # fmt: skip
