"""Figures for LaTeX: stand-alone pgfplots and TikZ source from the same numbers, colours and coordinates."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from functools import singledispatch

import numpy as np

from certcore import __version__
from certcore.common.errors import InputError
from certcore.common.rounding import rounded_down
from certcore.figures.data import (
    BarFigure,
    CompareFigure,
    ContourFigure,
    CurveFigure,
    DistributionFigure,
    Figure,
    FrontFigure,
    GraphFigure,
    Meaning,
)
from certcore.figures.describe import level_label, line_label, measure
from certcore.figures.escape import clean, for_comment, for_latex
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
    series_colour,
    series_marker,
)
from certcore.figures.table import make_table
from certcore.figures.tabular import rows_as_tabular

#: TeX reads its source into memory line by line and path by path: keep both short.
_PER_PATH = 250
#: Larger groups of nodes are drawn as dots, or TeX would run out of memory.
_MOST_MARKS = 1500
_MOST_ELEMENTS = 25_000
_HATCHES = {"": "", "////": "north east lines", "....": "dots", "\\\\\\\\": "north west lines"}

_PREAMBLE = r"""\documentclass[border=2pt]{standalone}
\usepackage[T1]{fontenc}
\usepackage[utf8]{inputenc}
\usepackage{textcomp}
\usepackage{booktabs}
\usepackage{pgfplots}
\pgfplotsset{compat=1.16}
\usetikzlibrary{plotmarks,patterns}
"""


def standalone(figure: Figure, *, width_cm: float = 8.5, title: bool = False) -> str:
    """A document that pdfLaTeX turns into the figure alone; its `tikzpicture` can be pasted into a paper."""
    body = _picture(figure, width_cm)
    if title and figure.title:
        head = rf"\node[anchor=south] at (current bounding box.north) {{{for_latex(figure.title)}}};"
        body = body.replace(r"\end{tikzpicture}", head + "\n\\end{tikzpicture}")
    used = sorted({part[:6] for part in body.split("cc")[1:] if _is_hex(part[:6])})
    colours = "".join(f"\\definecolor{{cc{code}}}{{HTML}}{{{code}}}\n" for code in used)
    large = isinstance(figure, GraphFigure) and len(figure.positions) + len(figure.edges) > _MOST_ELEMENTS
    tool = "lualatex (pdflatex has too little memory for this many nodes)" if large else "pdflatex"
    head = f"% {for_comment(figure.name)}: made by certcore {__version__}; compile with {tool}\n"
    return f"{head}{_PREAMBLE}{colours}\\begin{{document}}\n{body}\\end{{document}}\n"


def _is_hex(text: str) -> bool:
    return len(text) == 6 and all(sign in "0123456789ABCDEF" for sign in text)


def _colour(code: str) -> str:
    """The name a colour has in the document."""
    return "cc" + code[1:].upper()


def _points(
    x: Sequence[float] | np.ndarray,
    y: Sequence[float] | np.ndarray,
    x_meaning: Meaning = Meaning.PLAIN,
    y_meaning: Meaning = Meaning.PLAIN,
) -> str:
    """Coordinates, a few on each line."""
    across, up = np.asarray(x).tolist(), np.asarray(y).tolist()
    pairs = [f"({_number(a, x_meaning)},{_number(b, y_meaning)})" for a, b in zip(across, up)]
    return "\n".join(" ".join(pairs[i : i + 8]) for i in range(0, len(pairs), 8))


def _number(value: float, meaning: Meaning = Meaning.PLAIN) -> str:
    """A coordinate; certified ratios are never more than they are, also in the source."""
    return f"{value:.6g}" if meaning is not Meaning.CERTIFIED else _short(rounded_down(value, 6))


def _short(decimal: str) -> str:
    return decimal.replace(",", "").rstrip("0").rstrip(".")


def _list(items: Iterable[object]) -> str:
    return ",".join(str(item) for item in items)


def _axis(options: dict[str, str], body: list[str], after: str = "") -> str:
    listed = ",\n  ".join(key if value == "" else f"{key}={value}" for key, value in options.items())
    inner = "\n".join(body)
    axis = f"\\begin{{axis}}[\n  {listed}\n]\n{inner}\n\\end{{axis}}\n"
    return f"\\begin{{tikzpicture}}\n{axis}{after}\\end{{tikzpicture}}\n"


def _frame(width_cm: float, x: str, y: str, ratio: float = 0.68) -> dict[str, str]:
    return {
        "width": f"{width_cm:g}cm",
        "height": f"{width_cm * ratio:.3g}cm",
        "xlabel": f"{{{for_latex(x)}}}",
        "ylabel": f"{{{for_latex(y)}}}",
        "label style": r"{font=\small}",
        "tick label style": r"{font=\footnotesize, /pgf/number format/1000 sep={,}}",
        "scaled ticks": "false",
        "axis lines": "left",
        "axis line style": "{-}",
        "tick align": "outside",
        "legend style": r"{at={(0.5,0)}, yshift=-11.5mm, anchor=north, draw=none, font=\footnotesize}",
        "legend cell align": "left",
        "clip mode": "individual",
    }


def _log_ticks(options: dict[str, str], which: str, largest: float) -> None:
    where, text = log_ticks(largest)
    options[f"{which}mode"] = "log"
    options[f"{which}tick"] = f"{{{_list(_number(v) for v in where)}}}"
    options[f"{which}ticklabels"] = f"{{{_list(f'{{{label}}}' for label in text)}}}"
    options[f"minor {which} tick num"] = "0"


@singledispatch
def _picture(figure: Figure, width_cm: float) -> str:
    raise InputError(f"there is no LaTeX source for a {type(figure).__name__}")


@_picture.register
def _curve(figure: CurveFigure, width_cm: float) -> str:
    end = max(float(line.values[-1]) for line in figure.lines)
    options = _frame(width_cm, figure.x_label or axis_label(figure.vary), RATIO_LABEL, 0.62)
    options |= {"ymin": "0", "ymax": "1.03", "grid": "major", "grid style": "{gray!20}"}
    options["legend image post style"] = "{mark indices={2}}"
    options |= {"xmin": "0.45" if figure.log else "0", "xmax": _number(max(end, 1) * (1.08 if figure.log else 1.01))}
    if figure.log:
        _log_ticks(options, "x", end)
    body: list[str] = []
    family = len({line.group for line in figure.lines}) > 1
    starts = []
    some = False
    for k, line in enumerate(figure.lines):
        kind = KINDS[line.kind]
        colour = _colour(series_colour(line.group) if family else kind.colour)
        x = positions(line.values, figure.log)
        if line.low is not None and line.high is not None:
            across, top, bottom = step_band(x, line.low, line.high)
            around = _points(np.concatenate([across, across[::-1]]), np.concatenate([top, bottom[::-1]]))
            fill = f"draw=none, fill={colour}, fill opacity=0.18, forget plot"
            body.append(f"\\addplot[{fill}] coordinates {{\n{around}\n}} -- cycle;")
        marks = line_marks(np.log(x) if figure.log else x, k, len(figure.lines), family) + 1
        some |= 0 < len(marks) < len(x)
        symbol = series_marker(line.group if family else list(KINDS).index(line.kind)).latex
        style = f"const plot mark right, color={colour}, {kind.dash.latex}, line width=0.9pt, "
        style += f"mark={symbol}, mark size=1.5pt, mark options={{solid}}, " if len(marks) else "mark=none, "
        style += f"mark indices={{{_list(marks.tolist()) or 1}}}"
        points = _points(x, line.ratio, y_meaning=Meaning.CERTIFIED)
        body.append(f"\\addplot[{style}] coordinates {{\n{points}\n}};")
        label = for_latex(line_label(line.name, line.kind, line.average_radius), 160)
        body.append(f"\\addlegendentry{{{label}}}")
        start = plateau(line.values, line.ratio) if figure.plateaus and line.kind != "naive" else None
        if start is not None:
            starts.append((float(x[start]), float(line.ratio[start])))
    if any(line.low is not None for line in figure.lines):
        body.append(f"\\addlegendimage{{area legend, draw=none, fill={_colour(GREY)}, fill opacity=0.3}}")
        body.append(f"\\addlegendentry{{{for_latex(BAND_LABEL)}}}")
    if some:
        body.append(f"\\addlegendimage{{only marks, mark=o, mark size=1.5pt, color={_colour(GREY)}}}")
        body.append(f"\\addlegendentry{{{for_latex(MARKS_LABEL)}}}")
    if starts:
        xs, ys = zip(*starts)
        style = "only marks, mark=|, mark size=4pt, black, mark options={line width=1.2pt}"
        body.append(f"\\addplot[{style}] coordinates {{\n{_points(xs, ys, y_meaning=Meaning.CERTIFIED)}\n}};")
        body.append(f"\\addlegendentry{{{PLATEAU_LABEL}}}")
    if figure.marker is not None:
        where = _number(float(positions(np.array([figure.marker]), figure.log)[0]))
        body.append(
            f"\\draw[densely dashed, gray] (axis cs:{where},0) -- (axis cs:{where},1.03) "
            f"node[above, font=\\scriptsize, black] {{{figure.marker:,g}}};"
        )
    after = ""
    if isinstance(figure, CompareFigure) and figure.rows:
        below = make_table(figure.columns, figure.rows, figure.meanings)
        table = rows_as_tabular(below, below.rows)
        after = f"\\node[anchor=north, font=\\footnotesize] at (current bounding box.south) {{{table}}};\n"
    return _axis(options, body, after)


def step_band(x: np.ndarray, low: np.ndarray, high: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Corners of a band of steps: each stretch has the limits of its right end, as the line itself."""
    if len(x) == 1:
        return np.repeat(x, 2), np.repeat(high, 2), np.repeat(low, 2)
    top, bottom = (np.concatenate([v[:1], np.repeat(v[1:], 2)]) for v in (high, low))
    return np.repeat(x, 2)[:-1], top, bottom


