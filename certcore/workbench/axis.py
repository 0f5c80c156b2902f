"""Values of a budget along an axis: sliders, curves, maps and animations."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from certcore.domain.perturbations import LABELS, TYPES
from certcore.domain.threat import ThreatModel
from certcore.instance.instance import Instance
from certcore.sweep.ranges import MOST_VALUES, end_of, first_end, map_end, slider_end, stops, unit_of

#: Parameters that can vary along an axis: every budget, also one that is not set, and σ.
AXES = {name: LABELS[name] for name in TYPES} | {"sigma": "attacked nodes"}
#: A curve has every integer up to this end; beyond it fewer values.
MOST_FINE = 200
#: Where values are few, and where attacks are searched for: how many of them there are, without the first.
FEW_VALUES = 12
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


def free_of(threat: ThreatModel, *axes: str) -> ThreatModel:
    """The attacker without what a chart varies: moving those sliders leaves the chart as it is."""
    varied = [axis for axis in axes if not axis.startswith("local_")]
    return threat.replace(**{axis: None if axis == "sigma" else 0 for axis in varied})


def present(threat: ThreatModel, axis: str) -> float:
    """Where a slider stands on an axis; 0 where it has no one place."""
    value = getattr(threat, axis)
    return 0.0 if value is None or isinstance(value, np.ndarray) else float(value)


def axis_end(instance: Instance, threat: ThreatModel, axis: str, to: int | None) -> Any:
    """The end of an axis: as asked, or some times the slider's value."""
    if axis.startswith("local_"):
        return to or end_of(instance, axis)
    if axis == "sigma":
        longest: Any = map_end(instance, axis) if to is None else instance.graph.n_nodes
    else:
        longest = slider_end(instance, axis)
    if unit_of(instance, axis) != 1:
        return float(to or longest)
    here = present(threat, axis)
    return min(to, MOST_VALUES) if to else max(1, int(here), first_end(here, longest))


def axis_values(instance: Instance, axis: str, end: Any) -> list[Any]:
    """The values of a curve: every integer at first, steps for lengths."""
    unit = unit_of(instance, axis)
    if unit != 1:
        steps = [round(end * k / FEW_VALUES / float(unit)) for k in range(FEW_VALUES + 1)]
        return sorted({float(step * unit) for step in steps})
    return list(range(end + 1)) if end <= MOST_FINE else values_of(0, int(end))
