"""Compare: several instances on the same axes, each with its name and numbers at the end of its line."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import pandas as pd
import streamlit as st

from certcore import figures, messages
from certcore.common.errors import InputError
from certcore.common.rounding import rounded_down, share_down
from certcore.domain.perturbations import LABELS, TYPES
from certcore.domain.threat import ThreatModel
from certcore.figures.style import axis_label
from certcore.instance.instance import Instance
from certcore.messages.text import some
from certcore.model_attack.stored import largest
from certcore.notebook import note
from certcore.sweep.ranges import end_of, first_end

from ..background import engine, sweeps
from ..background.answers import answer, answers
from ..files import bundles
from ..messages.text import count, listing, markdown, plain
from ..parts import charts, ends, frames
from ..state import controls, state
from ..state.state import View

TITLE = "Compare"
MOST = 6
NOW, CHANGED = "certified at the current budget", "changed there by an attack found"
OWN: dict[str, state.Control] = {
    **state.own("with", cmp_vary="vary", cmp_to="to", cmp_log="log", cmp_every="every"),
}


@dataclass(frozen=True, eq=False)
class Entry:
    """One instance of the comparison: its curves (one per split), its accuracy if known, and the votes behind it.

    `accuracy_of`: its targets are the right labels among this many, and its ratios are certified accuracies.
    """

    name: str
    curve: Any
    accuracy: float | None = None
    accuracy_of: int | None = None
    samples: int | None = None

    def lines(self, group: int = 0) -> tuple[figures.Line, ...]:
        """Its certificate and its naive line."""
        curves = self.curve if self.accuracy_of is None else figures.as_accuracy(self.curve, self.accuracy_of)
        return figures.mean_lines(curves, self.name, group)


@dataclass
class Compared:
    """What is drawn: the instances by name, a line of each, and the attacker that they share."""

    view: View
    vary: str
    instances: dict[str, Instance]
    free: ThreatModel
    alike: str
    family: list[sweeps.Member]
    now: list[Any]
    """The certified count of each at the budgets of the sliders, or None as long as it is not there."""

    @property
    def accuracy(self) -> bool:
        return self.view.counted is not None

    def entries(self, lines: list[list[Any]]) -> list[Entry]:
        return [
            Entry(
                member.name,
                line,
                None if right is None else right.ratio,
                len(member.instances[0].select_targets(None)) if self.accuracy else None,
                member.instances[0].base.facts.get("samples"),
            )
            for member, line in zip(self.family, lines)
            for right in [messages.accuracy(member.instances[0])]
        ]

    def counted(self, entries: list[Entry]) -> list[tuple[int, int] | None]:
        """Of each how many are certified at the sliders' position, and of how many."""
        points = self.now + [None] * len(entries)
        return [
            None if p is None else (int(p.certified[0]), int(entry.accuracy_of or p.targets))
            for p, entry in zip(points, entries)
        ]


def draw(view: View) -> None:
    top = st.container(horizontal=True, vertical_alignment="bottom")
    loaded = _load(view, _chosen(view, top))
    vary, end, log, to_zero = _axis(view, top)
    found = _compared(view, vary, loaded)
    values = sweeps.values_to(end or _first_end(view, vary), to_zero and not end, view.instance, vary)
    above, numbers = st.container(), st.container()
    picture = above.empty()
    # One point of each line: all budgets as in the strip, σ among them.
    axis = sweeps.main_axis(view)
    here = [sweeps.picked(axis, getattr(view.threat, axis))]
    points = answer(sweeps.lines(found.family, axis, here, view.relaxation, fine=False))
    found.now = [line[0] for line in points or []]
    entries: list[Entry] = []
    for lines in answers(sweeps.lines(found.family, vary, values, view.relaxation)):
        if lines:
            entries = found.entries(lines)
            with picture.container():
                _picture(found, entries, _figure(found, entries, log), growing=True)
    if entries:
        figure = _figure(found, entries, log)
        with picture.container():
            _headline(found, entries, figure)
            _picture(found, entries, figure)
        with numbers:
            _numbers(found, entries)


