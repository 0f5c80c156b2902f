"""All nodes whose labels are counted, as one table: what becomes of each, and how far it is from that."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import streamlit as st

from certcore.domain.perturbations import TABLE
from certcore.instance.instance import Instance
from certcore.messages.names import class_name, node_name
from certcore.result.attack_effects import reach
from certcore.result.certificate import Certificate

from ..messages.text import SHORT, count
from ..state import menu
from . import frames


def table(instance: Instance, result: Certificate) -> pd.DataFrame:
    """One row per target: name, classes, state, naive, what it received in the attack and needed, further flips."""
    found, fronts = reach(instance, result), instance.base.fronts()
    assert found is not None
    nodes = found.targets
    columns: dict[str, Any] = {"node": nodes, "name": [node_name(instance, node) for node in nodes.tolist()]}
    if instance.prediction is not None:
        columns["predicted class"] = [class_name(instance, int(instance.prediction[node])) for node in nodes.tolist()]
    if instance.labels is not None:
        columns["true class"] = [class_name(instance, int(instance.labels[node])) for node in nodes.tolist()]
    columns["what happens"] = [str(state) for state in result.states(fronts)[nodes]]
    columns["naive"] = np.where(fronts.certified(result.threat.budgets)[nodes], "certified", "not certified")
    for k, entry in enumerate(TABLE):
        if result.threat.budgets[k]:
            kind = float if entry.lengths else np.int64
            columns[f"received {SHORT[entry.name]}"] = found.received[:, k].astype(kind)
            columns[f"needed {SHORT[entry.name]}"] = found.needed[:, k].astype(kind)
    # 0 is uncertified already; below 0 no number of flips of these types takes the certificate.
    further = pd.Series(found.margin * (found.step or 1), dtype=float if found.step else "Int64")
    columns["further distance" if found.step else "further flips"] = further.mask(found.margin < 0)
    return pd.DataFrame(columns)


def draw(instance: Instance, result: Certificate) -> None:
    """The table, which opens the node of a chosen row, and its file."""
    rows = table(instance, result)
    last = rows.columns[-1]
    near = int((rows[last] == 1).sum()) if last == "further flips" else 0
    told = f"; {count(near)} {'is' if near == 1 else 'are'} one flip away from losing the certificate" if near else ""
    st.caption(
        f"{count(len(rows))} labels{told}. A click on the head of a column sorts by it; a chosen row opens its node. "
        f"Empty under “{last}”: no number of them takes the certificate."
    )
    choice = st.dataframe(
        frames.harmless(rows),
        hide_index=True,
        on_select="rerun",
        selection_mode="single-row",
        key="all_nodes",
        height=420,
        alt="One row per label that is counted: what becomes of it, what it received in the attack and needed.",
    )
    chosen = choice["selection"]["rows"] if choice else []
    if chosen and chosen[0] < len(rows):
        menu.go("node", node=int(rows["node"].iloc[chosen[0]]))
    st.download_button(
        "Download as CSV",
        lambda: frames.csv(rows),
        "nodes.csv",
        "text/csv",
        on_click="ignore",
        icon=":material/download:",
        key="csv_nodes",
        help="The rows of this table, as comma-separated values.",
    )
