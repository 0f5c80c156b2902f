"""Status of a solve."""

from __future__ import annotations

from enum import StrEnum


class Status(StrEnum):
    """How a solve ended: as reported by the solver and, after verification, for the bound.

    `certcore.messages` explains each status to the user.
    """

    OPTIMAL = "optimal"
    """The program was solved to optimality."""
    TIME_LIMIT = "time_limit"
    """The time limit was reached; the bound proven so far is valid."""
    ROUNDS = "rounds"
    """All rounds of a solve were used up; the bound proven so far is valid."""
    INTERRUPTED = "interrupted"
    """The solve was cancelled; the bound proven so far is valid."""
    RECOMPUTED = "recomputed"
    """A first result failed verification, and the program was solved again from scratch."""
    FAILED = "failed"
    """The solver gave no usable result; the bound is proven but weak."""

    @property
    def is_final(self) -> bool:
        """Whether the solve finished, so that its program gives no better bound."""
        return self in (Status.OPTIMAL, Status.RECOMPUTED)

    def then(self, later: Status) -> Status:
        """The combined status: the later one, unless it is final and this one is more informative."""
        return later if self is Status.OPTIMAL or not later.is_final else self
