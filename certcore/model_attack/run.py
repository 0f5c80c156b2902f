"""One attack from beginning to end: search at growing budgets, count with fresh samples, hold against certificates."""

from __future__ import annotations

import math
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from certcore import __version__
from certcore.base.division import DivisionBase
from certcore.common.errors import InputError
from certcore.common.exact import read_alpha
from certcore.common.progress import StepsDone, tell
from certcore.common.reading import whole_number
from certcore.domain.graph import Graph
from certcore.domain.limits import MAX_TRIALS
from certcore.domain.perturbations import TYPES
from certcore.domain.threat import ThreatModel
from certcore.instance.instance import Instance
from certcore.model_attack.counting import beaten, count_changed
from certcore.model_attack.flips import Flip, apply_flips
from certcore.model_attack.methods import METHODS, AttackMethod
from certcore.model_attack.room import Room
from certcore.model_attack.search import Search
from certcore.model_attack.stored import Level, ModelAttack, subject_digest
from certcore.program.problem import Problem
from certcore.votes.purposes import ATTACK_COUNT, ATTACK_RECOUNT

if TYPE_CHECKING:
    from certcore.model_attack.victim import Victim

#: Budgets of nested attacks, as far as they lie below the one asked for.
STEPS = (1, 2, 5, 10, 20, 50, 100, 200, 500, 1000, 2000, 5000)
#: Gradient steps without a time limit: in all, and at each of several levels.
MOST_STEPS, NESTED_STEPS = 150, 40
#: Samples counted between two looks at the clock and at the cancel button.
_CHUNK = 500


