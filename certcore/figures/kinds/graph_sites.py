"""Where an attack spends its flips, on a printed graph: ringed marks with their number, the largest with their name."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from certcore.domain.perturbations import ADJ_ADD, ADJ_DEL, ATTR_DEL
from certcore.figures import latex
from certcore.figures.escape import clean, for_latex
from certcore.figures.style import BLACK, SITE_LABEL, TYPE_COLOURS, on_background
from certcore.result.states import NOTHING

if TYPE_CHECKING:
    from certcore.figures.kinds.graph import GraphFigure
    from certcore.figures.sheet import Sheet

#: More names than this nobody reads in a column of a paper.
_MOST_NAMES = 8
#: How far, in points of print, the ring of a controlled node stands off its mark, and its line.
_RING, _RING_LINE = 1.6, 1.0


@dataclass(frozen=True)
class Mark:
    """One site: where it is, where its mark stands, and what is printed in it and beside it."""

    anchor: tuple[float, float]
    place: tuple[float, float]
    radius: float
    colour: str
    text: str
    name: str
    held: bool
    """Whether the attacker controls the node: then its ring goes around the mark, which would cover it."""


def marks_of(figure: GraphFigure, where: np.ndarray, unit: float) -> list[Mark]:
    """The marks of all sites, the largest last; `unit` is one point of print in the coordinates of `where`."""
    found: list[tuple[float, np.ndarray, int, str, bool]] = []
    controlled = set(() if figure.attackers is None else figure.attackers.tolist())
    if figure.spent is not None:
        for node in np.flatnonzero(np.asarray(figure.spent) > NOTHING).tolist():
            kind = ATTR_DEL if figure.spent_kind is None else int(figure.spent_kind[node])
            name = f"node {node}" if figure.names is None else clean(figure.names[node], 24)
            found.append((float(figure.spent[node]), where[node], kind, name, node in controlled))
    for edges, amounts, kind in ((figure.deleted, figure.amount, ADJ_DEL), (figure.added, None, ADJ_ADD)):
        for k, (i, j) in enumerate([] if edges is None else edges.tolist()):
            flips = 1.0 if amounts is None else float(amounts[k])
            found.append((flips, (where[i] + where[j]) / 2, kind, f"{i} – {j}", False))
    found.sort(key=lambda site: site[0])
    small = 1.0 if len(found) <= 30 else 0.7
    # One edge is one flip: its mark may be smaller than that of a node, the more so where it would hide the others.
    edge = 4.2 if sum(kind >= ADJ_ADD for _, _, kind, *_ in found) <= 8 else 3.4
    points = [4.4 + 1.2 * np.sqrt(min(flips, 16.0)) if kind < ADJ_ADD else edge for flips, _, kind, *_ in found]
    radii = small * unit * np.array(points, dtype=float)
    rings = unit * np.array([_RING if held else 0.0 for *_, held in found])
    anchors = np.array([place for _, place, *_ in found]).reshape(-1, 2)
    # Rings of controlled nodes stay where they are: marks keep off them.
    bare = np.zeros((0, 2)) if figure.attackers is None else where[unmarked(figure, figure.attackers)]
    around = np.concatenate([radii + rings, np.full(len(bare), 3.2 * unit)])
    places = pushed_apart(np.concatenate([anchors, bare]), around, fixed=len(bare))
    named = set(range(len(found))[-_MOST_NAMES:])
    return [
        Mark(
            (float(anchors[k, 0]), float(anchors[k, 1])),
            (float(places[k, 0]), float(places[k, 1])),
            float(radii[k]),
            TYPE_COLOURS[kind],
            f"{flips:.0f}" if flips == int(flips) else f"{flips:.1f}" if flips >= 0.1 else "<.1",
            name if k in named else "",
            held,
        )
        for k, (flips, _, kind, name, held) in enumerate(found)
    ]


def unmarked(figure: GraphFigure, nodes: np.ndarray) -> np.ndarray:
    """Those nodes that have no mark of their own: no attributes are flipped there."""
    return nodes if figure.spent is None else nodes[np.asarray(figure.spent)[nodes] <= NOTHING]


def pushed_apart(points: np.ndarray, radii: np.ndarray, rounds: int = 60, fixed: int = 0) -> np.ndarray:
    """Circles that do not sit on each other, close to where they belong; the last `fixed` ones are not moved."""
    moved = points.astype(float).copy()
    if len(points) > 400:
        return moved
    need = radii[:, None] + radii[None]
    for _ in range(rounds):
        apart = moved[:, None] - moved[None]
        distance = np.linalg.norm(apart, axis=2)
        np.fill_diagonal(distance, np.inf)
        close = distance < need
        if not close.any():
            break
        angle = np.add.outer(np.arange(len(points)), -np.arange(len(points))).astype(float)
        same = distance < 1e-9
        apart[same] = np.column_stack([np.cos(angle[same]), np.sin(angle[same])]) * np.sign(angle[same])[:, None]
        length = np.where(same, 1.0, distance)
        push = np.where(close, (need - np.where(same, 0.0, distance)) / 2, 0.0)
        moved += (apart / length[:, :, None] * push[:, :, None]).sum(axis=1) * 0.6
        moved[len(points) - fixed :] = points[len(points) - fixed :]
    return moved


def legend_text(figure: GraphFigure) -> str:
    """How many sites, how many flips."""
    spent = np.zeros(0) if figure.spent is None else np.asarray(figure.spent)
    nodes, flips = int((spent > NOTHING).sum()), float(spent.sum())
    told = f"{flips:,.0f}" if flips == int(flips) else f"{flips:,.2f}"
    return f"{SITE_LABEL}: flips spent here ({nodes:,} nodes, {told} flips)"


def draw_print(axes: Any, figure: GraphFigure, sheet: Sheet, where: np.ndarray, unit: float) -> list[Any]:
    """Marks on a printed graph; returns what the legend says about them."""
    marks = marks_of(figure, where, unit)
    taken: list[tuple[float, float, float, float]] = [
        (m.place[0] - r, m.place[1] - r, m.place[0] + r, m.place[1] + r)
        for m, r in ((mark, mark.radius + _RING * unit * mark.held) for mark in marks)
    ]
    for mark in marks:
        (x, y), (ax, ay), points = mark.place, mark.anchor, mark.radius / unit
        if np.hypot(x - ax, y - ay) > mark.radius:
            axes.plot([ax, x], [ay, y], color=mark.colour, linewidth=0.7, zorder=7)
        if mark.held:
            style = {"markerfacecolor": "white", "markeredgecolor": BLACK, "markeredgewidth": _RING_LINE}
            axes.plot([x], [y], marker="o", markersize=2 * (points + _RING - 0.5), **style, zorder=8, gid="site-held")
        style = {"markerfacecolor": "white", "markeredgecolor": mark.colour, "markeredgewidth": 0.28 * points}
        axes.plot([x], [y], marker="o", markersize=1.8 * points, **style, zorder=8, gid="site")
        size = max(6.0, (1.15 if len(mark.text) < 3 else 0.85) * points)
        style = {"ha": "center", "va": "center_baseline", "fontsize": size, "fontweight": "bold"}
        axes.text(x, y, mark.text, **style, zorder=9)
    for mark in reversed(marks):
        if mark.name:
            _name(axes, sheet, mark, taken, unit)
    if not marks or figure.spent is None or not (np.asarray(figure.spent) > NOTHING).any():
        return []
    colours = [mark.colour for mark in marks if mark.colour in TYPE_COLOURS[:2]]
    label = legend_text(figure)
    style = {"markerfacecolor": "white", "markeredgecolor": colours[-1], "markeredgewidth": 1.4}
    return [sheet.sample(linestyle="", marker="o", markersize=7, **style, label=label)]


def _name(axes: Any, sheet: Sheet, mark: Mark, taken: list[tuple[float, float, float, float]], unit: float) -> None:
    """A name beside its mark, where it covers nothing; else none."""
    size = max(6.0, sheet.font - 3)
    width, height, gap = 0.63 * size * len(mark.name) * unit, size * unit, 1.2 * unit
    (x, y), r = mark.place, mark.radius + _RING * unit * mark.held
    for left, bottom in (
        (x + r + gap, y - height / 2),
        (x - r - gap - width, y - height / 2),
        (x - width / 2, y + r + gap),
        (x - width / 2, y - r - gap - height),
        (x + r, y + r),
        (x + r, y - r - height),
        (x - r - width, y + r),
        (x - r - width, y - r - height),
    ):
        box = (left, bottom, left + width, bottom + height)
        if not any(box[0] < t[2] and box[2] > t[0] and box[1] < t[3] and box[3] > t[1] for t in taken):
            taken.append(box)
            around = {"facecolor": "white", "alpha": 0.75, "linewidth": 0, "pad": 0.4}
            axes.text(left, bottom, sheet.printable(mark.name), fontsize=size, va="bottom", bbox=around, zorder=9)
            return


def draw_latex(figure: GraphFigure, where: np.ndarray) -> list[str]:
    """Marks in TikZ, in centimetres; 28.45 points are one."""
    body = []
    for mark in marks_of(figure, where, 1 / 28.45):
        (x, y), (ax, ay) = mark.place, mark.anchor
        colour = latex.colour(mark.colour)
        if np.hypot(x - ax, y - ay) > mark.radius:
            body.append(f"\\draw[{colour}, line width=0.5pt] ({ax:.3f},{ay:.3f})--({x:.3f},{y:.3f});")
        points = mark.radius * 28.45
        if mark.held:
            style = f"draw={latex.colour(BLACK)}, fill=white, line width={_RING_LINE}pt"
            body.append(f"\\draw[{style}] ({x:.3f},{y:.3f}) circle[radius={points + _RING - 0.5:.2f}pt];")
        style = f"draw={colour}, fill=white, line width={0.26 * points:.2f}pt"
        body.append(f"\\draw[{style}] ({x:.3f},{y:.3f}) circle[radius={0.9 * points:.2f}pt];")
        font = f"\\fontsize{{{1.1 * points:.1f}}}{{{1.2 * points:.1f}}}\\selectfont\\bfseries"
        body.append(f"\\node[inner sep=0pt, font={{{font}}}] at ({x:.3f},{y:.3f}) {{{for_latex(mark.text)}}};")
        if mark.name:
            place = f"({x + mark.radius + _RING / 28.45 * mark.held:.3f},{y:.3f})"
            body.append(f"\\node[anchor=west, inner sep=1pt, font=\\tiny] at {place} {{{for_latex(mark.name, 40)}}};")
    return body


def legend_latex(figure: GraphFigure) -> list[tuple[str, str]]:
    if figure.spent is None or not (np.asarray(figure.spent) > NOTHING).any():
        return []
    colour = latex.colour(TYPE_COLOURS[ATTR_DEL])
    style = f"mark=*, mark options={{draw={colour}, fill=white, line width=1pt}}, mark size=3pt"
    return [(style, legend_text(figure))]


def screen_traces(figure: GraphFigure, where: np.ndarray, unit: float, dark: bool) -> list[dict[str, Any]]:
    """The marks as one trace of an interactive page, below them the rings of controlled nodes."""
    marks = marks_of(figure, where, unit)
    if not marks:
        return []
    x, y = zip(*(mark.place for mark in marks))
    held = [mark for mark in marks if mark.held]
    rings = {
        "x": [mark.place[0] for mark in held],
        "y": [mark.place[1] for mark in held],
        "mode": "markers",
        "marker": {
            "size": [2.4 * mark.radius / unit + 8 for mark in held],
            "color": on_background(BLACK, dark),
        },
        "hoverinfo": "skip",
        "showlegend": False,
        "name": "rings of controlled nodes",
    }
    shown = {
        "x": x,
        "y": y,
        "mode": "markers+text",
        "text": [mark.text for mark in marks],
        "textfont": {"size": 11, "color": "#F2F2F2" if dark else "#000000"},
        "hovertext": [mark.name for mark in marks],
        "hoverinfo": "skip",
        "marker": {
            "size": [2.4 * mark.radius / unit for mark in marks],
            "color": "#0E1117" if dark else "#FFFFFF",
            "line": {"width": 3, "color": [mark.colour for mark in marks]},
        },
        "name": legend_text(figure) if figure.spent is not None and figure.spent.any() else SITE_LABEL,
    }
    return [rings, shown] if held else [shown]
