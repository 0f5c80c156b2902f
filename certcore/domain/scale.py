"""Conversion between lengths and the integer units of `attr_l2`.

Amounts, needs and budgets of `attr_l2` are units of *squared* distance. There are `units` of them per s², the variance
of the noise. Users give lengths as decimals. Every conversion is exact; for certificates it rounds up, in favour of the
attacker, and for attacks down, so that an attack found is no longer than it may be.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from fractions import Fraction
from functools import cached_property

import numpy as np
import numpy.typing as npt

from certcore.common.errors import InputError
from certcore.common.exact import exact_fraction
from certcore.domain.graph import Graph
from certcore.domain.perturbations import TABLE

#: Lengths above this are refused.
MAX_LENGTH = 10**9


@dataclass(frozen=True, eq=False)
class Scale:
    """The standard deviation s of the noise, the number of units per s², and the graph with its row norms."""

    std: Fraction
    units: int
    graph: Graph | None = field(default=None, repr=False)
    up: bool = True
    """Whether squared lengths are rounded up to units, in favour of the attacker; down in the search for attacks."""

    def of_square(self, square: Fraction) -> int:
        """A squared length in units."""
        exact = self.units * square / self.std**2
        return math.ceil(exact) if self.up else math.floor(exact)

    def square_of(self, units: int) -> Fraction:
        """The squared length of so many units."""
        return Fraction(units, self.units) * self.std**2

    def step(self, parts: int = 10) -> Fraction:
        """The largest of 1, 2 and 5 times a power of ten that is at most s / parts."""
        wanted, power = self.std / parts, Fraction(1)
        while power > wanted:
            power /= 10
        while power * 10 <= wanted:
            power *= 10
        return next(many * power for many in (5, 2, 1) if many * power <= wanted)

    def length(self, amount: float) -> float:
        """The length of so many units: s · √(amount / units)."""
        return float(self.std) * math.sqrt(amount / self.units)

    def shown(self, amounts: npt.ArrayLike) -> np.ndarray:
        """Amounts by type (last axis) for display: units of squared length become lengths."""
        found = np.array(amounts, dtype=float)
        for k, entry in enumerate(TABLE):
            if entry.lengths:
                found[..., k] = float(self.std) * np.sqrt(found[..., k] / self.units)
        return found

    @cached_property
    def squared_norms(self) -> list[Fraction]:
        """‖x_m‖² of every row, exactly."""
        if self.graph is None or self.graph.attr_values is None:
            raise InputError("the values of the attributes are not in the file; give local budgets as lengths")
        starts, values = self.graph.attr_indptr, self.graph.attr_values.astype(np.float64)
        mantissas, exponents = np.frexp(values)  # a float32 is a 24-bit integer times a power of two
        least = int(exponents.min(initial=0))
        whole = (mantissas * 2**24).astype(np.int64).astype(object) << (exponents - least).astype(object)
        running = np.concatenate([[0], np.cumsum(whole * whole)]).astype(object)
        sums = running[starts[1:]] - running[starts[:-1]]
        return [Fraction(int(total)) * Fraction(4) ** (least - 24) for total in sums]

    @cached_property
    def median_norm(self) -> float:
        """The median norm of a row, for comparison with lengths."""
        return math.sqrt(float(np.median([float(square) for square in self.squared_norms])))


def read_length(value: object, what: str) -> Fraction:
    """A decimal of at least 0 as an exact fraction; a float is read by its shortest decimal form."""
    if isinstance(value, np.ndarray) and value.size == 1:
        value = value.reshape(-1)[0]
    try:
        if isinstance(value, bool | np.bool_):
            raise ValueError("no number")
        number = value if isinstance(value, Fraction) else exact_fraction(str(value).strip())
    except ValueError as error:
        raise InputError(f"{what} is {str(value)[:40]!r}; expected a decimal number such as 0.3") from error
    if not 0 <= number <= MAX_LENGTH:
        raise InputError(f"{what} is {str(value)[:40]}; expected a decimal number of at least 0, such as 0.3")
    return number


def shown(scale: Scale | None, amounts: npt.ArrayLike) -> np.ndarray:
    """Amounts by type (last axis) for display, with or without lengths."""
    return np.asarray(amounts) if scale is None else scale.shown(amounts)
