"""The workbench of one certificate without a server: everything that it shows is precomputed."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from certcore.domain.perturbations import TYPES
from certcore.domain.threat import ThreatModel
from certcore.domain.weights import refuse_weights
from certcore.instance.instance import Instance
from certcore.instance.local_limits import within_base
from certcore.program.relaxation import Relaxation
from certcore.result.certificate import Certificate
from certcore.sweep import Session, curve, surface
from certcore.sweep.attack_curve import Attacks, attacks_along, best_below
from certcore.sweep.axis import Axis
from certcore.sweep.family import Question
from certcore.sweep.ranges import first_end, map_end, map_values, slider_end
from certcore.workbench import message
from certcore.workbench.attack import sent_of
from certcore.workbench.axis import AXES, main_axis, second_axis, values_of
from certcore.workbench.page import Frame, content, page
from certcore.workbench.parts import graph_data
from certcore.workbench.replay import limits_data


@dataclass(frozen=True, eq=False)
class Standing:
    """The instance, threat model and relaxation on show."""

    instance: Instance
    threat: ThreatModel
    relaxation: Relaxation = Relaxation.TIGHT
    counted: np.ndarray | None = None

    @property
    def targets(self) -> np.ndarray:
        chosen = self.threat.targets if self.threat.targets is not None else self.instance.targets
        return np.asarray(chosen)

    @cached_property
    def family(self) -> tuple[str]:
        return (Question(self.instance, self.threat, (*TYPES, "sigma")).key,)


Progress = Callable[[float], None]


def workbench_page(
    instance: Instance, threat: ThreatModel, relaxation: str = "tight", progress: Progress | None = None
) -> bytes:
    """The workbench as one HTML file that works offline."""
    return page(workbench_content(instance, threat, relaxation, progress))


def workbench_content(
    instance: Instance, threat: ThreatModel, relaxation: str = "tight", progress: Progress | None = None
) -> dict[str, Any]:
    """The data for the scripts: graph, answer, attack, curve, map, and attacks along the budget."""
    refuse_weights(threat.weights, "the workbench")
    done = progress or (lambda _: None)
    view = Standing(instance, within_base(threat, instance), Relaxation(relaxation).relaxed)
    session = Session(instance)
    result = session.certify(view.threat, relaxation=view.relaxation)
    axis = main_axis(instance, view.threat)
    here = getattr(view.threat, axis)
    end = max(int(here), first_end(here, slider_end(instance, axis)))
    version = graph_data(instance)["version"]
    at = message.position(view.threat, message.names_of(view))
    shelves = {"attack": message.attack_data(version, "standing", at, [sent_of(instance, result)])}
    done(0.05)
    shelves["limits"] = limits_data(instance, view.threat, version)
    shelves["curve"], found = _curve(view, session, axis, end, result)
    done(0.2)
    shelves |= _map(view, session, axis, end, result)
    done(0.5)
    frames = []
    values = values_of(0, end, int(here))
    for k, value in enumerate(values):
        done(0.5 + 0.5 * k / len(values))
        one = session.certify(Axis.parse(axis).at(view.threat, value), relaxation=view.relaxation)
        frames.append(Frame(value, one, sent_of(instance, one)))
    seen: dict[str, Any] = {"colour": "state", "colours": [["state", "what happens"]], "only": [], "part": ""}
    seen |= {
        "chosen": None,
        "selection": [],
        "worth": None,
        "progress": {},
        "limits": shelves["limits"]["key"],
        "stale": {"graph": "", "curve": "", "map": ""},
    }
    axes = {axis: AXES[axis].capitalize()}
    small = message.small(view, axis, end, axes, seen, message.answer(view, result, found))
    return content(instance, frames, small, shelves)


def _curve(view: Standing, session: Session, axis: str, end: int, now: Certificate) -> tuple[dict[str, Any], int]:
    """The bar at every budget, and the most uncertified targets of any attack found within the present budget."""
    still = view.threat.replace(**{axis: 0})
    values = list(range(end + 1)) if end <= 200 else values_of(0, end)
    line = curve(session, still, axis, values, relaxation=view.relaxation)
    few = sorted({round(end * k / 12) for k in range(13)})
    known = Attacks(np.zeros(0, dtype=np.int64), np.zeros(0, dtype=np.int64))
    for found, left in attacks_along(session, still, axis, few, relaxation=view.relaxation):
        known = Attacks(found, left)
    here = np.array([getattr(view.threat, axis)])
    data = message.curve_data(view, graph_data(view.instance)["version"], line, known, now)
    return data, int(best_below(here, known.values, known.left)[0])


def _map(view: Standing, session: Session, axis: str, end: int, now: Certificate) -> dict[str, dict[str, Any]]:
    """The proven ratio over two budgets, if there are two."""
    other = second_axis(view.instance.covered_types, axis)
    if other is None:
        return {}
    fixed = view.threat.replace(**{axis: 0, other: None if other == "sigma" else 0})
    xs, ys = map_values(end, 12), map_values(map_end(view.instance, other), 12)
    found = surface(session, fixed, axis, xs, other, ys, relaxation=view.relaxation)
    return {"map": message.map_data(view, graph_data(view.instance)["version"], found, now)}
