"""`--weights FILE[:COLUMN]|degree`: one number per node, from a text or CSV file."""

from __future__ import annotations

import csv
import os
from fractions import Fraction
from typing import Any

from certcore.common.errors import InputError, did_you_mean
from certcore.common.exact import bounded_decimal
from certcore.domain.weights import DEGREE

#: Larger files are refused.
MAX_BYTES = 2**28
#: Digits and sign of the longest number that is read.
LONGEST = 40


def read_option(given: str | None) -> Any:
    """The weights that the option names, exactly."""
    if given is None or given == DEGREE:
        return given
    path, _, column = given, "", None
    if not os.path.exists(given) and ":" in given:
        path, _, column = given.rpartition(":")
    rows = _rows(path)
    if column is None:
        if rows and len(rows[0]) > 1:
            raise InputError(f"{path} has {len(rows[0])} columns; say which one: --weights {path}:COLUMN")
        return [_number(_only(row, 1, 0, path, line), path, line) for line, row in enumerate(rows, 1)]
    head, *rest = rows or [[]]
    if column not in head:
        hint = did_you_mean(column, head)
        raise InputError(f"{path} has no column {column!r}{hint}; expected one of {', '.join(head)[:200]}")
    place = head.index(column)
    return [_number(_only(row, len(head), place, path, line), path, line) for line, row in enumerate(rest, 2)]


def _only(row: list[str], columns: int, place: int, path: str, line: int) -> str:
    """The cell of one column; refused in a longer line, where 1,000 would be read as 1."""
    if len(row) > columns:
        raise InputError(
            f"line {line} of {path} has {len(row)} columns, the first line {columns}; expected as many in every line, "
            "and numbers without thousands separators"
        )
    return row[place] if place < len(row) else ""


def _rows(path: str) -> list[list[str]]:
    try:
        with open(path, newline="", encoding="utf-8-sig") as handle:
            text = handle.read(MAX_BYTES + 1)
    except (OSError, ValueError) as error:
        raise InputError(
            f"--weights: cannot read {path[:80]!r} as text; expected a file with one number per node and line, "
            f"FILE:COLUMN for a CSV file, or the word {DEGREE}"
        ) from error
    if len(text) > MAX_BYTES:
        raise InputError(f"{path} is larger than 256 MB; expected one number per node and line")
    return list(csv.reader(text.splitlines()))


def _number(text: str, path: str, line: int) -> Fraction:
    try:
        return Fraction(bounded_decimal(text.strip(), LONGEST))
    except ValueError as error:
        raise InputError(
            f"line {line} of {path} is {text.strip()[:20]!r}; expected the weight of a node, a number of at least 0"
        ) from error
