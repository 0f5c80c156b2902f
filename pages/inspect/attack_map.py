"""Attack map: where the adversary spends its budget on the whole graph, and what protecting nodes would change."""

from __future__ import annotations

from typing import NoReturn

import numpy as np
import pandas as pd
import streamlit as st

from certcore import figures
from certcore.figures.style import STATES
from certcore.result.attack_text import attack_text
from certcore.result.states import FORMER, TargetState
from pages.frame.frame import frame, go_to_node, stop
from pages.frame.sidebar import node_name
from pages.parts import attack, exports, graphview, headline
from pages.parts.charts import is_dark
from pages.parts.protect import suggestions
from pages.parts.text import count
from pages.state import controls, state

#: States in the address; their former names still open what they meant.
CHOICES = [member.name.lower() for member in TargetState]


def read_states(text: str) -> list[str]:
    """The states to show, from the address."""
    found = state.words(*CHOICES, *FORMER)(text)
    return [FORMER[word].name.lower() if word in FORMER else word for word in found]


def state_name(choice: str) -> str:
    return attack.state_name(TargetState[choice.upper()])


OWN: dict[str, state.Control] = {
    "adversary": ("attack", state.one_of("attack", "relaxed")),
    "colour": ("state", state.one_of("state", "class")),
    "click": ("open", state.one_of("open", "select", "protect")),
    "only": ([], read_states),
    "picked": (None, state.whole()),
}

view = frame("attack_map", "Attack map", own=OWN)


def select(node: int) -> NoReturn:
    """Mark a node in the picture and put it at the top of the table."""
    st.session_state["_first"] = node
    state.move(picked=node)
    raise AssertionError("moving starts a new run")


result = headline.with_attack(view)
if result is None:
    st.info("The graph appears here when the first certificate is computed.", icon=":material/hourglass_top:")
    stop()

bar = st.container(horizontal=True, vertical_alignment="bottom")
adversary = controls.segmented_control(
    bar,
    "Adversary",
    ["attack", "relaxed"],
    format_func={"attack": "Replayed integer attack", "relaxed": "Relaxed LP adversary"}.__getitem__,
    key="adversary",
    help="The integer attack was replayed: these targets really lose their certificate. The relaxed adversary of the "
    "linear program spends fractions of flips; it explains the bound, but it is not an attack.",
)
colour = controls.segmented_control(
    bar,
    "Colour by",
    ["state", "class"],
    format_func={"state": "State", "class": "Predicted class"}.__getitem__,
    key="colour",
    disabled=view.instance.prediction is None,
    help="State: what happens to the node. Class: the label that is certified.",
)
click = controls.segmented_control(
    bar,
    "A click on a node",
    ["open", "select", "protect"],
    format_func={"open": "opens it", "select": "selects it", "protect": "protects it"}.__getitem__,
    key="click",
    help="Selecting shows the node in the table. Protected nodes cannot be touched by the attacker; click again to "
    "lift the protection.",
)
wanted = bar.text_input("Find a node", placeholder="name or index", help="Search by name or index.", width=170)
only = controls.multiselect(
    bar,
    "Show only",
    CHOICES,
    format_func=state_name,
    key="only",
    placeholder="all states",
    help="Fade all nodes in other states.",
    width=360,
)

relaxed = adversary == "relaxed"
if relaxed and result.fractional is None:
    st.info("Here is no relaxed adversary: with whole-graph fields the certificate reduces to totals.")
    relaxed = False
if relaxed:
    st.warning(
        "**Relaxed adversary.** Fractions of flips and partly lost targets exist only in the linear program. "
        "This is where the bound comes from; it is **not** an attack.",
        icon=":material/blur_on:",
    )
