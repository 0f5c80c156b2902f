"""Every question as a stream of lines, each proven by itself; the same for HTTP and for pages in this process.

    for line in questions.curve(view, session).lines():
        draw(line.data)

A line says what kind it is, the digest `of` its question, the budgets it is `at`, and after how many `ms` it was there.
`hold` compares it with all attacks known by now; it is called whenever a line is sent, also a second time.
"""

from __future__ import annotations

import itertools
import threading
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any

import numpy as np

from certcore.base.ballots import BallotsBase
from certcore.common.errors import InputError
from certcore.common.numbers import write_nodes
from certcore.domain.perturbations import LABELS, TYPES
from certcore.domain.threat import ThreatModel
from certcore.messages.model import untried
from certcore.messages.names import class_name, node_name
from certcore.model_attack.along import Along
from certcore.model_attack.along import attacks_along as model_attacks_along
from certcore.model_attack.ballots import changed_by_ballots
from certcore.model_attack.stored import FoundAttack, largest
from certcore.program.relaxation import Relaxation
from certcore.result.attack_effects import reach
from certcore.result.certificate import Certificate
from certcore.result.tripwire import check, check_count, most_attacked
from certcore.sweep import Counts, Session, Sweep, defend
from certcore.sweep.attack_curve import Attacks, attacks_along
from certcore.sweep.axis import Axis
from certcore.sweep.ranges import map_axes, map_end, slider_end, unit_of
from certcore.workbench import message
from certcore.workbench.attack import data as drawn
from certcore.workbench.attack import sent_of
from certcore.workbench.axis import (
    FEW_VALUES,
    axis_end,
    axis_values,
    free_of,
    main_axis,
    present,
    second_axis,
    values_of,
)
from certcore.workbench.parts import graph_data
from certcore.workbench.view import View

#: Seconds of a strong search between two lines.
STEP = 0.5
NO_PLACES = (
    "There is no relaxed adversary to show: with whole-graph fields the bound counts flips without giving them places."
)


def _nothing() -> None:
    """A line without a count."""


@dataclass(frozen=True, eq=False)
class Line:
    """One proven statement."""

    data: dict[str, Any]
    hold: Callable[[], None] = _nothing
    result: Certificate | Counts | None = None
    """What it was made from."""


@dataclass(frozen=True, eq=False)
class Stage:
    """Part of the work on a question: its lane, and a generator whose every step, a line or None, is a pause."""

    lane: str
    run: Callable[[threading.Event], Iterator[Line | None]]


@dataclass(frozen=True, eq=False)
class Asked:
    """A question that can be worked on, stage by stage."""

    of: str
    """Equal digests, equal lines."""
    like: tuple[Any, ...]
    """Questions with the same take about as long."""
    stages: tuple[Stage, ...]
    first: tuple[Line, ...] = ()
    """What is known before any work."""

    def lines(self, cancel: threading.Event | None = None) -> Iterator[Line]:
        """All lines, computed here. Leaving the loop ends the work."""
        stop = cancel or threading.Event()
        try:
            for line in itertools.chain(self.first, *(stage.run(stop) for stage in self.stages)):
                if line is not None:
                    line.hold()
                    yield line
        finally:
            if cancel is None:
                stop.set()


@dataclass(frozen=True, eq=False)
class _Told:
    """What all lines of one question begin with."""

    view: View
    of: str
    names: list[str] = field(default_factory=list)
    began: float = field(default_factory=time.perf_counter)

    def line(self, kind: str, threat: ThreatModel | None = None, **data: Any) -> dict[str, Any]:
        names = self.names or message.names_of(self.view)
        at = message.position(threat or self.view.threat, names)
        return {"kind": kind, "of": self.of, "at": at, "ms": round(1e3 * (time.perf_counter() - self.began), 1), **data}

    def end(self, cancel: threading.Event) -> Iterator[Line | None]:
        yield Line(self.line("end"))


