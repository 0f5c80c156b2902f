"""Level lines on a map: on the screen, in print and in LaTeX."""

from __future__ import annotations

from dataclasses import dataclass
from decimal import Decimal
from typing import TYPE_CHECKING, Any

import numpy as np

from certcore.figures import latex
from certcore.figures.escape import for_latex
from certcore.figures.geometry import label_spot, level_lines
from certcore.figures.style import BLACK, DOTTED, KINDS, on_background

if TYPE_CHECKING:
    from certcore.figures.kinds.contour import ContourFigure
    from certcore.figures.matplotlib_figure import Sheet


def level_label(level: float) -> str:
    """The level of a contour line with all its digits: 0.9999999 is not 1."""
    return f"{Decimal(repr(float(level))).normalize():f}"


#: Smallest distance of two labels in points: closer ones would read as one number.
APART = 24.0
#: Approximate size of a map on the screen, in points.
_SCREEN = (560.0, 340.0)
#: Candidate positions of a label along its line, in this order.
_SHARES = (0.5, 0.35, 0.65, 0.2, 0.8)


@dataclass(frozen=True)
class Spot:
    """The label of one line: its level, and its position on the map."""

    level: float
    at: tuple[float, float]


def label_spots(figure: ContourFigure, xs: np.ndarray, ys: np.ndarray, size: tuple[float, float]) -> list[Spot]:
    """Labels of all lines on a map of this size in points, at least `APART` from each other.

    Those of the certificate come first; a label of the reference (dotted) that does not fit is omitted.
    """
    grids = [figure.ratio] + ([figure.reference] if figure.reference is not None else [])
    spots: list[Spot] = []
    taken: list[np.ndarray] = []
    for grid in grids:
        for k, level in enumerate(figure.levels):
            lines = level_lines(grid, level, xs, ys)
            for share in ((k + 1) / (len(figure.levels) + 1), *_SHARES):
                at = label_spot(lines, share)
                if at is None:
                    break
                where = _in_points(at, figure, xs, ys, size)
                if all(np.hypot(*(where - other)) >= APART for other in taken):
                    spots.append(Spot(level, at))
                    taken.append(where)
                    break
    return spots


def _in_points(
    at: tuple[float, float], figure: ContourFigure, xs: np.ndarray, ys: np.ndarray, size: tuple[float, float]
) -> np.ndarray:
    shares = []
    for value, edges, log in ((at[0], xs, figure.x_log), (at[1], ys, figure.y_log)):
        low, high, here = np.log([edges[0], edges[-1], value]) if log else (edges[0], edges[-1], value)
        shares.append(float((here - low) / (high - low)))
    return np.array([shares[0] * size[0], shares[1] * size[1]])


def draw_screen(screen: Any, figure: ContourFigure, xs: np.ndarray, ys: np.ndarray, dark: bool) -> None:
    """Black lines with a white edge, each with its level written on it."""
    parts = [(figure.kind, "solid", figure.ratio)]
    if figure.reference is not None:
        parts.append((figure.reference_kind, "dot", figure.reference))
    for kind, dash, grid in parts:
        for level in figure.levels:
            lines = level_lines(grid, level, xs, ys)
            gap = np.full((1, 2), np.nan)
            path = np.concatenate([np.concatenate([line, gap]) for line in lines] or [gap])
            name = f"{KINDS[kind].label} {level_label(level)}"
            for width, colour in ((5, "#FFFFFF"), (2, BLACK)):
                screen.add_scatter(
                    x=path[:, 0], y=path[:, 1], mode="lines",
                    line={"color": colour, "width": width, "dash": "solid" if width == 5 else dash},
                    opacity=0.65 if width == 5 else 1, name=name, legendgroup=name, showlegend=False, hoverinfo="skip",
                )  # fmt: skip
            # The map is the same on light and dark pages, but the legend needs another line colour on a dark one.
            sample = {"color": on_background(BLACK, dark), "width": 2, "dash": dash}
            screen.add_scatter(x=[None], y=[None], mode="lines", line=sample, name=name, legendgroup=name)
    for spot in label_spots(figure, xs, ys, _SCREEN):
        x, y = spot.at
        screen.add_annotation(
            x=np.log10(x) if figure.x_log else x, y=np.log10(y) if figure.y_log else y, text=level_label(spot.level),
            showarrow=False, font={"size": 12, "color": BLACK}, bgcolor="rgba(255,255,255,0.8)", borderpad=1,
        )  # fmt: skip


