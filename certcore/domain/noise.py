"""The smoothing distribution: every bit of the graph flips on its own.

A zero attribute appears with θ of `attr_add`, a one vanishes with θ of `attr_del`, likewise for edges.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction

from certcore.common.errors import InputError
from certcore.common.exact import read_probability
from certcore.domain.perturbations import TYPES

#: The smallest flip probability besides 0, and the smallest distance from 1 besides 1: closer ones would be drawn as
#: something else.
LEAST = Fraction(1, 10**12)


@dataclass(frozen=True)
class Noise:
    """Flip probabilities of the four perturbation types, as the decimal strings a person wrote."""

    theta: tuple[str, str, str, str]

    def __post_init__(self) -> None:
        given = tuple(str(value).strip() for value in self.theta)
        if len(given) != len(TYPES):
            raise InputError(f"theta has {len(given)} entries; expected four flip probabilities: {', '.join(TYPES)}")
        for name, value in zip(TYPES, given):
            try:
                flip = read_probability(value, name)  # not Fraction: 1e999999999 would take for ever
            except InputError as error:
                message = f"theta of {name} is {value[:40]!r}; expected a decimal number between 0 and 1"
                raise InputError(message) from error
            if 0 < min(flip, 1 - flip) < LEAST:
                raise InputError(
                    f"theta of {name} is {value}, too close to {round(flip)} to be drawn as it is; expected "
                    f"{round(flip)}, or a distance of at least 1e-12 from it"
                )
        object.__setattr__(self, "theta", given)

    @classmethod
    def of(cls, theta: Sequence[object]) -> Noise:
        """From numbers or strings; floats are read by their shortest decimal form."""
        return cls(tuple(str(value) for value in theta))  # type: ignore[arg-type]

    @property
    def fractions(self) -> tuple[Fraction, ...]:
        return tuple(read_probability(value, name) for name, value in zip(TYPES, self.theta))

    @property
    def attributes(self) -> bool:
        """Whether attributes are smoothed at all."""
        return any(self.fractions[:2])

    @property
    def adjacency(self) -> bool:
        """Whether edges are smoothed at all."""
        return any(self.fractions[2:])

    @property
    def types(self) -> str:
        """What is smoothed, as a word for file names: attr, adj, joint or none."""
        return {(1, 0): "attr", (0, 1): "adj", (1, 1): "joint", (0, 0): "none"}[self.attributes, self.adjacency]


#: The paper's choices (appendix "Hyperparameters"), by what they certify.
PAPER_THETA = {
    "attr": ("0.002", "0.6", "0", "0"),
    "adj": ("0", "0", "0", "0.4"),
    "joint": ("0.002", "0.6", "0", "0.4"),
}
