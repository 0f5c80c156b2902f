"""The graph with an attack on it, for print; the interactive graph is the workbench."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from certcore.common.errors import InputError
from certcore.domain.layout import quick_layout
from certcore.domain.perturbations import ATTR_DEL, LABELS, TABLE, TYPES, node_types
from certcore.domain.scale import shown
from certcore.figures.escape import clean
from certcore.figures.figure import Figure, indices, numbers
from certcore.figures.geometry import GRAPH_ASPECT, deleted_amounts, graph_places, remaining, segments
from certcore.figures.style import (
    CLASSES,
    CONTROLLED_LABEL,
    CORRECTNESS,
    LOST_COLOUR,
    MARKERS,
    PROTECTED_COLOUR,
    PROTECTED_LABEL,
    RELAXED_LABEL,
    SHARES,
    STATES,
    TOKENS,
    Marker,
    Palette,
    series_marker,
)
from certcore.figures.table import Meaning, Table, make_table, without_empty
from certcore.instance.instance import Instance
from certcore.result.attack_effects import NO_TARGET, Reach, reach
from certcore.result.certificate import Certificate
from certcore.result.states import CHANGED_LABEL, NOTHING, TargetState

if TYPE_CHECKING:
    from certcore.figures.page import Page

_STATE_KEYS = tuple(STATES)
#: Indices of injected nodes in a figure must be below twice the number of nodes plus this.
MAX_NEW = 10**6
#: Short words of the states, for a legend in one row of a column.
SHORT = {
    TargetState.LOST: "lost",
    TargetState.PARTLY: "partly lost",
    TargetState.UNDECIDED: "not lost",
    TargetState.ALONE: "certified",
    TargetState.BEFORE: "uncertified",
    TargetState.NOT_A_TARGET: "no target",
}
#: The most names of attacked nodes, and the size of text on the graph in points.
_MOST_NAMES, _TEXT = 8, 6.0
_INK = TOKENS["ink"].light
_LOST = STATES[TargetState.LOST]


@dataclass(frozen=True, eq=False, kw_only=True)
class GraphFigure(Figure):
    """The graph with an attack on it.

    `state` is the group of each node. With `palette="state"` it is an index into the states of the style table
    (`groups` are their keys), with `"class"` into `groups`, the class names, with `"correct"` into `CORRECTNESS`; for
    the last two, `lost` lists the nodes that lose their certificate. `changed` are the labels that an attack on the
    model changes.

    `added` and `deleted` are the edges the attack adds and deletes, the latter with their `amount` (1 unless relaxed).
    `injected` are the edges of injected nodes, which are numbered after the others and drawn at the right. `spent` is
    the number of flips at each node and `spent_kind` their most frequent type. `margin` is how many further flips
    inside its field would leave a target uncertified; with lengths, how many steps of a further distance (`step`), and
    `spent` is how far each node is moved. `relaxed` marks the fractional adversary of the linear program, which is no
    attack, and `broken` is the fraction by which it breaks each node.
    """

    positions: np.ndarray
    edges: np.ndarray
    state: np.ndarray
    groups: tuple[str, ...] = tuple(str(state) for state in STATES)
    palette: str = Palette.STATE
    deleted: np.ndarray | None = None
    amount: np.ndarray | None = None
    added: np.ndarray | None = None
    injected: np.ndarray | None = None
    attackers: np.ndarray | None = None
    protected: np.ndarray | None = None
    spent: np.ndarray | None = None
    spent_kind: np.ndarray | None = None
    margin: np.ndarray | None = None
    step: float = 0
    names: tuple[str, ...] | None = None
    lost: np.ndarray | None = None
    changed: np.ndarray | None = None
    broken: np.ndarray | None = None
    relaxed: bool = False
    name: str = "graph"

    def __post_init__(self) -> None:
        numbers(self, "positions", (None, 2), "the graph")
        n = len(self.positions)
        object.__setattr__(self, "groups", tuple(str(g) for g in self.groups))
        object.__setattr__(self, "palette", Palette.parse(self.palette, "palette"))
        known = {Palette.STATE: STATES, Palette.CORRECT: CORRECTNESS}.get(Palette(self.palette), self.groups)
        if not set(self.groups) <= set(known):
            raise InputError(f"the states of the graph are {', '.join(self.groups)}; expected among {', '.join(known)}")
        indices(self, "state", (n,), len(self.groups), "the graph")
        for name in ("edges", "deleted", "added"):
            indices(self, name, (None, 2), n, "the graph")
        numbers(self, "amount", (0 if self.deleted is None else len(self.deleted),), "the graph")
        indices(self, "injected", (None, 2), 2 * n + MAX_NEW, "the graph")
        for name in ("attackers", "protected", "lost", "changed"):
            indices(self, name, (None,), n, "the graph")
        for name in ("spent", "margin", "broken"):
            numbers(self, name, (n,), "the graph")
        indices(self, "spent_kind", (n,), len(TYPES), "the graph")
        if self.names is not None:
            object.__setattr__(self, "names", tuple(str(name) for name in self.names))
            if len(self.names) != n:
                raise InputError(f"the graph names {len(self.names)} nodes; expected {n}")

    def table(self) -> Table:
        columns = {
            "element": Meaning.PLAIN,
            "node": Meaning.INDEX,
            "other node": Meaning.INDEX,
            "name": Meaning.PLAIN,
            "x": Meaning.PLAIN,
            "y": Meaning.PLAIN,
            "state": Meaning.PLAIN,
            "spent": Meaning.ATTACKED,
            "attacker": Meaning.PLAIN,
            "protected": Meaning.PLAIN,
            "further distance" if self.step else "further flips": Meaning.PLAIN,
            "label changed": Meaning.PLAIN,
            "deleted": Meaning.ATTACKED,
        }
        attackers = set(() if self.attackers is None else self.attackers.tolist())
        protected = set(() if self.protected is None else self.protected.tolist())
        changed = None if self.changed is None else set(self.changed.tolist())
        rows: list[tuple[Any, ...]] = []
        for i, (x, y) in enumerate(self.positions.tolist()):
            name = None if self.names is None else self.names[i]
            spent = None if self.spent is None else self.spent[i]
            state = self.groups[int(self.state[i])]
            known = (i in attackers, i in protected, self._further(i), None if changed is None else i in changed)
            rows.append(("node", i, None, name, x, y, state, spent, *known, None))
        blank = (None,) * 9
        for (i, j), amount in zip(self.edges.tolist(), deleted_amounts(self.edges, self.deleted, self.amount).tolist()):
            rows.append(("edge", i, j, *blank, amount))
        for i, j in () if self.added is None else self.added.tolist():
            rows.append(("added edge", i, j, *blank, None))
        return without_empty(make_table(list(columns), rows, list(columns.values())))

    def _further(self, node: int) -> float | None:
        """Flips, or a distance, that would leave a target uncertified."""
        if self.margin is None or self.margin[node] < 0:
            return None
        return round(int(self.margin[node]) * (self.step or 1), 9)

    def paper_table(self) -> Table:
        """Hit nodes (most flips first), changed edges, lost targets, and the attacker's other nodes."""
        full = self.table()
        order = {name: k for k, name in enumerate(full.columns)}

        def cell(row: Sequence[Any], name: str) -> Any:
            return row[order[name]] if name in order else None

        nodes = [row for row in full.rows if row[0] == "node"]
        hit = sorted((row for row in nodes if cell(row, "spent")), key=lambda row: (-cell(row, "spent"), row[1]))
        edges = [row for row in full.rows if row[0] == "added edge" or (row[0] == "edge" and cell(row, "deleted"))]
        edges.sort(key=lambda row: -(cell(row, "deleted") or 0))
        unhit = [row for row in nodes if not cell(row, "spent")]
        lost = [row for row in unhit if cell(row, "state") in (TargetState.LOST, TargetState.PARTLY)]
        others = [row for row in unhit if cell(row, "attacker") and row not in lost]
        rows = [*hit, *edges, *lost, *others]
        blank = {name for name in order if all(cell(row, name) in (None, False, "") for row in rows)}
        return full.chosen([k for name, k in order.items() if name not in {"x", "y", *blank}], rows)

    def tex(self) -> str:
        return self.paper_table().tex(self.name, first=True)

    def description(self) -> str:
        counts = np.bincount(self.state, minlength=len(self.groups)).tolist()
        named = [(STATES[name].label if self.palette == Palette.STATE else clean(name, 30)) for name in self.groups]
        present = ", ".join(f"{count:,} {name}" for name, count in zip(named, counts) if count)
        parts = [f"Graph of {len(self.positions):,} nodes and {len(self.edges):,} edges: {present}"]
        for found, words in (
            (self.deleted, "edges are deleted"),
            (self.added, "edges are added"),
            (self.attackers, "nodes are under the attacker's control"),
        ):
            if found is not None and len(found):
                parts.append(f"{len(found):,} {words}")
        if self.changed is not None:
            parts.append(f"{len(self.changed):,} labels are changed by this model attack")
        if self.relaxed:
            parts.append("This is the relaxed adversary of the linear program, not an attack")
        return ". ".join(parts) + "."

    def draw_print(self, page: Page) -> None:
        page.at_least(1 / GRAPH_ASPECT)
        axes = page.figure.add_subplot()
        axes.set_axis_off()
        axes.set_aspect("equal", adjustable="box")
        where = _with_new(self, graph_places(self.positions))
        edges = remaining(self.edges, self.deleted)
        thin = 0.2 if len(edges) > 1500 else 0.45
        axes.plot(*segments(where, edges), color="#CBD0D6", linewidth=thin, zorder=1, gid="edges")
        area = float(np.clip(4000 / max(len(self.positions), 1), 1.6, 26)) * page.scale
        nodes = _draw_nodes(axes, self, where, area)
        sites = _draw_attack(axes, self, where, page)
        rings = _draw_rings(axes, self, where, area)
        axes.set_xlim(-0.03, GRAPH_ASPECT + 0.03)
        axes.set_ylim(-0.03, 1.03)
        page.legend([*sites, *nodes, *rings], most_rows=1, sample=1.2)
        _draw_marks(axes, self, where, page)


