"""Every public way to a certified count, in one list: its name, how it is gone, and what it goes through unseen.

A way takes an `Ask` and yields `Count`s: the threat model, and what is claimed under it. `tests/oracle/walk.py` holds
each of them against the truth; `test_oracle_list.py` finds functions and attributes of results that no way goes
through. What a way calls itself is seen there; `speaks_for` names what is called further inside.
"""

from __future__ import annotations

import contextlib
import threading
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from unittest import mock

import numpy as np

import certcore as cc
from certcore.common.errors import InputError
from certcore.result.certificate import Certificate
from certcore.sweep import Sweep, SweepTask, defend, over_splits, run_many
from certcore.sweep import sweep as sweep_module
from certcore.sweep.attack_curve import attacks_along, attacks_over
from tests.oracle.instances import Question

RELAXATIONS = ("tight", "paper", "strong")
#: Searches are cut short here: what is proven by then has to be true all the same.
EFFORT: dict[str, dict[str, Any]] = {"tight": {}, "paper": {}, "strong": {"rounds": 4}}


@dataclass(frozen=True, eq=False)
class Count:
    """What is claimed under a threat model. `certified` may be None where a way tells of an attack only."""

    threat: cc.ThreatModel
    certified: int | None
    attack: int | None = None
    """Targets that a replayed attack leaves uncertified."""
    closed: bool = False
    sweep: Any = None
    """Counts with the same mark belong to one curve or map, and must not rise with the budgets."""


@dataclass(frozen=True, eq=False)
class Ask:
    """A question, how it is to be answered, and whether the session has been used before."""

    question: Question
    relaxation: str
    warm: bool
    folder: Path
    """For files; empty at the beginning."""

    @property
    def instance(self) -> cc.Instance:
        return self.question.instance

    @property
    def threat(self) -> cc.ThreatModel:
        return self.question.threat

    @property
    def effort(self) -> dict[str, Any]:
        return {"relaxation": self.relaxation, **EFFORT[self.relaxation]}

    def source(self) -> Any:
        """The instance, or a session that has answered the same, a smaller and a larger question already."""
        if not self.warm:
            return self.instance
        session = cc.Session(self.instance)
        for value in self.question.values[-1:] + self.question.values[:1]:
            session.certify(self.question.at(value), **self.effort)
        session.certify(self.threat, attack=False)
        return session

    def session(self) -> cc.Session:
        source = self.source()
        return source if isinstance(source, cc.Session) else cc.Session(source)


@dataclass(frozen=True)
class Way:
    """One way to a certified count."""

    name: str
    go: Callable[[Ask], Iterator[Count]]
    speaks_for: tuple[str, ...]
    relaxations: tuple[str, ...]


WAYS: dict[str, Way] = {}


def way(
    name: str, *speaks_for: str, relaxations: tuple[str, ...] = RELAXATIONS
) -> Callable[[Callable[[Ask], Iterator[Count]]], Callable[[Ask], Iterator[Count]]]:
    def register(go: Callable[[Ask], Iterator[Count]]) -> Callable[[Ask], Iterator[Count]]:
        WAYS[name] = Way(name, go, speaks_for, relaxations)
        return go

    return register


def of_certificate(found: Certificate, threat: cc.ThreatModel) -> Iterator[Count]:
    """All that a certificate claims: its count, the proven one, the naive one, its attack; as fields and as JSON."""
    yield Count(threat, found.certified, found.attack_found)
    yield Count(threat, found.certified, found.attack_found, found.closed)
    yield Count(threat, found.naive_certified)
    yield Count(threat, max(int(found.kept), int(found.weight - found.worst_loss)))
    bounded = left_by(found.bound, found.targets)
    yield Count(threat, max(bounded, share_of(found.ratio, found.targets)))
    yield from of_json(found.to_json(), threat)


def of_json(found: dict[str, Any], threat: cc.ThreatModel) -> Iterator[Count]:
    """A certificate as the command writes it."""
    yield Count(threat, found["certified"], found["attack_found"])
    yield Count(threat, found["certified"], found["attack_found"], found["closed"])
    yield Count(threat, found["naive_certified"])
    bounded = left_by(found["bound"], found["targets"])
    yield Count(threat, max(bounded, share_of(found["ratio"], found["targets"])))


