"""Which requests share work: threat models with the same program, and requests with the same results."""

from __future__ import annotations

import hashlib
import json
from dataclasses import dataclass
from typing import Any

import numpy as np

from certcore.domain.threat import ThreatModel
from certcore.domain.weights import Weights
from certcore.instance.instance import Instance
from certcore.sweep.solve_options import SolveOptions


@dataclass(frozen=True)
class ThreatFamily:
    """The part of a threat model that does not depend on the global budgets and the value of σ."""

    sigma: bool
    local: str
    rest: str

    @classmethod
    def of(cls, threat: ThreatModel) -> ThreatFamily:
        local = _digest(threat.local_mode, *threat.local) if threat.has_local else ""
        rest = _digest(threat.targets, threat.protected, *weights_of(threat))
        return cls(threat.sigma is not None, local, rest)

    def holds_for(self, other: ThreatFamily) -> bool:
        """Whether bounds of this family hold for the other one, because its attacker is no stronger."""
        return self.rest == other.rest and self.sigma <= other.sigma and self.local in ("", other.local)


@dataclass(frozen=True, eq=False)
class Question:
    """An instance and a threat model; `varied` fields (budgets, σ, local budgets by name) are left open."""

    instance: Instance
    threat: ThreatModel
    varied: tuple[str, ...] = ()
    options: SolveOptions | None = None

    def stored(self) -> dict[str, Any]:
        """Fields that a file of results must match; compatible with files of earlier versions."""
        own = self.threat.targets
        fields: dict[str, Any] = {
            "instance": self.instance.digest,
            "base_rule": str(self.instance.base_rule),
            "threat": self.threat.to_json() | dict.fromkeys(self.varied),
            "targets": None if own is None else np.asarray(own).tolist(),
        }
        if self.threat.weights is not None:
            fields["weights"] = _digest(*weights_of(self.threat))
        if self.options is not None:
            fields["relaxation"] = self.options.relaxation
            if self.options.rounds is not None:
                fields["rounds"] = self.options.rounds
        return fields

    @property
    def key(self) -> str:
        """Equal keys mean equal results; names and provenance are included because results show them."""
        return digest_of(self.stored() | {"varied": self.varied, "shown": self.instance.full_digest})


def weights_of(threat: ThreatModel) -> tuple[object, ...]:
    """What keys hold of the weights: which they are, and in what units results show them."""
    weights = threat.weights
    return (weights.values, weights.denominator, weights.source) if isinstance(weights, Weights) else (weights,)


def digest_of(fields: dict[str, Any]) -> str:
    """SHA-256 of plain fields, independent of their order."""
    return hashlib.sha256(json.dumps(fields, sort_keys=True, separators=(",", ":")).encode()).hexdigest()


def _digest(*parts: object) -> str:
    digest = hashlib.sha256()
    for part in parts:
        if isinstance(part, np.ndarray) and part.dtype != object:
            digest.update(str(part.shape).encode() + part.tobytes())
        else:
            digest.update(repr(part.tolist() if isinstance(part, np.ndarray) else part).encode())
        digest.update(b"|")
    return digest.hexdigest()
