"""“How much can I promise?”: the largest budget that still certifies a share of the labels."""

from __future__ import annotations

import streamlit as st

from pages.shared import state, sweeps, work
from pages.shared.state import View
from pages.shared.text import count


def promise(view: View, vary: str, label: str) -> None:
    st.subheader("How much can I promise?", anchor=False)
    if vary.startswith("local_"):
        st.caption("Choose a global budget or σ under “Vary” to ask for the largest value.")
        return
    with st.container(horizontal=True, vertical_alignment="bottom"):
        share = st.number_input(
            "At least … % of the labels", 1, 100, key="share", width=190, help="The share that must stay certified."
        )
        asked = st.button("Find the largest budget", icon=":material/search:", help="By bisection over proven bounds.")
    wanted = (vary, share, view.key)
    if asked:
        st.session_state["_promise"] = wanted
    if st.session_state.get("_promise") != wanted:
        return
    task = sweeps.radius(view, vary, share / 100)
    work.line(task)
    if not task.fresh:
        return
    found = task.result
    largest = getattr(found, "value", found)
    if largest is None:
        st.warning(f"Not even {label.lower()} = 0 certifies {share} % of the targets; try a smaller share.")
        return
    st.success(
        f"**{label}: up to {count(largest)}** keep at least {share} % of the {count(len(view.targets))} labels certified.",
        icon=":material/verified:",
    )
    if st.button("Move the slider there", icon=":material/arrow_forward:"):
        state.move(**{vary: int(largest)})
