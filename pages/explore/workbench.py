"""The workbench: number, bar, graph, curve and map of one view on one screen, all moving together."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Any
from urllib.parse import urlencode

import numpy as np
import streamlit as st

from certcore import messages
from certcore.common.errors import InputError
from certcore.domain.perturbations import TYPES
from certcore.figures.style import STATES
from certcore.messages.headline import right_only, searched
from certcore.messages.model import untried
from certcore.model_attack.along import Along
from certcore.model_attack.ballots import changed_by_ballots
from certcore.model_attack.stored import FoundAttack
from certcore.result.attack_effects import reach
from certcore.result.certificate import Certificate
from certcore.result.states import TargetState
from certcore.sweep.ranges import first_end, map_end, next_end, unit_of
from certcore.sweep.session import Preview
from certcore.workbench import message as bench
from certcore.workbench.axis import second_axis
from certcore.workbench.page import chunks
from certcore.workbench.parts import graph_data
from certcore.workbench.replay import limits_data
from certcore.workbench.view import View as Asked

from ..background import engine, sweeps, work
from ..canvas import film
from ..canvas import view as canvas
from ..files import bundles
from ..messages.text import count, markdown
from ..parts import headline
from ..state import menu, state
from ..state.state import View
from . import drawers
from .drawers import Picture

TITLE = "Workbench"
#: There is a picture to which the keyboard can go at once.
PICTURE = True
#: Seconds that a visitor's first run waits for the number before it shows the graph.
FIRST_PATIENCE = 0.25
#: States in the address; their former names still open what they meant.
CHOICES = [member.name.lower() for member in TargetState]
#: The views on whose edges progress is shown.
PLACES = ("answer", "stage", "curve", "contour")
NO_PLACES = (
    "There is no relaxed adversary to show: with whole-graph fields the bound counts flips without giving them places."
)
NO_SEARCH = "The relaxed adversary comes with the certificate's attack, which is being searched for."
COLOURS = {"state": "what happens", "margin": "how far away", "class": "class", "correct": "right or wrong"}

#: Names of the states in links of earlier versions.
FORMER = {
    "other": "not_a_target",
    "robust": "alone",
    "shared": "undecided",
    "attacked": "lost",
    "uncertified": "before",
}


def _read_states(text: str) -> list[str]:
    """The states to show, from the address."""
    return [FORMER.get(word, word) for word in state.words(*CHOICES, *FORMER)(text)]


def _no_longer(text: str) -> str:
    raise ValueError("two situations are not shown side by side any more; open the other one in a second tab")


OWN: dict[str, state.Control] = {
    "adversary": ("attack", state.one_of("attack", "model", "relaxed", "both")),
    "colour": ("state", state.one_of(*COLOURS)),
    "only": ([], _read_states),
    "picked": (None, state.whole()),
    "edge": ("", state.short_text),
    "role": ("site", state.one_of("site", "target")),
    "marked": ("", state.node_text),
    "play": ("", state.one_of("", *film.AXES)),
    "play_from": (0, state.whole()),
    "play_to": (None, state.whole()),
    "beside": ("", _no_longer),
    # Older links say what a click does. Today every click chooses; the word is read so that they open as they did.
    "click": ("open", state.one_of("open", "select", "protect")),
}


@dataclass
class Now:
    """The answer on show: a certificate, whether it is that of the sliders' position, and all work under way."""

    result: Certificate | None
    fresh: bool
    preview: Preview | None = None
    waits: list[tuple[str, work.Work]] = field(default_factory=list)
    """Work under way, by the view whose edge shows its progress."""
    notes: list[str] = field(default_factory=list)
    why: str = ""
    """Of the relaxed adversary, why it counts more labels than the attack takes."""
    looking: bool = False
    """Stored attacks on the model are being read."""
    failed: bool = False
    """There is no answer; perhaps an attack refutes it, and then the browser's own number would be wrong as well."""
    stopped: str = ""
    """What can be done about work that ended without an answer: `again`, or while it goes on `cancel`."""

    def wait(self, where: str, task: work.Work | None) -> None:
        if task is not None and task.running:
            self.waits.append((where, task))

    @property
    def told(self) -> str:
        """What is waited for, as a name that news about it bear."""
        return repr([(where, task.slot, task.job and task.job.created) for where, task in self.waits])

    def tell(self) -> None:
        """How far everything is by now, also while an open drawer keeps the page from running again."""
        shares = work.shares(self.waits, PLACES, seen=True)
        canvas.put("progress", {"key": f"{self.told}{shares}", "waits": self.told, "shares": shares})


