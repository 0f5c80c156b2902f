"""Several instances on the same axes, with a table below."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from certcore.common.errors import InputError
from certcore.figures.escape import clean
from certcore.figures.kinds.curve import CurveFigure, Line
from certcore.figures.kinds.curve_lines import as_accuracy, mean_lines
from certcore.figures.style import COMPARED, KINDS, Dash, Kind
from certcore.figures.table import Meaning, Table, make_table, meanings_of, without_empty
from certcore.figures.tabular import rows_as_tabular

if TYPE_CHECKING:
    from certcore.figures.matplotlib_figure import Sheet


@dataclass(frozen=True, eq=False, kw_only=True)
class CompareFigure(CurveFigure):
    """Several instances on the same axes, with a table below; `meanings` gives the rounding of each of its columns."""

    columns: tuple[str, ...] = ()
    meanings: tuple[Meaning, ...] = ()
    rows: tuple[tuple[Any, ...], ...] = ()
    name: str = "compare"

    def __post_init__(self) -> None:
        super().__post_init__()
        object.__setattr__(self, "columns", tuple(self.columns))
        object.__setattr__(self, "meanings", meanings_of(self.columns, self.meanings))
        object.__setattr__(self, "rows", tuple(tuple(row) for row in self.rows))
        for row in self.rows:
            if len(row) != len(self.columns):
                raise InputError(f"a row of the comparison has {len(row)} cells; expected {len(self.columns)}")

    def look(self, line: Line, family: bool) -> tuple[str, Dash]:
        token, dash = COMPARED[line.group % len(COMPARED)]
        return token.light, KINDS[Kind.NAIVE].dash if line.kind == Kind.NAIVE else dash

    def _comparison(self) -> Table:
        return make_table(self.columns, self.rows, self.meanings)

    def paper_table(self) -> Table:
        return self._comparison() if self.rows else super().paper_table()

    def summary(self) -> Table | None:
        return self._comparison() if self.columns else super().summary()

    def draw_latex(self, width_cm: float) -> str:
        drawn = super().draw_latex(width_cm)
        if not self.rows:
            return drawn
        below = self._comparison()
        table = rows_as_tabular(below, below.rows)
        node = f"\\node[anchor=north, font=\\footnotesize] at (current bounding box.south) {{{table}}};\n"
        end = "\\end{tikzpicture}\n"
        return drawn.removesuffix(end) + node + end

    def draw_print(self, sheet: Sheet) -> None:
        from matplotlib.transforms import Bbox

        if not self.rows:
            super().draw_print(sheet)
            return
        most = 40 if sheet.wide else 22
        below = without_empty(self._comparison())
        rows = [list(below.columns), *([clean(text, most) for text in below.texts(row)] for row in below.rows)]
        sheet.below = (len(rows) + 0.5) * sheet.font * 1.5 / 72
        sheet.resize(sheet.height + sheet.below)
        super().draw_print(sheet)
        lower = sheet.lower
        lengths = [max(len(str(row[k])) for row in rows) + 2 for k in range(len(below.columns))]
        widths = [length / sum(lengths) for length in lengths]
        cells = [[sheet.printable(cell, 40) for cell in row] for row in rows]
        drawn = lower.table(cells, colWidths=widths, cellLoc="right", edges="horizontal", bbox=Bbox([[0, 0], [1, 1]]))
        drawn.auto_set_font_size(False)
        size = sheet.font - 1
        needed = sum(max(sheet.text_width(row[k], size * 1.1) for row in cells) + size for k in range(len(widths)))
        drawn.set_fontsize(min(size, size * 0.9 * sheet.width * 72 / needed))
        for (row, column), cell in drawn.get_celld().items():
            cell.set_linewidth(0.5)
            cell.visible_edges = "TB" if row == 0 else "B" if row == len(cells) - 1 else "open"
            cell.PAD = 0.02
            if column == 0:
                cell.set_text_props(ha="left")
            if row == 0:
                cell.set_text_props(weight="bold")


@dataclass(frozen=True, eq=False)
class CompareEntry:
    """One instance of a comparison: its curve (or one curve per split), and its accuracy if known.

    `accuracy_of`: its targets are the right labels among this many, and its ratios are certified accuracies.
    """

    name: str
    curve: Any
    accuracy: float | None = None
    accuracy_of: int | None = None
    samples: int | None = None
    """Votes behind it; told in the table where they differ, since more votes alone certify more."""


def compare_figure(
    entries: Sequence[CompareEntry], *, vary: str, log: bool = False, marker: float | None = None, **more: Any
) -> CompareFigure:
    """Several instances on the same axes, with their accuracy, samples if they differ, both r̄, and the gain."""
    lines: list[Line] = []
    rows = []
    differ = len({entry.samples for entry in entries} - {None}) > 1
    for group, entry in enumerate(entries):
        splits = entry.curve if isinstance(entry.curve, list | tuple) else [entry.curve]
        if entry.accuracy_of is not None:
            splits = as_accuracy(splits, entry.accuracy_of)
        ours, naive = mean_lines(splits, entry.name, group)
        lines += [ours, naive]
        gain = None
        if ours.average_radius is not None and naive.average_radius:
            gain = ours.average_radius / naive.average_radius
        votes = [entry.samples] if differ else []
        rows.append((entry.name, entry.accuracy, *votes, naive.average_radius, ours.average_radius, gain))
    shares = {entry.accuracy_of is not None for entry in entries}
    if len(shares) > 1:
        raise InputError("some instances tell certified accuracies and others certified ratios; compare like with like")
    return CompareFigure(
        vary=vary, accuracy=shares == {True}, lines=tuple(lines), log=log, marker=marker,
        columns=("instance", "accuracy", *["samples"][:differ], "r̄ naive", "r̄ collective", "gain (×)"),
        meanings=(*[Meaning.PLAIN] * (2 + differ), Meaning.CERTIFIED, Meaning.CERTIFIED, Meaning.CERTIFIED),
        rows=tuple(rows), **{"name": f"compare-{vary}", **more},
    )  # fmt: skip
