"""Large programs: a restricted model, started from a first-order method, grown until nothing is missing.

Every round gives multipliers for all rows of the whole program, and so a proven bound over all of its columns. The
solution of the restricted model, with the groups outside it filled in, is feasible for the whole program: where bound
and solution meet, the program is solved.
"""

from __future__ import annotations

import math
import threading
import time
from dataclasses import dataclass, field
from fractions import Fraction

import numpy as np

from certcore.program.program import Program
from certcore.program.structure import Structure
from certcore.solve.restricted import Proposal, Restricted, reached, tangent_values
from certcore.solve.status import Status
from certcore.verify.bound import scaled
from certcore.verify.multipliers import Multipliers, plain_bound

#: Bound and solution this close, relative to the bound, count as one.
CLOSE = 1e-7
#: Sites whose worth is this close to the best one, and groups this close to a kink, are in the model from the start.
NEAR = 0.02
#: At most so many sites and groups more in one round.
MAX_SITES, MAX_GROUPS = 2_000, 20_000
MAX_ROUNDS = 200


@dataclass(eq=False)
class Outcome:
    """The best bound so far and what belongs to it."""

    bound: Fraction
    multipliers: Multipliers | None = None
    lower: float = -math.inf
    x: np.ndarray | None = field(default=None, repr=False)
    status: Status = Status.TIME_LIMIT
    solves: int = 0

    @property
    def closed(self) -> bool:
        return float(self.bound) - self.lower <= CLOSE * max(1.0, float(self.bound))


class Large:
    """A structure too large to be given to the simplex method as a whole. Not thread-safe."""

    def __init__(self, structure: Structure) -> None:
        self.structure = structure
        self._model: Restricted | None = None

    def solve(self, program: Program, *, time_limit: float, cancel: threading.Event | None = None) -> Outcome:
        """The best bound within the time limit; `optimal` if the program was solved to its end."""
        deadline = time.perf_counter() + time_limit
        outcome = Outcome(plain_bound(program))
        if self._model is None:
            self._model = self._begin(program)
        else:
            self._model.move(program)
        model = self._model
        for _ in range(MAX_ROUNDS):
            proposal = model.solve(time_limit=deadline - time.perf_counter(), cancel=cancel)
            outcome.solves += 1
            outcome.status = proposal.status
            if proposal.status is Status.OPTIMAL:
                grown = self._take(model, proposal, outcome)
                if outcome.closed or not grown:
                    break
                outcome.status = Status.TIME_LIMIT
            else:
                break
        return outcome

    def _begin(self, program: Program) -> Restricted:
        x, y = crude_start(program)
        model = Restricted(program, y)
        s = self.structure
        gain = s.incidence.reach(y[s.field_rows]) / s.flips.cost
        best = np.zeros(4)
        np.maximum.at(best, s.flips.kind, gain)
        flips = np.flatnonzero((x[s.columns.flips] > 0) | (gain >= (1 - NEAR) * best[s.flips.kind]))
        model.admit(flips, undecided(program, x, y))
        return model

    def _take(self, model: Restricted, proposal: Proposal, outcome: Outcome) -> bool:
        """Prove what a proposal gives, keep the best, and take in what it lacked; False if it lacked nothing."""
        program, s = model.program, self.structure
        assert proposal.x is not None
        assert proposal.y is not None
        x, y = proposal.x, proposal.y
        multipliers = Multipliers.of(s, scaled(y))
        if multipliers is not None:
            multipliers = multipliers.settled(program)
            bound = multipliers.bound(program)
            if bound < outcome.bound or outcome.multipliers is None:
                outcome.bound, outcome.multipliers = min(bound, outcome.bound), multipliers
        value = s.constant + float(program.objective @ x)
        if value > outcome.lower:
            outcome.lower, outcome.x = value, x
        if outcome.closed:
            return False
        reduced = model.reduced_costs(y)[s.columns.flips]
        price = y[s.global_row[s.flips.kind]] * s.flips.cost
        absent = ~model.has(np.arange(len(s.flips)))
        sites = np.flatnonzero(absent & (reduced > 1e-9 * np.maximum(price, 1.0)))
        if len(sites):
            more = np.flatnonzero(absent & (reduced > -0.003 * price))
            sites = more[np.argsort(-reduced[more])[:MAX_SITES]]
        gaps = model.gaps(x, y)
        groups = np.flatnonzero(gaps > 1e-9)
        groups = groups[np.argsort(-gaps[groups])[:MAX_GROUPS]]
        model.admit(sites, groups)
        return bool(len(sites) or len(groups))


def crude_start(program: Program) -> tuple[np.ndarray, np.ndarray]:
    """No flips, and multipliers that leave nothing of any group."""
    s = program.structure
    y = np.zeros(s.matrix.shape[0])
    field = y[s.field_rows]
    for i, k in enumerate(s.types):
        row = s.field_of_point[:, i]
        need = np.flatnonzero((row >= 0) & program.open)
        np.maximum.at(field, row[need], s.groups.weight[s.points.group[need]] / s.points.amount[need, k])
    return np.zeros(s.columns.count), y


def undecided(program: Program, x: np.ndarray, y: np.ndarray) -> np.ndarray:
    """Groups for which a tangent will not do: it does not touch at x, or x is near a kink."""
    s = program.structure
    share = reached(program, x)
    best = np.bincount(s.points.group, weights=share, minlength=len(s.groups))
    gap = tangent_values(program, x, y) - s.groups.weight * np.minimum(best, 1.0)
    return np.flatnonzero((gap > 1e-9 * s.groups.weight) | ((best > 1 - NEAR) & (best < 1)))
