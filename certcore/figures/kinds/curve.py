"""Certified ratio against one budget or σ: one line, or a family of them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from certcore.common.errors import InputError
from certcore.common.rounding import rounded_down, rounded_up
from certcore.figures import latex
from certcore.figures.escape import clean, for_latex, for_plotly
from certcore.figures.figure import Figure, numbers
from certcore.figures.geometry import bracket_area, line_marks, log_ticks, plateau, positions, step_band
from certcore.figures.kinds import curve_print
from certcore.figures.screen import legend_only, ratios, translucent, whole_steps
from certcore.figures.style import (
    ACCURACY_LABEL,
    ATTACK_LABEL,
    BAND_LABEL,
    BLACK,
    BRACKET_LABEL,
    CLEAN_LABEL,
    GREY,
    KINDS,
    MARKS_LABEL,
    PLATEAU_LABEL,
    RATIO_LABEL,
    Dash,
    Kind,
    axis_label,
    is_length,
    on_background,
    refuse_log,
    series_colour,
    series_marker,
)
from certcore.figures.table import Meaning, Table, make_table, without_empty

if TYPE_CHECKING:
    from certcore.figures.matplotlib_figure import Sheet


MAX_LINES = 40
#: The most lines that the alternative text lists.
_MOST_TOLD = 8


@dataclass(frozen=True, eq=False, kw_only=True)
class Line:
    """One line of a curve: certified ratio at each value of a budget.

    Lines of one `group` share colour and marker, the `kind` decides the dashes. `low` and `high` are a band over
    splits. `certified` and `targets` are the counts behind the ratio, for a single result that is no average. `leaves`
    is the ratio that the best attack found on certificates leaves certified: the upper edge of the bracket. `changed`
    counts the labels that attacks found on the model change, `unchanged` is the ratio that they leave; NaN: not tried.
    """

    values: np.ndarray
    ratio: np.ndarray
    kind: str = Kind.COLLECTIVE
    name: str = ""
    group: int = 0
    certified: np.ndarray | None = None
    targets: int | None = None
    low: np.ndarray | None = None
    high: np.ndarray | None = None
    average_radius: float | None = None
    leaves: np.ndarray | None = None
    changed: np.ndarray | None = None
    unchanged: np.ndarray | None = None

    def __post_init__(self) -> None:
        what = f"line {self.name!r}"
        numbers(self, "values", (None,), what)
        n = len(self.values)
        if n == 0 or (np.diff(self.values) <= 0).any() or self.values[0] < 0:
            raise InputError(f"the values of {what} are not ascending budgets from 0 on; sort them and drop repeats")
        numbers(self, "ratio", (n,), what)
        for name in ("certified", "low", "high"):
            numbers(self, name, (n,), what)
        for name in ("leaves", "changed", "unchanged"):
            numbers(self, name, (n,), what, finite=False)
        if self.kind not in KINDS:
            raise InputError(f"{what} is of kind {self.kind!r}; expected one of {', '.join(KINDS)}")
        if (self.low is None) != (self.high is None):
            raise InputError(f"{what} has one edge of a band only; give both low and high, or neither")


@dataclass(frozen=True, eq=False, kw_only=True)
class CurveFigure(Figure):
    """Certified ratio against one budget or σ: families of lines, bands, plateaus, and a marker at one value.

    Between two values a line has the ratio of the larger one: the certificate at a larger budget also holds at a
    smaller one, and nothing is interpolated.
    """

    lines: tuple[Line, ...]
    vary: str = "attr_del"
    x_label: str = ""
    log: bool = False
    marker: float | None = None
    plateaus: bool = True
    accuracy: bool = False
    clean: float | None = None
    """Whether ratios are certified accuracies: right and certified labels as a fraction of all targets."""
    name: str = "curve"

    PARTS: ClassVar = {"lines": Line}

    def __post_init__(self) -> None:
        super().__post_init__()
        object.__setattr__(self, "lines", tuple(self.lines))
        if not 1 <= len(self.lines) <= MAX_LINES:
            raise InputError(f"a curve figure has {len(self.lines)} lines; expected 1 to {MAX_LINES}")
        refuse_log(self.vary, self.log)

    def table(self) -> Table:
        columns = {
            "line": Meaning.PLAIN,
            "kind": Meaning.PLAIN,
            self.vary: Meaning.PLAIN,
            "certified_ratio": Meaning.CERTIFIED,
            "certified": Meaning.CERTIFIED,
            "targets": Meaning.PLAIN,
            "low": Meaning.CERTIFIED,
            "high": Meaning.CERTIFIED,
            "average_radius": Meaning.CERTIFIED,
            "attack_leaves": Meaning.ATTACKED,
            "bracket": Meaning.ATTACKED,
            "changed": Meaning.ATTACKED,
        }
        rows: list[tuple[Any, ...]] = []
        for line in self.lines:
            n = len(line.values)
            blank = [None] * n
            radius = blank if line.average_radius is None else [line.average_radius] * n
            width = None if line.leaves is None else line.leaves - line.ratio
            counts = (line.certified, [line.targets] * n, line.low, line.high)
            parts = (line.values, line.ratio, *counts, radius, line.leaves, width, line.changed)
            cells = zip(*(blank if part is None else _cells(part) for part in parts))
            rows += [(line.name, line.kind, *row) for row in cells]
        return without_empty(make_table(list(columns), rows, list(columns.values())))

    def paper_table(self) -> Table:
        """One row per budget, one column per line."""
        values = np.unique(np.concatenate([line.values for line in self.lines]))
        columns = [self.x_label or self.vary]
        columns += [curve_print.line_label(line.name, line.kind) for line in self.lines]
        found = [dict(zip(line.values.tolist(), line.ratio.tolist())) for line in self.lines]
        meanings = [Meaning.PLAIN] + [Meaning.CERTIFIED] * len(self.lines)
        return make_table(columns, [(v, *(ratio.get(v) for ratio in found)) for v in values.tolist()], meanings)

    def summary(self) -> Table | None:
        """One row per line, with its summary numbers."""
        rows = [
            (line.name, KINDS[line.kind].label, line.average_radius, line.ratio[0], line.ratio[-1])
            for line in self.lines
        ]
        share = "accuracy" if self.accuracy else "ratio"
        columns = ("line", "certificate", "average radius r̄", f"{share} at first value", f"{share} at last value")
        return without_empty(make_table(columns, rows, [Meaning.PLAIN] * 2 + [Meaning.CERTIFIED] * 3))

    def description(self) -> str:
        axis = self.x_label or axis_label(self.vary)
        said = []
        for line in self.lines[:_MOST_TOLD]:
            first, last = f"{line.values[0]:g}", f"{line.values[-1]:g}"
            said.append(
                f"{curve_print.line_label(line.name, line.kind, line.average_radius)}: "
                f"{rounded_down(float(line.ratio[0]))} at {first}, {rounded_down(float(line.ratio[-1]))} at {last}"
            )
        more = len(self.lines) - _MOST_TOLD
        rest = f"; and {more} more lines" if more > 0 else ""
        rest += f". {BAND_LABEL.capitalize()}" if any(line.low is not None for line in self.lines) else ""
        rest += f". {BRACKET_LABEL.capitalize()}" if self._brackets else ""
        return f"Curve of the {self.y_label} against {clean(axis)}. {'; '.join(said)}{rest}."

    @property
    def y_label(self) -> str:
        return ACCURACY_LABEL if self.accuracy else RATIO_LABEL

    @property
    def _brackets(self) -> bool:
        return any(line.leaves is not None for line in self.lines)

    @property
    def _clean(self) -> float | None:
        """The accuracy without an attack, drawn as a horizontal line."""
        return self.clean if self.accuracy else None

    @property
    def has_controls(self) -> bool:
        return any(line.kind == Kind.CONTROL for line in self.lines)

    def look(self, line: Line, family: bool) -> tuple[str, Dash]:
        """Colour and dashes of a line; `family`: it is one of several groups."""
        kind = KINDS[line.kind]
        return series_colour(line.group) if family else kind.colour, kind.dash

    def draw_screen(self, screen: Any, dark: bool) -> None:
        family = len({line.group for line in self.lines}) > 1
        axis = for_plotly(self.x_label or axis_label(self.vary))
        some = [_screen_line(screen, self, k, family, dark) for k in range(len(self.lines))]
        if any(line.low is not None for line in self.lines):
            legend_only(screen, BAND_LABEL, {"symbol": "square", "size": 14, "color": translucent(GREY, 0.35)})
        if self._brackets:
            shade = {"symbol": "square", "size": 14, "color": translucent(KINDS[Kind.COLLECTIVE].colour, 0.2)}
            legend_only(screen, BRACKET_LABEL, shade)
        if self._clean is not None:
            legend_only(screen, CLEAN_LABEL, {"symbol": "line-ew-open", "size": 14, "color": GREY})
            screen.add_hline(y=self._clean, line={"color": GREY, "width": 1, "dash": "dot"})
        if any(some):
            legend_only(screen, MARKS_LABEL, {"symbol": "circle-open", "size": 7, "color": GREY})
        if self.plateaus:
            _plateaus(screen, self, dark)
        for names, end, y, above in curve_print.controls(self):
            x = positions(np.array([end]), self.log)[0]
            screen.add_annotation(
                x=np.log10(x) if self.log else x, y=y, text="<br>".join(for_plotly(name) for name in names),
                align="right", showarrow=False, xanchor="right", yanchor="bottom" if above else "top",
                font={"size": 11},
            )  # fmt: skip
        if self.marker is not None:
            where = float(positions(np.array([self.marker]), self.log)[0])
            screen.add_vline(x=where, line={"color": on_background(BLACK, dark), "width": 1.5, "dash": "dash"})
            screen.add_annotation(
                x=np.log10(where) if self.log else where,
                y=1.0,
                yref="paper",
                yanchor="bottom",
                text=f"{self.marker:,g}",
                showarrow=False,
            )
            screen.update_layout(margin={"t": 28})
        screen.update_yaxes(title=self.y_label, range=[-0.02, 1.02], tickformat=".1f")
        end = max((float(line.values[-1]) for line in self.lines), default=9.0)
        screen.update_xaxes(title=axis, **whole_steps(end, lengths=is_length(self.vary)))
        if self.log:
            where_ticks, text = log_ticks(max(float(line.values[-1]) for line in self.lines))
            screen.update_xaxes(type="log", dtick=None, tickvals=where_ticks, ticktext=text)
        screen.update_layout(hovermode="closest", clickmode="event+select")

    def draw_print(self, sheet: Sheet) -> None:
        curve_print.draw(self, sheet)

    def draw_latex(self, width_cm: float) -> str:
        end = max(float(line.values[-1]) for line in self.lines)
        options = latex.frame(width_cm, self.x_label or axis_label(self.vary), self.y_label, 0.62)
        options |= {"ymin": "0", "ymax": "1.03", "grid": "major", "grid style": "{gray!20}"}
        options["legend image post style"] = "{mark indices={2}}"
        options |= {
            "xmin": "0.45" if self.log else "0",
            "xmax": latex.number((end if is_length(self.vary) and end else max(end, 1)) * (1.08 if self.log else 1.01)),
        }
        if self.log:
            latex.add_log_ticks(options, "x", end)
        body: list[str] = []
        family = len({line.group for line in self.lines}) > 1
        some = False
        for k in range(len(self.lines)):
            parts, only_some = _latex_line(self, k, family)
            body += parts
            some |= only_some
        if any(line.low is not None for line in self.lines):
            body.append(f"\\addlegendimage{{area legend, draw=none, fill={latex.colour(GREY)}, fill opacity=0.3}}")
            body.append(f"\\addlegendentry{{{for_latex(BAND_LABEL)}}}")
        if self._brackets:
            shade = latex.colour(KINDS[Kind.COLLECTIVE].colour)
            body.append(f"\\addlegendimage{{area legend, draw=none, fill={shade}, fill opacity=0.2}}")
            body.append(f"\\addlegendentry{{{for_latex(BRACKET_LABEL)}}}")
        if self._clean is not None:
            level = latex.number(self._clean)
            right = latex.number(max(end, 1))
            body.append(f"\\addplot[gray, densely dotted] coordinates {{\n(0.5,{level}) ({right},{level})\n}};")
            body.append(f"\\addlegendentry{{{for_latex(CLEAN_LABEL)}}}")
        if some:
            body.append(f"\\addlegendimage{{only marks, mark=o, mark size=1.5pt, color={latex.colour(GREY)}}}")
            body.append(f"\\addlegendentry{{{for_latex(MARKS_LABEL)}}}")
        if starts := curve_print.plateau_starts(self):
            xs, ys = zip(*starts)
            style = "only marks, mark=|, mark size=4pt, black, mark options={line width=1.2pt}"
            body.append(f"\\addplot[{style}] coordinates {{\n{latex.points(xs, ys, y_meaning=Meaning.CERTIFIED)}\n}};")
            body.append(f"\\addlegendentry{{{PLATEAU_LABEL}}}")
        if self.marker is not None:
            where = latex.number(float(positions(np.array([self.marker]), self.log)[0]))
            body.append(
                f"\\draw[densely dashed, gray] (axis cs:{where},0) -- (axis cs:{where},1.03) "
                f"node[above, font=\\scriptsize, black] {{{self.marker:,g}}};"
            )
        return latex.axis(options, body)


def _cells(part: Any) -> list[Any]:
    """The cells of a column; where there is no number, nothing."""
    return [None if value is None or np.isnan(value) else value for value in np.asarray(part).tolist()]


def _band(x: np.ndarray, low: np.ndarray, high: np.ndarray, colour: str, group: str) -> dict[str, Any]:
    """A filled step-shaped band: between two values it has the limits of the larger one, like the line itself."""
    steps, top, bottom = step_band(x, low, high)
    return _area(np.concatenate([steps, steps[::-1]]), np.concatenate([top, bottom[::-1]]), colour, group)


def _area(across: np.ndarray, up: np.ndarray, colour: str, group: str) -> dict[str, Any]:
    return {
        "x": across,
        "y": up,
        "mode": "lines",  # otherwise Plotly marks the corners if they are few
        "fill": "toself",
        "fillcolor": translucent(colour, 0.18),
        "line": {"width": 0},
        "hoverinfo": "skip",
        "showlegend": False,
        "name": group,
    }


def _screen_line(screen: Any, figure: CurveFigure, k: int, family: bool, dark: bool) -> bool:
    """One line with its band, bracket and tooltip; returns whether only some of its values have a mark."""
    line = figure.lines[k]
    axis = for_plotly(figure.x_label or axis_label(figure.vary))
    colour, dash = figure.look(line, family)
    colour = on_background(colour, dark)
    x = positions(line.values, figure.log)
    if line.low is not None and line.high is not None:
        screen.add_scatter(**_band(x, line.low, line.high, colour, f"band-{k}"))
    if line.leaves is not None:
        across, up = bracket_area(x, line.ratio, line.leaves)
        screen.add_scatter(**_area(across, up, colour, f"bracket-{k}"), legendgroup=f"line-{k}")
    for _, ratio, name, tone in curve_print.edges(line):
        look = {"color": on_background(tone, dark), "width": 1.5, "shape": "hv"}
        screen.add_scatter(x=x, y=ratio, name=name, mode="lines", line=look, hoverinfo="skip")
    label = for_plotly(curve_print.line_label(line.name, line.kind, line.average_radius))
    # Plotly's own formats round to the nearest, which could overstate a ratio: ratios are passed as text.
    data: list[list[Any]] = [line.values.tolist(), ratios(line.ratio)]
    hover = f"{axis}: %{{customdata[0]:,}}<br>{figure.y_label}: %{{customdata[1]}}"
    if line.certified is not None:
        data += [line.certified.tolist(), [line.targets or 0] * len(x)]
        hover += "<br>certified: %{customdata[2]:,} of %{customdata[3]:,} nodes"
    if line.low is not None and line.high is not None:
        data += [ratios(line.low), ratios(line.high)]
        at = len(data) - 2
        hover += f"<br>one deviation over splits: %{{customdata[{at}]}} … %{{customdata[{at + 1}]}}"
    if line.leaves is not None:
        at = len(data)
        data += [["–" if np.isnan(v) else rounded_up(float(v), 4) for v in line.leaves]]
        data += [["–" if np.isnan(v) else rounded_up(float(v), 4) for v in line.leaves - line.ratio]]
        hover += f"<br>{ATTACK_LABEL} leaves: %{{customdata[{at}]}} (bracket %{{customdata[{at + 1}]}})"
    if line.changed is not None:
        data += [["not tried" if np.isnan(v) else f"{v:,.0f}" for v in np.asarray(line.changed, dtype=float)]]
        hover += f"<br>labels changed by an attack found: %{{customdata[{len(data) - 1}]}}"
    marks = line_marks(np.log(x) if figure.log else x, k, len(figure.lines), family)
    # Points without a mark cannot be clicked, so there is an invisible one.
    seen = 1 if len(marks) and line.kind != "control" else 0
    screen.add_scatter(
        x=x,
        y=line.ratio,
        customdata=[list(cell) for cell in zip(*data)],
        name=label,
        mode="lines+markers",
        line={"color": colour, "dash": dash.screen, "width": 2.5, "shape": "vh"},
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
        showlegend=line.kind != "control",  # their names are written at the lines
    )
    return 0 < len(marks) < len(x)


def _plateaus(screen: Any, figure: CurveFigure, dark: bool) -> None:
    found = [(line, plateau(line.values, line.ratio)) for line in figure.lines if line.kind not in curve_print.FLAT]
    starts = [(line, start) for line, start in found if start is not None]
    if not starts:
        return
    screen.add_scatter(
        x=positions(np.array([line.values[start] for line, start in starts]), figure.log),
        y=[line.ratio[start] for line, start in starts],
        customdata=[[float(line.values[start]), rounded_down(float(line.ratio[start]), 4)] for line, start in starts],
        name=PLATEAU_LABEL,
        mode="markers",
        marker={"symbol": "line-ns-open", "size": 16, "line": {"width": 2.5}, "color": on_background(BLACK, dark)},
        hovertemplate="constant from %{customdata[0]:,} on<br>"
        + f"{figure.y_label}: %{{customdata[1]}}<extra></extra>",
    )


def _latex_line(figure: CurveFigure, k: int, family: bool) -> tuple[list[str], bool]:
    """One line with its band, bracket and legend entry; also whether only some of its values have a mark."""
    line, body = figure.lines[k], list[str]()
    colour, dash = figure.look(line, family)
    colour = latex.colour(colour)
    x = positions(line.values, figure.log)
    if line.low is not None and line.high is not None:
        across, top, bottom = step_band(x, line.low, line.high)
        around = latex.points(np.concatenate([across, across[::-1]]), np.concatenate([top, bottom[::-1]]))
        fill = f"draw=none, fill={colour}, fill opacity=0.18, forget plot"
        body.append(f"\\addplot[{fill}] coordinates {{\n{around}\n}} -- cycle;")
    if line.leaves is not None:
        around = latex.points(*bracket_area(x, line.ratio, line.leaves))
        fill = f"draw=none, fill={colour}, fill opacity=0.15, forget plot"
        body.append(f"\\addplot[{fill}] coordinates {{\n{around}\n}} -- cycle;")
    for _, ratio, _, tone in curve_print.edges(line):
        tried = ~np.isnan(ratio)
        style = f"const plot, color={latex.colour(tone)}, line width=0.6pt, mark=none, forget plot"
        body.append(f"\\addplot[{style}] coordinates {{\n{latex.points(x[tried], ratio[tried])}\n}};")
    marks = line_marks(np.log(x) if figure.log else x, k, len(figure.lines), family) + 1
    symbol = series_marker(line.group if family else list(KINDS).index(line.kind)).latex
    style = f"const plot mark right, color={colour}, {dash.latex}, line width=0.9pt, "
    style += f"mark={symbol}, mark size=1.5pt, mark options={{solid}}, " if len(marks) else "mark=none, "
    style += f"mark indices={{{latex.listed(marks.tolist()) or 1}}}"
    points = latex.points(x, line.ratio, y_meaning=Meaning.CERTIFIED)
    body.append(f"\\addplot[{style}] coordinates {{\n{points}\n}};")
    label = for_latex(curve_print.line_label(line.name, line.kind, line.average_radius), 160)
    body.append(f"\\addlegendentry{{{label}}}")
    return body, 0 < len(marks) < len(x)