@dataclass(frozen=True, eq=False)
class StyledNodes:
    """Nodes of one style, and their legend entry (empty: none)."""

    members: np.ndarray
    colour: str
    marker: Marker
    scale: float
    label: str
    outline: str = ""


def styled_nodes(figure: GraphFigure) -> list[StyledNodes]:
    """Groups of nodes in drawing order, the most important last."""
    found: list[StyledNodes] = []
    for group, name in enumerate(figure.groups):
        members = np.flatnonzero(figure.state == group)
        by_share = figure.palette == Palette.STATE and name in (TargetState.PARTLY, TargetState.LOST)
        if len(members) and not (by_share and figure.broken is not None):
            found.append(_group(figure, group, name, members))
    if figure.broken is not None:
        return found + _shares(figure.broken)
    lost = np.zeros(0, dtype=int) if figure.lost is None else figure.lost
    if len(lost) and figure.palette != Palette.STATE:  # framed, on top of the other colours
        label = f"lost ({len(lost):,})"
        found.append(StyledNodes(lost, LOST_COLOUR, _LOST.marker, _LOST.scale, label, "#000000"))
    if figure.changed is not None and len(figure.changed):
        label, scale = f"{CHANGED_LABEL} ({len(figure.changed):,})", _LOST.scale * 1.2
        found.append(StyledNodes(figure.changed, TOKENS["changed"].light, _LOST.marker, scale, label))
        found.append(StyledNodes(figure.changed, TOKENS["paper"].light, MARKERS[6], 0.7 * scale, ""))
    return found


