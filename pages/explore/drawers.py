"""What the workbench opens at the right: how it was proven, tables of sites and labels, exports."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pandas as pd
import streamlit as st

from certcore import figures
from certcore.common.numbers import write_numbers
from certcore.messages.attacker import ballots_of
from certcore.messages.names import class_name
from certcore.model_attack.along import Along
from certcore.model_attack.stored import FoundAttack
from certcore.notebook import note
from certcore.result.attack_effects import Reach
from certcore.result.certificate import Certificate
from certcore.result.states import TargetState
from certcore.sweep import Counts
from certcore.sweep.attack_curve import best_below
from certcore.workbench import attack as drawing

from ..background import sweeps, work
from ..canvas import attack
from ..messages.text import count
from ..parts import exports, frames, headline
from ..parts.protect import suggestions
from ..parts.selection import selected_nodes
from ..state import state
from ..state.state import View

#: A curve is drawn at every integer if it does not reach further.
MOST_FINE = 200
TITLES = {
    "proven": "How it was proven",
    "all": "Sites and labels",
    "export_graph": "Export the graph",
    "export_curve": "Export the curve",
    "export_map": "Export the map",
}
#: Where the work stands that an exported figure comes from.
FROM = {"export_graph": ("answer", "stage"), "export_curve": ("curve",), "export_map": ("contour",)}


@dataclass(frozen=True, eq=False)
class Picture:
    """One of the pictures on the stage: whose allocation it shows, and what stands above it."""

    result: Certificate
    found: Reach
    relaxed: bool = False
    title: str = ""
    changed: np.ndarray | None = None
    """Of an attack on the model, the nodes whose labels it changes."""

    @property
    def key(self) -> tuple[Any, ...]:
        threat = self.result.threat
        told = (repr(threat.to_json()), threat.targets is not None and threat.targets.tobytes())
        n_changed = 0 if self.changed is None else len(self.changed)
        return (*told, self.relaxed, self.title, self.result.attack_found, id(self.result.attack), n_changed)

    def sent(self, view: View) -> dict[str, Any]:
        """As the browser draws it; the last few are kept, since most runs change something else."""
        kept: dict[Any, dict[str, Any]] = st.session_state.setdefault("_sent", {})
        if self.key not in kept:
            while len(kept) > 3:
                kept.pop(next(iter(kept)))
            made = drawing.data(
                view.instance, self.result, self.found, relaxed=self.relaxed, title=self.title, changed=self.changed
            )
            kept[self.key] = made
        return kept[self.key]


@dataclass
class Charts:
    """Curve, map and frames of the workbench, as far as they are there."""

    axis: str = ""
    end: int = 0
    task: work.Work | None = None
    lines: list[list[Counts]] = field(default_factory=list)
    line_done: bool = False
    search: work.Work | None = None
    surface: Counts | None = None
    frames: work.Work | None = None
    worth: dict[str, Any] | None = None
    model: Along | None = None
    """Attacks on the model as the budget grows; None where none is stored or they are still being read."""
    on_ballots: FoundAttack | None = None
    """Ballots: the attack of the present certificate changes labels in fact."""
    stale: dict[str, str] = field(default_factory=dict)
    shelves: dict[str, str] = field(default_factory=dict)
    """What the answer is shown with: its attack, curve and map, by their keys."""

    def changed(self, view: View) -> FoundAttack | None:
        """The largest attack on the model within the present budgets."""
        here = sweeps.position(view.threat, self.axis)
        return self.on_ballots if self.model is None else self.model.at(here)

    def known(self, view: View) -> int:
        """How many targets the best attack found along the curve, within the present budget, leaves uncertified."""
        found: sweeps.Attacks | None = None if self.search is None else self.search.result
        here = sweeps.position(view.threat, self.axis) if self.axis else None
        if found is None or here is None or not len(found.values):
            return 0
        return int(best_below(np.array([here]), found.values, found.left)[0])


def open(name: str) -> None:
    """Open a drawer; the run that follows draws it."""
    if name in TITLES:
        st.session_state["_drawer"] = name
        st.rerun()


def _closed() -> None:
    st.session_state.pop("_drawer", None)


def draw(
    view: View,
    result: Certificate | None,
    fresh: bool,
    pictures: list[Picture],
    charts: Charts,
    waits: list[tuple[str, work.Work]],
) -> None:
    """The drawer that is open, if any; `waits`: the work under way, by its place on the screen."""
    name = st.session_state.get("_drawer")
    if name not in TITLES:
        return

    @st.dialog(TITLES[name], width="medium", position="right", on_dismiss=_closed)
    def content() -> None:
        shown = _figure(view, name, pictures, charts)
        ready = {"proven": fresh, "all": bool(pictures)}.get(name, shown is not None)
        if ready:
            work.hold()
        if name == "proven":
            headline.panel(view, result, fresh, charts.changed(view))
        elif not ready:
            st.caption("There is nothing here yet; it appears when its first numbers are computed.")
        elif name == "all":
            _tables(view, pictures[0], charts.changed(view))
        elif shown is not None:
            growing = any(where in FROM[name] and task is not charts.frames for where, task in waits)
            exports.choices(shown, name.removeprefix("export_"), growing=growing)

    content()


def _figure(view: View, name: str, pictures: list[Picture], charts: Charts) -> figures.Figure | None:
    """The figure to export."""
    if name == "export_graph" and pictures:
        return graph(view, pictures[0], st.session_state["colour"])
    if name == "export_curve" and charts.lines:
        return curve(view, charts)
    if name == "export_map" and charts.surface is not None:
        return surface(view, charts.surface)
    return None


def curve(view: View, charts: Charts) -> figures.Figure:
    """The curve as it is exported."""
    accuracy = None if view.counted is None else len(view.counted)
    line = charts.lines[0][0]
    beside = figures.controls_for(view.instance, view.threat, charts.axis, accuracy)
    return figures.curve_figure(
        charts.lines,
        vary=charts.axis,
        marker=sweeps.position(view.threat, charts.axis),
        attacks=sweeps.known_attacks(None if charts.search is None else charts.search.result, line),
        changed=None if charts.model is None else charts.model.changed(line.values.tolist()),
        accuracy_of=accuracy,
        controls=beside,
        note=note([view.instance], controls=bool(beside)),
        command=exports.made_by(view, "curve", vary=charts.axis, values=write_numbers(line.values.tolist())),
    )


def surface(view: View, found: Counts) -> figures.Figure:
    """The map as it is exported."""
    x, y = found.x, found.y
    accuracy = None if view.counted is None else len(view.counted)
    across, up = sweeps.position(view.threat, x), sweeps.position(view.threat, y)
    return figures.contour_figure(
        found,
        x=x,
        y=y,
        marker=None if across is None or up is None else (across, up),
        accuracy_of=accuracy,
        command=exports.made_by(
            view,
            "surface",
            x=x,
            x_values=write_numbers(found.x_values.tolist()),
            y=y,
            y_values=write_numbers(found.y_values.tolist()),
        ),
    )


def graph(view: View, picture: Picture, colour: str) -> figures.GraphFigure:
    """The picture for exports, coloured as on the screen; margins are told apart there only."""
    palette = colour if colour in ("class", "correct") else "state"
    on_model = picture.changed is not None and ballots_of(view.instance) is None
    plain = not picture.relaxed and not on_model and palette == "state"
    return figures.graph_figure(
        view.instance,
        picture.result,
        relaxed=picture.relaxed,
        palette=palette,
        found=picture.found,
        changed=picture.changed,
        title=picture.title,
        command=exports.made_by(view, "certify", threat=picture.result.threat) if plain else "",
    )


def _changed(view: View, nodes: np.ndarray, model: FoundAttack | None) -> pd.DataFrame:
    """One row per changed label: whose it is, and what it is before and after the attack."""
    rows = {"node": nodes, "name": [drawing.name_in_sentence(view.instance, int(node)) for node in nodes]}
    labels = {"before": np.asarray(view.instance.prediction)}
    if model is not None and model.level is not None:
        labels["after"] = model.level.votes.argmax(axis=1)
    for when, label in labels.items():
        rows[when] = [class_name(view.instance, int(label[node])) for node in nodes]
    return pd.DataFrame(rows)


def _tables(view: View, picture: Picture, model: FoundAttack | None) -> None:
    """Where the flips are spent, which labels are changed or lost, what was selected, and what to protect."""
    result, found, relaxed = picture.result, picture.found, picture.relaxed
    if picture.changed is not None:
        st.subheader("Which labels change in fact", anchor=False)
        st.caption(f"{count(len(picture.changed))} labels; what follows below is about certificates.")
        _table(_changed(view, picture.changed, model), "changed", "One row per changed label.")
    selected_nodes(view, result, state.parse_nodes(st.session_state["marked"], view.instance.graph.n_nodes).tolist())
    st.subheader("Where the attacker changes something", anchor=False)
    sites = attack.sites_table(view.instance, result, found, relaxed=relaxed)
    st.caption(f"{count(len(sites))} places. Select a row to find it in the picture.")
    told = "how many targets it reaches" if relaxed else "how many certificates it helps take"
    _table(sites, "sites", f"One row per site: what is spent there and {told}.")
    st.subheader("Which labels the bound counts" if relaxed else "Which labels lose their certificate", anchor=False)
    lost = attack.lost_table(view.instance, result, found, relaxed=relaxed)
    uncertified = int((result.states(view.instance.base.fronts()) == TargetState.BEFORE).sum())
    who = "that the relaxed adversary counts, by fractions" if relaxed else "that lose their certificate"
    st.caption(
        f"{count(len(lost))} targets {who}, what each received and needed. What is spent counts in every field it "
        f"lies in: one can receive more than it needs. {count(uncertified)} more had none before the attack."
    )
    row = "counted" if relaxed else "lost"
    _table(lost, "lost", f"One row per {row} label: what its field received and what its certificate needed.")
    suggestions(view, result)


def _table(frame: pd.DataFrame, name: str, alt: str) -> None:
    """One of the two tables; a chosen row is chosen in the picture too."""
    choice = st.dataframe(
        frames.harmless(frame),
        hide_index=True,
        on_select="rerun",
        selection_mode="single-row",
        key=f"table_{name}",
        height=260,
        alt=alt,
    )
    rows = choice["selection"]["rows"] if choice else []
    now = rows[0] if rows and rows[0] < len(frame) else None
    before, st.session_state[f"_row_{name}"] = st.session_state.get(f"_row_{name}"), now
    if now is not None and before != now:
        line = frame.iloc[now]
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
