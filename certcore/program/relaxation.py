"""The forms of the adversary's program."""

from __future__ import annotations

import math

from certcore.common.choice import Choice
from certcore.common.errors import InputError


class Relaxation(Choice):
    """Which program is solved."""

    PAPER = "paper"
    """As published: every point has an indicator of its own."""
    TIGHT = "tight"
    """The convex hull of each front: never weaker, and quicker."""
    STRONG = "strong"
    """The tight program with rows that whole-number attacks satisfy, searched for; proven, close to the truth."""
    EXACT = "exact"
    """The integer program; its bound is the solver's word and no proof."""

    @property
    def relaxed(self) -> Relaxation:
        """The linear program underneath: itself, or the tight one that a search or an integer program adds to."""
        return Relaxation.TIGHT if self.is_timed else self

    @property
    def is_proven(self) -> bool:
        """Whether its bounds are proven in exact arithmetic."""
        return self is not Relaxation.EXACT

    @property
    def is_timed(self) -> bool:
        """Whether it works as long as it is allowed to, at each budget on its own."""
        return self in (Relaxation.STRONG, Relaxation.EXACT)

    @property
    def has_indicators(self) -> bool:
        """Whether a group has an indicator beside its points, which then may be taken together."""
        return self is Relaxation.PAPER

    def seconds(self, time_limit: float | None) -> float:
        """The time limit to use: what was asked for, or 10 s (strong), 30 s (exact) or 600 s."""
        if time_limit is None:
            return {Relaxation.STRONG: 10.0, Relaxation.EXACT: 30.0}.get(self, 600.0)
        if not (math.isfinite(time_limit) and time_limit > 0):
            raise InputError(f"the time limit is {time_limit}; expected a positive number of seconds")
        return time_limit
