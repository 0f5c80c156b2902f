"""The smoothing distribution: every bit of the graph flips on its own.

A zero attribute appears with θ of `attr_add`, a one vanishes with θ of `attr_del`, likewise for edges.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache

import numpy as np

from certcore.common.errors import InputError
from certcore.common.exact import read_probability
from certcore.domain.perturbations import FLIPS

#: The smallest flip probability besides 0, and the smallest distance from 1 besides 1: closer ones would be drawn as
#: something else.
LEAST = Fraction(1, 10**12)


@dataclass(frozen=True)
class Noise:
    """θ: the flip probabilities of the four perturbation types, as the decimal text a person wrote, and exactly."""

    theta: tuple[str, str, str, str]

    def __post_init__(self) -> None:
        given = tuple(str(value).strip() for value in self.theta)
        if len(given) != len(FLIPS):
            raise InputError(f"theta has {len(given)} entries; expected four, in the order {', '.join(FLIPS)}")
        object.__setattr__(self, "theta", given)
        _ = self.fractions  # refuses what is no probability

    @classmethod
    def of(cls, theta: Sequence[object] | np.ndarray | Noise) -> Noise:
        """From numbers or strings; floats are read by their shortest decimal form."""
        return theta if isinstance(theta, Noise) else cls(tuple(str(value) for value in theta))  # type: ignore[arg-type]

    @classmethod
    def to_draw(cls, theta: Sequence[object]) -> Noise:
        """The same, refused if samples would be drawn with other probabilities."""
        noise = cls.of(theta)
        noise.check_drawable()
        return noise

    def check_drawable(self) -> None:
        """Refuse probabilities closer to 0 or 1 than samples can tell."""
        for name, value, flip in zip(FLIPS, self.theta, self.fractions):
            if 0 < min(flip, 1 - flip) < LEAST:
                raise InputError(
                    f"theta of {name} is {value}, too close to {round(flip)} to be drawn as it is; expected "
                    f"{round(flip)}, or a distance of at least 1e-12 from it"
                )

    @property
    def fractions(self) -> tuple[Fraction, Fraction, Fraction, Fraction]:
        return _fractions(self.theta)

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


@lru_cache(maxsize=256)
def _fractions(theta: tuple[str, str, str, str]) -> tuple[Fraction, Fraction, Fraction, Fraction]:
    a, b, c, d = (read_probability(value, f"theta of {name}") for value, name in zip(theta, FLIPS))
    return (a, b, c, d)


#: The paper's choices (appendix "Hyperparameters"), by what they certify.
PAPER_THETA = {
    "attr": ("0.002", "0.6", "0", "0"),
    "adj": ("0", "0", "0", "0.4"),
    "joint": ("0.002", "0.6", "0", "0.4"),
}
