"""What stands behind one node: the axes of its front, its votes and its thresholds."""

from __future__ import annotations

import numpy as np
import streamlit as st

from certcore.common.rounding import rounded_down, rounded_up
from certcore.domain.perturbations import FLIPS
from certcore.instance.instance import Instance
from certcore.messages.names import class_name, node_name

from ..messages.text import budget_words, count, plain
from . import charts, pictures


def votes(instance: Instance, node: int) -> None:
    """The votes behind the node's label, its p and the thresholds, if the base certificate rests on votes."""
    arrays = instance.base.arrays()
    st.subheader("Its votes", anchor=False)
    if "votes" not in arrays:
        st.caption("This base certificate is given as a grid of budgets: there are no votes to show.")
        return
    counts = np.asarray(arrays["votes"])[node]
    names = [class_name(instance, k) for k in range(len(counts))]
    label = int(np.asarray(instance.prediction)[node])
    left, right = st.columns([1.15, 1], gap="large")
    with left:
        named = [f"{name} (label)" if k == label else name for k, name in enumerate(names)]
        texts = [f"{plain(name)}: {count(int(number))} votes" for name, number in zip(named, counts)]
        screen = pictures.bars(named, counts.tolist(), "votes", texts, dark=charts.is_dark())
        charts.draw(
            screen, f"Votes of node {plain(node_name(instance, node))}: {'; '.join(texts)}.", key="votes", height=300
        )
    with right:
        p = float(lower_bounds(instance)[node])
        st.metric(
            "p, lower bound",
            rounded_down(p, 6),
            help="With the stated confidence the smoothed model gives this label at least this often.",
        )
        st.caption(
            f"{count(int(counts[label]))} of {count(int(counts.sum()))} samples vote for the label. "
            + (
                "It abstains: p is at most one half."
                if p <= 0.5
                else "It is certified at a budget where the threshold stays below p:"
            )
        )
        thresholds(instance, p)


def lower_bounds(instance: Instance) -> np.ndarray:
    """p of every node."""
    return np.asarray(instance.base.probability)  # type: ignore[attr-defined]


def thresholds(instance: Instance, p: float) -> None:
    """The first thresholds p* along each covered type, up to where the certificate of this node ends."""
    table = getattr(instance.base, "table", None)
    values = getattr(table, "values", None)
    if values is None:
        st.caption("With the multi-class rule the threshold also depends on the strongest other class.")
        return
    rows = []
    for k, name in enumerate(FLIPS):
        if name not in instance.base.axes:
            continue
        line = np.asarray(values[tuple(slice(None) if i == k else 0 for i in range(len(FLIPS)))], dtype=float)
        for number in range(1, len(line)):
            last = line[number] >= p or number + 1 == len(line)
            if last or number in (1, 2, 5, 10):
                rows.append(
                    {
                        "budget": budget_words(tuple(number * (i == k) for i in range(len(FLIPS)))),
                        "p*": rounded_up(float(line[number]), 6),
                        "certified": bool(p > line[number]),
                    }
                )
            if last:
                break
    st.dataframe(rows, hide_index=True, height=35 * (min(len(rows), 12) + 1) + 3)
