"""Strengthening finished curves and maps point by point: the point with the widest bracket first.

What is reached is kept by the session: asking again at the same budgets returns it at once and goes on from there.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from dataclasses import replace
from fractions import Fraction

import numpy as np

from certcore.common.errors import InputError
from certcore.domain.threat import ThreatModel
from certcore.program.problem import Problem
from certcore.program.relaxation import Relaxation
from certcore.sweep.curves import Curve
from certcore.sweep.session import Session
from certcore.sweep.surface_maps import Surface
from certcore.verify.proof import certified_count

Told = Callable[[int, int], None]
"""Points done, and points in all."""


def strengthen_curve(
    session: Session,
    found: Curve,
    *,
    time_limit: float,
    cancel: threading.Event | None = None,
    progress: Told | None = None,
) -> Iterator[Curve]:
    """The curve with better bounds, after each point; every bound is proven, and the curve stays monotone."""
    _can_start_from(session, found)
    if found.vary.startswith("local_"):
        return
    threats = [found.threat.replace(**{found.vary: int(value)}) for value in found.values.tolist()]
    if not Problem(session.instance, threats[-1]).has_strong_rows:
        return
    bounds = list(found.bounds)
    for point, bound in _points(session, threats, bounds, time_limit, cancel, progress):
        bounds[point] = min(bounds[point], bound)
        for smaller in range(point - 1, -1, -1):
            bounds[smaller] = min(bounds[smaller], bounds[smaller + 1])
        yield replace(
            found,
            bounds=tuple(bounds),
            certified=np.array([certified_count(found.targets, b) for b in bounds]),
            relaxation=Relaxation.STRONG,
        )


def strengthen_surface(
    session: Session,
    found: Surface,
    *,
    time_limit: float,
    cancel: threading.Event | None = None,
    progress: Told | None = None,
) -> Iterator[Surface]:
    """The map with better bounds, after each cell; a bound at larger budgets holds at all smaller ones."""
    _can_start_from(session, found)
    xs, ys = found.x_values.tolist(), found.y_values.tolist()
    cells = [(i, j) for i in range(len(xs)) for j in range(len(ys))]
    threats = [found.threat.replace(**{found.x: int(xs[i]), found.y: int(ys[j])}) for i, j in cells]
    if not Problem(session.instance, threats[-1]).has_strong_rows:
        return
    bounds = found.bounds.copy()
    start = [bounds[cell] for cell in cells]
    for point, bound in _points(session, threats, start, time_limit, cancel, progress):
        i, j = cells[point]
        smaller = bounds[: i + 1, : j + 1]
        smaller[smaller > bound] = bound
        certified = np.array([[certified_count(found.targets, b) for b in row] for row in bounds])
        yield replace(found, bounds=bounds.copy(), certified=certified, relaxation=Relaxation.STRONG)


def _can_start_from(session: Session, found: Curve | Surface) -> None:
    """Bounds of one instance say nothing about another, not even about the same votes under another base rule.

    What is yielded counts as proven, so nothing in it may be the word of an integer solver.
    """
    if not found.verified.all():
        raise InputError(
            f"the bounds of relaxation {found.relaxation} are the solver's word; expected proven ones to strengthen: "
            "compute the curve or map with the relaxation tight"
        )
    if found.instance is not None and found.instance.digest != session.instance.digest:
        raise InputError(
            "the session is of another instance than the curve or map; strengthen it with a session of its own"
        )


def _points(
    session: Session,
    threats: list[ThreatModel],
    bounds: list[Fraction],
    time_limit: float,
    cancel: threading.Event | None,
    progress: Told | None,
) -> Iterator[tuple[int, Fraction]]:
    """Points with their strong bounds, the widest bracket first; those that need nothing are passed over."""
    found = [session.best_attack(threat) for threat in threats]
    open_ = [point for point, bound in enumerate(bounds) if int(bound) > found[point] and any(threats[point].budgets)]
    order = sorted(open_, key=lambda point: (found[point] - bounds[point], point))
    for done, point in enumerate(order):
        if cancel is not None and cancel.is_set():
            return
        if progress is not None:
            progress(done, len(order))
        certificate = session.certify(
            threats[point], relaxation=Relaxation.STRONG, time_limit=time_limit, cancel=cancel
        )
        yield point, certificate.bound
