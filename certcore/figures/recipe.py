"""How a figure was computed, precise enough to compute it again: the same numbers from one command."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any


@dataclass(frozen=True)
class Recipe:
    """What `certcore draw` and `certcore.export.make` take to make one figure again.

    `kind` is one of `certcore.export.making.KINDS_OF_FIGURES`, `instances` are the files (of a curve: its splits).
    `threat` is what `ThreatModel.to_json` returns, before anything is varied. `targets` is the selection by name;
    without one the targets are `nodes`, or each instance's own. `options` is what else the kind needs: `vary` and
    `values`, `x`, `x_values`, `y`, `y_values`, `node`, `attack` and so on, see `certcore draw --help`.
    """

    kind: str
    instances: tuple[str, ...] = ()
    threat: Mapping[str, Any] = field(default_factory=dict)
    targets: str | None = None
    nodes: tuple[int, ...] | None = None
    relaxation: str = "tight"
    base_rule: str = "binary"
    options: Mapping[str, Any] = field(default_factory=dict)

    def __post_init__(self) -> None:
        object.__setattr__(self, "instances", tuple(str(path) for path in self.instances))
        object.__setattr__(self, "nodes", None if self.nodes is None else tuple(int(node) for node in self.nodes))


def member_name(axis: str, value: int) -> str:
    """What a line of a family is called: one per number of attackers, or per local budget."""
    return f"σ = {value:,}" if axis == "sigma" else f"{value:,} per node"
