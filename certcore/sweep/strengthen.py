"""Strengthen a finished curve or surface cell by cell, the widest gap first.

The session stores the results: a repeated request returns them at once and continues from there.
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
"""Cells done, and cells in all."""


def strengthen(
    session: Session,
    found: C,
    *,
    time_limit: float,
    cancel: threading.Event | None = None,
    progress: Told | None = None,
) -> Iterator[C]:
    """The curve or surface with better bounds, after each cell; every bound is proven and used at smaller budgets.

    Skips cells whose gap is closed, sweeps without valid strong rows, and sweeps over local budgets.
    """
    if not found.verified.all():
        # The results count as proven, so they may not contain unverified claims of an integer solver.
        raise InputError(
            f"the bounds of relaxation {found.relaxation} are the solver's claim; expected proven ones to strengthen: "
            "compute the curve or map with the relaxation tight"
        )
    if found.instance is not None and found.instance.digest != session.instance.digest:
        # Bounds of one instance do not hold for another, not even for the same votes under another base rule.
        raise InputError(
            "the session is of another instance than the curve or map; strengthen it with a session of its own"
        )
    last = found.threat_at([-1] * len(found.axes))
    if any(Axis(name).is_local for name in found.axes) or not Problem(session.instance, last).has_strong_rows:
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
