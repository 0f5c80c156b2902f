"""The report as files: a folder with everything, and a zip of it."""

from __future__ import annotations

import io
import json
import tempfile
import zipfile
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path

from certcore.common.errors import InputError
from certcore.common.files import atomic_write
from certcore.common.plain import to_plain
from certcore.export.certificate import proof
from certcore.export.citation import bibtex
from certcore.export.rendering import file_name, formats, render
from certcore.export.report import Report
from certcore.export.report_page import report_html
from certcore.export.vector import printed_pages
from certcore.figures.print_style import PrintStyle
from certcore.instance.instance import save_instance

_FIGURES = ("pdf", "svg", "png", "latex", "html")
_DATA = ("csv", "json", "tabular", "python")


def report_files(report: Report) -> Iterator[tuple[str, Callable[[], bytes]]]:
    """Every file of a report: its path inside the folder, and a function that makes its bytes."""
    yield "report.html", lambda: report_html(report).encode()
    if report.certificate.proof is not None:
        yield "proof.json", lambda: proof(report.certificate)
    yield "provenance.json", lambda: _json(report.provenance)
    yield "citation.bib", lambda: bibtex(smoothing="alpha" in report.instance.base.facts).encode()
    yield "commands.sh", lambda: ("#!/bin/sh\n" + "\n".join(report.commands) + "\n").encode()
    yield "data/instance.npz", lambda: _instance(report)
    if report.allocation is not None:
        table = report.allocation
        yield "data/allocation.csv", lambda: ("\ufeff" + table.csv()).encode()
    if report.figures:
        yield "figures/all.pdf", lambda: printed_pages(list(report.figures), PrintStyle("two-column", title=True))
    for figure in report.figures:
        known = {format.key for format in formats(figure)}
        for folder, wanted in (("figures", _FIGURES), ("data", _DATA)):
            for format in (format for format in wanted if format in known):
                yield f"{folder}/{file_name(figure, format)}", partial(render, figure, format)


def write_report(
    report: Report, folder: str | Path, *, progress: Callable[[int, int, str], None] | None = None
) -> list[Path]:
    """Write every file of a report into `folder`, and `folder.zip` beside it; returns what was written."""
    target = Path(folder)
    if target.exists() and not target.is_dir():
        raise InputError(f"{target} is a file; give a folder for the report")
    written = []
    archive = target.with_name(target.name + ".zip")
    files = list(report_files(report))
    with atomic_write(archive) as handle, zipfile.ZipFile(handle, "w") as zipped:
        for done, (name, make) in enumerate(files):
            if progress is not None:
                progress(done, len(files), name)
            data = make()
            with atomic_write(target / name) as file:
                file.write(data)
            _add(zipped, f"{target.name}/{name}", data)
            written.append(target / name)
    if progress is not None:
        progress(len(files), len(files), "done")
    return [*written, archive]


def report_zip(report: Report, name: str = "report") -> bytes:
    """The same files as one zip in memory, for a download."""
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w") as zipped:
        for path, make in report_files(report):
            _add(zipped, f"{name}/{path}", make())
    return buffer.getvalue()


def _add(zipped: zipfile.ZipFile, name: str, data: bytes) -> None:
    # A fixed timestamp makes the zip reproducible. Images and zips are stored, text is compressed.
    packed = name.endswith((".png", ".npz"))
    entry = zipfile.ZipInfo(name, (1980, 1, 1, 0, 0, 0))
    entry.external_attr = 0o644 << 16
    entry.compress_type = zipfile.ZIP_STORED if packed else zipfile.ZIP_DEFLATED
    zipped.writestr(entry, data, compresslevel=6)


def _json(value: object) -> bytes:
    return (json.dumps(to_plain(value), indent=1, ensure_ascii=False, allow_nan=False) + "\n").encode()


def _instance(report: Report) -> bytes:
    """The instance itself, which is needed to check the proof and to repeat the computation."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "instance.npz"
        save_instance(path, report.instance)
        return path.read_bytes()
