"""Tables for LaTeX: a `tabular` with booktabs rules, for \\input in a paper."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from certcore import __version__
from certcore.figures.escape import for_comment, for_latex
from certcore.figures.figure import Figure
from certcore.figures.table import Table

MAX_ROWS = 40


def tabular(figure: Figure, *, max_rows: int = MAX_ROWS) -> str:
    """The figure's table for a paper; a long table is cut, which a comment and its last row state."""
    full = figure.paper_table()
    rows, cut = (full.rows, "") if len(full.rows) <= max_rows else figure.shortened(full.rows, max_rows)
    head = f"% {for_comment(figure.name)}: made by certcore {__version__}; needs \\usepackage{{booktabs}}\n"
    if cut:
        head += f"% {cut}; the CSV file has all of them\n"
    return head + rows_as_tabular(full, rows, cut) + "\n"


def rows_as_tabular(full: Table, rows: Sequence[Sequence[Any]], cut: str = "") -> str:
    """Rows of a table as a `tabular`; numbers right-aligned, names left-aligned."""
    numeric = [all(not isinstance(row[k], str) for row in rows) for k in range(len(full.columns))]
    layout = "".join("r" if number else "l" for number in numeric)
    lines = [rf"\begin{{tabular}}{{{layout}}}", r"\toprule"]
    lines.append(" & ".join(for_latex(column) for column in full.columns) + r" \\")
    lines.append(r"\midrule")
    lines += [" & ".join(for_latex(text) for text in full.texts(row)) + r" \\" for row in rows]
    if cut:
        lines.append(rf"\multicolumn{{{len(full.columns)}}}{{l}}{{({for_latex(cut, 120)})}} \\")
    return "\n".join([*lines, r"\bottomrule", r"\end{tabular}"])
