"""A map over two budgets, with level lines."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from certcore.common.errors import InputError
from certcore.common.rounding import rounded_down, rounded_up
from certcore.figures import latex
from certcore.figures.escape import clean, for_latex, for_plotly
from certcore.figures.figure import Figure, numbers
from certcore.figures.geometry import cell_edges, log_ticks, positions
from certcore.figures.kinds import contour_levels
from certcore.figures.screen import ratios, whole_steps
from certcore.figures.style import (
    ACCURACY_LABEL,
    KINDS,
    RATIO_LABEL,
    VERMILLION,
    Kind,
    MapOf,
    axis_label,
    colour_scale,
    is_length,
    refuse_log,
)
from certcore.figures.table import Meaning, Table, make_table, whole, without_empty
from certcore.sweep import Surface

if TYPE_CHECKING:
    from certcore.figures.matplotlib_figure import Sheet


@dataclass(frozen=True, eq=False, kw_only=True)
class ContourFigure(Figure):
    """A map over two budgets: filled cells, and lines at `levels` for the certificate and for its reference.

    `ratio` and `reference` are (nx, ny), NaN where nothing was computed. `bounds` is the proven upper bound on
    uncertified targets, `attacks` the number that the best attack found leaves uncertified. `show` chooses what fills
    the cells: the `ratio`, the `reference`, the `difference` of the two, or the `bracket`, the gap between bound and
    attack. `measure` names the quantity.
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
    name: str = "contours"

    def __post_init__(self) -> None:
        super().__post_init__()
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
        if self.show in (MapOf.REFERENCE, MapOf.DIFFERENCE) and self.reference is None:
            raise InputError(f"a map of the {self.show} needs a reference; give one, or show the ratio")
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
        return self.reference if self.show == MapOf.REFERENCE else self.ratio - self.reference

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
        columns = [self.x, self.y, "certified_ratio", f"{self.reference_kind}_ratio", "difference"]
        columns += ["certified", f"{self.reference_kind}_certified", "targets", "bound", "attack_found", "bracket"]
        meanings = [Meaning.PLAIN] * 2 + [Meaning.CERTIFIED] * 5 + [Meaning.PLAIN] + [Meaning.ATTACKED] * 3
        rows = []
        difference = None if self.reference is None else self.ratio - self.reference
        for i, x in enumerate(self.x_values):
            for j, y in enumerate(self.y_values):
                shares = [None if part is None else part[i, j] for part in (self.ratio, self.reference, difference)]
                counts = [None if part is None else part[i, j] for part in (self.certified, self.reference_certified)]
                sides = [None if part is None else whole(part[i, j]) for part in (self.bounds, self.attacks)]
                width = None if self.bracket is None else self.bracket[i, j]
                rows.append((x, y, *shares, *(whole(count) for count in counts), self.targets, *sides, width))
        return without_empty(make_table(columns, rows, meanings))

    def description(self) -> str:
        known = np.isfinite(self.filled)
        what = measure(self)
        second = f" and {axis_label(self.y)}" if len(self.y_values) > 1 else ""
        text = f"Map of the {what} over {axis_label(self.x)}{second}"
        text += f", {known.sum()} of {known.size} cells"
        if known.any():
            low, high = np.nanmin(self.filled), np.nanmax(self.filled)
            text += f", from {rounded_down(float(low))} to {rounded_down(float(high))}"
        if self.levels:
            levels = ", ".join(contour_levels.level_label(level) for level in self.levels)
            text += f". Lines at {levels}: {KINDS[self.kind].label} solid"
            if self.reference is not None:
                text += f", {KINDS[self.reference_kind].label} dotted"
        return text + "."

    def edges(self) -> tuple[np.ndarray, np.ndarray]:
        """The edges of the cells along both axes."""
        return (
            cell_edges(self.x_values, self.x_log, lengths=is_length(self.x)),
            cell_edges(self.y_values, self.y_log, lengths=is_length(self.y)),
        )

    def draw_screen(self, screen: Any, dark: bool) -> None:
        xs, ys = self.edges()
        what = for_plotly(measure(self))
        filled = self.filled
        difference = self.show in (MapOf.DIFFERENCE, MapOf.BRACKET)
        low, high = self.scale
        colours = colour_scale(difference)
        data, hover = cell_hover(self)
        screen.add_heatmap(
            x=xs, y=ys, z=filled.T,
            customdata=[[data[i][j] for i in range(len(data))] for j in range(len(self.y_values))], zmin=low,
            zmax=high, colorscale=[[i / (len(colours) - 1), colour] for i, colour in enumerate(colours)],
            colorbar={"title": {"text": what, "side": "right", "font": {"size": 14}}, "thickness": 14},
            hoverongaps=False, hovertemplate=hover + "<extra></extra>",
        )  # fmt: skip
        contour_levels.draw_screen(screen, self, xs, ys, dark)
        if self.marker is not None:
            x, y = self.marker
            screen.add_scatter(
                x=positions(np.array([x]), self.x_log),
                y=positions(np.array([y]), self.y_log),
                mode="markers",
                name="current budgets",
                marker={"symbol": "x", "size": 13, "color": VERMILLION, "line": {"color": "#FFFFFF", "width": 1.5}},
                customdata=[[x, y]],
                hovertemplate="current budgets: %{customdata[0]:,} and %{customdata[1]:,}<extra></extra>",
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

    def draw_print(self, sheet: Sheet) -> None:
        from matplotlib.colors import LinearSegmentedColormap

        if len(self.y_values) == 1:
            sheet.resize(0.45 * sheet.height)
        axes = sheet.axes()
        xs, ys = self.edges()
        filled = self.filled
        difference = self.show in (MapOf.DIFFERENCE, MapOf.BRACKET)
        low, high = self.scale
        colours = LinearSegmentedColormap.from_list("certcore", colour_scale(difference), N=256)
        # One image if the cells have equal size, rectangles otherwise: this avoids thin white lines between cells.
        cells = np.ma.masked_invalid(filled.T)
        mesh = axes.pcolormesh(xs, ys, cells, cmap=colours, vmin=low, vmax=high, rasterized=False, gid="cells")
        mesh.set_edgecolor("face")
        mesh.set_linewidth(0.15)
        axes.set_facecolor("#DDDDDD")
        bar = sheet.figure.colorbar(mesh, ax=axes, pad=0.02, fraction=0.06, aspect=22)
        label = sheet.fit(sheet.label(measure(self)), sheet.height * 72 * 0.75, sheet.font - 0.5)
        bar.set_label(label, fontsize=sheet.font - 0.5)
        bar.ax.tick_params(labelsize=sheet.font - 1, length=2, width=0.5)
        bar.outline.set_linewidth(0.4)
        handles = contour_levels.draw_print(axes, self, sheet, xs, ys)
        if self.marker is not None:
            where = [positions(np.array([v]), log)[0] for v, log in zip(self.marker, (self.x_log, self.y_log))]
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
            handles.append(sheet.patch(facecolor="#DDDDDD", label="not computed"))
        for which, log, edges in (("x", self.x_log, xs), ("y", self.y_log, ys)):
            if log:
                sheet.log_axis(axes, which, float(edges[-1]))
            else:
                sheet.whole_ticks(getattr(axes, f"{which}axis"), lengths=is_length(getattr(self, which)))
            getattr(axes, f"set_{which}lim")(edges[0], edges[-1])
        if len(self.y_values) == 1:
            axes.set_yticks([])
        sheet.labels(axes, axis_label(self.x), axis_label(self.y) if len(self.y_values) > 1 else "")
        sheet.legend(handles)
        contour_levels.label_print(axes, self, sheet, xs, ys)

    def draw_latex(self, width_cm: float) -> str:
        xs, ys = self.edges()
        filled = self.filled
        difference = self.show in (MapOf.DIFFERENCE, MapOf.BRACKET)
        low, high = self.scale
        scale = " ".join(
            f"rgb255=({int(c[1:3], 16)},{int(c[3:5], 16)},{int(c[5:], 16)})" for c in colour_scale(difference)
        )
        options = latex.frame(width_cm * 0.88, axis_label(self.x), axis_label(self.y), 0.72)
        options |= {
            "xmin": latex.number(xs[0]),
            "xmax": latex.number(xs[-1]),
            "ymin": latex.number(ys[0]),
            "ymax": latex.number(ys[-1]),
            "enlargelimits": "false",
            "axis on top": "",
            "axis background/.style": "{fill=gray!25}",
            "colormap": f"{{certcore}}{{{scale}}}",
            "colorbar": "",
            "colorbar style": f"{{ylabel={{{for_latex(measure(self))}}}, width=2.5mm, "
            "label style={font=\\footnotesize}, tick label style={font=\\scriptsize}}",
            "point meta min": latex.number(low),
            "point meta max": latex.number(high),
        }
        for which, log, edges in (("x", self.x_log, xs), ("y", self.y_log, ys)):
            if log:
                latex.add_log_ticks(options, which, float(edges[-1]))
        if len(self.y_values) == 1:
            options |= {"ytick": r"\empty", "ylabel": "{}", "height": "3.2cm"}
        cells = []
        for i, j in np.argwhere(np.isfinite(filled)).tolist():
            corners = ((xs[i], ys[j]), (xs[i + 1], ys[j]), (xs[i + 1], ys[j + 1]), (xs[i], ys[j + 1]))
            value = latex.number(filled[i, j], Meaning.CERTIFIED)
            cells.append("\n".join(f"{latex.number(x)} {latex.number(y)} {value}" for x, y in corners))
        body = []
        if cells:
            style = "patch, patch type=rectangle, shader=flat corner, point meta=explicit, forget plot"
            body.append(
                f"\\addplot[{style}] table[x index=0, y index=1, meta index=2] {{\n" + "\n".join(cells) + "\n};"
            )
        body += contour_levels.draw_latex(self, xs, ys, width_cm)
        if self.marker is not None:
            x = positions(np.array([self.marker[0]]), self.x_log)
            y = positions(np.array([self.marker[1]]), self.y_log)
            style = f"only marks, mark=x, mark size=3pt, line width=1.4pt, color={latex.colour(VERMILLION)}"
            body += [f"\\addplot[{style}] coordinates {{{latex.points(x, y)}}};", r"\addlegendentry{current budgets}"]
        return latex.axis(options, body)


def contour_figure(
    surface: Surface,
    *,
    x: str,
    y: str,
    show: str = MapOf.RATIO,
    reference: Surface | None = None,
    levels: Sequence[float] = (0.5, 0.7),
    gaps: bool = True,
    accuracy_of: int | None = None,
    attacks: np.ndarray | None = None,
    **more: Any,
) -> ContourFigure:
    """A map of a `Surface`; the reference is its naive count, or another surface (for example the paper's).

    `accuracy_of`: the targets are the right labels among this many, and ratios are certified accuracies. `attacks` are
    the targets that the best known attack leaves uncertified in each cell, NaN where none was searched for. Unsolved
    cells stay empty; with `gaps=False` they show the sound but weaker bound known so far. `more` are further fields of
    the figure, such as `marker`, `kind` or `title`.
    """
    of = int(surface.targets) if accuracy_of is None else accuracy_of
    targets = max(of, 1)
    certified = _counts(surface.certified, surface.done if gaps else None)
    if reference is None:
        compared = np.asarray(surface.naive)
    else:
        compared = _counts(reference.certified, reference.done if gaps else None)
    return ContourFigure(
        x=x, y=y, x_values=surface.x_values, y_values=surface.y_values, ratio=certified / targets,
        reference=compared / targets, show=show, levels=tuple(levels), certified=certified,
        reference_certified=compared, bounds=int(surface.targets) - certified, attacks=attacks, targets=of,
        accuracy=accuracy_of is not None,
        **{"name": ("contours" if show == MapOf.RATIO else show) + f"-{x}-{y}", **more},
    )  # fmt: skip


def _counts(counts: np.ndarray, done: np.ndarray | None) -> np.ndarray:
    """Counts, NaN where a cell has not been computed yet."""
    array = np.asarray(counts)
    if done is None or np.asarray(done).all():
        return array
    return np.where(np.asarray(done), array, np.nan)


def measure(figure: ContourFigure) -> str:
    """The name of the quantity that fills the cells of a map."""
    if figure.measure:
        return clean(figure.measure)
    if figure.show == MapOf.BRACKET:
        return "width of the bracket: proven bound − best attack found"
    if figure.show == MapOf.DIFFERENCE:
        return f"gain: {KINDS[figure.kind].label} − {KINDS[figure.reference_kind].label}"
    kind = figure.kind if figure.show == MapOf.RATIO else figure.reference_kind
    return f"{ACCURACY_LABEL if figure.accuracy else RATIO_LABEL} ({KINDS[kind].label})"


def _texts(figure: ContourFigure, part: np.ndarray) -> list[list[str]]:
    """Fractions as text: certified ratios rounded down, gaps rounded up."""
    if figure.show == MapOf.BRACKET and part is not figure.ratio and part is not figure.reference:
        return [[rounded_up(v, 4) if np.isfinite(v) else "not known yet" for v in row] for row in part.tolist()]
    return [ratios(column) for column in part]


def _counts_told(counts: np.ndarray, form: str, unknown: str) -> list[list[str]]:
    return [[form.format(int(v)) if np.isfinite(v) else unknown for v in row] for row in counts.astype(float).tolist()]


def cell_hover(figure: ContourFigure) -> tuple[list[list[list[Any]]], str]:
    """For each cell its budgets and numbers as text, and the template of the tooltip."""
    names, texts = [for_plotly(measure(figure))], [_texts(figure, figure.filled)]
    if figure.reference is not None:
        names += [KINDS[figure.kind].label, KINDS[figure.reference_kind].label]
        texts += [_texts(figure, figure.ratio), _texts(figure, figure.reference)]
    if figure.bounds is not None:
        of = f" of {figure.targets:,}" if figure.targets and not figure.accuracy else ""
        names.append("can be left uncertified")
        texts.append(_counts_told(figure.bounds, "at most {:,}" + of, "not computed"))
    if figure.attacks is not None:
        names.append("best attack found leaves uncertified")
        texts.append(_counts_told(figure.attacks, "{:,}", "none looked for yet"))
        if figure.bounds is not None:
            names.append("bracket")
            texts.append(_counts_told(figure.bounds - figure.attacks, "{:,} labels wide", "not known yet"))
    data = [
        [[x, y, *(text[i][j] for text in texts)] for j, y in enumerate(figure.y_values.tolist())]
        for i, x in enumerate(figure.x_values.tolist())
    ]
    hover = f"{axis_label(figure.x)}: %{{customdata[0]:,}}<br>{axis_label(figure.y)}: %{{customdata[1]:,}}"
    hover += "".join(f"<br>{name}: %{{customdata[{k}]}}" for k, name in enumerate(names, 2))
    return data, hover
