"""Figures as JSON, and back."""

from __future__ import annotations

import dataclasses
import json
import math
from typing import Any

import numpy as np

from certcore.common.errors import InputError
from certcore.common.reading import read_json
from certcore.figures.figure import Figure
from certcore.figures.kinds import FIGURES
from certcore.figures.recipe import Recipe

FORMAT = "certcore-figure-1"


def to_json(figure: Figure, *, indent: int | None = 1) -> str:
    """The whole figure as JSON text: every plotted number to its last digit, and how it was made."""
    plain = {"format": FORMAT, "type": type(figure).__name__, **to_plain(figure)}
    return json.dumps(plain, indent=indent, ensure_ascii=False, allow_nan=False) + "\n"


def to_plain(value: Any) -> Any:
    """Numbers, text, lists and dictionaries only; NaN becomes null."""
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        return {field.name: to_plain(getattr(value, field.name)) for field in dataclasses.fields(value)}
    if isinstance(value, dict):
        return {str(key): to_plain(item) for key, item in value.items()}
    if isinstance(value, np.ndarray):
        return to_plain(value.tolist())
    if isinstance(value, list | tuple | set | frozenset):
        return [to_plain(item) for item in value]
    if isinstance(value, np.generic):
        return to_plain(value.item())
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    if value is None or isinstance(value, bool | int | str):
        return value
    return str(value)


def from_json(text: str | bytes) -> Figure:
    """Read what `to_json` wrote."""
    data = read_json(text, "the figure")
    if not isinstance(data, dict) or data.get("format") != FORMAT or data.get("type") not in FIGURES:
        raise InputError(f"the JSON text holds no figure; expected an object with format {FORMAT!r} and a known type")
    cls = FIGURES[data["type"]]
    known = {field.name for field in dataclasses.fields(cls)}
    try:
        return cls(**{key: _part(cls, key, value) for key, value in data.items() if key in known})
    except (TypeError, AttributeError) as error:
        raise InputError(f"the figure lacks or misnames a part ({error}); export it again as JSON") from error


def _part(cls: type[Figure], key: str, value: Any) -> Any:
    if key == "recipe":
        return None if value is None else Recipe(**value)
    return tuple(cls.PARTS[key](**item) for item in value) if key in cls.PARTS else value
