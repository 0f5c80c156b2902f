"""Solver options: the relaxation, and the time limit of each solve."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from certcore.common.errors import InputError
from certcore.common.reading import whole_number
from certcore.program.problem import Problem
from certcore.program.relaxation import Relaxation


@dataclass(frozen=True)
class SolveOptions:
    """Validated solver options: `seconds` for each solve, or `rounds` of a strong search."""

    relaxation: Relaxation
    seconds: float
    rounds: int | None = None

    @classmethod
    def read(
        cls,
        relaxation: str = "tight",
        time_limit: float | None = None,
        rounds: int | None = None,
        *,
        claims: bool = False,
    ) -> SolveOptions:
        """Check the options; only who `claims` may ask for the integer program, which proves no count."""
        form = Relaxation.parse(relaxation, "the relaxation")
        if form is Relaxation.EXACT and not claims:
            raise InputError(
                "the relaxation 'exact' gives the claim of a solver for one question, and no count that is proven; "
                "ask certify for it, and use tight, strong or paper here"
            )
        if rounds is not None:
            if form is not Relaxation.STRONG:
                raise InputError(
                    f"rounds are given with the relaxation {form!r}; they count the search of 'strong' only"
                )
            if time_limit is not None:
                raise InputError("both rounds and a time limit are given; rounds are there to do without a clock")
            whole_number(rounds, "the number of rounds", 1, 100_000)
        return cls(form, form.seconds(time_limit), rounds)

    def answered(self, problem: Problem) -> SolveOptions:
        """The options that answer, and which the result names: `tight` where strong rows do not hold."""
        if self.relaxation is Relaxation.STRONG and not problem.has_strong_rows:
            return SolveOptions(Relaxation.TIGHT, self.seconds)
        return self

    @property
    def arguments(self) -> dict[str, Any]:
        """The options as arguments of `Session.certify` and similar functions."""
        limit = self.seconds if self.rounds is None else None
        return {"relaxation": self.relaxation, "time_limit": limit, "rounds": self.rounds}