replayed = None if relaxed or result.attack is None else attack_text(view.instance, result.threat, result.attack)
figure = figures.graph_figure(
    view.instance,
    result,
    relaxed=relaxed,
    recipe=exports.recipe(view, "graph", threat=result.threat, relaxed=relaxed, attack=replayed),
    facts=result.facts,
)
rows = attack.table(view.instance, result, relaxed)
codes = np.asarray(figure.state)
chosen_states = [TargetState[choice.upper()] for choice in only]
shown = np.isin(codes, [list(STATES).index(key) for key in chosen_states]) if only else np.ones(len(codes), dtype=bool)
found = attack.search(view.instance.node_names, view.instance.graph.n_nodes, wanted)
picked = st.session_state.get("picked")
selected = picked if picked is not None and picked < len(codes) else -1
sought, st.session_state["_sought"] = st.session_state.get("_sought", ""), wanted
if wanted and not found:
    st.caption(":orange[No node has this name or index.]")
elif wanted and wanted != sought:  # only a new search moves the selection; clicks may move it on
    select(found[0])

node = graphview.draw(
    attack.picture(
        view.instance, result, figure, rows, shown=shown, by_class=colour == "class", selected=selected, relaxed=relaxed
    ),
    key="graph",
)
if node is not None and click == "open":
    go_to_node(node)
if node is not None and click == "select":
    select(node)
if node is not None:
    protected = set(np.asarray(view.threat.protected).tolist()) ^ {node}
    state.move(protect=state.write_nodes(list(protected)))
exports.menu(figure, "graph", is_dark())

left, right = st.columns([2.2, 1], gap="large")
with left:
    st.subheader("Allocation per node", anchor=False)
    broken = rows["state"].isin([attack.state_name(TargetState.LOST), attack.state_name(TargetState.PARTLY)])
    touched = rows[shown & ((rows["hit"] == "hit") | broken)]
    order = [c for c in rows.columns if c.startswith(("spent", "inside"))]
    touched = touched.sort_values([*order, "node"], ascending=[False] * len(order) + [True])
    first = st.session_state.setdefault("_first", selected)
    if selected >= 0 and (first < 0 or (first != selected and selected not in touched["node"].to_numpy())):
        first = selected
    if 0 <= first < len(codes):  # what was chosen in the picture comes first, whether it is touched or not
        touched = pd.concat([rows[rows["node"] == first], touched[touched["node"] != first]])
    st.caption(
        f"{count(len(touched))} nodes that are hit or lose their certificate. Select a row to find the node in the "
        "picture, where a node is larger the more is spent at it. *spent*: flips at the node; *inside*: flips within "
        "its receptive field (empty where the node is not a target). "
        f"{count((rows['state'] == TargetState.BEFORE).sum())} targets were uncertified before the attack; they are "
        "not in this table unless they are hit."
        + (" An edge counts at both of its ends." if view.threat.adj_add or view.threat.adj_del else "")
    )
    marked = np.flatnonzero(touched["node"].to_numpy() == selected).tolist()
    table = f"allocation_{first}_{hash((adversary, tuple(only), *view.key))}"  # another table, another selection
    choice = st.dataframe(
        touched,
        hide_index=True,
        on_select="rerun",
        selection_mode="single-row",
        selection_default={"selection": {"rows": marked}} if marked else None,
        key=table,
        height=330,
        placeholder="",
        alt="One row per touched node: its state, whether it is hit, flips spent at it and flips inside its field.",
    )
    chosen = choice["selection"]["rows"] if choice else []
    row = int(touched.iloc[chosen[0]]["node"]) if chosen and chosen[0] < len(touched) else None
    before, st.session_state["_row"] = st.session_state.get("_row"), (table, row)
    if before is not None and before != (table, row) and before[0] == table and row != picked:
        state.move(picked=row)
    with st.container(horizontal=True):
        st.download_button(
            "Download as CSV",
            lambda: touched.to_csv(index=False).encode(),
            "allocation.csv",
            "text/csv",
            on_click="ignore",
            icon=":material/download:",
            help="The rows of this table, as comma-separated values.",
        )
        opened = selected >= 0 and st.button(
            f"Open {node_name(view.instance, selected)}",
            icon=":material/center_focus_strong:",
            help="The page of the selected node: its field, its front and its votes.",
        )
        if opened:
            go_to_node(selected)
with right:
    suggestions(view, result)
