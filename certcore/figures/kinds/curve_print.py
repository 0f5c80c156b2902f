"""Curves for print: labels at the lines if they fit, otherwise marks and a legend."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from certcore.common.rounding import rounded_down
from certcore.figures.direct_labels import Box, place_labels, pushed_apart
from certcore.figures.escape import clean
from certcore.figures.geometry import bracket_area, line_marks, plateau, positions
from certcore.figures.style import (
    ATTACK_LABEL,
    BAND_LABEL,
    BLACK,
    BRACKET_LABEL,
    CLEAN_LABEL,
    GREY,
    KINDS,
    MARKS_LABEL,
    MODEL_LABEL,
    PLATEAU_LABEL,
    TOKENS,
    Kind,
    axis_label,
    is_length,
    series_marker,
)

if TYPE_CHECKING:
    from certcore.figures.kinds.curve import CurveFigure, Line
    from certcore.figures.matplotlib_figure import Sheet

#: Kinds of lines whose plateaus are not marked.
FLAT = (Kind.NAIVE, Kind.CONTROL)
#: Baselines whose ratios differ by less than this share one label.
CLOSE = 0.07
#: Line widths in points. `OURS`: the certificate. `EDGE`: the ratio that attacks leave. `OTHERS`: all other lines.
OURS, EDGE, OTHERS = 1.4, 0.8, 0.9
#: The most lines that are labelled directly.
MOST_DIRECT = 8
#: Labels at the ends of lines take at most this fraction of the width.
MOST_AT_ENDS = 0.37


def draw(figure: CurveFigure, sheet: Sheet) -> None:
    """Draw with labels at the lines if all fit, otherwise with a legend below."""
    # A band over splits needs a legend entry that explains it.
    bands = any(line.low is not None for line in figure.lines)
    if sheet.style.labels == "auto" and len(figure.lines) <= MOST_DIRECT and not bands:
        if _direct(figure, sheet):
            return
        sheet.restart()
    axes = _axes(figure, sheet)
    handles = _curve_lines(axes, figure, sheet)
    for names, end_of_line, y, above in controls(figure):
        axes.annotate(
            "\n".join(sheet.printable(name) for name in names),
            (float(positions(np.array([end_of_line]), figure.log)[0]), y),
            ha="right",
            va="bottom" if above else "top",
            fontsize=sheet.font - 1.5,
        )
    if figure._clean is not None:
        handles.append(_clean_line(axes, figure))
    sheet.legend(handles)


def _axes(figure: CurveFigure, sheet: Sheet) -> Any:
    """Axes with their labels, and the marker of the present budget."""
    axes = sheet.axes()
    axes.grid(True, color="#E3E5E8", linewidth=0.5)
    axes.set_axisbelow(True)
    end = max(float(line.values[-1]) for line in figure.lines)
    if figure.log:
        sheet.log_axis(axes, "x", end)
        axes.set_xlim(0.45, max(end, 1) * 1.08)
    else:
        lengths = is_length(figure.vary)
        axes.set_xlim(0 - 0.012 * end, (end if lengths and end else max(end, 1)) * 1.012)
        sheet.whole_ticks(axes.xaxis, lengths=lengths)
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
            fontsize=sheet.font - 1.5,
        )
    sheet.labels(axes, figure.x_label or axis_label(figure.vary), figure.y_label)
    return axes


def _clean_line(axes: Any, figure: CurveFigure) -> Any:
    style = {"color": GREY, "linewidth": 0.8, "linestyle": ":"}
    return axes.axhline(figure._clean, label=CLEAN_LABEL, gid="clean", **style)


def _direct(figure: CurveFigure, sheet: Sheet) -> bool:
    """Draw with a label beside every line, or at its end; False if the labels do not fit."""
    axes = _axes(figure, sheet)
    family = len({line.group for line in figure.lines}) > 1
    found = _labelled(axes, figure, sheet, family)
    sheet.settle()
    size, axes_size = sheet.font - 0.5, _axes_size(axes)
    labels = [sheet.label(text) if text else "" for _, text in found]
    sizes = [(sheet.text_width(text, size), size * 1.05) if text else None for text in labels]
    heights = [_heights(axes, drawn) for drawn, _ in found]
    boxes = place_labels(heights, sizes, axes_size, _marker_box(axes, figure, axes_size))
    if boxes is None:
        return family and _at_ends(axes, figure, sheet, list(zip([drawn for drawn, _ in found], labels)))
    sheet.keyed = True
    for (drawn, _), text, box in zip(found, labels, boxes):
        if box is not None:
            at = ((box.left + box.width / 2) / axes_size[0], (box.bottom + box.height / 2) / axes_size[1])
            _write(axes, at, text, drawn, size, family)
    return True


def _labelled(axes: Any, figure: CurveFigure, sheet: Sheet, family: bool) -> list[tuple[Any, str]]:
    """All lines as drawn, with their labels; the ratio that attacks leave is a line of its own."""
    found: list[tuple[Any, str]] = []
    for k, text in enumerate(_texts(figure, family)):
        found.append((_print_line(axes, figure, k, family, sheet, marks=family)[0], text))
        found += [(drawn, drawn.get_label()) for drawn in _edge_lines(axes, figure, k, sheet)]
    if figure._clean is not None:
        found.append((_clean_line(axes, figure), CLEAN_LABEL))
    return found


def edges(line: Line) -> list[tuple[str, np.ndarray, str, str]]:
    """What attacks found leave of a line: name in files, ratios (NaN: not tried), label and colour."""
    found = (
        ("leaves", line.leaves, ATTACK_LABEL, TOKENS["lost-text"].light),
        ("unchanged", line.unchanged, MODEL_LABEL, TOKENS["changed"].light),
    )
    return [
        (name, ratio, label, colour)
        for name, ratio, label, colour in found
        if ratio is not None and not np.isnan(ratio).all()
    ]


def _edge_lines(axes: Any, figure: CurveFigure, k: int, sheet: Sheet) -> list[Any]:
    """These as lines: each attack holds from its own budget on."""
    x = positions(figure.lines[k].values, figure.log)
    return [
        axes.plot(
            x, ratio, drawstyle="steps-post", gid=f"{name}-{k}", label=label, color=colour,
            linewidth=EDGE * sheet.scale, linestyle=(0, (4, 1.5)) if name == "leaves" else "-",
        )[0]
        for name, ratio, label, colour in edges(figure.lines[k])
    ]  # fmt: skip


def _is_ours(drawn: Any) -> bool:
    return str(drawn.get_gid()).endswith(f"-{Kind.COLLECTIVE}")


def _write(axes: Any, at: tuple[float, float], text: str, drawn: Any, size: float, family: bool, **more: Any) -> None:
    # A label that explains a dash style belongs to the whole family, so it does not get a member's colour.
    shared = family and not _is_ours(drawn)
    colour = TOKENS["ink2"].light if shared else drawn.get_color()
    style = {"fontsize": size, "ha": "center", "va": "center", "transform": axes.transAxes, "gid": "label"} | more
    axes.text(*at, text, color=colour, **style)


def _at_ends(axes: Any, figure: CurveFigure, sheet: Sheet, found: list[tuple[Any, str]]) -> bool:
    """Names of a family at the right ends of its lines, kept apart; labels of dash styles stay inside the axes."""
    size = sheet.font - 0.5
    solid = [k for k, (drawn, text) in enumerate(found) if text and _is_ours(drawn)]
    widest = max((sheet.text_width(found[k][1], size) for k in solid), default=0.0)
    if not solid or widest > MOST_AT_ENDS * sheet.width * 72:
        return False
    # An invisible copy of the widest label reserves its width; the layout is fixed after that.
    spare = axes.text(1.02, 0.5, found[max(solid, key=lambda k: len(found[k][1]))][1], fontsize=size, alpha=0,
                      transform=axes.transAxes)  # fmt: skip
    sheet.settle()
    sheet.figure.set_layout_engine("none")
    spare.remove()
    if sheet.lower is not None:  # the part below the axes gets the whole width
        here = sheet.lower.get_position()
        sheet.lower.set_position((here.x0, here.y0, 0.985 - here.x0, here.height))
    axes_size = _axes_size(axes)
    ends = [float(_heights(axes, found[k][0])[~np.isnan(_heights(axes, found[k][0]))][-1]) for k in solid]
    where = pushed_apart(ends, size * 1.15, axes_size[1])
    sizes = [(sheet.text_width(text, size), size * 1.05) if text and k not in solid else None
             for k, (_, text) in enumerate(found)]  # fmt: skip
    boxes = place_labels(
        [_heights(axes, drawn) for drawn, _ in found], sizes, axes_size, _marker_box(axes, figure, axes_size), own=0
    )
    if where is None or boxes is None:
        return False
    sheet.keyed = True
    for k, end, height in zip(solid, ends, where):
        line = {"color": found[k][0].get_color(), "linewidth": 0.5, "transform": axes.transAxes, "clip_on": False}
        axes.plot([1.0, 1.018], [end / axes_size[1], height / axes_size[1]], **line)
        _write(axes, (1.025, height / axes_size[1]), found[k][1], found[k][0], size, True, ha="left")
    for (drawn, text), box in zip(found, boxes):
        if box is not None:
            at = ((box.left + box.width / 2) / axes_size[0], (box.bottom + box.height / 2) / axes_size[1])
            _write(axes, at, text, drawn, size, True)
    return True


def _texts(figure: CurveFigure, family: bool) -> list[str]:
    """The label of each line: in a family the member's name, and once per dash style its meaning."""
    named: set[str] = set()
    texts = []
    for line in figure.lines:
        kind = KINDS[line.kind]
        if not family or line.kind == Kind.CONTROL:
            texts.append(line_label(line.name, line.kind) if line.kind != Kind.CONTROL else clean(line.name, 60))
        elif line.kind == Kind.COLLECTIVE or not line.name:
            texts.append(clean(line.name, 60) or kind.label)
        else:
            texts.append("" if line.kind in named else f"{kind.dash.screen.replace('dot', 'dotted')}: {kind.label}")
            named.add(line.kind)
    return texts