def _asked(view: View, what: str, told: _Told, *stages: Stage, first: tuple[Line, ...] = ()) -> Asked:
    in_play = tuple(budget > 0 for budget in view.threat.budgets)
    like = (what, view.instance.digest, in_play, view.threat.sigma is not None, str(view.relaxation))
    return Asked(told.of, like, (*stages, Stage(stages[-1].lane, told.end)), first)


# The number


def certificate(view: View, session: Session) -> Asked:
    """preview → solved → attack → lp → model → improved … → end."""
    wanted = {name: bool(view.options.get(name)) for name in ("attack", "picture", "lp", "model")}
    told = _Told(view, view.of)
    work = _Certificate(view, session, told, wanted["picture"])
    stages = [Stage("number", work.tell_solved)]
    if wanted["attack"]:
        stages.append(Stage("attack", work.tell_attack))
    if wanted["lp"]:
        stages.append(Stage("attack", work.tell_relaxed))
    if wanted["model"]:
        stages.append(Stage("attack", work.tell_model))
    if view.strengthen:
        stages.append(Stage("chart", work.tell_improved))
    made = _asked(view, "certificate", told, *stages, first=(work.tell_known(),))
    # Equal numbers with other pictures are other lines; what they are of is the same.
    return Asked(f"{made.of}{sorted(name for name in wanted if wanted[name])}", made.like, made.stages, made.first)


class _Certificate:
    """The lines of one certificate."""

    def __init__(self, view: View, session: Session, told: _Told, picture: bool) -> None:
        self.view, self.session, self.told, self.picture = view, session, told, picture
        self._attacked: Certificate | None = None

    def tell_known(self) -> Line:
        view = self.view
        known = self.session.preview(view.threat, relaxation=view.relaxation)
        said = message.no_answer(view, None, known.certified)
        data = self._counts(known.certified, known.targets, known.naive_certified)
        data |= {"final": known.final, "head": said["head"], "sub": said["sub"], "parts": None}
        hold = partial(check_count, view.instance, view.threat, known.targets, known.certified)
        return Line(self.told.line("preview", **data), hold)

    def _counts(self, certified: int, targets: int, naive: int) -> dict[str, Any]:
        view = self.view
        return {
            "family": view.family[0],
            "certified": certified,
            "targets": targets,
            "asked": message.asked(view),
            "naive": min(naive, certified),
            "before": message.before(view),
            "wrong": message.asked(view) - targets,
        }

    def _line(self, kind: str, found: Certificate, model: FoundAttack | None = None, **more: Any) -> Line:
        """A line about a certificate: its counts, and all that is said of it."""
        view = self.view
        known = most_attacked(view.instance, view.threat)
        said = message.answer(view, found, known, model)
        words = {name: said[name] for name in ("head", "sub", "said", "open", "parts", "notes")}
        data = self._counts(found.certified, found.targets, found.naive_certified)
        data |= {"found": found.attack_found, "known": known, "status": str(found.status), **words, **more}
        return Line(self.told.line(kind, **data), partial(check, found), found)

    def tell_solved(self, cancel: threading.Event) -> Iterator[Line | None]:
        view = self.view
        found = self.session.certify(view.threat, relaxation=view.relaxation, attack=False, cancel=cancel)
        if not cancel.is_set():
            yield self._line("solved", found, final=not view.strengthen and found.status.is_final)

    def _with_attack(self, cancel: threading.Event) -> Certificate | None:
        if self._attacked is None:
            found = self.session.certify(self.view.threat, relaxation=self.view.relaxation, cancel=cancel)
            self._attacked = None if cancel.is_set() else found
        return self._attacked

    def tell_attack(self, cancel: threading.Event) -> Iterator[Line | None]:
        found = self._with_attack(cancel)
        if found is None:
            return
        drawable = self.picture and found.attack is not None
        picture = sent_of(self.view.instance, found) if drawable else None
        yield self._line("attack", found, final=found.status.is_final, picture=picture)

    def tell_relaxed(self, cancel: threading.Event) -> Iterator[Line | None]:
        """The adversary of the linear program, in unrounded fractions: it explains the bound and is no attack."""
        found = self._with_attack(cancel)
        if found is None:
            return
        shown = None if found.fractional is None else reach(self.view.instance, found, relaxed=True)
        picture = None if shown is None else drawn(self.view.instance, found, shown, relaxed=True)
        why = NO_PLACES if picture is None else ""
        counts = self._counts(found.certified, found.targets, found.naive_certified)
        data = self.told.line("lp", **counts, most=found.targets - found.certified, picture=picture, why=why)
        yield Line(data, partial(check, found), found)

    def tell_model(self, cancel: threading.Event) -> Iterator[Line | None]:
        """The attack on the model: for ballots the one on their certificates, otherwise the largest that is stored."""
        view = self.view
        ballots = isinstance(view.instance.base, BallotsBase)
        if not ballots and not view.attacks:
            yield Line(self.told.line("model", tried=False, words=message.untried_data(), how=str(untried())))
            return
        found = self._with_attack(cancel)
        if found is None:
            return
        if ballots:
            model = changed_by_ballots(view.instance, found)
        else:
            model = largest(view.attacks, view.instance, view.threat)
        if model is None:
            yield Line(self.told.line("model", tried=True, changed=0, picture=None, words=message.untried_data()))
            return
        picture = self._model_picture(found, model) if self.picture else None
        line = self._line("model", found, model)
        words = message.changed_data(view, model)
        more = {"tried": True, "changed": model.count.n_changed, "words": words, "picture": picture}
        yield Line(line.data | more, line.hold, found)

    def _model_picture(self, found: Certificate, model: FoundAttack) -> dict[str, Any] | None:
        shown = replace(found, attack=model.allocation)
        there = reach(self.view.instance, shown)
        return None if there is None else drawn(self.view.instance, shown, there, changed=model.changed_nodes)

    def tell_improved(self, cancel: threading.Event) -> Iterator[Line | None]:
        """The strong search, which continues where the step before has stopped."""
        best, seconds, most = -1, 0.0, self.view.time_limit
        while seconds < most and not cancel.is_set():
            seconds = min(seconds + STEP, most)
            found = self.session.certify(
                self.view.threat, relaxation=Relaxation.STRONG, time_limit=seconds, cancel=cancel
            )
            if cancel.is_set():
                return
            done = found.status.is_final or seconds >= most
            if found.certified > best or done:
                best = found.certified
                yield self._line("improved", found, final=done, rounds=found.rounds, share=seconds / most)
            if done:
                return
            yield None


