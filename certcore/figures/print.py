"""Figures for print (matplotlib): column widths of papers, readable at 8.5 cm, distinguishable without colour.

`draw` uses `Figure()` and never pyplot, so nothing is kept alive. matplotlib's settings are global to the process,
so everything that depends on them happens under one lock: `with printing(): draw(...); figure.savefig(...)`.
"""

from __future__ import annotations

from functools import singledispatch
from typing import Any

import numpy as np
from matplotlib.colors import LinearSegmentedColormap
from matplotlib.figure import Figure as PrintFigure
from matplotlib.lines import Line2D
from matplotlib.patches import Patch
from matplotlib.patheffects import Normal, Stroke
from matplotlib.ticker import FixedLocator, MaxNLocator
from matplotlib.transforms import Bbox

from certcore.common.errors import InputError
from certcore.figures.canvas import Canvas, centimetres, fit, log_axis, printable, printing, thousands, whole_ticks
from certcore.figures.data import (
    BarFigure,
    CompareFigure,
    ContourFigure,
    CurveFigure,
    DistributionFigure,
    Figure,
    FrontFigure,
    GraphFigure,
)
from certcore.figures.describe import level_label, line_label, measure
from certcore.figures.escape import clean
from certcore.figures.geometry import (
    GRAPH_ASPECT,
    cell_edges,
    front_extent,
    graph_places,
    label_spot,
    level_lines,
    line_marks,
    plateau,
    positions,
    remaining,
    segments,
    staircase,
)
from certcore.figures.style import (
    ADDED_COLOUR,
    ADDED_LABEL,
    ATTACKER_LABEL,
    BAND_LABEL,
    BLACK,
    DELETED_COLOUR,
    DELETED_LABEL,
    DOTTED,
    GREY,
    KINDS,
    MARKS_LABEL,
    PLATEAU_LABEL,
    PROTECTED_COLOUR,
    PROTECTED_LABEL,
    RATIO_LABEL,
    SKY,
    STATES,
    VERMILLION,
    axis_label,
    colour_scale,
    series_colour,
    series_marker,
)
from certcore.figures.table import make_table


def draw(figure: Figure, *, width: str | float = "one-column", title: bool = False) -> PrintFigure:
    """The figure for print. Save it inside `printing()`, or use `certcore.export`."""
    with printing():
        canvas = Canvas(centimetres(width))
        _draw(figure, canvas)
        if title and figure.title:
            canvas.figure.suptitle(printable(figure.title, 90), fontsize=canvas.font + 1)
        return canvas.figure


@singledispatch
def _draw(figure: Figure, canvas: Canvas) -> None:
    raise InputError(f"there is no drawing of a {type(figure).__name__} for print")


@_draw.register
def _curve(figure: CurveFigure, canvas: Canvas) -> None:
    axes = canvas.axes()
    axes.grid(True, color="#E3E5E8", linewidth=0.5)
    axes.set_axisbelow(True)
    handles = _curve_lines(axes, figure, canvas)
    end = max(float(line.values[-1]) for line in figure.lines)
    if figure.log:
        log_axis(axes, "x", end)
        axes.set_xlim(0.45, max(end, 1) * 1.08)
    else:
        axes.set_xlim(0 - 0.012 * end, max(end, 1) * 1.012)
        whole_ticks(axes.xaxis)
    axes.set_ylim(-0.02, 1.03)
    if figure.marker is not None:
        where = float(positions(np.array([figure.marker]), figure.log)[0])
        axes.axvline(where, color=GREY, linewidth=0.8, linestyle=(0, (5, 3)), zorder=1, gid="marker")
        axes.annotate(
            f"{figure.marker:,g}",
            (where, 1.0),
            xycoords=("data", "axes fraction"),
            ha="center",
            va="bottom",
            fontsize=canvas.font - 1.5,
        )
    canvas.labels(axes, figure.x_label or axis_label(figure.vary), RATIO_LABEL)
    canvas.legend(handles)


