"""Tables: columns and rows, the rounding direction of each column, and the only writers of files with tables.

A guarantee is rounded down and an attack up; text is escaped so that no spreadsheet reads it as a formula. The writers
of pandas do neither, so nothing else here uses them.
"""

from __future__ import annotations

import csv
import io
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import TYPE_CHECKING, Any

import numpy as np

from certcore import __version__
from certcore.common.errors import InputError
from certcore.common.plain import to_plain
from certcore.common.rounding import rounded_down, rounded_up
from certcore.figures.escape import for_comment, for_csv, for_html, for_latex

if TYPE_CHECKING:
    import pandas as pd

#: The most rows of a table in a paper.
MOST_ROWS = 40


class Meaning(StrEnum):
    """The meaning of numbers, which decides their rounding for display (CSV and JSON are not rounded)."""

    PLAIN = "plain"
    """Neither a guarantee nor an attack (accuracies, coordinates): rounded to the nearest."""
    CERTIFIED = "certified"
    """A guarantee: rounded down."""
    ATTACKED = "attacked"
    """Reached or reachable by an attacker: rounded up."""
    INDEX = "index"
    """An identifier that happens to be a number: every digit, no separators."""


def meanings_of(columns: Sequence[str], meanings: Sequence[str]) -> tuple[Meaning, ...]:
    """One meaning per column; an empty sequence means that all of them are plain."""
    if not meanings:
        return (Meaning.PLAIN,) * len(columns)
    known = [str(meaning) for meaning in Meaning]
    if len(meanings) != len(columns) or any(meaning not in known for meaning in meanings):
        raise InputError(
            f"a table of {len(columns)} columns has the meanings {list(meanings)}; expected one of {known} each"
        )
    return tuple(Meaning(meaning) for meaning in meanings)


