"""Base certificate: what is known about each node alone, before anything is shared."""

from __future__ import annotations

import numpy as np
import streamlit as st

from certcore import figures, words
from certcore.common.exact import confidence_text
from certcore.common.rounding import share_down
from certcore.domain.base_rule import BaseRule
from certcore.domain.perturbations import FLIPS, LABELS, TYPES

from ..parts import charts, exports, groups, why
from ..state import controls, state
from ..state.state import View
from ..words.text import budget_words, count, markdown, samples

TITLE = "Base certificate"
LEAD = "What is known about each node alone. The collective certificate is built on this and can never repair it."
OWN: dict[str, state.Control] = {
    "bx": ("", state.one_of("", *TYPES)),
    "by": ("", state.one_of("", "none", *TYPES)),
}


def draw(view: View) -> None:
    instance = view.instance
    facts, fronts = instance.base.facts, instance.base.fronts()
    clean = fronts.clean

    with st.container(key="numbers"):
        columns = st.columns(4)
    kind, source = words.base_kind(instance)
    columns[0].metric("Kind", kind, help=source)
    if "alpha" in facts:
        number = int(facts.get("samples", facts.get("n_samples", 0)))
        columns[1].metric("Samples per node", samples(number), help="Votes that estimate how often the label wins.")
        columns[2].metric("Confidence", f"{confidence_text(facts['alpha'], 100)} %", help="For all nodes together.")
    else:
        columns[1].metric(
            "Distinct fronts", count(fronts.n_fronts), help="Nodes with equal certificates share one front."
        )
        columns[2].metric(
            "Certified at budget 0",
            share_down(int(clean.sum()), len(clean)),
            help="The rest is uncertified before any attack and stays so at every budget.",
        )
    right = words.accuracy(instance)
    if right is not None:
        columns[3].metric(
            "Accuracy, abstaining is wrong",
            share_down(right.right, right.nodes),
            help=words.accuracy_words(right).markdown,
        )
    theta = facts.get("theta")
    if theta is not None:
        noise = " · ".join(f"{LABELS[name]} {markdown(value)}" for name, value in zip(FLIPS, theta))
        st.caption(f"Flip probabilities θ: {noise}. Rule: {markdown(facts.get('rule', 'binary'))}.")

    votes = words.votes_over_groups(instance)
    if votes is not None:
        groups.draw(view, votes)

    axes = list(instance.base.axes)

    def front_point(point: list[int]) -> str:
        """A budget in few words: there may be several in one line."""
        told = budget_words(tuple(point))
        only = {name.split("_")[0] for name in axes}
        return told.replace("attribute ", "").replace("edge ", "") if len(only) == 1 else told

    left, right_side = st.columns(2, gap="large")
    with left:
        st.subheader("Share certified node by node", anchor=False)
        if st.session_state["bx"] not in axes:
            state.replace("bx", axes[0], "this base certificate does not cover that")
        others = [name for name in axes if name != st.session_state["bx"]]
        if st.session_state["by"] not in (*others, "none"):
            state.replace("by", others[0] if others else "none", "this base certificate does not cover that")
        pickers = st.container(horizontal=True)
        x = controls.selectbox(
            pickers, "Horizontal", axes, format_func=LABELS.__getitem__, key="bx", help="Budget on the horizontal axis."
        )
        y = controls.selectbox(
            pickers,
            "Vertical",
            [*others, "none"],
            format_func=lambda k: LABELS.get(k, "none"),
            key="by",
            help="Budget on the vertical axis.",
        )
        second = None if y == "none" else y
        figure = figures.base_figure(
            fronts, x, second, nodes=view.targets, recipe=exports.recipe(view, "base", x=x, y=second)
        )
        charts.show(figure, key="base_map", height=380)
    with right_side:
        if "votes" in instance.base.arrays():
            st.subheader(
                "How sure the votes are", anchor=False, help="p: lower bound on how often the label wins under noise."
            )
            p = why.lower_bounds(instance)
            spread = figures.distribution_figure(p[view.targets], recipe=exports.recipe(view, "distribution"))
            charts.show(spread, key="p_distribution", height=330)
            half = " (p ≤ ½)" if view.rule is BaseRule.BINARY else ""
            st.caption(
                f"{count(int((~clean[view.targets]).sum()))} of {count(len(view.targets))} targets abstain{half}: "
                "they are uncertified without any attack."
            )
    # Beside the map where there are no votes to show, below it otherwise.
    with st.container() if "votes" in instance.base.arrays() else right_side:
        st.subheader("Most common fronts", anchor=False, help="Smallest budgets at which nodes lose their certificate.")
        sizes = np.bincount(fronts.front_of_node[view.targets], minlength=fronts.n_fronts)
        rows = []
        for front in np.argsort(-sizes, kind="stable")[:12].tolist():
            if sizes[front]:
                points = fronts.points[fronts.indptr[front] : fronts.indptr[front + 1]]
                # A flip of a type that is not covered is never certified: no news.
                points = points[points[:, [k for k, name in enumerate(TYPES) if name not in axes]].sum(axis=1) == 0]
                zero = len(points) and not points.sum(axis=1).all()
                text = "at budget 0" if zero else " · ".join(front_point(p) for p in points[:4].tolist()) or "never"
                more = f" (+{len(points) - 4} more)" if len(points) > 4 else ""
                rows.append({"targets": int(sizes[front]), "uncertified from": text + more})
        st.dataframe(
            rows,
            hide_index=True,
            height=35 * (len(rows) + 1) + 3,
            column_config={"targets": st.column_config.NumberColumn(format="localized", width=70)},
            alt="The most common fronts: how many targets share each, and the smallest budgets on it.",
        )
        st.caption(f"{count(fronts.n_fronts)} distinct fronts for {count(fronts.n_nodes)} nodes.")
