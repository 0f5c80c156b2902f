"""Bars per category: certified ratio per class, or votes."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from certcore.common.errors import InputError
from certcore.figures import latex
from certcore.figures.escape import clean, for_latex, for_plotly
from certcore.figures.figure import Figure, numbers
from certcore.figures.style import BLACK, KINDS, RATIO_LABEL, Kind, on_background
from certcore.figures.table import Meaning, Table, format_cell, make_table, meanings_of, without_empty

if TYPE_CHECKING:
    from certcore.figures.matplotlib_figure import Sheet


@dataclass(frozen=True, eq=False, kw_only=True)
class Bars:
    """One series of bars: a value per category, and the counts behind it if there are any."""

    label: str
    values: np.ndarray
    kind: str = Kind.COLLECTIVE
    counts: np.ndarray | None = None

    def __post_init__(self) -> None:
        numbers(self, "values", (None,), f"series {self.label!r}")
        numbers(self, "counts", (len(self.values),), f"series {self.label!r}")


@dataclass(frozen=True, eq=False, kw_only=True)
class BarFigure(Figure):
    """Bars per category (certified ratio per class, votes per class)."""

    categories: tuple[str, ...]
    series: tuple[Bars, ...]
    label: str = "certified ratio"
    meaning: Meaning = Meaning.CERTIFIED
    sizes: np.ndarray | None = None
    limit: float | None = 1.0
    name: str = "classes"

    PARTS: ClassVar = {"series": Bars}

    def __post_init__(self) -> None:
        super().__post_init__()
        object.__setattr__(self, "categories", tuple(str(c) for c in self.categories))
        object.__setattr__(self, "meaning", meanings_of((self.label,), (self.meaning,))[0])
        object.__setattr__(self, "series", tuple(self.series))
        n = len(self.categories)
        if n == 0 or not self.series:
            raise InputError("a bar figure needs at least one category and one series")
        numbers(self, "sizes", (n,), "the bar figure")
        for bars in self.series:
            if len(bars.values) != n:
                raise InputError(f"series {bars.label!r} has {len(bars.values)} bars; expected {n}, one per category")

    def table(self) -> Table:
        columns = ["category", "size"]
        for bars in self.series:
            columns += [bars.label, f"{bars.label} (count)"]
        rows = []
        for i, name in enumerate(self.categories):
            row: list[Any] = [name, None if self.sizes is None else self.sizes[i]]
            for bars in self.series:
                row += [bars.values[i], None if bars.counts is None else bars.counts[i]]
            rows.append(row)
        return without_empty(make_table(columns, rows, [Meaning.PLAIN] * 2 + [self.meaning] * 2 * len(self.series)))

    def description(self) -> str:
        said = []
        for i, name in enumerate(self.categories[:12]):
            numbers = [(bars.label, format_cell(bars.values[i].item(), self.meaning)) for bars in self.series]
            values = ", ".join(f"{clean(label, 30)} {text}" for label, text in numbers)
            said.append(f"{clean(name, 30)}: {values}")
        return f"Bars of {clean(self.label)}. {'; '.join(said)}."

    def draw_screen(self, screen: Any, dark: bool) -> None:
        names = [for_plotly(name, 40) for name in self.categories]
        # Equal names (also after shortening) must stay separate bars: the axis uses indices, tick texts show the names.
        rows = list(range(len(names)))
        for bars in self.series:
            kind = KINDS[bars.kind]
            label = for_plotly(bars.label)
            data = [names, [format_cell(value, self.meaning) for value in bars.values.tolist()]]
            hover = f"%{{customdata[0]}}<br>{label}: %{{customdata[1]}}"
            if bars.counts is not None and self.sizes is not None:
                data += [bars.counts.tolist(), self.sizes.tolist()]
                hover += "<br>%{customdata[2]:,} of %{customdata[3]:,} nodes"
            screen.add_bar(
                y=rows,
                x=bars.values,
                orientation="h",
                name=label,
                customdata=[list(cell) for cell in zip(*data)],
                marker={
                    "color": on_background(kind.colour, dark),
                    "pattern": {"shape": "" if bars.kind == Kind.COLLECTIVE else "/", "solidity": 0.35},
                },
                hovertemplate=hover + "<extra></extra>",
            )
        screen.update_yaxes(tickvals=rows, ticktext=names, autorange="reversed", showgrid=False, zeroline=False)
        screen.update_xaxes(title=for_plotly(self.label), rangemode="tozero")
        if self.limit is not None:
            screen.update_xaxes(range=[0, self.limit * 1.02])
        screen.update_layout(barmode="group", bargap=0.3, showlegend=len(self.series) > 1)

    def draw_print(self, sheet: Sheet) -> None:
        from matplotlib.ticker import MaxNLocator

        names = [sheet.printable(name, 28) for name in self.categories]
        sheet.resize((0.55 + 0.16 * len(names) * (1 + 0.4 * (len(self.series) - 1))) * sheet.scale + 0.1)
        axes = sheet.axes()
        axes.grid(True, axis="x", color="#E3E5E8", linewidth=0.5)
        axes.set_axisbelow(True)
        thickness = 0.8 / len(self.series)
        rows = np.arange(len(names))
        handles = []
        for k, bars in enumerate(self.series):
            kind = KINDS[bars.kind]
            drawn = axes.barh(
                rows + (k - (len(self.series) - 1) / 2) * thickness, bars.values, thickness, facecolor=kind.colour,
                edgecolor="white" if not kind.hatch else BLACK, linewidth=0.3, hatch=kind.hatch,
                label=sheet.printable(bars.label, 40),
            )  # fmt: skip
            for patch in drawn:
                patch.set_gid(f"bars-{k}")
            handles.append(
                sheet.patch(
                    facecolor=kind.colour, edgecolor=BLACK, linewidth=0.3, hatch=kind.hatch, label=drawn.get_label()
                )
            )
        axes.set_yticks(rows, names)
        axes.set_ylim(len(names) - 0.5, -0.5)
        if self.limit is not None:
            axes.set_xlim(0, self.limit)
        else:
            sheet.thousands(axes.xaxis)
            axes.xaxis.set_major_locator(MaxNLocator(nbins=5))
        sheet.labels(axes, self.label, "", share=0.55)  # the category names at the left need the rest
        if len(self.series) > 1:
            sheet.legend(handles)

    def draw_latex(self, width_cm: float) -> str:
        count = len(self.categories)
        options = latex.frame(width_cm * 0.75, self.label, "")
        thickness = 2.6 if len(self.series) > 1 else 4.0
        del options["height"]
        options |= {
            "scale only axis": "",
            "width": f"{width_cm * 0.6:.3g}cm",
            "xlabel style": f"{{text width={width_cm * 0.6:.3g}cm, align=center}}",
            "height": f"{count * thickness * (len(self.series) + 0.8) / 10:.3g}cm",
            "xbar": "0pt",
            "bar width": f"{thickness}mm",
            "y dir": "reverse",
            "ymin": "-0.6",
            "ymax": f"{count - 0.4:g}",
            "xmin": "0",
            "ytick": f"{{{latex.listed(range(count))}}}",
            "yticklabels": f"{{{latex.listed(f'{{{for_latex(name, 40)}}}' for name in self.categories)}}}",
            # The axis points downwards, which would put the first series below the second: draw and list them in
            # reverse.
            "reverse legend": "",
        }
        if len(self.label) > 7 * width_cm * 0.6:  # a label longer than one line needs space for a second one
            options["legend style"] = options["legend style"].replace("-11.5mm", "-15.5mm")
        if self.limit is not None:
            options["xmax"] = latex.number(self.limit)
        body = []
        for bars in reversed(self.series):
            kind = KINDS[bars.kind]
            fill = f"area legend, draw=black, line width=0.2pt, fill={latex.colour(kind.colour)}"
            if kind.hatch:
                fill += f", postaction={{pattern={latex.HATCHES[kind.hatch]}}}"
            body.append(
                f"\\addplot[{fill}] coordinates {{\n{latex.points(bars.values, np.arange(count), self.meaning)}\n}};"
            )
            if len(self.series) > 1:
                body.append(f"\\addlegendentry{{{for_latex(bars.label)}}}")
        return latex.axis(options, body)


def class_figure(
    class_names: Sequence[str], certified: Sequence[int], naive: Sequence[int], sizes: Sequence[int], **more: Any
) -> BarFigure:
    """Certified ratio per class, collective and naive, from counts.

    Each class is a separate target set, attacked with the whole budget: every bar may be below the ratio of all targets
    together. The axis label states this, on the screen and in every export.
    """
    size = np.maximum(np.asarray(sizes), 1)
    return BarFigure(
        categories=tuple(class_names),
        series=(
            Bars(label="collective", values=np.asarray(certified) / size, counts=np.asarray(certified)),
            Bars(label="naive", values=np.asarray(naive) / size, counts=np.asarray(naive), kind=Kind.NAIVE),
        ),
        sizes=np.asarray(sizes),
        **{"name": "classes", "label": f"{RATIO_LABEL} (whole budget against each class)", **more},
    )


def votes_figure(
    votes: Sequence[int], class_names: Sequence[str], prediction: int | None = None, node: str = "", **more: Any
) -> BarFigure:
    """Estimation votes of one node per class; the certified label is marked."""
    names = [f"{name} (label)" if k == prediction else str(name) for k, name in enumerate(class_names)]
    title = f"Votes of node {node}" if node else ""
    return BarFigure(
        categories=tuple(names),
        series=(Bars(label="votes", values=np.asarray(votes)),),
        label="votes",
        meaning=Meaning.PLAIN,
        limit=None,
        **{"name": "votes", "title": title, **more},
    )