def _curve_lines(axes: Any, figure: CurveFigure, canvas: Canvas) -> list[Any]:
    family = len({line.group for line in figure.lines}) > 1
    handles: list[Any] = []
    starts: list[tuple[float, float]] = []
    some = False
    for k, line in enumerate(figure.lines):
        kind = KINDS[line.kind]
        colour = series_colour(line.group) if family else kind.colour
        x = positions(line.values, figure.log)
        if line.low is not None and line.high is not None:
            axes.fill_between(
                x, line.low, line.high, step="pre", color=colour, alpha=0.18, linewidth=0, gid=f"band-{k}"
            )
        # In a family the marker tells the members apart, alone it tells the kinds apart: never colour only.
        symbol = series_marker(line.group if family else list(KINDS).index(line.kind)).print
        marks = line_marks(np.log(x) if figure.log else x, k, len(figure.lines), family)
        some |= 0 < len(marks) < len(x)
        drawn = axes.plot(
            x,
            line.ratio,
            drawstyle="steps-pre",
            linestyle=kind.dash.print,
            color=colour,
            linewidth=1.3 * canvas.scale,
            marker=symbol if len(marks) else None,
            markersize=3.4 * canvas.scale,
            markevery=marks.tolist() or None,
            markeredgewidth=0.5,
            markeredgecolor="white" if symbol not in "xX+" else colour,
            label=printable(line_label(line.name, line.kind, line.average_radius)),
            gid=f"series-{k}-{line.kind}",
        )[0]
        handles.append(drawn)
        start = plateau(line.values, line.ratio) if figure.plateaus and line.kind != "naive" else None
        if start is not None:
            starts.append((float(x[start]), float(line.ratio[start])))
    if any(line.low is not None for line in figure.lines):
        handles.append(Patch(facecolor=GREY, alpha=0.3, linewidth=0, label=BAND_LABEL))
    if some:
        size = 3.4 * canvas.scale
        handles.append(
            Line2D([], [], linestyle="", marker="o", markerfacecolor="none", markeredgecolor=GREY, markersize=size,
                   label=MARKS_LABEL)
        )  # fmt: skip
    if starts:
        handles += axes.plot(
            *zip(*starts),
            linestyle="",
            marker="|",
            markersize=8 * canvas.scale,
            markeredgewidth=1.3,
            color=BLACK,
            label=PLATEAU_LABEL,
            gid="plateaus",
        )
    return handles


@_draw.register
def _compare(figure: CompareFigure, canvas: Canvas) -> None:
    if not figure.rows:
        _curve(figure, canvas)
        return
    most = 40 if canvas.wide else 22
    below = make_table(figure.columns, figure.rows, figure.meanings)
    rows = [list(below.columns), *([clean(text, most) for text in below.texts(row)] for row in below.rows)]
    canvas.resize(canvas.height + (len(rows) + 0.5) * canvas.font * 1.5 / 72)
    _curve(figure, canvas)
    share = (len(rows) + 0.5) * canvas.font * 1.5 / 72 / canvas.height
    upper = canvas.figure.axes[0]
    grid = canvas.figure.add_gridspec(2, 1, height_ratios=[1 - share, share])
    upper.set_subplotspec(grid[0])
    lower = canvas.figure.add_subplot(grid[1])
    lower.set_axis_off()
    lengths = [max(len(str(row[k])) for row in rows) + 2 for k in range(len(figure.columns))]
    widths = [length / sum(lengths) for length in lengths]
    cells = [[printable(cell, 40) for cell in row] for row in rows]
    drawn = lower.table(cells, colWidths=widths, cellLoc="right", edges="horizontal", bbox=Bbox([[0, 0], [1, 1]]))
    drawn.auto_set_font_size(False)
    drawn.set_fontsize(canvas.font - 1)
    for (row, column), cell in drawn.get_celld().items():
        cell.set_linewidth(0.5)
        cell.visible_edges = "TB" if row == 0 else "B" if row == len(cells) - 1 else "open"
        cell.PAD = 0.02
        if column == 0:
            cell.set_text_props(ha="left")
        if row == 0:
            cell.set_text_props(weight="bold")