def _group(figure: GraphFigure, group: int, name: str, members: np.ndarray) -> StyledNodes:
    if figure.palette == Palette.STATE:
        style, short = STATES[name], SHORT[TargetState(name)]
        label = f"{short} ({len(members):,})" if name == TargetState.LOST else short
        # Nodes that are no targets are pale and need no entry.
        label = "" if name == TargetState.NOT_A_TARGET else label
        return StyledNodes(members, style.colour, style.marker, style.scale, label)
    if figure.palette == Palette.CORRECT:
        style = CORRECTNESS[name]
        return StyledNodes(members, style.colour, style.marker, style.scale, style.label)
    # As on the screen: circles, and one colour for all classes beyond the last.
    marker = MARKERS[0] if group < len(CLASSES) - 1 else series_marker(group)
    return StyledNodes(members, CLASSES[min(group, len(CLASSES) - 1)].light, marker, 1.0, clean(name, 40))


def _shares(broken: np.ndarray) -> list[StyledNodes]:
    """Targets by the fraction u by which the relaxed adversary breaks them, fully broken ones on top."""
    members, tones = np.flatnonzero(broken > NOTHING), SHARES[1:]
    step = np.clip(np.ceil(broken[members] * len(tones) - NOTHING).astype(np.int64) - 1, 0, len(tones) - 1)
    found = []
    for k, tone in enumerate(tones):
        here = members[step == k]
        label = f"u ≤ {(k + 1) / len(tones):g}"
        if len(here):
            found.append(StyledNodes(here, tone, _LOST.marker, 1.2 + 0.1 * k, label))
    return found


