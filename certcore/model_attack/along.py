"""Stored attacks along a growing budget: the value from which on each is admissible, and the labels it changes."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from certcore.domain.threat import ThreatModel
from certcore.instance.instance import Instance
from certcore.model_attack.stored import FoundAttack, Level, ModelAttack


@dataclass(frozen=True, eq=False)
class Along:
    """Attacks with the values of one budget (or of σ) from which on they are admissible, in order of their size."""

    axis: str
    values: tuple[float, ...]
    found: tuple[FoundAttack, ...]

    def at(self, value: float | None) -> FoundAttack | None:
        """The largest attack at a value (None: no limit); None if there is none."""
        known = len(self.values) if value is None else int(np.searchsorted(self.values, value, side="right"))
        return self.found[known - 1] if known else None

    def changed(self, values: Sequence[float]) -> list[int | None]:
        """How many labels are changed at each value; None without an attack."""
        found = [self.at(value) for value in values]
        return [None if one is None else one.count.n_changed for one in found]


def attacks_along(attacks: Sequence[ModelAttack], instance: Instance, threat: ThreatModel, axis: str) -> Along:
    """All attacks that fit the threat model except for this budget; each is checked against the certificates."""
    found: list[tuple[float, FoundAttack]] = []
    for attack in attacks:
        for level in attack.levels:
            value = needed(attack, level, axis)
            if (level.flips or level.shift is not None) and (
                one := attack.found(instance, threat.replace(**{axis: value}))
            ) is not None:
                found.append((value, one))
    found.sort(key=lambda one: (one[0], *one[1].size))
    chosen: list[tuple[float, FoundAttack]] = []
    for value, one in found:
        if chosen and one.size <= chosen[-1][1].size:
            continue
        if chosen and chosen[-1][0] == value:
            chosen.pop()
        chosen.append((value, one))
    return Along(axis, tuple(value for value, _ in chosen), tuple(one for _, one in chosen))


def needed(attack: ModelAttack, level: Level, axis: str) -> float:
    """How much of a budget a level needs; for σ, how many nodes it touches."""
    flips = attack.flips[: level.flips]
    if axis == "sigma":
        moved = [] if level.shift is None else level.shift.nodes.tolist()
        return len({end for flip in flips for end in flip.ends}.union(moved))
    if axis == "attr_l2":
        return attack.distance(level)
    return sum(flip.kind == axis for flip in flips)
