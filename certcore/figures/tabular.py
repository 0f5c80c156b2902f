"""Tables for LaTeX: a `tabular` with booktabs rules, to be put into a paper with \\input."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from certcore import __version__
from certcore.figures.data import CompareFigure, CurveFigure, Figure, GraphFigure
from certcore.figures.describe import line_label
from certcore.figures.escape import for_comment, for_latex
from certcore.figures.table import Table, format_cell, make_table, table

MAX_ROWS = 40


def tabular(figure: Figure, *, max_rows: int = MAX_ROWS) -> str:
    """The figure's table for a paper; long tables keep every k-th row and say so in a comment."""
    full = paper_table(figure)
    step = max(1, -(-len(full.rows) // max_rows))
    rows = full.rows[::step]
    head = f"% {for_comment(figure.name)}: made by certcore {__version__}; needs \\usepackage{{booktabs}}\n"
    if step > 1:
        head += f"% {len(rows)} of {len(full.rows)} rows, one in {step}; the CSV file has all of them\n"
    return head + rows_as_tabular(full.columns, rows) + "\n"


def paper_table(figure: Figure) -> Table:
    """The table as a paper would show it: budgets down, lines across; the comparison; only attacked nodes."""
    if isinstance(figure, CompareFigure) and figure.rows:
        return make_table(figure.columns, figure.rows)
    if isinstance(figure, CurveFigure):
        values = np.unique(np.concatenate([line.values for line in figure.lines]))
        columns = [figure.x_label or figure.vary]
        columns += [line_label(line.name, line.kind) for line in figure.lines]
        found = [dict(zip(line.values.tolist(), line.ratio.tolist())) for line in figure.lines]
        return make_table(columns, [(v, *(ratio.get(v) for ratio in found)) for v in values.tolist()])
    if isinstance(figure, GraphFigure):
        full = table(figure)
        touched = [row for row in full.rows if row[0] == "node" and _touched(full.columns, row)]
        keep = [k for k, name in enumerate(full.columns) if name not in ("element", "other_node", "x", "y", "deleted")]
        return Table(tuple(full.columns[k] for k in keep), tuple(tuple(row[k] for k in keep) for row in touched))
    return table(figure)


def _touched(columns: Sequence[str], row: Sequence[Any]) -> bool:
    cells = dict(zip(columns, row))
    return cells.get("state") in ("attacked", "partly") or bool(cells.get("spent")) or bool(cells.get("attacker"))


def rows_as_tabular(columns: Sequence[str], rows: Sequence[Sequence[Any]]) -> str:
    """Columns and rows as a `tabular`; numbers to the right, names to the left."""
    numeric = [all(not isinstance(row[k], str) for row in rows) for k in range(len(columns))]
    layout = "".join("r" if number else "l" for number in numeric)
    lines = [rf"\begin{{tabular}}{{{layout}}}", r"\toprule"]
    lines.append(" & ".join(for_latex(column) for column in columns) + r" \\")
    lines.append(r"\midrule")
    lines += [" & ".join(for_latex(format_cell(cell)) for cell in row) + r" \\" for row in rows]
    return "\n".join([*lines, r"\bottomrule", r"\end{tabular}"])
