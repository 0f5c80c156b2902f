"""How the numbers of a figure were computed, precise enough to compute them again."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any


@dataclass(frozen=True)
class Recipe:
    """One call of the engine: `certify`, `curve` or `surface` on an instance file.

    `threat` is what `ThreatModel.to_json` returns. `targets` is the selection by name; without one the targets are
    `nodes`, or the instance's own. `arguments` is what else the call takes: `vary` and `values`, or `x`, `x_values`,
    `y`, `y_values`.
    """

    command: str
    instance: str
    threat: Mapping[str, Any] = field(default_factory=dict)
    targets: str | None = None
    relaxation: str = "tight"
    base_rule: str = "binary"
    arguments: Mapping[str, Any] = field(default_factory=dict)
    label: str = ""
    nodes: tuple[int, ...] | None = None
