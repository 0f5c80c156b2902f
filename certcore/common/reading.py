"""What people and files give, taken as it is or refused: whole numbers, flags and JSON text.

Numbers are compared before they are converted: a cast first would make the last node of 2⁶⁴ − 1 and a two of 2.9.
Booleans, floats (3.0 too) and text are no whole numbers anywhere.
"""

from __future__ import annotations

import json
from typing import Any

import numpy as np

from certcore.common.errors import InputError


def whole_number(value: Any, what: str, low: int, high: int) -> int:
    """One whole number from `low` to `high`; an array of one entry is one number."""
    if isinstance(value, np.ndarray) and value.size == 1:
        value = value.reshape(-1)[0]
    if not _is_whole(value) or not low <= int(value) <= high:
        raise InputError(f"{what} is {_quoted(value)}; expected a whole number from {low:,} to {high:,}")
    return int(value)


def whole_numbers(
    values: object, what: str, low: int, high: int, *, shape: tuple[int | None, ...] = (None,)
) -> np.ndarray:
    """Whole numbers from `low` to `high` as a read-only int64 array of its own; None in `shape` is any length."""
    wanted = " × ".join("any number" if side is None else f"{side:,}" for side in shape)
    try:
        # Lists are looked at entry by entry: numpy would make floats of [-1, 2**63] and numbers of [True, 2].
        array = np.array(values, dtype=object) if isinstance(values, list | tuple) else np.asarray(values)
    except ValueError as error:
        raise InputError(f"{what} is a list of unequal lists; expected whole numbers ({wanted})") from error
    if array.size == 0 and len(shape) == 1 and shape[0] in (None, 0):
        array = np.zeros(0, dtype=np.int64)
    fits = array.ndim == len(shape) and all(side in (None, has) for side, has in zip(shape, array.shape))
    if not fits:
        raise InputError(f"{what} has shape {array.shape}; expected {wanted} whole numbers from {low:,} to {high:,}")
    if array.dtype.kind == "O":
        odd = next((v for v in array.flat if not _is_whole(v) or not low <= int(v) <= high), None)
        wrong = odd is not None or any(v is None for v in array.flat)
    elif array.dtype.kind in "iu":
        odd = None
        if array.size:
            least, most = int(array.min()), int(array.max())
            odd = least if least < low else most if most > high else None
        wrong = odd is not None
    elif array.size:
        raise InputError(
            f"{what} has type {array.dtype}; expected whole numbers from {low:,} to {high:,}, not "
            f"{_quoted(array.flat[0])}"
        )
    else:
        wrong, odd = False, None
    if wrong:
        raise InputError(f"{what} contains {_quoted(odd)}; expected whole numbers from {low:,} to {high:,}")
    return read_only(array.astype(np.int64, order="C"))


def read_only(array: np.ndarray) -> np.ndarray:
    """The array, which nobody may change any more: counts rest on it, and a digest has told what it is."""
    array.setflags(write=False)
    return array


def flag(value: object, what: str) -> bool:
    """True or false; 0 and 1 will do, since some programs write them."""
    if isinstance(value, np.ndarray) and value.size == 1:
        value = value.reshape(-1)[0]
    if isinstance(value, bool | np.bool_) or (_is_whole(value) and value in (0, 1)):
        return bool(value)
    raise InputError(f"{what} is {_quoted(value)}; expected true or false")


def read_json(text: str | bytes, what: str) -> Any:
    """JSON as its standard means it: no NaN, and no name twice in one object (the last one would win silently)."""
    try:
        return json.loads(text, object_pairs_hook=_once, parse_constant=_no_constant)
    except _Twice as error:
        raise InputError(
            f"{what} names {_quoted(error.args[0])} twice in one object; every name may appear once"
        ) from error
    except (ValueError, RecursionError) as error:
        raise InputError(f"{what} is no valid JSON text ({type(error).__name__}); write it again") from error


class _Twice(ValueError):
    """A name appears twice in one object."""


def _once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    result = dict(pairs)
    if len(result) < len(pairs):
        seen: set[str] = set()
        raise _Twice(next(key for key, _ in pairs if key in seen or seen.add(key)))  # type: ignore[func-returns-value]
    return result


def _no_constant(text: str) -> None:
    raise ValueError(f"{text} is no number")


def _is_whole(value: object) -> bool:
    return isinstance(value, int | np.integer) and not isinstance(value, bool)


def _quoted(value: object) -> str:
    text = repr(value.item() if isinstance(value, np.generic) else value)
    return text if len(text) <= 60 else f"{text[:40]} …"
