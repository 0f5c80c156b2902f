"""Protecting nodes: what is protected now, and a suggestion what to protect next."""

from __future__ import annotations

import numpy as np
import streamlit as st

from certcore.certificate import Certificate
from pages.shared import engine, state, work
from pages.shared.sidebar import node_name
from pages.shared.state import View
from pages.shared.text import count, markdown


def suggestions(view: View, result: Certificate) -> None:
    """The protected nodes, and a button that suggests five more."""
    st.subheader("Protect nodes", anchor=False)
    protected = np.asarray(view.threat.protected).tolist()
    if protected:
        names = ", ".join(markdown(node_name(view.instance, node), 24) for node in protected[:12])
        more = f" and {len(protected) - 12} more" if len(protected) > 12 else ""
        st.markdown(f"**{count(len(protected))} protected:** {names}{more}")
        if st.button("Lift all protection", icon=":material/lock_open:"):
            state.move(protect="")
    else:
        st.caption("No node is protected. Choose “A click on a node protects it” above, or let the tool suggest some.")
    if st.button(
        "Suggest five",
        icon=":material/lightbulb:",
        help="Greedy: protect the node that raises the certificate most, five times.",
    ):
        st.session_state["_suggest"] = view.key
    if st.session_state.get("_suggest") != view.key:
        return
    task = engine.suggest(view, 5)
    work.line(task)
    if task.fresh and task.result is not None:
        plan = task.result
        if not plan.steps:
            st.caption("No node was found whose protection would raise the certificate.")
            return
        st.markdown(
            "\n".join(
                f"1. {markdown(node_name(view.instance, step.node), 40)} → {count(step.certified)} certified"
                for step in plan.steps
            )
        )
        if st.button("Protect these", type="primary", icon=":material/shield:"):
            state.move(protect=state.write_nodes([*protected, *plan.nodes]))
