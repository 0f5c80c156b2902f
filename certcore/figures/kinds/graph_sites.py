"""Where an attack spends its flips and what it breaks, on an exported graph.

Sites are circles with their number of flips and, if they are few, their name; lines lead to the labels they break. The
layout is computed once, for print and interactive pages.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from certcore.domain.perturbations import ADJ_ADD, ADJ_DEL, ATTR_DEL, INJECT, LABELS, TABLE, TYPES
from certcore.figures.escape import clean, for_plotly
from certcore.figures.geometry import GRAPH_ASPECT
from certcore.figures.style import LOST_COLOUR, SITE_LABEL, TOKENS, on_background
from certcore.result.states import NOTHING

if TYPE_CHECKING:
    from certcore.figures.kinds.graph import GraphFigure
    from certcore.figures.matplotlib_figure import Sheet

#: The most names in a figure of one column.
_MOST_NAMES = 12
#: `_NAME_SIZE`: font size of names in points. `_SIGN`: largest width of a character, as a fraction of it.
_NAME_SIZE, _SIGN = 6.0, 0.62
#: In points. `_RING`: distance between a mark and the ring of a controlled node. `_RING_LINE`: its line width.
_RING, _RING_LINE = 1.6, 1.0
#: In points. `_EDGE_LINE`: line width of deleted and added edges. `_EDGE_MARGIN`: width of the white line below them.
_EDGE_LINE, _EDGE_MARGIN = 1.3, 2.4
#: `_PIXELS`: pixels on an interactive page per point of print. `_SCREEN_HEIGHT`: height of the graph there, unzoomed.
_PIXELS, _SCREEN_HEIGHT = 1.8, 450
LINKS_LABEL = "from a site to each label whose certificate it helps take"
#: The attacker is drawn in ink, as on the screen.
_INK = TOKENS["ink"].light

Box = tuple[float, float, float, float]


@dataclass(frozen=True)
class Mark:
    """One site: its position, the position of its mark, and the texts in and beside the mark."""

    ends: tuple[int, int]
    """Both ends of an edge; twice the same node where attributes are flipped."""
    anchor: tuple[float, float]
    place: tuple[float, float]
    radius: float
    kind: int
    flips: float
    name: str
    held: bool
    """Whether the attacker controls the node: then its ring is drawn around the mark, which would cover it."""
    box: Box | None = None
    """The box of the name; None if there is no free space."""
    lead: Box | None = None
    """The line to a name that is not next to its mark."""

    @property
    def is_edge(self) -> bool:
        return self.ends[0] != self.ends[1]

    @property
    def text(self) -> str:
        if TABLE[self.kind].lengths:
            return f"{float(f'{self.flips:.2g}'):g}".removeprefix("0")
        sign = "−" if "deletion" in LABELS[TYPES[self.kind]] else "+"
        if self.flips == int(self.flips):
            return f"{sign}{self.flips:.0f}"
        return f"{sign}{self.flips:.1f}" if self.flips >= 0.1 else f"{sign}<.1"

    @property
    def moved(self) -> bool:
        """Whether the mark is away from its site, so that a line must connect them."""
        return float(np.hypot(self.place[0] - self.anchor[0], self.place[1] - self.anchor[1])) > self.radius


def marks_of(figure: GraphFigure, where: np.ndarray, unit: float) -> list[Mark]:
    """The marks of all sites, the largest last; `unit` is one point of print in the coordinates of `where`."""
    where = _with_new(figure, where)
    found = sorted(_sites(figure, where), key=lambda mark: mark.flips)
    small = 1.0 if len(found) <= 30 else 0.7
    # An edge is one flip, so its mark is smaller than that of a node, and smaller still if there are many.
    edge = 4.0 if sum(mark.is_edge for mark in found) <= 8 else 3.4
    # The longest move is as large as 16 flips.
    longest = max((mark.flips for mark in found if TABLE[mark.kind].lengths), default=1.0)
    weight = [16 * (mark.flips / longest) ** 2 if TABLE[mark.kind].lengths else min(mark.flips, 16.0) for mark in found]
    points = [edge if mark.is_edge else 3.8 + np.sqrt(heavy) for mark, heavy in zip(found, weight)]
    radii = small * unit * np.array(points, dtype=float)
    rings = unit * np.array([_RING if mark.held else 0.0 for mark in found])
    # Rings of controlled nodes are fixed obstacles for the marks.
    bare = np.zeros((0, 2)) if figure.attackers is None else where[unmarked(figure, figure.attackers)]
    around = np.concatenate([radii + rings, np.full(len(bare), 3.2 * unit)])
    anchors = np.array([mark.anchor for mark in found]).reshape(-1, 2)
    ends = where[np.array([mark.ends for mark in found], dtype=np.int64).reshape(-1, 2)]
    is_edge = np.array([mark.is_edge for mark in found], dtype=bool)
    # A mark would cover a short edge, so it is placed beside it.
    short = is_edge & (np.linalg.norm(ends[:, 0] - ends[:, 1], axis=1) < 9 * radii)
    starts = _beside(anchors, ends, is_edge, short, radii + 4 * unit)
    lines = ends[is_edge] if len(found) <= 80 else ends[:0]
    off = np.concatenate([np.where(short, radii + 1.2 * unit, 0.0), np.zeros(len(bare))])
    places = pushed_apart(np.concatenate([starts, bare]), around, fixed=len(bare), lines=lines, off=off)
    placed = [
        replace(mark, place=(float(places[k, 0]), float(places[k, 1])), radius=float(radii[k]))
        for k, mark in enumerate(found)
    ]
    return _named(placed, [_around(spot, 4.5 * unit) for spot in bare.tolist()], unit)


def _with_new(figure: GraphFigure, where: np.ndarray) -> np.ndarray:
    """Positions of all nodes with injected ones: in a column beside the graph, ordered by the height of their
    neighbours.
    """
    if figure.injected is None or not len(figure.injected):
        return where
    n = len(figure.positions)
    number = int(figure.injected[:, 0].max()) + 1 - n
    sums, times = np.zeros(number), np.zeros(number)
    np.add.at(sums, figure.injected[:, 0] - n, where[figure.injected[:, 1], 1])
    np.add.at(times, figure.injected[:, 0] - n, 1)
    rank = np.argsort(np.argsort(sums / np.maximum(times, 1), kind="stable"), kind="stable")
    places = np.column_stack([np.full(number, GRAPH_ASPECT), (rank + 0.5) / number])
    return np.concatenate([where[:n], places])


def _joined(figure: GraphFigure, marks: list[Mark], where: np.ndarray) -> np.ndarray:
    """Lines from the marks of injected nodes to their neighbours: (lines, 2, 2)."""
    if figure.injected is None or not len(figure.injected):
        return np.zeros((0, 2, 2))
    place = {mark.ends[0]: mark.place for mark in marks if mark.kind == INJECT}
    return np.array([[place[a], where[b]] for a, b in figure.injected.tolist()])


def _sites(figure: GraphFigure, where: np.ndarray) -> Iterator[Mark]:
    controlled = set(() if figure.attackers is None else figure.attackers.tolist())

    def called(node: int) -> str:
        return str(node) if figure.names is None else clean(figure.names[node], 24)

    def mark(a: int, b: int, flips: float, kind: int, name: str, held: bool) -> Mark:
        x, y = ((where[a] + where[b]) / 2).tolist()
        return Mark((a, b), (x, y), (x, y), 0.0, kind, flips, name, held)

    if figure.spent is not None:
        for node in np.flatnonzero(np.asarray(figure.spent) > NOTHING).tolist():
            kind = ATTR_DEL if figure.spent_kind is None else int(figure.spent_kind[node])
            name = f"node {node}" if figure.names is None else called(node)
            yield mark(node, node, float(figure.spent[node]), kind, name, node in controlled)
    for node in [] if figure.injected is None else np.unique(figure.injected[:, 0]).tolist():
        yield mark(node, node, 1.0, INJECT, f"new {node - len(figure.positions) + 1}", False)
    for edges, amounts, kind in ((figure.deleted, figure.amount, ADJ_DEL), (figure.added, None, ADJ_ADD)):
        for k, (a, b) in enumerate([] if edges is None else edges.tolist()):
            flips = 1.0 if amounts is None else float(amounts[k])
            yield mark(a, b, flips, kind, f"{called(a)} – {called(b)}", False)


def unmarked(figure: GraphFigure, nodes: np.ndarray) -> np.ndarray:
    """The nodes without a mark, because no attributes are flipped there."""
    return nodes if figure.spent is None else nodes[np.asarray(figure.spent)[nodes] <= NOTHING]


def _beside(
    anchors: np.ndarray, ends: np.ndarray, is_edge: np.ndarray, short: np.ndarray, far: np.ndarray
) -> np.ndarray:
    """Initial positions of marks: those of short edges are moved away from other edges nearby, or sideways."""
    starts = anchors.astype(float).copy()
    for k in np.flatnonzero(short).tolist():
        near = is_edge & (np.linalg.norm(anchors - anchors[k], axis=1) < 6 * far[k])
        way = (anchors[k] - anchors[near]).sum(axis=0)
        if np.hypot(*way) < 0.1 * far[k]:
            along = ends[k, 1] - ends[k, 0]
            way = np.array([along[1], -along[0]])
        starts[k] += way * (far[k] / max(float(np.hypot(*way)), 1e-9))
    return starts


def pushed_apart(
    points: np.ndarray,
    radii: np.ndarray,
    rounds: int = 60,
    fixed: int = 0,
    lines: np.ndarray | None = None,
    off: np.ndarray | None = None,
) -> np.ndarray:
    """Move circles until none overlap, close to where they started; the last `fixed` ones stay.

    Circles with a distance in `off` also keep that distance from all `lines`, given by both ends.
    """
    moved = points.astype(float).copy()
    if len(points) > 400:
        return moved
    need = radii[:, None] + radii[None]
    for _ in range(rounds):
        apart = moved[:, None] - moved[None]
        distance = np.linalg.norm(apart, axis=2)
        np.fill_diagonal(distance, np.inf)
        close = distance < need
        angle = np.add.outer(np.arange(len(points)), -np.arange(len(points))).astype(float)
        same = distance < 1e-9
        apart[same] = np.column_stack([np.cos(angle[same]), np.sin(angle[same])]) * np.sign(angle[same])[:, None]
        length = np.where(same, 1.0, distance)
        push = np.where(close, (need - np.where(same, 0.0, distance)) / 2, 0.0)
        step = (apart / length[:, :, None] * push[:, :, None]).sum(axis=1) * 0.6
        if lines is not None and len(lines) and off is not None:
            step += _off_lines(moved, lines, off)
        if not step.any():
            break
        moved += step
        moved[len(points) - fixed :] = points[len(points) - fixed :]
    return moved


def _off_lines(points: np.ndarray, lines: np.ndarray, off: np.ndarray) -> np.ndarray:
    """For each point the step away from its nearest line, if that is too near."""
    step = np.zeros_like(points)
    for k in np.flatnonzero(off > 0).tolist():
        along = lines[:, 1] - lines[:, 0]
        share = ((points[k] - lines[:, 0]) * along).sum(axis=1) / np.maximum((along**2).sum(axis=1), 1e-12)
        away = points[k] - lines[:, 0] - along * np.clip(share, 0, 1)[:, None]
        distance = np.linalg.norm(away, axis=1)
        nearest = int(distance.argmin())
        if 1e-9 < distance[nearest] < off[k]:
            step[k] = away[nearest] / distance[nearest] * (off[k] - distance[nearest])
    return step


def _around(spot: Sequence[float], r: float) -> Box:
    return spot[0] - r, spot[1] - r, spot[0] + r, spot[1] + r


def _named(marks: list[Mark], rings: list[Box], unit: float) -> list[Mark]:
    """Assign names to the largest marks: beside them, or further away with a line, without overlaps."""
    frame = (-0.02, -0.02, GRAPH_ASPECT + 0.02, 1.02)
    outer = [mark.radius + _RING * unit * mark.held for mark in marks]
    taken = [*rings, *(_around(mark.place, r) for mark, r in zip(marks, outer))]
    named = list(marks)
    for k in range(len(marks) - 1, max(-1, len(marks) - 1 - _MOST_NAMES), -1):
        size = (_SIGN * _NAME_SIZE * len(marks[k].name) * unit, 1.1 * _NAME_SIZE * unit)
        for box, lead in _spots(marks[k].place, outer[k], size, unit):
            inside = box[0] >= frame[0] and box[1] >= frame[1] and box[2] <= frame[2] and box[3] <= frame[3]
            if inside and not any(box[0] < t[2] and box[2] > t[0] and box[1] < t[3] and box[3] > t[1] for t in taken):
                taken.append(box)
                named[k] = replace(marks[k], box=box, lead=lead)
                break
    return named


def _spots(
    place: tuple[float, float], r: float, size: tuple[float, float], unit: float
) -> Iterator[tuple[Box, Box | None]]:
    """Candidate boxes of a name: next to its mark, then in rings around it, with the connecting line."""
    (x, y), (width, height), gap = place, size, 1.2 * unit
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
        yield (left, bottom, left + width, bottom + height), None
    for away in (8, 16, 26, 38, 52, 68):
        for turn in range(16):
            dx, dy, far = np.cos(turn * np.pi / 8), np.sin(turn * np.pi / 8), r + away * unit
            left, bottom = x + dx * far - width / 2 * (1 - dx), y + dy * far - height / 2
            box = (float(left), float(bottom), float(left + width), float(bottom + height))
            end = float(np.clip(x + dx * far, box[0], box[2])), float(np.clip(y + dy * far, box[1], box[3]))
            yield box, (float(x + dx * r), float(y + dy * r), *end)


def entries(figure: GraphFigure) -> list[tuple[int, str]]:
    """Legend entries of sites: for each type of flips the number of sites, and of flips out of the budget."""
    labels = []
    for kind, (sites, flips, budget) in enumerate(_tally(figure).tolist()):
        if not sites and budget <= 0:
            continue
        if TABLE[kind].lengths:
            spent, of = f"{flips:.3g}", f" of {budget:.10g}" if budget >= 0 else ""
        else:
            spent = f"{flips:,.0f}" if flips == int(flips) else f"{flips:,.2f}"
            of = f" of {budget:,.0f}" if budget >= 0 else ""
        labels.append(
            (kind, f"{SITE_LABEL}: {sites:,.0f} {'site' if sites == 1 else 'sites'}, {spent}{of} {LABELS[TYPES[kind]]}")
        )
    return labels


def _tally(figure: GraphFigure) -> np.ndarray:
    if figure.tally is not None:
        return figure.tally
    tally = np.tile([0.0, 0.0, -1.0], (len(TYPES), 1))
    if figure.spent is not None:
        for node in np.flatnonzero(np.asarray(figure.spent) > NOTHING).tolist():
            kind = ATTR_DEL if figure.spent_kind is None else int(figure.spent_kind[node])
            tally[kind, :2] += 1, float(figure.spent[node])
    for kind, edges, amounts in ((ADJ_DEL, figure.deleted, figure.amount), (ADJ_ADD, figure.added, None)):
        if edges is not None:
            tally[kind, :2] += len(edges), len(edges) if amounts is None else float(np.sum(amounts))
    if figure.injected is not None:
        tally[INJECT, :2] += len(np.unique(figure.injected[:, 0]))
    return tally


def _links(figure: GraphFigure, marks: list[Mark], where: np.ndarray) -> Iterator[np.ndarray]:
    """For each site that breaks labels the lines from its mark to them: (lines, 2, 2)."""
    if figure.links is None:
        return
    for mark in marks:
        if mark.kind == INJECT:
            continue  # all edges of injected nodes are drawn already
        nodes = figure.links[(figure.links[:, :2] == mark.ends).all(axis=1), 2]
        if len(nodes):
            start = np.broadcast_to(np.array(mark.place), (len(nodes), 2))
            yield np.stack([start, where[nodes]], axis=1)


def _strength(figure: GraphFigure) -> float:
    """Opacity of a line to a label: the more lines, the lower."""
    return min(0.65, 170 / (180 + (0 if figure.links is None else len(figure.links))) + 0.1)


def draw_print(axes: Any, figure: GraphFigure, sheet: Sheet, where: np.ndarray, unit: float) -> list[Any]:
    """Draw the marks on a printed graph; returns their legend entries."""
    marks = marks_of(figure, where, unit)
    style: dict[str, Any]
    for lines in _links(figure, marks, where):
        path = np.full((len(lines), 3, 2), np.nan)
        path[:, :2] = lines
        style = {"color": LOST_COLOUR, "linewidth": 0.45, "alpha": _strength(figure), "zorder": 2.5, "gid": "links"}
        axes.plot(path[:, :, 0].ravel(), path[:, :, 1].ravel(), **style)
    for line in _joined(figure, marks, where):
        style = {"color": LOST_COLOUR, "linewidth": 0.45, "alpha": _strength(figure), "zorder": 2.5}
        axes.plot(line[:, 0], line[:, 1], **style, gid="new-edge")
    for mark in marks:
        if mark.is_edge:
            (ax, ay), (bx, by) = where[list(mark.ends)].tolist()
            # Drawn above the nodes with an outline in the colour of the paper, which keeps them readable if there are
            # many.
            axes.plot([ax, bx], [ay, by], color="white", linewidth=_EDGE_MARGIN, alpha=0.8, zorder=5)
            style = {"color": _INK, "linewidth": _EDGE_LINE, "linestyle": (0, _dashes(mark, where, unit))}
            gid = "deleted-edge" if mark.kind == ADJ_DEL else "added-edge"
            axes.plot(
                [ax, bx],
                [ay, by],
                **(style if mark.kind == ADJ_DEL else {**style, "linestyle": "-"}),
                zorder=6,
                gid=gid,
            )
    for mark in marks:
        (x, y), (ax, ay), points = mark.place, mark.anchor, mark.radius / unit
        if mark.moved:
            axes.plot([ax, x], [ay, y], color=_INK, linewidth=0.7, zorder=7)
        if mark.held:
            style = {"markerfacecolor": "white", "markeredgecolor": _INK, "markeredgewidth": _RING_LINE}
            axes.plot([x], [y], marker="o", markersize=2 * (points + _RING - 0.5), **style, zorder=8, gid="site-held")
        style = {"markerfacecolor": _INK, "markeredgecolor": "white", "markeredgewidth": 0.5}
        axes.plot([x], [y], marker="o", markersize=2 * points, **style, zorder=8, gid="site")
        size = max(6.0, (1.0 if len(mark.text) < 3 else 0.78) * points)
        style = {"ha": "center", "va": "center_baseline", "fontsize": size, "fontweight": "bold", "color": "white"}
        axes.text(x, y, mark.text, **style, zorder=9)
        if mark.lead is not None:
            axes.plot(mark.lead[::2], mark.lead[1::2], color=_INK, linewidth=0.4, alpha=0.7, zorder=8.5)
        if mark.box is not None:
            around = {"facecolor": "white", "alpha": 0.75, "linewidth": 0, "pad": 0.3}
            style = {"fontsize": _NAME_SIZE, "va": "center", "ha": "center", "bbox": around, "gid": "site-name"}
            middle = (mark.box[0] + mark.box[2]) / 2, (mark.box[1] + mark.box[3]) / 2
            axes.text(*middle, sheet.printable(mark.name), **style, zorder=9)
    handles = []
    for kind, label in entries(figure):
        disc = {"marker": "o", "markerfacecolor": _INK, "markeredgecolor": _INK}
        line = {} if TABLE[kind].at_nodes else {"linewidth": _EDGE_LINE, "color": _INK}
        dash: Any = "" if TABLE[kind].at_nodes else "-" if kind != ADJ_DEL else (0, (2.2, 1.1))
        handles.append(sheet.sample(linestyle=dash, markersize=6, label=label, **disc, **line))
    if figure.links is not None and len(figure.links):
        handles.append(sheet.sample(linewidth=0.8, color=LOST_COLOUR, label=LINKS_LABEL))
    return handles


def _dashes(mark: Mark, where: np.ndarray, unit: float) -> tuple[float, float]:
    """Dash pattern in multiples of the line width, so that short edges also look dashed."""
    length = float(np.linalg.norm(where[mark.ends[0]] - where[mark.ends[1]])) / unit
    dash = float(np.clip(length / 4 / _EDGE_LINE, 1.0, 2.2))
    return dash, 0.6 * dash


def screen_traces(figure: GraphFigure, where: np.ndarray, dark: bool) -> list[dict[str, Any]]:
    """The attack as traces of an interactive page: lines to labels, edges, rings of controlled nodes, marks, names."""
    marks = marks_of(figure, where, _PIXELS / _SCREEN_HEIGHT)
    labels = dict(entries(figure))
    ink, paper, lost = (on_background(_INK, dark), "#0E1117" if dark else "#FFFFFF", on_background(LOST_COLOUR, dark))
    traces: list[dict[str, Any]] = []

    def line(pieces: list[Any], colour: str, width: float, **more: Any) -> None:
        if not pieces:
            return
        path = np.full((len(pieces), 3, 2), np.nan)
        path[:, :2] = np.asarray(pieces)
        style = {"color": colour, "width": width, "dash": more.pop("dash", "solid")}
        place = {"x": path[:, :, 0].ravel(), "y": path[:, :, 1].ravel(), "mode": "lines", "line": style}
        traces.append({**place, "hoverinfo": "skip", "showlegend": "name" in more, **more})

    links = [piece for lines in _links(figure, marks, where) for piece in lines]
    line(links, lost, 1, opacity=_strength(figure), name=LINKS_LABEL)
    line(list(_joined(figure, marks, where)), lost, 1, opacity=_strength(figure))
    for kind, dash in ((ADJ_ADD, "solid"), (ADJ_DEL, "5px,3px")):
        pieces = [where[list(mark.ends)] for mark in marks if mark.kind == kind]
        line(pieces, paper, 6.5, opacity=0.85)
        line(pieces, ink, 3.4, dash=dash, name=labels.get(kind, SITE_LABEL))
    line([(mark.anchor, mark.place) for mark in marks if mark.moved], ink, 1.6)
    line([(mark.lead[:2], mark.lead[2:]) for mark in marks if mark.lead is not None], ink, 1)
    traces += _screen_marks(marks, labels, dark)
    boxes = [(mark, mark.box) for mark in marks if mark.box is not None]
    if boxes:
        traces.append({
            "x": [(box[0] + box[2]) / 2 for _, box in boxes],
            "y": [(box[1] + box[3]) / 2 for _, box in boxes],
            "mode": "text",
            "text": [for_plotly(mark.name) for mark, _ in boxes],
            "textfont": {"size": 11, "color": ink},
            "hoverinfo": "skip",
            "showlegend": False,
        })  # fmt: skip
    return traces


def _screen_marks(marks: list[Mark], labels: dict[int, str], dark: bool) -> list[dict[str, Any]]:
    """The marks of the sites, and rings around those at controlled nodes."""
    ink, paper = on_background(_INK, dark), "#0E1117" if dark else "#FFFFFF"
    traces: list[dict[str, Any]] = []

    def across(mark: Mark) -> float:
        return 2 * _SCREEN_HEIGHT * mark.radius

    def dots(some: list[Mark], **more: Any) -> None:
        if some:
            x, y = zip(*(mark.place for mark in some))
            traces.append(
                {"x": x, "y": y, "mode": "markers", "hoverinfo": "skip", "showlegend": "name" in more, **more}
            )

    held = [mark for mark in marks if mark.held]
    ring = {"width": 2, "color": ink}
    dots(held, marker={"size": [across(mark) + 8 for mark in held], "color": paper, "opacity": 1, "line": ring})
    for kind in dict.fromkeys(mark.kind for mark in marks):
        here = [mark for mark in marks if mark.kind == kind]
        dots(
            here,
            mode="markers+text",
            text=[mark.text for mark in here],
            textfont={"size": 11, "color": paper},
            hovertext=[for_plotly(mark.name) for mark in here],
            hoverinfo="text",
            marker={
                "size": [across(mark) for mark in here],
                "color": ink,
                "opacity": 1,  # otherwise Plotly makes marks of different sizes translucent
                "line": {"width": 1, "color": paper},
            },
            **({"name": labels.get(kind, SITE_LABEL)} if TABLE[kind].at_nodes or kind == INJECT else {}),
        )
    return traces