def _draw_nodes(axes: Any, figure: GraphFigure, where: np.ndarray, area: float) -> list[Any]:
    """Draw the nodes; returns their legend entries, lost ones first."""
    from matplotlib.lines import Line2D

    thin = 0.15 if len(figure.positions) < 1000 else 0
    handles = []
    for k, styled in enumerate(styled_nodes(figure)):
        look: dict[str, Any] = {"linestyle": "", "marker": styled.marker.print, "color": styled.colour}
        edge = {"markeredgewidth": 0.6 if styled.outline else thin, "markeredgecolor": styled.outline or "white"}
        size = np.sqrt(area) * styled.scale
        axes.plot(*where[styled.members].T, **look, **edge, markersize=size, zorder=3 + 0.1 * k, gid=f"nodes-{k}")
        if styled.label:
            handles.append(Line2D([], [], **look, markersize=4.5, markeredgewidth=0, label=styled.label))
    # In the order of the words above, with what is drawn over them first.
    order = list(SHORT.values())
    words = [str(handle.get_label()).split(" (")[0] for handle in handles]
    ranked = sorted(range(len(handles)), key=lambda k: order.index(words[k]) if words[k] in order else -1)
    return [handles[k] for k in ranked]


def _draw_rings(axes: Any, figure: GraphFigure, where: np.ndarray, area: float) -> list[Any]:
    """Rings around controlled nodes at which nothing is spent, and around protected ones."""
    from matplotlib.lines import Line2D

    handles = []
    for nodes, label, colour, gid in (
        (figure.attackers, CONTROLLED_LABEL, _INK, "controlled"),
        (figure.protected, PROTECTED_LABEL, PROTECTED_COLOUR, "protected"),
    ):
        if nodes is None or not len(nodes):
            continue
        bare = nodes if figure.spent is None else nodes[np.asarray(figure.spent)[nodes] <= NOTHING]
        look: dict[str, Any] = {"linestyle": "", "marker": "o", "markerfacecolor": "none", "markeredgecolor": colour}
        axes.plot(*where[bare].T, **look, markersize=max(2 * np.sqrt(area), 4.5), zorder=7, gid=gid)
        if gid != "controlled" or figure.spent is None:  # else the marks name them
            handles.append(Line2D([], [], **look, markersize=4.5, label=f"{label} ({len(nodes):,})"))
    return handles


def _draw_attack(axes: Any, figure: GraphFigure, where: np.ndarray, page: Page) -> list[Any]:
    """Draw changed edges above the nodes, with a white outline; returns the legend entries of the attack."""
    from matplotlib.lines import Line2D

    handles: list[Any] = []
    sites = 0 if figure.spent is None else int((np.asarray(figure.spent) > NOTHING).sum())
    word = RELAXED_LABEL if figure.relaxed else "attacked"
    if figure.attackers is not None and sites and not figure.relaxed:
        word, sites = CONTROLLED_LABEL, len(figure.attackers)
    if sites:
        look: dict[str, Any] = {"linestyle": "", "marker": "o", "color": _INK, "markersize": 5.5}
        handles.append(Line2D([], [], **look, label=f"{word} ({sites:,})"))
    for changed, label, dash in (
        (figure.deleted, "deleted", (0, (2.0, 1.0))),
        (figure.added, "added", "-"),
        (figure.injected, "new", "-"),
    ):
        if changed is None or not len(changed):
            continue
        look = {"color": _INK, "linewidth": 1.2 * page.scale, "linestyle": dash}
        path = segments(where, changed)
        axes.plot(*path, color="white", linewidth=2.4 * page.scale, alpha=0.8, zorder=5)
        axes.plot(*path, **look, zorder=6, gid=f"{label}-edges".replace(" ", "-"))
        handles.append(Line2D([], [], **look, label=f"{label} ({len(changed):,})"))
    return handles


@dataclass(frozen=True)
class Mark:
    """A node at which something is spent: where, its text, its name, and the radius of its mark in points."""

    at: tuple[float, float]
    text: str
    name: str
    radius: float
    controlled: bool


