"""The paper's numbers and figures next to ours, as stored in one file by `python -m experiments table`."""

from __future__ import annotations

import dataclasses
from pathlib import Path
from typing import Any

from certcore.common.errors import InputError
from certcore.common.plain import to_plain
from certcore.common.reading import read_json
from certcore.figures.contour import ContourFigure
from certcore.figures.curve import CurveFigure, Line
from certcore.figures.figure import Figure

FORMAT = "certcore-paper-1"
#: Relative to the repository; for an installed package, relative to the working directory.
FILE = Path("precomputed") / "paper.json"


def paper_file() -> Path:
    """The path of the stored file, whether or not it exists."""
    return next((path for path in (Path(__file__).resolve().parents[2] / FILE, FILE.absolute()) if path.exists()), FILE)


def read_paper(path: Path) -> dict[str, Any]:
    """The stored rows and figures; the format is described in `experiments/stored.py`."""
    try:
        stored = read_json(path.read_text(encoding="utf-8"), path.name)
    except (OSError, UnicodeDecodeError) as error:
        raise InputError(f"cannot read {path}; write it again with `python -m experiments table`") from error
    if not isinstance(stored, dict) or stored.get("format") != FORMAT:
        raise InputError(f"{path.name} does not have the format {FORMAT}; run `python -m experiments table`")
    return stored


def plain_figure(figure: CurveFigure | ContourFigure) -> dict[str, Any]:
    """A curve or a map as it is stored: lists, numbers and text."""
    return {"type": type(figure).__name__, **to_plain(figure)}


def stored_figure(data: dict[str, Any]) -> Figure:
    """The figure that was stored."""
    kind: Any = {"CurveFigure": CurveFigure, "ContourFigure": ContourFigure}[data["type"]]
    fields = {field.name: data[field.name] for field in dataclasses.fields(kind) if field.name in data}
    if "lines" in fields:
        known = {field.name for field in dataclasses.fields(Line)}
        fields["lines"] = [Line(**{key: line[key] for key in known & line.keys()}) for line in fields["lines"]]
    return kind(**fields)