def of_curve(found: Any, at: Callable[[Any], cc.ThreatModel], mark: Any) -> Iterator[Count]:
    yield from of_counts(found, [at(value) for value in found.values.tolist()], mark)


def of_surface(found: Any, at: Callable[[int, int], cc.ThreatModel], mark: Any) -> Iterator[Count]:
    places = [at(x, y) for x in found.x_values.tolist() for y in found.y_values.tolist()]
    yield from of_counts(found, places, mark)
    yield Count(places[-1], left_by(found.bounds[-1, -1], found.targets))


def of_counts(found: Any, places: list[cc.ThreatModel], mark: Any) -> Iterator[Count]:
    """All that a curve or a map claims, at the threat models of its cells."""
    rows = [dict(zip(found.columns(), row)) for row in zip(*found.columns().values())]
    flat = (found.certified, found.naive, found.bounds, found.bound, found.ratio, found.naive_ratio)
    cells = zip(*(values.ravel().tolist() for values in flat))
    for place, row, point, cell in zip(places, rows, found.to_json()["points"], cells, strict=True):
        count, naive, *bounds, ratio, naive_ratio = cell
        yield Count(place, count, sweep=mark)
        written = [int(row["certified"]), point["certified"], share_of(ratio, found.targets)]
        left = [left_by(bound, found.targets) for bound in (*bounds, row["bound"], point["bound"])]
        yield Count(place, max(written + left))
        least = [share_of(naive_ratio, found.targets), int(row["naive_certified"]), point["naive_certified"]]
        yield Count(place, max(naive, *least))


def left_by(bound: Any, targets: int) -> int:
    """The count that a bound on lost targets claims; floats are rounded to the nearest."""
    return max(0, targets - int(bound + (1e-9 if isinstance(bound, float) else 0)))


def share_of(ratio: float, targets: int) -> int:
    """The count that a ratio claims, a little more than which would be one more."""
    return int(np.ceil(ratio * targets - 1e-6))


def of_proof(proof: dict[str, Any] | None, ask: Ask, threat: cc.ThreatModel) -> Iterator[Count]:
    if proof is None:
        return
    verdict = cc.verify_proof(proof, ask.instance)
    assert verdict.accepted, verdict.reason
    yield Count(threat, verdict.certified)
    yield Count(threat, left_by(verdict.bound, verdict.targets))
    yield Count(threat, proof["kept"][0] if "kept" in proof else proof["certified"])


@way(
    "certify",
    "result.assemble.from_answer",
    "result.assemble.with_bound",
    "program.problem.Problem.naive_certified",
    "result.assemble.from_totals",
    "verify.proof.whole_graph_attacked",
    "sweep.strong.Searches.certify",
)
def _certify(ask: Ask) -> Iterator[Count]:
    found = cc.certify(ask.instance, ask.threat, **ask.effort)
    yield from of_certificate(found, ask.threat)
    yield from of_proof(found.proof, ask, ask.threat)


@way("certify, plain arguments")
def _certify_plain(ask: Ask) -> Iterator[Count]:
    threat = ask.threat
    names = [
        *cc.TYPES,
        *(f"local_{name}" for name in cc.TYPES),
        "local_mode",
        "sigma",
        "targets",
        "protected",
        "weights",
    ]
    given: dict[str, Any] = {name: getattr(threat, name) for name in names}
    seen: list[int] = []
    found = cc.certify(
        ask.instance, **given, **ask.effort, proof=False, attack=False, progress=lambda s: seen.append(int(s.bound))
    )
    yield from of_certificate(found, threat)
    for bound in seen:
        yield Count(threat, found.targets - bound)


@way("session, any order")
def _session(ask: Ask) -> Iterator[Count]:
    q, session = ask.question, ask.session()
    places = [
        ask.threat,
        *(q.at(v) for v in q.values[:3]),
        *(q.cell(x, y) for x in q.x_values[:2] for y in q.y_values[-1:]),
    ]
    order = np.random.default_rng(len(places)).permutation(len(places)).tolist()
    for turn, place in enumerate(order + order[:1]):
        threat = places[place]
        found = session.certify(threat, **ask.effort, attack=turn % 2 == 0)
        yield from of_certificate(found, threat)
        yield Count(threat, None, attack=session.best_attack(threat))


