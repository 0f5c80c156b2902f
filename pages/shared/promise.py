"""“How much can I promise?”: the largest budget that still certifies a share of the labels."""

from __future__ import annotations

import streamlit as st

from pages.shared import controls, state, sweeps, work
from pages.shared.state import View
from pages.shared.text import count


def promise(view: View, vary: str, label: str) -> None:
    st.subheader("How much can I promise?", anchor=False)
    if vary.startswith("local_"):
        st.caption("Choose a global budget or σ under “Vary” to ask for the largest value.")
        return
    with st.container(horizontal=True, vertical_alignment="bottom"):
        share = controls.number_input(
            st, "At least … % of the labels", 1, 100, key="share", width=190, help="The share that must stay certified."
        )
        asked = st.button("Find the largest budget", icon=":material/search:", help="By bisection over proven bounds.")
    wanted = (vary, share, view.key)
    if asked:
        st.session_state["_promise"] = wanted
    if st.session_state.get("_promise") != wanted:
        return
    task = sweeps.largest(view, vary, int(share))
    work.line(task)
    if not task.fresh:
        return
    found = task.result
    if found.value is None:
        st.warning(
            f"Not even {label.lower()} = 0 certifies {share} % of the targets: {count(found.certified)} of "
            f"{count(found.targets)} are certified there. Try a smaller share.",
            icon=":material/block:",
        )
        return
    if found.unbounded:
        st.success(
            f"**No limit:** {share} % of the labels stay certified whatever this budget is.", icon=":material/verified:"
        )
        return
    after = (
        "Larger budgets were not looked at."
        if found.next_certified is None
        else f"One more leaves {count(found.next_certified)}, fewer than {share} %."
    )
    st.success(
        f"**{label}: up to {count(found.value)}** keep {count(found.certified)} of {count(found.targets)} labels "
        f"certified. {after}",
        icon=":material/verified:",
    )
    if st.button("Move the slider there", icon=":material/arrow_forward:", help="Sets this budget in the sidebar."):
        state.move(**{vary: int(found.value)})
