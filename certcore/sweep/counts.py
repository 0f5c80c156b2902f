"""The result of a sweep: counts of certified targets over one or two axes, each with its own proven bound."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from certcore.common.display import Display
from certcore.common.statistics import average_radius
from certcore.domain.local_mode import LocalMode
from certcore.domain.threat import ThreatModel
from certcore.domain.weights import shown_by, source_of
from certcore.instance.instance import Instance
from certcore.program.relaxation import Relaxation
from certcore.result.tripwire import KnownAttack, check
from certcore.solve.status import Status
from certcore.sweep.axis import Axis
from certcore.verify.proof import certified_count


@dataclass(frozen=True, eq=False, repr=False, kw_only=True)
class Counts(Display):
    """Certified and naive counts over one axis (a curve) or two (a map): arrays of shape (n,) or (n, m)."""

    axes: tuple[str, ...]
    """The varied quantities."""
    axis_values: tuple[np.ndarray, ...]
    targets: int
    certified: np.ndarray
    """Certified counts, all proven, including those of an interrupted sweep."""
    naive: np.ndarray
    bounds: np.ndarray
    """Upper bounds on the number of uncertified targets, as exact fractions."""
    done: np.ndarray
    """Where the relaxation gives no better count, with weights none better by a ten-thousandth of them; other bounds
    are sound but may improve."""
    relaxation: Relaxation
    status: Status
    threat: ThreatModel
    """The fixed part of the threat model."""
    solves: int
    seconds: float
    facts: dict[str, Any] = field(default_factory=dict)
    instance: Instance | None = None
    """The certified instance."""

    def __post_init__(self) -> None:
        check(self)

    def __repr__(self) -> str:
        spans = " × ".join(f"{name} {values[0]}…{values[-1]}" for name, values in zip(self.axes, self.axis_values))
        targets = shown_by(self.threat.weights)(self.targets)
        counted = f"{targets} targets" if self.threat.weights is None else f"a weight of {targets}"
        return f"<Counts {spans}: {self.done.size} values, {counted}; {self.relaxation}, {self.status}>"

    @property
    def vary(self) -> str:
        """The axis of a curve; the first one of a map."""
        return self.axes[0]

    @property
    def values(self) -> np.ndarray:
        return self.axis_values[0]

    @property
    def x(self) -> str:
        return self.axes[0]

    @property
    def y(self) -> str:
        """The second axis of a map."""
        return self.axes[1]

    @property
    def x_values(self) -> np.ndarray:
        return self.axis_values[0]

    @property
    def y_values(self) -> np.ndarray:
        return self.axis_values[1]

    @property
    def share_done(self) -> float:
        return float(self.done.mean())

    @property
    def average_radius(self) -> float | None:
        """The average certifiable radius of a curve over 0, 1, 2, … up to a count of 0; otherwise None."""
        return average_radius(self.values, self.certified) if len(self.axes) == 1 else None

    @property
    def naive_average_radius(self) -> float | None:
        return average_radius(self.values, self.naive) if len(self.axes) == 1 else None

    def threat_at(self, cell: Sequence[int]) -> ThreatModel:
        """The threat model of one cell, given by its index on each axis."""
        at = [values[i].item() for values, i in zip(self.axis_values, cell)]
        return self.threat.replace(**{name: int(v) if v == int(v) else v for name, v in zip(self.axes, at)})

    def refuted_by(self, instance: Instance, attack: KnownAttack) -> tuple[ThreatModel, int] | None:
        """The largest cell whose count an attack refutes; an attack is also within all larger budgets."""
        over = self.certified > self.targets - attack.attacked
        axes = [Axis(name) for name in self.axes]
        if any(axis.is_local for axis in axes) and self.threat.local_mode is LocalMode.RELATIVE:
            return None  # shares are rounded here
        for number, (axis, values) in enumerate(zip(axes, self.axis_values)):
            least = None if axis.is_local else axis.of(attack.threat)
            if least is not None:  # a fast test that excludes most attacks
                over = over & (values >= least).reshape([-1 if k == number else 1 for k in range(over.ndim)])
        if not over.any():
            return None
        cell = tuple(np.argwhere(over)[-1].tolist())
        threat = self.threat_at(cell)
        return (threat, int(self.certified[cell])) if attack.within(instance, threat) else None

    @property
    def bound(self) -> np.ndarray:
        """The bounds as floats, for figures."""
        return self.bounds.astype(np.float64)

    @property
    def ratio(self) -> np.ndarray:
        return self.certified / max(self.targets, 1)

    @property
    def naive_ratio(self) -> np.ndarray:
        return self.naive / max(self.targets, 1)

    def columns(self) -> dict[str, Any]:
        """Columns of equal length for a table, one row per cell."""
        names = ("value",) if len(self.axes) == 1 else ("x", "y")
        columns = dict(zip(names, np.meshgrid(*self.axis_values, indexing="ij")))
        shown = shown_by(self.threat.weights)
        columns |= {
            "certified": shown(self.certified),
            "naive_certified": shown(self.naive),
            "bound": shown(self.bound),
        }
        if len(self.axes) == 2:
            columns["done"] = self.done
        return {name: column.ravel() for name, column in columns.items()}

    def to_json(self) -> dict[str, Any]:
        """The fields of `curve --json` and `surface --json`."""
        columns = {name: np.asarray(column).tolist() for name, column in self.columns().items()}
        points = [dict(zip(columns, row)) for row in zip(*columns.values())]
        how = {
            "relaxation": self.relaxation,
            "status": str(self.status),
            "solves": self.solves,
            "seconds": self.seconds,
            **source_of(self.threat.weights),
        }
        targets = shown_by(self.threat.weights)(self.targets)
        if len(self.axes) == 2:
            return {"x": self.x, "y": self.y, "targets": targets, "points": points, **how}
        radii = {"average_radius": self.average_radius, "naive_average_radius": self.naive_average_radius}
        return {"vary": self.vary, "targets": targets, "points": points, **radii, **how}


def monotone(bounds: np.ndarray) -> np.ndarray:
    """Tighten bounds over ascending axes: a bound at larger values holds at all smaller ones."""
    for axis in range(bounds.ndim):
        bounds = np.flip(np.minimum.accumulate(np.flip(bounds, axis), axis=axis), axis)
    return bounds


def counts_of(targets: int, bounds: np.ndarray) -> np.ndarray:
    """The certified count that follows from each bound."""
    found = [certified_count(targets, bound) for bound in bounds.ravel().tolist()]
    return np.array(found, dtype=np.int64).reshape(bounds.shape)
