"""Exports: any figure, table or certificate in the form people need, as bytes, without a browser.

    from certcore import export

    for format in export.formats(figure):              # what this figure can leave as
        format.key, format.label, format.extension, format.mime
    export.render(figure, "pdf", width="one-column")   # -> bytes
    export.file_name(figure, "pdf")                    # -> "curve-attr_del.pdf"

Keys: pdf, svg, png, latex (stand-alone pgfplots; not of graphs), tabular (LaTeX table), csv, json, html (interactive,
self-contained), python (script that makes it again), command (the one command that does).
Options of `render`: width "one-column" (8.5 cm), "two-column" (17.5 cm) or centimetres; dpi (png); title=True to
draw the title; dark=True (html). All functions may be called from any thread; each takes about a second at most.

A figure that says how it was made can be made again, here or by `certcore draw`, with the same numbers:

    export.make(figure.spec)                           # -> the figure, computed from its instance files
    export.make("curves?instance=x&attr_del=10")       # -> the same from what the address bar of the dashboard holds

Certificates and instances:

    export.guarantee(instance, certificate)            # -> the guarantee in words, one or two sentences
    export.provenance(instance, certificate)           # -> dict: digest, threat model, samples, α, seeds, versions
    export.proof(certificate)                          # -> bytes of proof.json, accepted by `certcore verify`
    export.allocation(instance, certificate)           # -> Table of what the attack does at each node
    export.bibtex()                                    # -> the paper and this version of the tool

Reports (the command `certcore report INSTANCE -o DIR`, one click in the dashboard):

    report = export.build_report(instance, threat, source="precomputed/x.npz", quick=False, session=None,
                                 progress=None, cancel=None)    # -> Report; progress(done, total, what)
    export.report_html(report)                         # -> one self-contained page
    export.report_zip(report)                          # -> bytes of everything, for a download button
    export.write_report(report, folder)                # -> files, and folder.zip beside it
"""

from __future__ import annotations

from certcore.export.certificate import allocation, guarantee, proof, provenance
from certcore.export.citation import bibtex
from certcore.export.making import make
from certcore.export.rendering import Format, file_name, formats, render
from certcore.export.report import Report, build_report
from certcore.export.report_files import report_zip, write_report
from certcore.export.report_page import report_html

__all__ = [
    "Format", "Report", "allocation", "bibtex", "build_report", "file_name", "formats", "guarantee", "make", "proof",
    "provenance", "render", "report_html", "report_zip", "write_report",
]  # fmt: skip
