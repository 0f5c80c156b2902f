"""Node: everything about one prediction, and why it is or is not attackable."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import streamlit as st

from certcore import messages
from certcore.domain.graph import Graph
from certcore.domain.perturbations import LABELS, TYPES, node_types
from certcore.domain.scale import shown
from certcore.instance.instance import Instance
from certcore.messages.names import class_name, node_name
from certcore.result.attack_effects import influence, reach
from certcore.result.certificate import Certificate
from certcore.result.states import TargetState

from ..messages.text import count, length, markdown, plain
from ..parts import charts, headline, neighbourhood, pictures, why
from ..parts.search import search
from ..state import controls, menu, state
from ..state.state import View

TITLE = "One node"
HOPS = {"field": "Its field", "1": "1 hop", "2": "2 hops", "3": "3 hops"}
OWN: dict[str, state.Control] = {"node": (None, state.whole()), "hops": ("field", state.one_of(*HOPS))}


def _attribute_facts(graph: Graph, node: int) -> list[str]:
    """What is known about its attributes: how many it has, and the length of the vector where they are numbers."""
    if graph.attr_digest is not None:
        return []  # they were left out of the file
    found = f"{count(int(graph.ones[node]))} attributes"
    if graph.attr_values is None:
        return [found]
    row = graph.attr_values[graph.attr_indptr[node] : graph.attr_indptr[node + 1]]
    return [f"{found} other than 0, norm {float(np.linalg.norm(row.astype(np.float64))):.3g}"]


def draw(view: View) -> None:
    bar = st.container(horizontal=True, vertical_alignment="bottom")
    result = headline.with_attack(view)
    if st.session_state["node"] is None and result is not None:
        state.replace("node", most_interesting(view.instance, result), "no node was named")
    if st.session_state["node"] is None:
        _wait()
        return
    node = _chosen(view.instance, bar)
    _facts(view.instance, node)
    if result is None:
        _wait()
        return
    received = _why(view.instance, result, node)
    left, right = st.columns([1.15, 1], gap="large")
    with left:
        _around(view.instance, result, node)
    with right:
        _front(view, result, node, received)
    why.votes(view.instance, node)


def most_interesting(instance: Instance, result: Certificate) -> int:
    """A label that loses its certificate, the one that received most; without one a node that is hit, or the first."""
    found = reach(instance, result)
    if found is not None and found.lost.any():
        received = np.where(found.lost, found.received.sum(axis=1), -1)
        return int(found.targets[int(received.argmax())])
    hit = [] if found is None else found.ends[found.ends[:, 0] < instance.graph.n_nodes, 0].tolist()
    return int(hit[0]) if hit else 0


def _wait() -> None:
    st.info("More appears here when the certificate at these budgets is computed.", icon=":material/hourglass_top:")


def _chosen(instance: Instance, bar: Any) -> int:
    """Which node: by its index, the one before or after it, or by name."""
    n = instance.graph.n_nodes
    if st.session_state["node"] >= n:
        state.replace("node", 0, f"this graph has the nodes 0 to {n - 1:,}")

    def step(by: int) -> None:
        st.session_state["node"] = (st.session_state["node"] + by) % n

    smaller, larger = "The node with the next smaller index.", "The node with the next larger index."
    bar.button("Previous", icon=":material/chevron_left:", on_click=step, args=(-1,), help=smaller)
    node = int(controls.number_input(bar, "Node index", 0, n - 1, key="node", width=130, help=f"0 to {n - 1:,}."))
    bar.button("Next", icon=":material/chevron_right:", on_click=step, args=(1,), help=larger)
    wanted = bar.text_input(
        "Find by name", placeholder="name or index", width=180, help="Opens the first node that matches."
    )
    found = search(instance.node_names, n, wanted)
    if found and found[0] != node and st.session_state.get("_found") != wanted:
        st.session_state["_found"] = wanted
        state.move(node=found[0])
    return node


def _facts(instance: Instance, node: int) -> None:
    st.subheader(markdown(node_name(instance, node)), anchor=False)
    facts = [f"index {count(node)}"]
    if instance.prediction is not None:
        facts.append(f"predicted **{markdown(class_name(instance, int(instance.prediction[node])))}**")
    if instance.labels is not None:
        facts.append(f"true class {markdown(class_name(instance, int(instance.labels[node])))}")
    facts.append(f"{count(int(instance.graph.incident[node]))} edges")
    facts += _attribute_facts(instance.graph, node)
    st.markdown(" · ".join(facts))


def _why(instance: Instance, result: Certificate, node: int) -> Sequence[float] | None:
    """What becomes of its label and why; returns what it receives in the attack."""
    found = influence(instance, result, node)
    received = None if found is None else found.received
    with st.container(border=True, key="why"):
        told = [messages.state_words(instance, result, node, received)]
        if found is not None:
            told += messages.node_words(found, lambda other: node_name(instance, other))
        st.markdown("\n\n".join(one.markdown for one in told))
    return received


def _around(instance: Instance, result: Certificate, node: int) -> None:
    """The nodes that can influence it, with the flips of the attack."""
    marks = neighbourhood.marks_of(instance, result)
    st.subheader("Around it", anchor=False, help="The nodes that can influence this prediction, or some hops.")
    hops = controls.segmented_control(
        st, "Show", list(HOPS), format_func=HOPS.__getitem__, key="hops", help="Which neighbours are drawn."
    )
    near = neighbourhood.around(instance, node, marks.spent.sum(axis=0), None if hops == "field" else int(hops))
    page = neighbourhood.html(instance, near, marks, dark=charts.is_dark(), height=400)
    st.iframe(page, height=410, alt=f"Neighbourhood of {plain(node_name(instance, node))}: {len(near.nodes)} nodes")
    spent = marks.spent[:, near.nodes]
    told = "how far it is moved" if marks.step else "flips spent there"
    legend = [f"disc with a number: {told}"] if spent[list(node_types())].any() else []
    legend += [":orange[■] loses its certificate"] if (marks.states[near.nodes] == TargetState.LOST).any() else []
    legend += ["dashed: deleted edge"] if len(marks.deleted) else []
    legend += ["thick: added edge"] if len(marks.added) else []
    where = "in the field" if hops == "field" else f"within {HOPS[hops]}"
    st.caption(
        f"{count(len(near.nodes) + near.cut)} nodes {where}"
        + (f", {count(near.cut)} far ones not drawn" if near.cut else "")
        + f". Marks as on the workbench{': ' if legend else ''}{' · '.join(legend)}; this node has a thicker "
        "edge. Click a node to open it."
    )
    others = near.nodes[(spent.sum(axis=0) > 0) & (near.nodes != node)]
    if not len(others):
        return
    with st.container(horizontal=True, vertical_alignment="center"):
        st.markdown("Other hit nodes around it:", width="content")
        for other in others[:8].tolist():
            amount = marks.spent[:, other].sum()
            name = f"{markdown(node_name(instance, other))} ({length(amount) if marks.step else count(amount)})"
            if st.button(name, key=f"open_{other}", type="tertiary", help="What is spent there; opens this node."):
                menu.go("node", node=other)


def _front(view: View, result: Certificate, node: int, received: Sequence[float] | None) -> None:
    """The smallest budgets that its base certificate leaves uncertified, and what it receives."""
    instance = view.instance
    st.subheader("Its front", anchor=False, help="The smallest budgets that the base certificate leaves uncertified.")
    axes = pictures.two_axes(instance, view.threat)
    x, y = axes
    points, got = pictures.front_points(instance, node, axes, received)
    budgets = shown(instance.scale, view.threat.budgets)[[TYPES.index(name) for name in axes]].tolist()
    screen = pictures.front(points, got, budgets, axes, dark=charts.is_dark())
    told = "; ".join(f"{a:.4g} and {b:.4g}" for a, b in points[:8].tolist()) or "none, certified at every budget"
    alt = f"Smallest uncertified budgets of {LABELS[x]} and {LABELS[y]}: {told}."
    charts.draw(screen, alt, key="front", height=340)
    star = f" The star is what this node receives in the replayed attack, in {LABELS[x]} and {LABELS[y]}."
    st.caption("Shaded: certified." + ("" if received is None else star))