@_picture.register
def _contour(figure: ContourFigure, width_cm: float) -> str:
    xs, ys = cell_edges(figure.x_values, figure.x_log), cell_edges(figure.y_values, figure.y_log)
    filled = figure.filled
    known = filled[np.isfinite(filled)]
    difference = figure.show == "difference"
    low, high = 0.0, 1.0
    if difference:
        low, high = min(0.0, float(known.min(initial=0))), max(1e-6, float(known.max(initial=0)))
    scale = " ".join(f"rgb255=({int(c[1:3], 16)},{int(c[3:5], 16)},{int(c[5:], 16)})" for c in colour_scale(difference))
    options = _frame(width_cm * 0.88, axis_label(figure.x), axis_label(figure.y), 0.72)
    options |= {
        "xmin": _number(xs[0]),
        "xmax": _number(xs[-1]),
        "ymin": _number(ys[0]),
        "ymax": _number(ys[-1]),
        "enlargelimits": "false",
        "axis on top": "",
        "axis background/.style": "{fill=gray!25}",
        "colormap": f"{{certcore}}{{{scale}}}",
        "colorbar": "",
        "colorbar style": f"{{ylabel={{{for_latex(measure(figure))}}}, width=2.5mm, "
        "label style={font=\\footnotesize}, tick label style={font=\\scriptsize}}",
        "point meta min": _number(low),
        "point meta max": _number(high),
    }
    for which, log, edges in (("x", figure.x_log, xs), ("y", figure.y_log, ys)):
        if log:
            _log_ticks(options, which, float(edges[-1]))
    if len(figure.y_values) == 1:
        options |= {"ytick": r"\empty", "ylabel": "{}", "height": "3.2cm"}
    cells = []
    for i, j in np.argwhere(np.isfinite(filled)).tolist():
        corners = ((xs[i], ys[j]), (xs[i + 1], ys[j]), (xs[i + 1], ys[j + 1]), (xs[i], ys[j + 1]))
        value = _number(filled[i, j], Meaning.CERTIFIED)
        cells.append("\n".join(f"{_number(x)} {_number(y)} {value}" for x, y in corners))
    body = []
    if cells:
        style = "patch, patch type=rectangle, shader=flat corner, point meta=explicit, forget plot"
        body.append(f"\\addplot[{style}] table[x index=0, y index=1, meta index=2] {{\n" + "\n".join(cells) + "\n};")
    body += _contour_lines(figure, xs, ys)
    if figure.marker is not None:
        x = positions(np.array([figure.marker[0]]), figure.x_log)
        y = positions(np.array([figure.marker[1]]), figure.y_log)
        style = f"only marks, mark=x, mark size=3pt, line width=1.4pt, color={_colour(VERMILLION)}"
        body += [f"\\addplot[{style}] coordinates {{{_points(x, y)}}};", r"\addlegendentry{current budgets}"]
    return _axis(options, body)


