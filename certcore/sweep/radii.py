"""Certified radius: the largest budget (or σ) at which a given share of the targets is certified."""

from __future__ import annotations

import math
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, Unpack

from certcore.common.errors import InputError
from certcore.common.exact import bounded_decimal
from certcore.domain.perturbations import ADJ_DEL, TABLE
from certcore.domain.threat import MAX_BUDGET, Budgets, ThreatModel
from certcore.domain.weights import shown_by, source_of
from certcore.instance.instance import Instance
from certcore.program.problem import Problem
from certcore.solve.status import Status
from certcore.sweep.axis import Axis
from certcore.sweep.session import Session, as_session, threat_for
from certcore.sweep.solve_options import SolveOptions


@dataclass(frozen=True)
class Radius:
    """The largest value of the varied quantity at which at least `at_least` of the targets are certified.

    `value` is None if even 0 does not certify the share. `unbounded` means that the share is proven at every value.
    `limit_reached` means that the search ended at the largest budget of a threat model: the share is certified up to
    there, and nothing is known beyond.
    """

    vary: str
    at_least: Fraction
    value: int | float | None
    unbounded: bool
    limit_reached: bool
    certified: int
    """Certified targets at `value` (at 0 if it is None)."""
    next_certified: int | None
    """Certified targets at the next larger value, too few. Lengths use steps of s / 100 or less."""
    next_value: int | float | None
    """The next larger value, if it was evaluated."""
    targets: int
    needed: int
    """With weights, all these counts are sums of them."""
    relaxation: str
    status: Status
    solves: int
    seconds: float
    weights: Any = None

    @property
    def ratio(self) -> float:
        return self.certified / self.targets if self.targets else 0.0

    def to_json(self) -> dict[str, Any]:
        """The fields of `radius --json`."""
        shown = shown_by(self.weights)
        return {
            "vary": self.vary,
            "at_least": float(self.at_least),
            "value": self.value,
            "unbounded": self.unbounded,
            "limit_reached": self.limit_reached,
            "certified": shown(self.certified),
            "ratio": self.ratio,
            "next_certified": shown(self.next_certified),
            "targets": shown(self.targets),
            "needed": shown(self.needed),
            "relaxation": self.relaxation,
            "status": str(self.status),
            "solves": self.solves,
            "seconds": self.seconds,
            **source_of(self.weights),
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
    """The largest budget or σ at which the share is certified, by bisection over proven counts.

    The fixed part is a `ThreatModel` or plain arguments: `radius(instance, vary="attr_del", at_least=0.8, sigma=5)`.
    """
    options = SolveOptions.read(relaxation, time_limit, rounds)
    started = time.perf_counter()
    session = as_session(source)
    threat = threat_for(session.instance, threat, budgets)
    axis = Axis.parse(vary, local=False)
    share = read_share(at_least)
    problem = Problem(session.instance, axis.at(threat, 0))
    options = options.answered(problem)
    targets = problem.total
    needed = max(0, math.ceil(share * targets))
    search = _RadiusSearch(session, threat, axis, options, cancel, progress)
    largest, all_there_is = largest_useful(problem, axis)
    if axis.lengths:
        largest = search.count_steps(largest)
    low, high = search.last_and_first(needed, largest)
    value = search.value(low) if low >= 0 else None
    # What an interrupted search knows about the next value is not that it certifies too few.
    next_known = high in search.counts and search.status is not Status.INTERRUPTED
    return Radius(
        vary=axis.name,
        at_least=share,
        value=value,
        unbounded=low == largest and all_there_is,
        limit_reached=low == largest and not all_there_is,
        certified=search.count(max(low, 0)),
        next_certified=search.counts[high] if next_known else None,
        next_value=search.value(high) if next_known else None,
        targets=targets,
        needed=needed,
        relaxation=options.relaxation,
        status=search.status,
        solves=search.solves,
        seconds=time.perf_counter() - started,
        weights=threat.weights,
    )


def first_uncertified(
    source: Instance | Session,
    threat: ThreatModel,
    vary: str,
    *,
    most: float | None = None,
    relaxation: str = "tight",
    cancel: threading.Event | None = None,
) -> int | float | None:
    """The smallest value at which nothing is certified; None if there is none (up to `most`) or if cancelled."""
    session, axis = as_session(source), Axis.parse(vary, local=False)
    search = _RadiusSearch(session, threat, axis, SolveOptions.read(relaxation, None), cancel)
    if axis.lengths and most is not None:
        end = math.ceil(Fraction(repr(most)) / search.step)
    else:
        last = largest_useful(Problem(session.instance, axis.at(threat, 0)), axis)[0]
        end = search.count_steps(last) if axis.lengths else int(last if most is None else most)
    _, first = search.last_and_first(1, end)
    return search.value(first) if first <= end and search.status is not Status.INTERRUPTED else None


def read_share(value: float | str | Fraction) -> Fraction:
    """A share from 0 to 1, exactly: 0.29 is 29/100, and 0.99996 is not rounded to 1."""
    try:
        if isinstance(value, Fraction):
            share = value
        else:
            decimal = bounded_decimal(str(value))
            if len(decimal.normalize().as_tuple().digits) > 15:  # a JSON number has no more digits
                raise ValueError("too long")
            share = Fraction(decimal)
    except ValueError as error:
        raise InputError(f"the share is {value!r}; expected a number from 0 to 1 with at most 15 digits") from error
    if not 0 <= share <= 1:
        raise InputError(f"the share is {value}; expected a number from 0 to 1")
    return share


def largest_useful(problem: Problem, axis: Axis) -> tuple[int, bool]:
    """The last value to evaluate, and whether nothing changes beyond it.

    Nothing changes once the budget pays for everything that exists, or for all flips that any front point needs. If
    both exceed the largest budget of a threat model, larger values stay unknown.
    """
    graph = problem.instance.graph
    if axis.is_sigma:
        return graph.n_nodes, True
    exists = graph.n_edges if axis.kind == ADJ_DEL else int(problem.capacities[axis.kind].sum())
    asked = int(problem.fronts.points[:, axis.kind].max(initial=0)) * graph.n_nodes
    # The result must agree with `certify` at any budget. Its relaxed programs do not always limit flips by the
    # attributes that exist, and any budget for edge additions makes all fields the whole graph, even if no edge can be
    # added.
    last = max(exists, asked) if TABLE[axis.kind].at_nodes else max(exists, int(TABLE[axis.kind].adds_edges))
    return min(last, MAX_BUDGET), min(exists, asked) <= MAX_BUDGET


class _RadiusSearch:
    def __init__(
        self,
        session: Session,
        threat: ThreatModel,
        axis: Axis,
        options: SolveOptions,
        cancel: threading.Event | None,
        progress: Callable[[float], None] | None = None,
    ) -> None:
        self.session, self.threat, self.axis, self.options = session, threat, axis, options
        self.cancel, self.progress = cancel, progress
        scale = session.instance.scale
        self.step = scale.step(100) if axis.lengths and scale is not None else Fraction(1)
        self.counts: dict[int, int] = {}
        self.status = Status.OPTIMAL
        self.solves = 0

    def value(self, number: int) -> int | float:
        """The value in the threat model of a number of steps."""
        return float(number * self.step) if self.axis.lengths else number

    def count_steps(self, amount: int) -> int:
        """Number of steps within an amount in units."""
        scale = self.session.instance.scale
        return 0 if scale is None else max(0, math.floor(Fraction(scale.length(amount)) / self.step) - 1)

    def last_and_first(self, needed: int, largest: int) -> tuple[int, int]:
        """The last value that certifies enough (−1: none) and the first known not to, by doubling and bisection.

        Certified counts decrease as the value grows. `largest` + 1 is never evaluated and means that no value is too
        large.
        """
        if not self.enough(0, needed):
            return -1, 0
        low, high, step = 0, largest + 1, 1
        while low < largest:
            guess = min(largest, low + step)
            if not self.enough(guess, needed):
                high = guess
                break
            low, step = guess, step * 2
        while high - low > 1 and self.status is not Status.INTERRUPTED:
            middle = (low + high) // 2
            if self.enough(middle, needed):
                low = middle
            else:
                high = middle
            if self.progress is not None:
                self.progress(1 / (high - low))
        return low, high

    def at(self, number: int) -> ThreatModel:
        return self.axis.at(self.threat, number * self.step if self.axis.lengths else number)

    def enough(self, value: int, needed: int) -> bool:
        """Whether the value certifies enough; if a preview shows it, the solve is skipped."""
        if value not in self.counts:
            preview = self.session.preview(self.at(value), relaxation=self.options.relaxation)
            if preview.certified >= needed and not preview.final:
                return True
        return self.count(value) >= needed

    def count(self, value: int) -> int:
        if value not in self.counts:
            certificate = self.session.certify(
                self.at(value), **self.options.arguments, attack=False, cancel=self.cancel
            )
            self.solves += certificate.solves
            self.status = self.status.then(certificate.status)
            self.counts[value] = certificate.certified
        return self.counts[value]
