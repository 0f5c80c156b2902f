"""The figure of a result: of a curve, of a surface, or of the graph under the best attack found."""

from __future__ import annotations

from typing import Any

from certcore.common.errors import InputError
from certcore.figures.contour import contour_figure
from certcore.figures.curve import curve_figure
from certcore.figures.figure import Figure
from certcore.figures.graph import graph_figure
from certcore.result.certificate import Certificate
from certcore.sweep.counts import Counts


def figure_of(result: Certificate | Counts, **more: Any) -> Figure:
    """The figure of a certificate, a curve or a surface; `more` are further fields of it, such as `note`."""
    if isinstance(result, Certificate):
        if result.instance is None:
            raise InputError(
                "this certificate does not know its instance; make it with certify(instance, …), or put it in with "
                "dataclasses.replace(certificate, instance=instance)"
            )
        return graph_figure(result.instance, result, **more)
    if len(result.axes) == 1:
        return curve_figure([result], vary=result.axes[0], **more)
    x, y = result.axes
    return contour_figure(result, x=x, y=y, **more)
