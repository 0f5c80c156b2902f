"""Ways to a count over HTTP: every line of every question, as it would be sent."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from typing import Any
from unittest import mock

import certcore as cc
from certcore.base.ballots import BallotsBase
from certcore.common.numbers import parse_nodes
from certcore.domain.perturbations import TYPES
from certcore.program.relaxation import Relaxation
from certcore.server import questions
from certcore.server.questions import Asked, Line
from certcore.sweep import ranges
from certcore.workbench.view import View
from tests.oracle.ways import Ask, Count, of_certificate, of_proof, way

SEARCH = 0.03


def view_of(ask: Ask, **options: Any) -> View:
    strong = ask.relaxation == "strong"
    relaxation = Relaxation("tight" if strong else ask.relaxation)
    return View("toy", ask.instance, ask.threat, relaxation, strengthen=strong, time_limit=SEARCH, options=options)


def sent(asked: Asked) -> Iterator[tuple[Line, Mapping[str, Any]]]:
    """The lines, each with what a client reads."""
    for line in asked.lines():
        yield line, json.loads(json.dumps(line.data))


def of_parts(parts: dict[str, int] | None, threat: cc.ThreatModel) -> Iterator[Count]:
    """The bar."""
    if parts is not None:
        yield Count(threat, parts["naive"] + parts["collective"], attack=parts["lost"] + parts["none"])
        yield Count(threat, parts["naive"])


def of_counts(told: Mapping[str, Any], threat: cc.ThreatModel) -> Iterator[Count]:
    yield Count(threat, told["certified"], attack=told.get("found"))
    yield Count(threat, told["naive"], attack=told.get("known"))
    yield from of_parts(told.get("parts"), threat)
    said = re.match(r"At least ([\d,]+) of", "".join(piece["text"] for piece in told.get("head", [])))
    if said is not None:
        yield Count(threat, int(said[1].replace(",", "")))


@way("server number", "server.questions.Asked.lines")
def _number(ask: Ask) -> Iterator[Count]:
    view = view_of(ask, attack=True, picture=True, lp=True, model=True)
    for line, told in sent(questions.certificate(view, ask.session())):
        if "certified" in told:
            yield from of_counts(told, ask.threat)
        if isinstance(line.result, cc.Certificate):
            yield from of_certificate(line.result, ask.threat)


@way("server curve", relaxations=("tight", "paper"))
def _curve(ask: Ask) -> Iterator[Count]:
    q = ask.question
    whole = all(value == int(value) for value in q.values)
    view = view_of(ask, vary=q.vary, to=max(2, int(max(q.values))) if whole else None, attacks=True)
    for number, (_, told) in enumerate(sent(questions.curve(view, ask.session()))):
        if told["kind"] != "rows":
            continue
        for value, certified, naive, left in zip(told["values"], told["certified"], told["naive"], told["left"]):
            at = ask.threat.replace(**{told["axis"]: value})
            yield Count(at, certified, attack=left, sweep=number)
            yield Count(at, naive)


@way("server map", "server.questions.map_", relaxations=("tight", "paper"))
def _map(ask: Ask) -> Iterator[Count]:
    q = ask.question
    view = view_of(ask, x=q.x, y=q.y)
    with mock.patch.object(ranges, "FEW_MAP_VALUES", 2):
        lines = list(sent(questions.map_(view, ask.session())))
    for number, (_, told) in enumerate(lines):
        if told["kind"] == "cells":
            corners = [(x, y) for x in told["xs"] for y in told["ys"]]
            for (x, y), certified, naive in zip(corners, told["certified"], told["naive"], strict=True):
                at = ask.threat.replace(**{told["x"]: x, told["y"]: y})
                yield Count(at, certified, sweep=number)
                yield Count(at, naive)


@way("server frames", relaxations=("tight", "paper"))
def _frames(ask: Ask) -> Iterator[Count]:
    vary = ask.question.vary
    if vary not in (*TYPES, "sigma"):
        return
    view = view_of(ask, vary=vary, to=3)
    for _, told in sent(questions.frames(view, ask.session())):
        if told["kind"] == "frame":
            threat = ask.threat.replace(**{vary: told["value"]})
            yield Count(threat, told["certified"], attack=told["found"])
            yield from of_parts(told["parts"], threat)


@way("server suggestion", "server.questions.suggest", relaxations=("tight", "paper"))
def _suggest(ask: Ask) -> Iterator[Count]:
    if ask.question.truth.world.whole_graph(ask.threat):
        return
    session = ask.session()
    before = session.certify(ask.threat, relaxation=ask.relaxation).certified
    for _, told in sent(questions.suggest(view_of(ask, number=2), session)):
        if told["kind"] == "step":
            threat = ask.threat.replace(protected=parse_nodes(told["protect"], ask.instance.graph.n_nodes))
            yield Count(threat, told["certified"])
            yield Count(threat, before + told["gain"])
            before = told["certified"]


@way("server proof", "server.questions.proof")
def _proof(ask: Ask) -> Iterator[Count]:
    for _, told in sent(questions.proof(view_of(ask), ask.session())):
        yield from of_proof(told.get("proof"), ask, ask.threat)


@way("server description", relaxations=("tight",))
def _description(ask: Ask) -> Iterator[Count]:
    """What is said of the targets before any attack: no more of them can be certified."""
    view = view_of(ask)
    told = questions.description(view)
    assert questions.words(view)["family"] == view.family[0]
    assert told["ballots"] == isinstance(ask.instance.base, BallotsBase)
    yield Count(ask.threat, None, attack=told["before"])
