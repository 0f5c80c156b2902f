"""Ways to a count on the pages of the dashboard: its background work, run at once, with all that is shown meanwhile."""

from __future__ import annotations

import contextlib
import io
import threading
import zipfile
from collections.abc import Callable, Iterator
from functools import partial
from typing import Any
from unittest import mock

import numpy as np

import certcore as cc
from certcore.domain.base_rule import BaseRule
from certcore.program.relaxation import Relaxation
from certcore.server.shelf import SHELF
from certcore.sweep import ranges
from pages.background import engine, sweeps
from pages.background import work as work_module
from pages.background.work import Work
from pages.canvas import film
from pages.state.state import View
from tests.oracle.ways import Ask, Count, of_certificate, of_curve, of_proof, of_surface, way
from tests.oracle.ways_shown import numbers_only, of_report

SEARCH = 0.03


class Display:
    """Stands for the job of a page: keeps everything that the page would show before the work is done."""

    def __init__(self) -> None:
        self.cancel = threading.Event()
        self.share: float | None = None
        self.note = ""
        self.parts: list[Any] = []

    def report(self, share: float | None = None, note: str = "", partial: Any = None) -> None:
        self.share, self.note = share, note
        if partial is not None:
            self.parts.append(partial)


@contextlib.contextmanager
def at_once() -> Iterator[list[Any]]:
    """Background work runs where it is asked for; what it shows on the way is listed."""
    parts: list[Any] = []

    def ask(slot: str, key: Any, run: Callable[[Any], Any], label: str, **_: Any) -> Work:
        job = Display()
        result = run(job)
        parts.extend(job.parts)
        return Work(slot, key, result, True)

    with (
        mock.patch.object(engine, "ask", ask),
        mock.patch.object(work_module, "ask", ask),
        mock.patch.object(film, "ask", ask),
        mock.patch.object(work_module, "REFRESH", 0.0),
        mock.patch.object(ranges, "FEW_MAP_VALUES", 2),
        mock.patch.object(ranges, "MANY_MAP_VALUES", 3),
    ):
        yield parts


def view_of(ask: Ask, **more: Any) -> View:
    relaxation = Relaxation("tight" if ask.relaxation == "strong" else ask.relaxation)
    rule = BaseRule(str(ask.instance.base_rule))
    limit = SEARCH if ask.relaxation == "strong" else 10.0
    return View("toy", ask.instance, ask.threat, relaxation, limit, rule, strengthen=ask.relaxation == "strong", **more)


def prepared(ask: Ask) -> View:
    """A cold dashboard, or one that has been used: its sessions are kept between visits."""
    if not ask.warm:
        SHELF.sessions.clear()
    view = view_of(ask)
    if ask.warm:
        with at_once():
            engine.certificate(view)
    return view


@way("page number")
def _number(ask: Ask) -> Iterator[Count]:
    view = prepared(ask)
    known = engine.known(view)
    if known is not None:
        yield Count(ask.threat, known.certified)
    for found in engine.number(view).steps(threading.Event()):
        yield from of_certificate(found, ask.threat)
    with at_once() as parts:
        found = engine.certificate(view).result
        yield from of_certificate(found, ask.threat)
        yield from of_certificate(engine.attacked(view, found).result, ask.threat)
        if view.strengthen:
            yield from of_certificate(engine.strengthened(view, found).result, ask.threat)
    for part in parts:
        yield from of_certificate(part, ask.threat)


@way("page proof")
def _proof(ask: Ask) -> Iterator[Count]:
    view = prepared(ask)
    (made,) = engine.proof(view).steps(threading.Event())
    yield from of_proof(made, ask, ask.threat)


@way("page suggestion", relaxations=("tight", "paper"))
def _suggest(ask: Ask) -> Iterator[Count]:
    view = prepared(ask)
    if ask.question.truth.world.whole_graph(ask.threat):
        return
    for found in engine.suggestions(view, 2).steps(threading.Event()):
        yield Count(ask.threat, found.certified)
        protected = np.asarray(ask.threat.protected, dtype=np.int64)
        for step in found.steps:
            protected = np.union1d(protected, [step.node])
            yield Count(ask.threat.replace(protected=protected), step.certified)


@way("page protection", relaxations=("tight", "paper"))
def _protecting(ask: Ask) -> Iterator[Count]:
    view, node = prepared(ask), ask.question.number[1] % ask.instance.graph.n_nodes
    with at_once():
        found = engine.protecting(view, node).result
    protected = np.union1d(np.asarray(ask.threat.protected, dtype=np.int64), [node])
    yield from of_certificate(found, ask.threat.replace(protected=protected))
    for found in engine.unprotected(view).steps(threading.Event()):
        yield from of_certificate(found, ask.threat.replace(protected=()))


