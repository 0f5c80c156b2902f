"""Strengthening a finished curve or surface point by point: the point with the widest bracket first.

What is reached is kept by the session: asking again at the same budgets returns it at once and goes on from there.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator

import numpy as np

from certcore.common.errors import InputError
from certcore.program.problem import Problem
from certcore.program.relaxation import Relaxation
from certcore.sweep.axis import Axis
from certcore.sweep.counts import C
from certcore.sweep.session import Session

Told = Callable[[int, int], None]
"""Points done, and points in all."""


def strengthen(
    session: Session,
    found: C,
    *,
    time_limit: float,
    cancel: threading.Event | None = None,
    progress: Told | None = None,
) -> Iterator[C]:
    """The curve or surface with better bounds, after each point; every bound is proven and holds at smaller budgets.

    Points that need nothing are passed over, and so are curves over local budgets.
    """
    if found.instance is not None and found.instance.digest != session.instance.digest:
        # Bounds of one instance say nothing about another, not even about the same votes under another base rule.
        raise InputError(
            "the session is of another instance than the curve or map; strengthen it with a session of its own"
        )
    if any(Axis(name).is_local for name in found.axes):
        return
    largest = found.threat_at([-1] * found.bounds.ndim)
    if not Problem(session.instance, largest).has_strong_rows:
        return
    threats = {cell: found.threat_at(cell) for cell in np.ndindex(found.bounds.shape)}
    best = {cell: session.best_attack(threat) for cell, threat in threats.items()}
    open_ = [cell for cell, threat in threats.items() if int(found.bounds[cell]) > best[cell] and any(threat.budgets)]
    order = sorted(open_, key=lambda cell: (best[cell] - found.bounds[cell], cell))
    for done, cell in enumerate(order):
        if cancel is not None and cancel.is_set():
            return
        if progress is not None:
            progress(done, len(order))
        certificate = session.certify(
            threats[cell], relaxation=Relaxation.STRONG, time_limit=time_limit, cancel=cancel
        )  # fmt: skip
        bounds = found.bounds.copy()
        bounds[cell] = min(bounds[cell], certificate.bound)
        found = found.with_bounds(bounds, Relaxation.STRONG)
        yield found
