"""What the workbench gets to draw: one small message with the answer, and apart from it what changes less often."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from typing import Any

import numpy as np

from certcore import messages
from certcore.domain.perturbations import LABELS, TYPES
from certcore.domain.threat import MAX_BUDGET, ThreatModel
from certcore.figures.style import RAMP, SHARES, axis_label
from certcore.instance.instance import Instance
from certcore.messages import short
from certcore.messages.attacker import limits_on
from certcore.result.certificate import Certificate
from certcore.result.partition import Partition, partition_of
from certcore.result.states import TargetState
from certcore.sweep import Curve, Surface
from certcore.sweep.attack_curve import best_below

from ..background.sweeps import Attacks
from ..state import state
from ..state.state import View
from . import view as canvas

KEYS = """Space: play · [ ]: budget −1, +1 · { }: second budget
c: charts · /: find a node · e: export · m: More
In the graph: arrows walk the sites, Enter opens a node, a zooms to the attack, + − 0 zoom, Shift+arrow moves, Esc"""


def pieces(text: messages.Text) -> list[dict[str, str]]:
    return [{"text": piece.text, "kind": piece.kind} for piece in text.pieces]


def position(threat: ThreatModel, names: Sequence[str]) -> dict[str, int | None]:
    """The budgets and σ of a threat model, by name; None is no limit."""
    found = {name: getattr(threat, name) for name in names}
    return {name: None if value is None else int(value) for name, value in found.items()}


def names_of(view: View) -> list[str]:
    """What has a slider: covered types, others that are set, and σ."""
    covered = state.covered(view.instance)
    return [t for t, budget in zip(TYPES, view.threat.budgets) if t in covered or budget] + ["sigma"]


def family(view: View, axis: str) -> str:
    """What stays the same while one budget runs."""
    fixed = view.threat.replace(**{axis: None if axis == "sigma" else 0})
    told = (axis, fixed.budgets, fixed.sigma, str(view.relaxation.relaxed), *view.family)
    return hashlib.sha256(repr(told).encode()).hexdigest()[:16]


def before(view: View) -> int:
    """Targets without a certificate even without an attack."""
    speaks = view.instance.base.fronts().clean[view.targets]
    return int(len(view.targets) - speaks.sum())


def asked(view: View) -> int:
    """All labels asked about, of which the targets may be the right ones."""
    return len(view.targets if view.counted is None else view.counted)


def parts(view: View, result: Certificate, found: int = 0) -> Partition:
    """The parts of the bar; another attack within these budgets may have `found` more uncertified targets."""
    return partition_of(result, before(view), asked(view), found)


def vocabulary(view: View) -> dict[str, Any]:
    """The engine's words with places for numbers, so that the browser can fill them at every budget a slider passes."""
    sure = messages.short_sure(view.instance)
    places = ("{n}", "{of}", "{share}")
    at_all = view.threat.replace(**{name: MAX_BUDGET for name in names_of(view) if name in TYPES}, sigma=None)
    return {
        "stays": pieces(short.stays(*places) if view.counted is None else short.accuracy(*places)),
        "stays_sub": pieces(short.proven_against("{attacker}", sure)),
        "clean": pieces(short.clean(*places) if view.counted is None else short.clean_right(*places)),
        "clean_sub": pieces(short.no_attack()),
        "nothing": pieces(short.nothing("{attacker}")),
        "nothing_sub": pieces(short.may_stay()),
        "cell": str(short.cell("{share}", "{budgets}")),
        "alike": str(short.some_stay("{n}", "{of}")),
        "alone": "proven together",
        "parts": short.PARTS,
        "states": [short.STATES[one] for one in TargetState],
        "counted": [short.COUNTED[one] for one in TargetState],
        "kinds": {name: [LABELS[name].removesuffix("s"), LABELS[name]] for name in names_of(view) if name in TYPES},
        "limits": limits_on(at_all, directed=view.instance.graph.directed),
        "sigma": ["node", "nodes"],
        "keys": KEYS,
    }


