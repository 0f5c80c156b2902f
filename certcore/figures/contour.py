"""A map over two budgets, with level lines."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from decimal import Decimal
from itertools import pairwise
from typing import TYPE_CHECKING, Any

import numpy as np

from certcore.common.errors import InputError
from certcore.common.rounding import rounded_down, rounded_up
from certcore.domain.weights import count_weight
from certcore.figures.escape import clean, for_plotly
from certcore.figures.figure import Figure, numbers, whole_steps
from certcore.figures.geometry import cell_edges, level_lines, log_ticks, positions
from certcore.figures.style import (
    ACCURACY_LABEL,
    BLACK,
    DOTTED,
    KINDS,
    RATIO_LABEL,
    VERMILLION,
    WEIGHT_LABEL,
    Kind,
    MapOf,
    axis_label,
    colour_scale,
    is_length,
    on_background,
    refuse_log,
)
from certcore.figures.table import Meaning, Table, make_table, ratio_texts, whole, without_empty
from certcore.sweep.counts import Counts

if TYPE_CHECKING:
    from certcore.figures.page import Page

_UNKNOWN = "#DDDDDD"
MARKER_LABEL = "current budgets"


@dataclass(frozen=True, eq=False, kw_only=True)
class ContourFigure(Figure):
    """A map over two budgets: filled cells, and lines at `levels` for the certificate and for its reference.

    `ratio` and `reference` are (nx, ny), NaN where nothing was computed. `bounds` is the proven upper bound on
    uncertified targets, `attacks` the number that the best attack found leaves uncertified. `show` chooses what fills
    the cells: the `ratio`, the `difference` of the two, or the `bracket`, the gap between bound and attack. `measure`
    names the quantity.
    """

    x: str
    y: str
    x_values: np.ndarray
    y_values: np.ndarray
    ratio: np.ndarray
    reference: np.ndarray | None = None
    reference_kind: str = Kind.NAIVE
    kind: str = Kind.COLLECTIVE
    show: str = MapOf.RATIO
    levels: tuple[float, ...] = (0.5, 0.7)
    marker: tuple[float, float] | None = None
    x_log: bool = False
    y_log: bool = False
    measure: str = ""
    accuracy: bool = False
    certified: np.ndarray | None = None
    reference_certified: np.ndarray | None = None
    bounds: np.ndarray | None = None
    attacks: np.ndarray | None = None
    targets: int | None = None
    weighted: bool = False
    """Whether counts are sums of weights."""
    name: str = "contours"

    def __post_init__(self) -> None:
        for axis in ("x_values", "y_values"):
            numbers(self, axis, (None,), "the map")
            values = getattr(self, axis)
            if len(values) == 0 or (np.diff(values) <= 0).any() or values[0] < 0:
                raise InputError(f"{axis} of a map are not ascending budgets from 0 on; sort them and drop repeats")
        refuse_log(self.x, self.x_log)
        refuse_log(self.y, self.y_log)
        shape = (len(self.x_values), len(self.y_values))
        for name in ("ratio", "reference", "certified", "reference_certified", "bounds", "attacks"):
            numbers(self, name, shape, "the map", finite=False)
        object.__setattr__(self, "show", MapOf.parse(self.show, "show"))
        if self.show == MapOf.BRACKET and (self.bounds is None or self.attacks is None or not self.targets):
            raise InputError("a map of the bracket needs bounds, attacks and targets; give them, or show the ratio")
        if self.show == MapOf.DIFFERENCE and self.reference is None:
            raise InputError("a map of the difference needs a reference; give one, or show the ratio")
        for kind in (self.kind, self.reference_kind):
            if kind not in KINDS:
                raise InputError(f"a map is of kind {kind!r}; expected one of {', '.join(KINDS)}")
        object.__setattr__(self, "levels", tuple(float(level) for level in self.levels))
        if self.marker is not None:
            object.__setattr__(self, "marker", (float(self.marker[0]), float(self.marker[1])))

    @property
    def filled(self) -> np.ndarray:
        """The values that fill the cells, (nx, ny)."""
        if self.show == MapOf.BRACKET:
            width = self.bracket
            assert width is not None
            return width
        if self.show == MapOf.RATIO or self.reference is None:
            return self.ratio
        return self.ratio - self.reference

    @property
    def bracket(self) -> np.ndarray | None:
        """The gap between proven bound and best attack as a fraction of the targets; NaN where no attack is known."""
        if self.bounds is None or self.attacks is None:
            return None
        return np.asarray((self.bounds - self.attacks) / max(self.targets or 0, 1))

    @property
    def scale(self) -> tuple[float, float]:
        """The ends of the colour scale: the extremes of the map for a difference, 0 and 1 for a ratio."""
        if self.show not in (MapOf.DIFFERENCE, MapOf.BRACKET):
            return 0.0, 1.0
        known = self.filled[np.isfinite(self.filled)]
        return min(0.0, float(known.min(initial=0))), max(1e-9, float(known.max(initial=0)))

    def table(self) -> Table:
        reference = KINDS[self.reference_kind].label
        columns = {
            axis_label(self.x): Meaning.PLAIN,
            axis_label(self.y): Meaning.PLAIN,
            "certified ratio": Meaning.CERTIFIED,
            f"{reference}: ratio": Meaning.CERTIFIED,
            "gain": Meaning.CERTIFIED,
            "certified": Meaning.CERTIFIED,
            f"{reference}: certified": Meaning.CERTIFIED,
            "weight" if self.weighted else "targets": Meaning.PLAIN,
            "uncertified at most": Meaning.ATTACKED,
            "certificate attack": Meaning.ATTACKED,
            "bracket": Meaning.ATTACKED,
        }
        gain = None if self.reference is None else self.ratio - self.reference
        rows = []
        for i, x in enumerate(self.x_values):
            for j, y in enumerate(self.y_values):
                shares = [None if part is None else part[i, j] for part in (self.ratio, self.reference, gain)]
                counts = [None if part is None else part[i, j] for part in (self.certified, self.reference_certified)]
                sides = [None if part is None else whole(part[i, j]) for part in (self.bounds, self.attacks)]
                width = None if self.bracket is None else self.bracket[i, j]
                rows.append((x, y, *shares, *(whole(count) for count in counts), self.targets, *sides, width))
        return without_empty(make_table(list(columns), rows, list(columns.values())))

    @property
    def measure_label(self) -> str:
        """The name of the quantity that fills the cells."""
        if self.measure:
            return clean(self.measure)
        if self.show == MapOf.BRACKET:
            return "bracket: proven bound − certificate attack"
        if self.show == MapOf.DIFFERENCE:
            return f"gain: {KINDS[self.kind].label} − {KINDS[self.reference_kind].label}"
        return f"{ACCURACY_LABEL if self.accuracy else RATIO_LABEL} ({KINDS[self.kind].label})"

    def description(self) -> str:
        known = np.isfinite(self.filled)
        second = f" and {axis_label(self.y)}" if len(self.y_values) > 1 else ""
        text = f"Map of the {self.measure_label} over {axis_label(self.x)}{second}"
        text += f", {known.sum()} of {known.size} cells"
        if known.any():
            low, high = np.nanmin(self.filled), np.nanmax(self.filled)
            text += f", from {rounded_down(float(low))} to {rounded_down(float(high))}"
        if self.levels:
            text += f". Lines at {', '.join(map(level_label, self.levels))}: {KINDS[self.kind].label} solid"
            if self.reference is not None:
                text += f", {KINDS[self.reference_kind].label} dotted"
        return text + "."

    def edges(self) -> tuple[np.ndarray, np.ndarray]:
        """The edges of the cells along both axes."""
        return (
            cell_edges(self.x_values, self.x_log, lengths=is_length(self.x)),
            cell_edges(self.y_values, self.y_log, lengths=is_length(self.y)),
        )

    @property
    def sets(self) -> list[tuple[str, np.ndarray, str, Any]]:
        """What has level lines: kind and ratios, and the dashes on the screen and in print."""
        found: list[tuple[str, np.ndarray, str, Any]] = [(self.kind, self.ratio, "solid", "-")]
        if self.reference is not None:
            found.append((self.reference_kind, self.reference, "dot", DOTTED.print))
        return found

    def draw_screen(self, screen: Any, dark: bool) -> None:
        xs, ys = self.edges()
        low, high = self.scale
        colours = colour_scale(self.show in (MapOf.DIFFERENCE, MapOf.BRACKET))
        data, hover = cell_hover(self)
        title = {"text": for_plotly(self.measure_label), "side": "right", "font": {"size": 14}}
        screen.add_heatmap(
            x=xs,
            y=ys,
            z=self.filled.T,
            customdata=[[column[j] for column in data] for j in range(len(self.y_values))],
            zmin=low,
            zmax=high,
            colorscale=[[i / (len(colours) - 1), colour] for i, colour in enumerate(colours)],
            colorbar={"title": title, "thickness": 14},
            hoverongaps=False,
            hovertemplate=hover + "<extra></extra>",
        )
        self._screen_levels(screen, xs, ys, dark)
        if self.marker is not None:
            x, y = self.marker
            screen.add_scatter(
                x=positions(np.array([x]), self.x_log),
                y=positions(np.array([y]), self.y_log),
                mode="markers",
                name=MARKER_LABEL,
                marker={"symbol": "x", "size": 13, "color": VERMILLION, "line": {"color": "#FFFFFF", "width": 1.5}},
                customdata=[[x, y]],
                hovertemplate=f"{MARKER_LABEL}: %{{customdata[0]:,}} and %{{customdata[1]:,}}<extra></extra>",
            )
        for update, key, log, edges in (
            (screen.update_xaxes, self.x, self.x_log, xs),
            (screen.update_yaxes, self.y, self.y_log, ys),
        ):
            update(title=for_plotly(axis_label(key)), showgrid=False, zeroline=False)
            if log:
                where, text = log_ticks(float(edges[-1]))
                update(type="log", tickvals=where, ticktext=text, range=np.log10(edges[[0, -1]]).tolist())
            else:
                steps = whole_steps(float(edges[-1]), lengths=is_length(key))
                update(range=[float(edges[0]), float(edges[-1])], **steps)
        if len(self.y_values) == 1:
            screen.update_yaxes(showticklabels=False, ticks="", title="")
        screen.update_layout(clickmode="event+select")

    def _screen_levels(self, screen: Any, xs: np.ndarray, ys: np.ndarray, dark: bool) -> None:
        """Black lines with a white edge, each with its level written on it."""
        gap = np.full((1, 2), np.nan)
        for kind, grid, dash, _ in self.sets:
            for level in self.levels:
                lines = level_lines(grid, level, xs, ys)
                path = np.concatenate([np.concatenate([line, gap]) for line in lines] or [gap])
                name = f"{KINDS[kind].label} {level_label(level)}"
                for width, colour in ((5, "#FFFFFF"), (2, BLACK)):
                    look = {"color": colour, "width": width, "dash": "solid" if width == 5 else dash}
                    screen.add_scatter(
                        x=path[:, 0],
                        y=path[:, 1],
                        mode="lines",
                        line=look,
                        opacity=0.65 if width == 5 else 1,
                        name=name,
                        legendgroup=name,
                        showlegend=False,
                        hoverinfo="skip",
                    )
                # The map is the same on light and dark pages, but the legend needs another line colour on a dark one.
                sample = {"color": on_background(BLACK, dark), "width": 2, "dash": dash}
                screen.add_scatter(x=[None], y=[None], mode="lines", line=sample, name=name, legendgroup=name)
        for label in level_labels(self, _SCREEN, lambda text: (7.0 * len(text), 12.0)):
            x, y = self.place(label.at, _SCREEN)
            at = {"x": np.log10(x) if self.x_log else x, "y": np.log10(y) if self.y_log else y}
            look = {"font": {"size": 12, "color": BLACK}, "bgcolor": "rgba(255,255,255,0.8)", "borderpad": 1}
            screen.add_annotation(**at, **look, text=level_label(label.level), showarrow=False)

    def draw_print(self, page: Page) -> None:
        from matplotlib.colors import LinearSegmentedColormap
        from matplotlib.lines import Line2D
        from matplotlib.patches import Patch

        axes = page.axes()
        xs, ys = self.edges()
        low, high = self.scale
        scale = colour_scale(self.show in (MapOf.DIFFERENCE, MapOf.BRACKET))
        colours = LinearSegmentedColormap.from_list("certcore", scale, N=256)
        cells = np.ma.masked_invalid(self.filled.T)
        mesh = axes.pcolormesh(xs, ys, cells, cmap=colours, vmin=low, vmax=high, gid="cells")
        # Cells overlap a little, which avoids thin white lines between them.
        mesh.set_edgecolor("face")
        mesh.set_linewidth(0.15)
        axes.set_facecolor(_UNKNOWN)
        bar = page.figure.colorbar(mesh, ax=axes, pad=0.02, fraction=0.06, aspect=22)
        label = page.fit(page.printable(self.measure_label), page.height * 72 * 0.75, page.base)
        bar.set_label(label, fontsize=page.font)
        bar.ax.tick_params(labelsize=page.font - 1, length=2, width=0.5)
        bar.outline.set_linewidth(0.4)
        for which, key, log, edges in (("x", self.x, self.x_log, xs), ("y", self.y, self.y_log, ys)):
            if log:
                page.log_axis(axes, which, float(edges[-1]))
            else:
                page.whole_ticks(getattr(axes, f"{which}axis"), lengths=is_length(key))
            getattr(axes, f"set_{which}lim")(edges[0], edges[-1])
        if len(self.y_values) == 1:
            axes.set_yticks([])
        page.labels(axes, axis_label(self.x), axis_label(self.y) if len(self.y_values) > 1 else "")
        handles: list[Any] = []
        for kind, _, _, dash in self.sets if self.levels else ():
            handles.append(Line2D([], [], color=BLACK, linestyle=dash, linewidth=1.2, label=KINDS[kind].label))
        if self.marker is not None:
            where = [positions(np.array([v]), log) for v, log in zip(self.marker, (self.x_log, self.y_log))]
            look = {"marker": "X", "markersize": 6, "color": VERMILLION, "markeredgecolor": "white"}
            handles += axes.plot(*where, linestyle="", markeredgewidth=0.7, label=MARKER_LABEL, gid="marker", **look)
        if not np.isfinite(self.filled).all():
            handles.append(Patch(facecolor=_UNKNOWN, label="not computed"))
        page.legend(handles)
        self._print_levels(axes, page, xs, ys)

    def _print_levels(self, axes: Any, page: Page, xs: np.ndarray, ys: np.ndarray) -> None:
        """Black lines with a white edge, which keeps them visible on the dark end of the scale, and their labels."""
        from matplotlib.patheffects import withStroke

        for kind, grid, _, dash in self.sets:
            for k, level in enumerate(self.levels):
                for line in level_lines(grid, level, xs, ys):
                    look = {"solid_capstyle": "butt", "linewidth": 1.0 * page.scale}
                    axes.plot(*line.T, color="white", linewidth=2.2, alpha=0.7, zorder=2.9, gid="halo")
                    axes.plot(*line.T, color=BLACK, linestyle=dash, zorder=3, gid=f"level-{kind}-{k}", **look)
        # A size that is the same in both fonts, a little below the true one: labels have the same places in both.
        size, base = (0.68 * page.width * 72, 0.64 * page.height * 72), max(6.0, page.base - 1.5)
        fontsize = base * page.larger[page.face]
        for label in level_labels(self, size, lambda text: page.text_size(text, base)):
            x, y = self.place(label.at, size)
            if label.on is not None:
                ends = np.array([self.place(label.at, size), self.place(label.on, size)])
                axes.plot(*ends.T, color="white", linewidth=1.4, zorder=3.1, gid="halo")
                axes.plot(*ends.T, color=BLACK, linewidth=0.5, zorder=3.2, gid="level-leader")
            style: dict[str, Any] = {"fontsize": fontsize, "ha": "center", "va": "center_baseline", "zorder": 4}
            text = axes.text(x, y, level_label(label.level), **style, gid="level-label")
            text.set_path_effects([withStroke(linewidth=2.2, foreground="white")])
            text.set_in_layout(False)

    def in_points(self, line: np.ndarray, size: tuple[float, float]) -> np.ndarray:
        """Positions on the map as points of a picture of this size."""
        parts = []
        for values, edges, log, length in zip(line.T, self.edges(), (self.x_log, self.y_log), size):
            low, high, here = (
                (np.log(edges[0]), np.log(edges[-1]), np.log(values)) if log else (*edges[[0, -1]], values)
            )
            parts.append((here - low) / (high - low) * length)
        return np.stack(parts, axis=1)

    def place(self, at: tuple[float, float], size: tuple[float, float]) -> tuple[float, float]:
        """The position on the map of a point of the picture."""
        found = []
        for here, edges, log, length in zip(at, self.edges(), (self.x_log, self.y_log), size):
            low, high = np.log(edges[[0, -1]]) if log else edges[[0, -1]]
            value = float(low + (high - low) * here / length)
            found.append(float(np.exp(value)) if log else value)
        return found[0], found[1]


#: Approximate size of a map on the screen, in pixels.
_SCREEN = (560.0, 340.0)
#: In points: distance between two labels, distance of a label to another level's line, and between candidate places.
_APART, _CLEAR, _STEP = 3.0, 1.5, 4.0


@dataclass(frozen=True)
class LevelLabel:
    """The label of one level line in points of the picture; `on` is the point it leads to if it is not on its line."""

    level: float
    at: tuple[float, float]
    size: tuple[float, float]
    on: tuple[float, float] | None = None

    def meets(self, other: LevelLabel) -> bool:
        return all(
            abs(a - b) < (one + two) / 2 + _APART for a, b, one, two in zip(self.at, other.at, self.size, other.size)
        )


def level_label(level: float) -> str:
    """The level of a contour line with all its digits: 0.9999999 is not 1."""
    return f"{Decimal(repr(float(level))).normalize():f}"


def level_labels(figure: ContourFigure, size: tuple[float, float], measured: Any) -> list[LevelLabel]:
    """One label for each level line on a picture of this size; no two overlap.

    A label stands on its line, where other lines are far away; if there is no room on it, beside it with a line to it.
    `measured` gives the width and the height of a text.
    """
    xs, ys = figure.edges()
    paths: list[tuple[float, np.ndarray]] = []
    for _, grid, _, _ in figure.sets:
        for level in figure.levels:
            lines = [_along(figure.in_points(line, size)) for line in level_lines(grid, level, xs, ys)]
            if lines:
                paths.append((level, np.concatenate(lines)))
    placed: list[LevelLabel] = []
    for k, (level, path) in enumerate(paths):
        rest = [other for j, (_, other) in enumerate(paths) if j != k]
        others = np.concatenate(rest) if rest else np.full((1, 2), np.inf)
        box = measured(level_label(level))
        free = [
            label for label in _candidates(level, path, box, size) if not any(label.meets(other) for other in placed)
        ]
        on_line = [label for label in free if label.on is None]
        if free:
            placed.append(max(on_line, key=lambda label: _room(label, others, placed, size)) if on_line else free[0])
    return placed


def _along(line: np.ndarray) -> np.ndarray:
    """A path as points that are near each other."""
    parts = [line[:1]]
    for start, end in pairwise(line):
        steps = max(1, int(np.hypot(*(end - start)) // _STEP))
        parts.append(start + (end - start) * (np.arange(1, steps + 1) / steps)[:, None])
    return np.concatenate(parts)


def _candidates(
    level: float, path: np.ndarray, box: tuple[float, float], size: tuple[float, float]
) -> Iterator[LevelLabel]:
    """Places for a label inside the picture: on its line, then further and further away from the middle of the line."""
    middle = path[len(path) // 2]
    on = float(middle[0]), float(middle[1])
    around = [
        (x, y)
        for radius in range(14, 90, 8)
        for turn in range(16)
        for x, y in [middle + radius * np.array([np.cos(turn * np.pi / 8), np.sin(turn * np.pi / 8)])]
    ]
    for k, (x, y) in enumerate([*path.tolist(), *around]):
        if all(side / 2 + 1 <= at <= whole - side / 2 - 1 for at, side, whole in zip((x, y), box, size)):
            yield LevelLabel(level, (float(x), float(y)), box, None if k < len(path) else on)


def _room(label: LevelLabel, others: np.ndarray, placed: list[LevelLabel], size: tuple[float, float]) -> float:
    """How good a place on the line is: far from other lines first, then from other labels and the border."""
    beyond = np.maximum(np.abs(others - label.at) - np.array(label.size) / 2, 0)
    clear = float(np.hypot(*beyond.T).min())
    apart = min((float(np.hypot(*(np.subtract(label.at, other.at)))) for other in placed), default=100.0)
    inside = float(np.minimum(label.at, np.subtract(size, label.at)).min())
    return min(clear, 4 * _CLEAR) + 0.02 * min(apart, 100.0) + 0.02 * min(inside, 40.0)


def contour_figure(
    surface: Counts,
    *,
    x: str,
    y: str,
    show: str = MapOf.RATIO,
    reference: Counts | None = None,
    levels: Sequence[float] = (0.5, 0.7),
    gaps: bool = True,
    accuracy_of: int | None = None,
    attacks: np.ndarray | None = None,
    **more: Any,
) -> ContourFigure:
    """A map of a surface; the reference is its naive count, or another surface (for example the paper's).

    `accuracy_of`: the targets are the right labels among this many, and ratios are certified accuracies. `attacks` are
    the targets that the best known attack leaves uncertified in each cell, NaN where none was searched for. Unsolved
    cells stay empty; with `gaps=False` they show the sound but weaker bound known so far. `more` are further fields of
    the figure, such as `marker`, `kind` or `title`.
    """
    weighted = count_weight([surface, *([] if reference is None else [reference])])
    if weighted and accuracy_of is not None:
        raise InputError("this surface counts weight; draw certified accuracy from one that counts labels")
    if weighted and show == MapOf.RATIO:
        more = {"measure": WEIGHT_LABEL, **more}
    of = int(surface.targets) if accuracy_of is None else accuracy_of
    targets = max(of, 1)
    certified = _counts(surface.certified, surface.done if gaps else None)
    if reference is None:
        compared = np.asarray(surface.naive)
    else:
        compared = _counts(reference.certified, reference.done if gaps else None)
    return ContourFigure(
        x=x,
        y=y,
        x_values=surface.axis_values[0],
        y_values=surface.axis_values[1],
        ratio=certified / targets,
        reference=compared / targets,
        show=show,
        levels=tuple(levels),
        certified=certified,
        reference_certified=compared,
        bounds=int(surface.targets) - certified,
        attacks=attacks,
        targets=of,
        accuracy=accuracy_of is not None,
        weighted=weighted,
        **{"name": ("contours" if show == MapOf.RATIO else show) + f"-{x}-{y}", **more},
    )


def _counts(counts: np.ndarray, done: np.ndarray | None) -> np.ndarray:
    """Counts, NaN where a cell has not been computed yet."""
    array = np.asarray(counts)
    if done is None or np.asarray(done).all():
        return array
    return np.where(np.asarray(done), array, np.nan)


def _texts(figure: ContourFigure, part: np.ndarray) -> list[list[str]]:
    """Fractions as text: certified ratios rounded down, gaps rounded up."""
    if figure.show == MapOf.BRACKET and part is not figure.ratio and part is not figure.reference:
        return [[rounded_up(v, 4) if np.isfinite(v) else "not known yet" for v in row] for row in part.tolist()]
    return [ratio_texts(column) for column in part]


def _count_texts(counts: np.ndarray, form: str, unknown: str) -> list[list[str]]:
    return [[form.format(int(v)) if np.isfinite(v) else unknown for v in row] for row in counts.astype(float).tolist()]


def cell_hover(figure: ContourFigure) -> tuple[list[list[list[Any]]], str]:
    """For each cell its budgets and numbers as text, and the template of the tooltip."""
    names, texts = [for_plotly(figure.measure_label)], [_texts(figure, figure.filled)]
    if figure.reference is not None:
        names += [KINDS[figure.kind].label, KINDS[figure.reference_kind].label]
        texts += [_texts(figure, figure.ratio), _texts(figure, figure.reference)]
    if figure.bounds is not None:
        of = f" of {figure.targets:,}" if figure.targets and not figure.accuracy else ""
        names.append("can be left uncertified")
        texts.append(_count_texts(figure.bounds, "at most {:,}" + of, "not computed"))
    if figure.attacks is not None:
        names.append("certificate attack leaves uncertified")
        texts.append(_count_texts(figure.attacks, "{:,}", "none looked for yet"))
        if figure.bounds is not None:
            names.append("bracket")
            unit = "units of weight" if figure.weighted else "labels"
            texts.append(_count_texts(figure.bounds - figure.attacks, f"{{:,}} {unit} wide", "not known yet"))
    data = [
        [[x, y, *(text[i][j] for text in texts)] for j, y in enumerate(figure.y_values.tolist())]
        for i, x in enumerate(figure.x_values.tolist())
    ]
    hover = f"{axis_label(figure.x)}: %{{customdata[0]:,}}<br>{axis_label(figure.y)}: %{{customdata[1]:,}}"
    hover += "".join(f"<br>{name}: %{{customdata[{k}]}}" for k, name in enumerate(names, 2))
    return data, hover