def draw_print(axes: Any, figure: ContourFigure, sheet: Sheet, xs: np.ndarray, ys: np.ndarray) -> list[Any]:
    parts: list[tuple[str, Any, np.ndarray]] = [(figure.kind, "-", figure.ratio)]
    if figure.reference is not None:
        parts.append((figure.reference_kind, DOTTED.print, figure.reference))
    handles: list[Any] = []
    for kind, dash, grid in parts:
        for k, level in enumerate(figure.levels):
            lines = level_lines(grid, level, xs, ys)
            # A white outline keeps the black line visible on the dark end of the scale.
            for line in lines:
                axes.plot(
                    *line.T, color="white", linewidth=2.4, alpha=0.7, solid_capstyle="butt", zorder=2.9, gid="halo"
                )
                axes.plot(
                    *line.T, color=BLACK, linestyle=dash, linewidth=1.2, solid_capstyle="butt", zorder=3,
                    gid=f"level-{kind}-{k}",
                )  # fmt: skip
        if figure.levels:
            levels = ", ".join(level_label(level) for level in figure.levels)
            label = f"{KINDS[kind].label} = {levels}"
            handles.append(sheet.sample(color=BLACK, linestyle=dash, linewidth=1.2, label=label))
    return handles


def label_print(axes: Any, figure: ContourFigure, sheet: Sheet, xs: np.ndarray, ys: np.ndarray) -> None:
    """Draw the labels of the lines, after the axes have their final size."""
    from matplotlib.patheffects import withStroke

    sheet.settle()
    box, dpi = axes.get_window_extent(), sheet.figure.dpi
    for spot in label_spots(figure, xs, ys, (box.width * 72 / dpi, box.height * 72 / dpi)):
        style = {"fontsize": sheet.font - 1.5, "ha": "center", "va": "center", "zorder": 4, "gid": "level-label"}
        text = axes.text(*spot.at, level_label(spot.level), **style)
        text.set_path_effects([withStroke(linewidth=1.8, foreground="white")])
        text.set_in_layout(False)


def draw_latex(figure: ContourFigure, xs: np.ndarray, ys: np.ndarray, width_cm: float) -> list[str]:
    parts = [(figure.kind, "solid", figure.ratio)]
    if figure.reference is not None:
        parts.append((figure.reference_kind, "densely dotted", figure.reference))
    body = []
    for kind, dash, grid in parts:
        for level in figure.levels:
            lines = level_lines(grid, level, xs, ys)
            for line in lines:
                path = latex.points(line[:, 0], line[:, 1])
                body.append(f"\\addplot[white, line width=2pt, opacity=0.7, forget plot] coordinates {{\n{path}\n}};")
                body.append(f"\\addplot[black, line width=0.9pt, {dash}, forget plot] coordinates {{\n{path}\n}};")
        if figure.levels:
            levels = ", ".join(level_label(level) for level in figure.levels)
            body.append(f"\\addlegendimage{{black, line width=0.9pt, {dash}}}")
            body.append(f"\\addlegendentry{{{for_latex(KINDS[kind].label)} = {levels}}}")
    width = width_cm / 2.54 * 72
    for spot in label_spots(figure, xs, ys, (0.6 * width, 0.4 * width)):
        at = f"(axis cs:{latex.number(spot.at[0])},{latex.number(spot.at[1])})"
        style = r"font=\scriptsize, fill=white, fill opacity=0.75, text opacity=1, inner sep=1pt"
        body.append(f"\\node[{style}] at {at} {{{level_label(spot.level)}}};")
    return body
