"""Data for the workbench: one small message with the answer, and separately the data that change less often."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from fractions import Fraction
from typing import Any, Protocol

import numpy as np

from certcore import messages
from certcore.domain.perturbations import LABELS, TYPES, entry_of
from certcore.domain.threat import MAX_BUDGET, ThreatModel
from certcore.figures.style import RAMP, SHARES, axis_label, closeness_scale
from certcore.instance.instance import Instance
from certcore.messages import headline
from certcore.messages.attacker import attacks_nothing, limits_on
from certcore.messages.model import spent_words
from certcore.messages.text import count
from certcore.model_attack.along import Along
from certcore.model_attack.stored import FoundAttack
from certcore.program.relaxation import Relaxation
from certcore.result.certificate import Certificate
from certcore.result.partition import Partition, partition_of
from certcore.result.states import COUNTED, STATE_LABELS, TargetState
from certcore.sweep import Counts
from certcore.sweep.attack_curve import Attacks, best_below
from certcore.sweep.ranges import unit_of
from certcore.workbench import parts as drawing


class View(Protocol):
    """The instance, threat model, targets and relaxation on show."""

    @property
    def instance(self) -> Instance: ...
    @property
    def threat(self) -> ThreatModel: ...
    @property
    def relaxation(self) -> Relaxation: ...
    @property
    def targets(self) -> np.ndarray: ...
    @property
    def counted(self) -> np.ndarray | None: ...
    @property
    def family(self) -> tuple[str]: ...


KEYS = """Space: play · [ ]: budget −1, +1 · { }: second budget
c: charts · /: find a node · e: export · m: More
In the graph: arrows walk the sites, Enter opens a node, a zooms to the attack, + − 0 zoom, Shift+arrow moves, Esc"""


def pieces(text: messages.Text) -> list[dict[str, str]]:
    return [{"text": piece.text, "kind": piece.kind} for piece in text.pieces]


def position(threat: ThreatModel, names: Sequence[str]) -> dict[str, Any]:
    """The budgets and σ of a threat model, by name; None means no limit."""
    found = {name: getattr(threat, name) for name in names}
    return {name: float(value) if isinstance(value, Fraction) else value for name, value in found.items()}


def names_of(view: View) -> list[str]:
    """Parameters with a slider: covered types, other types with a budget, and σ."""
    covered = view.instance.covered_types
    return [t for t, budget in zip(TYPES, view.threat.budgets) if t in covered or budget] + ["sigma"]


def family(view: View, axis: str, on_model: bool = False) -> str:
    """A key of everything that stays fixed while one budget varies."""
    fixed = view.threat.replace(**{axis: None if axis == "sigma" else 0})
    told = (axis, fixed.budgets, fixed.sigma, str(view.relaxation.relaxed), on_model, *view.family)
    return hashlib.sha256(repr(told).encode()).hexdigest()[:16]


def before(view: View) -> int:
    """Targets without a certificate even without an attack."""
    speaks = view.instance.base.fronts().clean[view.targets]
    return int(len(view.targets) - speaks.sum())


def asked(view: View) -> int:
    """Number of all labels asked about; the targets may be the right ones among them."""
    return len(view.targets if view.counted is None else view.counted)


def parts(view: View, result: Certificate, found: int = 0, changed: FoundAttack | None = None) -> Partition:
    """The parts of the bar; `found`: uncertified targets of the best attack known within these budgets.

    An attack on the model leaves targets uncertified as well; how many labels it changes is no part of the bar.
    """
    most = found if changed is None else max(found, changed.allocation.loss)
    return partition_of(result, before(view), asked(view), most)


def vocabulary(view: View) -> dict[str, Any]:
    """Message templates with placeholders for numbers, which the browser fills in at every budget a slider passes."""
    sure = messages.short_sure(view.instance)
    places = ("{n}", "{of}", "{share}")
    named = [entry_of(name) for name in names_of(view) if name in TYPES]
    at_all = view.threat.replace(**{entry.name: MAX_BUDGET for entry in named if not entry.lengths}, sigma=None)
    at_all = at_all.with_types([TYPES.index(entry.name) for entry in named])
    return {
        "stays": pieces(headline.stays(*places) if view.counted is None else headline.right_stays(*places)),
        "stays_sub": pieces(headline.proven_against("{attacker}", sure)),
        "clean_sub": pieces(headline.no_attack()),
        "nothing_sub": pieces(headline.nothing("{attacker}")),
        "changes": pieces(headline.changes("{n}")),
        "changes_within": str(headline.changed_within("{attacker}")),
        "untried": untried_data(),
        "how": [str(headline.how_to_try()), how_to_try(view)],
        "cell": str(headline.cell("{share}", "{budgets}")),
        "alike": str(headline.some_stay("{n}", "{of}")),
        "parts": headline.PARTS,
        "states": [STATE_LABELS[one] for one in TargetState],
        "counted": [COUNTED[one] for one in TargetState],
        "kinds": {name: [LABELS[name].removesuffix("s"), LABELS[name]] for name in names_of(view) if name in TYPES},
        "limits": limits_on(at_all, directed=view.instance.graph.directed),
        "sigma": ["node", "nodes"],
        "keys": KEYS,
    }


def how_to_try(view: View) -> str:
    """The command that looks for an attack on the model within these budgets."""
    spent = [
        f"--{name.replace('_', '-')} {value}"
        for name, value in position(view.threat, TYPES).items()
        if value and name in view.instance.covered_types
    ]
    file = f"{getattr(view, 'name', '') or 'FILE'}.npz"
    return " ".join(["certcore attack", file, *spent, "--nested"])


def tones() -> dict[str, Any]:
    return {
        "margin": {"light": closeness_scale(dark=False), "dark": closeness_scale(dark=True)},
        "share": list(SHARES),
    }


def ramp() -> dict[str, list[str]]:
    return {scheme: [getattr(step, scheme) for step in RAMP] for scheme in ("light", "dark")}


def attack_data(version: str, key: str, at: dict[str, int | None], pictures: list[dict[str, Any]]) -> dict[str, Any]:
    """The attack on show: its budgets, and one picture or two side by side."""
    seen = hashlib.sha256(repr((key, at, [picture["title"] for picture in pictures])).encode()).hexdigest()[:16]
    return {"key": seen, "version": version, "at": at, "pictures": pictures}


def curve_data(
    view: View,
    version: str,
    line: Counts,
    known: Attacks | None,
    now: Certificate | None,
    guarded: Counts | None = None,
    model: Along | None = None,
) -> dict[str, Any]:
    """The bar at every budget: proven collectively, proven naively, and left by the attacks found where one was
    searched.

    `now`, the certificate on show, may be better than the curve at its budget; it also holds at smaller budgets.
    """
    values = np.asarray(line.values)  # counts or lengths
    certified = np.asarray(line.certified, dtype=np.int64).copy()
    naive = np.asarray(line.naive, dtype=np.int64)
    found = None if known is None or not len(known.values) else best_below(values, known.values, known.left)
    last = -1 if known is None or not len(known.values) else float(known.values[-1])
    place = None if now is None else position(now.threat, (line.vary,))[line.vary]
    if now is not None and place is not None:
        certified[values <= place] = np.maximum(certified[values <= place], now.certified)
        if found is not None and now.attack_found is not None:
            found[values >= place] = np.maximum(found[values >= place], now.attack_found)
    left = [
        None if found is None or v > last else int(f)
        for v, f in zip(values, [0] * len(values) if found is None else found)
    ]
    data: dict[str, Any] = {
        "version": version,
        "axis": line.vary,
        "values": values.tolist(),
        "certified": certified.tolist(),
        "naive": np.minimum(naive, certified).tolist(),
        "left": left,
        "asked": asked(view),
        "wrong": asked(view) - len(view.targets),
        "changed": None if model is None else model.changed(values.tolist()),
        "guarded": None if guarded is None else np.asarray(guarded.certified).tolist(),
    }
    return {"key": hashlib.sha256(repr(data).encode()).hexdigest()[:16], **data}


def map_data(view: View, version: str, found: Counts, now: Certificate | None) -> dict[str, Any]:
    """The proven ratio over two budgets; every cell holds a proven bound, solved or not."""
    certified = np.asarray(found.certified, dtype=np.int64).copy()
    if now is not None:  # as in the curve, the certificate on show also holds at all smaller budgets
        x, y = position(now.threat, (found.x, found.y)).values()
        inside = (found.x_values <= (np.inf if x is None else x))[:, None] & (
            found.y_values <= (np.inf if y is None else y)
        )[None, :]
        certified[inside] = np.maximum(certified[inside], now.certified)
    told = headline.growing(f"{int(found.done.sum()):,}", f"{found.done.size:,}")
    data: dict[str, Any] = {
        "version": version,
        "x": found.x,
        "y": found.y,
        "yName": axis_label(found.y),
        "xUnit": float(unit_of(view.instance, found.x)),
        "yUnit": float(unit_of(view.instance, found.y)),
        "xs": found.x_values.tolist(),
        "ys": found.y_values.tolist(),
        "certified": certified.ravel().tolist(),
        "naive": np.minimum(found.naive, certified).ravel().tolist(),
        "asked": asked(view),
        "told": str(told),
        "complete": bool(found.done.all()),
    }
    return {"key": hashlib.sha256(repr(data).encode()).hexdigest()[:16], **data}


def whose(what: str, old: ThreatModel, new: ThreatModel) -> str:
    """The budgets of an outdated view, for example “attack for 10, not 20”."""
    differ = [t for t in TYPES if getattr(old, t) != getattr(new, t)]
    if len(differ) == 1 and old.sigma == new.sigma and str(old.local) == str(new.local):
        here = TYPES.index(differ[0])
        return f"{what} for {old.shown(here)}, not {new.shown(here)}"
    return f"{what} for {messages.short_threat(old)}"


def bar(parts: Partition | None) -> dict[str, int] | None:
    return None if parts is None else asdict(parts)


def answer(
    view: View, result: Certificate, found: int = 0, model: FoundAttack | None = None, looking: bool = False
) -> dict[str, Any]:
    """Headline, details and bar of a certificate at exactly these budgets; `looking`: for attacks on the model."""
    part, proven = parts(view, result, found, model), result.certified
    head = messages.short_head(proven, result.targets, None if view.counted is None else len(view.counted))
    sub = messages.short_sub(view.instance, view.threat, proven, result.targets)
    opened = messages.short_open(result, part)
    settled = opened == headline.settled() and proven < result.targets
    if settled and not attacks_nothing(view.threat, view.instance):
        sub += " · " + str(headline.settled())
    told: dict[str, Any] = {"head": pieces(head), "sub": pieces(sub), "said": f"{head}. {sub}", "open": str(opened)}
    told["parts"] = bar(part)
    notes = [str(one) for one in messages.short_remarks(view.instance, view.threat)]
    told |= {"fresh": True, "partsOf": "", "act": "", "notes": notes}
    return told | {"model": changed_data(view, model, looking)}


def changed_data(view: View, model: FoundAttack | None, looking: bool = False) -> dict[str, Any]:
    """What an attack on the model changes, beside the headline: in one place, whether one was tried or not."""
    if model is not None:
        n, spent = model.count.n_changed, spent_words(model)
        told = {"changed": n, "sub": str(headline.changed_with(spent)), "told": str(messages.short_changed(model))}
        return told | {"head": pieces(headline.changes(count(n)))}
    # Against ballots each certificate's own attack changes labels: it is searched for, never not tried.
    if looking or messages.ballots_of(view.instance) is not None:
        head = pieces(headline.changes("…"))
        return {"changed": None, "head": head, "sub": str(headline.looking()), "told": ""}
    return untried_data()


def untried_data() -> dict[str, Any]:
    head = pieces(headline.not_tried())
    return {"changed": None, "head": head, "sub": str(headline.not_known()), "told": "", "how": True}


def no_answer(view: View, result: Certificate | None, proven: int, model: FoundAttack | None = None) -> dict[str, Any]:
    """While a certificate is computed: the count proven so far, and the last bar, labelled with its budgets."""
    head, sub = headline.waiting(count(asked(view))), headline.solving()
    if proven:
        head = messages.short_head(proven, len(view.targets), None if view.counted is None else len(view.counted))
        sub = headline.proven_already(messages.short_threat(view.threat), messages.short_sure(view.instance))
    told = {"head": pieces(head), "sub": pieces(sub), "said": f"{head}. {sub}", "open": "", "fresh": False, "act": ""}
    told["partsOf"] = "" if result is None else f"at {messages.short_threat(result.threat)}"
    told["parts"] = None if result is None else bar(parts(view, result))
    told["notes"] = [] if result is None else [str(one) for one in messages.short_remarks(view.instance, view.threat)]
    return told | {"model": changed_data(view, model, model is None)}


def small(
    view: View,
    axis: str,
    end: int,
    axes: Mapping[str, str],
    seen: dict[str, Any],
    answer: dict[str, Any],
    on_model: bool = False,
) -> dict[str, Any]:
    """The message that is sent on every run: the answer, and the display settings of the workbench."""
    many = axes[axis].lower() if axis != "sigma" else "attacked nodes"
    return {
        "version": drawing.graph_data(view.instance)["version"],
        "family": family(view, axis, on_model),
        "at": position(view.threat, names_of(view)),
        "axis": axis,
        "axisName": many,
        "axisOne": many.removesuffix("s"),
        "axes": [[name, label] for name, label in axes.items()],
        "end": end,
        "unit": float(unit_of(view.instance, axis)),
        "asked": asked(view),
        "targets": len(view.targets),
        "before": before(view),
        "words": vocabulary(view),
        "tones": tones(),
        "ramp": ramp(),
        **seen,
        **answer,
    }
