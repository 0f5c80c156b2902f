"""Compare: several instances on the same axes."""

from __future__ import annotations

import pandas as pd
import streamlit as st

from certcore import figures
from certcore.errors import InputError
from pages.shared import bundles, charts, controls, state, sweeps, work
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
    st.session_state["with"] = others[:2]
st.session_state["with"] = [name for name in st.session_state["with"] if name in others]
bar = st.container(horizontal=True, vertical_alignment="bottom")
chosen = controls.multiselect(
    bar,
    f"Compare {bundles.title(view.name)} with",
    others,
    key="with",
    format_func=bundles.title,
    max_selections=MOST - 1,
    placeholder="choose instances",
    width=420,
    help="Local budgets, σ and relaxation are those of the sidebar; targets are those of each file.",
)
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
    placeholder=str(sweeps.end_of(view.instance, vary)),
    help="End of the axis.",
)
switches = st.container(horizontal=True)
log = controls.toggle(switches, "Logarithmic axis", key="cmp_log", help="Zero is drawn at one half.")
every = controls.toggle(
    switches, "Every integer", key="cmp_every", help="Needed for r̄; the ratio must also reach 0 at the end."
)
if not chosen:
    st.caption("Choose at least one other instance above; until then only the present one is drawn.")

# Other instances have other nodes and other types: what they share is the threat model without targets.
free = view.threat.replace(targets=None, protected=())
family = [sweeps.Member(bundles.title(name), free, (instance,)) for name, instance in instances.items()]
values = sweeps.values_to(int(end or sweeps.end_of(view.instance, vary)), every)
task = sweeps.curves(family, vary, values, False, view.relaxation, "compare")
lines = sweeps.first_kind(task)
if lines:
    entries = [
        figures.CompareEntry(member.name, line, accuracy(member.instances[0])) for member, line in zip(family, lines)
    ]
    figure = figures.compare_figure(entries, vary=vary, log=log, marker=sweeps.position(view.threat, vary))
    charts.show(figure, key="compare", height=470)
    numbers = {name: st.column_config.NumberColumn(format="%.3f") for name in figure.columns[1:]}
    st.dataframe(
        pd.DataFrame(list(figure.rows), columns=list(figure.columns)),
        hide_index=True,
        column_config=numbers,
        placeholder="–",
    )
    st.caption(
        "r̄ needs “Every integer” and an axis on which the ratio reaches 0. Never compare r̄ between different numbers "
        "of votes."
    )
else:
    st.info("The curves appear here as soon as the first one is computed.", icon=":material/hourglass_top:")
work.line(task)
