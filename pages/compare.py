"""Compare: several instances on the same axes."""

from __future__ import annotations

import pandas as pd
import streamlit as st

from certcore import figures
from certcore.errors import InputError
from pages.shared import bundles, charts, controls, exports, state, sweeps, work
from pages.shared.frame import frame
from pages.shared.text import markdown
from pages.shared.words import accuracy

MOST = 6
OWN: dict[str, state.Control] = {
    "with": (None, lambda text: [part for part in state.short_text(text).split(",") if part]),
    "cmp_vary": ("", state.short_text),
    "cmp_to": (None, state.whole(1, 20_000)),
    "cmp_log": (False, state.flag),
    "cmp_every": (False, state.flag),
}

view = frame("pages/compare.py", "Compare", "Models, datasets, base certificates or splits on the same axes.", OWN)
names = bundles.names()
others = [name for name in names if name != view.name]
if st.session_state["with"] is None:
    ranked = bundles.most_alike(view.name, others)[:2]
    st.session_state["with"] = [name for name in ranked if bundles.comparable(view.name, name)] or ranked[:1]
st.session_state["with"] = [name for name in st.session_state["with"] if name in others]
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
common = [
    key
    for key in sweeps.varied(view.instance)
    if all(key in sweeps.varied(instance) for instance in instances.values())
]
common = [key for key in common if not key.startswith("local_")]
if st.session_state["cmp_vary"] not in common:
    st.session_state["cmp_vary"] = next(
        (k for k in ("attr_del", "adj_del", "attr_add", "adj_add") if k in common), common[0]
    )
labels = sweeps.varied(view.instance)
vary = controls.selectbox(
    bar, "Vary", common, format_func=labels.__getitem__, key="cmp_vary", width=200, help="The budget on the axis."
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
every = controls.toggle(
    switches,
    "Every integer",
    key="cmp_every",
    help="Draw every integer, to where nothing is certified any more (unless “Up to” says otherwise).",
)
if not chosen:
    st.caption("Choose at least one other instance above; until then only the present one is drawn.")

# Other instances have other nodes and other types: what they share is the threat model without targets.
free = view.threat.replace(targets=None, protected=())
family = [
    sweeps.Member(bundles.title(name), state.within_base(free, instance), (instance,))
    for name, instance in instances.items()
]
limited = [member.name for member in family if member.threat is not free]
if limited:
    st.caption(
        f"With the local budget that its base certificate was made for: {markdown(', '.join(limited), 300)}. The other "
        "lines have the local budgets of the sidebar."
    )
values = sweeps.values_to(end and int(end), every, view.instance, vary)
task = sweeps.curves(family, vary, values, False, view.relaxation, "compare")
lines = sweeps.first_kind(task)
if vary == "sigma":
    st.caption("Along σ there is no r̄: a curve stays constant as soon as the budgets are spent.")
if lines:
    entries = [
        figures.CompareEntry(member.name, line, accuracy(member.instances[0])) for member, line in zip(family, lines)
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
        entries, vary=vary, log=log, marker=sweeps.position(view.threat, vary), recipe=again
    )
    charts.show(figure, key="compare", height=470)
    work.line(task)
    # r̄ needs every integer to the end; it is computed after the picture, whatever part of the axis is drawn.
    radii = (
        sweeps.curves(family, vary, None, False, view.relaxation, "radii") if task.fresh and vary != "sigma" else None
    )
    whole = sweeps.first_kind(radii) if radii is not None else []
    rows = figures.compare_figure(
        [
            figures.CompareEntry(e.name, whole[k] if k < len(whole) else e.curve, e.accuracy)
            for k, e in enumerate(entries)
        ],
        vary=vary,
    ).rows
    table = pd.DataFrame(rows, columns=list(figure.columns))
    votes = [member.instances[0].base.facts.get("samples") for member in family[: len(table)]]
    table.insert(2, "samples", pd.array(votes, dtype="Int64"))
    formats = {
        "accuracy": "%.3f",
        "samples": "localized",
        "r̄ naive": "%.2f",
        "r̄ collective": "%.2f",
        "gain (×)": "%.1f",
    }
    st.dataframe(
        table,
        hide_index=True,
        column_config={name: st.column_config.NumberColumn(format=form) for name, form in formats.items()},
        placeholder="–",
        alt="One row per instance: accuracy, samples, average certifiable radius naive and collective, and the gain.",
    )
    if len({number for number in votes if number}) > 1:
        st.warning(
            "These instances have different numbers of samples. More samples alone make r̄ larger, so their r̄ must not "
            "be compared.",
            icon=":material/balance:",
        )
    st.caption("r̄: average certifiable radius, over all budgets up to where nothing is certified any more.")
    if radii is not None:
        work.line(radii)
else:
    st.info("The curves appear here as soon as the first one is computed.", icon=":material/hourglass_top:")
    work.line(task)
