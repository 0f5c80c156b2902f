"""Curves, maps and radii as background work; lines and cells appear as they are computed."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from functools import partial
from typing import Any

import numpy as np

from certcore.domain.local_mode import LocalMode
from certcore.domain.perturbations import LABELS, TYPES, entry_of
from certcore.domain.threat import ThreatModel
from certcore.figures.recipe import member_name
from certcore.instance.instance import Instance
from certcore.program.relaxation import Relaxation
from certcore.sweep import Curve, Radius, Surface, curve, radius, strengthen, surfaces
from certcore.sweep.attack_curve import attacks_along, attacks_over, best_below
from certcore.sweep.family import Question
from certcore.sweep.surface_maps import around

from ..files import bundles
from ..state import state
from ..state.sliders import slider_end, stops
from ..state.state import MAX_BUDGET, View
from .engine import session
from .jobs import Job
from .work import Work, ask

#: Seconds between two pictures of work that is going on.
REFRESH = 1.5
#: No axis is longer, whatever it takes to reach zero.
MOST_VALUES = 20_000
#: On graphs with more nodes than this a line is drawn at so many values before it is drawn at the usual ones.
MANY_NODES, FEW_VALUES = 5_000, 6
#: Seconds of strong search at each point of a curve and each cell of a map.
SECONDS_PER_POINT = 4.0
#: σ and local budgets change the program itself: longer axes stay at the values they are first drawn at.
MOST_SLOW_VALUES = 30


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


def covered_types(instance: Instance) -> set[str]:
    """The types against which the base certificate of an instance can hold at all."""
    fixed = instance.node_field is not None  # such fields hold only while the edges stay
    return {name for name in TYPES if name in instance.base.axes and (entry_of(name).at_nodes or not fixed)}


def end_of(instance: Instance, vary: str) -> int:
    """Where an axis ends if nothing else is said."""
    if vary == "sigma":
        return instance.graph.n_nodes
    if vary.startswith("local_"):
        most = state.most_per_node(instance)[vary.removeprefix("local_")]
        return 20 if most is None else min(20, most)
    return min(slider_end(instance, vary), 500)


def map_end(instance: Instance, vary: str) -> int:
    """Where the axis of a map ends: a few times the largest budget that any single node withstands."""
    if vary == "sigma":
        return min(instance.graph.n_nodes, 20)
    points = instance.base.fronts().points[:, TYPES.index(vary)]
    return min(slider_end(instance, vary), max(10, 4 * int(points.max(initial=1))), 200)


def values_to(end: int | None, to_zero: bool, instance: Instance, vary: str) -> list[int] | None:
    """The values a curve is first drawn at; None: every integer, to where nothing is certified any more."""
    if to_zero and end is None and vary in TYPES:
        return None
    return stops(end_of(instance, vary) if end is None else end)


def _refined(values: list[int], vary: str) -> list[int]:
    """Every integer of an axis; only the given ones where each would cost a solve of its own."""
    most = MOST_VALUES if vary in TYPES else MOST_SLOW_VALUES
    return list(range(values[-1] + 1)) if values[-1] <= most else values


def _to_zero(members: list[Member], vary: str, relaxation: Relaxation, job: Job) -> list[int]:
    """Every integer up to the first at which no line certifies anything."""
    last = 0
    for member in members:
        for instance in member.instances:
            job.report(None, "looking for the end of the axis")
            targets = member.threat.targets if member.threat.targets is not None else instance.targets
            one = Fraction(1, max(1, instance.graph.n_nodes if targets is None else len(targets)))
            found = radius(session(instance), member.threat, vary, one, relaxation=relaxation, cancel=job.cancel)
            end = end_of(instance, vary) if found.unbounded else 0 if found.value is None else found.value + 1
            last = max(last, min(end, MOST_VALUES))
    return list(range(last + 1))


def main_axis(view: View) -> str:
    """The budget that matters most in this view: the largest one, or the first that is covered."""
    budgets = dict(zip(TYPES, view.threat.budgets))
    covered = state.covered(view.instance) or [TYPES[0]]
    return max(covered, key=lambda name: budgets[name])


def mini_values(view: View, vary: str) -> list[int]:
    """A dozen values around the sliders' position."""
    here = int(getattr(view.threat, vary))
    end = max(10, min(3 * here, MAX_BUDGET))
    return sorted({round(end * i / 12) for i in range(13)} | {here})


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
    kind = vary if vary in TYPES else next((t for t, b in zip(TYPES, view.threat.budgets) if b), TYPES[0])
    field, most = f"local_{kind}", state.most_per_node(view.instance)[kind]
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
        stages = [first] + ([_refined(first, vary)] if fine and _refined(first, vary) != first else [])
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
                        told = partial(_report_share, job, count, total, member.name)
                        line.append(_curve(instance, member.threat, vary, numbers, kind, job, told))
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


