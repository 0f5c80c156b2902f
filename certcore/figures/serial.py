"""Figures as JSON, and back."""

from __future__ import annotations

import dataclasses
import json
from typing import Any

from certcore.common.errors import InputError
from certcore.common.plain import to_plain
from certcore.common.reading import read_json
from certcore.domain.view_spec import ViewSpec
from certcore.figures.figure import Figure
from certcore.figures.kinds import FIGURES

FORMAT = "certcore-figure-1"


def plain_figure(figure: Figure) -> dict[str, Any]:
    """The whole figure as lists, numbers and strings: every plotted number with all digits, and its view."""
    spec = None if figure.spec is None else figure.spec.to_json()
    return {"format": FORMAT, "type": type(figure).__name__, **to_plain(figure), "spec": spec}


def to_json(figure: Figure, *, indent: int | None = 1) -> str:
    """The same as JSON text."""
    return json.dumps(plain_figure(figure), indent=indent, ensure_ascii=False, allow_nan=False) + "\n"


def from_json(text: str | bytes) -> Figure:
    """Read what `to_json` wrote."""
    return figure_of(read_json(text, "the figure"))


def figure_of(data: Any) -> Figure:
    """A figure from what `plain_figure` returned."""
    if not isinstance(data, dict) or data.get("format") != FORMAT or data.get("type") not in FIGURES:
        raise InputError(f"the JSON text holds no figure; expected an object with format {FORMAT!r} and a known type")
    cls = FIGURES[data["type"]]
    data = {"spec": data.get("recipe")} | data  # the key in version 0.2
    known = {field.name for field in dataclasses.fields(cls)}
    try:
        return cls(**{key: _part(cls, key, value) for key, value in data.items() if key in known})
    except (TypeError, AttributeError) as error:
        raise InputError(f"the figure lacks or misnames a part ({error}); export it again as JSON") from error


def _part(cls: type[Figure], key: str, value: Any) -> Any:
    if key == "spec":
        return None if value is None else ViewSpec.from_json(value)
    return tuple(cls.PARTS[key](**item) for item in value) if key in cls.PARTS else value
