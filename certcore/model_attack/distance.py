"""Attacks on real-valued attributes (`attr_l2`): projected gradients within a global, a local and a σ limit."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from certcore.domain.perturbations import TYPES
from certcore.model_attack.room import Room
from certcore.model_attack.search import Search
from certcore.model_attack.shift import Shift
from certcore.program.problem import Problem

L2 = TYPES.index("attr_l2")
#: STEPS: gradient steps without a time limit.
#: COMPARED: number of votes by which attacks are compared.
#: EVERY: steps between two comparisons.
STEPS, COMPARED, EVERY = 60, 256, 10
#: Rows are rounded up to whole units, so short moves are left out: rows whose squares together are less than the share
#: DUST of all, and those beyond one row per PER_ROW units of the budget.
DUST, PER_ROW = 1e-3, 8


@dataclass(frozen=True, eq=False)
class Ball:
    """Admissible moves: at most `budget` units in all, and local limits; with σ at some nodes only."""

    problem: Problem
    budget: int
    attackers: np.ndarray
    """Nodes that are attackers already."""

    @property
    def _unit(self) -> float:
        """The squared length of one unit."""
        scale = self.problem.instance.scale
        assert scale is not None
        return float(scale.std) ** 2 / scale.units

    @property
    def length(self) -> float:
        """The largest norm; budgets are rounded up to whole units, so one unit is not used."""
        return float(np.sqrt(max(self.budget - 1, 0) * self._unit))

    def project(self, moves: np.ndarray) -> np.ndarray:
        """Moves shortened row by row to the local limits, limited to σ nodes, then shortened together."""
        squares = (moves**2).sum(axis=1)
        most = np.maximum(self.problem.capacities[L2].astype(np.float64) - 1, 0) * self._unit
        shorter = np.sqrt(np.minimum(1.0, most / np.maximum(squares, 1e-30)))
        moves, squares = moves * shorter[:, None], squares * shorter**2
        sigma = self.problem.threat.sigma
        if sigma is not None:
            free = max(0, sigma - int(self.attackers.sum()))
            others = np.where(self.attackers, -1.0, squares)
            kept = self.attackers.copy()
            kept[np.argsort(-others, kind="stable")[:free]] = True
            moves, squares = moves * kept[:, None], squares * kept
        total = float(np.sqrt(squares.sum()))
        return moves * min(1.0, self.length / max(total, 1e-300))

    def rounded(self, moves: np.ndarray) -> Shift:
        """The moves in whole steps, admissible in whole units."""
        squares = (moves**2).sum(axis=1)
        order = np.argsort(squares)
        dust = order[np.cumsum(squares[order]) < DUST * squares.sum()]
        few = order[: max(0, len(order) - max(1, self.budget // PER_ROW))]
        moves, before = moves.copy(), squares.sum()
        moves[np.concatenate([dust, few])] = 0.0
        moves *= np.sqrt(before / max((moves**2).sum(), 1e-30))
        scale = self.problem.instance.scale
        assert scale is not None
        for _ in range(60):
            shift = Shift.of(self.project(moves))
            units = shift.units(scale)
            over = units > self.problem.capacities[L2][shift.nodes] - 1
            if units.sum() < self.budget and not over.any():
                return shift
            moves = 0.99 * shift.table(len(moves))
        return Shift.of(np.zeros_like(moves))


def ball_of(search: Search, budget: int) -> Ball:
    """What the remaining limits allow after the flips of a search."""
    return Ball(search.problem, budget, Room(search.problem, search.flips).attacker)


def move_by_gradients(search: Search, budget: int) -> None:
    """Move the attributes along gradients of a soft count of changed labels; the best moves by votes are kept."""
    ball = ball_of(search, budget)
    n, width = search.graph.n_nodes, search.graph.n_attrs
    start = search.shift
    moves = np.zeros((n, width)) if start is None else ball.project(start.table(n))
    best = search.worth(search.shares(search.flips, COMPARED))
    assert search.problem.instance.scale is not None
    search.width, steps = search.width_for(budget // search.problem.instance.scale.units), STEPS
    for step in range(steps):
        if search.stopped:
            break
        search.shift = Shift.of(moves)
        gradients = search.gradients(search.flips, None, None)
        uphill = gradients.units @ gradients.weights.T
        norm = float(np.sqrt((uphill**2).sum()))
        if not norm:
            break
        rate = 2 * ball.length / np.sqrt(steps) * (1 - step / (2 * steps))
        moves = ball.project(moves + rate * uphill / norm)
        if step % EVERY == EVERY - 1:
            search.shift = ball.rounded(moves)
            worth = search.worth(search.shares(search.flips, COMPARED))
            if worth > best or start is None:
                best, start = worth, search.shift
        search.step_done(sum(search.problem.threat.budgets), f"about {best:.0f} labels changed, moving")
    search.shift = start


def move_at_random(search: Search, budget: int) -> None:
    """A random direction, as a baseline."""
    ball = ball_of(search, budget)
    search.shift = ball.rounded(
        ball.project(1e6 * search.rng.normal(size=(search.graph.n_nodes, search.graph.n_attrs)))
    )
