"""A distribution: counts in bins, with marked thresholds."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from certcore.common.errors import InputError
from certcore.figures import latex
from certcore.figures.escape import clean, for_latex, for_plotly
from certcore.figures.figure import Figure, numbers
from certcore.figures.kinds.bars import Bars
from certcore.figures.style import BLACK, KINDS, Kind, on_background
from certcore.figures.table import Table, make_table

if TYPE_CHECKING:
    from certcore.figures.matplotlib_figure import Sheet


@dataclass(frozen=True, eq=False, kw_only=True)
class DistributionFigure(Figure):
    """A histogram with marked thresholds."""

    edges: np.ndarray
    series: tuple[Bars, ...]
    label: str = "p (lower bound on the probability of the label)"
    thresholds: tuple[tuple[str, float], ...] = ()
    log: bool = False
    name: str = "distribution"

    PARTS: ClassVar = {"series": Bars}

    def __post_init__(self) -> None:
        super().__post_init__()
        numbers(self, "edges", (None,), "the distribution")
        object.__setattr__(self, "series", tuple(self.series))
        object.__setattr__(self, "thresholds", tuple((str(a), float(b)) for a, b in self.thresholds))
        if len(self.edges) < 2 or (np.diff(self.edges) <= 0).any() or not self.series:
            raise InputError("a distribution needs ascending bin edges and at least one series of counts")
        for bars in self.series:
            if len(bars.values) != len(self.edges) - 1:
                raise InputError(
                    f"series {bars.label!r} has {len(bars.values)} counts; expected one per bin, {len(self.edges) - 1}"
                )

    def table(self) -> Table:
        columns = ["from", "to", *(bars.label for bars in self.series)]
        rows = zip(self.edges[:-1], self.edges[1:], *(bars.values for bars in self.series))
        return make_table(columns, list(rows))

    def description(self) -> str:
        said = [f"{clean(bars.label, 40)}: {bars.values.sum():,.0f}" for bars in self.series]
        lines = [f"{clean(name, 40)} at {value:g}" for name, value in self.thresholds]
        text = f"Distribution of {clean(self.label)}. {'; '.join(said)}"
        return text + (f". Marked: {', '.join(lines)}." if lines else ".")

    def draw_screen(self, screen: Any, dark: bool) -> None:
        for bars in self.series:
            kind = KINDS[bars.kind]
            screen.add_bar(
                x=(self.edges[:-1] + self.edges[1:]) / 2,
                width=np.diff(self.edges),
                y=bars.values,
                name=for_plotly(bars.label),
                customdata=np.column_stack([self.edges[:-1], self.edges[1:]]),
                marker={
                    "color": kind.colour,
                    "line": {"width": 0.3, "color": "#FFFFFF"},
                    "pattern": {"shape": "" if bars.kind == Kind.COLLECTIVE else "/", "solidity": 0.35},
                },
                hovertemplate="%{customdata[0]:.3f} to %{customdata[1]:.3f}: %{y:,} nodes<extra></extra>",
            )
        for label, value in self.thresholds:
            screen.add_vline(x=value, line={"color": on_background(BLACK, dark), "dash": "dash", "width": 1.5})
            screen.add_annotation(x=value, y=1, yref="paper", yanchor="bottom", text=for_plotly(label), showarrow=False)
        screen.update_layout(barmode="stack", bargap=0, margin={"t": 28})
        screen.update_xaxes(title=for_plotly(self.label), range=[float(self.edges[0]), float(self.edges[-1])])
        screen.update_yaxes(title="nodes", type="log" if self.log else "linear", tickformat=",d")

    def draw_print(self, sheet: Sheet) -> None:
        axes = sheet.axes()
        axes.grid(True, axis="y", color="#E3E5E8", linewidth=0.5)
        axes.set_axisbelow(True)
        base = np.zeros(len(self.edges) - 1)
        handles: list[Any] = []
        for k, bars in enumerate(self.series):
            kind = KINDS[bars.kind]
            drawn = axes.bar(
                self.edges[:-1], bars.values, np.diff(self.edges), base, align="edge", facecolor=kind.colour,
                edgecolor=kind.colour if not kind.hatch else BLACK, linewidth=0.2, hatch=kind.hatch,
            )  # fmt: skip
            for patch in drawn:
                patch.set_gid(f"bars-{k}")
            base = base + bars.values
            label = sheet.printable(bars.label, 40)
            handles.append(
                sheet.patch(facecolor=kind.colour, edgecolor=BLACK, linewidth=0.3, hatch=kind.hatch, label=label)
            )
        if self.log:
            axes.set_yscale("log")
            axes.set_ylim(bottom=0.7)
        for label, value in self.thresholds:
            axes.axvline(value, color=BLACK, linewidth=0.9, linestyle=(0, (5, 3)))
            axes.annotate(
                sheet.printable(label, 24),
                (value, 1.0),
                xycoords=("data", "axes fraction"),
                ha="center",
                va="bottom",
                fontsize=sheet.font - 1.5,
            )
        axes.set_xlim(self.edges[0], self.edges[-1])
        if not self.log:
            sheet.thousands(axes.yaxis)
        sheet.labels(axes, self.label, "nodes")
        sheet.legend(handles)

    def draw_latex(self, width_cm: float) -> str:
        total = np.sum([bars.values for bars in self.series], axis=0)
        options = latex.frame(width_cm, self.label, "nodes")
        bottom = 0.7 if self.log else 0.0
        top = float(max(total.max(initial=0), 1)) * (2 if self.log else 1.05)
        options |= {"xmin": latex.number(self.edges[0]), "xmax": latex.number(self.edges[-1])}
        options |= {"ymin": latex.number(bottom), "ymax": latex.number(top), "enlargelimits": "false"}
        if self.log:
            options["ymode"] = "log"
        body = []
        base = np.full(len(total), bottom)
        level = np.zeros(len(total))
        for bars in self.series:
            kind = KINDS[bars.kind]
            fill = f"fill={latex.colour(kind.colour)}, draw=none"
            if kind.hatch:
                fill += f", postaction={{pattern={latex.HATCHES[kind.hatch]}}}"
            level = level + bars.values
            for k in np.flatnonzero(bars.values).tolist():
                low = f"{latex.number(self.edges[k])},{latex.number(base[k])}"
                high = f"{latex.number(self.edges[k + 1])},{latex.number(level[k])}"
                body.append(f"\\path[{fill}] (axis cs:{low}) rectangle (axis cs:{high});")
            base = np.maximum(level, bottom)
            body += [f"\\addlegendimage{{area legend, {fill}}}", f"\\addlegendentry{{{for_latex(bars.label)}}}"]
        for label, value in self.thresholds:
            at = latex.number(value)
            body.append(
                f"\\draw[densely dashed] (axis cs:{at},{latex.number(bottom)}) -- (axis cs:{at},{latex.number(top)}) "
                f"node[above, font=\\scriptsize] {{{for_latex(label, 24)}}};"
            )
        # pgfplots draws no legend if an axis has no plot.
        body.insert(
            0, f"\\addplot[draw=none, forget plot] coordinates {{({latex.number(self.edges[0])},{latex.number(top)})}};"
        )
        return latex.axis(options, body)


def distribution_figure(
    p: np.ndarray, *, thresholds: Sequence[tuple[str, float]] = (("abstains", 0.5),), bins: int = 50, **more: Any
) -> DistributionFigure:
    """Distribution of the lower confidence bounds p of all nodes; nodes at or below one half abstain."""
    values = np.asarray(p, dtype=float)
    edges = np.linspace(0.0, 1.0, bins + 1)
    speaks = values > 0.5
    series = []
    for label, chosen, kind in (("certifiable", speaks, Kind.COLLECTIVE), ("abstains (p ≤ 1/2)", ~speaks, Kind.NAIVE)):
        if chosen.any():
            series.append(Bars(label=label, values=np.histogram(values[chosen], edges)[0], kind=kind))
    if not series:
        series = [Bars(label="nodes", values=np.zeros(bins, dtype=np.int64))]
    return DistributionFigure(
        edges=edges, series=tuple(series), thresholds=tuple(thresholds), **{"name": "distribution-p", **more}
    )