@_draw.register
def _contour(figure: ContourFigure, canvas: Canvas) -> None:
    if len(figure.y_values) == 1:
        canvas.resize(0.45 * canvas.height)
    axes = canvas.axes()
    xs, ys = cell_edges(figure.x_values, figure.x_log), cell_edges(figure.y_values, figure.y_log)
    filled = figure.filled
    known = filled[np.isfinite(filled)]
    difference = figure.show == "difference"
    low, high = 0.0, 1.0
    if difference:
        low, high = min(0.0, float(known.min(initial=0))), max(1e-9, float(known.max(initial=0)))
    colours = LinearSegmentedColormap.from_list("certcore", colour_scale(difference), N=256)
    # Drawn as one picture where the cells are even, as rectangles otherwise: no white hair lines between cells.
    cells = np.ma.masked_invalid(filled.T)
    mesh = axes.pcolormesh(xs, ys, cells, cmap=colours, vmin=low, vmax=high, rasterized=False, gid="cells")
    mesh.set_edgecolor("face")
    mesh.set_linewidth(0.15)
    axes.set_facecolor("#DDDDDD")
    bar = canvas.figure.colorbar(mesh, ax=axes, pad=0.02, fraction=0.06, aspect=22)
    label = fit(printable(measure(figure)), canvas.height * 72 * 0.75, canvas.font - 0.5)
    bar.set_label(label, fontsize=canvas.font - 0.5)
    bar.ax.tick_params(labelsize=canvas.font - 1, length=2, width=0.5)
    bar.outline.set_linewidth(0.4)
    handles = _contour_lines(axes, figure, canvas, xs, ys)
    if figure.marker is not None:
        where = [positions(np.array([v]), log)[0] for v, log in zip(figure.marker, (figure.x_log, figure.y_log))]
        handles += axes.plot(
            *([value] for value in where),
            linestyle="",
            marker="X",
            markersize=6,
            color=VERMILLION,
            markeredgecolor="white",
            markeredgewidth=0.7,
            label="current budgets",
            gid="marker",
        )
    if not np.isfinite(filled).all():
        handles.append(Patch(facecolor="#DDDDDD", label="not computed"))
    for which, log, edges in (("x", figure.x_log, xs), ("y", figure.y_log, ys)):
        if log:
            log_axis(axes, which, float(edges[-1]))
        else:
            whole_ticks(getattr(axes, f"{which}axis"))
        getattr(axes, f"set_{which}lim")(edges[0], edges[-1])
    if len(figure.y_values) == 1:
        axes.yaxis.set_major_locator(FixedLocator([]))
    canvas.labels(axes, axis_label(figure.x), axis_label(figure.y) if len(figure.y_values) > 1 else "")
    canvas.legend(handles)


def _contour_lines(axes: Any, figure: ContourFigure, canvas: Canvas, xs: np.ndarray, ys: np.ndarray) -> list[Any]:
    parts: list[tuple[str, Any, np.ndarray]] = [(figure.kind, "-", figure.ratio)]
    if figure.reference is not None:
        parts.append((figure.reference_kind, DOTTED.print, figure.reference))
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
                    *spot, level_label(level), fontsize=canvas.font - 1.5, ha="center", va="center", zorder=4
                )
                text.set_path_effects([Stroke(linewidth=1.8, foreground="white"), Normal()])
        if figure.levels:
            levels = ", ".join(level_label(level) for level in figure.levels)
            label = f"{KINDS[kind].label} = {levels}"
            handles.append(Line2D([], [], color=BLACK, linestyle=dash, linewidth=1.2, label=label))
    return handles