def strengthened_curves(view: View, found: Work, slot: str) -> Work | None:
    """The lines of the chosen relaxation strengthened, point by point; None if that is not wanted or not the time."""
    lines = first_kind(found)
    if not view.strengthen or not found.fresh or not lines:
        return None

    def run(job: Job) -> list[list[Curve]]:
        done = [list(line) for line in lines]
        for i, line in enumerate(lines):
            for j, one in enumerate(line):
                known = session(_instance_of(one, view))

                def told(points: int, total: int) -> None:
                    job.report(points / max(total, 1), f"point {points + 1:,} of {total:,}, widest bracket first")

                for better in strengthen(known, one, time_limit=SECONDS_PER_POINT, cancel=job.cancel, progress=told):
                    done[i][j] = better
                    job.report(job.share, job.note, [list(part) for part in done])
        return done

    key = ("strengthened", *found.key) if isinstance(found.key, tuple) else ("strengthened", found.key)
    return ask(slot, key, run, "Strengthening the curve", same=key, patience=0.3)


def strengthened_map(view: View, found: Work, slot: str) -> Work | None:
    """The map strengthened cell by cell; None if that is not wanted or not the time."""
    if not view.strengthen or not found.fresh or found.result is None:
        return None

    def run(job: Job) -> Surface:
        best: Surface = found.result

        def told(cells: int, total: int) -> None:
            job.report(cells / max(total, 1), f"cell {cells + 1:,} of {total:,}, widest bracket first")

        known = session(view.instance)
        limits: dict[str, Any] = {"time_limit": SECONDS_PER_POINT, "cancel": job.cancel, "progress": told}
        for better in strengthen(known, found.result, **limits):
            best = better
            job.report(job.share, job.note, best)
        return best

    key = ("strengthened", *found.key) if isinstance(found.key, tuple) else ("strengthened", found.key)
    return ask(slot, key, run, "Strengthening the map", same=key, patience=0.3)


def _instance_of(one: Curve, view: View) -> Instance:
    """The instance a curve was computed on: this one, or another split of it."""
    digest = one.facts.get("instance_digest")
    if digest in (None, view.instance.digest):
        return view.instance
    return next(
        instance
        for instance in (bundles.load(name, view.rule) for name in splits_of(view))
        if instance.digest == digest
    )


@dataclass(frozen=True, eq=False)
class Attacks:
    """The best attacks known along an axis: values at which one is known, and what each leaves uncertified."""

    values: np.ndarray
    left: np.ndarray


def attacks(member: Member, vary: str, values: list[int], relaxation: Relaxation, slot: str) -> Work:
    """The best replayed attacks, looked for at a few values and known between; the picture grows meanwhile."""
    kind = relaxation.relaxed

    def run(job: Job) -> Attacks:
        found = Attacks(np.zeros(0, dtype=np.int64), np.zeros(0, dtype=np.int64))
        told = 0.0
        known = session(member.instances[0])
        for k, (at, left) in enumerate(
            attacks_along(known, member.threat, vary, values, relaxation=kind, cancel=job.cancel)
        ):
            if job.cancel.is_set():
                break
            found = Attacks(at, left)
            now = time.monotonic()
            job.report((k + 1) / len(values), "", found if now - told > REFRESH else None)
            told = now if now - told > REFRESH else told
        return found

    key = ("attacks", vary, tuple(values), kind, member.key)
    return ask(slot, key, run, "Looking for attacks along the curve", same=(vary, kind, member.key), patience=0.1)


def told_attacks(task: Work | None) -> dict[str, Any]:
    """The same for a recipe: the values from which on the best attack known leaves more, and how many it leaves."""
    found: Attacks | None = None if task is None else task.result
    if found is None or not len(found.values):
        return {}
    more = np.diff(found.left, prepend=-1) > 0
    left = ",".join(str(number) for number in found.left[more].tolist())
    return {"bracket": found.values[more].tolist(), "left": left}


def known_attacks(task: Work | None, line: Curve) -> np.ndarray | None:
    """What the best attack known leaves uncertified at each value of a curve; None before any was looked for."""
    found: Attacks | None = None if task is None else task.result
    if found is None or not len(found.values):
        return None
    return best_below(line.values, found.values, found.left)


def first_kind(work: Work) -> list[list[Curve]]:
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
    progress: Callable[[float], None],
) -> Curve:
    return curve(
        session(instance), threat, vary, values, relaxation=relaxation, cancel=job.cancel, progress=progress
    )  # fmt: skip