# Charts


def _picked(view: View, name: str, usual: str) -> str:
    return Axis.parse(view.options.get(name) or usual).name


def curve(view: View, session: Session) -> Asked:
    """rows (all values, growing) … → end. Whole snapshots in the form of `message.curve_data`."""
    axis = _picked(view, "vary", main_axis(view.instance, view.threat))
    values = axis_values(view.instance, axis, axis_end(view.instance, view.threat, axis, view.options.get("to")))
    searched = bool(view.options.get("attacks"))
    of = view.digest((axis,), "curve", values, searched)
    work = _Curve(view, session, _Told(view, of), axis, values)
    stages = [Stage("chart", work.tell_swept)]
    if view.attacks:
        stages.append(Stage("chart", work.tell_model))
    if searched:
        stages.append(Stage("chart", work.tell_attack))
    return _asked(view, "curve", work.told, *stages)


class _Curve:
    """The lines of one curve."""

    def __init__(self, view: View, session: Session, told: _Told, axis: str, values: list[Any]) -> None:
        self.view, self.session, self.told = view, session, told
        self.axis, self.values, self.fixed = axis, values, free_of(view.threat, axis)
        self.relaxation = view.relaxation.relaxed
        self.version = graph_data(view.instance)["version"]
        self.line: Counts | None = None
        self.known: Attacks | None = None
        self.model: Along | None = None

    def _rows(self) -> Iterator[Line]:
        if self.line is None:
            return
        data = message.curve_data(self.view, self.version, self.line, self.known, None, None, self.model)
        data |= {"share": self.line.share_done, "complete": bool(self.line.done.all())}
        yield Line(self.told.line("rows", self.fixed, **data), partial(check, self.line), self.line)

    def tell_swept(self, cancel: threading.Event) -> Iterator[Line | None]:
        sweep = Sweep(self.session, self.fixed, [(self.axis, self.values)], relaxation=self.relaxation)
        for self.line in sweep.run(cancel):
            if cancel.is_set():
                return
            yield from self._rows()

    def tell_model(self, cancel: threading.Event) -> Iterator[Line | None]:
        """How many labels stored attacks on the model change along the axis."""
        if self.axis in (*TYPES, "sigma"):
            self.model = model_attacks_along(self.view.attacks, self.view.instance, self.fixed, self.axis)
            yield from self._rows()

    def tell_attack(self, cancel: threading.Event) -> Iterator[Line | None]:
        """The best attacks on the certificates, searched for at a few values."""
        few = sorted({self.values[round((len(self.values) - 1) * k / FEW_VALUES)] for k in range(FEW_VALUES + 1)})
        found = attacks_along(self.session, self.fixed, self.axis, few, relaxation=self.relaxation, cancel=cancel)
        for at, left in found:
            if cancel.is_set():
                return
            self.known = Attacks(at, left)
            yield from self._rows()