@_draw.register
def _bars(figure: BarFigure, canvas: Canvas) -> None:
    names = [printable(name, 28) for name in figure.categories]
    canvas.resize((0.55 + 0.16 * len(names) * (1 + 0.4 * (len(figure.series) - 1))) * canvas.scale + 0.1)
    axes = canvas.axes()
    axes.grid(True, axis="x", color="#E3E5E8", linewidth=0.5)
    axes.set_axisbelow(True)
    thickness = 0.8 / len(figure.series)
    rows = np.arange(len(names))
    handles = []
    for k, bars in enumerate(figure.series):
        kind = KINDS[bars.kind]
        drawn = axes.barh(
            rows + (k - (len(figure.series) - 1) / 2) * thickness,
            bars.values,
            thickness,
            facecolor=kind.colour,
            edgecolor="white" if not kind.hatch else BLACK,
            linewidth=0.3,
            hatch=kind.hatch,
            label=printable(bars.label, 40),
        )
        for patch in drawn:
            patch.set_gid(f"bars-{k}")
        handles.append(
            Patch(facecolor=kind.colour, edgecolor=BLACK, linewidth=0.3, hatch=kind.hatch, label=drawn.get_label())
        )
    axes.set_yticks(rows, names)
    axes.set_ylim(len(names) - 0.5, -0.5)
    if figure.limit is not None:
        axes.set_xlim(0, figure.limit)
    else:
        thousands(axes.xaxis)
        axes.xaxis.set_major_locator(MaxNLocator(nbins=5))
    canvas.labels(axes, figure.label, "", room=0.55)  # the names at the left take the rest
    if len(figure.series) > 1:
        canvas.legend(handles)


@_draw.register
def _graph(figure: GraphFigure, canvas: Canvas) -> None:
    canvas.resize(canvas.width / GRAPH_ASPECT)
    axes = canvas.figure.add_subplot()
    axes.set_axis_off()
    axes.set_aspect("equal", adjustable="box")
    where = graph_places(figure.positions)
    edges = remaining(figure.edges, figure.deleted)
    thin = 0.2 if len(edges) > 1500 else 0.45
    axes.plot(*segments(where, edges), color="#9AA0A6", linewidth=thin, zorder=1, gid="edges")
    size = float(np.clip(2400 / max(len(figure.positions), 1), 0.9, 26)) * canvas.scale
    handles = _graph_nodes(axes, figure, where, size)
    changes: tuple[tuple[np.ndarray | None, str, str, Any], ...] = (
        (figure.deleted, DELETED_LABEL, DELETED_COLOUR, (0, (2.2, 1.1))),
        (figure.added, ADDED_LABEL, ADDED_COLOUR, DOTTED.print),
    )
    for changed, label, colour, dash in changes:
        if changed is not None and len(changed):
            path = segments(where, changed)
            style = {"color": colour, "linewidth": 1.3, "linestyle": dash, "label": f"{label} ({len(changed):,})"}
            handles += axes.plot(*path, **style, zorder=2, gid=label.replace(" ", "-"))
    for nodes, label, symbol, colour in (
        (figure.attackers, ATTACKER_LABEL, "o", BLACK),
        (figure.protected, PROTECTED_LABEL, "s", PROTECTED_COLOUR),
    ):
        if nodes is not None and len(nodes):
            x, y = where[nodes].T
            axes.scatter(
                x, y, s=max(size * 4, 14), marker=symbol, facecolors="none", edgecolors=colour,
                linewidths=0.9, zorder=6, gid=label,
            )  # fmt: skip
            handles.append(
                Line2D([], [], linestyle="", marker=symbol, markerfacecolor="none", markeredgecolor=colour,
                       markersize=6, label=f"{label} ({len(nodes):,})")
            )  # fmt: skip
    axes.set_xlim(-0.03, GRAPH_ASPECT + 0.03)
    axes.set_ylim(-0.03, 1.03)
    canvas.legend(handles)


def _graph_nodes(axes: Any, figure: GraphFigure, where: np.ndarray, size: float) -> list[Any]:
    handles: list[Any] = []
    for group, name in enumerate(figure.groups):
        members = np.flatnonzero(figure.state == group)
        if not len(members):
            continue
        if figure.palette == "state":
            state = STATES[name]
            label, colour, symbol, scale = state.label, state.colour, state.marker.print, state.scale
        else:
            label, colour, symbol, scale = name, series_colour(group), series_marker(group).print, 1.0
        x, y = where[members].T
        axes.plot(
            x,
            y,
            linestyle="",
            marker=symbol,
            markersize=np.sqrt(size) * scale,
            color=colour,
            markeredgewidth=0.15 if len(figure.positions) < 1000 else 0,
            markeredgecolor="white",
            zorder=3 + 0.1 * group,
            gid=f"nodes-{group}",
        )
        handles.append(
            Line2D([], [], linestyle="", marker=symbol, color=colour, markersize=5,
                   label=printable(f"{clean(label, 40)} ({len(members):,})"))
        )  # fmt: skip
    return handles


