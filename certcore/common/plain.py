"""Values of the engine as plain JSON values."""

from __future__ import annotations

import dataclasses
import math
from typing import Any

import numpy as np


def to_plain(value: object, digits: int | None = None) -> Any:
    """Numbers, text, lists and dictionaries only; NaN becomes null, floats are rounded if `digits` are given."""
    if value is None or isinstance(value, bool | int | str):
        return value
    if isinstance(value, np.generic | np.ndarray):
        return to_plain(value.tolist(), digits)
    if isinstance(value, float):
        if not math.isfinite(value):
            return None
        return value if digits is None else round(value, digits)
    if isinstance(value, dict):
        return {str(key): to_plain(item, digits) for key, item in value.items()}
    if isinstance(value, list | tuple | set | frozenset):
        return [to_plain(item, digits) for item in value]
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        return {field.name: to_plain(getattr(value, field.name), digits) for field in dataclasses.fields(value)}
    return str(value)
