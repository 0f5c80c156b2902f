"""Ballots, explained on the page of the base certificate."""

from __future__ import annotations

import numpy as np
import streamlit as st

from certcore import messages
from certcore.base.ballots import UNIT, BallotsBase
from certcore.common.rounding import share_down
from certcore.domain.perturbations import UNLIMITED

from ..messages.text import count
from ..state.state import View


def draw(view: View, base: BallotsBase) -> None:
    """How ballots make a label, what nodes show here, and how many new neighbours it takes."""
    st.markdown(messages.how_it_sums(base.weight).markdown)
    left, right = st.columns(2, gap="large")
    with left:
        st.subheader("What nodes show", anchor=False)
        top = base.ballots.max(axis=1)
        steps = (0.25, 0.5, 0.75, 0.9, 1.0)
        rows = [
            {
                "largest entry": f"at least {step:.0%} of 2²⁰",
                "nodes": share_down(int((top >= step * UNIT).sum()), len(top)),
            }
            for step in steps
        ]
        st.dataframe(rows, hide_index=True, alt="How sure the ballots are: the share of nodes by their largest entry.")
    with right:
        st.subheader("New neighbours needed", anchor=False, help="The fewest new neighbours that can change the label.")
        values, sizes = np.unique(base.needs[view.targets], return_counts=True)
        st.dataframe(
            {
                "new neighbours": ["no number of them" if v == UNLIMITED else count(int(v)) for v in values],
                "targets": sizes,
            },
            hide_index=True,
            column_config={"targets": st.column_config.NumberColumn(format="localized")},
            alt="How many new neighbours it takes before a label can change, and for how many targets.",
        )
