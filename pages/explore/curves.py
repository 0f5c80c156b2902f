"""Curves: what stays certified against one budget or σ."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import streamlit as st

from certcore import figures, messages
from certcore.common.errors import InputError
from certcore.common.numbers import write_numbers
from certcore.domain.perturbations import TYPES
from certcore.instance.instance import Instance
from certcore.model_attack.along import Along
from certcore.notebook import note
from certcore.program.relaxation import Relaxation
from certcore.sweep.attack_curve import Attacks
from certcore.sweep.counts import Counts
from certcore.sweep.ranges import end_of, stops

from ..background import engine, sweeps
from ..background.answers import answer, answers
from ..files import bundles
from ..messages.text import markdown
from ..parts import charts, exports
from ..parts.promise import promise
from ..state import controls, state
from ..state.state import View

TITLE = "Curves"
LEAD = "What stays certified as one budget grows, everything else as above."
OWN: dict[str, state.Control] = {
    **state.own("vary", "to", "family", "members", "paper", "log", "every", "splits"),
    "share": (80, state.whole(1, 100)),
}


@dataclass(frozen=True, eq=False)
class Asked:
    """What the controls say: what is varied and how far, the family of lines, and how they are drawn."""

    vary: str
    end: int | None
    by: str
    members: list[int]
    paper: bool
    log: bool
    to_zero: bool
    names: list[str]
    """Splits whose mean is drawn; this instance alone without."""
    instances: tuple[Instance, ...]


@dataclass(eq=False)
class _Lines:
    """What is drawn, as far as it is there: curves of ours and of the paper's, and attacks along them."""

    ours: list[list[Counts]] = field(default_factory=list)
    paper: list[list[Counts]] = field(default_factory=list)
    found: Attacks | None = None
    model: Along | None = None


def draw(view: View) -> None:
    asked = _asked(view)
    vary = asked.vary
    values = sweeps.values_to(asked.end, asked.to_zero, view.instance, vary)
    family = sweeps.family(view, asked.by, asked.members, vary, asked.instances)
    place, lines = st.empty(), _Lines()
    for lines.ours in answers(sweeps.lines(family, vary, values, view.relaxation)):
        _grown(place, view, asked, family, lines)
    if not lines.ours:
        return
    if asked.paper and view.relaxation is not Relaxation.PAPER:
        # At the same values: lines of one figure share them.
        drawn = lines.ours[0][0].values.tolist()
        lines.paper = answer(sweeps.lines(family, vary, drawn, Relaxation.PAPER)) or []
    stored = bundles.attacks(view.name, view.instance)
    if len(family) == len(asked.instances) == 1:
        if stored and vary in (*TYPES, "sigma"):
            lines.model = answer(engine.along(view, vary, stored))
        few = values if values is not None else stops(int(lines.ours[0][0].values[-1]))
        for lines.found in answers(sweeps.attacks_at(family[0], vary, few, view.relaxation)):
            _grown(place, view, asked, family, lines)
    with place.container():
        _chart(view, asked, family, lines)
    promise(view, vary)


def _grown(place: Any, view: View, asked: Asked, family: list[sweeps.Member], lines: _Lines) -> None:
    """The picture as far as it is computed."""
    if lines.ours:
        with place.container():
            _chart(view, asked, family, lines, growing=True)


def _asked(view: View) -> Asked:
    choices = sweeps.varied(view.instance)
    if st.session_state["vary"] not in choices:
        in_play = [name for name in choices if name in state.SHARED and getattr(view.threat, name)]
        state.replace("vary", next(iter(in_play or choices)), "this cannot be varied on this instance")
    bar = st.container(horizontal=True, vertical_alignment="bottom")
    vary = controls.selectbox(
        bar,
        "Vary",
        list(choices),
        format_func=choices.__getitem__,
        key="vary",
        width=230,
        help="The budget on the horizontal axis.",
    )
    usual = f"{end_of(view.instance, vary):,}"
    told = "Largest value on the axis. Empty: a useful one."
    end = controls.number_input(bar, "Up to", 1, 20_000, key="to", width=110, placeholder=usual, help=told)
    kinds = {"none": "None", "local": "Local budgets", "sigma": "Attacker counts σ"}
    by = controls.selectbox(
        bar,
        "Family of lines",
        list(kinds),
        format_func=kinds.__getitem__,
        key="family",
        width=180,
        help="Several lines: one for each local budget, or one for each number of attackers.",
    )
    text = controls.text_input(
        bar, "Members", key="members", width=130, disabled=by == "none", help="Values of the family, such as “1, 2, 5”."
    )
    paper, log, to_zero, names = _switches(view)
    try:
        members = state.parse_nodes(text or "", 10**6).tolist()[:8] if by != "none" else []
    except InputError as error:
        st.warning(f"Members of the family: {markdown(error, 200)}")
        members = []
    instances = tuple(bundles.load(name, view.rule) for name in names) if names else (view.instance,)
    return Asked(vary, end and int(end), by, members, paper, log, to_zero, names, instances)


