"""Budget as time: one attack after the other, through solved points."""

from __future__ import annotations

import time
from fractions import Fraction
from typing import Any

from certcore.sweep.axis import Axis
from certcore.sweep.ranges import slider_end, unit_of
from certcore.workbench.attack import sent_of
from certcore.workbench.axis import AXES as AXES
from certcore.workbench.axis import values_of
from certcore.workbench.page import Frame

from ..background.engine import session
from ..background.jobs import Job
from ..background.work import Work, ask
from ..state.state import View

#: Seconds between two looks at the frames that are there.
REFRESH = 1.2


def present(view: View, axis: str) -> Any:
    """Where this budget or σ stands; None if every node is controlled."""
    value = Axis.parse(axis).of(view.threat)
    return float(value) if isinstance(value, Fraction) else value


def longest(view: View, axis: str) -> Any:
    """How far a film of this budget or σ can go."""
    end = view.instance.graph.n_nodes if axis == "sigma" else slider_end(view.instance, axis)
    return max(end, present(view, axis) or 0, unit_of(view.instance, axis) if isinstance(end, float) else 1)


def frames(view: View, axis: str, first: int, last: int) -> Work:
    """The certificates of a film, each with its attack, those nearest to the present value first.

    What is there already is on show while others are solved; moving along the axis leaves them as they are.
    """
    fixed, now = Axis.parse(axis).at(view.threat, first), present(view, axis)
    values = sorted(values_of(first, last), key=lambda value: (abs(value - (last if now is None else now)), value))
    relaxation = view.relaxation.relaxed

    def run(job: Job) -> list[Frame]:
        found: list[Frame] = []
        told = 0.0
        for k, value in enumerate(values):
            threat = Axis.parse(axis).at(view.threat, value)
            made = session(view.instance).certify(threat, relaxation=relaxation, cancel=job.cancel)
            if job.cancel.is_set():
                break
            found.append(Frame(value, made, sent_of(view.instance, made)))
            enough = time.monotonic() - told > REFRESH
            told = time.monotonic() if enough else told
            job.report((k + 1) / len(values), f"{k + 1} of {len(values)}", list(found) if enough else None)
        return found

    key = ("film", axis, first, last, relaxation, fixed.budgets, fixed.sigma, *view.family)
    return ask("film", key, run, "Looking for attacks along the budget", same=key, patience=0.1)
