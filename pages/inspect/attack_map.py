"""Attack map: where the budget is spent, what it breaks, and how close the rest is."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import pandas as pd
import streamlit as st

from certcore import figures, messages
from certcore.common.errors import InputError
from certcore.figures.style import STATES
from certcore.result.assemble import result_facts
from certcore.result.attack_effects import Reach, reach
from certcore.result.attack_text import attack_text
from certcore.result.certificate import Certificate
from certcore.result.states import FORMER, TargetState

from ..background import work
from ..canvas import attack, film, situation
from ..canvas import view as canvas
from ..messages.names import node_name
from ..messages.text import count, markdown
from ..parts import exports, frames, headline
from ..parts.charts import is_dark
from ..parts.protect import suggestions
from ..parts.search import search
from ..parts.selection import selected_nodes
from ..state import controls, menu, state
from ..state.state import View

TITLE = "Attack map"
#: There is a picture to which the keyboard can go at once.
PICTURE = True
#: States in the address; their former names still open what they meant.
CHOICES = [member.name.lower() for member in TargetState]
COLOURS = {"state": "State", "margin": "Margin", "class": "Predicted class", "correct": "Right or wrong"}


def _read_states(text: str) -> list[str]:
    """The states to show, from the address."""
    found = state.words(*CHOICES, *FORMER)(text)
    return [FORMER[word].name.lower() if word in FORMER else word for word in found]


OWN: dict[str, state.Control] = {
    "adversary": ("attack", state.one_of("attack", "relaxed", "both")),
    "colour": ("state", state.one_of(*COLOURS)),
    "only": ([], _read_states),
    "picked": (None, state.whole()),
    "edge": ("", state.short_text),
    "role": ("site", state.one_of("site", "target")),
    "marked": ("", state.node_text),
    "play": ("", state.one_of("", *film.AXES)),
    "play_from": (0, state.whole()),
    "play_to": (None, state.whole()),
    "beside": ("", state.long_text),
    # Older links say what a click does. Today every click chooses; the word is read so that they open as they did.
    "click": ("open", state.one_of("open", "select", "protect")),
}


def draw(view: View) -> None:
    instance, n = view.instance, view.instance.graph.n_nodes
    result = headline.with_attack(view)
    if result is None:
        st.info("The graph appears here when the first certificate is computed.", icon=":material/hourglass_top:")
        return

    # On a narrow screen the picture comes before what one can ask of it.
    whole = st.container(key="map_first")
    bar, notes, place = (
        whole.container(horizontal=True, vertical_alignment="bottom"),
        whole.container(),
        whole.container(),
    )
    adversary = controls.segmented_control(
        bar,
        "Adversary",
        ["attack", "relaxed", "both"],
        format_func={"attack": "Replayed attack", "relaxed": "LP adversary", "both": "Side by side"}.__getitem__,
        key="adversary",
        help="The integer attack was replayed: these targets really lose their certificate. The relaxed adversary of "
        "the linear program spends fractions of flips; it explains the bound, but it is not an attack.",
    )
    known = [
        name
        for name in COLOURS
        if (name != "class" or instance.prediction is not None)
        and (name != "correct" or (instance.labels is not None and instance.prediction is not None))
    ]
    if st.session_state["colour"] not in known:
        state.replace("colour", "state", "this instance does not say that about its nodes")
    colour = controls.segmented_control(
        bar,
        "Colour by",
        known,
        format_func=COLOURS.__getitem__,
        key="colour",
        help="State: what happens to the node. Margin: how many further flips inside its field can leave this target "
        "uncertified. Class: the label that is certified. Where flips are spent and what they break stays on top.",
    )
    wanted = bar.text_input("Find a node", placeholder="name or index", help="Search by name or index.", width=150)
    if adversary != "attack" and result.fractional is None:
        notes.info(
            "Here is no relaxed adversary to show: with whole-graph fields and with votes over groups the bound counts "
            "flips without giving them places."
        )
        adversary = "attack"
    relaxed = adversary == "relaxed"
    found = reach(instance, result, relaxed=relaxed)
    assert found is not None
    pictures = [Picture(result, found, relaxed)]
    why: messages.Text | None = None
    if adversary == "both":
        fractions = reach(instance, result, relaxed=True)
        assert fractions is not None
        why = messages.why_larger(found, fractions)
        pictures = [
            Picture(result, found, False, attack.title(result, relaxed=False)),
            Picture(result, fractions, True, attack.title(result, relaxed=True)),
        ]
    elif adversary == "attack" and st.session_state["beside"]:
        pictures = _two_situations(view, pictures[0])
        if notes.button("Show one situation only", icon=":material/fullscreen:", help="Forgets the one that was kept."):
            state.move(beside="")

    shown = [attack.data(instance, one.result, one.found, relaxed=one.relaxed, title=one.title) for one in pictures]
    chosen: dict[str, Any] | None = None
    if st.session_state["picked"] is not None and st.session_state["picked"] >= n:
        state.replace("picked", None, f"the graph has the nodes 0 to {count(n - 1)}")
    if st.session_state["edge"]:
        chosen = {"edge": st.session_state["edge"]}
    elif st.session_state["picked"] is not None:
        chosen = {"node": st.session_state["picked"]}
        if st.session_state["role"] == "target":
            chosen["as"] = "target"
    matches = search(instance.node_names, n, wanted)
    sought, st.session_state["_sought"] = st.session_state.get("_sought", ""), wanted
    if wanted and not matches:
        notes.caption(":orange[No node has this name or index.]")
    elif wanted and wanted != sought:  # only a new search moves the choice; clicks may move it on
        state.move(picked=matches[0], edge="", role="site")
    try:
        marked = state.parse_nodes(st.session_state["marked"], n).tolist()
    except InputError as error:
        state.replace("marked", "", str(error))
        marked = []

    below = st.container(horizontal=True, vertical_alignment="bottom")
    only = controls.multiselect(
        below,
        "Show only",
        CHOICES,
        format_func=lambda choice: messages.state_legend(TargetState[choice.upper()], relaxed=relaxed),
        key="only",
        placeholder="all states",
        help="Fade all nodes in other states.",
        width=200,
    )
    codes = [list(STATES).index(TargetState[choice.upper()]) for choice in only]
    seen = canvas.settings(colour, codes, chosen, marked, 620)
    player = _film(view, result, seen, below) if adversary == "attack" and len(shown) == 1 else None
    with place:
        if why is not None:
            st.markdown(why.markdown)
        event = canvas.draw(instance, {"attacks": shown, "player": player, **seen}, key="attack_map_canvas")
    if event.opened is not None:
        menu.go("node", node=event.opened)
    if event.chose:
        now = event.chosen or {}
        state.move(picked=now.get("node"), edge=now.get("edge", ""), role=now.get("as", "site"))
    if event.selected is not None:
        state.move(marked=state.write_nodes(event.selected))

    drawn = [_figure(view, one, colour, only) for one in pictures]
    exports.menu(drawn[0], "graph", is_dark(), beside=drawn[1] if len(drawn) > 1 else None)
    selected_nodes(view, result, marked)

    def table(frame: pd.DataFrame, name: str, alt: str) -> None:
        """One of the two tables; a chosen row is chosen in the picture too."""
        key = f"{name}_{hash((adversary, *view.key))}"  # another attack, another selection
        shown = frames.harmless(frame)
        choice = st.dataframe(
            shown, hide_index=True, on_select="rerun", selection_mode="single-row", key=key, height=330, alt=alt
        )
        rows = choice["selection"]["rows"] if choice else []
        now = (key, rows[0] if rows and rows[0] < len(frame) else None)
        before, st.session_state[f"_row_{name}"] = st.session_state.get(f"_row_{name}"), now
        if now[1] is not None and before != now:
            line = frame.iloc[now[1]]
            if line.get("what") == "edge":
                state.move(picked=None, edge=f"{line['node']}-{line['other end']}", role="site")
            state.move(picked=int(line["node"]), edge="", role="site" if name == "sites" else "target")
        st.download_button(
            "Download as CSV",
            lambda: frames.csv(frame),
            f"{name}.csv",
            "text/csv",
            on_click="ignore",
            icon=":material/download:",
            key=f"csv_{name}",
            help="The rows of this table, as comma-separated values.",
        )

    left, right = st.columns(2, gap="large")
    with left:
        st.subheader("Where the flips are spent", anchor=False)
        sites = attack.sites_table(instance, result, found, relaxed=relaxed)
        st.caption(f"{count(len(sites))} places. Select a row to find it in the picture.")
        told = "how many targets it reaches" if relaxed else "how many labels it helps to break"
        table(sites, "sites", f"One row per site: the flips spent there and {told}.")
    with right:
        st.subheader("Which labels the bound counts" if relaxed else "Which labels are lost", anchor=False)
        lost = attack.lost_table(instance, result, found, relaxed=relaxed)
        uncertified = int((result.states(instance.base.fronts()) == TargetState.BEFORE).sum())
        who = "that the relaxed adversary counts, by fractions" if relaxed else "that lose their certificate"
        st.caption(
            f"{count(len(lost))} targets {who}, what each received and needed. A flip counts in every field "
            f"it lies in: one can receive more than it needs. {count(uncertified)} more had none before the attack."
        )
        row = "counted" if relaxed else "lost"
        table(lost, "lost", f"One row per {row} label: what its field received and what its certificate needed.")
    if (
        chosen is not None
        and "node" in chosen
        and st.button(
            f"Open {markdown(node_name(instance, chosen['node']))}",
            icon=":material/center_focus_strong:",
            help="The page of the chosen node: its field, its front and its votes.",
        )
    ):
        menu.go("node", node=chosen["node"])
    suggestions(view, result)


@dataclass(frozen=True, eq=False)
class Picture:
    """One of the pictures on the page: whose allocation it shows, and what stands above it."""

    result: Certificate
    found: Reach
    relaxed: bool
    title: str = ""


def _figure(view: View, picture: Picture, colour: str, only: list[str]) -> figures.GraphFigure:
    """The picture for exports: coloured and faded as on the screen."""
    result, relaxed = picture.result, picture.relaxed
    replayed = None if relaxed or result.attack is None else attack_text(view.instance, result.threat, result.attack)
    seen: dict[str, Any] = {"palette": None if colour == "state" else colour, "only": ",".join(only) or None}
    return figures.graph_figure(
        view.instance,
        result,
        relaxed=relaxed,
        palette=colour,
        only=[TargetState[choice.upper()] for choice in only],
        found=picture.found,
        title=picture.title,
        recipe=exports.recipe(view, "graph", threat=result.threat, relaxed=relaxed, attack=replayed, **seen),
        facts=result_facts(view.instance),
    )


def _two_situations(view: View, now: Picture) -> list[Picture]:
    """The kept situation on the left, the present one on the right; alone while the kept one is being solved."""
    try:
        task = situation.certified(view, situation.read(view, st.session_state["beside"]))
    except InputError as error:
        state.replace("beside", "", str(error))
        return [now]
    work.line(task)
    kept = task.result if task.fresh else None
    before = None if kept is None else reach(view.instance, kept)
    if kept is None or before is None:
        return [now]
    return [
        Picture(kept, before, False, situation.title(view, kept)),
        replace(now, title=situation.title(view, now.result)),
    ]


def _range(view: View, axis: str, bar: Any) -> tuple[int, int]:
    """From where to where a film runs: from 0 to the slider's value, unless something else is asked for."""
    longest, now = film.longest(view, axis), film.present(view, axis)
    usual = now or min(10, longest)
    if (st.session_state["play_to"] or usual) > longest:
        state.replace("play_to", None, f"a film of this ends at {count(longest)} at most")
    if st.session_state["play_from"] >= (st.session_state["play_to"] or usual):
        state.replace("play_from", 0, "a film ends after it begins")
    first = controls.number_input(bar, "from", 0, longest - 1, key="play_from", step=1, width=110)
    last = controls.number_input(
        bar,
        "to",
        1,
        longest,
        key="play_to",
        step=1,
        width=110,
        placeholder=count(usual),
        help="Empty: to the slider's value, or to 10 where the slider is at 0 or at “all”.",
    )
    return int(first or 0), int(last or usual)


