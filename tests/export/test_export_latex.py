"""LaTeX source through a real TeX, where there is one."""

from __future__ import annotations

import shutil
import subprocess
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from certcore import export, figures
from tests.figures.samples import HOSTILE, all_figures, bars

pdflatex = shutil.which("pdflatex")

_FRAME = r"""\documentclass{article}
\usepackage[T1]{fontenc}\usepackage[utf8]{inputenc}\usepackage{textcomp,booktabs}
\begin{document}\tiny
%s
\end{document}
"""


def _compile(source: str, folder: Path, name: str) -> str:
    """The lines that TeX complains in; empty if it made a PDF."""
    path = folder / f"{name}.tex"
    path.write_text(source, encoding="utf-8")
    command = [pdflatex or "pdflatex", "-interaction=nonstopmode", "-halt-on-error", "-no-shell-escape", path.name]
    run = subprocess.run(command, cwd=folder, capture_output=True, text=True, errors="replace", check=False)
    if run.returncode == 0 and (folder / f"{name}.pdf").exists():
        return ""
    return "\n".join(line for line in run.stdout.splitlines() if line.startswith(("!", "l."))) or run.stdout[-2000:]


@pytest.mark.skipif(pdflatex is None, reason="there is no pdflatex here; the syntax is checked in tests/figures")
def test_every_figure_and_table_compiles(tmp_path: Path) -> None:
    made: dict[str, figures.Figure] = dict(all_figures())
    made["hostile"] = bars((HOSTILE, "日本語", "a_b^c~d", "100 %", "]{}\\end{document}", "--"))
    jobs = {}
    with ThreadPoolExecutor(2) as pool:
        for name, figure in made.items():
            if not figure.has_latex:
                continue
            jobs[name] = pool.submit(_compile, export.render(figure, "latex", title=True).decode(), tmp_path, name)
        tables = "\n\n".join(export.render(figure, "tabular").decode() for figure in made.values())
        jobs["tables"] = pool.submit(_compile, _FRAME % tables, tmp_path, "tables")
    assert {name: job.result() for name, job in jobs.items() if job.result()} == {}
