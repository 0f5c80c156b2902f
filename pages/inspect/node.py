"""Node: everything about one prediction, and why it is or is not attackable."""

from __future__ import annotations

import streamlit as st

from certcore import figures, messages
from certcore.domain.perturbations import LABELS
from certcore.figures.kinds.front import two_axes
from certcore.result.attack_text import attack_text
from certcore.result.influence import influence
from certcore.result.states import TargetState

from ..messages.names import class_name, node_name
from ..messages.text import count, markdown, plain
from ..parts import charts, exports, headline, neighbourhood, why
from ..parts.search import search
from ..state import controls, menu, state
from ..state.state import View

TITLE = "One node"
HOPS = {"field": "Its field", "1": "1 hop", "2": "2 hops", "3": "3 hops"}
OWN: dict[str, state.Control] = {"node": (0, state.whole()), "hops": ("field", state.one_of(*HOPS))}


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
        told = [messages.state_words(instance, result, node, received)]
        if found_here is not None:
            told += messages.node_words(found_here, lambda other: node_name(instance, other))
        st.markdown("\n\n".join(one.markdown for one in told))

    marks = neighbourhood.marks_of(instance, result)
    spent = marks.spent
    left, right = st.columns([1.15, 1], gap="large")
    with left:
        st.subheader("Around it", anchor=False, help="The nodes that can influence this prediction, or some hops.")
        hops = controls.segmented_control(
            st, "Show", list(HOPS), format_func=HOPS.__getitem__, key="hops", help="Which neighbours are drawn."
        )
        near = neighbourhood.around(instance, node, spent.sum(axis=0), None if hops == "field" else int(hops))
        page = neighbourhood.html(instance, near, marks, dark=charts.is_dark(), height=400)
        st.iframe(page, height=410, alt=f"Neighbourhood of {plain(node_name(instance, node))}: {len(near.nodes)} nodes")
        hit = spent[:, near.nodes].sum(axis=0) > 0
        legend = ["ring with a number: flips spent there"] if spent[:2, near.nodes].any() else []
        legend += [":orange[■] loses its certificate"] if (marks.states[near.nodes] == TargetState.LOST).any() else []
        legend += ["dashed: deleted edge"] if len(marks.deleted) else []
        legend += ["thick: added edge"] if len(marks.added) else []
        where = "in the field" if hops == "field" else f"within {HOPS[hops]}"
        st.caption(
            f"{count(len(near.nodes) + near.cut)} nodes {where}"
            + (f", {count(near.cut)} far ones not drawn" if near.cut else "")
            + f". Marks as on the workbench{': ' if legend else ''}{' · '.join(legend)}; this node has an orange "
            "edge. Click a node to open it."
        )
        others = near.nodes[hit & (near.nodes != node)]
        if len(others):
            with st.container(horizontal=True, vertical_alignment="center"):
                st.markdown("Other hit nodes around it:", width="content")
                for other in others[:8].tolist():
                    name = f"{markdown(node_name(instance, other))} ({count(spent[:, other].sum())})"
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