def draw(view: View) -> None:
    """The whole screen."""
    canvas.load()
    canvas.put("graph", graph_data(view.instance))
    # A browser that has just arrived still loads scripts from this server: sliders, graph and number come before the
    # charts, and the graph does not wait for a number that takes its time.
    first = work.first_look()
    now = _answer(view, FIRST_PATIENCE if first else work.PATIENCE)
    with st.container(key="guarantee"):
        headline.in_full(view, now.result, now.fresh)
    axis, end = _axis(view)
    chosen, marked = _chosen(view)
    version = graph_data(view.instance)["version"]
    limits = canvas.put("limits", limits_data(view.instance, view.threat, version))
    model = _on_the_model(view, now, axis)
    known = changed_by_ballots(view.instance, now.result) if now.fresh and now.result is not None else None
    charts = drawers.Charts(axis=axis, end=end, model=model, on_ballots=known)
    pictures, stale = _pictures(view, now, charts.changed(view))
    if not first:
        charts = _charts(view, now, charts, version)
    if pictures:
        at = bench.position(pictures[0].result.threat, bench.names_of(view))
        sent = [one.sent(view) for one in pictures]
        told = bench.attack_data(version, repr([one.key for one in pictures]), at, sent)
        charts.shelves["attack"] = canvas.put("attack", told)
    stale |= charts.stale
    seen = {
        "colour": st.session_state["colour"],
        "colours": [[name, COLOURS[name]] for name in _colours(view)],
        "only": [list(STATES).index(TargetState[choice.upper()]) for choice in st.session_state["only"]],
        "part": _part(st.session_state["only"]),
        "chosen": chosen,
        "selection": marked,
        "worth": charts.worth,
        "adversary": st.session_state["adversary"] if model is not None else "",
        "limits": limits,
        "question": urlencode(state.parameters()),
        "guards": np.asarray(view.threat.protected).tolist(),
        "switch": _switch(now, pictures, model, charts.on_ballots),
        "shelves": charts.shelves,
        "stale": {"graph": "", "curve": "", "map": ""} | stale,
        "progress": work.shares(now.waits, PLACES),
        "waits": now.told,
    }
    axes = {name: film.AXES[name].capitalize() for name in [*state.covered(view.instance), "sigma"]}
    axes = {axis: film.AXES[axis].capitalize()} | axes
    on_model = st.session_state["adversary"] == "model"
    seen |= {"longest": film.longest(view, axis), "api": None if now.failed else _api(view)}
    small = bench.small(view, axis, end, axes, seen, _told(view, now, charts), on_model)
    events = canvas.draw(view.instance, small)
    for event in events:
        _act(view, event)
    drawers.draw(view, now.result, now.fresh, pictures, charts, now.waits)
    work.watch_all(now.waits, now.tell)


def _api(view: View) -> dict[str, Any]:
    """Where the browser asks for numbers itself: parameters besides the budgets, and the digest of what they ask."""
    moved = {*TYPES, "sigma", "instance", "strengthen", "time_limit"}
    query = {name: text for name, text in state.parameters().items() if name not in moved}
    below = str(st.get_option("server.baseUrlPath") or "").strip("/")
    asked = Asked(view.name, view.instance, view.threat, view.relaxation, view.counted)
    return {
        "base": f"/{below}/api/" if below else "/api/",
        "name": bundles.public_name(view.name),
        "query": query,
        "family": asked.family[0],
    }


def _answer(view: View, patience: float) -> Now:
    """The certificate, or what is proven so far; then the search for more, and the best attack."""
    task = engine.certificate(view, patience)
    now = Now(task.result, task.fresh)
    now.wait("answer", task)
    if task.error:
        return _failed(task.error)
    if task.cancelled:
        now.notes, now.stopped = ["Stopped."], "again"
    elif task.running:
        now.stopped = "cancel"
    if not task.fresh:
        now.preview = engine.known(view)
    if now.result is None or not task.fresh:
        return now
    _search_for_more(view, now)
    if now.result.attack is None:
        search = engine.attacked(view, now.result)
        now.wait("stage", search)
        if search.error:  # also where the attack refutes the number: then there is none
            return _failed(search.error)
        if search.fresh:
            now.result = replace(now.result, attack=search.result.attack, fractional=search.result.fractional)
    return now


def _failed(error: str) -> Now:
    """No answer: what went wrong stands in its place."""
    st.error(markdown(error, work.LONGEST_MESSAGE), icon=":material/error:")
    return Now(None, False, failed=True, stopped="again")


