"""How much can be promised: the largest budget (or σ) that keeps a given share of the targets certified."""

from __future__ import annotations

import math
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, Unpack

import numpy as np

from certcore.common.errors import InputError
from certcore.common.exact import bounded_decimal
from certcore.domain.perturbations import ADJ_DEL, TABLE
from certcore.domain.threat import MAX_BUDGET, Budgets, ThreatModel
from certcore.instance.instance import Instance
from certcore.program.problem import Problem
from certcore.solve.status import Status
from certcore.sweep.axis import Axis
from certcore.sweep.effort import Effort
from certcore.sweep.session import Session, as_session, threat_for


@dataclass(frozen=True)
class Radius:
    """The largest value of what was varied at which at least `at_least` of the targets are certified.

    `value` is None if not even 0 keeps the share. With `unbounded` it is proven that the share stays certified whatever
    the value is. With `limit_reached` the search ended at the largest budget there can be in a threat model: the share
    stays certified up to there, and nothing is known beyond.
    """

    vary: str
    at_least: Fraction
    value: int | None
    unbounded: bool
    limit_reached: bool
    certified: int
    """Certified targets at `value` (at 0 if there is none)."""
    next_certified: int | None
    """Certified targets at the next larger value: too few."""
    targets: int
    needed: int
    relaxation: str
    verified: bool
    status: Status
    solves: int
    seconds: float

    @property
    def ratio(self) -> float:
        return self.certified / self.targets if self.targets else 0.0

    def to_json(self) -> dict[str, Any]:
        """The fields of `radius --json`."""
        return {
            "vary": self.vary,
            "at_least": float(self.at_least),
            "value": self.value,
            "unbounded": self.unbounded,
            "limit_reached": self.limit_reached,
            "certified": self.certified,
            "ratio": self.ratio,
            "next_certified": self.next_certified,
            "targets": self.targets,
            "needed": self.needed,
            "relaxation": self.relaxation,
            "verified": self.verified,
            "status": str(self.status),
            "solves": self.solves,
            "seconds": self.seconds,
        }


def radius(
    source: Instance | Session,
    threat: ThreatModel | None = None,
    vary: str = "attr_del",
    at_least: float | str | Fraction = "0.8",
    *,
    relaxation: str = "tight",
    time_limit: float | None = None,
    rounds: int | None = None,
    cancel: threading.Event | None = None,
    progress: Callable[[float], None] | None = None,
    **budgets: Unpack[Budgets],
) -> Radius:
    """The largest budget or σ that keeps the share certified, by bisection over verified counts.

    What stays fixed is a `ThreatModel`, or plain arguments: `radius(instance, vary="attr_del", at_least=0.8, sigma=5)`.
    """
    effort = Effort.read(relaxation, time_limit, rounds)
    started = time.perf_counter()
    session = as_session(source)
    threat = threat_for(session.instance, threat, budgets)
    axis = Axis.parse(vary, local=False)
    share = read_share(at_least)
    problem = Problem(session.instance, axis.at(threat, 0))
    targets = len(problem.targets)
    needed = max(0, math.ceil(share * targets))
    search = _RadiusSearch(session, threat, axis, effort, cancel)
    largest, all_there_is = largest_useful(problem, axis)
    low, high = -1, largest + 1  # certified enough at `low`, not at `high`
    if search.enough(0, needed):
        low = 0
        step = 1
        while low < largest:
            guess = min(largest, low + step)
            if not search.enough(guess, needed):
                high = guess
                break
            low, step = guess, step * 2
    else:
        high = 0
    while high - low > 1 and search.status is not Status.INTERRUPTED:
        middle = (low + high) // 2
        if search.enough(middle, needed):
            low = middle
        else:
            high = middle
        if progress is not None:
            progress(1 / (high - low))
    value = low if low >= 0 else None
    return Radius(
        vary=axis.name,
        at_least=share,
        value=value,
        unbounded=low == largest and all_there_is,
        limit_reached=low == largest and not all_there_is,
        certified=search.count(max(low, 0)),
        next_certified=search.counts.get(high),
        targets=targets,
        needed=needed,
        relaxation=effort.relaxation,
        verified=effort.relaxation.is_proven or problem.whole_graph,
        status=search.status,
        solves=search.solves,
        seconds=time.perf_counter() - started,
    )


def read_share(value: float | str | Fraction) -> Fraction:
    """A share from 0 to 1, exactly: 0.29 means 29/100. Every digit counts: 0.99996 is not all of them."""
    try:
        if isinstance(value, Fraction):
            share = value
        else:
            decimal = bounded_decimal(str(value))
            if len(decimal.normalize().as_tuple().digits) > 15:  # a number as JSON holds no more
                raise ValueError("too long")
            share = Fraction(decimal)
    except ValueError as error:
        raise InputError(f"the share is {value!r}; expected a number from 0 to 1 with at most 15 digits") from error
    if not 0 <= share <= 1:
        raise InputError(f"the share is {value}; expected a number from 0 to 1")
    return share


def largest_useful(problem: Problem, axis: Axis) -> tuple[int, bool]:
    """The last value to look at, and whether nothing changes beyond it.

    Nothing changes once everything that exists can be paid for, or once every target can get all the flips that any
    point of its front asks for. Where both come to more than a threat model can hold, the rest stays unknown.
    """
    graph = problem.instance.graph
    if axis.is_sigma:
        return graph.n_nodes, True
    if axis.kind == ADJ_DEL:
        amounts, paid = np.ones(graph.n_edges, np.int64), problem.edge_costs
    else:
        amounts = problem.capacities[axis.kind]
        paid = np.ones(len(amounts), np.int64) if not TABLE[axis.kind].at_nodes else problem.node_costs
    # In Python's integers: a million nodes with a million attributes at a cost of a million each exceed 64 bits.
    exists = sum(int(amounts[paid == cost].sum()) * cost for cost in np.unique(paid).tolist())
    asked = int(problem.fronts.points[:, axis.kind].max(initial=0)) * graph.n_nodes * int(paid.max(initial=1))
    # What is said here must be what `certify` says at any budget: its relaxed programs do not always count the
    # attributes that exist, and any budget for edge additions makes the fields global, even if nobody can add one.
    last = max(exists, asked) if TABLE[axis.kind].at_nodes else max(exists, int(TABLE[axis.kind].adds_edges))
    return min(last, MAX_BUDGET), min(exists, asked) <= MAX_BUDGET


class _RadiusSearch:
    def __init__(
        self,
        session: Session,
        threat: ThreatModel,
        axis: Axis,
        effort: Effort,
        cancel: threading.Event | None,
    ) -> None:
        self.session, self.threat, self.axis, self.effort, self.cancel = session, threat, axis, effort, cancel
        self.counts: dict[int, int] = {}
        self.status = Status.OPTIMAL
        self.solves = 0

    def enough(self, value: int, needed: int) -> bool:
        """Whether the value certifies enough; a preview that shows it already saves the solve."""
        if value not in self.counts:
            preview = self.session.preview(self.axis.at(self.threat, value), relaxation=self.effort.relaxation)
            if preview.certified >= needed and not preview.final:
                return True
        return self.count(value) >= needed

    def count(self, value: int) -> int:
        if value not in self.counts:
            certificate = self.session.certify(
                self.axis.at(self.threat, value), **self.effort.arguments, attack=False, cancel=self.cancel
            )
            self.solves += certificate.solves
            self.status = self.status.then(certificate.status)
            self.counts[value] = certificate.certified
        return self.counts[value]
