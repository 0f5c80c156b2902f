"""Certified ratio against one budget or σ: one model or several, splits with their mean, brackets, changed labels."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from certcore.common.errors import InputError
from certcore.common.rounding import rounded_down, rounded_up
from certcore.common.statistics import average_radius, band, mean, mean_weights
from certcore.domain.perturbations import TABLE, canonical
from certcore.domain.split import TEST
from certcore.domain.threat import ThreatModel
from certcore.domain.weights import count_weight
from certcore.figures.escape import clean, for_plotly
from certcore.figures.figure import Figure, numbers, translucent, whole_steps
from certcore.figures.geometry import MOST_MARKS, bracket_area, line_marks, log_ticks, positions, step_band
from certcore.figures.style import (
    ACCURACY_LABEL,
    ATTACK_LABEL,
    BAND_LABEL,
    BLACK,
    CLEAN_LABEL,
    COMPARED,
    GREY,
    KINDS,
    MODEL_LABEL,
    RATIO_LABEL,
    TOKENS,
    WEIGHT_LABEL,
    Dash,
    Kind,
    axis_label,
    is_length,
    on_background,
    refuse_log,
    series_marker,
)
from certcore.figures.table import Meaning, Table, make_table, ratio_texts, without_empty
from certcore.instance.instance import Instance

if TYPE_CHECKING:
    from certcore.figures.page import Page

MAX_LINES = 40
#: The most lines that the description lists.
_MOST_DESCRIBED = 8
#: Line widths in points: the certificate, and all other lines.
_OURS, _OTHERS = 1.4, 0.9


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

    @property
    def label(self) -> str:
        """Its name and the kind of its certificate."""
        return ", ".join(part for part in (clean(self.name, 60), KINDS[self.kind].label) if part)

    @property
    def label_with_radius(self) -> str:
        """The same with its average radius, if that is known."""
        radius = self.average_radius
        return self.label if radius is None else f"{self.label} (r̄ = {rounded_down(radius, 2)})"

    @property
    def attacks(self) -> list[tuple[str, np.ndarray, str, str]]:
        """What attacks found leave of it: name in files, ratios (NaN: not tried), label and colour."""
        found = (
            ("leaves", self.leaves, ATTACK_LABEL, TOKENS["lost-text"].light),
            ("unchanged", self.unchanged, MODEL_LABEL, TOKENS["changed"].light),
        )
        return [
            (name, ratio, label, colour)
            for name, ratio, label, colour in found
            if ratio is not None and not np.isnan(ratio).all()
        ]


@dataclass(frozen=True, eq=False, kw_only=True)
class CurveFigure(Figure):
    """Certified ratio against one budget or σ: lines of one or several models, bands, and a marker at one value.

    Between two values a line has the ratio of the larger one: the certificate at a larger budget also holds at a
    smaller one, and nothing is interpolated. `accuracy`: ratios are certified accuracies, right and certified labels as
    a fraction of all targets; `clean` is then the accuracy without an attack.
    """

    lines: tuple[Line, ...]
    vary: str = "attr_del"
    x_label: str = ""
    log: bool = False
    marker: float | None = None
    accuracy: bool = False
    clean: float | None = None
    weighted: bool = False
    """Whether ratios are shares of the targets' weight."""
    name: str = "curve"

    def __post_init__(self) -> None:
        object.__setattr__(self, "lines", tuple(self.lines))
        if not 1 <= len(self.lines) <= MAX_LINES:
            raise InputError(f"a curve figure has {len(self.lines)} lines; expected 1 to {MAX_LINES}")
        refuse_log(self.vary, self.log)

    @property
    def axis(self) -> str:
        return self.x_label or axis_label(self.vary)

    @property
    def y_label(self) -> str:
        return ACCURACY_LABEL if self.accuracy else WEIGHT_LABEL if self.weighted else RATIO_LABEL

    @property
    def end(self) -> float:
        return max(float(line.values[-1]) for line in self.lines)

    @property
    def is_family(self) -> bool:
        """Whether there are several groups of lines, which have colours and markers of their own."""
        return len({line.group for line in self.lines}) > 1

    def look(self, line: Line) -> tuple[str, Dash]:
        """Colour and dashes of a line: of its kind, or in a family the colour of its group."""
        kind = KINDS[line.kind]
        if not self.is_family or line.kind == Kind.CONTROL:
            return kind.colour, kind.dash
        return COMPARED[line.group % len(COMPARED)].light, kind.dash

    def is_marked(self, line: Line) -> bool:
        """Whether marks on the line tell its group without colour."""
        return self.is_family and line.kind not in (Kind.NAIVE, Kind.CONTROL)

    def table(self) -> Table:
        columns = {
            "line": Meaning.PLAIN,
            "certificate": Meaning.PLAIN,
            self.axis: Meaning.PLAIN,
            "certified ratio": Meaning.CERTIFIED,
            "certified": Meaning.CERTIFIED,
            "weight" if self.weighted else "targets": Meaning.PLAIN,
            "low": Meaning.CERTIFIED,
            "high": Meaning.CERTIFIED,
            "average radius": Meaning.CERTIFIED,
            "certificate attack leaves": Meaning.ATTACKED,
            "bracket": Meaning.ATTACKED,
            "labels changed": Meaning.ATTACKED,
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
            rows += [(line.name, KINDS[line.kind].label, *row) for row in cells]
        return without_empty(make_table(list(columns), rows, list(columns.values())))

    def paper_table(self) -> Table:
        """One row per budget, one column per line."""
        values = np.unique(np.concatenate([line.values for line in self.lines]))
        found = [dict(zip(line.values.tolist(), line.ratio.tolist())) for line in self.lines]
        meanings = [Meaning.PLAIN] + [Meaning.CERTIFIED] * len(self.lines)
        rows = [(value, *(ratio.get(value) for ratio in found)) for value in values.tolist()]
        return make_table([self.axis, *(line.label for line in self.lines)], rows, meanings)

    def description(self) -> str:
        parts = []
        for line in self.lines[:_MOST_DESCRIBED]:
            first, last = f"{line.values[0]:g}", f"{line.values[-1]:g}"
            ratios = rounded_down(float(line.ratio[0])), rounded_down(float(line.ratio[-1]))
            parts.append(f"{line.label_with_radius}: {ratios[0]} at {first}, {ratios[1]} at {last}")
        more = len(self.lines) - _MOST_DESCRIBED
        rest = f"; and {more} more lines" if more > 0 else ""
        rest += f". Bands: mean {BAND_LABEL} over splits" if any(line.low is not None for line in self.lines) else ""
        if any(line.leaves is not None for line in self.lines):
            rest += ". Shaded: between what is proven and what a certificate attack leaves"
        return f"Curve of the {self.y_label} against {clean(self.axis)}. {'; '.join(parts)}{rest}."

    def draw_screen(self, screen: Any, dark: bool) -> None:
        for k in range(len(self.lines)):
            self._screen_line(screen, k, dark)
        if any(line.low is not None for line in self.lines):
            band = {"symbol": "square", "size": 14, "color": translucent(GREY, 0.35)}
            screen.add_scatter(x=[None], y=[None], mode="markers", marker=band, name=BAND_LABEL, hoverinfo="skip")
        if self.clean is not None:
            screen.add_hline(y=self.clean, line={"color": GREY, "width": 1, "dash": "dot"})
            sample = {"color": GREY, "width": 1, "dash": "dot"}
            screen.add_scatter(x=[None], y=[None], mode="lines", line=sample, name=CLEAN_LABEL, hoverinfo="skip")
        if self.marker is not None:
            where = float(positions(np.array([self.marker]), self.log)[0])
            screen.add_vline(x=where, line={"color": on_background(BLACK, dark), "width": 1.5, "dash": "dash"})
            at = {"x": np.log10(where) if self.log else where, "y": 1.0, "yref": "paper", "yanchor": "bottom"}
            screen.add_annotation(**at, text=f"{self.marker:,g}", showarrow=False)
            screen.update_layout(margin={"t": 28})
        screen.update_yaxes(title=self.y_label, range=[-0.02, 1.02], tickformat=".1f")
        screen.update_xaxes(title=for_plotly(self.axis), **whole_steps(self.end, lengths=is_length(self.vary)))
        if self.log:
            where_ticks, text = log_ticks(self.end)
            screen.update_xaxes(type="log", dtick=None, tickvals=where_ticks, ticktext=text)
        screen.update_layout(hovermode="closest", clickmode="event+select")

    def _screen_line(self, screen: Any, k: int, dark: bool) -> None:
        """One line with its band, its bracket, what attacks leave, and its tooltip."""
        line = self.lines[k]
        colour, dash = self.look(line)
        colour = on_background(colour, dark)
        x = positions(line.values, self.log)
        if line.low is not None and line.high is not None:
            steps, top, bottom = step_band(x, line.low, line.high)
            outline = np.concatenate([steps, steps[::-1]]), np.concatenate([top, bottom[::-1]])
            screen.add_scatter(**_area(*outline, colour, f"band-{k}"))
        if line.leaves is not None:
            outline = bracket_area(x, line.ratio, line.leaves)
            screen.add_scatter(**_area(*outline, colour, f"bracket-{k}"), legendgroup=f"line-{k}")
        for _, ratio, name, tone in line.attacks:
            look = {"color": on_background(tone, dark), "width": 1.5, "shape": "hv"}
            screen.add_scatter(x=x, y=ratio, name=name, mode="lines", line=look, hoverinfo="skip")
        label = for_plotly(line.label_with_radius)
        data, hover = self._hover(line)
        # Points without a mark cannot be clicked, so there is an invisible one.
        seen = int(self.is_marked(line))
        screen.add_scatter(
            x=x,
            y=line.ratio,
            customdata=data,
            name=label,
            mode="lines+markers",
            line={"color": colour, "dash": dash.screen, "width": 2.5, "shape": "vh"},
            marker={
                "symbol": series_marker(line.group).screen,
                "size": 7,
                "opacity": seen,
                "maxdisplayed": MOST_MARKS if seen else 0,
            },
            unselected={"marker": {"opacity": seen}},
            selected={"marker": {"opacity": 1}},
            hovertemplate=f"<b>{label}</b><br>{hover}<extra></extra>",
            legendgroup=f"line-{k}",
        )

    def _hover(self, line: Line) -> tuple[list[list[Any]], str]:
        """The tooltip of a line: for each point its numbers, and the template.

        Plotly's own formats round to the nearest, which could overstate a ratio: ratios are passed as text.
        """
        data: list[list[Any]] = [line.values.tolist(), ratio_texts(line.ratio)]
        hover = f"{for_plotly(self.axis)}: %{{customdata[0]:,}}<br>{self.y_label}: %{{customdata[1]}}"
        if line.certified is not None:
            data += [line.certified.tolist(), [line.targets or 0] * len(line.values)]
            unit = "units of weight" if self.weighted else "nodes"
            hover += f"<br>certified: %{{customdata[2]:,}} of %{{customdata[3]:,}} {unit}"
        if line.low is not None and line.high is not None:
            at = len(data)
            data += [ratio_texts(line.low), ratio_texts(line.high)]
            hover += f"<br>{BAND_LABEL} over splits: %{{customdata[{at}]}} … %{{customdata[{at + 1}]}}"
        if line.leaves is not None:
            at = len(data)
            for part in (line.leaves, line.leaves - line.ratio):
                data.append(["–" if np.isnan(v) else rounded_up(float(v), 4) for v in part])
            hover += f"<br>{ATTACK_LABEL} leaves: %{{customdata[{at}]}} (bracket %{{customdata[{at + 1}]}})"
        if line.changed is not None:
            changed = np.asarray(line.changed, dtype=float)
            hover += f"<br>labels changed by a {MODEL_LABEL}: %{{customdata[{len(data)}]}}"
            data.append(["not tried" if np.isnan(v) else f"{v:,.0f}" for v in changed])
        return [list(cell) for cell in zip(*data)], hover

    def draw_print(self, page: Page) -> None:
        axes = page.axes()
        axes.grid(True, color="#E3E5E8", linewidth=0.5)
        axes.set_axisbelow(True)
        lengths, end = is_length(self.vary), self.end
        if self.log:
            page.log_axis(axes, "x", end)
            axes.set_xlim(0.45, max(end, 1) * 1.08)
        else:
            axes.set_xlim(-0.012 * end, (end if lengths and end else max(end, 1)) * 1.012)
            page.whole_ticks(axes.xaxis, lengths=lengths)
        axes.set_ylim(-0.02, 1.03)
        if self.marker is not None:
            where = float(positions(np.array([self.marker]), self.log)[0])
            axes.axvline(where, color=GREY, linewidth=0.8, linestyle=(0, (5, 3)), zorder=1, gid="marker")
            at = {"xycoords": ("data", "axes fraction"), "ha": "center", "va": "bottom"}
            axes.annotate(f"{self.marker:,g}", (where, 1.0), fontsize=page.font - 1.5, color=GREY, **at)
        for k in range(len(self.lines)):
            self._print_line(axes, k, page)
        if self.clean is not None:
            axes.axhline(self.clean, color=GREY, linewidth=0.8, linestyle=":", gid="clean")
        page.labels(axes, self.axis, self.y_label)
        page.legend(self._legend(page))

    def _print_line(self, axes: Any, k: int, page: Page) -> None:
        line = self.lines[k]
        colour, _ = self.look(line)
        x = positions(line.values, self.log)
        if line.low is not None and line.high is not None:
            band = {"step": "pre", "color": colour, "alpha": 0.18, "linewidth": 0, "gid": f"band-{k}"}
            axes.fill_between(x, line.low, line.high, **band)
        if line.leaves is not None:
            outline = bracket_area(x, line.ratio, line.leaves)
            axes.fill(*outline, color=colour, alpha=0.16, linewidth=0, gid=f"bracket-{k}")
        for name, ratio, _, tone in line.attacks:
            # An attack holds from its own budget on.
            axes.plot(x, ratio, drawstyle="steps-post", gid=f"{name}-{k}", **_attack_style(name, tone, page))
        marks = line_marks(np.log(x) if self.log else x, line.group, len({one.group for one in self.lines}))
        look = self._print_style(line, page)
        axes.plot(x, line.ratio, drawstyle="steps-pre", markevery=marks.tolist(), gid=f"series-{k}-{line.kind}", **look)

    def _print_style(self, line: Line, page: Page) -> dict[str, Any]:
        colour, dash = self.look(line)
        # Markers distinguish the members of a family, so that colour is never needed; kinds differ by their dashes.
        symbol = series_marker(line.group).print if self.is_marked(line) else ""
        return {
            "color": colour,
            "linestyle": dash.print,
            "linewidth": (_OURS if line.kind == Kind.COLLECTIVE else _OTHERS) * page.scale,
            "marker": symbol,
            "markersize": 3.4 * page.scale,
            "markeredgewidth": 0.5,
            "markeredgecolor": "white",
        }

    def _legend(self, page: Page) -> list[Any]:
        """One entry for each model and, where there are several, one for each kind of certificate in grey."""
        from matplotlib.lines import Line2D
        from matplotlib.patches import Patch

        def sample(label: str, **style: Any) -> Any:
            return Line2D([], [], label=label, **style)

        handles: list[Any] = []
        if self.is_family:
            groups = {line.group: line for line in reversed(self.lines) if line.kind != Kind.CONTROL and line.name}
            for line in sorted(groups.values(), key=lambda line: line.group):
                handles.append(sample(clean(line.name, 60), **self._print_style(line, page)))
        for line in {line.kind: line for line in self.lines if line.kind != Kind.CONTROL}.values():
            kind = KINDS[line.kind]
            style = {"color": GREY if self.is_family else kind.colour, "linestyle": kind.dash.print}
            if not self.is_family or len({line.kind for line in self.lines}) > 1:
                width = (_OURS if line.kind == Kind.COLLECTIVE else _OTHERS) * page.scale
                handles.append(sample(kind.label, linewidth=width, **style))
        for line in self.lines:
            if line.kind == Kind.CONTROL:
                label = f"{clean(line.name, 60)} ({KINDS[line.kind].label})"
                handles.append(sample(label, **self._print_style(line, page)))
        found = {name: (label, tone) for line in self.lines for name, _, label, tone in line.attacks}
        handles += [sample(label, **_attack_style(name, tone, page)) for name, (label, tone) in found.items()]
        if any(line.low is not None for line in self.lines):
            handles.append(Patch(facecolor=GREY, alpha=0.3, linewidth=0, label=BAND_LABEL))
        if self.clean is not None:
            handles.append(sample(CLEAN_LABEL, color=GREY, linewidth=0.8, linestyle=":"))
        return handles


def _attack_style(name: str, tone: str, page: Page) -> dict[str, Any]:
    dash = (0, (4, 1.5)) if name == "leaves" else "-"
    return {"color": tone, "linewidth": 0.8 * page.scale, "linestyle": dash}


def _cells(part: Any) -> list[Any]:
    """The cells of a column; where there is no number, nothing."""
    return [None if value is None or np.isnan(value) else value for value in np.asarray(part).tolist()]


def _area(across: np.ndarray, up: np.ndarray, colour: str, name: str) -> dict[str, Any]:
    return {
        "x": across,
        "y": up,
        "mode": "lines",  # otherwise Plotly marks the corners if they are few
        "fill": "toself",
        "fillcolor": translucent(colour, 0.18),
        "line": {"width": 0},
        "hoverinfo": "skip",
        "showlegend": False,
        "name": name,
    }


def lines_of(
    curve: Any,
    name: str = "",
    group: int = 0,
    kind: str = Kind.COLLECTIVE,
    naive: bool = True,
    attacks: np.ndarray | None = None,
) -> tuple[Line, ...]:
    """The lines of one curve: its certificate and, if wanted, the naive count.

    `attacks` are the targets that the best known attack leaves uncertified at each value; they give the bracket's upper
    edge.
    """
    parts = [(kind, curve.certified, curve.average_radius)]
    if naive:
        parts.append((Kind.NAIVE, curve.naive, curve.naive_average_radius))
    return tuple(
        Line(
            values=curve.values,
            ratio=np.asarray(counts) / max(int(curve.targets), 1),
            kind=which,
            name=name,
            group=group,
            certified=counts,
            targets=int(curve.targets),
            average_radius=radius,
            leaves=None if attacks is None or which == Kind.NAIVE else _left(curve, attacks),
        )
        for which, counts, radius in parts
    )


def _left(curve: Any, attacks: Any) -> np.ndarray:
    """The ratio that the best known attacks leave certified; NaN where none was searched."""
    labels = curve.threat.targets is not None and curve.threat.weights is None
    counted = len(curve.threat.targets) if labels else int(curve.targets)
    taken = np.asarray(attacks, dtype=float)
    return np.maximum(counted - taken, np.asarray(curve.certified)) / max(int(curve.targets), 1)


def with_changed(figure: CurveFigure, changed: Sequence[int | None], counted: int) -> CurveFigure:
    """A single curve with the labels that attacks on the model change of `counted` ones (None: not tried)."""
    line, taken = figure.lines[0], np.array(changed, dtype=float)
    line = replace(line, changed=taken, unchanged=(counted - taken) / max(line.targets or 0, 1))
    return replace(figure, lines=(line, *figure.lines[1:]))


def mean_lines(
    curves: Sequence[Any], name: str = "", group: int = 0, kind: str = Kind.COLLECTIVE, naive: bool = True
) -> tuple[Line, ...]:
    """Lines of several splits as one: the mean ratio with a band of one sample standard deviation.

    As in the paper, ratios are averaged first and the average radius is taken of the mean.
    """
    if not curves:
        raise InputError("there is no curve to average; give at least one split")
    if len(curves) == 1:
        return lines_of(curves[0], name, group, kind, naive)
    values = np.asarray(curves[0].values)
    if any(not np.array_equal(values, curve.values) for curve in curves):
        raise InputError("the splits have curves over different budgets; compute them over the same values")
    lines = []
    for which in (kind, Kind.NAIVE) if naive else (kind,):
        counts = [curve.naive if which == Kind.NAIVE else curve.certified for curve in curves]
        ratios = np.array([np.asarray(c) / max(int(curve.targets), 1) for c, curve in zip(counts, curves)])
        line = mean_line(values, ratios, which, name, group)
        exact = average_radius(values, mean_weights(counts, [curve.targets for curve in curves]))
        lines.append(replace(line, average_radius=exact))
    return tuple(lines)


def mean_line(values: np.ndarray, ratios: np.ndarray, kind: str, name: str, group: int) -> Line:
    """The mean of ratios (splits × values), with a band of one sample deviation if there are several splits."""
    middle, around = mean(ratios), band(ratios)
    low, high = (None, None) if around is None else around
    return Line(
        values=values,
        ratio=middle,
        kind=kind,
        name=name,
        group=group,
        low=low,
        high=high,
        average_radius=average_radius(values, middle),
    )


def curve_figure(
    curves: Sequence[Any],
    *,
    vary: str,
    names: Sequence[str] = (),
    paper: Sequence[Any] = (),
    naive: bool = True,
    attacks: np.ndarray | None = None,
    changed: Sequence[int | None] | None = None,
    accuracy_of: int | None = None,
    controls: dict[str, float] | None = None,
    **more: Any,
) -> CurveFigure:
    """A curve, or a family of curves with one name each; `paper` are the same with the paper's relaxation.

    A member of the family may be a list of curves, one per split: it is drawn as their mean with a band. The naive
    count does not depend on local budgets or σ, so a family with one common naive line shows it once. `attacks`, for a
    single curve: how many targets the best known attack leaves uncertified at each value; `changed`: how many labels
    attacks on the model change there. `accuracy_of`: the targets are the right labels among this many, and ratios are
    certified accuracies. `controls`: accuracies of baselines that ignore edges (see `controls_for`), drawn as
    horizontal lines. `more` are further fields of the figure, such as `log`, `marker` or `title`.
    """
    weighted = count_weight(one for curve in (*curves, *paper) for one in _splits(curve))
    if weighted and (accuracy_of is not None or changed is not None):
        raise InputError("these results count weight; draw accuracies and changed labels without weights")
    clean = None
    if accuracy_of is not None:
        clean = clean_accuracy(curves[0], accuracy_of)
        curves, paper = ([as_accuracy(one, accuracy_of) for one in some] for some in (curves, paper))
    lines = _family_lines([_splits(curve) for curve in curves], names, naive, attacks)
    for group, curve in enumerate(paper):
        label = names[group] if group < len(names) else ""
        lines += mean_lines(_splits(curve), label, group, Kind.PAPER, naive=False)
    for label, share in (controls or {}).items():
        values = lines[0].values
        lines.append(Line(values=values, ratio=np.full(len(values), share), kind=Kind.CONTROL, name=label, group=0))
    figure = CurveFigure(
        vary=vary,
        lines=tuple(lines),
        accuracy=accuracy_of is not None,
        clean=clean,
        weighted=weighted,
        **{"name": f"curve-{vary}", **more},
    )
    if changed is None:
        return figure
    targets = _splits(curves[0])[0].threat.targets
    return with_changed(figure, changed, int(lines[0].targets or 0) if targets is None else len(targets))


def _splits(curve: Any) -> list[Any]:
    return list(curve) if isinstance(curve, list | tuple) else [curve]


def _family_lines(
    members: list[list[Any]], names: Sequence[str], naive: bool, attacks: np.ndarray | None
) -> list[Line]:
    """The lines of all members of a family, without repeated naive lines."""
    lines: list[Line] = []
    seen: set[bytes] = set()
    for group, splits in enumerate(members):
        label = names[group] if group < len(names) else ""
        alone = attacks is not None and len(members) == len(splits) == 1
        single = lines_of(splits[0], label, group, Kind.COLLECTIVE, naive, attacks) if alone else None
        for line in single or mean_lines(splits, label, group, Kind.COLLECTIVE, naive):
            key = line.values.tobytes() + line.ratio.tobytes()
            if line.kind == Kind.NAIVE:
                if key in seen:
                    continue
                seen.add(key)
            lines.append(line)
    if len(members) > 1 and len(seen) == 1:
        # The common naive line belongs to the whole family, not to its first member.
        lines = [replace(line, name="") if line.kind == Kind.NAIVE else line for line in lines]
    return lines


def controls_for(instance: Instance, threat: ThreatModel, vary: str, accuracy_of: int | None) -> dict[str, float]:
    """Baseline accuracies that are comparable: the curve shows accuracy on all test nodes, and only edges change."""
    varied = canonical(vary).removeprefix("local_")
    edges_only = not any(entry.at_nodes and (n or entry.name == varied) for entry, n in zip(TABLE, threat.budgets))
    test = 0 if instance.split is None else int((np.asarray(instance.split) == TEST).sum())
    return instance.controls if edges_only and accuracy_of == test else {}


def as_accuracy(curve: Any, number: int) -> Any:
    """The same counts as a fraction of more targets; splits have different target sets of equal size."""
    several = isinstance(curve, list | tuple)
    return [replace(one, targets=number) for one in curve] if several else replace(curve, targets=number)


def clean_accuracy(curve: Any, number: int) -> float:
    """The accuracy without an attack, for a curve over the right labels among this many targets."""
    splits = _splits(curve)
    return sum(int(one.targets) for one in splits) / len(splits) / max(number, 1)
