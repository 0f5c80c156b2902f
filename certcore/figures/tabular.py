"""Tables for LaTeX: a `tabular` with booktabs rules, to be put into a paper with \\input."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from certcore import __version__
from certcore.figures.data import CompareFigure, CurveFigure, Figure, GraphFigure, Meaning
from certcore.figures.describe import line_label
from certcore.figures.escape import for_comment, for_latex
from certcore.figures.table import Table, make_table, table
from certcore.result.states import TargetState

MAX_ROWS = 40


def tabular(figure: Figure, *, max_rows: int = MAX_ROWS) -> str:
    """The figure's table for a paper; a long table is cut, and says so in a comment and in its last row."""
    full = paper_table(figure)
    rows, cut = _fitting(figure, full, max_rows)
    head = f"% {for_comment(figure.name)}: made by certcore {__version__}; needs \\usepackage{{booktabs}}\n"
    if cut:
        head += f"% {cut}; the CSV file has all of them\n"
    return head + rows_as_tabular(full, rows, cut) + "\n"


def _fitting(figure: Figure, full: Table, most: int) -> tuple[Sequence[Sequence[Any]], str]:
    """The rows there is room for, and what to say if these are not all.

    Of an attack the first ones, which matter most; of a curve or map some along the whole axis.
    """
    count = len(full.rows)
    if count <= most:
        return full.rows, ""
    if isinstance(figure, GraphFigure):
        return full.rows[:most], f"the first {most} of {count} rows, most flips first"
    step = -(-count // most)
    rows = full.rows[::step]
    return rows, f"{len(rows)} of {count} rows, one in {step}"


def paper_table(figure: Figure) -> Table:
    """The table as a paper would show it: budgets down, lines across; the comparison; what an attack does."""
    if isinstance(figure, CompareFigure) and figure.rows:
        return make_table(figure.columns, figure.rows, figure.meanings)
    if isinstance(figure, CurveFigure):
        values = np.unique(np.concatenate([line.values for line in figure.lines]))
        columns = [figure.x_label or figure.vary]
        columns += [line_label(line.name, line.kind) for line in figure.lines]
        found = [dict(zip(line.values.tolist(), line.ratio.tolist())) for line in figure.lines]
        meanings = [Meaning.PLAIN] + [Meaning.CERTIFIED] * len(figure.lines)
        return make_table(columns, [(v, *(ratio.get(v) for ratio in found)) for v in values.tolist()], meanings)
    if isinstance(figure, GraphFigure):
        return _attack_table(figure)
    return table(figure)


def _attack_table(figure: GraphFigure) -> Table:
    """Hit nodes, most flips first, edges that change, targets that are lost, the attacker's other nodes."""
    full = table(figure)
    order = {name: k for k, name in enumerate(full.columns)}

    def cell(row: Sequence[Any], name: str) -> Any:
        return row[order[name]] if name in order else None

    nodes = [row for row in full.rows if row[0] == "node"]
    hit = sorted((row for row in nodes if cell(row, "spent")), key=lambda row: (-cell(row, "spent"), row[1]))
    edges = [row for row in full.rows if row[0] == "added edge" or (row[0] == "edge" and cell(row, "deleted"))]
    edges.sort(key=lambda row: -(cell(row, "deleted") or 0))
    unhit = [row for row in nodes if not cell(row, "spent")]
    lost = [row for row in unhit if cell(row, "state") in (TargetState.LOST, TargetState.PARTLY)]
    others = [row for row in unhit if cell(row, "attacker") and row not in lost]
    rows = [*hit, *edges, *lost, *others]
    blank = {name for name in order if all(cell(row, name) in (None, False, "") for row in rows)}
    keep = [k for name, k in order.items() if name not in {"x", "y", *blank}]
    return full.chosen(keep, rows)


def rows_as_tabular(full: Table, rows: Sequence[Sequence[Any]], cut: str = "") -> str:
    """Rows of a table as a `tabular`; numbers to the right, names to the left."""
    numeric = [all(not isinstance(row[k], str) for row in rows) for k in range(len(full.columns))]
    layout = "".join("r" if number else "l" for number in numeric)
    lines = [rf"\begin{{tabular}}{{{layout}}}", r"\toprule"]
    lines.append(" & ".join(for_latex(column) for column in full.columns) + r" \\")
    lines.append(r"\midrule")
    lines += [" & ".join(for_latex(text) for text in full.texts(row)) + r" \\" for row in rows]
    if cut:
        lines.append(rf"\multicolumn{{{len(full.columns)}}}{{l}}{{({for_latex(cut, 120)})}} \\")
    return "\n".join([*lines, r"\bottomrule", r"\end{tabular}"])
