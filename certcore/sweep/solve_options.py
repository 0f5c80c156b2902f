"""Solver options: the relaxation, and the time limit of each solve."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, TypedDict

from certcore.common.errors import InputError
from certcore.common.reading import whole_number
from certcore.program.relaxation import Relaxation


class SolveArguments(TypedDict, total=False):
    """Solver options as arguments of a call, see `SolveOptions.read`."""

    relaxation: str
    time_limit: float | None
    rounds: int | None


SOLVE_DEFAULTS: dict[str, Any] = {"relaxation": "tight", "time_limit": None, "rounds": None}


@dataclass(frozen=True)
class SolveOptions:
    """Validated solver options: `seconds` for each solve, or `rounds` of a strong search."""

    relaxation: Relaxation
    seconds: float
    rounds: int | None = None

    @classmethod
    def read(
        cls, relaxation: str = "tight", time_limit: float | None = None, rounds: int | None = None
    ) -> SolveOptions:
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

    @classmethod
    def take(cls, options: dict[str, Any]) -> SolveOptions:
        """Read the options from call arguments, and remove them there."""
        return cls.read(**{name: options.pop(name) for name in SolveArguments.__annotations__ if name in options})

    @property
    def arguments(self) -> dict[str, Any]:
        """The options as arguments of `Session.certify` and similar functions."""
        limit = self.seconds if self.rounds is None else None
        return {"relaxation": self.relaxation, "time_limit": limit, "rounds": self.rounds}
