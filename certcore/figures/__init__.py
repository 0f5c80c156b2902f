"""Figures: plain numbers first, then a table, a drawing for print, and for curves and maps one for the screen.

A figure is a frozen object of plain numbers. Build it from results of the engine with the functions here, or from
arrays with the classes themselves. Nothing here computes a certificate.

    from certcore import figures

    figure = figures.figure_of(result)                    # of a curve, a surface or a certificate
    figure = figures.curve_figure([curve], vary="attr_del", marker=50)
    figure = figures.CurveFigure(vary="sigma", lines=(figures.Line(values=[0, 1, 2], ratio=[1, .8, .8]),))
    figure.frame()                                        # exactly the plotted numbers
    figure.plotly(dark=True)                              # go.Figure; show it with config=figures.PLOTLY_CONFIG
    figure.matplotlib(width=8.5, font="serif")            # for print
    figures.save(figure, "figure.pdf", width="8.5cm")     # also .svg, .png, .csv and .tex (a table)

Reading the screen figures back (clicks in the dashboard): every point of a curve carries `customdata[0]` =
the true budget (on a logarithmic axis 0 is drawn at one half), every cell of a map `customdata` = [x, y, …].
"""

from __future__ import annotations

from certcore.figures.contour import ContourFigure, contour_figure
from certcore.figures.curve import CurveFigure, Line, as_accuracy, controls_for, curve_figure, lines_of, mean_lines
from certcore.figures.figure import PLOTLY_CONFIG, Figure
from certcore.figures.graph import GraphFigure, graph_figure
from certcore.figures.results import figure_of
from certcore.figures.save import save
from certcore.figures.table import Table

__all__ = [
    "PLOTLY_CONFIG",
    "ContourFigure",
    "CurveFigure",
    "Figure",
    "GraphFigure",
    "Line",
    "Table",
    "as_accuracy",
    "contour_figure",
    "controls_for",
    "curve_figure",
    "figure_of",
    "graph_figure",
    "lines_of",
    "mean_lines",
    "save",
]