def _search_for_more(view: View, now: Now) -> None:
    """The strong search, which improves the number in place."""
    assert now.result is not None
    if not view.strengthen or now.result.size is None:
        return
    better, tight = engine.strengthened(view, now.result), now.result
    now.wait("answer", better)
    if better.error:
        now.notes.append(better.error)
    if better.result is None:
        return
    now.result = better.result if better.result.attack is not None else replace(better.result, attack=None)
    parts = bench.parts(view, now.result)
    if better.fresh:
        more = now.result.certified - tight.certified
        now.notes.append(str(searched(count(more), count(parts.open))))


def _told(view: View, now: Now, charts: drawers.Charts) -> dict[str, Any]:
    """The answer in the fewest words, and the parts of its bar; attacks along the curve may have found more losses."""
    found, model = charts.known(view), charts.changed(view)
    if now.fresh and now.result is not None:
        told = bench.answer(view, now.result, found, model, looking=now.looking)
    else:
        told = bench.no_answer(view, now.result, 0 if now.preview is None else now.preview.certified, model)
    # Files that name models to compare with begin so, without anybody having asked.
    right = [str(right_only())] if view.counted is not None else []
    return told | {"notes": [*now.notes, *told["notes"], *right], "act": now.stopped}


def _axis(view: View) -> tuple[str, Any]:
    """Which budget runs along the charts, and how far: three to five times the slider, and it stays while it fits."""
    axis = st.session_state["play"] or sweeps.main_axis(view)
    here, longest = film.present(view, axis) or 0, film.longest(view, axis)
    if unit_of(view.instance, axis) != 1:
        return axis, longest
    kept = st.session_state.setdefault("_ends", {})
    if (st.session_state["play_to"] or 0) > longest:
        state.replace("play_to", None, f"a film of this ends at {count(longest)} at most")
    if st.session_state["play_from"] >= (st.session_state["play_to"] or longest):
        state.replace("play_from", 0, "a film ends after it begins")
    end = st.session_state["play_to"] or kept.get((view.instance.full_digest, axis), 0)
    if end and not here <= end:
        end = next_end(here, longest)  # as the axis has grown while the slider was held
    elif not end or (not st.session_state["play_to"] and end > 12 * max(here, 1) and end > 50):
        end = first_end(here, longest)
    end = max(1, here, min(end, longest, 20 if axis == "sigma" and here <= 20 else longest))
    kept[view.instance.full_digest, axis] = end
    return axis, end


def _chosen(view: View) -> tuple[dict[str, Any] | None, list[int]]:
    """The node or edge that is chosen, and the nodes selected by hand."""
    n = view.instance.graph.n_nodes
    if st.session_state["colour"] not in _colours(view):
        state.replace("colour", "state", "this instance does not say that about its nodes")
    if st.session_state["picked"] is not None and st.session_state["picked"] >= n:
        state.replace("picked", None, f"the graph has the nodes 0 to {count(n - 1)}")
    try:
        marked = state.parse_nodes(st.session_state["marked"], n).tolist()
    except InputError as error:
        state.replace("marked", "", str(error))
        marked = []
    if st.session_state["edge"]:
        return {"edge": st.session_state["edge"]}, marked
    if st.session_state["picked"] is None:
        return None, marked
    role = {"as": "target"} if st.session_state["role"] == "target" else {}
    return {"node": st.session_state["picked"]} | role, marked


def _colours(view: View) -> list[str]:
    labels = view.instance.prediction is not None
    return [
        name
        for name in COLOURS
        if (name != "class" or labels) and (name != "correct" or (labels and view.instance.labels is not None))
    ]


def _part(only: list[str]) -> str:
    """The part of the bar whose nodes alone are lit."""
    parts = {"alone": "naive", "undecided": "collective", "lost": "lost", "before": "none", "not_a_target": "wrong"}
    return parts.get(only[0], "") if len(only) == 1 else ""


def _on_the_model(view: View, now: Now, axis: str) -> Along | None:
    """Stored attacks on the model along the budget; None where there is none, or while they are being read."""
    attacks = bundles.attacks(view.name, view.instance)
    if not attacks:
        return None
    task = engine.model_attacks(view, axis, attacks)
    now.wait("stage", task)
    now.looking = task.running and not task.fresh
    if task.error:  # it refutes a certificate: then there is no number
        failed = _failed(task.error)
        now.result, now.fresh, now.failed, now.stopped = failed.result, failed.fresh, True, failed.stopped
    return task.result if task.fresh else None


def _model_picture(view: View, result: Certificate, model: FoundAttack) -> Picture:
    """An attack on the model as the map draws it: replayed on the certificates, with the labels it changes."""
    shown = replace(result, attack=model.allocation)
    found = reach(view.instance, shown)
    assert found is not None
    return Picture(shown, found, changed=model.changed_nodes)


