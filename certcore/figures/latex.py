"""Figures for LaTeX: stand-alone pgfplots and TikZ source from the same numbers, colours and coordinates."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence

import numpy as np

from certcore import __version__
from certcore.common.rounding import rounded_down
from certcore.figures.escape import for_comment, for_latex
from certcore.figures.figure import Figure
from certcore.figures.geometry import log_ticks
from certcore.figures.print_style import PrintStyle
from certcore.figures.table import Meaning

#: pgfplots patterns for the hatches of bars.
HATCHES = {"": "", "////": "north east lines", "....": "dots", "\\\\\\\\": "north west lines"}

_PREAMBLE = r"""\documentclass[border=2pt]{standalone}
\usepackage[T1]{fontenc}
\usepackage[utf8]{inputenc}
\usepackage{textcomp}
\usepackage{booktabs}
\usepackage{pgfplots}
\pgfplotsset{compat=1.16}
\usetikzlibrary{plotmarks,patterns}
"""


def standalone(figure: Figure, style: PrintStyle | None = None, *, note: str = "") -> str:
    """A document that pdfLaTeX turns into the figure alone; its `tikzpicture` can be pasted into a paper.

    A `note` is set below it. The font is that of the document.
    """
    style = style or PrintStyle()
    width_cm = style.centimetres
    body = figure.draw_latex(width_cm)
    if style.labels == "none":
        body = re.sub(r"\\addlegend(entry|image)\{.*\}\n", "", body)
    for old, new in style.texts.items():
        body = body.replace(f"{{{for_latex(old, 160)}}}", f"{{{for_latex(new, 160)}}}")
    if style.title and figure.title:
        head = rf"\node[anchor=south] at (current bounding box.north) {{{for_latex(style.text(figure.title))}}};"
        body = body.replace(r"\end{tikzpicture}", head + "\n\\end{tikzpicture}")
    if note:
        look = rf"anchor=north, font=\scriptsize, align=left, text width={width_cm:g}cm"
        below = rf"\node[{look}] at (current bounding box.south) {{{for_latex(note, 1000)}}};"
        body = body.replace(r"\end{tikzpicture}", below + "\n\\end{tikzpicture}")
    used = sorted(set(re.findall("cc([0-9A-F]{6})", body)))
    colours = "".join(f"\\definecolor{{cc{code}}}{{HTML}}{{{code}}}\n" for code in used)
    head = f"% {for_comment(figure.name)}: made by certcore {__version__}; compile with pdflatex\n"
    return f"{head}{_PREAMBLE}{colours}\\begin{{document}}\n{body}\\end{{document}}\n"


def colour(code: str) -> str:
    """The name of a colour in the document."""
    return "cc" + code[1:].upper()


def points(
    x: Sequence[float] | np.ndarray,
    y: Sequence[float] | np.ndarray,
    x_meaning: Meaning = Meaning.PLAIN,
    y_meaning: Meaning = Meaning.PLAIN,
) -> str:
    """Coordinates, a few on each line."""
    across, up = np.asarray(x).tolist(), np.asarray(y).tolist()
    pairs = [f"({number(a, x_meaning)},{number(b, y_meaning)})" for a, b in zip(across, up)]
    return "\n".join(" ".join(pairs[i : i + 8]) for i in range(0, len(pairs), 8))


def number(value: float, meaning: Meaning = Meaning.PLAIN) -> str:
    """A coordinate; certified ratios are rounded down, also in the source."""
    if meaning is not Meaning.CERTIFIED:
        return f"{value:.6g}"
    return rounded_down(value, 6).replace(",", "").rstrip("0").rstrip(".")


def listed(items: Iterable[object]) -> str:
    """Items of a list in braces."""
    return ",".join(str(item) for item in items)


def axis(options: dict[str, str], body: list[str]) -> str:
    """One pgfplots axis with its content."""
    listed = ",\n  ".join(key if value == "" else f"{key}={value}" for key, value in options.items())
    inner = "\n".join(body)
    axis = f"\\begin{{axis}}[\n  {listed}\n]\n{inner}\n\\end{{axis}}\n"
    return f"\\begin{{tikzpicture}}\n{axis}\\end{{tikzpicture}}\n"


def frame(width_cm: float, x: str, y: str, ratio: float = 0.68) -> dict[str, str]:
    """The options of an axis that all figures share."""
    return {
        "width": f"{width_cm:g}cm",
        "height": f"{width_cm * ratio:.3g}cm",
        "xlabel": f"{{{for_latex(x)}}}",
        "ylabel": f"{{{for_latex(y)}}}",
        "label style": r"{font=\small}",
        "tick label style": r"{font=\footnotesize, /pgf/number format/1000 sep={,}}",
        "scaled ticks": "false",
        "axis lines": "left",
        "axis line style": "{-}",
        "tick align": "outside",
        "legend style": r"{at={(0.5,0)}, yshift=-11.5mm, anchor=north, draw=none, font=\footnotesize}",
        "legend cell align": "left",
        "clip mode": "individual",
    }


def add_log_ticks(options: dict[str, str], which: str, largest: float) -> None:
    """The options of a logarithmic axis that begins at 0."""
    where, text = log_ticks(largest)
    options[f"{which}mode"] = "log"
    options[f"{which}tick"] = f"{{{listed(number(v) for v in where)}}}"
    options[f"{which}ticklabels"] = f"{{{listed(f'{{{label}}}' for label in text)}}}"
    options[f"minor {which} tick num"] = "0"
