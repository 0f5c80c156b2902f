"""Curves, maps and radii as background work; lines and cells appear as they are computed."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from fractions import Fraction
from functools import partial
from typing import Any

import numpy as np

from certcore.domain.local_mode import LocalMode
from certcore.domain.perturbations import LABELS, TYPES, entry_of
from certcore.domain.threat import ThreatModel
from certcore.figures.style import member_name
from certcore.instance.instance import Instance
from certcore.program.relaxation import Relaxation
from certcore.sweep import Counts, Radius, Session, Sweep, curve, radius
from certcore.sweep.attack_curve import Attacks, attacked_cells, attacks_along, attacks_over, best_below
from certcore.sweep.family import Question
from certcore.sweep.radii import first_uncertified
from certcore.sweep.ranges import MOST_VALUES, end_of, family_axis, map_axes, refined, stops, unit_of
from certcore.workbench import axis

from ..files import bundles
from ..state import state
from ..state.state import View
from .answers import Asked
from .engine import session
from .jobs import Job
from .work import Work, ask

#: Seconds between two pictures of work that is going on.
REFRESH = 1.5
#: On graphs with more nodes than this a line is drawn at a few values before it is drawn at the usual ones.
MANY_NODES = 5_000
#: Number of these values.
FEW_VALUES = 6


@dataclass(frozen=True, eq=False)
class Member:
    """One line of a family: a name and the threat model whose budget is varied, on one or more splits."""

    name: str
    threat: ThreatModel
    instances: tuple[Instance, ...]
    axis: str = ""
    """What the lines of the family differ in, if there are several."""
    value: int = 0

    @property
    def key(self) -> tuple[str, ...]:
        return (self.name, *(Question(instance, self.threat).key for instance in self.instances))


def varied(instance: Instance) -> dict[str, str]:
    """What can be varied on this instance, with its name."""
    types = state.covered(instance)
    return (
        {name: LABELS[name].capitalize() for name in types}
        | {"sigma": "Attacker count σ"}
        | {f"local_{name}": f"{LABELS[name].capitalize()} per node" for name in types}
    )


def values_to(end: int | None, to_zero: bool, instance: Instance, vary: str) -> list[int] | None:
    """The values a curve is first drawn at; None: every integer, to where nothing is certified any more."""
    unit = unit_of(instance, vary)
    if to_zero and end is None and vary in TYPES and unit == 1:
        return None
    return stops(end_of(instance, vary) if end is None else end, unit)


def _to_zero(members: list[Member], vary: str, relaxation: Relaxation, job: Job) -> list[int]:
    """Every integer up to the first at which no line certifies anything."""
    last = 0
    for member in members:
        for instance in member.instances:
            job.report(None, "looking for the end of the axis")
            found = first_uncertified(session(instance), member.threat, vary, relaxation=relaxation, cancel=job.cancel)
            end = end_of(instance, vary) if found is None else found
            last = max(last, min(int(end), MOST_VALUES))
    return list(range(last + 1))


def main_axis(view: View) -> str:
    """The budget that matters most in this view."""
    return axis.main_axis(view.instance, view.threat)


def picked(vary: str, value: Any) -> Any:
    """A value of an axis as its setting has it: a length, or a whole number."""
    kind = vary.removeprefix("local_")
    return float(value) if kind in TYPES and entry_of(kind).lengths else int(value)


def position(threat: ThreatModel, vary: str) -> float | None:
    """Where the sliders stand on this axis (None: nowhere)."""
    value = getattr(threat, vary)
    if (
        value is None
        or isinstance(value, np.ndarray)
        or (vary.startswith("local_") and threat.local_mode == LocalMode.RELATIVE)
    ):
        return None
    return float(value)


def family(view: View, by: str, values: list[int], vary: str, instances: tuple[Instance, ...]) -> list[Member]:
    """The lines of a family: one for each local budget or each σ; a single one if there is no family."""
    if by == "none" or not values:
        return [Member("", view.threat, instances)]
    if by == "sigma":
        return [
            Member(member_name("sigma", value), view.threat.replace(sigma=value), instances, "sigma", value)
            for value in values
        ]
    field = family_axis(by, vary, view.threat)
    most = state.most_per_node(view.instance)[field.removeprefix("local_")]
    # A line is named after what it was computed for, never after more than the base certificate was made for.
    limits = dict.fromkeys(value if most is None else min(value, most) for value in values)
    return [
        Member(
            member_name(field, limit),
            state.within_base(
                view.threat.replace(local_mode=LocalMode.ABSOLUTE, **{**_no_shares(view), field: limit}), view.instance
            ),
            instances,
            field,
            limit,
        )
        for limit in limits
    ]


def _no_shares(view: View) -> dict[str, Any]:
    return {f"local_{name}": None for name in TYPES} if view.threat.local_mode == LocalMode.RELATIVE else {}


def splits_of(view: View) -> list[str]:
    """Bundles that differ from this one in the split only (with as many votes: others must not be averaged)."""
    group = view.instance.meta.get("group")
    stem = view.name.rsplit("-s", 1)[0]
    if group is None or view.name.startswith("import-"):
        return [view.name]
    votes = view.instance.base.facts.get("samples")
    same = [name for name in bundles.names() if name.rsplit("-s", 1)[0] == stem and not name.startswith("import-")]
    return [name for name in same if name == view.name or bundles.load(name).base.facts.get("samples") == votes]


def curves(
    members: list[Member],
    vary: str,
    values: list[int] | None,
    paper: bool,
    relaxation: Relaxation,
    slot: str,
    fine: bool = True,
) -> Work:
    """Lists of curves, one list per member and one curve per split, for our relaxation and for the paper's.

    A few values first (on large graphs six of them before that); then, if `fine`, every integer, line by line.
    Without values: at every integer up to where nothing is certified any more.
    """
    ours = relaxation.relaxed
    kinds = [ours] + ([Relaxation.PAPER] if paper and ours is not Relaxation.PAPER else [])

    def run(job: Job) -> dict[str, list[list[Any]]]:
        first = values if values is not None else _to_zero(members, vary, kinds[0], job)
        stages = [first] + ([refined(first, vary)] if fine and refined(first, vary) != first else [])
        if max(instance.graph.n_nodes for member in members for instance in member.instances) > MANY_NODES:
            stages.insert(0, sorted({*first[:: max(1, len(first) // FEW_VALUES)], first[-1]}))
        done: dict[str, list[list[Any]]] = {kind: [] for kind in kinds}
        total = sum(len(member.instances) for member in members) * len(kinds) * len(stages)
        count = 0
        for stage, numbers in enumerate(stages):
            for kind in kinds:
                lines: list[list[Any]] = []
                for member in members:
                    line = []
                    for instance in member.instances:
                        so_far = {k: [list(x) for x in v] for k, v in done.items()}
                        job.report(count / total, member.name, so_far if count else None)
                        report = partial(_report_share, job, count, total, member.name)
                        line.append(_curve(instance, member.threat, vary, numbers, kind, job, report))
                        count += 1
                        if job.cancel.is_set():
                            return done
                    lines.append(line)
                    if not stage:
                        done[kind] = lines[:]
                # A finer picture replaces the first one as a whole: lines of one figure share their values.
                done[kind] = lines
        return done

    key = ("curves", vary, values and tuple(values), tuple(kinds), fine, *(member.key for member in members))
    return ask(slot, key, run, "Computing curves", same=(vary, tuple(member.key for member in members)), patience=0.6)


def lines(
    members: list[Member], vary: str, values: list[int] | None, relaxation: Relaxation, fine: bool = True
) -> Asked:
    """For each member its curves, one per split: first at the given values, then (if `fine`) at every integer.

    Without values: at every integer up to where nothing is certified any more.
    """
    kind = relaxation.relaxed

    def steps(cancel: threading.Event) -> Iterator[list[list[Counts]]]:
        first = values
        if first is None:
            ends = (_first_zero(member, vary, kind, cancel) for member in members)
            first = list(range(max(ends) + 1))
        done: list[list[Counts]] = []
        for stage in dict.fromkeys((tuple(first), tuple(refined(first, vary) if fine else first))):
            drawn = []
            for member in members:
                line = []
                for instance in member.instances:
                    sweep = Sweep(session(instance), member.threat, [(vary, stage)], relaxation=kind)
                    for _ in sweep.run(cancel):
                        if cancel.is_set():
                            return
                        yield done  # a place to give way; what is finished is drawn, whole lines only
                    line.append(sweep.result())
                drawn.append(line)
                done = done if len(done) == len(members) else drawn[:]
            # A finer picture replaces the first one as a whole: lines of one figure share their values.
            done = drawn
        yield done

    key = ("lines", vary, values and tuple(values), kind, fine, *(member.key for member in members))
    return Asked(key, steps, "Computing curves")


def _first_zero(member: Member, vary: str, relaxation: Relaxation, cancel: threading.Event) -> int:
    """The first value at which nothing is certified any more on any split, or the end of the axis."""
    last = 0
    for instance in member.instances:
        found = first_uncertified(session(instance), member.threat, vary, relaxation=relaxation, cancel=cancel)
        last = max(last, int(end_of(instance, vary) if found is None else found))
    return min(last, MOST_VALUES)


def attacks(member: Member, vary: str, values: list[int], relaxation: Relaxation, slot: str) -> Work:
    """The best replayed attacks, looked for at a few values and known between; the picture grows meanwhile."""
    kind = relaxation.relaxed

    def run(job: Job) -> Attacks:
        found = Attacks(np.zeros(0, dtype=np.int64), np.zeros(0, dtype=np.int64))
        reported = 0.0
        # Which attack is found depends on earlier solves: a session of its own finds those that the command finds.
        one = member.instances[0]
        known = session(one) if one.graph.n_nodes > MANY_NODES else Session(one)
        for k, (at, left) in enumerate(
            attacks_along(known, member.threat, vary, values, relaxation=kind, cancel=job.cancel)
        ):
            if job.cancel.is_set():
                break
            found = Attacks(at, left)
            now = time.monotonic()
            job.report((k + 1) / len(values), "", found if now - reported > REFRESH else None)
            reported = now if now - reported > REFRESH else reported
        return found

    key = ("attacks", vary, tuple(values), kind, member.key)
    return ask(slot, key, run, "Looking for attacks along the curve", same=(vary, kind, member.key), patience=0.1)


def attacks_at(member: Member, vary: str, values: list[int], relaxation: Relaxation) -> Asked:
    """The best replayed attacks, looked for at a few values and known between, smallest value first."""
    kind, one = relaxation.relaxed, member.instances[0]

    def steps(cancel: threading.Event) -> Iterator[Attacks]:
        # Which attack is found depends on earlier solves: a session of its own finds those that the command finds.
        known = session(one) if one.graph.n_nodes > MANY_NODES else Session(one)
        for found in attacks_along(known, member.threat, vary, values, relaxation=kind, cancel=cancel):
            if not cancel.is_set():
                yield Attacks(*found)

    key = ("attacks at", vary, tuple(values), kind, member.key)
    return Asked(key, steps, "Looking for attacks along the curve")


def known_attacks(found: Attacks | None, line: Counts) -> np.ndarray | None:
    """What the best attack known leaves uncertified at each value of a curve, NaN beyond the last one searched; None
    before any was looked for.
    """
    if found is None or not len(found.values):
        return None
    best = best_below(line.values, found.values, found.left).astype(float)
    return np.where((line.values >= found.values[0]) & (line.values <= found.values[-1]), best, np.nan)


def first_kind(work: Work) -> list[list[Counts]]:
    """The lines of the chosen relaxation, as far as they are computed."""
    return next(iter(work.result.values()), []) if work.result else []


def _report_share(job: Job, count: int, total: int, name: str, share: float) -> None:
    """Tell how far the work is while a line is computed."""
    job.report((count + share) / total, name)


def _curve(
    instance: Instance,
    threat: ThreatModel,
    vary: str,
    values: list[int],
    relaxation: Relaxation,
    job: Job,
    report: Callable[[float], None],
) -> Counts:
    """One line; `report` is called with the share of it that is done."""
    return curve(
        session(instance), threat, vary, values, relaxation=relaxation, cancel=job.cancel,
        progress=lambda growing: report(growing.share_done),
    )  # fmt: skip


def map_over(
    view: View,
    x: str,
    y: str,
    ends: tuple[Any, Any],
    relaxation: Relaxation,
    slot: str,
    finest: bool = True,
    small: bool = False,
) -> Work:
    """A map over two budgets, shown while it grows: proven everywhere from a few solves, then line by line."""
    fixed = _free(view.threat, x, y)
    near = (position(view.threat, x) or 0, position(view.threat, y) or 0)
    xs, ys = map_axes(ends, finest, small)

    def run(job: Job) -> Counts:
        last: Counts | None = None
        shown = 0.0
        sweep = Sweep(session(view.instance), fixed, [(x, xs), (y, ys)], relaxation=relaxation, near=near)
        for last in sweep.run(job.cancel):
            job.report(last.share_done, f"{int(last.done.sum()):,} of {last.done.size:,} cells")
            if time.monotonic() - shown > REFRESH:
                shown = time.monotonic()
                job.report(job.share, job.note, last)
        assert last is not None
        return last

    question = Question(view.instance, fixed).key
    key = ("map", x, y, ends, finest, small, relaxation, question)
    return ask(slot, key, run, "Computing the map", same=(x, y, relaxation, question), patience=0.6)


def cells(view: View, x: str, y: str, ends: tuple[Any, Any], relaxation: Relaxation, finest: bool = True) -> Asked:
    """A map over two budgets while it grows: proven everywhere from a few solves, then line by line."""
    fixed = _free(view.threat, x, y)
    near = (position(view.threat, x) or 0, position(view.threat, y) or 0)
    xs, ys = map_axes(ends, finest)

    def steps(cancel: threading.Event) -> Iterator[Counts]:
        sweep = Sweep(session(view.instance), fixed, [(x, xs), (y, ys)], relaxation=relaxation, near=near)
        return sweep.run(cancel)

    key = ("cells", x, y, ends, finest, relaxation, Question(view.instance, fixed).key)
    return Asked(key, steps, "Computing the map")


def attacks_in(view: View, x: str, y: str, ends: tuple[int, int], relaxation: Relaxation) -> Asked:
    """The best replayed attacks at a few cells of a map, those around the sliders first: (x, y, left) each."""
    fixed, kind = _free(view.threat, x, y), relaxation.relaxed
    places = attacked_cells(ends, (position(view.threat, x) or 0, position(view.threat, y) or 0))

    def steps(cancel: threading.Event) -> Iterator[list[tuple[float, float, int]]]:
        found: list[tuple[float, float, int]] = []
        # As along a curve: a session of its own finds those that the command finds.
        own = session if view.instance.graph.n_nodes > MANY_NODES else Session
        for one in attacks_over(own(view.instance), fixed, x, y, places, relaxation=kind, cancel=cancel):
            found.append(one)
            yield list(found)

    key = ("attacks in", x, y, ends, kind, Question(view.instance, fixed).key)
    return Asked(key, steps, "Looking for attacks on the map")


def _free(threat: ThreatModel, x: str, y: str) -> ThreatModel:
    """The attacker without what a map varies: moving those sliders leaves the map as it is."""
    return threat.replace(**{name: None if name == "sigma" else 0 for name in (x, y)})


def largest(view: View, vary: str, share: int) -> Asked:
    """The largest budget that still certifies this share (in per cent)."""

    def steps(cancel: threading.Event) -> Iterator[Radius]:
        yield radius(
            session(view.instance),
            view.threat,
            vary,
            Fraction(share, 100),
            relaxation=view.relaxation.relaxed,
            cancel=cancel,
        )

    return Asked(("radius", vary, share, *view.key), steps, "Searching")
