"""How a certificate was reached."""

from __future__ import annotations

from enum import StrEnum


class Status(StrEnum):
    """How a solve ended: what the solver says of itself and, after the check, what is said of the bound.

    Whatever it is, the bound beside it has been proven, or is the best that was.
    """

    OPTIMAL = "optimal"
    TIME_LIMIT = "time_limit"
    INTERRUPTED = "interrupted"
    RECOMPUTED = "recomputed"
    FAILED = "failed"

    @property
    def is_final(self) -> bool:
        """Whether the solve ran to its end: the bound is the best its program has to give."""
        return self in (Status.OPTIMAL, Status.RECOMPUTED)

    def then(self, later: Status) -> Status:
        """The status of both together: the later one, unless it ran to its end and this one has more to tell."""
        return later if self is Status.OPTIMAL or not later.is_final else self

    @property
    def sentence(self) -> str:
        """What the status means, and what can be done about it."""
        return _SENTENCES[self]


_SENTENCES = {
    Status.OPTIMAL: "The program was solved and its bound proven.",
    Status.TIME_LIMIT: "The time limit was reached; the bound is proven but may be improved by allowing more time.",
    Status.INTERRUPTED: "The solve was cancelled; the bound is proven but weak: run it again to the end.",
    Status.RECOMPUTED: "A first answer did not stand up to its check and the program was solved again from scratch.",
    Status.FAILED: "The solver gave no usable answer; the bound is proven but weak: try another relaxation or budget.",
}
