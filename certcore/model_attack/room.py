"""The remaining budgets of an attacker after some flips: global and local budgets, σ and protected nodes."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np

from certcore.domain.perturbations import FLIPS, TYPES
from certcore.model_attack.flips import Flip
from certcore.program.problem import Problem


class Room:
    """The remaining budgets of flips. With σ, the first σ nodes used become the attacker nodes."""

    def __init__(self, problem: Problem, flips: Iterable[Flip] = ()) -> None:
        self.problem = problem
        self.left = dict(zip(FLIPS, problem.threat.budgets))
        self.capacity = dict(zip(TYPES, problem.capacities.copy()))
        sigma = problem.threat.sigma
        n = problem.instance.graph.n_nodes
        self.sigma = n if sigma is None else sigma
        self.attacker = np.zeros(n, dtype=bool)
        self.taken: set[tuple[bool, int, int]] = set()
        for flip in flips:
            self.take(flip)

    @property
    def kinds(self) -> list[str]:
        """The types with remaining budget."""
        return [kind for kind, left in self.left.items() if left > 0]

    def limited_to(self, budgets: dict[str, int]) -> Room:
        """Reduce the remaining budgets to those of `budgets`, minus what was spent so far."""
        whole = dict(zip(TYPES, self.problem.threat.budgets))
        for kind, budget in budgets.items():
            self.left[kind] -= whole[kind] - budget
        return self

    def open(self, kind: str, first: np.ndarray, second: np.ndarray) -> np.ndarray:
        """Which flips are admissible, each considered alone."""
        ends = [first, second] if kind in ("adj_add", "adj_del") else [first]
        room = self.capacity[kind]
        mine = np.any([self.attacker[end] for end in ends], axis=0)
        fits = (self.left[kind] > 0) & np.all([room[end] > 0 for end in ends], axis=0)
        return np.asarray(fits & (mine | (int(self.attacker.sum()) < self.sigma)))

    def fits(self, flip: Flip) -> bool:
        """Whether this flip is admissible."""
        if self._key(flip) in self.taken:
            return False
        return bool(self.open(flip.kind, np.array([flip.first]), np.array([flip.second]))[0])

    def take(self, flip: Flip) -> None:
        self.left[flip.kind] -= 1
        for end in flip.ends:
            self.capacity[flip.kind][end] -= 1
        if not self.attacker[list(flip.ends)].any():
            # Choose the end of larger degree as attacker: it can take part in more flips.
            incident = self.problem.instance.graph.incident
            self.attacker[max(flip.ends, key=lambda end: incident[end])] = True
        self.taken.add(self._key(flip))

    @property
    def attackers(self) -> list[int]:
        return np.flatnonzero(self.attacker).tolist()

    def _key(self, flip: Flip) -> tuple[bool, int, int]:
        pair = (flip.first, flip.second)
        if flip.of_edge and not self.problem.instance.graph.directed:
            pair = (min(pair), max(pair))
        return (flip.of_edge, *pair)