def _chosen(view: View, bar: Any) -> list[str]:
    """Whom the present instance is compared with."""
    others = [name for name in bundles.names() if name != view.name]
    if st.session_state["with"] is None:
        state.replace("with", bundles.on_equal_terms(view.name, others)[:2], "nothing to compare with was named")
    here = [name for name in st.session_state["with"] if name in others]
    if here != st.session_state["with"]:
        state.replace("with", here, "not all of these are here, or beside the present one")
    chosen = controls.multiselect(
        bar,
        f"Compare {bundles.title(view.name)} with",
        others,
        key="with",
        format_func=bundles.title,
        max_selections=MOST - 1,
        placeholder="choose instances",
        help="Local budgets, σ and relaxation are those of the strip; targets are those of each file.",
    )
    if not chosen:
        st.caption("Choose at least one other instance above; until then only the present one is drawn.")
    return list(chosen)


def _load(view: View, chosen: list[str]) -> dict[str, Instance]:
    instances = {}
    for name in [view.name, *chosen]:
        try:
            instances[name] = bundles.load(name, view.rule)
        except InputError as error:
            st.warning(f"{markdown(name)}: {markdown(error, 200)}")
    return instances


def _first_end(view: View, vary: str) -> int:
    return first_end(sweeps.position(view.threat, vary), end_of(view.instance, vary))


def _axis(view: View, bar: Any) -> tuple[str, int | None, bool, bool]:
    """What is varied, up to where, on which axis, and whether to where nothing is left."""
    labels = {key: label for key, label in sweeps.varied(view.instance).items() if not key.startswith("local_")}
    if st.session_state["cmp_vary"] not in labels:
        st.session_state["_cmp_before"] = (view.name, st.session_state["cmp_vary"])
        state.replace("cmp_vary", sweeps.main_axis(view), "this cannot be varied on this instance")
    vary = controls.selectbox(
        bar,
        "Vary",
        list(labels),
        format_func=labels.__getitem__,
        key="cmp_vary",
        width=200,
        help="The budget on the axis.",
    )
    end = controls.number_input(
        bar,
        "Up to",
        1,
        20_000,
        key="cmp_to",
        width=100,
        placeholder=f"{_first_end(view, vary):,}",
        help="Largest value on the axis. Empty: three to five times the slider.",
    )
    log = controls.toggle(bar, "Logarithmic", key="cmp_log", width="content", help="Zero is drawn at one half.")
    to_zero = controls.toggle(
        bar,
        "To zero",
        key="cmp_every",
        width="content",
        help="The axis ends where nothing is certified any more, unless you say otherwise under “Up to”.",
    )
    whose, before = st.session_state.get("_cmp_before", ("", ""))
    if whose == view.name and before in LABELS and vary == sweeps.main_axis(view):
        st.info(
            f"{labels[vary]} are varied now: the base certificate of {markdown(bundles.title(view.name))} does not "
            f"cover {LABELS[before]}, which were varied before.",
            icon=":material/swap_horiz:",
        )
    return vary, None if end is None else int(end), log, to_zero


def _compared(view: View, vary: str, instances: dict[str, Instance]) -> Compared:
    """Leave out what cannot stand on these axes, saying why, and give all others the same attacker."""
    _only_covered(view, vary, instances)
    accuracy = view.counted is not None
    for name in [name for name, instance in instances.items() if accuracy and instance.right is None]:
        del instances[name]
        _not_drawn(name, "It has no true labels, so it has no certified accuracy.")
    # Other instances have other nodes and other types: what they share is the threat model without targets.
    free = view.threat.replace(targets=None, protected=())
    alike, titles = bundles.short_titles(list(instances))
    family = [
        sweeps.Member(
            title,
            state.within_base(free, instance).replace(targets=instance.select_targets("correct") if accuracy else None),
            (instance,),
        )
        for title, instance in zip(titles, instances.values())
    ]
    limited = [title for title, one in zip(titles, instances.values()) if state.within_base(free, one) is not free]
    if limited:
        st.caption(
            f"With the local budget that its base certificate was made for: {markdown(', '.join(limited), 300)}. The "
            "other lines have the local budgets of the strip."
        )
    return Compared(view, vary, instances, free, alike, family, [])


def _not_drawn(name: str, why: str) -> None:
    st.info(f"**Not drawn: {markdown(bundles.title(name))}.** {why}", icon=":material/layers_clear:")