def tones() -> dict[str, Any]:
    return {
        "margin": {"light": canvas.margin_scale(dark=False), "dark": canvas.margin_scale(dark=True)},
        "share": list(SHARES),
    }


def ramp() -> dict[str, list[str]]:
    return {scheme: [getattr(step, scheme) for step in RAMP] for scheme in ("light", "dark")}


def attack_data(version: str, key: str, at: dict[str, int | None], pictures: list[dict[str, Any]]) -> dict[str, Any]:
    """The attack on show: the budgets it keeps to, and one picture, or two beside each other."""
    seen = hashlib.sha256(repr((key, at, [picture["title"] for picture in pictures])).encode()).hexdigest()[:16]
    return {"key": seen, "version": version, "at": at, "pictures": pictures}


def curve_data(
    view: View, version: str, line: Curve, known: Attacks | None, now: Certificate | None, guarded: Curve | None = None
) -> dict[str, Any]:
    """The bar for every budget: what is proven, one by one, and what the attacks found leave where they were searched.

    `now`, the certificate on show, may be better than the line at its place: what it proves holds at smaller budgets.
    """
    values = np.asarray(line.values, dtype=np.int64)
    certified = np.asarray(line.certified, dtype=np.int64).copy()
    naive = np.asarray(line.naive, dtype=np.int64)
    found = None if known is None or not len(known.values) else best_below(values, known.values, known.left)
    last = -1 if known is None or not len(known.values) else int(known.values[-1])
    place = None if now is None else getattr(now.threat, line.vary)
    if now is not None and place is not None:
        certified[values <= place] = np.maximum(certified[values <= place], now.verified_certified)
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
        "guarded": None if guarded is None else np.asarray(guarded.certified).tolist(),
    }
    return {"key": hashlib.sha256(repr(data).encode()).hexdigest()[:16], **data}


def map_data(view: View, version: str, found: Surface, now: Certificate | None) -> dict[str, Any]:
    """The share proven over two budgets; every cell holds a proven bound, solved or not."""
    certified = np.asarray(found.certified, dtype=np.int64).copy()
    if now is not None:  # as in the curve: the certificate on show holds at all smaller budgets
        x, y = (getattr(now.threat, name) for name in (found.x, found.y))
        inside = (found.x_values <= (np.inf if x is None else x))[:, None] & (
            found.y_values <= (np.inf if y is None else y)
        )[None, :]
        certified[inside] = np.maximum(certified[inside], now.verified_certified)
    told = short.growing(f"{int(found.done.sum()):,}", f"{found.done.size:,}")
    data: dict[str, Any] = {
        "version": version,
        "x": found.x,
        "y": found.y,
        "yName": axis_label(found.y) if found.y != "sigma" else "attacker nodes σ",
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
    """Whose a view is that is not of the present budgets: “attack for 10, not 20”."""
    differ = [t for t in TYPES if getattr(old, t) != getattr(new, t)]
    if len(differ) == 1 and old.sigma == new.sigma and str(old.local) == str(new.local):
        return f"{what} for {getattr(old, differ[0]):,}, not {getattr(new, differ[0]):,}"
    return f"{what} for {messages.short_threat(old)}"


def bar(parts: Partition | None) -> dict[str, int] | None:
    return None if parts is None else asdict(parts)


def small(
    view: View,
    instance: Instance,
    axis: str,
    end: int,
    axes: Mapping[str, str],
    seen: dict[str, Any],
    answer: dict[str, Any],
) -> dict[str, Any]:
    """The message that changes with every run: the answer, and how the workbench is to be seen."""
    many = axes[axis].lower() if axis != "sigma" else "controlled nodes"
    return {
        "version": canvas.graph_data(instance)["version"],
        "family": family(view, axis),
        "at": position(view.threat, names_of(view)),
        "axis": axis,
        "axisName": many,
        "axisOne": many.removesuffix("s"),
        "axes": [[name, label] for name, label in axes.items()],
        "end": end,
        "asked": asked(view),
        "targets": len(view.targets),
        "before": before(view),
        "words": vocabulary(view),
        "tones": tones(),
        "ramp": ramp(),
        **seen,
        **answer,
    }
