"""Curves, maps and radii as background work; lines and cells appear as they are computed."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np

from certcore.domain.local_mode import LocalMode
from certcore.domain.perturbations import LABELS, TYPES, entry_of
from certcore.domain.threat import ThreatModel
from certcore.figures.style import member_name
from certcore.instance.instance import Instance
from certcore.program.relaxation import Relaxation
from certcore.result.tripwire import check_count
from certcore.sweep import Counts, Radius, Session, Sweep, radius
from certcore.sweep.attack_curve import Attacks, attacked_cells, attacks_along, attacks_over, best_below
from certcore.sweep.axis import Axis
from certcore.sweep.family import Question
from certcore.sweep.radii import first_uncertified
from certcore.sweep.ranges import MOST_VALUES, end_of, family_axis, map_axes, refined, stops, unit_of
from certcore.workbench import axis

from ..files import bundles
from ..state import state
from ..state.state import View
from .answers import Asked
from .engine import session
from .work import Work, follow

#: On graphs with more nodes than this attacks are searched for in the session that has solved the curve.
MANY_NODES = 5_000


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


def cells(
    view: View, x: str, y: str, ends: tuple[Any, Any], relaxation: Relaxation, finest: bool = True, small: bool = False
) -> Asked:
    """A map over two budgets while it grows: proven everywhere from a few solves, then line by line."""
    fixed = _free(view.threat, x, y)
    near = (position(view.threat, x) or 0, position(view.threat, y) or 0)
    xs, ys = map_axes(ends, finest, small)

    def steps(cancel: threading.Event) -> Iterator[Counts]:
        sweep = Sweep(session(view.instance), fixed, [(x, xs), (y, ys)], relaxation=relaxation, near=near)
        return sweep.run(cancel)

    key = ("cells", x, y, ends, finest, small, relaxation, Question(view.instance, fixed).key)
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


# The same as background work, for the workbench.


def curves(
    members: list[Member], vary: str, values: list[int], relaxation: Relaxation, slot: str, fine: bool = True
) -> Work:
    same = (vary, tuple(member.key for member in members))
    return follow(slot, lines(members, vary, values, relaxation, fine), same=same, patience=0.6)


def attacks(member: Member, vary: str, values: list[int], relaxation: Relaxation, slot: str) -> Work:
    same = (vary, relaxation.relaxed, member.key)
    return follow(slot, attacks_at(member, vary, values, relaxation), same=same, patience=0.1)


def map_over(view: View, x: str, y: str, ends: tuple[Any, Any], relaxation: Relaxation, slot: str) -> Work:
    same = (x, y, relaxation, Question(view.instance, _free(view.threat, x, y)).key)
    return follow(slot, cells(view, x, y, ends, relaxation, small=True), same=same, patience=0.6)


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

    def hold(found: Radius) -> None:
        at = Axis.parse(vary).at(view.threat, 0 if found.value is None else found.value)
        check_count(view.instance, at, found.targets, found.certified)

    return Asked(("radius", vary, share, *view.key), steps, "Searching", hold)
