"""Figures as files; the end of the file's name chooses the format."""

from __future__ import annotations

import io
import os
from pathlib import Path
from typing import Any

from certcore import __version__
from certcore.common.errors import InputError
from certcore.common.files import atomic_write
from certcore.figures.escape import clean
from certcore.figures.figure import Figure

#: Vector graphics, pixels, plotted numbers, and the table for a paper.
SUFFIXES = (".pdf", ".svg", ".png", ".csv", ".tex")


def suffix_of(path: str | os.PathLike[str]) -> str:
    """The format of a file, by the end of its name."""
    suffix = Path(path).suffix.lower()
    if suffix not in SUFFIXES:
        raise InputError(
            f"the figure's file is {str(path)!r}; expected a name that ends in one of {', '.join(SUFFIXES)}"
        )
    return suffix


def check_saving(path: str | os.PathLike[str], width: str | float = 8.5, font: str = "sans") -> None:
    """Refuse a file, a width or a font that `save` would refuse, before anything is computed."""
    from certcore.figures.page import centimetres, printing

    suffix_of(path)
    centimetres(width)
    with printing(font):
        pass


def save(figure: Figure, path: str | os.PathLike[str], *, width: str | float = 8.5, font: str = "sans") -> None:
    """Write a figure: drawn for print (`.pdf`, `.svg`, `.png`), or its numbers (`.csv`, `.tex`).

    `width` is in centimetres, as a number or as text (`"8.5cm"`); `font` is sans or serif.
    """
    data = file_bytes(figure, suffix_of(path), width=width, font=font)
    with atomic_write(path) as handle:
        handle.write(data)


def file_bytes(figure: Figure, suffix: str, *, width: str | float = 8.5, font: str = "sans", dpi: int = 300) -> bytes:
    """The content of such a file; the same figure always has the same bytes."""
    if suffix == ".csv":
        return figure.table().csv().encode()
    if suffix == ".tex":
        return figure.tex().encode()
    from certcore.figures.page import printing

    buffer, kind = io.BytesIO(), suffix_of(f"figure{suffix}").removeprefix(".")
    with printing(font):
        drawn = figure.matplotlib(width, font)
        drawn.savefig(buffer, format=kind, dpi=dpi, metadata=_metadata(figure, kind), facecolor="white")
    return buffer.getvalue()


def _metadata(figure: Figure, kind: str) -> dict[str, Any]:
    """Title and alternative text in the metadata fields of each format; no dates, so that files are reproducible."""
    maker = f"certcore {__version__}"
    title, text = clean(figure.title or figure.name), clean(figure.description(), 2000)
    if kind == "pdf":
        return {"Title": title, "Subject": text, "Creator": maker, "CreationDate": None}
    if kind == "svg":
        return {"Title": title, "Description": text, "Creator": maker, "Date": None}
    return {"Title": title, "Description": text, "Software": maker}
