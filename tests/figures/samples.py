"""One figure of each kind from invented numbers, and hostile names."""

from __future__ import annotations

import numpy as np

from certcore import figures
from certcore.common.statistics import average_radius

HOSTILE = "</script><img src=x onerror=alert(1)>'\"&%{x} $x^2_ \\input{/etc/passwd} #1 ~ {a}[b] =1+1 %\u202e<b>"


def curve(end: int = 200, rate: float = 40.0) -> figures.CurveFigure:
    values = np.arange(end + 1)
    lines = []
    for group, (name, local) in enumerate((("2 per node", 0.35), ("8 per node", 0.12), ("no local budget", 0.0))):
        counts = np.floor(1500 * np.maximum(local, np.exp(-values / (rate * (3 - group))))).astype(int)
        counts[values > 170] = counts[values > 170] if local else 0
        lines.append(
            figures.Line(
                values=values,
                ratio=counts / 1500,
                certified=counts,
                targets=1500,
                name=name,
                group=group,
                average_radius=None if local else 38.25,
            )
        )
    naive = np.where(values < 12, 1400 - 110 * values, 0)
    lines.append(
        figures.Line(
            values=values,
            ratio=naive / 1500,
            certified=naive,
            targets=1500,
            kind="naive",
            name="",
            group=2,
            average_radius=4.5,
        )
    )
    return figures.CurveFigure(vary="attr_del", lines=tuple(lines), marker=50, title="Local budgets")


def curve_log() -> figures.CurveFigure:
    values = np.arange(1001)
    ours = np.clip(1 - np.log1p(values) / np.log(900), 0, 1)
    weak = np.clip(1 - np.log1p(values) / np.log(300), 0, 1)
    naive = np.clip(1 - values / 15, 0, 1)
    spread = 0.05 * ours * (1 - ours) * 4
    return figures.CurveFigure(
        vary="adj_del",
        log=True,
        marker=20,
        name="curve-log",
        lines=(
            figures.Line(values=values, ratio=ours, average_radius=212.75, low=ours - spread, high=ours + spread),
            figures.Line(values=values, ratio=weak, average_radius=80.5, kind="paper"),
            figures.Line(values=values, ratio=naive, average_radius=4.5, kind="naive"),
        ),
    )


def contour(show: str = "ratio") -> figures.ContourFigure:
    x, y = np.arange(9), np.arange(22)
    counts = np.floor(2000 * np.exp(-x[:, None] / 7 - y[None] / 26)).astype(int)
    naive = np.floor(1900 * np.exp(-x[:, None] / 2.2 - y[None] / 6)).astype(int)
    return figures.ContourFigure(
        x="attr_add",
        y="attr_del",
        x_values=x,
        y_values=y,
        ratio=counts / 2000,
        reference=naive / 2000,
        certified=counts,
        reference_certified=naive,
        targets=2000,
        marker=(3, 10),
        show=show,
        levels=() if show == "difference" else (0.5, 0.7),
        name=f"contours-{show}",
    )


def contour_log() -> figures.ContourFigure:
    x = np.array([0, 1, 2, 5, 10, 20, 50, 100, 200, 500, 1000])
    y = np.arange(0, 101, 5)
    grid = 1 / (1 + 0.02 * y[None] * np.log2(1 + x[:, None]))
    grid[8:, 15:] = np.nan
    return figures.ContourFigure(
        x="sigma", y="adj_del", x_values=x, y_values=y, ratio=grid, x_log=True, name="contours-log"
    )


def graph(n: int = 300, seed: int = 3) -> figures.GraphFigure:
    rng = np.random.default_rng(seed)
    where = rng.normal(size=(n, 2)) * np.where(rng.random((n, 1)) < 0.5, 1, 2.5)
    near = np.argsort(((where[:, None] - where[None]) ** 2).sum(-1), axis=1)[:, 1:4]
    pairs = np.unique(np.sort(np.column_stack([np.repeat(np.arange(n), 3), near.ravel()]), axis=1), axis=0)
    state = rng.choice(6, n, p=[0.25, 0.25, 0.25, 0.0, 0.2, 0.05])
    return figures.GraphFigure(
        positions=where,
        edges=pairs,
        state=state,
        deleted=pairs[::25],
        attackers=np.flatnonzero(state == 4)[:12],
        protected=np.array([1, 2, 3]),
        spent=rng.integers(0, 4, n),
    )


class FakeCurve:
    """The attributes of the engine's curve."""

    def __init__(self, scale: float, targets: int = 1000) -> None:
        self.values = np.arange(301)
        self.axes = ("attr_del",)
        self.targets = targets
        self.certified = np.where(self.values < 290, np.floor(targets * np.exp(-self.values / scale)), 0).astype(int)
        self.naive = np.where(self.values < 12, targets - 90 * self.values, 0)
        self.average_radius = average_radius(self.values, self.certified / targets)
        self.naive_average_radius = average_radius(self.values, self.naive / targets)


def models() -> figures.CurveFigure:
    """Several models, the first one over splits."""
    curves = [[FakeCurve(60), FakeCurve(66), FakeCurve(71)], FakeCurve(30), FakeCurve(15)]
    names = ("Citeseer, GCN", "Citeseer, GAT", "PubMed, APPNP")
    return figures.curve_figure(curves, vary="attr_del", names=names, name="models")


def all_figures() -> dict[str, figures.Figure]:
    """Every kind once, with every variant that draws something else."""
    made = [curve(), curve_log(), models(), contour(), contour("difference"), contour_log(), graph()]
    return {figure.name: figure for figure in made}
