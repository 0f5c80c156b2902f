"""Tables in LaTeX through a real TeX, where there is one."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import pytest

from certcore import figures
from tests.figures.samples import HOSTILE, all_figures

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
def test_every_table_compiles(tmp_path: Path) -> None:
    names = (HOSTILE, "日本語", "a_b^c~d", "100 %", "]{}\\end{document}", "--")
    lines = [figures.Line(values=[0, 1], ratio=[1, 0.5], name=name, group=k) for k, name in enumerate(names)]
    made = [*all_figures().values(), figures.CurveFigure(lines=tuple(lines))]
    assert not _compile(_FRAME % "\n\n".join(figure.tex() for figure in made), tmp_path, "tables")