def _film(view: View, result: Certificate, seen: dict[str, Any], bar: Any) -> dict[str, Any] | None:
    """Controls below the map: run a budget as time, and keep this situation for comparison."""
    axis = controls.selectbox(
        bar,
        "Budget as time",
        ["", *film.AXES],
        format_func=lambda name: film.AXES.get(name, "off"),
        key="play",
        width=190,
        help="A player below the map: it runs this budget, or the number of controlled nodes, through solved points.",
    )
    first, last = _range(view, axis, bar) if axis else (0, 0)
    if bar.button(
        "Keep beside",
        icon=":material/splitscreen_left:",
        help="Keeps this attacker as a picture on the left. Then move the sliders and see both side by side.",
    ):
        state.move(beside=situation.write(result.threat))
    if not axis:
        return None
    task = film.frames(view, result, axis, first, last)
    work.line(task)
    if not task.fresh:
        return None
    player = film.data(view.instance, task.result, axis, film.present(view, axis))
    for label, make, name, mime in (
        ("Film as GIF", lambda: film.gif(view.instance, task.result, player), "attack.gif", "image/gif"),
        ("Film as HTML", lambda: film.page(view.instance, player, seen), "attack.html", "text/html"),
    ):
        bar.download_button(
            label, make, name, mime, on_click="ignore", icon=":material/movie:", help="Made when you ask for it."
        )
    return player
