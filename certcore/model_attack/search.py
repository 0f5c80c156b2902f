"""The search shared by all methods: a method adds flips, and votes with common random numbers evaluate them."""

from __future__ import annotations

import math
import threading
import time
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np
from scipy.special import expit

from certcore.common.progress import StepsDone, tell
from certcore.domain.graph import Graph
from certcore.domain.perturbations import TYPES
from certcore.model_attack.flips import Flip, apply_flips
from certcore.model_attack.room import Room
from certcore.model_attack.shift import Shift
from certcore.program.problem import Problem
from certcore.votes.purposes import ATTACK_SEARCH

if TYPE_CHECKING:
    from certcore.model_attack.victim import Gradients, Victim

#: Width of the sigmoid over shares of votes when attacks are compared; gradients use a wider one, see `width_for`.
NARROW = 0.03
#: Number of possible new edges considered in one step.
NEW_EDGES = 4000
#: Number of attributes considered for addition in one step, per node.
PER_NODE = 4


@dataclass(eq=False)
class Search:
    """One attack under construction: its flips in order, and everything that determines the next ones."""

    problem: Problem
    victim: Victim
    seed: int = 0
    votes_per_step: int = 256
    gradients_per_step: int = 16
    most_steps: int = 150
    """Gradient steps at one level, if there is no time limit."""
    rounds: int = 6
    """Rounds of swaps at one level, if there is no time limit."""
    swap_width: float = 1.0
    """Largest width of the sigmoid while flips are swapped: a narrow one prefers labels that nearly change."""
    margin: float = 0.03
    """Required lead of another class in shares of votes, so that the final test finds it significant."""
    cancel: threading.Event = field(default_factory=threading.Event)
    progress: StepsDone | None = None
    flips: list[Flip] = field(default_factory=list)
    shift: Shift | None = None
    """Moved attributes."""

    def __post_init__(self) -> None:
        self.steps = self.steps_before = 0
        self.step_seconds = 1.0
        self.width = 0.1
        self.deadline: float | None = None
        self.rng = np.random.default_rng([self.seed, 0xA77AC])

    def begin_level(self, seconds: float | None) -> None:
        """Start the clock of one level; its random numbers depend only on the flips so far, so it can be resumed."""
        self.steps = self.steps_before = 1000 * len(self.flips)
        self.rng = np.random.default_rng([self.seed, 0xA77AC, len(self.flips)])
        self.deadline = None if seconds is None else time.monotonic() + seconds

    @property
    def graph(self) -> Graph:
        return self.problem.instance.graph

    @cached_property
    def targets(self) -> np.ndarray:
        """Targets with a certified label."""
        targets = self.problem.targets
        return targets[self.problem.fronts.certified((0,) * len(TYPES))[targets]]

    @cached_property
    def labels(self) -> np.ndarray:
        return np.asarray(self.problem.instance.prediction)[self.targets]

    @property
    def stopped(self) -> bool:
        return self.cancel.is_set() or (self.deadline is not None and time.monotonic() > self.deadline)

    def perturbed(self, flips: Sequence[Flip]) -> Graph:
        """The graph with these flips and the attributes moved so far."""
        return apply_flips(self.graph, flips, self.shift)

    def shares(self, flips: Sequence[Flip], votes: int | None = None) -> np.ndarray:
        """Shares of votes (nodes, classes) on the perturbed graph, always from the same samples."""
        count = 1 if self.victim.plain else votes or self.votes_per_step
        voter = self.victim.voter(self.perturbed(flips), self.seed)
        return voter.count(ATTACK_SEARCH, 0, count) / count

    def leads(self, shares: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Lead of the best other class over each target's label, minus the margin, and which class it is."""
        chosen = shares[self.targets]
        rows = np.arange(len(chosen))
        own = chosen[rows, self.labels].copy()
        others = chosen.copy()
        others[rows, self.labels] = -1.0
        best = others.argmax(axis=1)
        return others[rows, best] - own - self.margin, best

    def worth(self, shares: np.ndarray) -> float:
        """A soft count of changed labels."""
        return float(expit(self.leads(shares)[0] / NARROW).sum())

    def gradients(self, flips: Sequence[Flip], shares: np.ndarray | None, pairs: np.ndarray | None) -> Gradients:
        """Gradients of a soft count of changed labels by bits; samples differ from step to step.

        Without `shares` of votes, the soft votes of these samples say how far each label is from changing.
        """

        def weigh(soft: np.ndarray) -> np.ndarray:
            lead, best = self.leads(soft if shares is None or self.victim.plain else shares)
            slope = expit(lead / self.width) * expit(-lead / self.width)
            result = np.zeros(soft.shape)
            result[self.targets, best] += slope
            result[self.targets, self.labels] -= slope
            return result

        from certcore.model_attack.victim import gradients_of

        count = 1 if self.victim.plain else self.gradients_per_step
        first = 10**6 + self.steps * count
        return gradients_of(self.victim, self.perturbed(flips), weigh, pairs, self.seed, first, count)

    def width_for(self, budget: int) -> float:
        """Width of the sigmoid for gradients: with more flips per target, labels farther from changing count."""
        share = budget / max(1, len(self.targets))
        return float(np.clip(0.6 * math.sqrt(share), 0.1, 0.3))

    def step_done(self, of: int, what: str) -> None:
        self.steps += 1
        tell(self.progress, len(self.flips), of, what)

    def batch(self, missing: int) -> int:
        """How many flips to take in one step, so that all flips fit into the remaining steps or seconds."""
        steps = max(1, self.most_steps - (self.steps - self.steps_before))
        if self.deadline is not None:
            # A third is reserved for slower steps at larger attacks and for improvements.
            steps = max(1, int((self.deadline - time.monotonic()) * 0.67 / max(self.step_seconds, 1e-3)))
        return max(1, math.ceil(missing / steps))


@dataclass(frozen=True, eq=False)
class Candidates:
    """Possible flips of one type with their scores."""

    kind: str
    first: np.ndarray
    second: np.ndarray
    score: np.ndarray


def candidates(search: Search, room: Room, flips: Sequence[Flip], shares: np.ndarray) -> list[Candidates]:
    """Candidates for the next flip of each type; the score is the first-order gain."""
    graph, kinds = apply_flips(search.graph, flips), room.kinds
    new = new_pairs(search, room) if "adj_add" in kinds else np.zeros((0, 2), dtype=np.int64)
    there = search.graph.edges if "adj_del" in kinds else np.zeros((0, 2), dtype=np.int64)
    known = np.concatenate([there, new if search.victim.weighs_edges else new[:0]])
    gradients = search.gradients(flips, shares, known if len(known) else None)
    at_pairs = np.zeros(0) if gradients.pairs is None else gradients.pairs
    found = []
    for kind in kinds:
        if kind == "attr_del":
            first, second = np.repeat(np.arange(graph.n_nodes), graph.ones), graph.attr_indices
        elif kind == "attr_add":
            first, second = _additions(room, gradients, graph)
        else:
            first, second = (there if kind == "adj_del" else new).T
        here = at_pairs[: len(there)] if kind == "adj_del" else at_pairs[len(there) :]
        if kind == "adj_add" and not search.victim.weighs_edges:
            here = search.rng.random(len(new)) * 1e-9  # without gradients all are equal
        found.append(_still_open(room, kind, first, second, _score_of(search, gradients, kind, first, second, here)))
    return found


def _still_open(room: Room, kind: str, first: np.ndarray, second: np.ndarray, score: np.ndarray) -> Candidates:
    keep = room.open(kind, first, second) & (score > 0)
    first, second, score = first[keep], second[keep], score[keep]
    return Candidates(kind, first, second, score)


def _additions(room: Room, gradients: Gradients, graph: Graph) -> tuple[np.ndarray, np.ndarray]:
    """The best few attributes to add at every node."""
    nodes = np.flatnonzero((room.capacity["attr_add"] > 0) & (np.abs(gradients.units).sum(axis=1) > 0))
    count = min(PER_NODE, graph.n_attrs)
    columns = []
    for part in np.array_split(nodes, max(1, len(nodes) * graph.n_attrs // 4_000_000)):
        table = gradients.units[part] @ gradients.weights.T
        table[graph.attributes[part].nonzero()] = -np.inf
        columns.append(np.argpartition(-table, count - 1, axis=1)[:, :count].ravel())
    first, second = np.repeat(nodes, count), np.concatenate(columns)
    absent = np.asarray(graph.attributes[first, second]).ravel() == 0
    return first[absent], second[absent]


def new_pairs(search: Search, room: Room, count: int = NEW_EDGES) -> np.ndarray:
    """A random block of possible new edges, each with one end at or next to a target."""
    graph = search.graph
    free = np.flatnonzero(room.capacity["adj_add"] > 0)
    if len(free) < 2:
        return np.zeros((0, 2), dtype=np.int64)
    near = np.intersect1d(np.concatenate([search.targets, graph.adjacency[search.targets].indices]), free)
    pairs = np.stack([search.rng.choice(near if len(near) else free, count), search.rng.choice(free, count)], axis=1)
    if not graph.directed:
        pairs = np.sort(pairs, axis=1)
    pairs = np.unique(pairs[pairs[:, 0] != pairs[:, 1]], axis=0)
    exists = np.asarray(graph.adjacency[pairs[:, 0], pairs[:, 1]]).ravel() != 0
    return pairs[~exists]


def take_best(room: Room, found: Sequence[Candidates], count: int) -> list[Flip]:
    """The best flips that are admissible together, at most one per node: gradients ignore interactions of flips.

    `count` is for all types together, in proportion to their remaining budgets.
    """
    total = sum(room.left[one.kind] for one in found)
    taken: list[Flip] = []
    used: set[int] = set()
    for one in found:
        share = max(1, round(count * room.left[one.kind] / max(total, 1)))
        order = np.argsort(-one.score, kind="stable")[: 50 * share + 50]
        mine = 0
        for place in order.tolist():
            flip = Flip(one.kind, int(one.first[place]), int(one.second[place]))
            if mine >= share:
                break
            if used.isdisjoint(flip.ends) and room.fits(flip):
                room.take(flip)
                used.update(flip.ends)
                taken.append(flip)
                mine += 1
    return taken


def _score_of(
    search: Search, gradients: Gradients, kind: str, first: np.ndarray, second: np.ndarray, at_pairs: np.ndarray
) -> np.ndarray:
    """First-order gain of flips of one type; `at_pairs` are the gradients at these edges.

    A bit of the graph is present in a sample only with some probability, so the gain is scaled by how much the flip
    changes that probability.
    """
    theta = dict(zip(TYPES, search.victim.noise.fractions))
    sign = 1.0 if kind.endswith("add") else -1.0
    if kind in ("attr_add", "attr_del"):
        return sign * float(1 - theta["attr_add"] - theta["attr_del"]) * gradients.at(first, second)
    # Deleted edges of a sample have no gradient there, while new edges always have one.
    return sign * (float(1 - theta["adj_del"]) if kind == "adj_add" else 1.0) * at_pairs
