"""What curves and surfaces have in common: counts of certified targets, and where they rest on proofs."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from certcore.common.display import Display
from certcore.domain.threat import ThreatModel
from certcore.instance.instance import Instance
from certcore.program.relaxation import Relaxation
from certcore.result.tripwire import KnownAttack, check
from certcore.solve.status import Status


@dataclass(frozen=True, eq=False, repr=False, kw_only=True)
class Counts(ABC, Display):
    """Certified and naive counts at many places, beside the number of targets."""

    targets: int
    certified: np.ndarray
    """Certified counts, also where the work was stopped before its end; proven where `verified`."""
    naive: np.ndarray
    relaxation: Relaxation
    status: Status
    threat: ThreatModel
    """What stayed fixed."""
    solves: int
    seconds: float
    facts: dict[str, Any] = field(default_factory=dict)
    by_totals: bool = False
    """Whether every field is the whole graph at every place: then totals decide, and no solver is asked."""
    instance: Instance | None = None
    """What was certified."""

    def __post_init__(self) -> None:
        check(self)

    @abstractmethod
    def refuted_by(self, instance: Instance, attack: KnownAttack) -> tuple[ThreatModel, int] | None:
        """A count that an attack refutes, with its threat model; None if all stand."""

    @property
    def ratio(self) -> np.ndarray:
        return self.certified / max(self.targets, 1)

    @property
    def naive_ratio(self) -> np.ndarray:
        return self.naive / max(self.targets, 1)

    @property
    def verified(self) -> np.ndarray:
        """Whether each bound has been proven in exact arithmetic (not so where an integer program was asked)."""
        return np.full(self.naive.shape, self.relaxation.is_proven or self.by_totals)

    @abstractmethod
    def columns(self) -> dict[str, Any]:
        """Equally long columns for a table, one row per place."""

    def _points(self) -> list[dict[str, Any]]:
        """The rows of the table, by the names of its columns."""
        columns = {name: np.asarray(column).tolist() for name, column in self.columns().items()}
        return [dict(zip(columns, row)) for row in zip(*columns.values())]

    def _how(self) -> dict[str, Any]:
        """How they were reached, as the fields of `--json`."""
        return {
            "relaxation": self.relaxation,
            "status": str(self.status),
            "solves": self.solves,
            "seconds": self.seconds,
        }