def _only_covered(view: View, vary: str, instances: dict[str, Instance]) -> None:
    """What is compared must cover what is on the axes: a line of zeros says nothing of a model."""
    in_play = [name for name in TYPES if name == vary or getattr(view.threat, name)]
    for name, instance in list(instances.items()):
        missing = [LABELS[key] for key in in_play if key not in instance.covered_types]
        if not missing:
            continue
        what = f"its base certificate does not cover {listing(missing)}"
        if name == view.name:
            st.info(
                f"{markdown(bundles.title(name))}: {what}; each such flip counts as breaking every target it can reach."
            )
            continue
        del instances[name]
        shared = [LABELS[key] for key in view.instance.covered_types if key in instance.covered_types]
        way = (
            f"To see its line, vary {' or '.join(shared)} and set all other budgets to 0."
            if shared
            else "The two base certificates cover no type in common."
        )
        _not_drawn(name, f"{what.capitalize()}. {way}")


def _figure(found: Compared, entries: list[Entry], log: bool) -> figures.CurveFigure:
    """The lines, as they are drawn and exported."""
    return figures.CurveFigure(
        lines=tuple(line for group, entry in enumerate(entries) for line in entry.lines(group)),
        vary=found.vary,
        accuracy=found.accuracy,
        log=log,
        marker=sweeps.position(found.view.threat, found.vary),
        title=plain(found.alike, 120),
        note=note(list(found.instances.values())[: len(entries)]),
        name=f"compare-{found.vary}",
    )


def _headline(found: Compared, entries: list[Entry], figure: figures.CurveFigure) -> None:
    """For which model most is proven: at the sliders' position, and at the end of the axis."""
    now = {e.name: one for e, one in zip(entries, found.counted(entries)) if one is not None}
    if len(entries) < 2 or len(now) < len(entries):
        return
    end, axis = sweeps.picked(found.vary, figure.lines[0].values[-1]), axis_label(found.vary)
    last = {e.name: (int(e.curve[0].certified[-1]), e.accuracy_of or int(e.curve[0].targets)) for e in entries}
    told = messages.short_most(now, messages.short_threat(found.free))
    differ = len({member.instances[0].base.facts.get("samples") for member in found.family} - {None}) > 1
    st.markdown(f"#### {told.markdown}" + (", with unequal numbers of samples" if differ else ""))
    share = "right labels that stay, of all targets of each file" if found.accuracy else "labels proven to stay"
    note = f" All lines: {markdown(found.alike, 120)}." if found.alike else ""
    if differ:
        note += (
            " **Their numbers of samples differ**, and more samples alone certify more: a line above another does not "
            "show that its model is the more robust one."
        )
    if (sure := messages.joint_confidence(found.instances.values())) is not None:
        note += f" {sure.markdown}"
    at_end = messages.short_most(last, some(end, axis.removesuffix("s"), axis), below=True)
    st.caption(f"{at_end.markdown}. Share of {share}.{note}")


def _picture(found: Compared, entries: list[Entry], figure: figures.CurveFigure, growing: bool = False) -> None:
    """The lines with their names and numbers at their ends; while they are `growing`, without anything to press."""
    dark, same = charts.is_dark(), ends.coinciding(figure)
    here, end = sweeps.position(found.view.threat, found.vary), sweeps.picked(found.vary, figure.lines[0].values[-1])
    labels = []
    for k, (entry, now) in enumerate(zip(entries, found.counted(entries))):
        line = next(one for one in figure.lines if one.group == k)
        at = "" if now is None else f"{share_down(*now)} {'now' if here is None else f'at {here:,.10g}'}, "
        rows = [f"{at}{rounded_down(100 * float(line.ratio[-1]), 1)} % at {end:,.10g}"]
        rows += [] if entry.accuracy is None else [f"accuracy, no attack: {rounded_down(100 * entry.accuracy, 1)} %"]
        labels.append(ends.End(entry.name, float(line.ratio[-1]), [*rows, *([same[k]] if k in same else [])]))
    left, right = st.columns([4.4, 1.25], gap="small")
    with left:
        charts.show(
            figure,
            key="compare",
            height=ends.HEIGHT,
            restyle=lambda screen: ends.restyle(screen, figure),
            note="Solid: collective. Dotted: naive.",
            growing=growing,
        )
    with right:
        ends.draw(labels, dark=dark)


def _numbers(found: Compared, entries: list[Entry]) -> None:
    """One row of numbers for each model, and what must be said about them."""
    with_radii = found.vary != "sigma" and not found.accuracy
    beside = [
        figures.controls_for(member.instances[0], member.threat, found.vary, entry.accuracy_of)
        for member, entry in zip(found.family, entries)
    ]
    ignoring = list(dict.fromkeys(name for one in beside for name in one))
    table = _table(found, entries)
    for name in ignoring:
        table[name] = [one.get(name) for one in beside]
    place = st.empty()
    with place:
        _shown(table, ignoring)
    _remarks(found, bool(ignoring), with_radii)
    if not with_radii:
        return
    # r̄ needs every integer to the end; it is computed last, whatever part of the axis is drawn.
    whole = answer(sweeps.lines(found.family, found.vary, None, found.view.relaxation))
    with place:
        _shown(_with_radii(table, entries, whole or []), ignoring)


