"""Protecting nodes: what is protected now, and a suggestion what to protect next."""

from __future__ import annotations

import numpy as np
import streamlit as st

from certcore import messages
from certcore.messages.names import node_name
from certcore.result.certificate import Certificate
from certcore.sweep.defences import TRIES

from ..background import engine
from ..background.answers import answer, answers
from ..messages.text import count, markdown
from ..state import state
from ..state.state import View

#: Nodes suggested at a time.
ASKED = 5


def _gain(view: View, result: Certificate) -> None:
    """What the protection is worth: the certificate with it and without it."""
    without = answer(engine.unprotected(view))
    st.metric(
        "Certified with this protection",
        f"{count(result.certified)} of {count(result.targets)}",
        # Proven counts on both sides: what the solver claims beyond them is no merit of the protection.
        None if without is None else result.certified - without.certified,
        delta_description="against no protection" if without is not None else None,
        help="The same budgets, with and without the protected nodes.",
    )


def suggestions(view: View, result: Certificate) -> None:
    """The protected nodes, and a button that suggests five more."""
    st.subheader("Protect nodes", anchor=False)
    protected = np.asarray(view.threat.protected).tolist()
    if protected:
        shown = result.threat
        if shown.to_json() == view.threat.to_json():
            _gain(view, result)
        names = ", ".join(markdown(node_name(view.instance, node), 24) for node in protected[:12])
        more = f" and {len(protected) - 12} more" if len(protected) > 12 else ""
        st.markdown(f"**{count(len(protected))} protected:** {names}{more}")
        if st.button("Lift all protection", icon=":material/lock_open:", help="Protect no node."):
            state.move(protect="")
    else:
        st.caption("No node is protected. Select nodes in the picture and protect them, or let the tool suggest some.")
    if st.button(
        "Suggest five",
        icon=":material/lightbulb:",
        help="Greedy: of the nodes that look best, protect the one that raises the certificate most; five times.",
    ):
        st.session_state["_suggest"] = view.key
    if st.session_state.get("_suggest") != view.key:
        return
    plan, place = None, st.empty()
    for found in answers(engine.suggestions(view, ASKED)):
        plan = found
        place.markdown(
            "\n".join(
                f"1. {markdown(node_name(view.instance, step.node), 40)} → {count(step.certified)} certified "
                f"(+{count(step.gain)})"
                for step in plan.steps
            )
        )
    if plan is None:
        return
    if len(plan.steps) < ASKED:
        st.caption(messages.defence_ended(TRIES, plan.status, plan.relaxation).markdown)
    if plan.steps and st.button(
        "Protect these", type="primary", icon=":material/shield:", help="Adds them to those above."
    ):
        state.move(protect=state.write_nodes([*protected, *plan.nodes]))
