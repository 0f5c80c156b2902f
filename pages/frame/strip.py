"""The strip above every page: which graph and model, one slider for each type that is covered, σ, and what is not."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import streamlit as st

from certcore import messages
from certcore.domain.perturbations import LABELS, TYPES, entry_of
from certcore.domain.scale import Scale
from certcore.instance.instance import Instance
from certcore.sweep.ranges import first_budget, slider_end, stops

from ..files import bundles
from ..messages.text import count
from ..state import controls, menu, state
from ..state.state import MAX_BUDGET, START
from . import slider

ALL = "all"
NO_LIMIT = "no limit"
WHICH = "A graph with its base certificate. The files are in `precomputed/`; add your own under “Your data”."
LOCAL = {"off": "No limit", "absolute": "A number", "relative": "A share"}
SHARES = (0.0, 0.01, 0.02, 0.05, 0.1, 0.15, 0.2, 0.25, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 1.0)


def chooser(choices: list[str]) -> str:
    """Which graph and model; splits of the same are one entry, and which of them is chosen behind “More”."""
    offered = bundles.grouped(choices, st.session_state["instance"])
    return str(
        controls.selectbox(
            st,
            "Graph and model",
            list(offered),
            format_func=lambda name: offered.get(name, name),
            key="instance",
            on_change=lambda: st.session_state.update(_other_instance=True),
            help=WHICH,
            width=276,
        )
    )


def draw(instance: Instance) -> None:
    """The sliders of the attacker."""
    reasons = state.refused(instance)
    _start(instance, reasons)
    covered = state.covered(instance)
    with st.container(key="pairs", horizontal=True, gap="medium", vertical_alignment="bottom"):
        # A type that is not covered has a slider while a link or a hand has set it.
        for name in START:
            if name in covered or (st.session_state[name] and reasons[name] is None):
                _budget(instance, name)
            else:
                st.session_state[name] = 0
        _sigma(instance)


def _possible(instance: Instance, name: str) -> bool:
    """Whether this graph has what the type changes: bits are flipped, numbers are moved."""
    entry = entry_of(name)
    return not entry.at_nodes or entry.lengths == instance.graph.real


def _start(instance: Instance, reasons: dict[str, str | None]) -> None:
    """Budgets that this instance cannot have are taken back, and a first visit gets one to look at."""
    chosen = st.session_state.pop("_other_instance", False)
    if chosen and not any(st.session_state[name] for name in state.covered(instance)):
        # Chosen by hand with budgets that it says nothing about: it starts with one of its own. A link keeps its own.
        st.session_state.update(dict.fromkeys(TYPES, 0))
    impossible = [name for name in TYPES if reasons[name] and st.session_state[name]]
    for name in impossible:
        state.replace(name, 0, str(reasons[name]))
    fresh = st.session_state["_view"].pop("_start", False)
    if (chosen or impossible or fresh) and not any(st.session_state[name] for name in TYPES):
        # A first visit, or another instance that does not cover what was set: keep something to look at.
        st.session_state.update(first_budget(instance))
        beside_controls(instance)


def beside_controls(instance: Instance) -> None:
    """Where a file tells what models reach that ignore edges, begin with certified accuracy: there they compare."""
    if instance.controls and instance.right is not None:
        st.session_state["right"] = True


def pair(
    key: str,
    label: str,
    options: Sequence[Any],
    *,
    help: str,
    field: dict[str, Any],
    name: str = "",
    none: str | None = None,
) -> None:
    """A slider for the feel and a number field for the exact value; the field is the one in the URL."""

    def moved(value: Any) -> None:
        st.session_state[key] = value
        st.session_state.get("_moves", {}).pop(key, None)

    with st.container(horizontal=True, vertical_alignment="bottom", gap="small", key=f"pair_{key}", wrap=False):
        left, right = st.container(), st.container(width=66 if key != "sigma" else 60)
    # The field comes first in time: only then is its value known, which may come from the URL.
    value = right.number_input(
        f"{name or label}, exact value",
        value=st.session_state[key],
        key=key,
        label_visibility="collapsed",
        placeholder=none,
        help=help,
        **field,
    )
    shown = none if value is None else value
    if shown not in options:
        options = sorted([*(o for o in options if o != none), shown]) + ([none] if none else [])
    with left:
        slider.draw(key, options, value, moved, label=label, name=name or label, help=help, none=none)


def _budget(instance: Instance, name: str) -> None:
    label = LABELS[name].capitalize()
    missing = name not in instance.base.axes
    if entry_of(name).lengths and instance.scale is not None:
        _length(instance, instance.scale, name)
        return
    more = str(messages.not_covered(LABELS[name])) if missing else ""
    with st.container(key=f"budget_{name}", width=300 if st.session_state[name] else 230, gap=None):
        pair(
            name,
            label,
            stops(slider_end(instance, name)),
            help=f"{entry_of(name).help} {more}".strip(),
            field={"min_value": 0, "max_value": MAX_BUDGET, "step": 1},
        )
        if entry_of(name).brings_nodes:
            _edges_each(name)
        else:
            _per_node(instance, name)


def _length(instance: Instance, scale: Scale, name: str) -> None:
    """A slider over lengths, with what they are in standard deviations and beside the norm of a row."""
    with st.container(key=f"budget_{name}", width=300, gap=None):
        st.session_state[name] = float(st.session_state[name])
        step = scale.step()
        pair(
            name,
            f"{LABELS[name].capitalize()}, L2 over all nodes",
            stops(slider_end(instance, name), step),
            help=entry_of(name).help,
            field={"min_value": 0.0, "max_value": 500 * float(scale.std), "step": float(step), "format": "%.6g"},
        )
        told = f"{st.session_state[name] / float(scale.std):.1f} × the noise ({float(scale.std):g})"
        norm = _median_norm(instance, scale)
        told += "" if norm is None else f" · median row norm {norm:.2g}"
        st.caption(told)
        _per_node(instance, name)


def _median_norm(instance: Instance, scale: Scale) -> float | None:
    """The median norm of a row: from the attributes, or as the file tells where they were left out."""
    if instance.graph.attr_values is not None:
        return scale.median_norm
    told = instance.meta.get("row_norms")
    return float(told[1]) if isinstance(told, list) and len(told) == 3 and isinstance(told[1], int | float) else None


def _edges_each(name: str) -> None:
    """How many edges one new node may have to nodes of the graph: the local budget of its type."""
    pair(
        entry_of(name).local_name,
        "Edges each",
        [*stops(50), NO_LIMIT],
        help="How many edges each new node may have to nodes of the graph; edges among new nodes are free. Empty: no "
        "limit.",
        field={"min_value": 0, "max_value": MAX_BUDGET, "step": 1},
        none=NO_LIMIT,
    )


def _per_node(instance: Instance, name: str) -> None:
    """What the attacker may do at one node: a chip that opens its local budget."""
    mode, most = st.session_state["local_mode"], state.most_per_node(instance)[name]
    key = f"share_{name}" if mode == "relative" else f"local_{name}"
    set_to = st.session_state[key] if mode != "off" else None
    told = "per node" if set_to is None and most is None else f"per node ≤ {most if set_to is None else set_to:.3g}"

    def chosen(key: str = f"_mode_{name}") -> None:
        st.session_state["local_mode"] = st.session_state[key]

    with st.popover(told, type="tertiary", key=f"per_node_{name}", help="Limit what the attacker may do at one node."):
        st.session_state[f"_mode_{name}"] = mode
        st.segmented_control(
            "Local budgets",
            list(LOCAL),
            format_func=LOCAL.__getitem__,
            key=f"_mode_{name}",
            on_change=chosen,
            required=True,
            help="Limit what the attacker may do at each single node: a number, or a share of the attributes or edges "
            "it has. In directed graphs, incoming and outgoing edges count together. The choice holds for all types.",
        )
        if most is not None:
            st.caption(
                f"This base certificate was made for at most {count(most)} {LABELS[name]} at one node, so every "
                "certificate here has that local budget or a smaller one."
            )
        if mode != "off" and entry_of(name).lengths and mode == "absolute" and instance.scale is not None:
            _row_limit(instance, instance.scale, name)
        elif mode != "off":
            _limit(name, mode, most)


def _row_limit(instance: Instance, scale: Scale, name: str) -> None:
    """How far one row may be moved."""
    step = scale.step()
    pair(
        f"local_{name}",
        f"{LABELS[name].capitalize()} per node",
        [*stops(slider_end(instance, name), step), NO_LIMIT],
        help="How far the attributes of one node may be moved. Empty: no limit.",
        field={"min_value": 0.0, "max_value": 500 * float(scale.std), "step": float(step), "format": "%.6g"},
        none=NO_LIMIT,
    )


def _limit(name: str, mode: str, most: int | None) -> None:
    """The local budget itself."""
    label = f"{LABELS[name].capitalize()} per node"
    if mode == "relative":
        what = entry_of(name).share_words[1]
        rounded = "up" if entry_of(name).lengths else "down"
        pair(
            f"share_{name}",
            label,
            [*SHARES, NO_LIMIT],
            help=f"Share of the {what} a node has, rounded {rounded}. Empty: no limit.",
            field={"min_value": 0.0, "max_value": 100.0, "step": 0.01, "format": "%.3g"},
            none=NO_LIMIT,
        )
        return
    key = f"local_{name}"
    free = NO_LIMIT if most is None else f"{most:,} (base)"
    if most is not None and (st.session_state[key] or 0) > most:
        state.replace(key, most, f"the base certificate was made for at most {most:,} at one node")
    pair(
        key,
        label,
        [*stops(50 if most is None else most), free],
        help="Most flips of this type at one node. Empty: "
        + ("no limit." if most is None else "what the base certificate was made for."),
        field={"min_value": 0, "max_value": MAX_BUDGET if most is None else most, "step": 1},
        none=free,
    )


def _sigma(instance: Instance) -> None:
    with st.container(key="budget_sigma", width=190, gap=None):
        pair(
            "sigma",
            "Attacked nodes σ",
            [*stops(instance.graph.n_nodes), ALL],
            help="How many nodes the attacker may control. “all”: every node; 0: none. Empty the field for “all”.",
            field={"min_value": 0, "max_value": MAX_BUDGET, "step": 1},
            none=ALL,
        )


def uncovered(instance: Instance) -> None:
    """Types without a slider: why, and where to go."""
    covered, reasons = state.covered(instance), state.refused(instance)
    missing = [name for name in TYPES if name not in covered and _possible(instance, name)]
    if not missing:
        return
    chip, why = messages.short_uncovered(instance, missing)
    with st.popover(str(chip), type="tertiary", key="uncovered", help="Why there is no slider, and where to go."):
        st.markdown(reasons[missing[0]] or why.markdown)
        stem = st.session_state["instance"].split("-")[0]
        for other in bundles.covering(missing, stem)[:3]:
            if st.button(f"Open {bundles.title(other)}", key=f"open_{other}", help="The same view on another file."):
                state.move(instance=other, **dict.fromkeys(TYPES, 0), **{missing[-1]: START[missing[-1]]})
        if st.button("Make one for my model", key="make_one", help="How to certify a model of your own."):
            menu.go("bring")
