"""All nodes: the table of all labels that are counted, and what the base certificate knows about each alone."""

from __future__ import annotations

import numpy as np
import streamlit as st

from certcore import messages
from certcore.common.exact import confidence_text, decimal_text
from certcore.common.rounding import share_down
from certcore.domain.base_rule import BaseRule
from certcore.domain.perturbations import FLIPS, LABELS, TYPES
from certcore.domain.scale import shown
from certcore.instance.instance import Instance

from ..messages.text import budget_words, count, markdown, samples
from ..parts import ballots, charts, headline, nodes, pictures, why
from ..state import controls, state
from ..state.state import View

TITLE = "All nodes"
OWN: dict[str, state.Control] = {
    "bx": ("", state.one_of("", *TYPES)),
    "by": ("", state.one_of("", "none", *TYPES)),
}


def draw(view: View) -> None:
    result = headline.with_attack(view)
    if result is not None:
        nodes.draw(view.instance, result)
    st.subheader("Base certificate", anchor=False)
    st.caption(
        "What is known about each node alone. The collective certificate is built on this and can never repair it."
    )
    _kind(view.instance)
    by_ballots = messages.ballots_of(view.instance)
    if by_ballots is not None:
        ballots.draw(view, by_ballots)
    left, right = st.columns(2, gap="large")
    with left:
        _map(view)
    sampled = "votes" in view.instance.base.arrays()
    with right:
        if sampled:
            _votes(view)
    # Beside the map where there are no votes to show, below it otherwise.
    with st.container() if sampled else right:
        _fronts(view)


def _kind(instance: Instance) -> None:
    """What the base certificate is, and how sure."""
    facts, fronts = instance.base.facts, instance.base.fronts()
    with st.container(key="numbers"):
        columns = st.columns(4)
    kind, source = messages.base_kind(instance)
    columns[0].metric("Kind", kind, help=source)
    if "alpha" in facts:
        number = int(facts.get("samples", facts.get("n_samples", 0)))
        columns[1].metric("Samples per node", samples(number), help="Votes that estimate how often the label wins.")
        columns[2].metric(
            "Confidence", f"{confidence_text(facts['alpha'], 100)} %", help="1 − α for all nodes together (Bonferroni)."
        )
    else:
        columns[1].metric(
            "Distinct fronts", count(fronts.n_fronts), help="Nodes with equal certificates share one front."
        )
        columns[2].metric(
            "Certified at budget 0",
            share_down(int(fronts.clean.sum()), len(fronts.clean)),
            help="The rest is uncertified before any attack and stays so at every budget.",
        )
    right = messages.accuracy(instance)
    if right is not None:
        columns[3].metric(
            "Accuracy, abstaining is wrong",
            share_down(right.right, right.nodes),
            help=messages.accuracy_words(right).markdown,
        )
    theta = facts.get("theta")
    if theta is not None:
        noise = " · ".join(f"{LABELS[name]} {markdown(value)}" for name, value in zip(FLIPS, theta) if value != "0")
        scale, told = instance.scale, [f"Flip probabilities θ: {noise or 'all 0'}."]
        if scale is not None:
            told.insert(0, f"Standard deviation of the noise on attributes: {decimal_text(scale.std)}.")
        st.caption(" ".join([*told, f"Rule: {markdown(facts.get('rule', 'binary'))}."]))


def _map(view: View) -> None:
    """The share certified one by one, over one or two budgets."""
    st.subheader("Share certified by the naive certificate", anchor=False)
    axes = list(view.instance.base.axes)
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
    shares = pictures.base_shares(view.instance, view.targets, x, second)
    charts.draw(
        shares.plotly(dark=charts.is_dark(), transparent=True), shares.description(), key="base_map", height=380
    )


def _votes(view: View) -> None:
    """How often the label wins under noise."""
    st.subheader("How sure the votes are", anchor=False, help="p: lower bound on how often the label wins under noise.")
    p, clean = why.lower_bounds(view.instance), view.instance.base.fronts().clean
    label = "p (lower bound on the probability of the label)"
    spread = pictures.histogram(p[view.targets], label, dark=charts.is_dark())
    charts.draw(spread, f"How many targets have which {label}.", key="p_distribution", height=330)
    half = " (p ≤ ½)" if view.rule is BaseRule.BINARY else ""
    st.caption(
        f"{count(int((~clean[view.targets]).sum()))} of {count(len(view.targets))} targets abstain{half}: "
        "they are uncertified without any attack."
    )


def _fronts(view: View) -> None:
    """The smallest budgets at which nodes lose their certificate, by how many share them."""
    fronts, axes = view.instance.base.fronts(), list(view.instance.base.axes)
    one_kind = len({name.split("_")[0] for name in axes}) == 1
    st.subheader("Most common fronts", anchor=False, help="Smallest budgets at which nodes lose their certificate.")
    sizes = np.bincount(fronts.front_of_node[view.targets], minlength=fronts.n_fronts)
    rows = []
    for front in np.argsort(-sizes, kind="stable")[:12].tolist():
        if sizes[front]:
            points = fronts.points[fronts.indptr[front] : fronts.indptr[front + 1]]
            # A flip of a type that is not covered is never certified: no news.
            points = points[points[:, [k for k, name in enumerate(TYPES) if name not in axes]].sum(axis=1) == 0]
            zero = len(points) and not points.sum(axis=1).all()
            told = shown(view.instance.scale, points[:4]).tolist()
            text = "at budget 0" if zero else " · ".join(budget_words(tuple(p)) for p in told) or "never"
            text = text.replace("attribute ", "").replace("edge ", "") if one_kind else text
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
