"""The forms of the adversary's program."""

from __future__ import annotations

import math
from enum import StrEnum

from certcore.common.errors import InputError


class Relaxation(StrEnum):
    """Which program is solved. Everywhere at the edge of the engine its plain text does as well."""

    PAPER = "paper"
    """As published: every point has an indicator of its own."""
    TIGHT = "tight"
    """The convex hull of each front: never weaker, and quicker."""
    EXACT = "exact"
    """The integer program; its bound is the solver's word and no proof."""

    __repr__ = str.__repr__

    @classmethod
    def parse(cls, value: str) -> Relaxation:
        try:
            return cls(value)
        except ValueError:
            raise InputError(f"the relaxation is {value!r}; expected one of {', '.join(cls)}") from None

    @property
    def relaxed(self) -> Relaxation:
        """The program whose bound is proven: the one itself, or for the integer program its tight relaxation."""
        return Relaxation.TIGHT if self is Relaxation.EXACT else self

    @property
    def is_proven(self) -> bool:
        """Whether its bounds are proven in exact arithmetic."""
        return self is self.relaxed

    @property
    def has_indicators(self) -> bool:
        """Whether a group has an indicator beside its points, which then may be taken together."""
        return self is Relaxation.PAPER

    def seconds(self, time_limit: float | None) -> float:
        """The time limit to use: what was asked for, or 30 s for the integer program and 600 s otherwise."""
        if time_limit is None:
            return 30.0 if self is Relaxation.EXACT else 600.0
        if not (math.isfinite(time_limit) and time_limit > 0):
            raise InputError(f"the time limit is {time_limit}; expected a positive number of seconds")
        return time_limit