def map_(view: View, session: Session) -> Asked:
    """cells (all of them, growing) … → end. Whole snapshots in the form of `message.map_data`."""
    x = _picked(view, "x", main_axis(view.instance, view.threat))
    y = _picked(view, "y", second_axis(view.instance.covered_types, x) or "sigma")
    if x == y or x.startswith("local_") or y.startswith("local_"):
        raise InputError(f"the axes of the map are {x} and {y}; choose two different global budgets, or sigma")
    y_to = view.options.get("y_to")
    ends = (
        axis_end(view.instance, view.threat, x, view.options.get("x_to")),
        map_end(view.instance, y) if y_to is None else axis_end(view.instance, view.threat, y, y_to),
    )
    xs, ys = map_axes(ends, small=True)
    fixed, relaxation = free_of(view.threat, x, y), view.relaxation.relaxed
    told = _Told(view, view.digest((x, y), "map", xs, ys))
    version = graph_data(view.instance)["version"]

    def swept(cancel: threading.Event) -> Iterator[Line | None]:
        near = (present(view.threat, x), present(view.threat, y))
        sweep = Sweep(session, fixed, [(x, xs), (y, ys)], relaxation=relaxation, near=near)
        for found in sweep.run(cancel):
            if cancel.is_set():
                return
            data = message.map_data(view, version, found, None) | {"share": found.share_done}
            yield Line(told.line("cells", fixed, **data), partial(check, found), found)

    return _asked(view, "map", told, Stage("chart", swept))


def frames(view: View, session: Session) -> Asked:
    """frame … → end: one attack per budget, those nearest to the present one first."""
    axis = _picked(view, "vary", main_axis(view.instance, view.threat))
    if axis not in (*TYPES, "sigma") or unit_of(view.instance, axis) != 1:
        raise InputError(f"frames along {axis} are not there; choose a budget in whole numbers, or sigma")
    begin, end = (
        int(view.options.get("from") or 0),
        int(axis_end(view.instance, view.threat, axis, view.options.get("to"))),
    )
    if begin >= end:
        raise InputError(f"the frames begin at {begin} and end at {end}; expected an end after the beginning")
    now = present(view.threat, axis)
    values = sorted(values_of(begin, end), key=lambda value: (abs(value - now), value))
    told = _Told(view, view.digest((axis,), "frames", values))

    def solved(cancel: threading.Event) -> Iterator[Line | None]:
        for value in values:
            threat = Axis.parse(axis).at(view.threat, value)
            found = session.certify(threat, relaxation=view.relaxation.relaxed, cancel=cancel)
            if cancel.is_set():
                return
            picture = None if found.attack is None else sent_of(view.instance, found)
            counts = {"certified": found.certified, "targets": found.targets, "found": found.attack_found}
            parts = message.bar(message.parts(view, found, found.attack_found or 0))
            data = told.line("frame", threat, axis=axis, value=value, **counts, parts=parts, picture=picture)
            yield Line(data, partial(check, found), found)

    return _asked(view, "frames", told, Stage("chart", solved))