def _pictures(view: View, now: Now, model: FoundAttack | None) -> tuple[list[Picture], dict[str, str]]:
    """The attack on show, or the last one, which is then said to be of other budgets."""
    if st.session_state["adversary"] == "both":
        state.replace("adversary", "relaxed", "the two pictures are one; the switch above it goes between them")
    adversary = st.session_state["adversary"]
    if adversary == "model":
        if model is not None and now.fresh and now.result is not None:
            return [_model_picture(view, now.result, model)], {}
        now.notes.append(str(untried()))
        adversary = "attack"
    kept: dict[str, Certificate] = st.session_state.setdefault("_attacked", {})
    if now.fresh and now.result is not None and now.result.attack is not None:
        st.session_state["_attacked"] = kept = {view.instance.full_digest: now.result}
    result = kept.get(view.instance.full_digest)
    if result is None:
        return [], {}
    if adversary != "attack" and result.fractional is None:
        now.notes.append(NO_PLACES)
        adversary = "attack"
    found = reach(view.instance, result, relaxed=adversary == "relaxed")
    assert found is not None
    # Against ballots the attack on certificates changes labels itself.
    changed = model.changed_nodes if now.fresh and model is not None and model.attack is None else None
    shown = [Picture(result, found, adversary == "relaxed", changed=changed if adversary == "attack" else None)]
    if adversary == "relaxed":
        replayed = reach(view.instance, result)
        assert replayed is not None
        now.why = str(messages.why_larger(replayed, found))
    same = repr(result.threat.to_json()) == repr(view.threat.to_json()) and len(result.target_nodes) == len(
        view.targets
    )
    return shown, {} if same else {"graph": bench.whose("attack", result.threat, view.threat)}


def _switch(now: Now, shown: list[Picture], model: Along | None, ballots: FoundAttack | None) -> dict[str, Any]:
    """Which adversary is on show, and why the others cannot be."""
    off = {}
    if ballots is not None:
        off["model"] = "Against ballots the certificate attack changes the labels itself."
    elif model is None:
        off["model"] = str(untried())
    if now.result is None or now.result.fractional is None:
        off["relaxed"] = NO_PLACES if now.result is not None and now.result.attack is not None else NO_SEARCH
    on = "relaxed" if shown and shown[0].relaxed else "attack"
    on_model = st.session_state["adversary"] == "model" and "model" not in off and now.fresh
    return {"on": "model" if on_model else on, "off": off, "why": now.why}


def _charts(view: View, now: Now, made: drawers.Charts, version: str) -> drawers.Charts:
    """Curve, map and frames: what is there of them is sent, and what is of other budgets says so."""
    axis, end = made.axis, made.end
    if view.relaxation.is_timed and not now.fresh:
        return made  # an integer program has all workers to itself
    result = now.result if now.fresh else None
    _line(view, now, made, version, result)
    other = second_axis(state.covered(view.instance), axis)
    if other is not None:
        ends = (end, min(map_end(view.instance, other), 20 if other == "sigma" else 10**6))
        task = sweeps.map_over(view, axis, other, ends, view.relaxation.relaxed, "bench_map")
        now.wait("contour", task)
        made.surface = task.result
        _keep(made, "map", view, made.surface, lambda: bench.map_data(view, version, made.surface, result), task.error)
    lengths = unit_of(view.instance, axis) != 1  # a film shows every whole number
    many = view.instance.graph.n_nodes > sweeps.MANY_NODES and not st.session_state["play"]
    if result is not None and st.session_state["adversary"] == "attack" and not (many or lengths):
        first = min(st.session_state["play_from"], end - 1)
        made.frames = film.frames(view, axis, first, end)
        now.wait("stage", made.frames)
        for k, chunk in enumerate(chunks(made.frames.result or [], bench.family(view, axis), version)):
            canvas.put(f"frames{k}", chunk)
    return made