def marks_of(figure: GraphFigure, where: np.ndarray) -> list[Mark]:
    """The marks of all attacked nodes, the one with the most flips first."""
    controlled = set(() if figure.attackers is None else figure.attackers.tolist())
    found = []
    spent = np.zeros(len(figure.positions)) if figure.spent is None else np.asarray(figure.spent, dtype=float)
    hit = np.flatnonzero(spent > NOTHING)
    for node in hit[np.argsort(-spent[hit], kind="stable")].tolist():
        kind = ATTR_DEL if figure.spent_kind is None else int(figure.spent_kind[node])
        name = f"node {node}" if figure.names is None else clean(figure.names[node], 24)
        heavy = 16 * (spent[node] / spent.max()) ** 2 if TABLE[kind].lengths else min(spent[node], 16.0)
        found.append(
            Mark(
                _point(where, node), flips_text(spent[node], kind), name, 3.8 + 0.5 * np.sqrt(heavy), node in controlled
            )
        )
    new = [] if figure.injected is None else np.unique(figure.injected[:, 0]).tolist()
    for node in new:
        found.append(Mark(_point(where, node), "+1", f"new {node - len(figure.positions) + 1}", 4.0, False))
    return found


def _point(where: np.ndarray, node: int) -> tuple[float, float]:
    return float(where[node, 0]), float(where[node, 1])


def flips_text(amount: float, kind: int) -> str:
    """What is spent at a node: a number of flips with its direction, or a distance."""
    if TABLE[kind].lengths:
        return f"{float(f'{amount:.2g}'):g}".removeprefix("0")
    sign = "−" if "deletion" in LABELS[TYPES[kind]] else "+"
    if amount == int(amount):
        return f"{sign}{amount:.0f}"
    return f"{sign}{amount:.1f}" if amount >= 0.1 else f"{sign}<.1"


def _draw_marks(axes: Any, figure: GraphFigure, where: np.ndarray, page: Page) -> None:
    """The marks of attacked nodes with what is spent there, and names beside those that have room."""
    marks = marks_of(figure, where)
    for mark in reversed(marks):  # most flips on top
        look: dict[str, Any] = {"marker": "o", "linestyle": "", "zorder": 8}
        edge = {"markeredgecolor": _INK if mark.controlled else "white", "markeredgewidth": 0.8}
        if mark.controlled:
            axes.plot(*mark.at, **look, **edge, markersize=2 * mark.radius + 3, markerfacecolor="white", gid="ring")
        axes.plot(*mark.at, **look, markersize=2 * mark.radius, color=_INK, markeredgecolor="white", gid="site")
        style = {"fontsize": _TEXT, "fontweight": "bold", "color": "white", "zorder": 9}
        axes.text(*mark.at, mark.text, ha="center", va="center_baseline", **style, gid="flips")
    # One point of print, about the same in both fonts, so that names have the same places in both.
    unit = np.full(2, 1.06 / (0.86 * page.height * 72))
    taken = [_box(mark.at, np.array([2 * mark.radius] * 2) * unit) for mark in marks]
    for mark in marks[:_MOST_NAMES]:
        text = page.printable(mark.name, 24)
        size = np.array(page.text_size(text, _TEXT)) * unit
        for at in _beside(mark, size, unit):
            box = _box(at, size)
            inside = box[0] >= 0 and box[1] >= 0 and box[2] <= GRAPH_ASPECT and box[3] <= 1
            if inside and not any(_meet(box, other) for other in taken):
                taken.append(box)
                around = {"facecolor": "white", "alpha": 0.75, "linewidth": 0, "pad": 0.3}
                place = {"ha": "center", "va": "center_baseline", "zorder": 9, "in_layout": False}
                axes.text(*at, text, fontsize=_TEXT * page.larger[page.face], bbox=around, **place, gid="site-name")
                break


Box = tuple[float, float, float, float]


def _box(at: tuple[float, float], size: np.ndarray) -> Box:
    return at[0] - size[0] / 2, at[1] - size[1] / 2, at[0] + size[0] / 2, at[1] + size[1] / 2


def _meet(one: Box, other: Box) -> bool:
    return one[0] < other[2] and one[2] > other[0] and one[1] < other[3] and one[3] > other[1]


def _beside(mark: Mark, size: np.ndarray, unit: np.ndarray) -> Iterator[tuple[float, float]]:
    """Places of a name around its mark, the best first."""
    away = size / 2 + (mark.radius + 1.5) * unit
    for x, y in ((1, 0), (-1, 0), (0, 1), (0, -1), (0.8, 0.8), (0.8, -0.8), (-0.8, 0.8), (-0.8, -0.8)):
        yield mark.at[0] + x * float(away[0]), mark.at[1] + y * float(away[1])


def _with_new(figure: GraphFigure, where: np.ndarray) -> np.ndarray:
    """Positions of all nodes with injected ones: at the right, ordered by the height of their neighbours."""
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


