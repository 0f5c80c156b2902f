"""Nodes that were selected in the map: what they are, and what can be done with them."""

from __future__ import annotations

import numpy as np
import pandas as pd
import streamlit as st

from certcore.messages.names import class_name, node_name
from certcore.result.certificate import Certificate

from ..messages.text import count
from ..state import state
from ..state.state import View
from . import frames


def selected_nodes(view: View, result: Certificate, nodes: list[int]) -> None:
    """A table of the selected nodes, and buttons that make them the targets or protect them."""
    if not nodes:
        return
    st.subheader(f"{count(len(nodes))} selected", anchor=False)
    with st.container(horizontal=True):
        if st.button(
            "Make these the targets",
            icon=":material/target:",
            help="Count only the labels of these nodes. The attacker may still change the whole graph.",
        ):
            state.move(targets="chosen", nodes=state.write_nodes(nodes))
        if st.button(
            "Protect these",
            icon=":material/shield:",
            help="The attacker cannot touch their attributes and edges. They are added to those protected already.",
        ):
            protected = np.asarray(view.threat.protected).tolist()
            state.move(protect=state.write_nodes([*protected, *nodes]))
        if st.button("Select nothing", icon=":material/deselect:", help="Forget this selection."):
            state.move(marked="")
    instance = view.instance
    parts = result.node_columns(instance.base.fronts(), instance.graph.edges)
    rows: dict[str, object] = {"node": nodes, "name": [node_name(instance, node) for node in nodes]}
    rows["state"] = [str(parts["state"][node]) for node in nodes]
    rows["hit"] = np.where(parts["hit"][nodes], "yes", "no")
    if instance.prediction is not None:
        rows["predicted class"] = [class_name(instance, int(instance.prediction[node])) for node in nodes]
    st.dataframe(frames.harmless(pd.DataFrame(rows)), hide_index=True, height=220, key="selected_table")