def _line(view: View, now: Now, made: drawers.Charts, version: str, result: Certificate | None) -> None:
    """The curve, the attacks along it, and what protecting the chosen node would be worth."""
    axis, end = made.axis, made.end
    still = view.threat.replace(**{axis: None if axis == "sigma" else 0})
    member = sweeps.Member("", still, (view.instance,))
    unit = unit_of(view.instance, axis)
    values: list[Any] = sorted({round(end * k / 12) for k in range(13)})
    if unit != 1:
        values = sorted({float(round(end * k / 12 / float(unit)) * unit) for k in range(13)})
    fine = unit == 1 and end <= drawers.MOST_FINE and view.instance.graph.n_nodes <= sweeps.MANY_NODES
    made.task = sweeps.curves([member], axis, values, view.relaxation, "mini", fine=fine)
    now.wait("curve", made.task)
    lines = made.task.result or []
    made.lines, made.line_done = lines, bool(lines) and made.task.fresh
    if lines:
        made.search = sweeps.attacks(member, axis, values, view.relaxation, "mini_attacks")
        now.wait("curve", made.search)
    guarded = _worth(view, now, made, result, values)
    known = None if made.search is None else made.search.result
    line: Any = lines[0][0] if lines else None
    _keep(
        made,
        "curve",
        view,
        line,
        lambda: bench.curve_data(view, version, line, known, result, guarded, made.model),
        made.task.error,
    )


def _worth(view: View, now: Now, made: drawers.Charts, result: Certificate | None, values: list[int]) -> Any:
    """What protecting the chosen site would be worth: the number, and the dashed line."""
    node = st.session_state["picked"]
    if result is None or node is None or st.session_state["role"] != "site" or result.attack is None:
        return None
    spent = result.attack.attributes.sum(axis=0)
    if not spent[node] or node in view.threat.protected:
        return None
    task = engine.protecting(view, node)
    now.wait("curve", task)
    if not task.fresh:
        return None
    kept, more = task.result.certified, task.result.certified - result.certified
    made.worth = {"node": node, "text": f"at least {count(kept)} stay, {count(max(0, more))} more"}
    still = view.threat.replace(
        **{made.axis: None if made.axis == "sigma" else 0}, protected=[*view.threat.protected, node]
    )
    line = sweeps.curves(
        [sweeps.Member("", still, (view.instance,))], made.axis, values, view.relaxation, "guarded",
        fine=made.line_done and len(made.lines[0][0].values) > len(values),
    )  # fmt: skip
    now.wait("curve", line)
    lines = line.result or []
    same = bool(lines and made.lines) and len(lines[0][0].values) == len(made.lines[0][0].values)
    return lines[0][0] if same else None


def _keep(made: drawers.Charts, name: str, view: View, found: Any, data: Any, failed: str | None) -> None:
    """Send a chart, or the last one of this graph again, which is then said to be of other budgets.

    One that has failed, perhaps because an attack refutes it, leaves nothing on show.
    """
    kept = st.session_state.setdefault("_kept", {})
    if found is not None:
        kept[name] = (view.instance.full_digest, made.axis, view.threat, data())
    elif failed or name not in kept or kept[name][:2] != (view.instance.full_digest, made.axis):
        kept.pop(name, None)
        return
    else:
        made.stale[name] = bench.whose("curve" if name == "curve" else "map", kept[name][2], view.threat)
    made.shelves[name] = canvas.put(name, kept[name][3])


def _act(view: View, event: canvas.Event) -> None:
    """Do what was asked for in the workbench."""
    value = event.value
    match event.name:
        case "move":
            moves = {k: v for k, v in value.items() if k in bench.names_of(view) and (v is not None or k == "sigma")}
            state.move(**moves)
        case "open":
            menu.go("node", node=value)
        case "chosen":
            now = value or {}
            state.move(picked=now.get("node"), edge=now.get("edge", ""), role=now.get("as", "site"))
        case "selected":
            state.move(marked=state.write_nodes(value))
        case "count":
            state.move(targets="chosen", nodes=state.write_nodes(value))
        case "shield":
            state.move(protect=state.write_nodes([*view.threat.protected, *value]))
        case "guard":
            state.move(protect=state.write_nodes(value))
        case "protect":
            rest = set(np.asarray(view.threat.protected).tolist()) ^ {value}
            state.move(protect=state.write_nodes(sorted(rest)))
        case "only":
            state.move(only=[CHOICES[code] for code in value])
        case "adversary" if value in ("attack", "model", "relaxed"):
            state.move(adversary=value)
        case "colour" if value in COLOURS:
            state.move(colour=value)
        case "axis" | "play" if value in film.AXES and st.session_state["play"] != value:
            if event.name == "axis" or view.instance.graph.n_nodes > sweeps.MANY_NODES:
                state.move(play=value, play_from=0, play_to=None)
        case "page" if value == "curves":
            menu.go("curves", vary=_axis(view)[0])
        case "page" if value == "contours":
            menu.go("contours", x=_axis(view)[0])
        case "drawer":
            drawers.open(value)
        case "act":
            (work.again if value == "again" else work.cancel)("certificate")
            st.rerun()
