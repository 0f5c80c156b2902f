"""Large programs: a first-order method, then a restricted model that is grown until nothing is missing.

The first-order method tells within a second or two which sites are worth anything and which groups are decided. The
restricted model holds the rest, a tenth of the program or less, and the simplex method solves it exactly. Every stage
gives multipliers for all rows of the whole program, and so a proven bound over all of its columns. The solution of the
restricted model, with the groups outside it filled in, is feasible for the whole program: where bound and solution
meet, the program is solved. The next budgets start from the model as it is.
"""

from __future__ import annotations

import math
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from fractions import Fraction

import numpy as np

from certcore.common.products import dot
from certcore.domain.perturbations import TYPES
from certcore.program.hull import Hull
from certcore.program.program import Program
from certcore.program.structure import Structure
from certcore.solve.first_order import FirstOrder, Found, Limits, Shape, knapsack
from certcore.solve.restricted import Proposal, Restricted, reached, tangent_values
from certcore.solve.status import Status
from certcore.verify.bound import scaled
from certcore.verify.multipliers import Multipliers, plain_bound

#: Bound and solution this close, relative to the bound, count as one.
CLOSE = 1e-7
#: The first-order method goes on until its bound and its solution are this close, relative to the bound.
HANDOVER = 0.03
#: So many models are kept, each at the place where it was used last; the nearest one is moved.
MAX_MODELS = 6
#: Beyond this distance (see `effort`) a new model is quicker than the old one moved: one type, several types or σ …
#: With many entries moving costs more: 14 jumps in two types on PubMed (1.8 million) take 137, 77 and 68 s with 1.2,
#: 0.6 and 0.4, 32 cells of a map 47, 41 and 57 s; but 24 jumps on Cora-ML (0.24 million) 6.4 s with 1.2, 8.8 with 0.4,
#: and a point of its curve over σ on edges (2.7 million) 0.55 to 0.61 s with 1.2, 0.67 to 0.74 with 0.6.
FAR, FAR_TYPES, FAR_MANY, MANY_ENTRIES = 0.3, 1.2, 0.6, 1_000_000
#: … and so it is if the moved model turns out to be this far from its answer, relative to the bound. On a map of
#: Cora-ML 0.05 begins anew 71 times, in 20 of 36 s; 0.2 does so 11 times, in 24 s together.
ASTRAY, ASTRAY_TYPES = 0.05, 0.2
#: Sites whose worth is this close to the best one, and groups this close to a kink, are in the model from the start.
NEAR = 0.02
#: A group counts as decided at first if its tangent is off by no more than this share of its weight. Chosen on PubMed
#: at (5, 12), (3, 30) and (10, 9) additions and deletions; between 0.001 and 0.01 it hardly matters.
DECIDED = 0.002
#: At most so many sites more in one round.
MAX_SITES = 2_000
#: More rounds than this do not pay.
MAX_ROUNDS = 100
#: Reduced costs and gaps below this are rounding.
HAIR = 1e-9

Publish = Callable[[Multipliers], None]


@dataclass(eq=False)
class Outcome:
    """The best bound so far and what belongs to it."""

    bound: Fraction
    multipliers: Multipliers | None = None
    lower: float = -math.inf
    """What a solution of the relaxed program reaches, as far as floating point can tell."""
    x: np.ndarray | None = field(default=None, repr=False)
    status: Status = Status.TIME_LIMIT
    solves: int = 0

    @property
    def gap(self) -> float:
        """How far bound and solution are apart, relative to the bound."""
        return (float(self.bound) - self.lower) / max(1.0, float(self.bound))

    def offer(self, program: Program, multipliers: Multipliers | None) -> bool:
        """Keep multipliers if they prove more than what is known; whether they do."""
        if multipliers is None:
            return False
        multipliers = multipliers.settled(program)
        bound = multipliers.bound(program)
        better = bound < self.bound or (self.multipliers is None and bound == self.bound)
        if better:
            self.bound, self.multipliers = bound, multipliers
        return better


