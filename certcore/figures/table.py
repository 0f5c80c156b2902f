"""The plain table behind each figure: exactly the plotted numbers."""

from __future__ import annotations

import csv
import io
from collections.abc import Sequence
from dataclasses import dataclass
from functools import singledispatch
from typing import Any

import numpy as np

from certcore.common.errors import InputError
from certcore.common.rounding import rounded_down, rounded_up
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
    meanings_of,
)
from certcore.figures.escape import for_csv, for_html
from certcore.figures.geometry import edge_keys
from certcore.figures.style import KINDS


@dataclass(frozen=True)
class Table:
    """Columns and rows; cells are text, whole numbers, floats, booleans or None.

    `meanings` says for each column which way its numbers are rounded where people read them.
    """

    columns: tuple[str, ...]
    rows: tuple[tuple[Any, ...], ...]
    meanings: tuple[Meaning, ...] = ()

    def __post_init__(self) -> None:
        object.__setattr__(self, "meanings", meanings_of(self.columns, self.meanings))

    def texts(self, row: Sequence[Any]) -> list[str]:
        """A row as people read it."""
        return [format_cell(cell, meaning) for cell, meaning in zip(row, self.meanings)]

    def chosen(self, keep: Sequence[int], rows: Sequence[Sequence[Any]] | None = None) -> Table:
        """Some of the columns, of all rows or of the given ones."""
        rows = self.rows if rows is None else rows
        cells = tuple(tuple(row[k] for k in keep) for row in rows)
        return Table(tuple(self.columns[k] for k in keep), cells, tuple(self.meanings[k] for k in keep))

    def csv(self) -> str:
        """RFC 4180 text; floats in their shortest exact form, names that cannot become formulas."""
        text = io.StringIO()
        writer = csv.writer(text, lineterminator="\r\n")
        writer.writerow([for_csv(column) for column in self.columns])
        writer.writerows([_csv_cell(cell) for cell in row] for row in self.rows)
        return text.getvalue()

    def html(self, *, limit: int | None = None) -> str:
        """An HTML table; says so when only the first `limit` rows are shown."""
        rows = self.rows if limit is None else self.rows[:limit]
        head = "".join(f'<th scope="col">{for_html(column)}</th>' for column in self.columns)
        body = "".join("<tr>" + "".join(map(_html_cell, row, self.texts(row))) + "</tr>" for row in rows)
        more = ""
        if len(rows) < len(self.rows):
            more = f"<p>The first {len(rows):,} of {len(self.rows):,} rows; all of them are in the CSV file.</p>"
        return f"<table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>{more}"


def make_table(columns: Sequence[str], rows: Sequence[Sequence[Any]], meanings: Sequence[Meaning] = ()) -> Table:
    """A table of plain Python values (numpy scalars become numbers, NaN becomes None)."""
    return Table(tuple(columns), tuple(tuple(_plain(cell) for cell in row) for row in rows), tuple(meanings))


@singledispatch
def table(figure: Figure) -> Table:
    """The table behind a figure."""
    raise InputError(f"there is no table for a {type(figure).__name__}")


@table.register
def _curve(figure: CurveFigure) -> Table:
    columns = {
        "line": Meaning.PLAIN,
        "kind": Meaning.PLAIN,
        figure.vary: Meaning.PLAIN,
        "certified_ratio": Meaning.CERTIFIED,
        "certified": Meaning.CERTIFIED,
        "targets": Meaning.PLAIN,
        "low": Meaning.CERTIFIED,
        "high": Meaning.CERTIFIED,
        "average_radius": Meaning.CERTIFIED,
    }
    rows: list[tuple[Any, ...]] = []
    for line in figure.lines:
        n = len(line.values)
        blank = [None] * n
        parts = (line.values, line.ratio, line.certified, [line.targets] * n, line.low, line.high)
        cells = zip(*(blank if part is None else part for part in parts))
        rows += [(line.name, line.kind, *row, line.average_radius) for row in cells]
    return _without_empty(make_table(list(columns), rows, list(columns.values())))


@table.register
def _compare(figure: CompareFigure) -> Table:
    return _curve(figure)


@table.register
def _contour(figure: ContourFigure) -> Table:
    columns = [figure.x, figure.y, "certified_ratio", f"{figure.reference_kind}_ratio", "difference"]
    columns += ["certified", f"{figure.reference_kind}_certified", "targets"]
    meanings = [Meaning.PLAIN] * 2 + [Meaning.CERTIFIED] * 5 + [Meaning.PLAIN]
    rows = []
    difference = None if figure.reference is None else figure.ratio - figure.reference
    for i, x in enumerate(figure.x_values):
        for j, y in enumerate(figure.y_values):
            shares = [None if part is None else part[i, j] for part in (figure.ratio, figure.reference, difference)]
            counts = [None if part is None else part[i, j] for part in (figure.certified, figure.reference_certified)]
            rows.append((x, y, *shares, *(_whole(count) for count in counts), figure.targets))
    return _without_empty(make_table(columns, rows, meanings))


@table.register
def _bars(figure: BarFigure) -> Table:
    columns = ["category", "size"]
    for bars in figure.series:
        columns += [bars.label, f"{bars.label} (count)"]
    rows = []
    for i, name in enumerate(figure.categories):
        row: list[Any] = [name, None if figure.sizes is None else figure.sizes[i]]
        for bars in figure.series:
            row += [bars.values[i], None if bars.counts is None else bars.counts[i]]
        rows.append(row)
    return _without_empty(make_table(columns, rows, [Meaning.PLAIN] * 2 + [figure.meaning] * 2 * len(figure.series)))


