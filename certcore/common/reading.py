"""Validation of untrusted values: whole numbers, flags and JSON text are accepted unchanged or refused.

Numbers are compared before they are converted, because a cast would turn 2⁶⁴ − 1 into −1 and 2.9 into 2. Booleans,
floats (also 3.0) and text are never accepted as whole numbers.
"""

from __future__ import annotations

import json
from typing import Any

import numpy as np

from certcore.common.errors import InputError


def whole_number(value: Any, what: str, low: int, high: int) -> int:
    """One whole number from `low` to `high`; an array with a single entry is accepted too."""
    if isinstance(value, np.ndarray) and value.size == 1:
        value = value.reshape(-1)[0]
    if not _is_whole(value) or not low <= int(value) <= high:
        raise InputError(f"{what} is {_quoted(value)}; expected a whole number from {low:,} to {high:,}")
    return int(value)


def whole_numbers(
    values: object, what: str, low: int, high: int, *, shape: tuple[int | None, ...] = (None,)
) -> np.ndarray:
    """Whole numbers from `low` to `high` as a new read-only int64 array; None in `shape` allows any length."""
    wanted = " × ".join("any number" if side is None else f"{side:,}" for side in shape)
    try:
        # Lists are checked entry by entry: numpy would convert [-1, 2**63] to floats and [True, 2] to integers.
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


def node_numbers(nodes: Any, n_nodes: int, what: str) -> np.ndarray:
    """Indices of nodes, given as such or as a mask of one boolean per node; tensors are moved to the CPU."""
    nodes = nodes.detach().cpu().numpy() if hasattr(nodes, "detach") else nodes
    if np.asarray(nodes).dtype != bool:
        return whole_numbers(nodes, what, 0, n_nodes - 1)
    mask = np.asarray(nodes)
    if mask.shape != (n_nodes,):
        raise InputError(
            f"the mask of {what} has shape {mask.shape}; expected one boolean for each of {n_nodes:,} nodes (where "
            "there are several splits choose one, mask[:, 0])"
        )
    return np.flatnonzero(mask)


def read_only(array: np.ndarray) -> np.ndarray:
    """Make the array read-only in place and return it: bounds and digests were computed from its values."""
    array.setflags(write=False)
    return array


def flag(value: object, what: str) -> bool:
    """A boolean; 0 and 1 are accepted, since some programs write them."""
    if isinstance(value, np.ndarray) and value.size == 1:
        value = value.reshape(-1)[0]
    if isinstance(value, bool | np.bool_) or (_is_whole(value) and value in (0, 1)):
        return bool(value)
    raise InputError(f"{what} is {_quoted(value)}; expected true or false")


def read_json(text: str | bytes, what: str) -> Any:
    """Parse strict JSON: no NaN, and no duplicate keys (Python would silently keep the last)."""
    try:
        return json.loads(text, object_pairs_hook=_once, parse_constant=_no_constant)
    except _Twice as error:
        raise InputError(
            f"{what} names {_quoted(error.args[0])} twice in one object; every name may appear once"
        ) from error
    except (ValueError, RecursionError) as error:
        raise InputError(f"{what} is no valid JSON text ({type(error).__name__}); write it again") from error


class _Twice(ValueError):
    """A key appears twice in one JSON object."""


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
