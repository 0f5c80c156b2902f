"""How a certificate was reached."""

from __future__ import annotations

from enum import StrEnum


class Status(StrEnum):
    """How a solve ended: what the solver says of itself and, after the check, what is said of the bound.

    `certcore.messages` says what it means for the number beside it.
    """

    OPTIMAL = "optimal"
    """The program was solved to its end."""
    TIME_LIMIT = "time_limit"
    """The time limit was reached; what was proven by then stands."""
    INTERRUPTED = "interrupted"
    """The solve was cancelled; what was proven by then stands."""
    RECOMPUTED = "recomputed"
    """A first answer did not stand up to its check and the program was solved again from scratch."""
    FAILED = "failed"
    """The solver gave no usable answer; the bound is proven but weak."""

    @property
    def is_final(self) -> bool:
        """Whether the solve ran to its end: the bound is the best its program has to give."""
        return self in (Status.OPTIMAL, Status.RECOMPUTED)

    def then(self, later: Status) -> Status:
        """The status of both together: the later one, unless it ran to its end and this one has more to tell."""
        return later if self is Status.OPTIMAL or not later.is_final else self
