"""A map of the base certificate: the fraction of nodes certified one by one."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from certcore.common.errors import InputError
from certcore.common.exact import exact_fraction
from certcore.domain.fronts import Fronts
from certcore.domain.perturbations import TYPES, entry_of
from certcore.domain.scale import Scale
from certcore.figures.kinds.contour import ContourFigure
from certcore.figures.style import Kind


def base_figure(
    fronts: Fronts,
    x: str,
    y: str | None = None,
    *,
    x_values: Sequence[int] | None = None,
    y_values: Sequence[int] | None = None,
    nodes: np.ndarray | None = None,
    scale: Scale | None = None,
    **more: Any,
) -> ContourFigure:
    """Fraction of nodes that the base certificate covers, node by node, at each budget of one or two types.

    Lengths are converted by the `scale` of the instance.
    """
    axes = [x] if y is None else [x, y]
    if scale is None and any(entry_of(key).lengths for key in axes):
        raise InputError("lengths have no scale here; expected scale=instance.scale, which converts them")
    xs = _values(fronts, x, scale) if x_values is None else np.asarray(x_values)
    other = y or next(key for key in TYPES if key != x)
    ys = np.zeros(1, np.int64)
    if y is not None:
        ys = _values(fronts, y, scale) if y_values is None else np.asarray(y_values)
    chosen = np.arange(fronts.n_nodes) if nodes is None else np.asarray(nodes)
    counts = np.zeros((len(xs), len(ys)), dtype=np.int64)
    for i, a in enumerate(xs.tolist()):
        for j, b in enumerate(ys.tolist()):
            budget = [0] * len(TYPES)
            budget[TYPES.index(x)], budget[TYPES.index(other)] = _units(x, a, scale), _units(other, b, scale)
            counts[i, j] = int(fronts.certified(budget)[chosen].sum())
    return ContourFigure(
        x=x,
        y=other,
        x_values=xs,
        y_values=ys,
        ratio=counts / max(len(chosen), 1),
        certified=counts,
        targets=len(chosen),
        kind=Kind.NAIVE,
        levels=(0.5,),
        measure="share certified node by node",
        **{"name": "base-" + "-".join(axes), **more},
    )


def _values(fronts: Fronts, key: str, scale: Scale | None) -> np.ndarray:
    """Budgets from 0 to the end of all fronts, at most 60 of them: every integer, or lengths in steps."""
    points = fronts.points[:, TYPES.index(key)]
    largest = int(points.max()) if len(points) else 1
    if scale is None or not entry_of(key).lengths:
        return np.arange(min(largest, 60) + 1)
    step = scale.step()
    return np.array([float(k * step) for k in range(min(math.ceil(scale.length(largest) / step), 60) + 1)])


def _units(key: str, value: float, scale: Scale | None) -> int:
    """A budget of the figure in whole units; lengths are rounded up."""
    if scale is None or not entry_of(key).lengths:
        return int(value)
    return scale.of_square(exact_fraction(repr(value)) ** 2)