@way("page report", "report.packed", relaxations=("tight", "paper"))
def _report(ask: Ask) -> Iterator[Count]:
    view = prepared(ask)
    with numbers_only():
        (data,) = engine.report(view, "toy.npz", []).steps(threading.Event())
    with zipfile.ZipFile(io.BytesIO(data)) as zipped:
        yield from of_report({name: zipped.read(name) for name in zipped.namelist()}, ask, ask.threat)


@way("page curves")
def _curves(ask: Ask) -> Iterator[Count]:
    q, view = ask.question, prepared(ask)
    members = sweeps.family(view, "none", [], q.vary, (ask.instance,))
    with at_once() as parts:
        work = sweeps.curves(members, q.vary, list(q.values), view.relaxation, "curve", fine=False)
        along = sweeps.attacks(members[0], q.vary, list(q.values), view.relaxation, "attacks").result
        grown = list(sweeps.lines(members, q.vary, list(q.values), view.relaxation).steps(threading.Event()))
    for found in sweeps.attacks_at(members[0], q.vary, list(q.values), view.relaxation).steps(threading.Event()):
        for value, left in zip(found.values.tolist(), found.left.tolist()):
            yield Count(q.at(value), None, attack=left)
    for number, lines in enumerate([*(part for part in parts if isinstance(part, list)), work.result, *grown]):
        for line in lines:
            yield from of_curve(line[0], q.at, number)
    for value, left in zip(along.values.tolist(), along.left.tolist()):
        yield Count(q.at(value), None, attack=left)


def varied(threat: cc.ThreatModel, name: str, value: int) -> cc.ThreatModel:
    return threat.replace(**{name: value})


@way("page family", relaxations=("tight", "paper"))
def _family(ask: Ask) -> Iterator[Count]:
    """Several lines, one for each number of attackers or local budget."""
    q, view = ask.question, prepared(ask)
    vary = next((name for name in q.instance.base.axes if getattr(ask.threat, name)), q.vary)
    if ask.instance.base.local is not None or vary.startswith("local_"):
        return
    for by in ("sigma", "local"):
        members = sweeps.family(view, by, [1, 2], vary, (ask.instance,))
        with at_once():
            work = sweeps.curves(members, vary, [0, 1, 2], view.relaxation, "curve", fine=True)
        for member, line in zip(members, work.result):
            yield from of_curve(line[0], partial(varied, member.threat, vary), (by, member.name))


@way("page map", relaxations=("tight", "paper", "strong"))
def _map(ask: Ask) -> Iterator[Count]:
    q, view = ask.question, prepared(ask)
    ends = (q.x_values[-1], q.y_values[-1])
    if not all(ends):
        return
    free = sweeps._free(ask.threat, q.x, q.y)

    def at(x: int, y: int) -> cc.ThreatModel:
        return free.replace(**{q.x: x, q.y: y})

    with at_once() as parts:
        work = sweeps.map_over(view, q.x, q.y, ends, view.relaxation, "map")
    (*_, attacked) = sweeps.attacks_in(view, q.x, q.y, ends, view.relaxation).steps(threading.Event())
    grown = sweeps.cells(view, q.x, q.y, ends, view.relaxation, finest=False).steps(threading.Event())
    for number, found in enumerate([*parts, work.result, *grown]):
        if isinstance(found, cc.Counts):
            yield from of_surface(found, at, number)
    for x, y, left in attacked:
        yield Count(at(x, y), None, attack=left)


@way("page largest", relaxations=("tight", "paper"))
def _largest(ask: Ask) -> Iterator[Count]:
    view, vary = prepared(ask), ask.question.vary.removeprefix("local_")
    if ask.instance.base.local is not None:
        return
    (found,) = sweeps.largest(view, vary, 50).steps(threading.Event())
    top = max(ask.threat.budgets) + 40
    value = 0 if found.value is None else top if found.unbounded else min(found.value, top)
    yield Count(ask.threat.replace(**{vary: value}), found.certified)


@way("page film", relaxations=("tight", "paper"))
def _film(ask: Ask) -> Iterator[Count]:
    """One attack after the other along a budget."""
    view, axis = prepared(ask), ask.question.vary
    if axis not in film.AXES or axis.startswith("local_"):
        return
    with at_once():
        found = film.frames(view, axis, 0, int(max(ask.question.values))).result
    for frame in found:
        yield from of_certificate(frame.result, ask.threat.replace(**{axis: frame.value}))
