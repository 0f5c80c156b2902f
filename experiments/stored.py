"""precomputed/paper.json: rows and figures of the page "Paper", so that the dashboard needs nothing of this folder."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from certcore.common.files import atomic_write
from certcore.figures.paper import FORMAT, plain_figure
from experiments.claims import CLAIMS, EXTENSIONS, Row, rows
from experiments.definitions import BY_NAME, command
from experiments.pictures import SECTIONS, Display, Picture, section_of, shelf
from experiments.store import Results
from experiments.table import HEADINGS, VERDICTS, cells

#: The section of numbers that belong to no figure.
REST = ("numbers", "Times and sizes")


def write_paper(results: Results, path: Path) -> None:
    """Write the file; a row and a figure have a line each, so that changes can be read."""
    if not len(results):
        return
    figures = shelf(results)
    sections = [
        {"slug": labels[0], "title": title, "places": [_figure_entry(shown) for shown in figures[labels]]}
        for labels, title in SECTIONS.items()
    ]
    parts = {
        "format": FORMAT,
        "headings": HEADINGS,
        "verdicts": VERDICTS,
        "claims": [_row(row) for row in rows(CLAIMS, results)],
        "beyond": [_row(row) for row in rows(EXTENSIONS, results)],
        "sections": [*sections, {"slug": REST[0], "title": REST[1], "places": []}],
    }
    with atomic_write(path, "w") as handle:
        handle.write("{\n" + ",\n".join(f'"{key}": {_lines(value)}' for key, value in parts.items()) + "\n}\n")


def _lines(value: Any) -> str:
    if isinstance(value, list):
        return "[\n" + ",\n".join(_dumps(part) for part in value) + "\n]"
    return _dumps(value)


def _dumps(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False, allow_nan=False, separators=(",", ":"))


def _row(row: Row) -> dict[str, Any]:
    """The cells of a row as the table has them, the section it is shown in, and what computes it again."""
    experiment = BY_NAME.get((row.claim.how.split() or [""])[0])
    labels = section_of(row.claim.where) or (section_of(experiment.figure) if experiment else ())
    return {"cells": cells(row), "section": labels[0] if labels else REST[0], "command": command(row.claim.how)}


def _figure_entry(shown: Display) -> dict[str, Any]:
    """A figure in the forms it may have (each with its name in links) and the pictures that there are."""
    spec = shown.spec
    return {
        "name": spec.name,
        "short": spec.short,
        "first": shown.first,
        "forms": {form: spec.file(form) for form in spec.forms},
        "pictures": {form: _picture(picture) for form, picture in shown.pictures.items()},
    }


def _picture(picture: Picture) -> dict[str, Any]:
    return {
        "title": picture.title,
        "caption": picture.caption,
        "command": command(picture.experiment),
        "figure": plain_figure(picture.figure),
    }
