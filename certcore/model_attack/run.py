"""One attack from start to end: search at growing budgets, count with fresh samples, check against certificates."""

from __future__ import annotations

import math
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np

from certcore import __version__
from certcore.base.ballots import BallotsBase
from certcore.common.errors import InputError
from certcore.common.exact import read_alpha
from certcore.common.progress import StepsDone, tell
from certcore.common.reading import whole_number
from certcore.domain.graph import Graph
from certcore.domain.limits import MAX_TRIALS
from certcore.domain.perturbations import FLIPS, TYPES
from certcore.domain.threat import ThreatModel
from certcore.instance.instance import Instance
from certcore.model_attack.distance import move_at_random, move_by_gradients
from certcore.model_attack.flips import Flip
from certcore.model_attack.methods import METHODS, AttackMethod
from certcore.model_attack.room import Room
from certcore.model_attack.search import Search
from certcore.model_attack.stored import Level, ModelAttack, subject_digest
from certcore.program.problem import Problem
from certcore.votes.purposes import ATTACK_COUNT

if TYPE_CHECKING:
    from certcore.model_attack.victim import Victim

#: Budgets of nested attacks, as far as they are below the requested one.
STEPS = (1, 2, 5, 10, 20, 50, 100, 200, 500, 1000, 2000, 5000)
#: Settings of the search for a single level, and for each of several; chosen on citeseer-gcn-attr-s1.
SINGLE: dict[str, Any] = {"most_steps": 150, "rounds": 12, "swap_width": 0.1}
NESTED: dict[str, Any] = {"most_steps": 40}
#: Samples counted between two checks of the clock and of cancellation.
_CHUNK = 500


@dataclass(frozen=True)
class AttackOptions:
    """Validated options of an attack. `samples` is fixed here, before anything is counted."""

    method: str = AttackMethod.LOCAL
    samples: int = 10_000
    alpha: str = "0.01"
    seed: int = 0
    time_limit: float | None = None
    """Seconds of search for all levels together; counting takes additional time."""
    nested: bool = False
    """Whether to attack at budgets of 1, 2, 5, … as well, each attack contained in the next."""

    def __post_init__(self) -> None:
        object.__setattr__(self, "method", AttackMethod.parse(self.method, "the method"))
        object.__setattr__(self, "samples", whole_number(self.samples, "the number of samples", 1, MAX_TRIALS))
        object.__setattr__(self, "seed", whole_number(self.seed, "the seed", 0, 2**62 - 1))
        read_alpha(self.alpha)


def run_attack(
    victim: Victim,
    instance: Instance,
    threat: ThreatModel,
    options: AttackOptions,
    *,
    start: ModelAttack | None = None,
    cancel: threading.Event | None = None,
    progress: StepsDone | None = None,
    keep: Callable[[ModelAttack], None] = lambda attack: None,
    meta: dict[str, Any] | None = None,
) -> ModelAttack:
    """An attack within the budgets of the threat model; if nested, at budgets of 1, 2, 5, … up to them.

    Every finished level is passed to `keep`. The levels in `start` are not searched again.
    """
    problem = _attackable(instance, threat)
    samples = 1 if victim.plain else options.samples
    search = Search(
        problem, victim, options.seed, margin=min(0.2, 4.5 / math.sqrt(samples)), cancel=cancel or threading.Event(),
        progress=progress, **(NESTED if options.nested else SINGLE),
    )  # fmt: skip
    levels = [] if start is None else list(_resumable(start, instance, victim, options, problem, search))
    _same_model(victim, instance, options.seed)
    made = _Made(problem, search, options, samples, meta or {}, levels)
    method = METHODS[AttackMethod(options.method)]
    todo = nested_budgets(problem.threat, options.nested)
    if levels and any(getattr(threat, kind) for kind in FLIPS):
        todo = [budgets for budgets in todo if sum(budgets[kind] for kind in FLIPS) > levels[-1].flips]
    elif levels:
        todo = todo[len(levels) :]
    clock = _Clock(options.time_limit, [sum(budgets.values()) for budgets in todo])
    for number, budgets in enumerate(todo):
        fixed = len(search.flips)
        search.begin_level(clock.seconds(number))
        if sum(budgets[kind] for kind in FLIPS) > fixed:
            method(search, {kind: budgets[kind] for kind in FLIPS}, fixed)
        if budgets["attr_l2"]:
            (move_at_random if options.method == AttackMethod.RANDOM else move_by_gradients)(search, budgets["attr_l2"])
        if search.cancel.is_set() and levels:
            break
        votes = count_votes(victim, search.perturbed(search.flips), options.seed, samples, search.cancel)
        if votes is None:
            break
        levels.append(Level(len(search.flips), votes, search.shift))
        found = made.attack()
        count = found.at(instance, threat)
        if count is None or found.within(instance, threat) is not levels[-1]:
            raise AssertionError("the attack breaks the threat model")
        keep(found)
        changed = count.n_changed
        tell(progress, len(search.flips), sum(threat.budgets), f"{changed} labels changed")
        if search.cancel.is_set():
            break
    if not levels:
        raise InputError("the attack was stopped before its first level was counted; give it more time")
    return made.attack()


