"""Local budgets limited to those that a base certificate was computed for."""

from __future__ import annotations

from typing import Any

import numpy as np

from certcore.domain.local_mode import LocalMode
from certcore.domain.perturbations import TYPES
from certcore.domain.threat import ThreatModel
from certcore.instance.instance import Instance


def most_per_node(instance: Instance) -> dict[str, int | None]:
    """For each type the largest number of flips at one node that the base certificate covers (None: no limit)."""
    local = instance.base.local
    return dict(zip(TYPES, local.per_type if local is not None else (None,) * len(TYPES)))


def within_base(threat: ThreatModel, instance: Instance) -> ThreatModel:
    """The threat model with local budgets reduced to those that the base certificate covers.

    Larger ones would leave every node uncertified. Relative local budgets are not changed: the engine names the nodes
    where they are too large.
    """
    if threat.has_local and threat.local_mode == LocalMode.RELATIVE:
        return threat
    changes: dict[str, Any] = {}
    for name, most in most_per_node(instance).items():
        own: Any = getattr(threat, f"local_{name}")
        if most is not None and (own is None or np.max(own) > most):
            changes[f"local_{name}"] = most if own is None or np.ndim(own) == 0 else np.minimum(own, most)
    return threat.replace(local_mode=LocalMode.ABSOLUTE, **changes) if changes else threat