#: Values on each axis of a map, stage by stage: each stage has the values of the one before.
MAP_STAGES = (6, 12, 24)
#: Maps of no more cells end at every integer.
MOST_CELLS = 900


def map_values(end: int, number: int) -> list[int]:
    """About `number` values from 0 to the end, denser at the beginning."""
    return sorted({round(end * (i / number) ** 1.5) for i in range(number + 1)})


def map_stages(ends: tuple[int, int], finest: bool = True) -> list[tuple[list[int], list[int]]]:
    """The values of a map on both axes: a few first, then finer ones."""
    stages = [(map_values(ends[0], k), map_values(ends[1], k)) for k in (MAP_STAGES if finest else MAP_STAGES[1:2])]
    if finest and (ends[0] + 1) * (ends[1] + 1) <= MOST_CELLS:
        stages.append((list(range(ends[0] + 1)), list(range(ends[1] + 1))))
    return [stage for k, stage in enumerate(stages) if not k or stage != stages[k - 1]]


def map_over(
    view: View, x: str, y: str, ends: tuple[int, int], relaxation: Relaxation, slot: str, finest: bool = True
) -> Work:
    """A map over two budgets, shown while it grows: coarse, then finer, the corner around the sliders first."""
    fixed = _free(view.threat, x, y)
    near = (position(view.threat, x) or 0, position(view.threat, y) or 0)
    stages = map_stages(ends, finest)

    def run(job: Job) -> Surface:
        last: Surface | None = None
        told = 0.0
        engine = session(view.instance)
        for stage, (xs, ys) in enumerate(stages):
            finer: dict[str, Any] = {"coarser": last, "near": near} if stage else {}
            for last in surfaces(engine, fixed, x, xs, y, ys, relaxation=relaxation, cancel=job.cancel, **finer):
                total, done = last.done.size, int(last.done.sum())
                job.report(done / total, f"{done:,} of {total:,} cells{', finer' if stage else ''}")
                if time.monotonic() - told > REFRESH * (1 + stage):
                    told = time.monotonic()
                    job.report(job.share, job.note, last)
            if job.cancel.is_set():
                break
        assert last is not None
        return last

    question = Question(view.instance, fixed).key
    key = ("map", x, y, ends, finest, relaxation, question)
    return ask(slot, key, run, "Computing the map", same=(x, y, relaxation, question), patience=0.6)


def _free(threat: ThreatModel, x: str, y: str) -> ThreatModel:
    """The attacker without what a map varies: moving those sliders leaves the map as it is."""
    return threat.replace(**{name: None if name == "sigma" else 0 for name in (x, y)})


def is_coarse(found: Surface, ends: tuple[int, int], finest: bool = True) -> bool:
    """Whether a map is still in its first stage; later ones begin with what the one before has proven."""
    return len(found.x_values) <= len(map_stages(ends, finest)[0][0])


def map_attacks(view: View, x: str, y: str, ends: tuple[int, int], relaxation: Relaxation, slot: str) -> Work:
    """The best replayed attacks at a few cells of a map, those around the sliders first: (x, y, left) each."""
    fixed, kind = _free(view.threat, x, y), relaxation.relaxed
    xs, ys = map_stages(ends)[0]
    near = (position(view.threat, x) or 0, position(view.threat, y) or 0)

    def run(job: Job) -> list[tuple[int, int, int]]:
        cells = [(xs[i], ys[j]) for i, j in around((xs, ys), near)]
        found: list[tuple[int, int, int]] = []
        told = 0.0
        for one in attacks_over(session(view.instance), fixed, x, y, cells, relaxation=kind, cancel=job.cancel):
            found.append(one)
            now = time.monotonic()
            job.report(len(found) / len(cells), "", list(found) if now - told > 2 * REFRESH else None)
            told = now if now - told > 2 * REFRESH else told
        return found

    key = ("map attacks", x, y, ends, kind, Question(view.instance, fixed).key)
    return ask(slot, key, run, "Looking for attacks on the map", same=key, patience=0.1)


def largest(view: View, vary: str, share: int) -> Work:
    """The largest budget that still certifies this share (in per cent)."""
    relaxation = view.relaxation.relaxed

    def run(job: Job) -> Radius:
        return radius(
            session(view.instance),
            view.threat,
            vary,
            Fraction(share, 100),
            relaxation=relaxation,
            cancel=job.cancel,
            progress=lambda done: job.report(done),
        )

    return ask("radius", ("radius", vary, share, *view.key), run, "Searching", same=(vary, *view.family), patience=0.6)
