"""Threat models that share their programs."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass

import numpy as np

from certcore.domain.threat import ThreatModel


@dataclass(frozen=True)
class ThreatFamily:
    """What stays the same of a threat model while the global budgets and the value of σ move."""

    sigma: bool
    local: str
    rest: str

    @classmethod
    def of(cls, threat: ThreatModel) -> ThreatFamily:
        local = _digest(threat.local_mode, *threat.local) if threat.has_local else ""
        rest = _digest(threat.targets, threat.protected, threat.node_costs, threat.edge_costs)
        return cls(threat.sigma is not None, local, rest)

    def holds_for(self, other: ThreatFamily) -> bool:
        """Whether bounds found for this family hold for the other one: its attacker can do no more."""
        return self.rest == other.rest and self.sigma <= other.sigma and self.local in ("", other.local)


def _digest(*parts: object) -> str:
    digest = hashlib.sha256()
    for part in parts:
        if isinstance(part, np.ndarray) and part.dtype != object:
            digest.update(str(part.shape).encode() + part.tobytes())
        else:
            digest.update(repr(part.tolist() if isinstance(part, np.ndarray) else part).encode())
        digest.update(b"|")
    return digest.hexdigest()