class Large:
    """A structure that is not given to HiGHS as a whole. Not thread-safe."""

    most_models = MAX_MODELS

    def __init__(self, structure: Structure) -> None:
        self.structure = structure
        self._publish: Publish | None = None
        self._hull = Hull(structure)
        shape = Shape.of(structure)
        self._first_order = FirstOrder(shape) if shape is not None else None
        self._simple = len(structure.types) == 1 and not structure.has_sigma
        many = structure.matrix.nnz > MANY_ENTRIES and not structure.has_sigma
        self._far = FAR if self._simple else FAR_MANY if many else FAR_TYPES
        self._models: list[Restricted] = []
        """Those used last come last."""

    def forget(self) -> None:
        """Begin anew next time."""
        self._models = []

    def solve(
        self,
        program: Program,
        *,
        time_limit: float,
        cancel: threading.Event | None = None,
        publish: Publish | None = None,
    ) -> Outcome:
        """The best bound within the time limit; `optimal` if the program was solved to its end.

        `publish` is told about every set of multipliers that proves more, while the solve is still under way.
        """
        deadline, self._publish = time.perf_counter() + time_limit, publish
        outcome = Outcome(plain_bound(program))
        model = self._nearest(program)
        fresh = model is None
        if model is not None:
            model.move(program)
        for _ in range(MAX_ROUNDS):
            if model is None:
                model = self._begin(program, outcome, deadline, cancel)
            if model is None:  # no time left for more than the first-order bound
                stopped = cancel is not None and cancel.is_set()
                outcome.status = Status.INTERRUPTED if stopped else Status.TIME_LIMIT
                break
            proposal = model.solve(time_limit=deadline - time.perf_counter(), cancel=cancel)
            outcome.solves += 1
            if proposal.status is not Status.OPTIMAL:
                outcome.status = proposal.status
                break
            grown = self._take(model, proposal, outcome)
            if outcome.gap <= CLOSE or not grown:
                outcome.status = Status.OPTIMAL if outcome.gap <= CLOSE else Status.FAILED
                break
            if not fresh and outcome.gap > (ASTRAY if self._simple else ASTRAY_TYPES):
                model, fresh = None, True
        if model is not None:
            self._models = [*self._models, model][-self.most_models :]
        return outcome

    def _nearest(self, program: Program) -> Restricted | None:
        """The model from which it is nearest to a place, taken out of those that are kept; None if all are far."""
        if not self._models:
            return None
        efforts = [effort(model.program, program) for model in self._models]
        if min(efforts) > self._far:
            return None
        return self._models.pop(int(np.argmin(efforts)))

    def _begin(
        self, program: Program, outcome: Outcome, deadline: float, cancel: threading.Event | None
    ) -> Restricted | None:
        """A model of what the first-order method leaves open; None if the time is over by then."""
        s = self.structure
        x, y = np.zeros(s.columns.count), np.zeros(s.matrix.shape[0])
        if self._first_order is not None:
            found = self._first_order.run(
                Limits.of(program, self._hull), gap=HANDOVER, seconds=deadline - time.perf_counter(), cancel=cancel,
                report=lambda found: self._tell(program, outcome, found),
            )  # fmt: skip
            self._tell(program, outcome, found)
            x[s.columns.flips], y[s.field_rows] = found.x, found.y
        else:
            y = crude_multipliers(program)
        if over(deadline, cancel):
            return None
        model = Restricted(program, y)
        worth = s.incidence.reach(y[s.field_rows]) / s.flips.cost
        best = np.zeros(len(TYPES))
        np.maximum.at(best, s.flips.kind, worth)
        near = worth >= (1 - NEAR) * best[s.flips.kind]
        model.admit(np.flatnonzero((x[s.columns.flips] > 0) | near), undecided(program, x, y))
        return model

    def _tell(self, program: Program, outcome: Outcome, found: Found) -> None:
        """Prove what the first-order method has found so far, and let others know."""
        s = self.structure
        y = np.zeros(s.matrix.shape[0])
        y[s.field_rows] = found.y
        worth = s.incidence.reach(found.y)
        upper = program.upper[s.columns.flips]
        for k in s.types:
            mine = s.flips.kind == k
            y[s.global_row[k]] = knapsack(worth[mine], s.flips.cost[mine], upper[mine], program.budgets[k])[1]
        self._offer(program, outcome, Multipliers.of(s, scaled(y)))

    def _offer(self, program: Program, outcome: Outcome, multipliers: Multipliers | None) -> bool:
        """Keep multipliers that prove more than what is known, and let others know of them; whether they did."""
        better = outcome.offer(program, multipliers)
        if better and self._publish is not None:
            assert outcome.multipliers is not None
            self._publish(outcome.multipliers)
        return better

    def _take(self, model: Restricted, proposal: Proposal, outcome: Outcome) -> bool:
        """Prove what a proposal gives, keep the best, and take in what it lacked; False if it lacked nothing."""
        program, s = model.program, self.structure
        assert proposal.x is not None
        assert proposal.y is not None
        x, y = proposal.x, proposal.y
        self._offer(program, outcome, Multipliers.of(s, scaled(y)))
        value = s.constant + dot(s.objective, x)
        if value > outcome.lower:
            outcome.lower, outcome.x = value, x
        if outcome.gap <= CLOSE:
            return True
        reduced = model.reduced_costs(y)[s.columns.flips]
        price = y[s.global_row[s.flips.kind]] * s.flips.cost
        absent = ~model.has(np.arange(len(s.flips)))
        sites = np.flatnonzero(absent & (reduced > HAIR * np.maximum(price, 1.0)))
        if len(sites):
            more = np.flatnonzero(absent & (reduced > -0.003 * price))
            sites = more[np.argsort(-reduced[more])[:MAX_SITES]]
        groups = np.flatnonzero(model.gaps(x, y) > HAIR)
        model.admit(sites, groups)
        return bool(len(sites) or len(groups))


def over(deadline: float, cancel: threading.Event | None) -> bool:
    return time.perf_counter() > deadline or (cancel is not None and cancel.is_set())


def effort(here: Program, there: Program) -> float:
    """How far it is from one place to another: steps count by their ratio, and upwards more, because points come in."""
    sigma = (here.sigma or 0, there.sigma or 0)
    steps = np.log1p([*there.budgets, sigma[1]]) - np.log1p([*here.budgets, sigma[0]])
    return float(np.where(steps > 0, 1.6 * steps, -steps).sum())


def crude_multipliers(program: Program) -> np.ndarray:
    """Multipliers that leave nothing of any group: every flip of its field pays as if it did all of the work."""
    s = program.structure
    y = np.zeros(s.matrix.shape[0])
    prices = y[s.field_rows]
    for i, k in enumerate(s.types):
        row = s.field_of_point[:, i]
        need = np.flatnonzero((row >= 0) & program.open)
        np.maximum.at(prices, row[need], s.groups.weight[s.points.group[need]] / s.points.amount[need, k])
    return y


def undecided(program: Program, x: np.ndarray, y: np.ndarray) -> np.ndarray:
    """Groups for which a tangent will hardly do: it is not near enough at x, or x is near a kink."""
    s = program.structure
    share = reached(program, x)
    best = np.bincount(s.points.group, weights=share, minlength=len(s.groups))
    gap = tangent_values(program, x, y) - s.groups.weight * np.minimum(best, 1.0)
    return np.flatnonzero((gap > DECIDED * s.groups.weight) | ((best > 1 - NEAR) & (best < 1)))
