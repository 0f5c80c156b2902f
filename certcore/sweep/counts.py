"""Common base of curves and surfaces: counts of certified targets, and which of them are proven."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Any, ClassVar, TypeVar

import numpy as np

from certcore.common.display import Display
from certcore.domain.local_mode import LocalMode
from certcore.domain.threat import ThreatModel
from certcore.instance.instance import Instance
from certcore.program.relaxation import Relaxation
from certcore.result.tripwire import KnownAttack, check
from certcore.solve.status import Status
from certcore.sweep.axis import Axis
from certcore.verify.proof import certified_count

C = TypeVar("C", bound="Counts")


@dataclass(frozen=True, eq=False, repr=False, kw_only=True)
class Counts(Display):
    """Certified and naive counts over one or two axes: arrays of shape (n,) or (n, m), and the number of targets."""

    axis_columns: ClassVar[tuple[str, ...]]
    """Column names of the axes in tables."""

    axes: tuple[str, ...]
    """The varied quantities."""
    axis_values: tuple[np.ndarray, ...]
    targets: int
    certified: np.ndarray
    """Certified counts, including those of an interrupted sweep; proven where `verified`."""
    naive: np.ndarray
    bounds: np.ndarray
    """Upper bounds on the number of uncertified targets, as exact fractions; proven where `verified`."""
    done: np.ndarray
    """Where the relaxation gives no better bound; other bounds are sound but may improve."""
    relaxation: Relaxation
    status: Status
    threat: ThreatModel
    """The fixed part of the threat model."""
    solves: int
    seconds: float
    facts: dict[str, Any] = field(default_factory=dict)
    largest_gap: float = 0.0
    """Estimate of the largest increase of a count if its cell were solved, as a share of the targets.

    Nothing is certified with it. Cells that are `done` do not contribute.
    """
    by_totals: bool = False
    """Whether all fields are the whole graph at every cell, so that only totals matter and nothing is solved."""
    instance: Instance | None = None
    """The certified instance."""

    def __post_init__(self) -> None:
        check(self)

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

    def with_bounds(self: C, bounds: np.ndarray, relaxation: Relaxation) -> C:
        """The same sweep with other bounds, each also used at all smaller values."""
        held = monotone(bounds)
        return replace(self, bounds=held, certified=counts_of(self.targets, held), relaxation=relaxation)

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

    @property
    def verified(self) -> np.ndarray:
        """Whether each bound is proven in exact arithmetic (false for bounds of an integer program)."""
        return np.full(self.naive.shape, self.relaxation.is_proven or self.by_totals)

    def columns(self) -> dict[str, Any]:
        """Columns of equal length for a table, one row per cell."""
        places = np.meshgrid(*self.axis_values, indexing="ij")
        columns = {
            "certified": self.certified,
            "naive_certified": self.naive,
            "bound": self.bound,
            "verified": self.verified,
        }
        return {name: column.ravel() for name, column in (dict(zip(self.axis_columns, places)) | columns).items()}

    def _points(self) -> list[dict[str, Any]]:
        """The rows of the table, as dictionaries by column name."""
        columns = {name: np.asarray(column).tolist() for name, column in self.columns().items()}
        return [dict(zip(columns, row)) for row in zip(*columns.values())]

    def _how(self) -> dict[str, Any]:
        """Status, solves and related fields of `--json`."""
        return {
            "relaxation": self.relaxation,
            "status": str(self.status),
            "solves": self.solves,
            "largest_gap": self.largest_gap,
            "seconds": self.seconds,
        }


def monotone(bounds: np.ndarray) -> np.ndarray:
    """Tighten bounds over ascending axes: a bound at larger values holds at all smaller ones."""
    for axis in range(bounds.ndim):
        bounds = np.flip(np.minimum.accumulate(np.flip(bounds, axis), axis=axis), axis)
    return bounds


def counts_of(targets: int, bounds: np.ndarray) -> np.ndarray:
    """The certified count that follows from each bound."""
    found = [certified_count(targets, bound) for bound in bounds.ravel().tolist()]
    return np.array(found, dtype=np.int64).reshape(bounds.shape)
