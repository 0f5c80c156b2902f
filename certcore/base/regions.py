"""Regions of constant likelihood ratio, and their masses as exact integers.

A budget of `a` additions and `d` deletions on one kind of bits (attributes, or edges) changes a + d bits. What a
sample shows on them decides how much likelier it is under the clean than under the perturbed graph. Per changed
bit, with flip probabilities θ_add and θ_del, a sample keeps the clean value ("agrees") or shows the perturbed one:

    added bit    agrees: clean 1 − θ_add, perturbed θ_del;    differs: clean θ_add, perturbed 1 − θ_del
    deleted bit  agrees: clean 1 − θ_del, perturbed θ_add;    differs: clean θ_del, perturbed 1 − θ_add

Every agreement instead of a difference multiplies the ratio clean / perturbed by the same
R = (1 − θ_add)(1 − θ_del) / (θ_add θ_del), so that the number of agreements names the region (paper, appendix
"Randomized smoothing for sparse data"). All masses are integers over (common denominator of θ)^(a + d).
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

    Only regions that are possible under both graphs are listed. What is impossible under the perturbed graph
    (infinite ratio) comes before them: it is the clean mass that is missing here. What is impossible under the clean
    graph (ratio zero) comes last, and no classifier needs it to spend its clean mass.
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
        """θ_add + θ_del = 1: a sample does not depend on the bit at all, so that no flip has any effect."""
        return self.theta_add + self.theta_del == 1

    @property
    def degenerate(self) -> bool:
        """Some outcome is impossible: ratios of zero and infinity occur."""
        return self.theta_add in (0, 1) or self.theta_del in (0, 1)

    @property
    def step(self) -> Fraction:
        """By what factor (> 1) the ratio falls from one listed region to the next."""
        if self.degenerate or self.free:
            return Fraction(1)  # at most one region is listed
        ratio = (1 - self.theta_add) * (1 - self.theta_del) / (self.theta_add * self.theta_del)
        return max(ratio, 1 / ratio)

    @cached_property
    def _bits(self) -> tuple[tuple[int, int, int, int], tuple[int, int, int, int]]:
        """Per added and per deleted bit: clean and perturbed mass of the high-ratio outcome, then of the other."""
        scale = self.denominator
        add, rem = int(self.theta_add * scale), int(self.theta_del * scale)
        # With θ_add + θ_del > 1 a sample that agrees is the *less* likely one under the clean graph.
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
        """The regions of budget (additions, deletions), from those with one addition (or deletion) less."""
        if self.free or self.degenerate:
            return self.regions(additions, deletions)
        c_high, p_high, c_low, p_low = self._bits[0 if addition else 1]
        return Regions(
            regions.total * self.denominator,
            _times(regions.clean, c_high, c_low),
            _times(regions.perturbed, p_high, p_low),
        )

    def _single(self, additions: int, deletions: int) -> Regions:
        """Some θ is 0 or 1: per bit at most one outcome is possible under both graphs, so at most one region is."""
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
    """One more bit: every region splits into the part where the bit has its high-ratio outcome and the rest."""
    return [stay * high + move * low for stay, move in zip([*masses, 0], [0, *masses])]


def _binomial(count: int, high: int, low: int) -> list[int]:
    """Masses of `count` bits by how many of them have their low-ratio outcome."""
    highs = [1, *accumulate([high] * count, mul)]
    lows = [1, *accumulate([low] * count, mul)]
    return [math.comb(count, k) * highs[count - k] * lows[k] for k in range(count + 1)]


def _convolve(first: list[int], second: list[int]) -> list[int]:
    result = [0] * (len(first) + len(second) - 1)
    for i, x in enumerate(first):
        for j, y in enumerate(second):
            result[i + j] += x * y
    return result
