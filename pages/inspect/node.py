"""Node: everything about one prediction, and why it is or is not attackable."""

from __future__ import annotations

import numpy as np
import streamlit as st

from certcore import figures, words
from certcore.domain.perturbations import LABELS
from certcore.figures.kinds.front import two_axes
from certcore.result.attack_text import attack_text
from certcore.result.influence import influence

from ..frame import menu
from ..frame.sidebar import class_name, node_name
from ..parts import charts, exports, headline, neighbourhood, why
from ..parts.search import search
from ..parts.text import count, markdown, plain
from ..state import controls, state
from ..state.state import View

TITLE = "One node"
OWN: dict[str, state.Control] = {"node": (0, state.whole())}


def draw(view: View) -> None:
    instance, n = view.instance, view.instance.graph.n_nodes
    if st.session_state["node"] >= n:
        state.replace("node", 0, f"this graph has the nodes 0 to {n - 1:,}")

    bar = st.container(horizontal=True, vertical_alignment="bottom")
    bar.button(
        "Previous",
        icon=":material/chevron_left:",
        on_click=lambda: st.session_state.update(node=(st.session_state["node"] - 1) % n),
        help="The node with the next smaller index.",
    )
    node = int(controls.number_input(bar, "Node index", 0, n - 1, key="node", width=130, help=f"0 to {n - 1:,}."))
    bar.button(
        "Next",
        icon=":material/chevron_right:",
        on_click=lambda: st.session_state.update(node=(st.session_state["node"] + 1) % n),
        help="The node with the next larger index.",
    )
    wanted = bar.text_input(
        "Find by name", placeholder="name or index", width=180, help="Opens the first node that matches."
    )
    found = search(instance.node_names, n, wanted)
    if found and found[0] != node and st.session_state.get("_found") != wanted:
        st.session_state["_found"] = wanted
        state.move(node=found[0])

    result = headline.with_attack(view)
    st.subheader(markdown(node_name(instance, node)), anchor=False)
    facts = [
        f"index {count(node)}",
        f"{count(int(instance.graph.incident[node]))} edges",
        f"{count(int(instance.graph.ones[node]))} attributes",
    ]
    if instance.prediction is not None:
        facts.insert(1, f"predicted **{markdown(class_name(instance, int(instance.prediction[node])))}**")
    if instance.labels is not None:
        facts.insert(2, f"true class {markdown(class_name(instance, int(instance.labels[node])))}")
    st.markdown(" · ".join(facts))
    if result is None:
        st.info("More appears here when the certificate at these budgets is computed.", icon=":material/hourglass_top:")
        return
    found_here = influence(instance, result, node)
    received = None if found_here is None else found_here.received
    with st.container(border=True, key="why"):
        told = [words.state_words(instance, result, node, received)]
        if found_here is not None:
            told += words.node_words(found_here, lambda other: node_name(instance, other))
        st.markdown("\n\n".join(one.markdown for one in told))

    spent = result.attack.spent_at(instance.graph.edges) if result.attack is not None else np.zeros((4, n))
    removed = (
        instance.graph.edges[np.asarray(result.attack.deleted) > 0] if result.attack is not None else np.zeros((0, 2))
    )
    left, right = st.columns([1.15, 1], gap="large")
    with left:
        near = neighbourhood.around(instance, node, spent.sum(axis=0))
        st.subheader("Its receptive field", anchor=False, help="All nodes that can influence this prediction.")
        page = neighbourhood.html(instance, near, spent, removed, dark=charts.is_dark(), height=400)
        st.iframe(page, height=410, alt=f"Neighbourhood of {plain(node_name(instance, node))}: {len(near.nodes)} nodes")
        hit = spent[:, near.nodes].sum(axis=0) > 0
        marks = [":orange[★] this node"] + [":blue[●] its field"] * (len(near.nodes) > 1)
        if (hit & (near.nodes != node)).any():
            marks.append(":red[■] other nodes that are hit in the replayed attack")
        st.caption(
            f"{count(len(near.nodes) + near.cut)} nodes in the field"
            + (f", {count(near.cut)} far ones not drawn" if near.cut else "")
            + f". {' · '.join(marks)}. Click a node to open it."
        )
        others = near.nodes[hit & (near.nodes != node)]
        if len(others):
            with st.container(horizontal=True, vertical_alignment="center"):
                st.markdown("Other hit nodes in its field:", width="content")
                for other in others[:8].tolist():
                    name = f"{node_name(instance, other)} ({count(spent[:, other].sum())})"
                    if st.button(
                        name, key=f"open_{other}", type="tertiary", help="Flips spent there; opens this node."
                    ):
                        menu.go("node", node=other)
    with right:
        st.subheader(
            "Its front", anchor=False, help="The smallest budgets that the base certificate leaves uncertified."
        )
        x, y = two_axes(instance, view.threat)
        charts.show(
            figures.front_figure(
                instance.base.fronts().of_node(node),
                x,
                y,
                received=received,
                budgets=view.threat.budgets,
                node=plain(node_name(instance, node)),
                recipe=exports.recipe(
                    view,
                    "front",
                    threat=result.threat,
                    node=node,
                    x=x,
                    y=y,
                    attack=None if result.attack is None else attack_text(instance, result.threat, result.attack),
                ),
            ),
            key="front",
            height=340,
        )
        star = f" The star is what this node receives in the replayed attack, in {LABELS[x]} and {LABELS[y]}."
        st.caption("Shaded: certified." + ("" if received is None else star))
    why.votes(instance, node, exports.recipe(view, "votes", node=node))
