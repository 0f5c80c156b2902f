"""Regions of constant likelihood ratio, and their masses as exact integers.

A budget of `a` additions and `d` deletions on one kind of bits (attributes, or edges) changes a + d bits. The values of
a sample at these bits determine the likelihood ratio of the clean and the perturbed graph. Per changed bit, with flip
probabilities θ_add and θ_del, a sample has the clean value ("agrees") or the perturbed one ("differs"):

    added bit    agrees: clean 1 − θ_add, perturbed θ_del;    differs: clean θ_add, perturbed 1 − θ_del
    deleted bit  agrees: clean 1 − θ_del, perturbed θ_add;    differs: clean θ_del, perturbed 1 − θ_add

Every agreement instead of a difference multiplies the ratio clean / perturbed by the same R = (1 − θ_add)(1 − θ_del) /
(θ_add θ_del). So the number of agreements identifies the region (paper, appendix "Randomized smoothing for sparse
data"). All masses are integers over (common denominator of θ)^(a + d).
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from itertools import accumulate
from operator import mul


@dataclass(frozen=True)
class Regions:
    """The regions of one budget: integer masses over `total`, in descending ratio clean / perturbed.

    Only regions that are possible under both graphs are listed. Samples that are impossible under the perturbed graph
    (infinite ratio) come before them; their clean mass is the rest to `total`. Samples that are impossible under the
    clean graph (ratio zero) come last and have no clean mass.
    """

    total: int
    clean: list[int]
    perturbed: list[int]

    @cached_property
    def clean_before(self) -> list[int]:
        """Clean mass of the listed regions before each one."""
        return [0, *accumulate(self.clean)]

    @cached_property
    def perturbed_before(self) -> list[int]:
        """Perturbed mass of the listed regions before each one."""
        return [0, *accumulate(self.perturbed)]


NOTHING = Regions(total=1, clean=[1], perturbed=[1])


@dataclass(frozen=True)
class BitPair:
    """Additions and deletions of one kind of bits under smoothing with flip probabilities θ_add and θ_del."""

    theta_add: Fraction
    theta_del: Fraction

    @cached_property
    def denominator(self) -> int:
        return math.lcm(self.theta_add.denominator, self.theta_del.denominator)

    @property
    def free(self) -> bool:
        """θ_add + θ_del = 1: samples do not depend on the bit, so flips have no effect."""
        return self.theta_add + self.theta_del == 1

    @property
    def degenerate(self) -> bool:
        """Whether some outcome is impossible, so that ratios of zero and infinity occur."""
        return self.theta_add in (0, 1) or self.theta_del in (0, 1)

    @property
    def step(self) -> Fraction:
        """The factor (> 1) by which the ratio decreases from one listed region to the next."""
        if self.degenerate or self.free:
            return Fraction(1)  # at most one region is listed
        ratio = (1 - self.theta_add) * (1 - self.theta_del) / (self.theta_add * self.theta_del)
        return max(ratio, 1 / ratio)

    @cached_property
    def _bits(self) -> tuple[tuple[int, int, int, int], tuple[int, int, int, int]]:
        """Per added and per deleted bit: clean and perturbed mass, first of the high-ratio outcome."""
        scale = self.denominator
        add, rem = int(self.theta_add * scale), int(self.theta_del * scale)
        # With θ_add + θ_del > 1, agreement is the *low*-ratio outcome.
        if add + rem <= scale:
            return (scale - add, rem, add, scale - rem), (scale - rem, add, rem, scale - add)
        return (add, scale - rem, scale - add, rem), (rem, scale - add, scale - rem, add)

    def regions(self, additions: int, deletions: int) -> Regions:
        """The regions of one budget."""
        if self.free or additions + deletions == 0:
            return NOTHING
        if self.degenerate:
            return self._single(additions, deletions)
        first, second = self._bits
        clean = _convolve(_binomial(additions, first[0], first[2]), _binomial(deletions, second[0], second[2]))
        perturbed = _convolve(_binomial(additions, first[1], first[3]), _binomial(deletions, second[1], second[3]))
        return Regions(self.denominator ** (additions + deletions), clean, perturbed)

    def next_regions(self, regions: Regions, *, addition: bool, additions: int, deletions: int) -> Regions:
        """The regions of budget (additions, deletions), updated from those with one addition (or deletion) less."""
        if self.free or self.degenerate:
            return self.regions(additions, deletions)
        c_high, p_high, c_low, p_low = self._bits[0 if addition else 1]
        return Regions(
            regions.total * self.denominator,
            _times(regions.clean, c_high, c_low),
            _times(regions.perturbed, p_high, p_low),
        )

    def _single(self, additions: int, deletions: int) -> Regions:
        """Some θ is 0 or 1: per bit at most one outcome is possible under both graphs, so at most one region."""
        total = self.denominator ** (additions + deletions)
        clean = perturbed = 1
        for (c_high, p_high, c_low, p_low), count in zip(self._bits, (additions, deletions)):
            if count == 0:
                continue
            both = [(c, p) for c, p in ((c_high, p_high), (c_low, p_low)) if c and p]
            if not both:
                return Regions(total, [], [])
            clean *= both[0][0] ** count
            perturbed *= both[0][1] ** count
        return Regions(total, [clean], [perturbed])


def _times(masses: list[int], high: int, low: int) -> list[int]:
    """Add one bit: every region splits by the bit's high-ratio and low-ratio outcome."""
    return [stay * high + move * low for stay, move in zip([*masses, 0], [0, *masses])]


def _binomial(count: int, high: int, low: int) -> list[int]:
    """Masses of `count` bits by the number of low-ratio outcomes."""
    highs = [1, *accumulate([high] * count, mul)]
    lows = [1, *accumulate([low] * count, mul)]
    return [math.comb(count, k) * highs[count - k] * lows[k] for k in range(count + 1)]


def _convolve(first: list[int], second: list[int]) -> list[int]:
    result = [0] * (len(first) + len(second) - 1)
    for i, x in enumerate(first):
        for j, y in enumerate(second):
            result[i + j] += x * y
    return result
