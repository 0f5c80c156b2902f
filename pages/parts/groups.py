"""Votes over groups of edges, explained on the page of the base certificate."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import streamlit as st

from certcore import messages
from certcore.base.division import ABSTAINS, DivisionBase
from certcore.domain.perturbations import UNLIMITED

from ..messages.text import count
from ..state.state import View

PICTURE = Path(__file__).with_name("picture-groups.svg")
#: Label, another class, nothing: the colours of the other charts.
COLOURS = ["#0072B2", "#D55E00", "#9AA3AD"]
MOST_GROUPS = 30


def draw(view: View, base: DivisionBase) -> None:
    """How division votes, how the groups voted here, and how many votes must change."""
    said = messages.how_it_votes(base.n_groups, base.fixed_weight, bool((base.votes == ABSTAINS).any()))
    st.markdown(said.markdown)
    st.image(
        str(PICTURE),
        width=520,
        alt="The edges of a graph are divided into three groups. The model votes once on each; a group in which the "
        "node has no edge abstains; the majority is the label.",
    )
    left, right = st.columns(2, gap="large")
    votes, label = base.votes[:MOST_GROUPS, view.targets], base.prediction[view.targets]
    abstains, agrees = votes == ABSTAINS, votes == label
    with left:
        st.subheader("How the groups voted", anchor=False)
        table = {
            "group": [str(t + 1) for t in range(len(votes))],
            "for the label": agrees.sum(axis=1),
            "for another class": (~agrees & ~abstains).sum(axis=1),
            "abstained": abstains.sum(axis=1),
        }
        st.bar_chart(
            table,
            x="group",
            y=["for the label", "for another class", "abstained"],
            y_label="targets",
            color=COLOURS,
            sort=False,
            height=260,
        )
        st.caption(f"{count(len(view.targets))} targets; {count(int(abstains.sum()))} votes are abstentions.")
    with right:
        st.subheader("Votes that must change", anchor=False, help="The fewest changed votes that can change the label.")
        needed = base.thresholds[view.targets]
        values, sizes = np.unique(needed, return_counts=True)
        st.dataframe(
            {
                "changed votes": ["no number of them" if v == UNLIMITED else count(int(v)) for v in values],
                "targets": sizes,
            },
            hide_index=True,
            column_config={"targets": st.column_config.NumberColumn(format="localized")},
            alt="How many votes must change before a label can, and for how many targets.",
        )
        st.caption(f"The hash of pairs: {base.facts['hash']}.")
