"""Small charts that are drawn on a page only: bars, the shares of a base certificate, and the front of a node."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
import plotly.graph_objects as go

from certcore.common.exact import exact_fraction
from certcore.domain.fronts import Fronts
from certcore.domain.perturbations import LABELS, TYPES, entry_of
from certcore.domain.scale import Scale, shown
from certcore.domain.threat import ThreatModel
from certcore.figures import ContourFigure
from certcore.figures.escape import for_plotly
from certcore.figures.style import BLACK, BLUE, GREY, VERMILLION, Kind, on_background
from certcore.instance.instance import Instance

#: A map of a base certificate has at most this many values on an axis.
MOST_VALUES = 60


def bars(names: Sequence[str], values: Sequence[float], label: str, texts: Sequence[str], *, dark: bool) -> go.Figure:
    """Horizontal bars with a text each; equal names stay separate bars."""
    rows = list(range(len(names)))
    look = {"color": on_background(BLUE, dark)}
    screen = go.Figure(go.Bar(y=rows, x=values, orientation="h", marker=look, hovertext=texts, hoverinfo="text"))
    ticks = [for_plotly(name, 40) for name in names]
    screen.update_yaxes(tickvals=rows, ticktext=ticks, autorange="reversed", showgrid=False, zeroline=False)
    screen.update_xaxes(title=label, rangemode="tozero")
    return screen.update_layout(bargap=0.3, showlegend=False)


def histogram(values: np.ndarray, label: str, *, dark: bool) -> go.Figure:
    """How many nodes have which probability, from 0 to 1."""
    counts, edges = np.histogram(values, bins=40, range=(0, 1))
    texts = [f"{low:.3f} to {high:.3f}: {n:,} nodes" for low, high, n in zip(edges, edges[1:], counts.tolist())]
    look = {"color": on_background(BLUE, dark)}
    screen = go.Figure(go.Bar(x=(edges[:-1] + edges[1:]) / 2, y=counts, marker=look, hovertext=texts, hoverinfo="text"))
    screen.add_vline(x=0.5, line={"color": on_background(BLACK, dark), "dash": "dash", "width": 1.5})
    screen.update_xaxes(title=label, range=[0, 1])
    screen.update_yaxes(title="nodes", tickformat=",d")
    return screen.update_layout(bargap=0, showlegend=False)


def base_shares(instance: Instance, nodes: np.ndarray, x: str, y: str | None) -> ContourFigure:
    """The share of nodes that the base certificate covers, node by node, at each budget of one or two types."""
    fronts, scale = instance.base.fronts(), instance.scale
    other = y or next(key for key in TYPES if key != x)
    xs = _values(fronts, x, scale)
    ys = np.zeros(1, np.int64) if y is None else _values(fronts, y, scale)
    counts = np.zeros((len(xs), len(ys)), dtype=np.int64)
    for i, a in enumerate(xs.tolist()):
        for j, b in enumerate(ys.tolist()):
            budget = [0] * len(TYPES)
            budget[TYPES.index(x)], budget[TYPES.index(other)] = _units(x, a, scale), _units(other, b, scale)
            counts[i, j] = int(fronts.certified(budget)[nodes].sum())
    return ContourFigure(
        x=x,
        y=other,
        x_values=xs,
        y_values=ys,
        ratio=counts / max(len(nodes), 1),
        certified=counts,
        targets=len(nodes),
        kind=Kind.NAIVE,
        levels=(0.5,),
        measure="share certified (naive)",
    )


def _values(fronts: Fronts, key: str, scale: Scale | None) -> np.ndarray:
    """Budgets from 0 to the end of all fronts: every integer, or lengths in steps."""
    points = fronts.points[:, TYPES.index(key)]
    largest = int(points.max()) if len(points) else 1
    if scale is None or not entry_of(key).lengths:
        return np.arange(min(largest, MOST_VALUES) + 1)
    step = scale.step()
    return np.array([float(k * step) for k in range(min(math.ceil(scale.length(largest) / step), MOST_VALUES) + 1)])


def _units(key: str, value: float, scale: Scale | None) -> int:
    """A budget of the picture in whole units; lengths are rounded up."""
    if scale is None or not entry_of(key).lengths:
        return int(value)
    return scale.of_square(exact_fraction(repr(value)) ** 2)


def two_axes(instance: Instance, threat: ThreatModel) -> tuple[str, str]:
    """The two types to draw a front in: those with a budget first, then those the base certificate covers."""
    in_play = [name for name, budget in zip(TYPES, threat.budgets) if budget]
    others = ["adj_del", "adj_add"] if instance.graph.real else TYPES  # numbers have no bits to flip
    ordered = [*in_play, *(name for name in instance.base.axes if name not in in_play), *others]
    first, second = sorted(list(dict.fromkeys(ordered))[:2], key=TYPES.index)
    return first, second


def front_points(
    instance: Instance, node: int, axes: tuple[str, str], received: Sequence[float] | None
) -> tuple[np.ndarray, np.ndarray | None]:
    """The minimal uncertified budgets of a node in two types, and what it receives of them.

    Points that need more flips of the other types than the node receives cannot be reached and are left out.
    """
    i, j = (TYPES.index(name) for name in axes)
    others = [k for k in range(len(TYPES)) if k not in (i, j)]
    level = np.zeros(len(TYPES)) if received is None else np.asarray(received, dtype=float)
    points = shown(instance.scale, np.asarray(instance.base.fronts().of_node(node)).reshape(-1, len(TYPES)))
    flat = np.unique(points[(points[:, others] <= level[others]).all(axis=1)][:, [i, j]], axis=0)
    minimal = [p for p in flat if not any((q <= p).all() and (q < p).any() for q in flat)]
    found = np.array(minimal, dtype=float).reshape(-1, 2)
    return found, None if received is None else level[[i, j]]


def front(
    points: np.ndarray, received: np.ndarray | None, budgets: Sequence[float], axes: tuple[str, str], *, dark: bool
) -> go.Figure:
    """The region of certified budgets of a node, its corners, what it receives, and the global budgets."""
    lengths = [entry_of(name).lengths for name in axes]
    below = [0.0 if length else 0.5 for length in lengths]  # between two numbers of flips
    far = np.max([*points, *([] if received is None else [received]), [1.0, 1.0]], axis=0)
    ends = [1.1 * most if length else float(np.ceil(most)) + 1.5 for most, length in zip(far, lengths)]
    path = [(-below[0], -below[1]), (-below[0], ends[1])]
    for x, y in points[np.argsort(points[:, 0], kind="stable")].tolist():
        path += [(x - below[0], path[-1][1]), (x - below[0], y - below[1])]
    path += [(ends[0], path[-1][1]), (ends[0], -below[1]), (-below[0], -below[1])]
    across, up = zip(*path)
    screen = go.Figure()
    look = {"color": on_background(BLUE, dark), "width": 2.5}
    fill = {"fill": "toself", "fillcolor": "rgba(86,180,233,0.3)", "hoverinfo": "skip"}
    screen.add_scatter(x=across, y=up, mode="lines", line=look, name="certified budgets", **fill)
    corners = {"symbol": "square", "size": 10, "color": VERMILLION}
    hover = f"%{{x:,}} {LABELS[axes[0]]} and %{{y:,}} {LABELS[axes[1]]}<br>uncertified from here on<extra></extra>"
    screen.add_scatter(
        x=points[:, 0], y=points[:, 1], mode="markers", marker=corners, name="smallest uncertified budgets",
        hovertemplate=hover,
    )  # fmt: skip
    if received is not None:
        reached = bool((points <= received).all(axis=1).any())
        star = {"symbol": "star", "size": 17, "color": on_background(BLACK, dark)}
        name = f"received: {'loses its certificate' if reached else 'does not reach the front'}"
        screen.add_scatter(x=received[:1], y=received[1:], mode="markers", marker=star, name=name)
    for k, (line, update) in enumerate(
        ((screen.add_vline, screen.update_xaxes), (screen.add_hline, screen.update_yaxes))
    ):
        if budgets[k] < ends[k]:
            line(**{"xy"[k]: budgets[k]}, line={"color": GREY, "dash": "dash", "width": 1.5})
        whole = {"tick0": 0, "dtick": 1} if ends[k] <= 8 and not lengths[k] else {}
        update(title=LABELS[axes[k]], range=[-below[k], ends[k]], zeroline=False, **whole)
    return screen
