"""How hard to look: which program bounds the adversary, and for how long it may be worked on."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from certcore.common.errors import InputError
from certcore.common.reading import whole_number
from certcore.program.relaxation import Relaxation


@dataclass(frozen=True)
class SolveOptions:
    """What all requests ask of the solver, checked: `seconds` for each solve, or `rounds` of a strong search."""

    relaxation: Relaxation
    seconds: float
    rounds: int | None = None

    @classmethod
    def read(cls, relaxation: str, time_limit: float | None, rounds: int | None = None) -> SolveOptions:
        form = Relaxation.parse(relaxation, "the relaxation")
        if rounds is not None:
            if form is not Relaxation.STRONG:
                raise InputError(
                    f"rounds are given with the relaxation {form!r}; they count the search of 'strong' only"
                )
            if time_limit is not None:
                raise InputError("both rounds and a time limit are given; rounds are there to do without a clock")
            whole_number(rounds, "the number of rounds", 1, 100_000)
        return cls(form, form.seconds(time_limit), rounds)

    @property
    def arguments(self) -> dict[str, Any]:
        """The same as the arguments of `Session.certify` and its like."""
        limit = self.seconds if self.rounds is None else None
        return {"relaxation": self.relaxation, "time_limit": limit, "rounds": self.rounds}
