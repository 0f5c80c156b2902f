"""Lines of equal ratio on a map: on the screen, in print and in LaTeX."""

from __future__ import annotations

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
    """The level of a contour line with every digit it has: 0.9999999 is not 1."""
    return f"{Decimal(repr(float(level))).normalize():f}"


def draw_screen(screen: Any, figure: ContourFigure, xs: np.ndarray, ys: np.ndarray, dark: bool) -> None:
    """Black lines with a white edge, each with its level written on it."""
    parts = [(figure.kind, "solid", figure.ratio)]
    if figure.reference is not None:
        parts.append((figure.reference_kind, "dot", figure.reference))
    for kind, dash, grid in parts:
        for k, level in enumerate(figure.levels):
            lines = level_lines(grid, level, xs, ys)
            gap = np.full((1, 2), np.nan)
            path = np.concatenate([np.concatenate([line, gap]) for line in lines] or [gap])
            name = f"{KINDS[kind].label} {level_label(level)}"
            for width, colour in ((5, "#FFFFFF"), (2, BLACK)):
                screen.add_scatter(
                    x=path[:, 0],
                    y=path[:, 1],
                    mode="lines",
                    line={"color": colour, "width": width, "dash": "solid" if width == 5 else dash},
                    opacity=0.65 if width == 5 else 1,
                    name=name,
                    legendgroup=name,
                    showlegend=False,
                    hoverinfo="skip",
                )
            # On a dark page the legend needs another ink than the map, which is the same on every page.
            sample = {"color": on_background(BLACK, dark), "width": 2, "dash": dash}
            screen.add_scatter(x=[None], y=[None], mode="lines", line=sample, name=name, legendgroup=name)
            spot = label_spot(lines, (k + 1) / (len(figure.levels) + 1))
            if spot is not None:
                x, y = spot
                screen.add_annotation(
                    x=np.log10(x) if figure.x_log else x,
                    y=np.log10(y) if figure.y_log else y,
                    text=level_label(level),
                    showarrow=False,
                    font={"size": 12, "color": BLACK},
                    bgcolor="rgba(255,255,255,0.8)",
                    borderpad=1,
                )


def draw_print(axes: Any, figure: ContourFigure, sheet: Sheet, xs: np.ndarray, ys: np.ndarray) -> list[Any]:
    parts: list[tuple[str, Any, np.ndarray]] = [(figure.kind, "-", figure.ratio)]
    if figure.reference is not None:
        parts.append((figure.reference_kind, DOTTED.print, figure.reference))
    from matplotlib.patheffects import withStroke

    handles: list[Any] = []
    for kind, dash, grid in parts:
        for k, level in enumerate(figure.levels):
            lines = level_lines(grid, level, xs, ys)
            # A white edge keeps the black line visible on the dark end of the scale.
            for line in lines:
                axes.plot(
                    *line.T, color="white", linewidth=2.4, alpha=0.7, solid_capstyle="butt", zorder=2.9, gid="halo"
                )
                axes.plot(
                    *line.T,
                    color=BLACK,
                    linestyle=dash,
                    linewidth=1.2,
                    solid_capstyle="butt",
                    zorder=3,
                    gid=f"level-{kind}-{k}",
                )
            spot = label_spot(lines, (k + 1) / (len(figure.levels) + 1))
            if spot is not None:
                text = axes.text(
                    *spot, level_label(level), fontsize=sheet.font - 1.5, ha="center", va="center", zorder=4
                )
                text.set_path_effects([withStroke(linewidth=1.8, foreground="white")])
        if figure.levels:
            levels = ", ".join(level_label(level) for level in figure.levels)
            label = f"{KINDS[kind].label} = {levels}"
            handles.append(sheet.sample(color=BLACK, linestyle=dash, linewidth=1.2, label=label))
    return handles


def draw_latex(figure: ContourFigure, xs: np.ndarray, ys: np.ndarray) -> list[str]:
    parts = [(figure.kind, "solid", figure.ratio)]
    if figure.reference is not None:
        parts.append((figure.reference_kind, "densely dotted", figure.reference))
    body = []
    for kind, dash, grid in parts:
        for k, level in enumerate(figure.levels):
            lines = level_lines(grid, level, xs, ys)
            for line in lines:
                path = latex.points(line[:, 0], line[:, 1])
                body.append(f"\\addplot[white, line width=2pt, opacity=0.7, forget plot] coordinates {{\n{path}\n}};")
                body.append(f"\\addplot[black, line width=0.9pt, {dash}, forget plot] coordinates {{\n{path}\n}};")
            spot = label_spot(lines, (k + 1) / (len(figure.levels) + 1))
            if spot is not None:
                at = f"(axis cs:{latex.number(spot[0])},{latex.number(spot[1])})"
                style = r"font=\scriptsize, fill=white, fill opacity=0.75, text opacity=1, inner sep=1pt"
                body.append(f"\\node[{style}] at {at} {{{level_label(level)}}};")
        if figure.levels:
            levels = ", ".join(level_label(level) for level in figure.levels)
            body.append(f"\\addlegendimage{{black, line width=0.9pt, {dash}}}")
            body.append(f"\\addlegendentry{{{for_latex(KINDS[kind].label)} = {levels}}}")
    return body
