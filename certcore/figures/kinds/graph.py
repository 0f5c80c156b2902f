"""The graph with an attack on it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from certcore.common.errors import InputError
from certcore.common.rounding import rounded_up
from certcore.domain.layout import quick_layout
from certcore.domain.perturbations import TYPES, node_types
from certcore.domain.scale import shown
from certcore.figures.escape import clean, for_plotly
from certcore.figures.figure import Cells, Figure, indices, numbers
from certcore.figures.geometry import GRAPH_ASPECT, edge_keys, graph_places, near, remaining, seen, segments, zoomed_in
from certcore.figures.kinds import graph_nodes, graph_sites
from certcore.figures.style import (
    CONTROLLED_LABEL,
    CORRECTNESS,
    PROTECTED_COLOUR,
    PROTECTED_LABEL,
    STATES,
    TOKENS,
    Palette,
    on_background,
)
from certcore.figures.table import Meaning, Table, make_table, without_empty
from certcore.instance.instance import Instance
from certcore.result.attack_effects import NO_TARGET, Reach, reach
from certcore.result.certificate import Certificate
from certcore.result.states import FORMER, NOTHING, TargetState

if TYPE_CHECKING:
    from certcore.figures.matplotlib_figure import Sheet


#: Total number of nodes and edges above which WebGL is used; below, SVG, which needs no graphics card.
_WEBGL_FROM = 12_000
_STATE_KEYS = tuple(STATES)
#: The most lines from sites to broken labels, as on the screen.
_MOST_LINKS = 12_000


#: Indices of injected nodes in a figure must be below twice the number of nodes plus this.
MAX_NEW = 10**6


@dataclass(frozen=True, eq=False, kw_only=True)
class GraphFigure(Figure):
    """The graph with an attack on it.

    `state` is the group of each node. With `palette="state"` or `"margin"` it is an index into the states of the style
    table (`groups` are their keys), with `"class"` into `groups`, the class names, with `"correct"` into `CORRECTNESS`;
    for the last two, `lost` lists the nodes that lose their certificate. `changed` are the labels that an attack on the
    model changes.

    `added` and `deleted` are the edges the attack adds and deletes, the latter with their `amount` (1 unless relaxed).
    `injected` are the edges of injected nodes, which are numbered after the others and drawn beside the graph. `spent`
    is the number of flips at each node and `spent_kind` their most frequent type. `margin` is how many further flips
    inside its field would leave a target uncertified; with lengths, how many steps of a further distance (`step`), and
    `spent` is how far each node is moved. `tally` has for each type its sites, flips and budget (-1: not
    known). `links` has a row for each label that a site helps break: the site's two ends (the same node twice where
    attributes are flipped) and the label's node.

    `faded` nodes are drawn pale. `relaxed` marks the fractional adversary of the linear program, which is no attack,
    and `broken` is the fraction by which it breaks each node. `zoomed` shows only the part where the attack is.
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
    tally: np.ndarray | None = None
    links: np.ndarray | None = None
    lost: np.ndarray | None = None
    changed: np.ndarray | None = None
    broken: np.ndarray | None = None
    faded: np.ndarray | None = None
    relaxed: bool = False
    zoomed: bool = False
    name: str = "graph"

    TALL: ClassVar = True

    def __post_init__(self) -> None:
        super().__post_init__()
        numbers(self, "positions", (None, 2), "the graph")
        n = len(self.positions)
        object.__setattr__(self, "groups", tuple(str(g) for g in self.groups))
        object.__setattr__(self, "palette", Palette.parse(self.palette, "palette"))
        if self.by_state:  # figures saved by earlier versions
            object.__setattr__(self, "groups", tuple(str(FORMER.get(g, g)) for g in self.groups))
        known = STATES if self.by_state else CORRECTNESS if self.palette == Palette.CORRECT else self.groups
        if not set(self.groups) <= set(known):
            raise InputError(f"the states of the graph are {', '.join(self.groups)}; expected among {', '.join(known)}")
        indices(self, "state", (n,), len(self.groups), "the graph")
        indices(self, "edges", (None, 2), n, "the graph")
        indices(self, "deleted", (None, 2), n, "the graph")
        numbers(self, "amount", (0 if self.deleted is None else len(self.deleted),), "the graph")
        indices(self, "added", (None, 2), n, "the graph")
        indices(self, "injected", (None, 2), 2 * n + MAX_NEW, "the graph")
        indices(self, "attackers", (None,), n, "the graph")
        indices(self, "protected", (None,), n, "the graph")
        numbers(self, "spent", (n,), "the graph")
        indices(self, "spent_kind", (n,), len(TYPES), "the graph")
        numbers(self, "margin", (n,), "the graph")
        numbers(self, "tally", (len(TYPES), 3), "the graph")
        indices(self, "links", (None, 3), 2 * n + MAX_NEW, "the graph")
        indices(self, "lost", (None,), n, "the graph")
        indices(self, "changed", (None,), n, "the graph")
        numbers(self, "broken", (n,), "the graph")
        indices(self, "faded", (None,), n, "the graph")
        if self.names is not None:
            object.__setattr__(self, "names", tuple(str(name) for name in self.names))
            if len(self.names) != n:
                raise InputError(f"the graph names {len(self.names)} nodes; expected {n}")

    @property
    def by_state(self) -> bool:
        """Whether `state` is an index into the states."""
        return self.palette in (Palette.STATE, Palette.MARGIN)

    def places(self) -> np.ndarray:
        """Positions of the nodes in a picture GRAPH_ASPECT wide and 1 high; in a zoomed one some lie outside."""
        where = graph_places(self.positions)
        if not self.zoomed:
            return where
        hit = [np.zeros(0, dtype=np.int64)] if self.spent is None else [np.flatnonzero(self.spent > NOTHING)]
        hit += [edges.ravel() for edges in (self.deleted, self.added) if edges is not None]
        return zoomed_in(where, np.concatenate(hit), self.lost)

    def table(self) -> Table:
        columns = {
            "element": Meaning.PLAIN,
            "node": Meaning.INDEX,
            "other_node": Meaning.INDEX,
            "name": Meaning.PLAIN,
            "x": Meaning.PLAIN,
            "y": Meaning.PLAIN,
            "state": Meaning.PLAIN,
            "spent": Meaning.ATTACKED,
            "attacker": Meaning.PLAIN,
            "protected": Meaning.PLAIN,
            "further_distance" if self.step else "further_flips": Meaning.PLAIN,
            "changed": Meaning.PLAIN,
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
            margin = (
                None if self.margin is None or self.margin[i] < 0 else round(int(self.margin[i]) * (self.step or 1), 9)
            )
            known = (i in attackers, i in protected, margin, None if changed is None else i in changed)
            rows.append(("node", i, None, name, x, y, state, spent, *known, None))
        blank = (None,) * 9
        for (i, j), amount in zip(self.edges.tolist(), deleted_amounts(self).tolist()):
            rows.append(("edge", i, j, *blank, amount))
        for i, j in () if self.added is None else self.added.tolist():
            rows.append(("added edge", i, j, *blank, None))
        return without_empty(make_table(list(columns), rows, list(columns.values())))

    def paper_table(self) -> Table:
        return _attack_table(self)

    def shortened(self, rows: Cells, most: int) -> tuple[Cells, str]:
        """The first rows, which are the most important ones."""
        first = "longest moves" if self.step else "most flips"
        return rows[:most], f"the first {most} of {len(rows)} rows, {first} first"

    def description(self) -> str:
        counts = np.bincount(self.state, minlength=len(self.groups))
        said = []
        for name, count in zip(self.groups, counts.tolist()):
            if count:
                said.append(f"{count:,} {STATES[name].label if self.by_state else clean(name, 30)}")
        parts = [f"Graph of {len(self.positions):,} nodes and {len(self.edges):,} edges: {', '.join(said)}"]
        if self.deleted is not None and len(self.deleted):
            parts.append(f"{len(self.deleted):,} edges are deleted")
        if self.added is not None and len(self.added):
            parts.append(f"{len(self.added):,} edges are added")
        if self.attackers is not None and len(self.attackers):
            parts.append(f"{len(self.attackers):,} nodes are under the attacker's control")
        if self.changed is not None:
            parts.append(f"{len(self.changed):,} labels are changed by this attack on the model")
        if self.relaxed:
            parts.append("This is the relaxed adversary of the linear program, not an attack")
        return ". ".join(parts) + "."

    def note(self) -> str:
        """In a zoomed graph: that the counts are of the whole graph."""
        return "Magnified to where the attack is; numbers in the legend count the whole graph." if self.zoomed else ""

    def draw_screen(self, screen: Any, dark: bool) -> None:
        large = len(self.positions) + len(self.edges) > _WEBGL_FROM
        add = screen.add_scattergl if large else screen.add_scatter
        where = self.places()
        add(
            **_segments(where, remaining(self.edges, self.deleted)),
            mode="lines",
            line={"color": "#4A4F57" if dark else "#C9CCD1", "width": 0.6},
            hoverinfo="skip",
            showlegend=False,
            name="edges",
        )
        size = float(np.clip(130 / np.sqrt(max(len(self.positions), 1)), 3, 12))
        for styled in graph_nodes.styled_nodes(self, dark):
            add(**_screen_nodes(self, where, styled, size, dark))
        for marks in graph_sites.screen_traces(self, where, dark):
            screen.add_scatter(**marks)
        for nodes, label, symbol, colour in (
            (self.attackers, CONTROLLED_LABEL, "circle-open", on_background(TOKENS["ink"].light, dark)),
            (self.protected, PROTECTED_LABEL, "circle-open", on_background(PROTECTED_COLOUR, dark)),
        ):
            if nodes is not None and len(nodes):
                bare = graph_sites.unmarked(self, nodes)
                screen.add_scatter(
                    x=where[bare, 0],
                    y=where[bare, 1],
                    mode="markers",
                    marker={"symbol": symbol, "size": max(size * 2, 12), "color": colour, "line": {"width": 2}},
                    name=f"{label} ({len(nodes):,})",
                    hoverinfo="skip",
                )
        pad = 0.04
        screen.update_xaxes(visible=False, range=[-pad, GRAPH_ASPECT + pad], constrain="domain")
        screen.update_yaxes(visible=False, range=[-pad, 1 + pad], scaleanchor="x", constrain="domain")
        screen.update_layout(clickmode="event+select", legend={"itemsizing": "constant"})

    def draw_print(self, sheet: Sheet) -> None:
        sheet.resize(sheet.width / GRAPH_ASPECT)
        axes = sheet.figure.add_subplot()
        axes.set_axis_off()
        axes.set_aspect("equal", adjustable="box")
        where = self.places()
        edges = near(where, remaining(self.edges, self.deleted))
        thin = 0.15 if len(edges) > 1500 else 0.25 if self.zoomed else 0.45
        axes.plot(*segments(where, edges), color="#CBD0D6", linewidth=thin, zorder=1, gid="edges")
        size = float(np.clip(4000 / max(int(seen(where).sum()), 1), 0.9, 4 if self.zoomed else 26)) * sheet.scale
        nodes_told = graph_nodes.draw_print(axes, self, sheet, where, size)
        handles: list[Any] = []
        for nodes, label, symbol, colour in (
            (self.attackers, CONTROLLED_LABEL, "o", TOKENS["ink"].light),
            (self.protected, PROTECTED_LABEL, "o", PROTECTED_COLOUR),
        ):
            if nodes is not None and len(nodes):
                x, y = where[graph_sites.unmarked(self, nodes)].T
                axes.scatter(
                    x, y, s=max(size * 4, 20), marker=symbol, facecolors="none", edgecolors=colour,
                    linewidths=1.1, zorder=10, gid=label,
                )  # fmt: skip
                handles.append(
                    sheet.sample(linestyle="", marker=symbol, markerfacecolor="none", markeredgecolor=colour,
                           markersize=6, label=f"{label} ({len(nodes):,})")
                )  # fmt: skip
        unit = (GRAPH_ASPECT + 0.06) / (72 * sheet.width)
        handles = [*graph_sites.draw_print(axes, self, sheet, where, unit), *handles, *nodes_told]
        axes.set_xlim(-0.03, GRAPH_ASPECT + 0.03)
        axes.set_ylim(-0.03, 1.03)
        sheet.legend(handles)


def graph_figure(
    instance: Instance,
    certificate: Certificate,
    *,
    relaxed: bool = False,
    palette: str = Palette.STATE,
    only: Sequence[str] = (),
    found: Reach | None = None,
    changed: np.ndarray | None = None,
    **more: Any,
) -> GraphFigure:
    """The whole graph with the replayed integer attack, or with the relaxed adversary of the linear program.

    The states of nodes are those of `TargetState`, in the order of the style table; nodes in other states than `only`
    are faded. `found` is the result of `reach` for the same allocation, if it is already computed. `changed`: nodes
    whose labels an attack on the model changes.
    """
    words = certificate.states(instance.base.fronts(), integer=not relaxed)
    state = np.array([_STATE_KEYS.index(word) for word in words], dtype=np.int64)
    lost = np.flatnonzero(state == _STATE_KEYS.index(TargetState.LOST))
    faded = np.flatnonzero(~np.isin(state, [_STATE_KEYS.index(one) for one in only])) if only else None
    found = found or reach(instance, certificate, relaxed=relaxed)
    attack = {} if found is None else _attack_fields(instance, certificate, relaxed, found, state)
    state, groups = _coloured(instance, state, Palette.parse(palette, "palette"))
    return GraphFigure(
        positions=positions_of(instance), edges=instance.graph.edges, state=state, groups=groups, palette=palette,
        lost=lost, changed=changed, faded=faded, protected=np.asarray(certificate.threat.protected, dtype=np.int64),
        names=instance.node_names, relaxed=relaxed, **attack,
        **{"name": "graph-relaxed" if relaxed else "graph", **more},
    )  # fmt: skip


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
        "tally": np.column_stack([(found.amounts > NOTHING).sum(axis=0), found.spent, found.budgets]),
    }
    if relaxed:
        broken[state == _STATE_KEYS.index(TargetState.BEFORE)] = 0
        attack["broken"] = broken
    elif found.inside is not None:  # if every site lies in every field, the lines carry no information
        attack["links"] = _links(found)
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
    if palette in (Palette.STATE, Palette.MARGIN):
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


