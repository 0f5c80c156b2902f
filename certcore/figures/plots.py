"""Figures for the screen (Plotly): hover texts with units, light and dark, the same colours as in print."""

from __future__ import annotations

from functools import singledispatch
from typing import Any

import numpy as np
import plotly.graph_objects as go

from certcore.common.errors import InputError
from certcore.common.rounding import rounded_down, rounded_up
from certcore.figures.data import (
    BarFigure,
    ContourFigure,
    CurveFigure,
    DistributionFigure,
    Figure,
    FrontFigure,
    GraphFigure,
)
from certcore.figures.describe import alt_text, level_label, line_label, measure
from certcore.figures.escape import for_plotly
from certcore.figures.geometry import (
    GRAPH_ASPECT,
    cell_edges,
    front_extent,
    graph_places,
    label_spot,
    level_lines,
    line_marks,
    log_ticks,
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
    on_background,
    series_colour,
    series_marker,
)
from certcore.figures.table import format_cell

#: Above this many nodes and edges the graph is drawn by WebGL; below, as SVG, which needs no graphics card.
_WEBGL_FROM = 12_000
_FONT = "Source Sans Pro, Source Sans 3, Segoe UI, DejaVu Sans, Helvetica, Arial, sans-serif"


def draw(figure: Figure, *, dark: bool = False, title: bool = False, transparent: bool = False) -> go.Figure:
    """The figure for the screen; its alternative text is in `layout.meta["alt"]`."""
    screen = _draw(figure, dark)
    screen.update_layout(**_layout(dark, transparent), meta={"alt": alt_text(figure), "name": figure.name})
    if title and figure.title:
        screen.update_layout(title={"text": for_plotly(figure.title), "x": 0.02}, margin={"t": 48})
    return screen


def _layout(dark: bool, transparent: bool) -> dict[str, Any]:
    ink, paper, grid = ("#E6E6E6", "#0E1117", "#31353D") if dark else ("#1F2328", "#FFFFFF", "#E3E5E8")
    clear = "rgba(0,0,0,0)"
    axis = {
        "gridcolor": grid,
        "linecolor": ink,
        "zerolinecolor": grid,
        "automargin": True,
        "ticks": "outside",
        "separatethousands": True,
    }
    return {
        "template": "plotly_dark" if dark else "plotly_white",
        "paper_bgcolor": clear if transparent else paper,
        "plot_bgcolor": clear if transparent else paper,
        "font": {"color": ink, "family": _FONT, "size": 14},
        "xaxis": axis,
        "yaxis": axis,
        "margin": {"l": 8, "r": 8, "t": 16, "b": 8},
        "hoverlabel": {"font": {"family": _FONT}},
        # At the bottom of the picture, however many lines it takes: Plotly then keeps room for it below the axis title.
        "legend": {"orientation": "h", "yref": "container", "yanchor": "bottom", "y": 0, "x": 0, "font": {"size": 13}},
        "modebar": {"orientation": "v", "bgcolor": clear},
    }


@singledispatch
def _draw(figure: Figure, dark: bool) -> go.Figure:
    raise InputError(f"there is no drawing of a {type(figure).__name__} for the screen")