def _contour_lines(figure: ContourFigure, xs: np.ndarray, ys: np.ndarray) -> list[str]:
    parts = [(figure.kind, "solid", figure.ratio)]
    if figure.reference is not None:
        parts.append((figure.reference_kind, "densely dotted", figure.reference))
    body = []
    for kind, dash, grid in parts:
        for k, level in enumerate(figure.levels):
            lines = level_lines(grid, level, xs, ys)
            for line in lines:
                path = _points(line[:, 0], line[:, 1])
                body.append(f"\\addplot[white, line width=2pt, opacity=0.7, forget plot] coordinates {{\n{path}\n}};")
                body.append(f"\\addplot[black, line width=0.9pt, {dash}, forget plot] coordinates {{\n{path}\n}};")
            spot = label_spot(lines, (k + 1) / (len(figure.levels) + 1))
            if spot is not None:
                at = f"(axis cs:{_number(spot[0])},{_number(spot[1])})"
                style = r"font=\scriptsize, fill=white, fill opacity=0.75, text opacity=1, inner sep=1pt"
                body.append(f"\\node[{style}] at {at} {{{level_label(level)}}};")
        if figure.levels:
            levels = ", ".join(level_label(level) for level in figure.levels)
            body.append(f"\\addlegendimage{{black, line width=0.9pt, {dash}}}")
            body.append(f"\\addlegendentry{{{for_latex(KINDS[kind].label)} = {levels}}}")
    return body


