"""The sidebar: instance, budgets, attackers, targets and relaxation, the same on every page."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import streamlit as st

from certcore import words
from certcore.common.errors import InputError
from certcore.domain.base_rule import BaseRule
from certcore.domain.local_mode import LocalMode
from certcore.domain.perturbations import LABELS, TYPES, entry_of
from certcore.domain.threat import ThreatModel
from certcore.instance.instance import Instance
from certcore.program.relaxation import Relaxation

from ..files import bundles
from ..state import controls, state
from ..state.sliders import slider_end, stops
from ..state.state import MAX_BUDGET, SHARED, START, Control, View
from ..words.names import class_name
from ..words.text import count, markdown

ALL = "all"
CHOOSE_FIRST = "Choose “Absolute” or “Relative” above first: while local budgets are off, no limit counts."
NO_LIMIT = "no limit"
TARGETS = {
    "file": "As in the file",
    "test": "Test nodes",
    "all": "All nodes",
    "class": "One class",
    "chosen": "Chosen nodes",
}
WHICH = "A graph with its base certificate. The files are in `precomputed/`; add your own under “Bring your own”."


@dataclass(frozen=True)
class Absence:
    """Why there is no view: no instance at all, or not the one that was asked for (Markdown)."""

    reason: str
    choices: tuple[str, ...] = ()


def draw(page: str, own: dict[str, Control]) -> View | Absence:
    """Draw all shared controls and return the view they describe, or why there is nothing to look at."""
    state.restore(page, own)
    choices = bundles.names()
    if not choices:
        return Absence(_none_at_all())
    # An empty box stands for an instance that is not here: its name is kept, so that every page and a reload say so.
    wanted = st.session_state["instance"] or st.session_state["_view"]["instance"]
    if wanted and wanted not in choices:
        st.session_state["instance"] = None
        st.selectbox(
            "Instance", choices, None, bundles.title, key="instance", placeholder="choose an instance", help=WHICH
        )
        return Absence(_not_here(wanted), tuple(choices))
    st.session_state["instance"] = wanted or bundles.first(choices)
    name = controls.selectbox(
        st,
        "Instance",
        choices,
        format_func=bundles.title,
        key="instance",
        on_change=lambda: st.session_state.update(_other_instance=True),
        help=WHICH,
    )
    st.session_state["_view"]["instance"] = name  # also if it turns out to be damaged: every page says the same
    rule = BaseRule(st.session_state["rule"] or "binary")
    try:
        instance = bundles.load(name, rule)
    except InputError as error:
        others = tuple(choice for choice in choices if choice != name)
        return Absence(f"The instance **{markdown(name, 130)}** cannot be used: {markdown(error, 400)}.", others)
    st.caption(bundles.facts(instance))
    _budgets(instance)
    mode = _local(instance)
    _sigma(instance)
    targets, problem = _targets(instance)
    counted, targets = _only_right(instance, targets)
    relaxation, limit, strengthen = _relaxation(instance)
    protected, wrong = _protected(instance)
    st.button("Reset", on_click=_reset, icon=":material/restart_alt:", width="stretch", help="Back to the first view.")
    state.remember(own)
    prefix = "share" if mode == "relative" else "local"
    local: dict[str, Any] = {
        f"local_{t}": None if mode == "off" else st.session_state.get(f"{prefix}_{t}") for t in TYPES
    }
    try:
        budgets: dict[str, Any] = {t: int(st.session_state[t]) for t in TYPES}
        threat = ThreatModel(
            **budgets,
            **local,
            local_mode=LocalMode.RELATIVE if mode == LocalMode.RELATIVE else LocalMode.ABSOLUTE,
            sigma=st.session_state["sigma"],
            targets=targets,
            protected=protected,
        )
        threat.check(instance.graph)
        threat = state.within_base(threat, instance)
    except InputError as error:
        problem = str(error)
        threat = ThreatModel(targets=targets)
    return View(name, instance, threat, relaxation, float(limit), rule, problem or wrong, strengthen, counted)


def _none_at_all() -> str:
    folder = bundles.bundle_folder()
    shown = folder.relative_to(bundles.ROOT) if folder.is_relative_to(bundles.ROOT) else folder
    return (
        f"There is no instance in `{shown}/` yet. Make one with `python -m certcore bundle`, or upload one under "
        "**Bring your own**."
    )


def _not_here(name: str) -> str:
    again = (
        " Only the newest uploads are kept: if you have the file, upload it again under **Bring your own**."
        if name.startswith("import-")
        else ""
    )
    return (
        f"There is no instance **{markdown(name, 130)}** here, so nothing is said about it, and no other graph is "
        f"shown in its place.{again}"
    )


def _pair(
    key: str,
    label: str,
    options: Sequence[Any],
    *,
    help: str,
    field: dict[str, Any],
    disabled: bool = False,
    none: str | None = None,
    show: Callable[[Any], str] | None = None,
) -> None:
    """A slider for the feel and a number field for the exact value; the field is the one in the URL."""
    slider = f"slider_{key}"

    def moved() -> None:
        chosen = st.session_state[slider]
        st.session_state[key] = None if chosen == none else chosen

    with st.container(horizontal=True, vertical_alignment="bottom", gap="small", key=f"pair_{key}"):
        left, right = st.container(), st.container(width=86)
    # The field comes first in time: only then is its value known, which may come from the URL.
    value = right.number_input(
        f"{label}, exact value",
        value=st.session_state[key],
        key=key,
        label_visibility="collapsed",
        disabled=disabled,
        placeholder=none,
        help=help,
        **field,
    )
    shown = none if value is None else value
    if shown not in options:
        options = sorted([*(o for o in options if o != none), shown]) + ([none] if none else [])
    st.session_state[slider] = shown
    left.select_slider(
        label,
        options,
        value=shown,
        key=slider,
        on_change=moved,
        format_func=show or (lambda v: v if isinstance(v, str) else f"{v:,}"),
        help=help,
        disabled=disabled,
    )


def _budgets(instance: Instance) -> None:
    reasons = state.refused(instance)
    chosen = st.session_state.pop("_other_instance", False)
    if chosen and not any(st.session_state[name] for name in state.covered(instance)):
        # Chosen by hand with budgets that it says nothing about: it starts with one of its own. A link keeps its own.
        st.session_state.update(dict.fromkeys(TYPES, 0))
    impossible = [name for name in TYPES if reasons[name] and st.session_state[name]]
    for name in impossible:
        state.replace(name, 0, str(reasons[name]))
    dropped = chosen or bool(impossible)
    fresh = st.session_state["_view"].pop("_start", False)
    if (dropped or fresh) and not any(st.session_state[name] for name in TYPES):
        # A first visit, or another instance that does not cover what was set: keep something to look at.
        st.session_state.update(first_budget(instance))
        _beside_controls(instance)
    for name in TYPES:
        reason = reasons[name]
        label = LABELS[name].capitalize()
        missing = name not in instance.base.axes and reason is None
        more = reason or (str(words.not_covered(LABELS[name])) if missing else "")
        _pair(
            name,
            label,
            stops(slider_end(instance, name)),
            help=f"{entry_of(name).help} {more}".strip(),
            field={
                "min_value": 0,
                "max_value": MAX_BUDGET,
                "step": 1,
            },
            disabled=reason is not None,
        )
    for reason in dict.fromkeys(filter(None, reasons.values())):
        st.caption(reason)
    for name, most in state.most_per_node(instance).items():
        if most is not None and not reasons[name] and name in instance.base.axes:
            st.caption(
                f"This base certificate was made for at most {count(most)} {LABELS[name]} at one node, so every "
                "certificate here has that local budget or a smaller one."
            )


def _beside_controls(instance: Instance) -> None:
    """Where a file tells what models reach that ignore edges, begin with certified accuracy: there they compare."""
    if instance.controls and instance.right is not None:
        st.session_state["right"] = True


def first_budget(instance: Instance) -> dict[str, int]:
    """The one budget above zero at the start: deletions if covered, they are what the paper shows first."""
    covered = state.covered(instance)
    if words.votes_over_groups(instance) is not None:
        return {"adj_add": 10}
    name = next((name for name in START if name in covered), None)
    return {} if name is None else {name: START[name]}


def _local(instance: Instance) -> str:
    reasons = state.refused(instance)
    most = state.most_per_node(instance)
    with st.expander("Local budgets per node", icon=":material/hub:", expanded=st.session_state["local"] != "off"):
        mode = controls.segmented_control(
            st,
            "Local budgets",
            ["off", "absolute", "relative"],
            format_func=str.capitalize,
            key="local",
            help="Limit what the attacker may do at each single node: a count, or a share of the attributes or edges "
            "it has. In directed graphs, incoming and outgoing edges count together.",
        )
        if mode == "off":
            st.caption(CHOOSE_FIRST)
        shares = [0.0, 0.01, 0.02, 0.05, 0.1, 0.15, 0.2, 0.25, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 1.0]
        for name in TYPES:
            off = mode == "off" or reasons[name] is not None
            _, what = entry_of(name).share_words
            if mode == "relative":
                _pair(
                    f"share_{name}",
                    LABELS[name].capitalize(),
                    [*shares, NO_LIMIT],
                    help=f"Share of the {what} a node has, rounded down. Empty: no limit.",
                    field={"min_value": 0.0, "max_value": 100.0, "step": 0.01, "format": "%.3g"},
                    disabled=off,
                    none=NO_LIMIT,
                    show=lambda v: v if isinstance(v, str) else f"{v:.3g}",
                )
            else:
                key, end = f"local_{name}", most[name]
                free = NO_LIMIT if end is None else f"{end:,} (base)"
                if end is not None and (st.session_state[key] or 0) > end:
                    state.replace(key, end, f"the base certificate was made for at most {end:,} at one node")
                _pair(
                    key,
                    LABELS[name].capitalize(),
                    [*stops(50 if end is None else end), free],
                    help=f"Most {entry_of(name).unit}s of this type at one node. Empty: "
                    + ("no limit." if end is None else "what the base certificate was made for.")
                    + (f" {CHOOSE_FIRST}" if mode == "off" else ""),
                    field={"min_value": 0, "max_value": MAX_BUDGET if end is None else end, "step": 1},
                    disabled=off,
                    none=free,
                )
    return str(mode or "off")


def _sigma(instance: Instance) -> None:
    n = instance.graph.n_nodes
    _pair(
        "sigma",
        "Attacker count σ",
        [*stops(n), ALL],
        help="How many nodes the attacker may control. “all”: every node; 0: none. Empty the field for “all”.",
        field={"min_value": 0, "max_value": MAX_BUDGET, "step": 1},
        none=ALL,
    )


def _targets(instance: Instance) -> tuple[np.ndarray | None, str | None]:
    choices = [
        name
        for name in TARGETS
        if (name != "test" or instance.split is not None) and (name != "class" or instance.prediction is not None)
    ]
    if st.session_state["targets"] not in choices:
        state.replace("targets", "file", "this instance has no such set of nodes")
    which = controls.selectbox(
        st,
        "Targets",
        choices,
        format_func=TARGETS.__getitem__,
        key="targets",
        help="The nodes whose labels are counted. The attacker may still change the whole graph.",
    )
    if which == "class":
        classes = np.unique(np.asarray(instance.prediction)).tolist()
        if st.session_state["class"] not in classes:
            state.replace("class", classes[0], "no node of this instance is predicted to be of that class")
        chosen = controls.selectbox(
            st,
            "Predicted class",
            classes,
            format_func=lambda k: f"{k} · {class_name(instance, k)}",
            key="class",
            help="Only nodes that the classifier puts into this class are counted.",
        )
        return instance.select_targets(f"class:{chosen}"), None
    if which == "chosen":
        text = controls.text_input(
            st, "Chosen nodes", key="nodes", placeholder="3, 17, 20-25", help="Node indices, counted from 0."
        )
        try:
            nodes = state.parse_nodes(text or "", instance.graph.n_nodes)
        except InputError as error:
            return None, str(error)
        if not len(nodes):
            return None, "No targets are chosen yet: type node indices under “Chosen nodes” in the sidebar."
        return nodes, None
    if which == "file":
        return None, None
    return instance.select_targets(which), None


def _only_right(instance: Instance, targets: np.ndarray | None) -> tuple[np.ndarray | None, np.ndarray | None]:
    """Certified accuracy: all targets, and those among them whose label is right; None where all labels count."""
    right = instance.right
    if right is None:
        if st.session_state["right"]:
            state.replace("right", False, "this instance has no true labels, or no predicted ones")
        return None, targets
    wanted = controls.toggle(
        st,
        "Certified accuracy",
        key="right",
        help="Count labels that stay and are right. Abstentions count as wrong. For training nodes the number is "
        "meaningless: choose “Test nodes” above.",
    )
    if not wanted:
        return None, targets
    counted = np.asarray(instance.targets if targets is None else targets)
    return counted, counted[right[counted]]


def _relaxation(instance: Instance) -> tuple[Relaxation, int, bool]:
    votes = words.votes_over_groups(instance) is not None
    if votes and st.session_state["relaxation"] == Relaxation.PAPER:
        state.replace("relaxation", "tight", "the publication defines none for votes over groups of edges")
    relaxation = controls.segmented_control(
        st,
        "Relaxation",
        ["tight", "exact"] if votes else ["tight", "paper", "exact"],
        format_func=str.capitalize,
        key="relaxation",
        help="Tight: our linear program, verified. Paper: the published one, verified as well, for comparison. "
        "Exact: the integer program with a time limit; what it adds is the solver's word and is not verified.",
    )
    limit = st.session_state["limit"]
    if votes and st.session_state["strengthen"]:
        state.replace("strengthen", False, "the rows of the strong form do not apply to votes over groups of edges")
    form = Relaxation(relaxation or "tight")
    strengthen = form is Relaxation.TIGHT and controls.toggle(
        st,
        "Strengthen",
        key="strengthen",
        disabled=votes,
        help="Improves the number in place: a search for rows that every whole-number attack satisfies. Each step is "
        "verified in exact integers, and it stops by itself when an attack shows that no more can be certified.",
    )
    if form is Relaxation.EXACT or strengthen:
        limit = controls.number_input(
            st, "Time limit (s)", 1, 600, key="limit", help="The search stops here; what it has proven stays."
        )
    if "votes" not in instance.base.arrays():
        if st.session_state["rule"] != BaseRule.BINARY:
            state.replace("rule", "binary", "the base certificate of this instance does not come from votes")
    else:
        controls.segmented_control(
            st,
            "Base rule",
            list(map(str, BaseRule)),
            format_func={"binary": "Binary", "multiclass": "Multi-class"}.__getitem__,
            key="rule",
            help="How votes become a base certificate: the label against one half (binary, as in the paper), "
            "or against the strongest other class (multi-class). Choose before you look: taking the better of the two "
            "afterwards spends α twice, so α would have to be halved.",
        )
    return form, int(limit), bool(strengthen)


def _protected(instance: Instance) -> tuple[np.ndarray, str | None]:
    text = controls.text_input(
        st,
        "Protected nodes",
        key="protect",
        placeholder="none",
        help="Nodes that the attacker cannot touch: their attributes and all their edges stay. "
        "Click nodes on the attack map to add them.",
    )
    try:
        return state.parse_nodes(text or "", instance.graph.n_nodes), None
    except InputError as error:
        return np.zeros(0, dtype=np.int64), str(error)


def _reset() -> None:
    for key, (first, _) in SHARED.items():
        if key != "instance":
            st.session_state[key] = first
    instance = bundles.load(st.session_state["instance"])
    st.session_state.update(first_budget(instance))
    _beside_controls(instance)