@_draw.register
def _curve(figure: CurveFigure, dark: bool) -> go.Figure:
    screen = go.Figure()
    family = len({line.group for line in figure.lines}) > 1
    some = False
    axis = for_plotly(figure.x_label or axis_label(figure.vary))
    for k, line in enumerate(figure.lines):
        kind = KINDS[line.kind]
        colour = on_background(series_colour(line.group) if family else kind.colour, dark)
        x = positions(line.values, figure.log)
        if line.low is not None and line.high is not None:
            screen.add_trace(_band(x, line.low, line.high, colour, f"band-{k}"))
        label = for_plotly(line_label(line.name, line.kind, line.average_radius))
        # Plotly's own formats round to the nearest, which may promise too much: ratios travel as text.
        data: list[list[Any]] = [line.values.tolist(), _ratios(line.ratio)]
        hover = f"{axis}: %{{customdata[0]:,}}<br>{RATIO_LABEL}: %{{customdata[1]}}"
        if line.certified is not None:
            data += [line.certified.tolist(), [line.targets or 0] * len(x)]
            hover += "<br>certified: %{customdata[2]:,} of %{customdata[3]:,} nodes"
        if line.low is not None and line.high is not None:
            data += [_ratios(line.low), _ratios(line.high)]
            at = len(data) - 2
            hover += f"<br>one deviation over splits: %{{customdata[{at}]}} … %{{customdata[{at + 1}]}}"
        marks = line_marks(np.log(x) if figure.log else x, k, len(figure.lines), family)
        some |= 0 < len(marks) < len(x)
        # Without a mark a point could not be clicked: it is there, but not seen.
        seen = 1 if len(marks) else 0
        screen.add_trace(
            go.Scatter(
                x=x,
                y=line.ratio,
                customdata=[list(cell) for cell in zip(*data)],
                name=label,
                mode="lines+markers",
                line={"color": colour, "dash": kind.dash.screen, "width": 2.5, "shape": "vh"},
                marker={
                    "symbol": series_marker(line.group).screen,
                    "size": 7,
                    "opacity": seen,
                    "maxdisplayed": 0 if len(marks) in (0, len(x)) else len(marks),
                },
                unselected={"marker": {"opacity": seen}},
                selected={"marker": {"opacity": 1}},
                hovertemplate=f"<b>{label}</b><br>{hover}<extra></extra>",
                legendgroup=f"line-{k}",
            )
        )
    if any(line.low is not None for line in figure.lines):
        _legend_only(screen, BAND_LABEL, {"symbol": "square", "size": 14, "color": _translucent(GREY, 0.35)})
    if some:
        _legend_only(screen, MARKS_LABEL, {"symbol": "circle-open", "size": 7, "color": GREY})
    if figure.plateaus:
        _plateaus(screen, figure, dark)
    if figure.marker is not None:
        where = float(positions(np.array([figure.marker]), figure.log)[0])
        screen.add_vline(x=where, line={"color": on_background(BLACK, dark), "width": 1.5, "dash": "dash"})
        screen.add_annotation(
            x=np.log10(where) if figure.log else where,
            y=1.0,
            yref="paper",
            yanchor="bottom",
            text=f"{figure.marker:,g}",
            showarrow=False,
        )
        screen.update_layout(margin={"t": 28})
    screen.update_yaxes(title=RATIO_LABEL, range=[-0.02, 1.02], tickformat=".1f")
    screen.update_xaxes(title=axis, **_whole(max((float(line.values[-1]) for line in figure.lines), default=9.0)))
    if figure.log:
        where_ticks, text = log_ticks(max(float(line.values[-1]) for line in figure.lines))
        screen.update_xaxes(type="log", dtick=None, tickvals=where_ticks, ticktext=text)
    screen.update_layout(hovermode="closest", clickmode="event+select")
    return screen


def _ratios(values: np.ndarray) -> list[str]:
    """Certified ratios as text, never more than they are."""
    return [rounded_down(value, 4) if np.isfinite(value) else "not computed" for value in values.tolist()]


def _legend_only(screen: go.Figure, label: str, marker: dict[str, Any]) -> None:
    """An entry of the legend that explains something without being a line."""
    screen.add_trace(go.Scatter(x=[None], y=[None], mode="markers", marker=marker, name=label, hoverinfo="skip"))


def _whole(end: float) -> dict[str, Any]:
    """Ticks of an axis that counts: never between two whole numbers."""
    return {"tick0": 0, "dtick": 1} if end <= 8 else {}


def _band(x: np.ndarray, low: np.ndarray, high: np.ndarray, colour: str, group: str) -> go.Scatter:
    """A filled band of steps: each stretch has the limits of its right end, as the line itself."""
    steps = np.repeat(x, 2)[:-1] if len(x) > 1 else np.repeat(x, 2)
    top, bottom = (np.concatenate([v[:1], np.repeat(v[1:], 2)]) if len(x) > 1 else np.repeat(v, 2) for v in (high, low))
    return go.Scatter(
        x=np.concatenate([steps, steps[::-1]]),
        y=np.concatenate([top, bottom[::-1]]),
        fill="toself",
        fillcolor=_translucent(colour, 0.18),
        line={"width": 0},
        hoverinfo="skip",
        showlegend=False,
        name=group,
    )


def _translucent(colour: str, alpha: float) -> str:
    red, green, blue = (int(colour[i : i + 2], 16) for i in (1, 3, 5))
    return f"rgba({red},{green},{blue},{alpha})"


def _plateaus(screen: go.Figure, figure: CurveFigure, dark: bool) -> None:
    found = [(line, plateau(line.values, line.ratio)) for line in figure.lines if line.kind != "naive"]
    starts = [(line, start) for line, start in found if start is not None]
    if not starts:
        return
    screen.add_trace(
        go.Scatter(
            x=positions(np.array([line.values[start] for line, start in starts]), figure.log),
            y=[line.ratio[start] for line, start in starts],
            customdata=[
                [float(line.values[start]), rounded_down(float(line.ratio[start]), 4)] for line, start in starts
            ],
            name=PLATEAU_LABEL,
            mode="markers",
            marker={
                "symbol": "line-ns-open",
                "size": 16,
                "line": {"width": 2.5},
                "color": on_background(BLACK, dark),
            },
            hovertemplate="constant from %{customdata[0]:,} on<br>"
            + f"{RATIO_LABEL}: %{{customdata[1]}}<extra></extra>",
        )
    )


