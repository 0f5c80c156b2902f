"""The smoothing distribution: independent flips of all bits, or Gaussian noise on real-valued attributes.

A zero attribute becomes 1 with probability θ of `attr_add`. A one becomes 0 with θ of `attr_del`. The same holds for
edges. With `attr_std` every attribute gets Gaussian noise of standard deviation s, rounded to multiples of a power of
two h.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import lru_cache

import numpy as np

from certcore.common.errors import InputError
from certcore.common.exact import bounded_decimal, read_probability
from certcore.domain.perturbations import FLIPS

#: Smallest allowed non-zero distance of a flip probability from 0 and from 1. Samplers cannot resolve smaller ones.
LEAST = Fraction(1, 10**12)
#: The lattice step h is the largest power of two of at most s / PER_STD.
PER_STD = 16
#: The same behind a first linear map.
PER_STD_BEHIND = 1024


@dataclass(frozen=True)
class Noise:
    """θ: the flip probabilities of the four flip types, as decimal text and as exact fractions.

    `attr_std` is s as decimal text. `lattice` is the step h as text such as `2^-9` (default: derived from s).
    """

    theta: tuple[str, str, str, str]
    attr_std: str | None = None
    lattice: str | None = None

    def __post_init__(self) -> None:
        given = tuple(str(value).strip() for value in self.theta)
        if len(given) != len(FLIPS):
            raise InputError(f"theta has {len(given)} entries; expected four, in the order {', '.join(FLIPS)}")
        object.__setattr__(self, "theta", given)
        if any(self.fractions[:2]) and self.attr_std is not None:
            raise InputError(
                "the noise flips attributes and moves them as well; expected attr_std, or attr_add and attr_del"
            )
        if self.attr_std is None:
            return
        object.__setattr__(self, "attr_std", str(self.attr_std).strip())
        object.__setattr__(self, "lattice", self.lattice or f"2^{_exponent(self.std / PER_STD)}")
        if not self.std / 2**20 <= self.step <= self.std / 4:
            raise InputError(
                f"the lattice {self.lattice} does not fit attr_std {self.attr_std}; expected s / 2^20 to s / 4"
            )

    @property
    def std(self) -> Fraction:
        """s exactly; 0 without Gaussian noise."""
        if self.attr_std is None:
            return Fraction(0)
        try:
            value = Fraction(bounded_decimal(self.attr_std, longest=40))
        except ValueError:
            value = Fraction(0)
        if not Fraction(1, 10**9) <= value <= 10**9:
            raise InputError(f"attr_std is {self.attr_std[:40]!r}; expected a decimal such as 0.06")
        return value

    @property
    def step(self) -> Fraction:
        """h exactly."""
        power = re.fullmatch(r"2\^(-?[0-9]{1,2})", self.lattice or "")
        if power is None:
            raise InputError(f"the lattice is {self.lattice!r}; expected a power of two such as 2^-9")
        return Fraction(2) ** int(power[1])

    @property
    def moved(self) -> str:
        """The Gaussian noise as text for digests, next to θ; empty without Gaussian noise."""
        return "" if self.attr_std is None else f"|{self.std}|{self.lattice}"

    def behind_first_map(self) -> Noise:
        """The same noise on a finer lattice, for values that are rounded before noise is added."""
        return replace(self, lattice=f"2^{_exponent(self.std / PER_STD_BEHIND)}")

    @classmethod
    def of(cls, theta: Sequence[object] | np.ndarray | Noise) -> Noise:
        """Noise from numbers or text; floats are read by their shortest decimal form."""
        return theta if isinstance(theta, Noise) else cls(tuple(str(value) for value in theta))  # type: ignore[arg-type]

    @classmethod
    def to_draw(cls, theta: Sequence[object]) -> Noise:
        """Like `of`, but refuses probabilities that samplers cannot represent."""
        noise = cls.of(theta)
        noise.check_drawable()
        return noise

    def check_drawable(self) -> None:
        """Refuse probabilities closer to 0 or 1 than the samplers can resolve."""
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
        return any(self.fractions[:2]) or self.attr_std is not None

    @property
    def adjacency(self) -> bool:
        """Whether edges are smoothed at all."""
        return any(self.fractions[2:])

    @property
    def types(self) -> str:
        """What is smoothed, for file names: attr, adj, joint or none; l2 and l2_joint for Gaussian noise."""
        if self.attr_std is not None:
            return "l2_joint" if self.adjacency else "l2"
        return {(1, 0): "attr", (0, 1): "adj", (1, 1): "joint", (0, 0): "none"}[self.attributes, self.adjacency]


def _exponent(value: Fraction) -> int:
    """⌊log₂ value⌋ of a positive fraction."""
    power = value.numerator.bit_length() - value.denominator.bit_length()
    return power if Fraction(2) ** power <= value else power - 1


@lru_cache(maxsize=256)
def _fractions(theta: tuple[str, str, str, str]) -> tuple[Fraction, Fraction, Fraction, Fraction]:
    a, b, c, d = (read_probability(value, f"theta of {name}") for value, name in zip(theta, FLIPS))
    return (a, b, c, d)


#: The paper's flip probabilities (appendix "Hyperparameters"), by what is smoothed.
PAPER_THETA = {"attr": ("0.002", "0.6", "0", "0"), "adj": ("0", "0", "0", "0.4"), "joint": ("0.002", "0.6", "0", "0.4")}
