"""How the nodes of a graph look that an attack does not touch: by state or class, and by how close they are to loss."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from certcore.figures import latex
from certcore.figures.escape import clean
from certcore.figures.style import CLOSENESS, STATES, Closeness, Marker, Palette, series_colour, series_marker
from certcore.result.states import TargetState

if TYPE_CHECKING:
    from certcore.figures.kinds.graph import GraphFigure
    from certcore.figures.sheet import Sheet

#: Larger groups of nodes are drawn as dots, or TeX would run out of memory.
_MOST_MARKS = 1500
#: TeX reads its source into memory line by line and path by path: keep both short.
PER_PATH = 250
#: Targets that keep their certificate: these are graded by how close they are to losing it.
_KEPT = (TargetState.UNDECIDED, TargetState.ALONE)
_CIRCLE = STATES[TargetState.UNDECIDED].marker


@dataclass(frozen=True, eq=False)
class Look:
    """Nodes that look alike, and what the legend says about them (nothing: another entry speaks for them)."""

    members: np.ndarray
    label: str
    colour: str
    marker: Marker
    scale: float
    entry: str
    group: int


def looks(figure: GraphFigure, dark: bool = False) -> list[Look]:
    """Groups of nodes in the order in which they are drawn, the most important last."""
    found: list[Look] = []
    for group, name in enumerate(figure.groups):
        members = np.flatnonzero(figure.state == group)
        if not len(members):
            continue
        if figure.palette != Palette.STATE:
            marker = series_marker(group)
            entry = f"{clean(name, 40)} ({len(members):,})"
            found.append(Look(members, name, series_colour(group), marker, 1.0, entry, group))
            continue
        style = STATES[name]
        entry = f"{clean(style.label, 40)} ({len(members):,})"
        if figure.margin is None or name not in _KEPT:
            found.append(Look(members, style.label, style.colour, style.marker, style.scale, entry, group))
            continue
        step = closeness(figure.margin[members])
        for k in range(len(CLOSENESS) - 1, -1, -1):
            here, tone = members[step == k], CLOSENESS[k].dark if dark else CLOSENESS[k].colour
            if len(here):
                found.append(Look(here, style.label, tone, _CIRCLE, style.scale, "", group))
    return found


def closeness(margin: np.ndarray) -> np.ndarray:
    """The step of each margin; what no number of flips breaks is in the last one."""
    ends = [step.most for step in CLOSENESS if step.most is not None]
    return np.where(margin < 0, len(CLOSENESS) - 1, np.searchsorted(ends, margin))


def steps(figure: GraphFigure) -> list[tuple[str, str]]:
    """What the legend says about closeness: for each step its colour and how many targets stand there."""
    kept = [group for group, name in enumerate(figure.groups) if name in _KEPT]
    if figure.margin is None or figure.palette != Palette.STATE:
        return []
    counts = np.bincount(closeness(figure.margin[np.isin(figure.state, kept)]), minlength=len(CLOSENESS))
    return [
        (step.colour, f"uncertified after {step.label} further {_flips(step)} ({number:,})")
        for step, number in zip(CLOSENESS, counts.tolist())
        if number
    ]


def _flips(step: Closeness) -> str:
    return "flip" if step.most == 1 else "flips" if step.most is not None else "flips, if at all"


def entries(figure: GraphFigure) -> list[tuple[str, Marker, str]]:
    """The legend of the nodes, what is lost first: colour, marker, words."""
    found = sorted(looks(figure), key=lambda look: look.label != TargetState.LOST)
    told = [(look.colour, look.marker, look.entry) for look in found if look.entry]
    first = [entry for entry in told if entry[2].startswith(TargetState.LOST)]
    return first + [(colour, _CIRCLE, text) for colour, text in steps(figure)] + told[len(first) :]


def draw_print(axes: Any, figure: GraphFigure, sheet: Sheet, where: np.ndarray, size: float) -> list[Any]:
    """Nodes on a printed graph; returns what the legend says about them."""
    for k, look in enumerate(looks(figure)):
        x, y = where[look.members].T
        axes.plot(
            x,
            y,
            linestyle="",
            marker=look.marker.print,
            markersize=np.sqrt(size) * look.scale,
            color=look.colour,
            markeredgewidth=0.15 if len(figure.positions) < 1000 else 0,
            markeredgecolor="white",
            zorder=3 + 0.1 * k,
            gid=f"nodes-{look.group}",
        )
    return [
        sheet.sample(linestyle="", marker=marker.print, color=colour, markersize=5, label=sheet.printable(text))
        for colour, marker, text in entries(figure)
    ]


def draw_latex(figure: GraphFigure, where: np.ndarray, size: float) -> list[str]:
    """Nodes in TikZ; large groups as dots."""
    body: list[str] = []
    for look in looks(figure):
        places, mark = where[look.members], look.marker.latex
        if len(places) > _MOST_MARKS:
            body += _dots(places, look.colour, 2 * size * look.scale, "*" if mark == "*" else "square*")
        else:
            body += marks(places, f"{_filled(look.colour, mark)}, mark size={size * look.scale:.2f}pt")
    return body


def legend_latex(figure: GraphFigure) -> list[tuple[str, str]]:
    return [(f"{_filled(colour, marker.latex)}, mark size=2pt", text) for colour, marker, text in entries(figure)]


def _filled(colour: str, mark: str) -> str:
    name = latex.colour(colour)
    return f"mark options={{draw={name}, fill={name}, line width=0.3pt}}, mark={mark}"


def marks(where: np.ndarray, style: str) -> list[str]:
    """Marks in TikZ, some in each path."""
    paths = []
    for first in range(0, len(where), PER_PATH):
        points = "\n".join(f"({x:.3f},{y:.3f})" for x, y in where[first : first + PER_PATH].tolist())
        paths.append(f"\\path plot[only marks, {style}] coordinates {{\n{points}\n}};")
    return paths


def _dots(where: np.ndarray, colour: str, width: float, mark: str) -> list[str]:
    """Many dots: strokes of no length with round or square ends take a tenth of the memory that marks take."""
    cap = "round" if mark == "*" else "rect"
    paths = []
    for first in range(0, len(where), PER_PATH):
        points = "\n".join(f"({x:.3f},{y:.3f})--+(0,0)" for x, y in where[first : first + PER_PATH].tolist())
        paths.append(f"\\draw[{latex.colour(colour)}, line width={width:.2f}pt, line cap={cap}] {points};")
    return paths