@_picture.register
def _bars(figure: BarFigure, width_cm: float) -> str:
    count = len(figure.categories)
    options = _frame(width_cm * 0.75, figure.label, "")
    thickness = 2.6 if len(figure.series) > 1 else 4.0
    del options["height"]
    options |= {
        "scale only axis": "",
        "width": f"{width_cm * 0.6:.3g}cm",
        "xlabel style": f"{{text width={width_cm * 0.6:.3g}cm, align=center}}",
        "height": f"{count * thickness * (len(figure.series) + 0.8) / 10:.3g}cm",
        "xbar": "0pt",
        "bar width": f"{thickness}mm",
        "y dir": "reverse",
        "ymin": "-0.6",
        "ymax": f"{count - 0.4:g}",
        "xmin": "0",
        "ytick": f"{{{_list(range(count))}}}",
        "yticklabels": f"{{{_list(f'{{{for_latex(name, 40)}}}' for name in figure.categories)}}}",
        # Downwards the first series would be the lower bar of each pair: draw and list them the other way round.
        "reverse legend": "",
    }
    if len(figure.label) > 7 * width_cm * 0.6:  # about as many signs are in a line: leave room for a second one
        options["legend style"] = options["legend style"].replace("-11.5mm", "-15.5mm")
    if figure.limit is not None:
        options["xmax"] = _number(figure.limit)
    body = []
    for bars in reversed(figure.series):
        kind = KINDS[bars.kind]
        fill = f"area legend, draw=black, line width=0.2pt, fill={_colour(kind.colour)}"
        if kind.hatch:
            fill += f", postaction={{pattern={_HATCHES[kind.hatch]}}}"
        body.append(f"\\addplot[{fill}] coordinates {{\n{_points(bars.values, np.arange(count), figure.meaning)}\n}};")
        if len(figure.series) > 1:
            body.append(f"\\addlegendentry{{{for_latex(bars.label)}}}")
    return _axis(options, body)