def _axes_size(axes: Any) -> tuple[float, float]:
    """Width and height of the axes in points."""
    box, dpi = axes.get_window_extent(), axes.figure.dpi
    return float(box.width * 72 / dpi), float(box.height * 72 / dpi)


def _heights(axes: Any, drawn: Any) -> np.ndarray:
    """Height of a line at every point of the axes' width, in points from the lower edge; NaN outside the line."""
    width, height = _axes_size(axes)
    corner = axes.get_window_extent().p0
    x, y = np.asarray(drawn.get_xdata(), dtype=float), np.asarray(drawn.get_ydata(), dtype=float)
    if len(x) == 2 and y[0] == y[1]:  # a horizontal line across the axes
        level = float(axes.transAxes.inverted().transform(axes.transData.transform((0, y[0])))[1])
        return np.full(int(width) + 2, level * height)
    # A missing height would make its place unknown too.
    points = (axes.transData.transform(np.column_stack([x, np.nan_to_num(y)])) - corner) * 72 / axes.figure.dpi
    points[np.isnan(y), 1] = np.nan
    across = np.arange(int(width) + 2, dtype=float)
    # Steps: between two values a certificate has the ratio of the larger one, an attack that of the smaller one.
    after = drawn.get_drawstyle() == "steps-post"
    where = np.searchsorted(points[:, 0], across + 1e-9 * after, side="left") - after
    inside = (across >= points[0, 0] - 1) & (across <= points[-1, 0] + 1e-9)
    return np.where(inside, points[np.clip(where, 0, len(points) - 1), 1], np.nan)


