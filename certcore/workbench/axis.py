"""Values of a budget along an axis: sliders, curves, maps and animations."""

from __future__ import annotations

from collections.abc import Sequence

from certcore.domain.perturbations import LABELS, TYPES
from certcore.domain.threat import ThreatModel
from certcore.instance.instance import Instance
from certcore.sweep.ranges import stops

#: Parameters that can vary along an axis: every budget, also one that is not set, and σ.
AXES = {name: LABELS[name] for name in TYPES} | {"sigma": "attacked nodes"}
#: The most frames of an animation: more would take too long to compute.
MOST_FRAMES = 31


def main_axis(instance: Instance, threat: ThreatModel) -> str:
    """The covered type with the largest budget, or the first covered one."""
    budgets = dict(zip(TYPES, threat.budgets))
    return max(instance.covered_types or [TYPES[0]], key=lambda name: budgets[name])


def second_axis(covered: Sequence[str], axis: str) -> str | None:
    """The second axis of a map: another covered type, or σ."""
    return next((name for name in [*covered, "sigma"] if name != axis), None)


def values_of(first: int, last: int, now: int | None = None) -> list[int]:
    """Both ends, values between them (every integer at first, then coarser), and the present value if it is inside."""
    values = [first, *(value for value in stops(last) if first < value)]
    if len(values) > MOST_FRAMES - 1:
        step = (len(values) - 1) / (MOST_FRAMES - 2)
        values = [values[round(k * step)] for k in range(MOST_FRAMES - 1)]
    return sorted({*values, *([now] if now is not None and first < now < last else [])})