@_picture.register
def _graph(figure: GraphFigure, width_cm: float) -> str:
    where = graph_places(figure.positions) * width_cm / GRAPH_ASPECT
    kept = remaining(figure.edges, figure.deleted).tolist()
    many = len(kept) > 1500
    body = _tikz_edges(where, kept, f"gray!60, line width={0.1 if many else 0.25}pt")
    changes = (
        (figure.deleted, DELETED_LABEL, f"{_colour(DELETED_COLOUR)}, line width=0.9pt, densely dashed"),
        (figure.added, ADDED_LABEL, f"{_colour(ADDED_COLOUR)}, line width=0.9pt, densely dotted"),
    )
    for changed, _, style in changes:
        if changed is not None:
            body += _tikz_edges(where, changed.tolist(), style)
    size = float(np.clip(28 / np.sqrt(max(len(where), 1)), 0.45, 2.0))
    legend: list[tuple[str, str]] = []
    for group, name in enumerate(figure.groups):
        members = np.flatnonzero(figure.state == group)
        if not len(members):
            continue
        if figure.palette == "state":
            state = STATES[name]
            label, colour, mark, scale = state.label, state.colour, state.marker.latex, state.scale
        else:
            label, colour, mark, scale = name, series_colour(group), series_marker(group).latex, 1.0
        if len(members) > _MOST_MARKS:
            mark = "*" if mark == "*" else "square*"
            body += _tikz_dots(where[members], colour, 2 * size * scale, mark)
        else:
            body += _tikz_marks(where[members], f"{_filled(colour, mark)}, mark size={size * scale:.2f}pt")
        legend.append((f"{_filled(colour, mark)}, mark size=2pt", f"{clean(label, 40)} ({len(members):,})"))
    for changed, label, style in changes:
        if changed is not None and len(changed):
            legend.append((f"{style}, line", f"{label} ({len(changed):,})"))
    for nodes, label, mark, colour in (
        (figure.attackers, ATTACKER_LABEL, "o", BLACK),
        (figure.protected, PROTECTED_LABEL, "square", PROTECTED_COLOUR),
    ):
        if nodes is not None and len(nodes):
            style = f"mark={mark}, mark options={{draw={_colour(colour)}, line width=0.7pt}}"
            body += _tikz_marks(where[nodes], f"{style}, mark size={size * 2.2:.2f}pt")
            legend.append((f"{style}, mark size=3pt", f"{label} ({len(nodes):,})"))
    body += _tikz_legend(legend, -0.5)
    inner = "\n".join(body)
    return f"\\begin{{tikzpicture}}\n{inner}\n\\end{{tikzpicture}}\n"


def _filled(colour: str, mark: str) -> str:
    name = _colour(colour)
    return f"mark options={{draw={name}, fill={name}, line width=0.3pt}}, mark={mark}"


def _tikz_edges(where: np.ndarray, edges: Sequence[Sequence[int]], style: str) -> list[str]:
    paths = []
    for first in range(0, len(edges), _PER_PATH):
        pieces = []
        for i, j in edges[first : first + _PER_PATH]:
            (a, b), (c, d) = where[i], where[j]
            pieces.append(f"({a:.3f},{b:.3f})--({c:.3f},{d:.3f})")
        paths.append(f"\\draw[{style}] " + "\n".join(pieces) + ";")
    return paths


def _tikz_marks(where: np.ndarray, style: str) -> list[str]:
    paths = []
    for first in range(0, len(where), _PER_PATH):
        points = "\n".join(f"({x:.3f},{y:.3f})" for x, y in where[first : first + _PER_PATH].tolist())
        paths.append(f"\\path plot[only marks, {style}] coordinates {{\n{points}\n}};")
    return paths


def _tikz_dots(where: np.ndarray, colour: str, width: float, mark: str) -> list[str]:
    """Many dots: strokes of no length with round or square ends take a tenth of the memory that marks take."""
    cap = "round" if mark == "*" else "rect"
    paths = []
    for first in range(0, len(where), _PER_PATH):
        points = "\n".join(f"({x:.3f},{y:.3f})--+(0,0)" for x, y in where[first : first + _PER_PATH].tolist())
        paths.append(f"\\draw[{_colour(colour)}, line width={width:.2f}pt, line cap={cap}] {points};")
    return paths


def _tikz_legend(entries: Sequence[tuple[str, str]], top: float) -> list[str]:
    lines = []
    for k, (style, label) in enumerate(entries):
        y = top - 0.42 * k
        if style.endswith(", line"):
            lines.append(f"\\draw[{style.removesuffix(', line')}] (0,{y:.2f}) -- (0.5,{y:.2f});")
        else:
            lines.append(f"\\path plot[only marks, {style}] coordinates {{(0.25,{y:.2f})}};")
        text = for_latex(label, 120)
        lines.append(f"\\node[anchor=west, font=\\footnotesize] at (0.6,{y:.2f}) {{{text}}};")
    return lines


