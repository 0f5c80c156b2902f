"""The smoothing distribution as numbers that a sampler can use without rounding: thresholds and alias tables.

Every bit of the graph flips on its own: a zero attribute appears with θ of `attr_add`, a one vanishes with θ of
`attr_del`, likewise for edges. Probabilities are rationals; the tables below represent them to within 2^-59, which is
nothing beside `LEAST`. Closer to 0 or 1 they would be drawn as something else, so they are refused.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache

import numpy as np

from certcore.base.exact import read_probability
from certcore.common.errors import InputError
from certcore.domain.perturbations import TYPES

#: An alias table has 2^11 slots; a random word chooses the slot by its low bits and the side by its 48 high ones.
SLOT_BITS, SIDE_BITS = 11, 48

#: The smallest flip probability besides 0, and the smallest distance from 1 besides 1.
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


def keep_threshold(flip: Fraction) -> tuple[np.uint64, bool]:
    """A bit is kept iff a 64-bit uniform word is below the threshold; the flag says that all are kept."""
    return np.uint64(min(int((1 - flip) * 2**64), 2**64 - 1)), flip == 0


@lru_cache(maxsize=16)
def gap_table(flip: Fraction) -> np.ndarray:
    """Alias table of the geometric number of zeros between two additions; slot = threshold · 2^16 + alias.

    The last outcome means "at least this many, draw again": exact, because geometric gaps have no memory. Weights
    are integers, so no mass is lost. An empty table stands for no additions.
    """
    if flip == 0:
        return np.zeros(0, dtype=np.uint64)
    slots = 1 << SLOT_BITS
    capacity = 1 << SIDE_BITS
    scale = 1 << 256
    weights, mass = [], int(flip * scale)
    for _ in range(slots - 1):
        weights.append(mass * slots * capacity // scale)
        mass = mass * (flip.denominator - flip.numerator) // flip.denominator
    weights.append(slots * capacity - sum(weights))
    thresholds, aliases = [0] * slots, list(range(slots))
    small = [i for i, weight in enumerate(weights) if weight < capacity]
    large = [i for i, weight in enumerate(weights) if weight >= capacity]
    while small and large:
        low, high = small.pop(), large[-1]
        thresholds[low], aliases[low] = weights[low], high
        weights[high] -= capacity - weights[low]
        if weights[high] < capacity:
            small.append(large.pop())
    # What is left over is exactly full, and both sides of its slot mean the same outcome.
    return np.array([t << 16 | alias for t, alias in zip(thresholds, aliases)], dtype=np.uint64)


def bit_table(indptr: np.ndarray, indices: np.ndarray, n_cols: int) -> np.ndarray:
    """The ones of a sparse matrix as bits, 64 per word, each row starting a new word: tells existing bits fast."""
    n_rows, width = len(indptr) - 1, (n_cols + 63) // 64
    words = np.zeros(n_rows * width, dtype=np.uint64)
    rows = np.repeat(np.arange(n_rows), np.diff(indptr))
    np.bitwise_or.at(words, rows * width + (indices >> 6), np.uint64(1) << (indices & 63).astype(np.uint64))
    return words.reshape(n_rows, width)