@_draw.register
def _contour(figure: ContourFigure, dark: bool) -> go.Figure:
    screen = go.Figure()
    xs, ys = cell_edges(figure.x_values, figure.x_log), cell_edges(figure.y_values, figure.y_log)
    what = for_plotly(measure(figure))
    filled = figure.filled
    known = filled[np.isfinite(filled)]
    difference = figure.show == "difference"
    low, high = 0.0, 1.0
    if difference:
        low, high = min(0.0, float(known.min(initial=0))), max(1e-9, float(known.max(initial=0)))
    colours = colour_scale(difference)
    data, hover = cell_hover(figure)
    screen.add_trace(
        go.Heatmap(
            x=xs,
            y=ys,
            z=filled.T,
            customdata=[[data[i][j] for i in range(len(data))] for j in range(len(figure.y_values))],
            zmin=low,
            zmax=high,
            colorscale=[[i / (len(colours) - 1), colour] for i, colour in enumerate(colours)],
            colorbar={"title": {"text": what, "side": "right", "font": {"size": 14}}, "thickness": 14},
            hoverongaps=False,
            hovertemplate=hover + "<extra></extra>",
        )
    )
    _contour_lines(screen, figure, xs, ys, dark)
    if figure.marker is not None:
        x, y = figure.marker
        screen.add_trace(
            go.Scatter(
                x=positions(np.array([x]), figure.x_log),
                y=positions(np.array([y]), figure.y_log),
                mode="markers",
                name="current budgets",
                marker={
                    "symbol": "x",
                    "size": 13,
                    "color": VERMILLION,
                    "line": {"color": "#FFFFFF", "width": 1.5},
                },
                customdata=[[x, y]],
                hovertemplate="current budgets: %{customdata[0]:,} and %{customdata[1]:,}<extra></extra>",
            )
        )
    for update, key, log, edges in (
        (screen.update_xaxes, figure.x, figure.x_log, xs),
        (screen.update_yaxes, figure.y, figure.y_log, ys),
    ):
        update(title=for_plotly(axis_label(key)), showgrid=False, zeroline=False)
        if log:
            where, text = log_ticks(float(edges[-1]))
            update(type="log", tickvals=where, ticktext=text, range=np.log10(edges[[0, -1]]).tolist())
        else:
            update(range=[float(edges[0]), float(edges[-1])], **_whole(float(edges[-1])))
    if len(figure.y_values) == 1:
        screen.update_yaxes(showticklabels=False, ticks="", title="")
    screen.update_layout(clickmode="event+select")
    return screen


def cell_hover(figure: ContourFigure) -> tuple[list[list[list[Any]]], str]:
    """For each cell of a map its budgets and its numbers as text, and what the tooltip says about them."""
    names = [for_plotly(measure(figure))]
    parts = [figure.filled]
    if figure.reference is not None:
        names += [KINDS[figure.kind].label, KINDS[figure.reference_kind].label]
        parts += [figure.ratio, figure.reference]
    texts = [[_ratios(column) for column in part] for part in parts]
    data = [
        [[x, y, *(text[i][j] for text in texts)] for j, y in enumerate(figure.y_values.tolist())]
        for i, x in enumerate(figure.x_values.tolist())
    ]
    hover = f"{axis_label(figure.x)}: %{{customdata[0]:,}}<br>{axis_label(figure.y)}: %{{customdata[1]:,}}"
    hover += "".join(f"<br>{name}: %{{customdata[{k}]}}" for k, name in enumerate(names, 2))
    return data, hover