@_picture.register
def _front(figure: FrontFigure, width_cm: float) -> str:
    x_end, y_end = front_extent(figure.points, figure.received)
    outline = staircase(figure.points, x_end, y_end)
    options = _frame(width_cm, axis_label(figure.x), axis_label(figure.y))
    options |= {"xmin": "-0.5", "xmax": _number(x_end), "ymin": "-0.5", "ymax": _number(y_end)}
    options |= {"enlargelimits": "false", "xtick distance": "2", "ytick distance": "2"}
    for which, end in (("x", x_end), ("y", y_end)):
        options[f"{which}tick distance"] = str(max(1, int(end // 6)))
    area = np.concatenate([[[-0.5, -0.5]], outline, [[outline[-1, 0], -0.5]]])
    around = _points(area[:, 0], area[:, 1])
    body = [
        f"\\addplot[draw=none, fill={_colour(SKY)}, fill opacity=0.35, area legend] coordinates "
        f"{{\n{around}\n}} -- cycle;",
        r"\addlegendentry{certified budgets}",
        f"\\addplot[{_colour(KINDS['collective'].colour)}, line width=1pt, forget plot] coordinates "
        f"{{\n{_points(outline[:, 0], outline[:, 1])}\n}};",
    ]
    if len(figure.points):
        style = f"only marks, mark=square*, mark size=1.8pt, {_colour(VERMILLION)}"
        body.append(f"\\addplot[{style}] coordinates {{\n{_points(*figure.points.T)}\n}};")
        body.append(r"\addlegendentry{smallest uncertified}")
    if figure.received is not None:
        x, y = figure.received
        body.append(
            f"\\addplot[only marks, mark=star, mark size=3.5pt, line width=1pt, black] coordinates {{({x:g},{y:g})}};"
        )
        reached = "loses its certificate" if figure.attacked else "does not reach the front"
        body.append(rf"\addlegendentry{{received: {reached}}}")
    for k, end in enumerate((x_end, y_end)):
        if figure.budgets is not None and figure.budgets[k] < end:
            at = _number(figure.budgets[k])
            ends = (f"{at},-0.5", f"{at},{_number(y_end)}") if k == 0 else (f"-0.5,{at}", f"{_number(x_end)},{at}")
            body.append(f"\\draw[densely dashed, {_colour(GREY)}] (axis cs:{ends[0]}) -- (axis cs:{ends[1]});")
    return _axis(options, body)


@_picture.register
def _distribution(figure: DistributionFigure, width_cm: float) -> str:
    total = np.sum([bars.values for bars in figure.series], axis=0)
    options = _frame(width_cm, figure.label, "nodes")
    bottom = 0.7 if figure.log else 0.0
    top = float(max(total.max(initial=0), 1)) * (2 if figure.log else 1.05)
    options |= {"xmin": _number(figure.edges[0]), "xmax": _number(figure.edges[-1])}
    options |= {"ymin": _number(bottom), "ymax": _number(top), "enlargelimits": "false"}
    if figure.log:
        options["ymode"] = "log"
    body = []
    base = np.full(len(total), bottom)
    level = np.zeros(len(total))
    for bars in figure.series:
        kind = KINDS[bars.kind]
        fill = f"fill={_colour(kind.colour)}, draw=none"
        if kind.hatch:
            fill += f", postaction={{pattern={_HATCHES[kind.hatch]}}}"
        level = level + bars.values
        for k in np.flatnonzero(bars.values).tolist():
            low = f"{_number(figure.edges[k])},{_number(base[k])}"
            high = f"{_number(figure.edges[k + 1])},{_number(level[k])}"
            body.append(f"\\path[{fill}] (axis cs:{low}) rectangle (axis cs:{high});")
        base = np.maximum(level, bottom)
        body += [f"\\addlegendimage{{area legend, {fill}}}", f"\\addlegendentry{{{for_latex(bars.label)}}}"]
    for label, value in figure.thresholds:
        at = _number(value)
        body.append(
            f"\\draw[densely dashed] (axis cs:{at},{_number(bottom)}) -- (axis cs:{at},{_number(top)}) "
            f"node[above, font=\\scriptsize] {{{for_latex(label, 24)}}};"
        )
    # Without any plot pgfplots knows no coordinates and draws no legend.
    body.insert(0, f"\\addplot[draw=none, forget plot] coordinates {{({_number(figure.edges[0])},{_number(top)})}};")
    return _axis(options, body)