@dataclass(frozen=True)
class Table:
    """Columns and rows; cells are text, integers, floats, booleans or None.

    `meanings` gives the rounding direction of each column for display.
    """

    columns: tuple[str, ...]
    rows: tuple[tuple[Any, ...], ...]
    meanings: tuple[Meaning, ...] = ()

    def __post_init__(self) -> None:
        object.__setattr__(self, "meanings", meanings_of(self.columns, self.meanings))

    def texts(self, row: Sequence[Any]) -> list[str]:
        """A row as display texts."""
        return [format_cell(cell, meaning) for cell, meaning in zip(row, self.meanings)]

    def chosen(self, keep: Sequence[int], rows: Sequence[Sequence[Any]] | None = None) -> Table:
        """Some of the columns, for all rows or for the given ones."""
        rows = self.rows if rows is None else rows
        cells = tuple(tuple(row[k] for k in keep) for row in rows)
        return Table(tuple(self.columns[k] for k in keep), cells, tuple(self.meanings[k] for k in keep))

    def csv(self) -> str:
        """RFC 4180 text, see `csv_text`."""
        return csv_text(self.columns, self.rows)

    def tex(self, name: str = "table", most: int = MOST_ROWS, *, first: bool = False) -> str:
        """A `tabular` with booktabs rules, for \\input in a paper; numbers are aligned right.

        Of a long table it has some rows, evenly along the whole or its `first` ones; a comment and its last row say so.
        """
        step = -(-len(self.rows) // most)
        rows = self.rows[:most] if first else self.rows[:: max(step, 1)]
        which = "the first ones" if first else f"one in {step}"
        cut = f"{len(rows)} of {len(self.rows)} rows, {which}" if step > 1 else ""
        numeric = [all(not isinstance(row[k], str) for row in rows) for k in range(len(self.columns))]
        lines = [f"% {for_comment(name)}: made by certcore {__version__}; needs \\usepackage{{booktabs}}"]
        lines += [f"% {cut}; the CSV file has all of them"] if cut else []
        lines += [rf"\begin{{tabular}}{{{''.join('r' if number else 'l' for number in numeric)}}}", r"\toprule"]
        lines += [" & ".join(for_latex(column) for column in self.columns) + r" \\", r"\midrule"]
        lines += [" & ".join(for_latex(text) for text in self.texts(row)) + r" \\" for row in rows]
        lines += [rf"\multicolumn{{{len(self.columns)}}}{{l}}{{({for_latex(cut, 120)})}} \\"] if cut else []
        return "\n".join([*lines, r"\bottomrule", r"\end{tabular}", ""])

    def html(self, *, limit: int | None = None) -> str:
        """An HTML table; it states when only the first `limit` rows are shown."""
        rows = self.rows if limit is None else self.rows[:limit]
        head = "".join(f'<th scope="col">{for_html(column)}</th>' for column in self.columns)
        body = "".join("<tr>" + "".join(map(_html_cell, row, self.texts(row))) + "</tr>" for row in rows)
        more = ""
        if len(rows) < len(self.rows):
            more = f"<p>The first {len(rows):,} of {len(self.rows):,} rows; all of them are in the CSV file.</p>"
        return f"<table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>{more}"

    def frame(self) -> pd.DataFrame:
        """A pandas frame of the same cells, with every digit; text is escaped as in the CSV file."""
        import pandas as pd

        return harmless(pd.DataFrame(list(self.rows), columns=list(self.columns)))


def harmless(frame: pd.DataFrame) -> pd.DataFrame:
    """The same frame with escaped text: no spreadsheet reads a name in it as a formula, however it is saved."""
    import pandas as pd

    columns: dict[str, Any] = {}
    for place, name in enumerate(frame.columns):
        title = for_csv(name)
        while title in columns:  # two names may become equal
            title += "′"
        cells = frame.iloc[:, place]
        text = not pd.api.types.is_numeric_dtype(cells.dtype)
        columns[title] = [for_csv(c) if isinstance(c, str) else c for c in cells] if text else cells
    return pd.DataFrame(columns, index=frame.index)


def csv_text(columns: Sequence[str], rows: Iterable[Sequence[Any]], *, newline: str = "\r\n") -> str:
    """CSV as all exports write it.

    Floats have their shortest exact form, and missing numbers are empty. Text is escaped so that no spreadsheet reads
    it as a formula; numbers stay numbers, also negative ones.
    """
    text = io.StringIO()
    writer = csv.writer(text, lineterminator=newline)
    writer.writerow([for_csv(column) for column in columns])
    writer.writerows([_csv_cell(to_plain(cell)) for cell in row] for row in rows)
    return text.getvalue()


def make_table(columns: Sequence[str], rows: Sequence[Sequence[Any]], meanings: Sequence[Meaning] = ()) -> Table:
    """A table of plain Python values (numpy scalars become numbers, NaN becomes None)."""
    return Table(tuple(columns), tuple(tuple(to_plain(cell) for cell in row) for row in rows), tuple(meanings))


def without_empty(full: Table) -> Table:
    """Drop columns that are empty (None or empty text) in every row."""
    return full.chosen([k for k in range(len(full.columns)) if any(row[k] not in (None, "") for row in full.rows)])


def whole(count: Any) -> int | None:
    """A count as an integer; incomplete maps hold counts as floats with NaN."""
    return None if count is None or not np.isfinite(count) else int(count)


def ratio_texts(values: np.ndarray) -> list[str]:
    """Certified ratios as text, rounded down."""
    return [rounded_down(value, 4) if np.isfinite(value) else "not computed" for value in values.tolist()]


def _csv_cell(cell: object) -> str:
    if cell is None:
        return ""
    if isinstance(cell, bool):
        return "true" if cell else "false"
    return repr(cell) if isinstance(cell, int | float) else for_csv(cell)


def _html_cell(cell: object, text: str) -> str:
    kind = ' class="number"' if isinstance(cell, int | float) and not isinstance(cell, bool) else ""
    return f"<td{kind}>{for_html(text)}</td>"


def format_cell(cell: Any, meaning: Meaning = Meaning.PLAIN) -> str:
    """A cell as display text: a few digits, rounded by its meaning, a dash for None."""
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