def _contour_lines(screen: go.Figure, figure: ContourFigure, xs: np.ndarray, ys: np.ndarray, dark: bool) -> None:
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
                screen.add_trace(
                    go.Scatter(
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
                )
            # On a dark page the legend needs another ink than the map, which is the same on every page.
            sample = {"color": on_background(BLACK, dark), "width": 2, "dash": dash}
            screen.add_trace(go.Scatter(x=[None], y=[None], mode="lines", line=sample, name=name, legendgroup=name))
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


@_draw.register
def _bars(figure: BarFigure, dark: bool) -> go.Figure:
    screen = go.Figure()
    names = [for_plotly(name, 40) for name in figure.categories]
    # Names may be equal (or become so when cut) and must stay separate bars: the axis counts, the text names.
    rows = list(range(len(names)))
    for bars in figure.series:
        kind = KINDS[bars.kind]
        label = for_plotly(bars.label)
        data = [names, [format_cell(value, figure.meaning) for value in bars.values.tolist()]]
        hover = f"%{{customdata[0]}}<br>{label}: %{{customdata[1]}}"
        if bars.counts is not None and figure.sizes is not None:
            data += [bars.counts.tolist(), figure.sizes.tolist()]
            hover += "<br>%{customdata[2]:,} of %{customdata[3]:,} nodes"
        screen.add_trace(
            go.Bar(
                y=rows,
                x=bars.values,
                orientation="h",
                name=label,
                customdata=[list(cell) for cell in zip(*data)],
                marker={
                    "color": on_background(kind.colour, dark),
                    "pattern": {"shape": "" if bars.kind == "collective" else "/", "solidity": 0.35},
                },
                hovertemplate=hover + "<extra></extra>",
            )
        )
    screen.update_yaxes(tickvals=rows, ticktext=names, autorange="reversed", showgrid=False, zeroline=False)
    screen.update_xaxes(title=for_plotly(figure.label), rangemode="tozero")
    if figure.limit is not None:
        screen.update_xaxes(range=[0, figure.limit * 1.02])
    screen.update_layout(barmode="group", bargap=0.3, showlegend=len(figure.series) > 1)
    return screen


@_draw.register
def _graph(figure: GraphFigure, dark: bool) -> go.Figure:
    large = len(figure.positions) + len(figure.edges) > _WEBGL_FROM
    scatter = go.Scattergl if large else go.Scatter
    screen = go.Figure()
    where = graph_places(figure.positions)
    screen.add_trace(
        scatter(
            **_segments(where, remaining(figure.edges, figure.deleted)),
            mode="lines",
            line={"color": "#4A4F57" if dark else "#C9CCD1", "width": 0.6},
            hoverinfo="skip",
            showlegend=False,
            name="edges",
        )
    )
    for changed, label, colour, dash in (
        (figure.deleted, DELETED_LABEL, DELETED_COLOUR, "dash"),
        (figure.added, ADDED_LABEL, ADDED_COLOUR, "dot"),
    ):
        if changed is not None and len(changed):
            screen.add_trace(
                scatter(
                    **_segments(where, changed),
                    mode="lines",
                    line={"color": colour, "width": 2.5, "dash": "solid" if large else dash},
                    hoverinfo="skip",
                    name=f"{label} ({len(changed):,})",
                )
            )
    size = float(np.clip(130 / np.sqrt(max(len(figure.positions), 1)), 3, 12))
    for group, name in enumerate(figure.groups):
        members = np.flatnonzero(figure.state == group)
        if len(members):
            screen.add_trace(_nodes(figure, where, scatter, members, group, name, size, dark))
    for nodes, label, symbol, colour in (
        (figure.attackers, ATTACKER_LABEL, "circle-open", on_background(BLACK, dark)),
        (figure.protected, PROTECTED_LABEL, "square-open", PROTECTED_COLOUR),
    ):
        if nodes is not None and len(nodes):
            screen.add_trace(
                scatter(
                    x=where[nodes, 0],
                    y=where[nodes, 1],
                    mode="markers",
                    marker={"symbol": symbol, "size": size * 2, "color": colour, "line": {"width": 2}},
                    name=f"{label} ({len(nodes):,})",
                    customdata=nodes.reshape(-1, 1),
                    hoverinfo="skip",
                )
            )
    pad = 0.04
    screen.update_xaxes(visible=False, range=[-pad, GRAPH_ASPECT + pad], constrain="domain")
    screen.update_yaxes(visible=False, range=[-pad, 1 + pad], scaleanchor="x", constrain="domain")
    screen.update_layout(clickmode="event+select", legend={"itemsizing": "constant"})
    return screen


def _nodes(
    figure: GraphFigure,
    where: np.ndarray,
    scatter: Any,
    members: np.ndarray,
    group: int,
    name: str,
    size: float,
    dark: bool,
) -> Any:
    if figure.palette == "state":
        state = STATES[name]
        label, colour, symbol, scale = state.label, state.colour, state.marker.screen, state.scale
        label = label.split(" (")[0] if figure.relaxed else label
    else:
        label, scale = for_plotly(name), 1.0
        colour, symbol = series_colour(group), series_marker(group).screen
    names = [for_plotly(figure.names[i]) if figure.names is not None else str(i) for i in members.tolist()]
    data: list[list[Any]] = [[i, text] for i, text in zip(members.tolist(), names)]
    hover = f"node %{{customdata[0]}}: %{{customdata[1]}}<br>{label}"
    if figure.spent is not None:
        for row, spent in zip(data, figure.spent[members].tolist()):
            row.append(f"{int(spent):,}" if spent == int(spent) else rounded_up(spent))
        hover += "<br>flips at this node: %{customdata[2]}"
    return scatter(
        x=where[members, 0],
        y=where[members, 1],
        mode="markers",
        marker={
            "color": on_background(colour, dark),
            "symbol": symbol,
            "size": size * scale,
            "line": {"width": 0.5, "color": "#0E1117" if dark else "#FFFFFF"},
        },
        name=f"{label} ({len(members):,})",
        customdata=data,
        hovertemplate=hover + "<extra></extra>",
        unselected={"marker": {"opacity": 1}},
    )


def _segments(where: np.ndarray, edges: np.ndarray) -> dict[str, np.ndarray]:
    x, y = segments(where, edges)
    return {"x": x, "y": y}


@_draw.register
def _front(figure: FrontFigure, dark: bool) -> go.Figure:
    screen = go.Figure()
    x_end, y_end = front_extent(figure.points, figure.received)
    outline = staircase(figure.points, x_end, y_end)
    corner = [[-0.5, -0.5]]
    area = np.concatenate([corner, outline, [[outline[-1, 0], -0.5]], corner])
    screen.add_trace(
        go.Scatter(
            x=area[:, 0],
            y=area[:, 1],
            fill="toself",
            fillcolor=_translucent(SKY, 0.3),
            line={"color": KINDS["collective"].colour, "width": 2.5},
            mode="lines",
            name="certified budgets",
            hoverinfo="skip",
        )
    )
    screen.add_trace(
        go.Scatter(
            x=figure.points[:, 0],
            y=figure.points[:, 1],
            mode="markers",
            marker={"symbol": "square", "size": 10, "color": VERMILLION},
            name="smallest uncertified budgets",
            hovertemplate="%{x:,} " + axis_label(figure.x) + " and %{y:,} " + axis_label(figure.y)
            + "<br>uncertified from here on<extra></extra>",
        )
    )  # fmt: skip
    if figure.received is not None:
        screen.add_trace(
            go.Scatter(
                x=[figure.received[0]],
                y=[figure.received[1]],
                mode="markers",
                marker={"symbol": "star", "size": 17, "color": on_background(BLACK, dark)},
                name="received: " + ("loses its certificate" if figure.attacked else "does not reach the front"),
                hovertemplate="it receives %{x:,} and %{y:,}<extra></extra>",
            )
        )
    for k, (end, line) in enumerate(((x_end, screen.add_vline), (y_end, screen.add_hline))):
        if figure.budgets is not None and figure.budgets[k] < end:
            line(**{"xy"[k]: figure.budgets[k]}, line={"color": GREY, "dash": "dash", "width": 1.5})
    for update, key, end in ((screen.update_xaxes, figure.x, x_end), (screen.update_yaxes, figure.y, y_end)):
        update(title=axis_label(key), range=[-0.5, end], zeroline=False, **_whole(end))
    return screen


@_draw.register
def _distribution(figure: DistributionFigure, dark: bool) -> go.Figure:
    screen = go.Figure()
    for bars in figure.series:
        kind = KINDS[bars.kind]
        screen.add_trace(
            go.Bar(
                x=(figure.edges[:-1] + figure.edges[1:]) / 2,
                width=np.diff(figure.edges),
                y=bars.values,
                name=for_plotly(bars.label),
                customdata=np.column_stack([figure.edges[:-1], figure.edges[1:]]),
                marker={
                    "color": kind.colour,
                    "line": {"width": 0.3, "color": "#FFFFFF"},
                    "pattern": {"shape": "" if bars.kind == "collective" else "/", "solidity": 0.35},
                },
                hovertemplate="%{customdata[0]:.3f} to %{customdata[1]:.3f}: %{y:,} nodes<extra></extra>",
            )
        )
    for label, value in figure.thresholds:
        screen.add_vline(x=value, line={"color": on_background(BLACK, dark), "dash": "dash", "width": 1.5})
        screen.add_annotation(x=value, y=1, yref="paper", yanchor="bottom", text=for_plotly(label), showarrow=False)
    screen.update_layout(barmode="stack", bargap=0, margin={"t": 28})
    screen.update_xaxes(title=for_plotly(figure.label), range=[float(figure.edges[0]), float(figure.edges[-1])])
    screen.update_yaxes(title="nodes", type="log" if figure.log else "linear", tickformat=",d")
    return screen
