"""The view of every page: the strip above it, and behind “More” targets, relaxation and protection."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import streamlit as st

from certcore import messages
from certcore.common.errors import InputError
from certcore.domain.base_rule import BaseRule
from certcore.domain.bundle_types import DIVISION_IS_GONE
from certcore.domain.local_mode import LocalMode
from certcore.domain.perturbations import TABLE
from certcore.domain.threat import ThreatModel
from certcore.instance.instance import Instance
from certcore.messages.names import class_name
from certcore.program.relaxation import Relaxation
from certcore.sweep.ranges import first_budget

from ..files import bundles
from ..messages.text import markdown
from ..state import controls, state
from ..state.state import SHARED, Control, View
from . import buttons, strip

TARGETS = {
    "file": "As in the file",
    "test": "Test nodes",
    "all": "All nodes",
    "class": "One class",
    "chosen": "Chosen nodes",
}


@dataclass(frozen=True)
class Absence:
    """Why there is no view: no instance at all, or not the one that was asked for (Markdown)."""

    reason: str
    choices: tuple[str, ...] = ()


def draw(page: str, own: dict[str, Control], place: Any) -> View | Absence:
    """Draw all shared controls, those of the strip at `place`, and return the view they describe, or why there is none.

    What is in the sidebar is folded away behind “More”: it is at its first value for most people, most of the time.
    """
    state.restore(page, own)
    choices = bundles.names()
    if not choices:
        return Absence(_none_at_all())
    # An empty box stands for an instance that is not here: its name is kept, so that every page and a reload say so.
    wanted = st.session_state["instance"] or st.session_state["_view"]["instance"]
    if wanted and wanted not in choices:
        st.session_state["instance"] = None
        place.selectbox(
            "Graph and model", choices, None, bundles.title, key="instance", placeholder="choose one", help=strip.WHICH
        )
        return Absence(_not_here(wanted), tuple(choices))
    st.session_state["instance"] = wanted or bundles.first(choices)
    with place:
        name = strip.chooser(choices)
    st.session_state["_view"]["instance"] = name  # also if it turns out to be damaged: every page says the same
    rule = BaseRule(st.session_state["base_rule"] or "binary")
    try:
        instance = bundles.load(name, rule)
    except InputError as error:
        others = tuple(choice for choice in choices if choice != name)
        return Absence(f"The instance **{markdown(name, 130)}** cannot be used: {markdown(error, 400)}.", others)
    with place:
        strip.draw(instance)
        buttons.more(_changed())
    return _more(own, name, instance, rule)


def _changed() -> bool:
    """Whether something behind “More” is not at its first value."""
    keys = ("targets", "right", "relaxation", "strengthen", "base_rule", "protect")
    return any(st.session_state[key] not in (SHARED[key][0], None) for key in keys)


def _more(own: dict[str, Control], name: str, instance: Instance, rule: BaseRule) -> View:
    """The controls behind “More”, and the view."""
    st.caption(bundles.facts(instance))
    _split(name)
    strip.uncovered(instance)
    targets, problem = _targets(instance)
    counted, targets = _only_right(instance, targets)
    relaxation, limit, strengthen = _relaxation(instance)
    protected, wrong = _protected(instance)
    st.button("Reset", on_click=_reset, icon=":material/restart_alt:", width="stretch", help="Back to the first view.")
    state.remember(own)
    mode = str(st.session_state["local_mode"] or "off")
    prefix = "share" if mode == "relative" else "local"
    local: dict[str, Any] = {
        f"local_{t}": None if mode == "off" else st.session_state.get(f"{prefix}_{t}") for t in state.AT_NODES
    } | {entry.local_name: st.session_state[entry.local_name] for entry in TABLE if entry.brings_nodes}
    try:
        budgets: dict[str, Any] = {
            entry.name: float(st.session_state[entry.name]) if entry.lengths else int(st.session_state[entry.name])
            for entry in TABLE
        }
        threat = ThreatModel(
            **budgets,
            **local,
            local_mode=LocalMode.RELATIVE if mode == LocalMode.RELATIVE else LocalMode.ABSOLUTE,
            sigma=st.session_state["sigma"],
            targets=targets,
            protected=protected,
        )
        threat = threat.bound_to(instance.scale)
        threat.check(instance.graph)
        threat = state.within_base(threat, instance)
    except InputError as error:
        problem = str(error)
        threat = ThreatModel(targets=targets)
    return View(name, instance, threat, relaxation, float(limit), rule, problem or wrong, strengthen, counted)


def _split(name: str) -> None:
    """Which of several splits of the same graph and model."""
    splits = bundles.splits(name, bundles.names())
    if len(splits) < 2:
        return
    titles = {one: bundles.title(one).rsplit(" · ", 1)[-1] for one in splits}
    chosen = st.segmented_control(
        "Split", splits, format_func=titles.__getitem__, default=name, key=f"_split_{name}", required=True,
        help="The same graph and model, trained on other nodes.",
    )  # fmt: skip
    if chosen not in (None, name):
        state.move(instance=chosen)


def _none_at_all() -> str:
    folder = bundles.bundle_folder()
    shown = folder.relative_to(bundles.ROOT) if folder.is_relative_to(bundles.ROOT) else folder
    return (
        f"There is no instance in `{shown}/` yet. Make one with `certcore.smooth` in Python, or upload one under "
        "**Your data**."
    )


def _not_here(name: str) -> str:
    again = (
        " Only the newest uploads are kept, and on a shared server only for the visit in which they were made: if you "
        "have the file, upload it again under **Your data**."
        if name.startswith("import-")
        else ""
    )
    if "-division-" in name:
        again = f" It was one of division voting: {DIVISION_IS_GONE}."
    return (
        f"There is no instance **{markdown(name, 130)}** here, so nothing is said about it, and no other graph is "
        f"shown in its place.{again}"
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
            return None, "No targets are chosen yet: type node indices under “Chosen nodes” behind “More”."
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
    ballots = messages.ballots_of(instance) is not None
    if ballots and st.session_state["relaxation"] == Relaxation.PAPER:
        state.replace("relaxation", "tight", "the publication defines none for ballots")
    relaxation = controls.segmented_control(
        st,
        "Relaxation",
        ["tight"] if ballots else ["tight", "paper"],
        format_func=str.capitalize,
        key="relaxation",
        help="Tight: our linear program. Paper: the published one, for comparison.",
    )
    limit = st.session_state["time_limit"]
    if ballots and st.session_state["strengthen"]:
        state.replace("strengthen", False, "the rows of the strong form do not apply to ballots")
    form = Relaxation(relaxation or "tight")
    strengthen = form is Relaxation.TIGHT and controls.toggle(
        st,
        "Search for more",
        key="strengthen",
        disabled=ballots,
        help="Improves the number in place: a search for rows that every whole-number attack satisfies. Each step is "
        "verified in exact integers, and it stops by itself when an attack shows that no more can be certified.",
    )
    if strengthen:
        limit = controls.number_input(
            st, "Time limit (s)", 1, 600, key="time_limit", help="The search stops here; what it has proven stays."
        )
    if "votes" not in instance.base.arrays():
        if st.session_state["base_rule"] != BaseRule.BINARY:
            state.replace("base_rule", "binary", "the base certificate of this instance does not come from votes")
    else:
        controls.segmented_control(
            st,
            "Votes",
            list(map(str, BaseRule)),
            format_func={"binary": "Binary", "multiclass": "Multi-class"}.__getitem__,
            key="base_rule",
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
        "Click nodes in the picture to add them.",
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
    strip.beside_controls(instance)