def _table(found: Compared, entries: list[Entry]) -> Any:
    rows = [(bundles.title(name), entry.accuracy) for name, entry in zip(found.instances, entries)]
    table = pd.DataFrame(rows, columns=["instance", "accuracy"])
    votes = [member.instances[0].base.facts.get("samples") for member in found.family[: len(table)]]
    table.insert(2, "samples", pd.array(votes, dtype="Int64"))
    now = [
        None if one is None else f"{share_down(*one)} ({count(one[0])} of {count(one[1])})"
        for one in found.counted(entries)
    ]
    table.insert(3, NOW, now)
    table.insert(4, CHANGED, _changed(found)[: len(table)])
    return table


def _with_radii(table: Any, entries: list[Entry], whole: list[Any]) -> Any:
    """The table with the average certifiable radius of each, naive and collective, and the gain."""
    rows = []
    for entry, curve in zip(entries, whole):
        ours, naive = replace(entry, curve=curve).lines()
        gain = None
        if ours.average_radius is not None and naive.average_radius:
            gain = ours.average_radius / naive.average_radius
        rows.append((naive.average_radius, ours.average_radius, gain))
    radii = pd.DataFrame(rows, columns=["r̄ naive", "r̄ collective", "gain (×)"])
    return pd.concat([table, radii], axis="columns")


def _changed(found: Compared) -> list[str | None]:
    """Of each how many labels the largest stored attack on the model changes at the sliders' position."""
    told = []
    here = {name: getattr(found.view.threat, name) for name in (*TYPES, "sigma")}
    for (name, instance), member in zip(found.instances.items(), found.family):
        try:
            attack = largest(bundles.attacks(name, instance), instance, member.threat.replace(**here))
        except InputError:  # this instance says nothing against such an attacker
            attack = None
        untried: str | None = "not tried"
        if messages.ballots_of(instance) is not None:  # such attacks are found with a certificate, not stored
            attack, untried = answer(engine.on_ballots(instance, member.threat.replace(**here))), None
        told.append(untried if attack is None else count(attack.count.n_changed))
    return told


def _shown(table: pd.DataFrame, ignoring: list[str]) -> None:
    # The browser rounds to the nearest, so it gets numbers that need no rounding.
    digits = dict.fromkeys(ignoring, 3) | {"accuracy": 3, "r̄ naive": 2, "r̄ collective": 2, "gain (×)": 1}
    for name in digits.keys() & set(table.columns):
        table[name] = [
            None if pd.isna(value) else float(rounded_down(float(value), digits[name]).replace(",", ""))
            for value in table[name]
        ]
    formats = {"samples": "localized"} | {name: f"%.{number}f" for name, number in digits.items()}
    st.dataframe(
        frames.harmless(table),
        hide_index=True,
        column_config={name: st.column_config.NumberColumn(format=form) for name, form in formats.items()},
        placeholder="–",
        alt="One row per instance: accuracy, samples, certified share at the current budget, and, unless σ is "
        "varied, the average certifiable radius naive and collective and the gain.",
    )


def _remarks(found: Compared, ignoring: bool, with_radii: bool) -> None:
    """What must be said about these numbers."""
    if found.accuracy:
        trained = [member.name for member in found.family if messages.has_training_nodes(member.instances[0])]
        st.caption(
            "Certified accuracy: each line begins at its accuracy without an attack."
            + (f" {messages.not_for_training()} ({markdown(', '.join(trained), 300)})" if trained else "")
        )
    radius = "" if found.accuracy else " Along σ there is no r̄: a curve stays constant once the budgets are spent."
    if with_radii:
        radius = " r̄: average certifiable radius, over all budgets up to where nothing is certified any more."
    told = f"{NOW.capitalize()}{' (right labels only)' if found.accuracy else ''}: {messages.threat_words(found.free)}."
    st.caption(told + radius)
    if ignoring:
        st.caption(messages.why_control_columns().markdown)
    elif not found.accuracy and any(instance.controls for instance in found.instances.values()):
        st.caption(messages.why_accuracy().markdown)