def _switches(view: View) -> tuple[bool, bool, bool, list[str]]:
    """The paper's relaxation, a logarithmic axis, whether it ends at zero, and the splits to take the mean of."""
    switches = st.container(horizontal=True)
    ballots = messages.ballots_of(view.instance) is not None
    if ballots and st.session_state["paper"]:
        state.replace("paper", False, "the publication defines no relaxation for ballots")
    paper = controls.toggle(
        switches,
        "Paper's relaxation",
        key="paper",
        disabled=ballots,
        help="Not defined for ballots." if ballots else "Add the published relaxation as a dash-dotted line.",
    )
    log = controls.toggle(switches, "Logarithmic axis", key="log", help="Zero is drawn at one half.")
    to_zero = controls.toggle(
        switches,
        "To zero, with r̄",
        key="every",
        help="The axis ends where nothing is certified any more, unless you say otherwise under “Up to”. The average "
        "certifiable radius r̄ needs that; a shorter axis gives none.",
    )
    names = sweeps.splits_of(view)
    splits = controls.toggle(
        switches,
        f"Mean over {len(names)} splits" if len(names) > 1 else "Mean over splits",
        key="splits",
        disabled=len(names) < 2 or view.counted is not None,
        help="A band shows one standard deviation. Not together with certified accuracy: every split has right labels "
        "of its own.",
    )
    several = splits and view.counted is None and len(names) > 1
    return paper, log, to_zero, names if several else []


def _chart(view: View, asked: Asked, family: list[sweeps.Member], lines: _Lines, growing: bool = False) -> None:
    """The lines, and what a click on them does."""
    vary, ours = asked.vary, lines.ours
    shows_paper = asked.paper and view.relaxation is not Relaxation.PAPER
    accuracy_of = None if view.counted is None else len(view.counted)
    beside = figures.controls_for(view.instance, view.threat, vary, accuracy_of)
    plain = not family[0].axis and not shows_paper and not asked.log
    axis: dict[str, Any] = {"vary": vary, "values": write_numbers(ours[0][0].values.tolist())}
    splits = [name for name in asked.names if name != view.name]
    again = exports.made_by(view, "curve", threat=family[0].threat, splits=splits, **axis) if plain else ""
    figure = figures.curve_figure(
        ours,
        vary=vary,
        names=[member.name for member in family],
        paper=lines.paper,
        log=asked.log,
        marker=sweeps.position(view.threat, vary),
        attacks=sweeps.known_attacks(lines.found, ours[0][0]),
        changed=None if lines.model is None else lines.model.changed(ours[0][0].values.tolist()),
        accuracy_of=accuracy_of,
        controls=beside,
        note=note(family[0].instances, controls=bool(beside)),
        command=again,
    )
    hint = (
        "Click a point to move the sliders there. Where not every integer is solved yet, a line keeps the ratio of the "
        "next larger value: nothing is interpolated."
    )
    clicked = charts.show(figure, key="curve", height=470, select=True, note=hint, growing=growing)
    if growing:
        return
    if (sure := messages.joint_confidence(family[0].instances)) is not None:
        st.caption(sure.markdown)
    if beside:
        st.caption(messages.why_controls().markdown)
    elif view.instance.controls and view.counted is None:
        st.caption(messages.why_accuracy().markdown)
        if st.button("Show certified accuracy beside models that ignore edges", key="controls"):
            state.move(right=True)
    if clicked is not None:
        moved = {vary: sweeps.picked(vary, clicked[0])}
        state.move(**moved, **({"local_mode": "absolute"} if vary.startswith("local_") else {}))
