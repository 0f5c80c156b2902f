"""The front (minimal uncertified budgets) of one node in two types."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from certcore.domain.perturbations import TYPES
from certcore.domain.scale import Scale, shown
from certcore.domain.threat import ThreatModel
from certcore.figures import latex
from certcore.figures.escape import clean
from certcore.figures.figure import Figure, numbers
from certcore.figures.geometry import front_extent, staircase
from certcore.figures.screen import translucent, whole_steps
from certcore.figures.style import (
    BLACK,
    GREY,
    KINDS,
    SKY,
    VERMILLION,
    Kind,
    axis_label,
    is_length,
    on_background,
)
from certcore.figures.table import Table, make_table
from certcore.instance.instance import Instance

if TYPE_CHECKING:
    from certcore.figures.matplotlib_figure import Sheet


@dataclass(frozen=True, eq=False, kw_only=True)
class FrontFigure(Figure):
    """The front of one node in two types, with the flips it receives and the global budgets."""

    x: str
    y: str
    points: np.ndarray
    received: tuple[float, float] | None = None
    budgets: tuple[float, float] | None = None
    node: str = ""
    name: str = "front"

    def __post_init__(self) -> None:
        super().__post_init__()
        object.__setattr__(self, "points", self.points if np.size(self.points) else np.zeros((0, 2), dtype=np.int64))
        numbers(self, "points", (None, 2), "the front")
        for name in ("received", "budgets"):
            value = getattr(self, name)
            if value is not None:
                object.__setattr__(self, name, (float(value[0]), float(value[1])))

    @property
    def lengths(self) -> tuple[bool, bool]:
        """Which axes are lengths; the others are numbers of flips."""
        return is_length(self.x), is_length(self.y)

    @property
    def below(self) -> tuple[float, float]:
        """How far the outline lies below the points: half a flip, between integers."""
        return 0.0 if self.lengths[0] else 0.5, 0.0 if self.lengths[1] else 0.5

    def ends(self) -> tuple[float, float]:
        return front_extent(self.points, self.received, self.lengths)

    @property
    def attacked(self) -> bool | None:
        """Whether the flips received reach the front (None: not known)."""
        if self.received is None:
            return None
        return bool((self.points <= np.asarray(self.received)).all(axis=1).any())

    def table(self) -> Table:
        rows = [("front", *point) for point in self.points.tolist()]
        for name, pair in (("received", self.received), ("budget", self.budgets)):
            if pair is not None:
                rows.append((name, *(int(v) if float(v).is_integer() else v for v in pair)))
        return make_table(("what", self.x, self.y), rows)

    def description(self) -> str:
        node = f" of node {clean(self.node, 40)}" if self.node else ""
        points = "; ".join(f"{x:.4g} and {y:.4g}" for x, y in self.points[:8].tolist())
        text = f"Front{node}: smallest uncertified budgets of {axis_label(self.x)} and {axis_label(self.y)}: "
        text += points or "none, certified at every budget"
        if self.received is not None:
            reached = "reaches the front" if self.attacked else "does not reach the front"
            text += f". It receives {self.received[0]:g} and {self.received[1]:g}, which {reached}"
        return text + "."

    def draw_screen(self, screen: Any, dark: bool) -> None:
        (x_end, y_end), (left, low) = self.ends(), self.below
        outline = staircase(self.points, x_end, y_end, self.below)
        corner = [[-left, -low]]
        area = np.concatenate([corner, outline, [[outline[-1, 0], -low]], corner])
        screen.add_scatter(
            x=area[:, 0], y=area[:, 1], fill="toself", fillcolor=translucent(SKY, 0.3),
            line={"color": KINDS[Kind.COLLECTIVE].colour, "width": 2.5}, mode="lines", name="certified budgets",
            hoverinfo="skip",
        )  # fmt: skip
        screen.add_scatter(
                x=self.points[:, 0],
                y=self.points[:, 1],
                mode="markers",
                marker={"symbol": "square", "size": 10, "color": VERMILLION},
                name="smallest uncertified budgets",
                hovertemplate="%{x:,} " + axis_label(self.x) + " and %{y:,} " + axis_label(self.y)
                + "<br>uncertified from here on<extra></extra>",
            )  # fmt: skip
        if self.received is not None:
            screen.add_scatter(
                x=[self.received[0]],
                y=[self.received[1]],
                mode="markers",
                marker={"symbol": "star", "size": 17, "color": on_background(BLACK, dark)},
                name="received: " + ("loses its certificate" if self.attacked else "does not reach the front"),
                hovertemplate="it receives %{x:,} and %{y:,}<extra></extra>",
            )
        for k, (end, line) in enumerate(((x_end, screen.add_vline), (y_end, screen.add_hline))):
            if self.budgets is not None and self.budgets[k] < end:
                line(**{"xy"[k]: self.budgets[k]}, line={"color": GREY, "dash": "dash", "width": 1.5})
        for k, (update, key, end) in enumerate(
            ((screen.update_xaxes, self.x, x_end), (screen.update_yaxes, self.y, y_end))
        ):
            steps = whole_steps(end, lengths=self.lengths[k])
            update(title=axis_label(key), range=[-self.below[k], end], zeroline=False, **steps)

    def draw_print(self, sheet: Sheet) -> None:
        axes = sheet.axes()
        (x_end, y_end), (left, low) = self.ends(), self.below
        outline = staircase(self.points, x_end, y_end, self.below)
        area = np.concatenate([[[-left, -low]], outline, [[outline[-1, 0], -low]]])
        axes.fill(*area.T, facecolor=SKY, alpha=0.3, linewidth=0, gid="certified")
        axes.plot(*outline.T, color=KINDS[Kind.COLLECTIVE].colour, linewidth=1.4, gid="outline")
        handles: list[Any] = [sheet.patch(facecolor=SKY, alpha=0.4, label="certified budgets")]
        if len(self.points):
            handles += axes.plot(
                *self.points.T,
                linestyle="",
                marker="s",
                markersize=4.5,
                color=VERMILLION,
                label="smallest uncertified",
                gid="front",
            )
        if self.received is not None:
            handles += axes.plot(
                *([value] for value in self.received),
                linestyle="",
                marker="*",
                markersize=9,
                color=BLACK,
                label="received: " + ("loses its certificate" if self.attacked else "does not reach the front"),
                gid="received",
                zorder=5,
            )
        shown = False
        for k, (end, line) in enumerate(((x_end, axes.axvline), (y_end, axes.axhline))):
            if self.budgets is not None and self.budgets[k] < end:
                line(self.budgets[k], color=GREY, linewidth=0.9, linestyle=(0, (5, 3)), zorder=1)
                shown = True
        if shown:
            handles.append(sheet.sample(color=GREY, linewidth=0.9, linestyle=(0, (5, 3)), label="global budget"))
        axes.set_xlim(-left, x_end)
        axes.set_ylim(-low, y_end)
        for lengths, axis in zip(self.lengths, (axes.xaxis, axes.yaxis)):
            sheet.whole_ticks(axis, lengths=lengths)
        sheet.labels(axes, axis_label(self.x), axis_label(self.y))
        sheet.legend(handles)

    def draw_latex(self, width_cm: float) -> str:
        (x_end, y_end), (left, low) = self.ends(), self.below
        outline = staircase(self.points, x_end, y_end, self.below)
        options = latex.frame(width_cm, axis_label(self.x), axis_label(self.y))
        options |= {"xmin": latex.number(-left), "xmax": latex.number(x_end)}
        options |= {"ymin": latex.number(-low), "ymax": latex.number(y_end), "enlargelimits": "false"}
        for which, end, lengths in zip("xy", (x_end, y_end), self.lengths):
            if not lengths:
                options[f"{which}tick distance"] = str(max(1, int(end // 6)))
        area = np.concatenate([[[-left, -low]], outline, [[outline[-1, 0], -low]]])
        around = latex.points(area[:, 0], area[:, 1])
        body = [
            f"\\addplot[draw=none, fill={latex.colour(SKY)}, fill opacity=0.35, area legend] coordinates "
            f"{{\n{around}\n}} -- cycle;",
            r"\addlegendentry{certified budgets}",
            f"\\addplot[{latex.colour(KINDS[Kind.COLLECTIVE].colour)}, line width=1pt, forget plot] coordinates "
            f"{{\n{latex.points(outline[:, 0], outline[:, 1])}\n}};",
        ]
        if len(self.points):
            style = f"only marks, mark=square*, mark size=1.8pt, {latex.colour(VERMILLION)}"
            body.append(f"\\addplot[{style}] coordinates {{\n{latex.points(*self.points.T)}\n}};")
            body.append(r"\addlegendentry{smallest uncertified}")
        if self.received is not None:
            x, y = self.received
            style = "only marks, mark=star, mark size=3.5pt, line width=1pt, black"
            body.append(f"\\addplot[{style}] coordinates {{({x:g},{y:g})}};")
            reached = "loses its certificate" if self.attacked else "does not reach the front"
            body.append(rf"\addlegendentry{{received: {reached}}}")
        for k, end in enumerate((x_end, y_end)):
            if self.budgets is not None and self.budgets[k] < end:
                at = latex.number(self.budgets[k])
                ends = (
                    (f"{at},{latex.number(-low)}", f"{at},{latex.number(y_end)}")
                    if k == 0
                    else (f"{latex.number(-left)},{at}", f"{latex.number(x_end)},{at}")
                )
                body.append(f"\\draw[densely dashed, {latex.colour(GREY)}] (axis cs:{ends[0]}) -- (axis cs:{ends[1]});")
        return latex.axis(options, body)


def front_figure(
    points: np.ndarray,
    x: str,
    y: str,
    *,
    received: Sequence[float] | None = None,
    budgets: Sequence[float] | None = None,
    node: str = "",
    scale: Scale | None = None,
    **more: Any,
) -> FrontFigure:
    """The front of one node in two types, given the flips it receives of the other types.

    `points`, `received` and `budgets` are over all types; the `scale` of an instance turns units into lengths. Points
    that need more flips of the other types than the node receives are not reachable and not drawn; of the rest, only
    the minimal ones are.
    """
    i, j = TYPES.index(x), TYPES.index(y)
    others = [k for k in range(len(TYPES)) if k not in (i, j)]
    level = np.zeros(len(TYPES)) if received is None else shown(scale, received).astype(float)
    points = shown(scale, np.asarray(points).reshape(-1, len(TYPES)))
    limits = None if budgets is None else shown(scale, budgets)
    flat = np.unique(points[(points[:, others] <= level[others]).all(axis=1)][:, [i, j]], axis=0)
    minimal = [p for p in flat if not any((q <= p).all() and (q < p).any() for q in flat)]
    return FrontFigure(
        x=x,
        y=y,
        points=np.array(minimal, dtype=points.dtype).reshape(-1, 2),
        received=None if received is None else (float(level[i]), float(level[j])),
        budgets=None if limits is None else (float(limits[i]), float(limits[j])),
        node=node,
        **{"name": "front", **more},
    )


def two_axes(instance: Instance, threat: ThreatModel) -> tuple[str, str]:
    """The two types to draw a front in: those with a budget first, then those the base certificate covers."""
    in_play = [name for name, budget in zip(TYPES, threat.budgets) if budget]
    others = ["adj_del", "adj_add"] if instance.graph.real else TYPES  # numbers have no bits to flip
    ordered = [*in_play, *(name for name in instance.base.axes if name not in in_play), *others]
    first, second = sorted(list(dict.fromkeys(ordered))[:2], key=TYPES.index)
    return first, second