@way("preview")
def _preview(ask: Ask) -> Iterator[Count]:
    q, session = ask.question, ask.session()
    places = [ask.threat, *(q.at(v) for v in q.values), *(q.cell(x, y) for x in q.x_values for y in q.y_values)]
    for turn, threat in enumerate(places):
        known = session.preview(threat, relaxation=ask.relaxation)
        yield Count(threat, known.certified)
        yield Count(threat, known.naive_certified)
        yield Count(threat, max(share_of(known.ratio, known.targets), left_by(known.bound, known.targets)))
        if turn % 3 == 0:
            session.certify(threat, **ask.effort, attack=False)
    for threat in places:
        yield Count(threat, session.preview(threat, relaxation=ask.relaxation).certified)


@way("session's proof")
def _session_proof(ask: Ask) -> Iterator[Count]:
    yield from of_proof(ask.session().proof(ask.threat, **ask.effort), ask, ask.threat)


@way("cancelled")
def _cancelled(ask: Ask) -> Iterator[Count]:
    """What is returned when a search is stopped before it began."""
    stop = threading.Event()
    stop.set()
    yield from of_certificate(ask.session().certify(ask.threat, **ask.effort, cancel=stop), ask.threat)


@way("curve", "sweep.axis.naive_counts")
def _curve(ask: Ask) -> Iterator[Count]:
    q = ask.question
    found = cc.curve(ask.source(), ask.threat, q.vary, q.values, **ask.effort)
    yield from of_curve(found, q.at, "curve")


@way("curve, resumed")
def _resumed_curve(ask: Ask) -> Iterator[Count]:
    """Stopped in the middle, continued, and the same file offered for a stronger attacker."""
    q, file = ask.question, ask.folder / "curve.npz"
    stop = threading.Event()
    first = cc.curve(
        ask.instance, ask.threat, q.vary, q.values, **ask.effort, checkpoint=file, cancel=stop,
        progress=lambda _: stop.set(),
    )  # fmt: skip
    yield from of_curve(first, q.at, "stopped")
    for mark in ("resumed", "read"):
        yield from of_curve(
            cc.curve(ask.source(), ask.threat, q.vary, q.values, **ask.effort, checkpoint=file), q.at, mark
        )
    for other in stronger(ask):
        with contextlib.suppress(InputError):
            found = cc.curve(ask.instance, other, q.vary, q.values, **ask.effort, checkpoint=file)
            places = [other.replace(**{q.vary: value}) for value in q.values]
            yield from (Count(place, int(count)) for place, count in zip(places, found.certified))


def stronger(ask: Ask) -> list[cc.ThreatModel]:
    """Attackers who may do more than the one asked about."""
    threat, made = ask.threat, []
    if threat.sigma is not None and ask.question.vary != "sigma":
        made.append(threat.replace(sigma=None))
    if len(threat.protected):
        made.append(threat.replace(protected=()))
    free = [name for name in cc.TYPES if getattr(threat, name) and name != ask.question.vary]
    if free:
        made.append(threat.replace(**{free[0]: getattr(threat, free[0]) + 1}))
    if ask.instance.base.local is None and threat.has_local and not ask.question.vary.startswith("local_"):
        made.append(threat.replace(**{f"local_{name}": None for name in cc.TYPES}))
    return made


@way("surface")
def _surface(ask: Ask) -> Iterator[Count]:
    q = ask.question
    grid = (q.x, q.x_values[:3], q.y, q.y_values[:3])
    seen: list[Any] = []
    found = cc.surface(ask.source(), ask.threat, *grid, **ask.effort, progress=seen.append)
    for number, part in enumerate([*seen[:3], found]):
        yield from of_surface(part, q.cell, ("surface", number))


@way("surface as it grows, and resumed", "sweep.sweep.Sweep.result", "sweep.sweep.Sweep.run")
def _growing(ask: Ask) -> Iterator[Count]:
    q, file = ask.question, ask.folder / "surface.npz"
    axes = [(q.x, q.x_values[:3]), (q.y, q.y_values[:3])]
    with mock.patch.object(sweep_module, "REFRESH", 0.0):
        for number, found in enumerate(Sweep(ask.session(), ask.threat, axes, **ask.effort, near=(0, 1)).run()):
            yield from of_surface(found, q.cell, ("growing", number))
        stop = threading.Event()
        stopped = Sweep(ask.instance, ask.threat, axes, **ask.effort, checkpoint=file).run(stop)
        for number, found in enumerate(stopped):
            if number == 1:
                stop.set()
            yield from of_surface(found, q.cell, ("stopped", number))
        again = Sweep(ask.instance, ask.threat, axes, **ask.effort, checkpoint=file)
        yield from of_surface(again.finish(), q.cell, "resumed")