@table.register
def _graph(figure: GraphFigure) -> Table:
    columns = {
        "element": Meaning.PLAIN,
        "node": Meaning.INDEX,
        "other_node": Meaning.INDEX,
        "name": Meaning.PLAIN,
        "x": Meaning.PLAIN,
        "y": Meaning.PLAIN,
        "state": Meaning.PLAIN,
        "spent": Meaning.ATTACKED,
        "attacker": Meaning.PLAIN,
        "protected": Meaning.PLAIN,
        "deleted": Meaning.ATTACKED,
    }
    attackers = set(() if figure.attackers is None else figure.attackers.tolist())
    protected = set(() if figure.protected is None else figure.protected.tolist())
    rows: list[tuple[Any, ...]] = []
    for i, (x, y) in enumerate(figure.positions.tolist()):
        name = None if figure.names is None else figure.names[i]
        spent = None if figure.spent is None else figure.spent[i]
        state = figure.groups[int(figure.state[i])]
        rows.append(("node", i, None, name, x, y, state, spent, i in attackers, i in protected, None))
    blank = (None,) * 7
    for (i, j), amount in zip(figure.edges.tolist(), deleted_amounts(figure).tolist()):
        rows.append(("edge", i, j, *blank, amount))
    for i, j in () if figure.added is None else figure.added.tolist():
        rows.append(("added edge", i, j, *blank, None))
    return _without_empty(make_table(list(columns), rows, list(columns.values())))


def deleted_amounts(figure: GraphFigure) -> np.ndarray:
    """How much of each edge is gone (0 or 1 in an attack, a share in the relaxed adversary)."""
    if figure.deleted is None or not len(figure.deleted):
        return np.zeros(len(figure.edges), dtype=np.int64)
    keys, gone = edge_keys(figure.edges, figure.deleted)
    amounts = np.ones(len(gone), dtype=np.int64) if figure.amount is None else figure.amount
    result = np.zeros(len(keys), dtype=amounts.dtype)
    order = np.argsort(keys)
    result[order[np.searchsorted(keys, gone, sorter=order)]] = amounts
    return result


@table.register
def _front(figure: FrontFigure) -> Table:
    rows = [("front", *point) for point in figure.points.tolist()]
    for name, pair in (("received", figure.received), ("budget", figure.budgets)):
        if pair is not None:
            rows.append((name, *(int(v) if float(v).is_integer() else v for v in pair)))
    return make_table(("what", figure.x, figure.y), rows)


@table.register
def _distribution(figure: DistributionFigure) -> Table:
    columns = ["from", "to", *(bars.label for bars in figure.series)]
    rows = zip(figure.edges[:-1], figure.edges[1:], *(bars.values for bars in figure.series))
    return make_table(columns, list(rows))


def summary(figure: Figure) -> Table | None:
    """A short table for the page: the comparison itself, or what a curve comes to."""
    if isinstance(figure, CompareFigure) and figure.columns:
        return make_table(figure.columns, figure.rows, figure.meanings)
    if isinstance(figure, CurveFigure):
        rows = [
            (line.name, KINDS[line.kind].label, line.average_radius, line.ratio[0], line.ratio[-1])
            for line in figure.lines
        ]
        columns = ("line", "certificate", "average radius r̄", "ratio at first value", "ratio at last value")
        return _without_empty(make_table(columns, rows, [Meaning.PLAIN] * 2 + [Meaning.CERTIFIED] * 3))
    return None


def _without_empty(full: Table) -> Table:
    """Drop columns in which nothing is said (None or empty text in every row)."""
    return full.chosen([k for k in range(len(full.columns)) if any(row[k] not in (None, "") for row in full.rows)])


def _whole(count: Any) -> int | None:
    """A count as a whole number; a map that is not complete holds its counts as floats with gaps."""
    return None if count is None or not np.isfinite(count) else int(count)


def _plain(cell: Any) -> Any:
    value = cell.item() if isinstance(cell, np.generic) else cell
    return None if isinstance(value, float) and not np.isfinite(value) else value


def _csv_cell(cell: Any) -> str:
    if cell is None:
        return ""
    if isinstance(cell, bool):
        return "true" if cell else "false"
    return for_csv(cell) if isinstance(cell, str) else repr(cell)


def _html_cell(cell: Any, text: str) -> str:
    kind = ' class="number"' if isinstance(cell, int | float) and not isinstance(cell, bool) else ""
    return f"<td{kind}>{for_html(text)}</td>"


def format_cell(cell: Any, meaning: Meaning = Meaning.PLAIN) -> str:
    """A cell as people read it: a few digits in the direction of its meaning, a dash for nothing."""
    if cell is None:
        return "–"
    if isinstance(cell, bool):
        return "yes" if cell else "no"
    if isinstance(cell, str):
        return cell
    if isinstance(cell, int):
        return str(cell) if meaning is Meaning.INDEX else f"{cell:,}"
    digits = 3 if abs(cell) < 10 else 2
    if meaning is Meaning.CERTIFIED:
        return rounded_down(cell, digits)
    return rounded_up(cell, digits) if meaning is Meaning.ATTACKED else f"{cell:,.{digits}f}"
