"""A map of the base certificate: the fraction of nodes certified one by one."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from certcore.domain.fronts import Fronts
from certcore.domain.perturbations import TYPES
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
    **more: Any,
) -> ContourFigure:
    """Fraction of nodes that the base certificate covers, node by node, at each budget of one or two types."""
    axes = [x] if y is None else [x, y]
    ends = [min(int(_largest(fronts, key)), 60) for key in axes]
    xs = np.arange(ends[0] + 1) if x_values is None else np.asarray(x_values)
    other = y or next(key for key in TYPES if key != x)
    ys = np.zeros(1, np.int64) if y is None else np.arange(ends[1] + 1) if y_values is None else np.asarray(y_values)
    chosen = np.arange(fronts.n_nodes) if nodes is None else np.asarray(nodes)
    counts = np.zeros((len(xs), len(ys)), dtype=np.int64)
    for i, a in enumerate(xs.tolist()):
        for j, b in enumerate(ys.tolist()):
            budget = [0] * len(TYPES)
            budget[TYPES.index(x)], budget[TYPES.index(other)] = a, b
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


def _largest(fronts: Fronts, key: str) -> int:
    points = fronts.points[:, TYPES.index(key)]
    return int(points.max()) if len(points) else 1
