"""“How much can I promise?”: the largest budget that still certifies a share of the labels."""

from __future__ import annotations

import streamlit as st

from certcore import messages

from ..background import sweeps
from ..background.answers import answer
from ..state import controls, state
from ..state.state import View


def promise(view: View, vary: str) -> None:
    st.subheader("How much can I promise?", anchor=False)
    if vary.startswith("local_"):
        st.caption("Choose a global budget or σ under “Vary” to ask for the largest value.")
        return
    with st.container(horizontal=True, vertical_alignment="bottom"):
        share = controls.number_input(
            st, "At least … % of the labels", 1, 100, key="share", width=190, help="The share that must stay certified."
        )
        asked = st.button(
            "Find the largest budget", icon=":material/search:", help="By bisection over certified counts."
        )
    wanted = (vary, share, view.key)
    if asked:
        st.session_state["_promise"] = wanted
    if st.session_state.get("_promise") != wanted:
        return
    found = answer(sweeps.largest(view, vary, int(share)))
    if found is None:
        return
    said = messages.radius(view.instance, view.threat, found, view.counted).markdown
    if found.value is None:
        st.warning(f"{said} Try a smaller share.", icon=":material/block:")
        return
    st.success(said, icon=":material/verified:")
    if found.unbounded:
        return
    if st.button("Move the slider there", icon=":material/arrow_forward:", help="Sets this budget in the sidebar."):
        state.move(**{vary: int(found.value)})