def _attackable(instance: Instance, threat: ThreatModel) -> Problem:
    """The problem of the instance and threat model; refused if nothing can be attacked."""
    if isinstance(instance.base, BallotsBase):
        raise InputError(
            "ballots need no attack of their own: the one that `certify` finds is summed again and changes the labels "
            "it names; choose an instance of a smoothed or a convex model"
        )
    if instance.prediction is None:
        raise InputError("this instance has no predicted labels, so it is unknown which of them change")
    problem = Problem(instance, threat)
    if threat.inject:
        raise InputError(
            "inject has a budget, which model attacks cannot spend; give flips of attributes or edges, or attr_l2"
        )
    if not sum(problem.threat.budgets):
        raise InputError("all budgets are 0; give some, for example attr_del=50")
    return problem


@dataclass
class _Made:
    """The results of an attack so far, with its metadata."""

    problem: Problem
    search: Search
    options: AttackOptions
    samples: int
    meta: dict[str, Any]
    levels: list[Level]
    begun: float = field(default_factory=time.monotonic)

    def attack(self) -> ModelAttack:
        """The levels counted so far as an attack."""
        instance, threat, victim = self.problem.instance, self.problem.threat, self.search.victim
        about = {
            "method": str(self.options.method), "seed": self.options.seed, "model": victim.digest, "test": "holm",
            "seconds": round(time.monotonic() - self.begun, 1), "versions": {"certcore": __version__},
        }  # fmt: skip
        used = tuple(self.search.flips[: self.levels[-1].flips])
        attackers = () if threat.sigma is None else tuple(Room(self.problem, used).attackers)
        return ModelAttack(
            subject_digest(instance), threat, used, attackers, tuple(self.levels), self.samples,
            self.options.alpha, victim.plain, about | self.meta, instance,
        )  # fmt: skip


class _Clock:
    """Divides the time of a search among its levels, in proportion to the square root of the budget."""

    def __init__(self, seconds: float | None, sizes: list[int]) -> None:
        self.left, self.weights = seconds, [math.sqrt(size) for size in sizes]

    def seconds(self, number: int) -> float | None:
        """Seconds for one level, from the time that earlier levels left."""
        if self.left is None:
            return None
        share = self.weights[number] / sum(self.weights[number:])
        given = self.left * share
        self.left -= given
        return given


def nested_budgets(threat: ThreatModel, nested: bool) -> list[dict[str, int]]:
    """Budgets from 1 up to those of the threat model, or only these; several types grow in proportion."""
    whole = dict(zip(TYPES, threat.budgets))
    if not nested:
        return [whole]
    # Units of squared distance grow like flips, as if there were 1,000 of them.
    largest = max(whole[kind] for kind in FLIPS) or STEPS[9]
    steps = [step for step in STEPS if step < largest]
    return [{kind: budget * step // largest for kind, budget in whole.items()} for step in steps] + [whole]


def count_votes(
    victim: Victim, graph: Graph, seed: int, samples: int, cancel: threading.Event, purpose: int = ATTACK_COUNT
) -> np.ndarray | None:
    """Votes on a graph from samples that no search has used; None if cancelled."""
    voter = victim.voter(graph, seed)
    votes = np.zeros((voter.n_nodes, voter.n_classes), dtype=np.int64)
    for first in range(0, samples, _CHUNK):
        if cancel.is_set():
            return None
        votes += voter.count(purpose, first, min(_CHUNK, samples - first))
    return votes


def _same_model(victim: Victim, instance: Instance, seed: int) -> None:
    """Refuse a model that is evidently not the one whose labels were certified."""
    samples = 1 if victim.plain else 200
    votes = count_votes(victim, instance.graph, seed, samples, threading.Event())
    assert votes is not None
    sure = instance.base.fronts().certified((0,) * len(TYPES))
    same = votes.argmax(axis=1) == np.asarray(instance.prediction)
    if sure.any() and same[sure].mean() < 0.9:
        raise InputError(
            f"the model gives {int((~same[sure]).sum()):,} of {int(sure.sum()):,} nodes another label than the "
            "instance, without any attack; give the model that the instance was made from"
        )


def _resumable(
    start: ModelAttack, instance: Instance, victim: Victim, options: AttackOptions, problem: Problem, search: Search
) -> tuple[Level, ...]:
    """The levels of an unfinished attack if its options are the same; its flips are taken over by the search."""
    start.check(instance)
    samples = 1 if victim.plain else options.samples
    before = (start.meta.get("model"), start.samples, start.alpha, start.meta.get("method"), start.meta.get("seed"))
    now = (victim.digest, samples, options.alpha, str(options.method), options.seed)
    if before != now or not victim.digest:
        raise InputError(
            f"the attack to continue was made with {before[1:]} (samples, alpha, method, seed) on model "
            f"{str(before[0])[:12]}, but {now[1:]} on {now[0][:12]} is asked for; give the same, or another file"
        )
    room = Room(problem)
    flips: list[Flip] = []
    for flip in start.flips:
        if not room.fits(flip):
            break
        room.take(flip)
        flips.append(flip)
    levels = tuple(level for level in start.levels if level.flips <= len(flips))
    search.flips = flips[: levels[-1].flips] if levels else []
    search.shift = levels[-1].shift if levels else None
    return levels