# Protection, proof, and what is said once


def suggest(view: View, session: Session) -> Asked:
    """step (each with its gain) … → end: which nodes to protect, one after the other."""
    number = int(view.options.get("number") or 3)
    told = _Told(view, view.digest((), "defend", number))

    def steps(cancel: threading.Event) -> Iterator[Line | None]:
        threat = view.threat
        for _ in range(number):
            found = defend(session, threat, 1, relaxation=view.relaxation.relaxed, cancel=cancel)
            if cancel.is_set() or not found.steps:
                return
            step, threat = found.steps[0], found.threat
            data = told.line(
                "step",
                node=step.node,
                name=node_name(view.instance, step.node),
                gain=step.gain,
                certified=step.certified,
                targets=found.targets,
                protect=write_nodes(np.asarray(threat.protected)),
            )
            yield Line(data, partial(check_count, view.instance, threat, found.targets, step.certified))

    return _asked(view, "defend", told, Stage("chart", steps))


def proof(view: View, session: Session) -> Asked:
    """proof → end: the content of a proof file."""
    told = _Told(view, view.digest((), "proof"))

    def proved(cancel: threading.Event) -> Iterator[Line | None]:
        if view.strengthen:
            limit = view.time_limit
            made = session.proof(view.threat, relaxation=Relaxation.STRONG, time_limit=limit, cancel=cancel)
        else:
            made = session.proof(view.threat, relaxation=view.relaxation, cancel=cancel)
        if made is not None and not cancel.is_set():
            hold = partial(check_count, view.instance, view.threat, len(view.targets), int(made["certified"]))
            yield Line(told.line("proof", proof=made), hold)

    return _asked(view, "proof", told, Stage("chart", proved))


QUESTIONS: dict[str, Callable[[View, Session], Asked]] = {
    "certificate": certificate,
    "curve": curve,
    "map": map_,
    "frames": frames,
    "defend": suggest,
    "proof": proof,
}


def words(view: View) -> dict[str, Any]:
    """Sentences with places for numbers, which the browser fills in; they change with the family of the view only."""
    told = {"words": message.vocabulary(view), "tones": message.tones(), "ramp": message.ramp()}
    return {"family": view.family[0], **told}


def description(view: View) -> dict[str, Any]:
    """What an instance has, and how far its sliders go."""
    instance, axis = view.instance, main_axis(view.instance, view.threat)
    covered = list(instance.covered_types)
    label = instance.prediction
    classes = 0 if label is None else int(np.asarray(label).max(initial=-1)) + 1
    return {
        "instance": view.name,
        "version": graph_data(instance)["version"],
        "nodes": instance.graph.n_nodes,
        "edges": instance.graph.n_edges,
        "targets": len(view.targets),
        "asked": message.asked(view),
        "before": message.before(view),
        "wrong": message.asked(view) - len(view.targets),
        "covered": covered,
        "names": {name: LABELS[name] for name in covered} | {"sigma": "attacked nodes"},
        "classes": [class_name(instance, k) for k in range(classes)],
        "ends": {name: slider_end(instance, name) for name in covered} | {"sigma": instance.graph.n_nodes},
        "units": {name: float(unit_of(instance, name)) for name in [*covered, "sigma"]},
        "ballots": isinstance(instance.base, BallotsBase),
        "model_attacks": len(view.attacks),
        "right": instance.right is not None,
        "axis": axis,
        "second": second_axis(covered, axis),
    }