@way("radius")
def _radius(ask: Ask) -> Iterator[Count]:
    q = ask.question
    vary = q.vary.removeprefix("local_")
    source = ask.source()
    for share in ("0.01", "0.5", "1"):
        if ask.instance.base.local is not None and vary in cc.TYPES:
            return  # budgets of any size are tried: local budgets keep them within the base certificate
        found = cc.radius(source, ask.threat, vary, share, **ask.effort)
        top = max(ask.threat.budgets) + 40
        value = 0 if found.value is None else top if found.unbounded else min(found.value, top)
        here = ask.threat.replace(**{vary: value})
        # The count is that of the largest value; where the value keeps the share, as many targets have to be certified.
        yield Count(here, found.certified)
        yield Count(here, share_of(found.ratio, found.targets))
        yield Count(here, found.to_json()["certified"])
        if found.value is not None:
            yield Count(here, found.needed)
        if found.next_certified is not None and found.value is not None:
            yield Count(ask.threat.replace(**{vary: found.value + 1}), found.next_certified)


@way("defend")
def _defend(ask: Ask) -> Iterator[Count]:
    if ask.question.truth.world.whole_graph(ask.threat):
        return  # no node matters more than another; it refuses
    found = defend(ask.source(), ask.threat, 2, **ask.effort)
    yield Count(ask.threat, found.certified)
    yield Count(ask.threat, left_by(found.bound, found.targets))
    yield Count(found.threat, found.certified + found.gain)
    json, before = found.to_json(), found.certified
    yield Count(ask.threat, json["certified"])
    protected = np.asarray(ask.threat.protected)
    for step, written in zip(found.steps, json["steps"], strict=True):
        protected = np.append(protected, step.node)
        here = ask.threat.replace(protected=protected)
        for count in (step.certified, before + step.gain, left_by(step.bound, found.targets), written["certified"]):
            yield Count(here, count)
        before = step.certified


@way("over splits", "sweep.parallel.SweepTask.run", "sweep.sweep.Sweep.finish")
def _splits(ask: Ask) -> Iterator[Count]:
    """Several curves and a map at once (in this process), and their mean."""
    q = ask.question
    effort = {"relaxation": ask.relaxation, "time_limit": None, "rounds": None, **EFFORT[ask.relaxation]}
    task = SweepTask(ask.instance, ask.threat, [(q.vary, q.values)], **effort)
    grid = SweepTask(ask.instance, ask.threat, [(q.x, q.x_values[:2]), (q.y, q.y_values[:2])], **effort)
    *lines, cells = run_many([task, task, grid], jobs=1)
    for number, line in enumerate(lines):
        yield from of_curve(line, q.at, ("split", number))
    together = over_splits(lines)
    for value, share, naive in zip(q.values, together.mean.tolist(), together.naive_mean.tolist()):
        yield Count(q.at(value), share_of(share, lines[0].targets))
        yield Count(q.at(value), share_of(naive, lines[0].targets))
    for value, row, point in zip(q.values, together.columns()["ratio_mean"], together.to_json()["points"]):
        yield Count(q.at(value), share_of(max(row, point["ratio_mean"]), lines[0].targets))
    yield from of_surface(cells, q.cell, "cells")


@way("attacks along", relaxations=("tight", "paper"))
def _attacks(ask: Ask) -> Iterator[Count]:
    q, source = ask.question, ask.source()
    for values, attacked in attacks_along(source, ask.threat, q.vary, q.values, relaxation=ask.relaxation):
        for value, number in zip(values.tolist(), attacked.tolist()):
            yield Count(q.at(value), None, attack=number)
    cells = [(x, y) for x in q.x_values[:2] for y in q.y_values[:2]]
    for x, y, number in attacks_over(source, ask.threat, q.x, q.y, cells, relaxation=ask.relaxation):
        yield Count(q.cell(x, y), None, attack=number)