def _marker_box(axes: Any, figure: CurveFigure, axes_size: tuple[float, float]) -> list[Box]:
    if figure.marker is None:
        return []
    where = float(positions(np.array([figure.marker]), figure.log)[0])
    share = float(axes.transAxes.inverted().transform(axes.transData.transform((where, 0.5)))[0])
    return [Box(share * axes_size[0] - 0.5, 0.0, 1.0, axes_size[1])]


def line_label(name: str, kind: str, average_radius: float | None = None) -> str:
    """Legend text of a line: name, kind and average radius."""
    parts = [clean(name, 60), KINDS[kind].label]
    label = ", ".join(part for part in parts if part)
    return label if average_radius is None else f"{label} (r̄ = {rounded_down(average_radius, 2)})"


def controls(figure: CurveFigure) -> list[tuple[list[str], float, float, bool]]:
    """Labels of baselines, one for lines that are close together.

    Each has the names from top to bottom, the right end and height of the line, and whether the label is above the
    line. It is above if other lines leave more space there.
    """
    found = sorted((line for line in figure.lines if line.kind == Kind.CONTROL), key=lambda line: -float(line.ratio[0]))
    together: list[list[Line]] = []
    for line in found:
        if together and together[-1][-1].ratio[0] - line.ratio[0] < CLOSE:
            together[-1].append(line)
        else:
            together.append([line])
    others = [line.ratio[len(line.ratio) // 2 :] for line in figure.lines if line.kind != Kind.CONTROL]
    heights = np.concatenate([*others, [0.0, 1.0], [] if figure._clean is None else [figure._clean]])
    labels = []
    for lines in together:
        top, bottom = float(lines[0].ratio[0]), float(lines[-1].ratio[0])
        above = (heights[heights >= top].min() - top) > (bottom - heights[heights <= bottom].max())
        names = [line.name for line in lines]
        labels.append((names, float(lines[0].values[-1]), top if above else bottom, bool(above)))
    return labels


def plateau_starts(figure: CurveFigure) -> list[tuple[float, float]]:
    """Where the marked plateaus of the lines begin."""
    starts = []
    for line in figure.lines:
        start = plateau(line.values, line.ratio) if figure.plateaus and line.kind not in FLAT else None
        if start is not None:
            starts.append((float(positions(line.values, figure.log)[start]), float(line.ratio[start])))
    return starts


def _print_line(
    axes: Any, figure: CurveFigure, k: int, family: bool, sheet: Sheet, *, marks: bool = True
) -> tuple[Any, bool]:
    """One line with its band and bracket; also whether only some of its values have a mark."""
    line = figure.lines[k]
    colour, dash = figure.look(line, family)
    x = positions(line.values, figure.log)
    if line.low is not None and line.high is not None:
        axes.fill_between(x, line.low, line.high, step="pre", color=colour, alpha=0.18, linewidth=0, gid=f"band-{k}")
    if line.leaves is not None:
        across, up = bracket_area(x, line.ratio, line.leaves)
        axes.fill(across, up, color=colour, alpha=0.16, linewidth=0, gid=f"bracket-{k}")
    # Markers distinguish the members of a family, or the kinds of a single curve, so that colour is never needed.
    symbol = series_marker(line.group if family else list(KINDS).index(line.kind)).print
    spread = np.log(x) if figure.log else x
    marked = line_marks(spread, k, len(figure.lines), family) if marks else np.zeros(0, dtype=int)
    drawn = axes.plot(
        x,
        line.ratio,
        drawstyle="steps-pre",
        linestyle=dash.print,
        color=colour,
        linewidth=(OURS if line.kind == Kind.COLLECTIVE else OTHERS) * sheet.scale,
        marker=symbol if len(marked) else None,
        markersize=3.4 * sheet.scale,
        markevery=marked.tolist() or None,
        markeredgewidth=0.5,
        markeredgecolor="white" if symbol not in "xX+" else colour,
        label=line_label(line.name, line.kind, line.average_radius),
        gid=f"series-{k}-{line.kind}",
    )[0]
    return drawn, 0 < len(marked) < len(x)


def _curve_lines(axes: Any, figure: CurveFigure, sheet: Sheet) -> list[Any]:
    family = len({line.group for line in figure.lines}) > 1
    handles: list[Any] = []
    some = False
    for k in range(len(figure.lines)):
        drawn, only_some = _print_line(axes, figure, k, family, sheet)
        handles += [drawn, *_edge_lines(axes, figure, k, sheet)]
        some |= only_some
    if any(line.low is not None for line in figure.lines):
        handles.append(sheet.patch(facecolor=GREY, alpha=0.3, linewidth=0, label=BAND_LABEL))
    if figure._brackets:
        shade = KINDS[Kind.COLLECTIVE].colour
        handles.append(sheet.patch(facecolor=shade, alpha=0.2, linewidth=0, label=BRACKET_LABEL))
    if some:
        size = 3.4 * sheet.scale
        handles.append(
            sheet.sample(linestyle="", marker="o", markerfacecolor="none", markeredgecolor=GREY, markersize=size,
                   label=MARKS_LABEL)
        )  # fmt: skip
    if starts := plateau_starts(figure):
        handles += axes.plot(
            *zip(*starts),
            linestyle="",
            marker="|",
            markersize=8 * sheet.scale,
            markeredgewidth=1.3,
            color=BLACK,
            label=PLATEAU_LABEL,
            gid="plateaus",
        )
    return handles