def _links(found: Reach) -> np.ndarray:
    """A row for each label that a site helps break: both ends of the site, and the label's node."""
    rows = [np.zeros((0, 3), dtype=np.int64)]
    for site, ends in enumerate(found.ends):
        nodes = found.targets[found.broken_by(site)]
        rows.append(np.column_stack([np.broadcast_to(ends, (len(nodes), 2)), nodes]))
        if sum(map(len, rows)) > _MOST_LINKS:
            break
    return np.concatenate(rows)


def deleted_amounts(figure: GraphFigure) -> np.ndarray:
    """How much of each edge is deleted (0 or 1 in an attack, a fraction in the relaxed adversary)."""
    if figure.deleted is None or not len(figure.deleted):
        return np.zeros(len(figure.edges), dtype=np.int64)
    keys, gone = edge_keys(figure.edges, figure.deleted)
    amounts = np.ones(len(gone), dtype=np.int64) if figure.amount is None else figure.amount
    result = np.zeros(len(keys), dtype=amounts.dtype)
    order = np.argsort(keys)
    result[order[np.searchsorted(keys, gone, sorter=order)]] = amounts
    return result


def _screen_nodes(
    figure: GraphFigure, where: np.ndarray, styled: graph_nodes.StyledNodes, size: float, dark: bool
) -> dict[str, Any]:
    members, label = styled.members, for_plotly(styled.label)
    label = label.split(" (")[0] if figure.relaxed else label
    names = [for_plotly(figure.names[i]) if figure.names is not None else str(i) for i in members.tolist()]
    data: list[list[Any]] = [[i, text] for i, text in zip(members.tolist(), names)]
    hover = f"node %{{customdata[0]}}: %{{customdata[1]}}<br>{label}"
    if figure.spent is not None:
        for row, spent in zip(data, figure.spent[members].tolist()):
            amount = f"{spent:.3g}" if figure.step else rounded_up(spent)
            row.append(f"{int(spent):,}" if spent == int(spent) else amount)
        hover += f"<br>{'moved by' if figure.step else 'flips at this node'}: %{{customdata[2]}}"
    if styled.step:
        for row, margin in zip(data, figure.margin[members].tolist()):  # type: ignore[index]
            row.append("no number of" if margin < 0 else graph_nodes.margin_text(int(margin), figure.step))
        more = "distance" if figure.step else "flips"
        hover += f"<br>further {more} that can leave it uncertified: %{{customdata[{2 + (figure.spent is not None)}]}}"
        label = f"{label}, {styled.step}"
    return {
        "x": where[members, 0],
        "y": where[members, 1],
        "mode": "markers",
        "marker": {
            "color": on_background(styled.colour, dark),
            "symbol": styled.marker.screen,
            "size": size * styled.scale,
            "line": {
                "width": 1.8 if styled.outline else 0.5,
                "color": styled.outline or ("#0E1117" if dark else "#FFFFFF"),
            },
        },
        "name": styled.entry or f"{label} ({len(members):,})",
        "showlegend": bool(styled.label),
        "customdata": data,
        "hovertemplate": hover + "<extra></extra>",
        "unselected": {"marker": {"opacity": 1}},
    }


def _segments(where: np.ndarray, edges: np.ndarray) -> dict[str, np.ndarray]:
    x, y = segments(where, edges)
    return {"x": x, "y": y}


def _attack_table(figure: GraphFigure) -> Table:
    """Hit nodes (most flips first), changed edges, lost targets, and the attacker's other nodes."""
    full = figure.table()
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
    keep = [k for name, k in order.items() if name not in {"x", "y", *blank}]
    return full.chosen(keep, rows)


def read_states(text: str) -> list[TargetState]:
    """States by their short names, such as `lost,before`."""
    known = {state.name.lower(): state for state in TargetState}
    wanted = [word.strip() for word in text.split(",") if word.strip()]
    unknown = next((word for word in wanted if word not in known), None)
    if unknown is not None:
        raise InputError(f"there is no state {clean(unknown, 30)!r}; expected among {', '.join(known)}")
    return [known[word] for word in wanted]


def positions_of(instance: Instance) -> np.ndarray:
    """The layout of the instance, or a quickly computed one."""
    if instance.layout is not None:
        return np.asarray(instance.layout, dtype=float)
    return quick_layout(instance.graph.n_nodes, instance.graph.edges)