@dataclass(frozen=True)
class AttackOptions:
    """How long and how to look; checks itself. `samples` is fixed here, before anything is counted."""

    method: str = AttackMethod.LOCAL
    samples: int = 10_000
    alpha: str = "0.01"
    seed: int = 0
    time_limit: float | None = None
    """Seconds of searching, all levels together; counting comes on top."""
    nested: bool = False
    """Attacks at budgets of 1, 2, 5, … as well, each contained in the next."""

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

    Every finished level is given to `keep`; with `start` the levels that it holds are not searched again.
    """
    if isinstance(instance.base, DivisionBase):
        raise InputError(
            "votes over groups of edges are not attacked: their attack on the certificates is on the votes already; "
            "choose an instance of a smoothed or a convex model"
        )
    if instance.prediction is None:
        raise InputError("this instance has no predicted labels, so nobody can tell which of them change")
    problem = Problem(instance, threat)
    if not sum(threat.budgets):
        raise InputError("all budgets are 0; give some, for example attr_del=50")
    samples = 1 if victim.plain else options.samples
    begun = time.monotonic()
    search = Search(
        problem, victim, options.seed, margin=min(0.2, 4.5 / math.sqrt(samples)), cancel=cancel or threading.Event(),
        progress=progress, most_steps=NESTED_STEPS if options.nested else MOST_STEPS,
    )  # fmt: skip
    levels = [] if start is None else list(_resumable(start, instance, victim, options, problem, search))
    _same_model(victim, instance, options.seed)
    method = METHODS[AttackMethod(options.method)]

    def attack() -> ModelAttack:
        about = {
            "method": str(options.method), "seed": options.seed, "model": victim.digest, "test": "holm",
            "seconds": round(time.monotonic() - begun, 1), "versions": {"certcore": __version__},
        }  # fmt: skip
        used = tuple(search.flips[: levels[-1].flips])
        attackers = () if threat.sigma is None else tuple(Room(problem, used).attackers)
        return ModelAttack(
            subject_digest(instance), threat, used, attackers, tuple(levels), samples,
            options.alpha, victim.plain, about | (meta or {}), instance,
        )  # fmt: skip

    todo = [b for b in nested_budgets(threat, options.nested) if not levels or sum(b.values()) > levels[-1].flips]
    clock = _Clock(options.time_limit, [sum(budgets.values()) for budgets in todo])
    for number, budgets in enumerate(todo):
        fixed = len(search.flips)
        search.begin_level(clock.seconds(number))
        method(search, budgets, fixed)
        if search.cancel.is_set() and levels:
            break
        votes = count_votes(victim, apply_flips(instance.graph, search.flips), options.seed, samples, search.cancel)
        if votes is None:
            break
        levels.append(Level(len(search.flips), votes))
        found = attack()
        count = found.at(instance, threat)
        if count is None or found.within(instance, threat) is not levels[-1]:
            raise AssertionError("the attack breaks the threat model")
        keep(found)
        changed = count.n_changed
        tell(progress, len(search.flips), sum(threat.budgets), f"{changed} labels changed for certain")
        if search.cancel.is_set():
            break
    if not levels:
        raise InputError("the attack was stopped before its first level was counted; give it more time")
    return attack()


class _Clock:
    """Shares the time of a search out to its levels: larger budgets get more, by the square root."""

    def __init__(self, seconds: float | None, sizes: list[int]) -> None:
        self.left, self.weights = seconds, [math.sqrt(size) for size in sizes]

    def seconds(self, number: int) -> float | None:
        """For one level, of what the levels before it left."""
        if self.left is None:
            return None
        share = self.weights[number] / sum(self.weights[number:])
        given = self.left * share
        self.left -= given
        return given


def nested_budgets(threat: ThreatModel, nested: bool) -> list[dict[str, int]]:
    """Budgets from 1 up to those of the threat model, or these alone; with several types all grow in proportion."""
    whole = dict(zip(TYPES, threat.budgets))
    if not nested:
        return [whole]
    largest = max(whole.values())
    steps = [step for step in STEPS if step < largest]
    return [{kind: budget * step // largest for kind, budget in whole.items()} for step in steps] + [whole]


def count_votes(
    victim: Victim, graph: Graph, seed: int, samples: int, cancel: threading.Event, purpose: int = ATTACK_COUNT
) -> np.ndarray | None:
    """Votes on a graph from samples that no search has seen; None if it was cancelled."""
    voter = victim.voter(graph, seed)
    votes = np.zeros((voter.n_nodes, voter.n_classes), dtype=np.int64)
    for first in range(0, samples, _CHUNK):
        if cancel.is_set():
            return None
        votes += voter.count(purpose, first, min(_CHUNK, samples - first))
    return votes


def _same_model(victim: Victim, instance: Instance, seed: int) -> None:
    """Refuse a model that is plainly not the one whose labels were certified."""
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
    """The levels of an unfinished attack, if it was begun in the same way; its flips become those of the search."""
    start.check(instance)
    samples = 1 if victim.plain else options.samples
    before = (start.meta.get("model"), start.samples, start.alpha, start.meta.get("method"), start.meta.get("seed"))
    now = (victim.digest, samples, options.alpha, str(options.method), options.seed)
    if before != now:
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
    return levels


@dataclass(frozen=True)
class Recount:
    """One level counted again: labels changed in the file, in new samples, and in the file but surely not in fact."""

    flips: int
    stored: int
    recounted: int
    wrong: int


def recount(
    attack: ModelAttack, victim: Victim, instance: Instance, seed: int, cancel: threading.Event
) -> list[Recount]:
    """Count every level again with samples of another purpose, as many as before."""
    targets = np.asarray(instance.targets)
    labels = np.asarray(instance.prediction)[targets]
    result = []
    for level in attack.levels:
        graph = apply_flips(instance.graph, attack.flips[: level.flips])
        votes = count_votes(victim, graph, seed, attack.samples, cancel, ATTACK_RECOUNT)
        if votes is None:
            break
        before = attack.count(instance, level, targets)
        again = count_changed(instance, targets, votes, attack.alpha, plain=attack.plain)
        kept = np.flatnonzero(before.changed)
        chosen = votes[targets[kept]]
        rivals = chosen.copy()
        rivals[np.arange(len(kept)), labels[kept]] = -1
        # The label is surely not beaten if it beats the strongest rival: the same test, the other way round.
        rival = rivals.argmax(axis=1)
        swapped = np.zeros((len(kept), 2), dtype=np.int64)
        swapped[:, 0], swapped[:, 1] = chosen[np.arange(len(kept)), labels[kept]], chosen[np.arange(len(kept)), rival]
        if attack.plain:
            wrong = int((chosen.argmax(axis=1) == labels[kept]).sum())
        else:
            wrong = int(beaten(swapped, np.ones(len(kept), dtype=np.int64), float(read_alpha(attack.alpha))).sum())
        result.append(Recount(level.flips, before.n_changed, again.n_changed, wrong))
    return result