@_draw.register
def _front(figure: FrontFigure, canvas: Canvas) -> None:
    axes = canvas.axes()
    x_end, y_end = front_extent(figure.points, figure.received)
    outline = staircase(figure.points, x_end, y_end)
    area = np.concatenate([[[-0.5, -0.5]], outline, [[outline[-1, 0], -0.5]]])
    axes.fill(*area.T, facecolor=SKY, alpha=0.3, linewidth=0, gid="certified")
    axes.plot(*outline.T, color=KINDS["collective"].colour, linewidth=1.4, gid="outline")
    handles: list[Any] = [Patch(facecolor=SKY, alpha=0.4, label="certified budgets")]
    if len(figure.points):
        handles += axes.plot(
            *figure.points.T,
            linestyle="",
            marker="s",
            markersize=4.5,
            color=VERMILLION,
            label="smallest uncertified",
            gid="front",
        )
    if figure.received is not None:
        handles += axes.plot(
            *([value] for value in figure.received),
            linestyle="",
            marker="*",
            markersize=9,
            color=BLACK,
            label="received: " + ("loses its certificate" if figure.attacked else "does not reach the front"),
            gid="received",
            zorder=5,
        )
    shown = False
    for k, (end, line) in enumerate(((x_end, axes.axvline), (y_end, axes.axhline))):
        if figure.budgets is not None and figure.budgets[k] < end:
            line(figure.budgets[k], color=GREY, linewidth=0.9, linestyle=(0, (5, 3)), zorder=1)
            shown = True
    if shown:
        handles.append(Line2D([], [], color=GREY, linewidth=0.9, linestyle=(0, (5, 3)), label="global budget"))
    axes.set_xlim(-0.5, x_end)
    axes.set_ylim(-0.5, y_end)
    whole_ticks(axes.xaxis)
    whole_ticks(axes.yaxis)
    canvas.labels(axes, axis_label(figure.x), axis_label(figure.y))
    canvas.legend(handles)


@_draw.register
def _distribution(figure: DistributionFigure, canvas: Canvas) -> None:
    axes = canvas.axes()
    axes.grid(True, axis="y", color="#E3E5E8", linewidth=0.5)
    axes.set_axisbelow(True)
    base = np.zeros(len(figure.edges) - 1)
    handles: list[Any] = []
    for k, bars in enumerate(figure.series):
        kind = KINDS[bars.kind]
        drawn = axes.bar(
            figure.edges[:-1],
            bars.values,
            np.diff(figure.edges),
            base,
            align="edge",
            facecolor=kind.colour,
            edgecolor=kind.colour if not kind.hatch else BLACK,
            linewidth=0.2,
            hatch=kind.hatch,
        )
        for patch in drawn:
            patch.set_gid(f"bars-{k}")
        base = base + bars.values
        label = printable(bars.label, 40)
        handles.append(Patch(facecolor=kind.colour, edgecolor=BLACK, linewidth=0.3, hatch=kind.hatch, label=label))
    if figure.log:
        axes.set_yscale("log")
        axes.set_ylim(bottom=0.7)
    for label, value in figure.thresholds:
        axes.axvline(value, color=BLACK, linewidth=0.9, linestyle=(0, (5, 3)))
        axes.annotate(
            printable(label, 24),
            (value, 1.0),
            xycoords=("data", "axes fraction"),
            ha="center",
            va="bottom",
            fontsize=canvas.font - 1.5,
        )
    axes.set_xlim(figure.edges[0], figure.edges[-1])
    if not figure.log:
        thousands(axes.yaxis)
    canvas.labels(axes, figure.label, "nodes")
    canvas.legend(handles)
