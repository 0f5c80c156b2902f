"""Compare: several instances on the same axes."""

from __future__ import annotations

import pandas as pd
import streamlit as st

from certcore import figures, messages
from certcore.common.errors import InputError
from certcore.common.rounding import rounded_down, share_down
from certcore.domain.perturbations import LABELS, TYPES

from ..background import sweeps, work
from ..files import bundles
from ..messages.text import count, listing, markdown, plain
from ..parts import charts, exports, frames
from ..state import controls, state
from ..state.state import View

TITLE = "Compare"
LEAD = "Models, datasets, base certificates or splits on the same axes."
MOST = 6
NOW = "certified at the current budget"
OWN: dict[str, state.Control] = {
    "with": (None, lambda text: [part for part in state.short_text(text).split(",") if part]),
    "cmp_vary": ("", state.short_text),
    "cmp_to": (None, state.whole(1, 20_000)),
    "cmp_log": (False, state.flag),
    "cmp_every": (False, state.flag),
}


def draw(view: View) -> None:
    names = bundles.names()
    others = [name for name in names if name != view.name]
    if st.session_state["with"] is None:
        ranked = bundles.most_alike(view.name, others)[:2]
        neighbours = [name for name in ranked if bundles.comparable(view.name, name)] or ranked[:1]
        state.replace("with", neighbours, "nothing to compare with was named")
    here = [name for name in st.session_state["with"] if name in others]
    if here != st.session_state["with"]:
        state.replace("with", here, "not all of these are here, or beside the present one")
    chosen = controls.multiselect(
        st,
        f"Compare {bundles.title(view.name)} with",
        others,
        key="with",
        format_func=bundles.title,
        max_selections=MOST - 1,
        placeholder="choose instances",
        help="Local budgets, σ and relaxation are those of the sidebar; targets are those of each file.",
    )
    bar = st.container(horizontal=True, vertical_alignment="bottom")
    instances = {}
    for name in [view.name, *chosen]:
        try:
            instances[name] = bundles.load(name, view.rule)
        except InputError as error:
            st.warning(f"{markdown(name)}: {markdown(error, 200)}")
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
        width=110,
        placeholder=f"{sweeps.end_of(view.instance, vary):,}",
        help="Largest value on the axis. Empty: a useful one.",
    )
    switches = st.container(horizontal=True)
    log = controls.toggle(switches, "Logarithmic axis", key="cmp_log", help="Zero is drawn at one half.")
    to_zero = controls.toggle(
        switches,
        "To zero",
        key="cmp_every",
        help="The axis ends where nothing is certified any more, unless you say otherwise under “Up to”.",
    )
    if not chosen:
        st.caption("Choose at least one other instance above; until then only the present one is drawn.")

    whose, before = st.session_state.get("_cmp_before", ("", ""))
    if whose == view.name and before in LABELS and vary == sweeps.main_axis(view):
        st.info(
            f"{labels[vary]} are varied now: the base certificate of {markdown(bundles.title(view.name))} does not "
            f"cover {LABELS[before]}, which were varied before.",
            icon=":material/swap_horiz:",
        )
    in_play = [name for name in TYPES if name == vary or getattr(view.threat, name)]
    uncovered = {
        name: missing
        for name, instance in instances.items()
        if (missing := [LABELS[key] for key in in_play if key not in instance.covered_types])
    }
    for name, missing in uncovered.items():
        # What is compared must cover what is on the axes: a line of zeros says nothing of a model.
        what = f"its base certificate does not cover {listing(missing)}"
        if name == view.name:
            st.info(
                f"{markdown(bundles.title(name))}: {what}; each such flip counts as breaking every target it can reach."
            )
            continue
        covered = instances.pop(name).covered_types
        shared = [LABELS[key] for key in view.instance.covered_types if key in covered]
        way = (
            f"To see its line, vary {' or '.join(shared)} and set all other budgets to 0."
            if shared
            else "The two base certificates cover no type in common."
        )
        st.info(
            f"**Not drawn: {markdown(bundles.title(name))}.** {what.capitalize()}. {way}",
            icon=":material/layers_clear:",
        )

    accuracy = view.counted is not None
    for name in [name for name, instance in instances.items() if accuracy and instance.right is None]:
        del instances[name]
        st.info(
            f"**Not drawn: {markdown(bundles.title(name))}.** It has no true labels, so it has no certified accuracy.",
            icon=":material/layers_clear:",
        )
    # Other instances have other nodes and other types: what they share is the threat model without targets.
    free = view.threat.replace(targets=None, protected=())
    alike, short = bundles.short_titles(list(instances))
    family = [
        sweeps.Member(
            title,
            state.within_base(free, instance).replace(targets=instance.select_targets("correct") if accuracy else None),
            (instance,),
        )
        for title, instance in zip(short, instances.values())
    ]
    limited = [title for title, one in zip(short, instances.values()) if state.within_base(free, one) is not free]
    if limited:
        st.caption(
            f"With the local budget that its base certificate was made for: {markdown(', '.join(limited), 300)}. The "
            "other lines have the local budgets of the sidebar."
        )
    if accuracy:
        trained = [member.name for member in family if messages.has_training_nodes(member.instances[0])]
        st.caption(
            "Certified accuracy: labels that stay and are right, as a share of all targets of each file; each line "
            "begins at its accuracy without an attack."
            + (f" {messages.not_for_training()} ({markdown(', '.join(trained), 300)})" if trained else "")
        )
    values = sweeps.values_to(end and int(end), to_zero, view.instance, vary)
    task = sweeps.curves(family, vary, values, False, view.relaxation, "compare")
    lines = sweeps.first_kind(task)
    if lines:
        entries = [
            figures.CompareEntry(
                member.name,
                line,
                None if right is None else right.ratio,
                len(member.instances[0].select_targets(None)) if accuracy else None,
            )
            for member, line in zip(family, lines)
            for right in [messages.accuracy(member.instances[0])]
        ]
        drawn = list(instances)[: len(lines)]
        again = exports.recipe(
            view,
            "compare",
            threat=free,
            instances=drawn,
            own_targets=True,
            vary=vary,
            values=[int(v) for v in lines[0][0].values],
            names=[member.name for member in family[: len(lines)]],
            log=log,
        )
        figure = figures.compare_figure(
            entries,
            vary=vary,
            log=log,
            marker=sweeps.position(view.threat, vary),
            title=plain(alike, 120),
            recipe=again,
        )
        charts.show(figure, key="compare", height=470, note=f"All lines: {markdown(alike, 120)}." if alike else "")
        work.line(task)
        # One point of each line: all budgets as in the sidebar, σ among them.
        axis = sweeps.main_axis(view)
        here = [int(getattr(view.threat, axis))]
        now = sweeps.curves(family, axis, here, False, view.relaxation, "compare_now", fine=False)
        # r̄ needs every integer to the end; it is computed after the picture, whatever part of the axis is drawn.
        with_radii = vary != "sigma" and not accuracy
        radii = (
            sweeps.curves(family, vary, None, False, view.relaxation, "radii") if task.fresh and with_radii else None
        )
        whole = sweeps.first_kind(radii) if radii is not None else []
        rows = figures.compare_figure(
            [
                figures.CompareEntry(
                    bundles.title(name), whole[k] if k < len(whole) else e.curve, e.accuracy, e.accuracy_of
                )
                for k, (name, e) in enumerate(zip(instances, entries))
            ],
            vary=vary,
        ).rows
        table = pd.DataFrame(rows, columns=list(figure.columns))
        votes = [member.instances[0].base.facts.get("samples") for member in family[: len(table)]]
        points = [line[0] for line in sweeps.first_kind(now)] + [None] * len(table)
        table.insert(2, "samples", pd.array(votes, dtype="Int64"))
        table.insert(
            3,
            NOW,
            [
                None if p is None else f"{share_down(p.certified[0], of)} ({count(p.certified[0])} of {count(of)})"
                for p, entry in zip(points, entries)
                for of in [entry.accuracy_of or (p.targets if p is not None else 0)]
            ],
        )
        if not with_radii:
            table = table.drop(columns=["r̄ naive", "r̄ collective", "gain (×)"])
        beside = [
            figures.controls_beside(member.instances[0], member.threat, vary, entry.accuracy_of)
            for member, entry in zip(family, entries)
        ]
        ignoring = list(dict.fromkeys(name for found in beside for name in found))
        for name in ignoring:
            table[name] = [found.get(name) for found in beside]
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
        if len({number for number in votes if number}) > 1:
            st.warning(
                "These instances have different numbers of samples. More samples alone certify more, so a line above "
                "another does not show that its model is the more robust one.",
                icon=":material/balance:",
            )
        st.caption(
            f"{NOW.capitalize()}{' (right labels only)' if accuracy else ''}: {messages.threat_words(free)}."
            + (
                " r̄: average certifiable radius, over all budgets up to where nothing is certified any more."
                if with_radii
                else ""
                if accuracy
                else " Along σ there is no r̄: a curve stays constant as soon as the budgets are spent."
            )
        )
        if ignoring:
            st.caption(messages.why_control_columns().markdown)
        elif not accuracy and any(instance.controls for instance in instances.values()):
            st.caption(messages.why_accuracy().markdown)
        if now.running:
            work.watch_all([("", now)])
        if radii is not None:
            work.line(radii)
    else:
        st.info("The curves appear here as soon as the first one is computed.", icon=":material/hourglass_top:")
        work.line(task)
