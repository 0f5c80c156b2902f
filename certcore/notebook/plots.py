"""Figures of results, for the last line of a notebook cell."""

from __future__ import annotations

import io
from functools import partial, singledispatch
from typing import Any

import plotly.graph_objects as go

from certcore.common.errors import InputError
from certcore.figures import PLOTLY_CONFIG, Figure, contour_figure, curve_figure, graph_figure, matplotlib, plotly
from certcore.notebook.tables import instance_of
from certcore.result.certificate import Certificate
from certcore.sweep.curves import Curve
from certcore.sweep.surface_maps import Surface


class Screen(go.Figure):
    """A Plotly figure that displays itself without the button that uploads to Plotly's cloud."""

    def show(self, *args: Any, **kwargs: Any) -> None:
        super().show(*args, **({"config": PLOTLY_CONFIG} | kwargs))

    def _ipython_display_(self) -> None:
        self.show()


def plot(result: object, backend: str = "plotly", *, dark: bool = False) -> Any:
    """The result for the screen (`plotly`, a `go.Figure`) or for print (`matplotlib`)."""
    if backend == "plotly":
        return Screen(plotly(figure(result), dark=dark))
    if backend == "matplotlib":
        sheet = matplotlib(figure(result))
        # A matplotlib figure made without pyplot is otherwise not displayed in a notebook.
        setattr(sheet, "_repr_png_", partial(_png, sheet))  # noqa: B010
        return sheet
    raise InputError(f"the backend is {backend!r}; expected 'plotly' or 'matplotlib'")


def _png(sheet: Any) -> bytes:
    data = io.BytesIO()
    sheet.savefig(data, format="png", dpi=150)
    return data.getvalue()


@singledispatch
def figure(result: object) -> Figure:
    """The figure of a curve, of a surface, or of the graph under a certificate's best attack."""
    raise TypeError(f"there is no figure for a {type(result).__name__}")


@figure.register
def _curve(curve: Curve) -> Figure:
    return curve_figure([curve], vary=curve.vary)


@figure.register
def _surface(surface: Surface) -> Figure:
    return contour_figure(surface, x=surface.x, y=surface.y)


@figure.register
def _certificate(certificate: Certificate) -> Figure:
    return graph_figure(instance_of(certificate), certificate)
