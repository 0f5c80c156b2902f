"""The kinds of figures, one file each; to add a kind, add a file here and its name to this list."""

from __future__ import annotations

from certcore.figures.figure import Figure
from certcore.figures.kinds.bars import BarFigure
from certcore.figures.kinds.compare import CompareFigure
from certcore.figures.kinds.contour import ContourFigure
from certcore.figures.kinds.curve import CurveFigure
from certcore.figures.kinds.distribution import DistributionFigure
from certcore.figures.kinds.front import FrontFigure
from certcore.figures.kinds.graph import GraphFigure

FIGURES: dict[str, type[Figure]] = {
    cls.__name__: cls
    for cls in (CurveFigure, CompareFigure, ContourFigure, BarFigure, GraphFigure, FrontFigure, DistributionFigure)
}
