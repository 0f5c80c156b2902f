"""Several numbers or nodes as one short text, and back: `0,1,2,5,10:100:10`."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from decimal import Decimal
from typing import Any

import numpy as np

from certcore.common.errors import InputError
from certcore.common.exact import bounded_decimal

#: Longer lists are refused as mistakes.
MAX_VALUES = 100_000
#: Syntax of a list of nodes; other text is a name or a file.
INDICES = re.compile(r"[0-9][0-9,:–-]*")
_NODES = re.compile(r"([0-9]{1,9})(?:[:–-]([0-9]{1,9})(?::([0-9]{1,9}))?)?")


def read_numbers(text: str, what: str, *, shares: bool = False) -> list[Any]:
    """Numbers and ranges `A:B[:STEP]` (both ends included), separated by commas; sorted, without duplicates.

    They are whole numbers, or with `shares` decimals, which are returned as text.
    """
    found: set[Decimal] = set()
    for part in text.split(","):
        found.update(_range(part.strip(), text, what, shares))
        if len(found) > MAX_VALUES:
            raise InputError(f"{what} asks for more than {MAX_VALUES:,} values; choose a larger step")
    values = sorted(found)
    return [str(value) for value in values] if shares else [int(value) for value in values]


def _range(part: str, text: str, what: str, shares: bool) -> list[Decimal]:
    numbers = [_number(word, shares) for word in part.split(":")]
    first = numbers[0]
    last = numbers[1] if len(numbers) > 1 else first
    step = numbers[2] if len(numbers) > 2 else Decimal(1)
    if len(numbers) > 3 or first is None or last is None or step is None:
        kind = "decimals" if shares else "whole numbers"
        raise InputError(
            f"{what} is {text[:40]!r}; expected {kind} and ranges A:B or A:B:STEP (both ends included), separated by "
            "commas, such as 0,1,2,5,10:100:10"
        )
    if step <= 0 or last < first:
        raise InputError(f"{what} is {text[:40]!r}; expected A at most B and a step of more than 0")
    if (last - first) / step > MAX_VALUES:
        raise InputError(f"{what} asks for more than {MAX_VALUES:,} values; choose a larger step")
    values = []
    while first <= last:
        values.append(first)
        first += step
    return values if values[-1] == last else [*values, last]


def _number(text: str, shares: bool) -> Decimal | None:
    try:
        value = bounded_decimal(text, longest=20)
    except ValueError:
        return None
    return value if value >= 0 and (shares or value == value.to_integral_value()) else None


def write_numbers(values: Sequence[Any]) -> str:
    """Sorted numbers as text for `read_numbers`; numbers with equal steps become ranges."""
    numbers = [_plain_number(value) for value in values]
    parts = []
    while numbers:
        length = min(2, len(numbers))
        step = numbers[1] - numbers[0] if length == 2 else Decimal(1)
        while length < len(numbers) and numbers[length] - numbers[length - 1] == step:
            length += 1
        if length < 3:
            length = 1
            parts.append(f"{numbers[0]:f}")
        else:
            parts.append(f"{numbers[0]:f}:{numbers[length - 1]:f}" + (f":{step:f}" if step != 1 else ""))
        numbers = numbers[length:]
    return ",".join(parts)


def parse_nodes(text: str, n_nodes: int) -> np.ndarray:
    """Node indices from text such as `3, 17, 20:25` or `20-25`, both ends included, or `0:100:10`."""
    found = np.zeros(n_nodes, dtype=bool)  # a set would take seconds where a text lists all nodes again and again
    for part in re.split(r"[,;\s]+", text.strip()):
        if not part:
            continue
        match = _NODES.fullmatch(part)
        first, last, step = (int(match[1]), int(match[2] or match[1]), int(match[3] or 1)) if match else (0, -1, 0)
        if first > last or last >= n_nodes or step < 1:
            raise InputError(
                f"“{part[:20]}” names no node; give indices from 0 to {n_nodes - 1:,} such as “3, 17, 20:25”"
            )
        found[first : last + 1 : step] = found[last] = True
    return np.flatnonzero(found).astype(np.int64)


def write_nodes(nodes: Iterable[int] | np.ndarray) -> str:
    """Short text that `parse_nodes` parses to the same nodes."""
    return write_numbers(sorted({int(node) for node in nodes}))


def _plain_number(value: object) -> Decimal:
    """The exact value of a number's shortest decimal form: 0.1 is 1/10, and 3.0 is 3."""
    number = Decimal(str(value))
    return number.to_integral() if number == number.to_integral() else number