def graph_figure(
    instance: Instance,
    certificate: Certificate,
    *,
    relaxed: bool = False,
    palette: str = Palette.STATE,
    found: Reach | None = None,
    changed: np.ndarray | None = None,
    **more: Any,
) -> GraphFigure:
    """The whole graph with the replayed attack, or with the relaxed adversary of the linear program.

    The states of nodes are those of `TargetState`, in the order of the style table. `found` is the result of `reach`
    for the same allocation, if it is already computed. `changed`: nodes whose labels an attack on the model changes.
    """
    words = certificate.states(instance.base.fronts(), integer=not relaxed)
    state = np.array([_STATE_KEYS.index(word) for word in words], dtype=np.int64)
    lost = np.flatnonzero(state == _STATE_KEYS.index(TargetState.LOST))
    found = found or reach(instance, certificate, relaxed=relaxed)
    attack = {} if found is None else _attack_fields(instance, certificate, relaxed, found, state)
    state, groups = _coloured(instance, state, Palette.parse(palette, "palette"))
    return GraphFigure(
        positions=positions_of(instance),
        edges=instance.graph.edges,
        state=state,
        groups=groups,
        palette=palette,
        lost=lost,
        changed=changed,
        protected=np.asarray(certificate.threat.protected, dtype=np.int64),
        names=instance.node_names,
        relaxed=relaxed,
        **attack,
        **{"name": "graph-relaxed" if relaxed else "graph", **more},
    )


def _attack_fields(
    instance: Instance, certificate: Certificate, relaxed: bool, found: Reach, state: np.ndarray
) -> dict[str, Any]:
    """The fields of a figure that describe an attack, or the relaxed adversary."""
    graph, threat = instance.graph, certificate.threat
    allocation = certificate.fractional if relaxed else certificate.attack
    assert allocation is not None
    used = np.asarray(allocation.deleted, dtype=float) > NOTHING
    margin, broken = np.full(graph.n_nodes, NO_TARGET, dtype=np.int64), np.zeros(graph.n_nodes)
    margin[found.targets], broken[found.targets] = found.margin, np.clip(found.broken, 0, 1)
    attack = {
        "deleted": graph.edges[used],
        "amount": np.asarray(allocation.deleted)[used],
        "added": np.asarray(allocation.added).reshape(-1, 2),
        "injected": np.asarray(allocation.injected).reshape(-1, 2),
        "spent": _moved(instance, np.asarray(allocation.attributes)),
        "spent_kind": np.array(node_types())[np.asarray(allocation.attributes).argmax(axis=0)],
        "margin": margin,
        "step": found.step,
    }
    if relaxed:
        broken[state == _STATE_KEYS.index(TargetState.BEFORE)] = 0
        attack["broken"] = broken
    if threat.sigma is not None:
        attack["attackers"] = np.flatnonzero(np.asarray(allocation.attackers, dtype=float) > NOTHING)
    return attack


def _moved(instance: Instance, attributes: np.ndarray) -> np.ndarray:
    """What is spent at each node, of all types together: flips, or the distance it is moved by."""
    by_type = np.zeros((attributes.shape[1], len(TYPES)), dtype=attributes.dtype)
    by_type[:, list(node_types())] = attributes.T
    return np.asarray(shown(instance.scale, by_type).sum(axis=1))


def _coloured(instance: Instance, state: np.ndarray, palette: Palette) -> tuple[np.ndarray, tuple[str, ...]]:
    """The group of every node, and the names of the groups."""
    if palette == Palette.STATE:
        return state, tuple(_STATE_KEYS)
    if palette == Palette.CORRECT:
        if instance.right is None:
            raise InputError("this instance does not say which labels are right; colour the graph by state instead")
        speaks = instance.base.fronts().clean
        return np.where(speaks, instance.right, 2).astype(np.int64), tuple(CORRECTNESS)
    labels = instance.prediction if instance.prediction is not None else instance.labels
    if labels is None:
        raise InputError("this instance has neither predicted nor true labels; colour the graph by state instead")
    names = instance.class_names or ()
    groups = (*names, *(f"class {k}" for k in range(len(names), int(np.max(labels)) + 1)))
    return np.asarray(labels), tuple(groups)


def positions_of(instance: Instance) -> np.ndarray:
    """The layout of the instance, or a quickly computed one."""
    if instance.layout is not None:
        return np.asarray(instance.layout, dtype=float)
    return quick_layout(instance.graph.n_nodes, instance.graph.edges)
