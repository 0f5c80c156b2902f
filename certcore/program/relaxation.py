"""The available forms (relaxations) of the adversary's program."""

from __future__ import annotations

import math

from certcore.common.choice import Choice
from certcore.common.errors import InputError


class Relaxation(Choice):
    """Which form of the program is solved."""

    PAPER = "paper"
    """The program as published: every front point has its own indicator."""
    TIGHT = "tight"
    """Uses the convex hull of each front: never weaker than the paper's form, and faster."""
    STRONG = "strong"
    """The tight program with further valid rows for integer flips, added by separation; its bounds are proven."""
    EXACT = "exact"
    """The integer program. It proves nothing: `certify` gives the solver's claim beside what `tight` proves."""

    @property
    def relaxed(self) -> Relaxation:
        """The linear program it is based on: itself, or the tight one for `strong` and `exact`."""
        return Relaxation.TIGHT if self.is_timed else self

    @property
    def is_timed(self) -> bool:
        """Whether it is solved anew at each budget point until a time limit."""
        return self in (Relaxation.STRONG, Relaxation.EXACT)

    @property
    def has_indicators(self) -> bool:
        """Whether a group has an indicator column beside its points, so that several points can be chosen together."""
        return self is Relaxation.PAPER

    def seconds(self, time_limit: float | None) -> float:
        """The time limit to use: the given one, or 10 s (strong), 30 s (exact) or 600 s."""
        if time_limit is None:
            return {Relaxation.STRONG: 10.0, Relaxation.EXACT: 30.0}.get(self, 600.0)
        if not (math.isfinite(time_limit) and time_limit > 0):
            raise InputError(f"the time limit is {time_limit}; expected a positive number of seconds")
        return time_limit
