"""Joint regions: flips of attribute bits and of edge bits at once; the masses of their regions multiply.

The likelihood ratio of the joint region (i, j) is a constant times step_outer^(−i) · step_inner^(−j), for every budget.
So one sorted order of all pairs (i, j), found with exact comparisons, serves every budget of a lattice. A budget
determines only how many i and j there are. Pairs with equal ratios share one level.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property, cmp_to_key
from itertools import pairwise
from operator import mul

from certcore.base.regions import Regions
from certcore.common.exact import ceil_float


@dataclass(frozen=True)
class Order:
    """Levels of descending ratio among the pairs (i, j), i < `outer`, j < `inner`."""

    outer: int
    inner: int
    levels: tuple[tuple[tuple[int, int], ...], ...]

    @cached_property
    def counts(self) -> list[tuple[int, ...]]:
        """For each level ℓ and each j: how many i have (i, j) in a level before ℓ. One more row than levels."""
        row = [0] * self.inner
        table = [tuple(row)]
        for level in self.levels:
            for _, j in level:
                row[j] += 1  # the ratio decreases with i, so the i are in order
            table.append(tuple(row))
        return table


def order_pairs(outer_step: Fraction, inner_step: Fraction, outer: int, inner: int) -> Order:
    """Order all pairs by outer_step^i · inner_step^j; ties are found exactly."""
    outer_log, inner_log = _log(outer_step), _log(inner_step)
    pairs = [(i, j) for i in range(outer) for j in range(inner)]

    def compare(first: tuple[int, int], second: tuple[int, int]) -> int:
        gap = (first[0] - second[0]) * outer_log + (first[1] - second[1]) * inner_log
        # The logarithms have a relative error of about 1e-15; closer values are compared exactly.
        if abs(gap) > 1e-9 * (1 + max(outer, inner) * (outer_log + inner_log)):
            return 1 if gap > 0 else -1
        exact = outer_step ** (first[0] - second[0]) * inner_step ** (first[1] - second[1])
        return (exact > 1) - (exact < 1)

    pairs.sort(key=cmp_to_key(compare))
    levels: list[list[tuple[int, int]]] = [[pairs[0]]]
    for last, pair in pairwise(pairs):
        if compare(last, pair) == 0:
            levels[-1].append(pair)
        else:
            levels.append([pair])
    return Order(outer, inner, tuple(tuple(level) for level in levels))


class Joint:
    """The worst-case classifier of one joint budget: it fills the levels of `order` in sequence."""

    def __init__(self, outer: Regions, inner: Regions, order: Order) -> None:
        self.outer, self.inner, self.order = outer, inner, order
        self.total = outer.total * inner.total
        # Samples possible under both graphs form the product of the listed regions. The remaining
        # clean mass has infinite ratio and comes first.
        self.certain = self.total - outer.clean_before[-1] * inner.clean_before[-1]
        self.everything = outer.perturbed_before[-1] * inner.perturbed_before[-1]

    def threshold(self) -> float:
        """p*: the clean mass used when the perturbed mass reaches exactly 1/2, rounded up; 1 if it never does."""
        total, counts = self.total, self.order.counts
        if 2 * self.everything <= total:
            return 1.0
        size = self.order.outer - len(self.outer.clean)
        perturbed = self.outer.perturbed_before + self.outer.perturbed_before[-1:] * size
        low, high = 0, len(counts) - 1
        low_mass, high_mass = 0, self.everything
        while high - low > 1:
            middle = (low + high) // 2
            mass = sum(map(mul, self.inner.perturbed, map(perturbed.__getitem__, counts[middle])))
            if 2 * mass < total:
                low, low_mass = middle, mass
            else:
                high, high_mass = middle, mass
        clean = self.outer.clean_before + self.outer.clean_before[-1:] * size
        spent = sum(map(mul, self.inner.clean, map(clean.__getitem__, counts[low])))
        level = sum(map(mul, self.inner.clean, map(clean.__getitem__, counts[high]))) - spent
        width = high_mass - low_mass
        numerator = 2 * (self.certain + spent) * width + (total - 2 * low_mass) * level
        return ceil_float(numerator, 2 * total * width)

    def breakpoints(self) -> tuple[list[float], list[float]]:
        """Corners (clean mass, perturbed mass) of L, the least perturbed mass at a clean mass, to the nearest float.

        L is zero up to the first corner. The last corner is at clean mass one.
        """
        outer_size, inner_size = len(self.outer.clean), len(self.inner.clean)
        spent, reached = self.certain, 0
        clean, perturbed = [spent / self.total], [0.0]
        for level in self.order.levels:
            grown = False
            for i, j in level:
                if i < outer_size and j < inner_size:
                    spent += self.outer.clean[i] * self.inner.clean[j]
                    reached += self.outer.perturbed[i] * self.inner.perturbed[j]
                    grown = True
            if grown:
                clean.append(spent / self.total)
                perturbed.append(reached / self.total)
        return clean, perturbed


def _log(number: Fraction) -> float:
    return math.log(number.numerator) - math.log(number.denominator)
