"""Gaussian noise on a lattice, drawn exactly: X̄ + h·K with P(K ≤ k) = Φ((k + ½)·h/s).

The clean attributes X̄ are multiples of h. So X̄ + h·K has the distribution of X̄ + s·Z rounded to the lattice, Z
standard normal, and votes are samples of f∘round_h under ideal Gaussian noise. A draw compares a uniform 128-bit
integer r with thresholds ⌊2¹²⁸·Φ⌋: K = −J + #{T ≤ r}. The first 32 bits of r nearly always suffice. The other 96 are
drawn only if some threshold has the same first 32 bits.
"""

# Numba infers the types of compiled functions from their arguments.
# mypy: disable-error-code="no-untyped-def"
from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from math import isqrt

import numpy as np
import scipy.sparse as sp
from numba import float32, uint64

from certcore.common.compiled import compiled
from certcore.common.errors import InputError
from certcore.common.vectors import add_scaled_row
from certcore.domain.graph import Graph
from certcore.domain.noise import Noise
from certcore.votes.streams import mix, open_stream

#: The lattice extends this many standard deviations to each side. The probability beyond is less than 2⁻¹²⁶.
REACH = 13
#: Series are summed as integers over 2^GUARD.
GUARD = 224
#: ⌊π·2²⁴⁰⌋.
_PI = int("3243f6a8885a308d313198a2e03707344a4093822299f31d0082efa98ec4e", 16)
#: Largest clean value in steps, so that sums with the noise are exact in 32 bits.
MOST_STEPS = 2**22
#: Fraction of α reserved for the total variation distance between drawn and ideal noise.
SHARE = Fraction(1, 2**20)
#: Number of leading bits that index the guide table.
_GUIDE_BITS = 14
#: Stream numbers, in addition to those of `certcore.votes.streams`.
ATTR_NOISE, ATTR_NOISE_MORE = 4, 5


@dataclass(frozen=True, eq=False)
class LatticeTable:
    """The thresholds of one noise; `prefix` holds their first 32 bits, `guide` the start indices of the search."""

    words: np.ndarray
    """(2J, 4): each threshold as four 32-bit words, highest first."""
    prefix: np.ndarray
    guide: np.ndarray
    top: int

    @property
    def total_variation(self) -> Fraction:
        """Bound on the total variation distance of one draw: thresholds are rounded to 2⁻¹²⁸, tails are cut."""
        return Fraction(len(self.prefix) + 1, 2**128) + Fraction(1, 2**126)

    @property
    def arrays(self) -> tuple:
        """The arrays for the compiled code."""
        return self.words, self.prefix, self.guide, self.top


def thresholds(std: Fraction, step: Fraction) -> list[int]:
    """⌊2¹²⁸·Φ((k + ½)·h/s)⌋ for k = −J … J − 1, with J = ⌈13·s/h⌉."""
    top = -(-REACH * std // step)
    upper = _normal(np.array([(2 * k + 1) * step / (2 * std) for k in range(top)], dtype=object))
    return [2**128 - 1 - value for value in reversed(upper)] + upper  # Φ(−x) = 1 − Φ(x), and 2¹²⁸·Φ(x) is no integer


def _normal(points: np.ndarray) -> list[int]:
    """⌊2¹²⁸·Φ(x)⌋ for fractions x > 0, from an interval around Φ whose ends have the same floor."""
    found: list[int] = []
    for part in np.array_split(points, 1 + len(points) // 500):
        if not len(part):
            continue
        x = np.array([(p.numerator << GUARD) // p.denominator for p in part], dtype=object)
        square = x * x >> GUARD
        total, term, j = x.copy(), x.copy(), 0
        while max(term):
            j += 1
            term = (term * square >> GUARD) // (2 * j + 1)
            total = total + term
        root = isqrt((2 * _PI) << (2 * GUARD - 240))
        product = root * _exponential(square >> 1) >> GUARD
        value = (1 << (GUARD - 1)) + (total << GUARD) // product
        # Some hundred roundings, each with a relative error of at most 2^(6 − GUARD), of a quotient below ½: the error
        # is below 2⁻²⁰⁰. The interval extends 2⁻¹⁸⁸ to each side.
        slack = 1 << (GUARD - 188)
        low, high = (value - slack) >> (GUARD - 128), (value + slack) >> (GUARD - 128)
        if (low != high).any():
            raise InputError(
                "a threshold of the noise lies on a multiple of 2^-128; choose another attr_std or lattice"
            )
        found += low.tolist()
    return [min(value, 2**128 - 1) for value in found]


def _exponential(half: np.ndarray) -> np.ndarray:
    """e^y as an integer over 2^GUARD; y has the same denominator."""
    total = term = np.full(len(half), 1 << GUARD, dtype=object)
    j = 0
    while max(term):
        j += 1
        term = (term * half >> GUARD) // j
        total = total + term
    return total


def on_lattice(graph: Graph, noise: Noise) -> tuple[Graph, float]:
    """The graph with attributes rounded to multiples of h, and ‖X − X̄‖, rounded up."""
    given = graph.attributes
    step = float(noise.step)
    exact = np.asarray(given.data, dtype=np.float64)
    rounded = np.rint(exact / step) * step
    changed = graph.with_attributes(sp.csr_array((rounded, given.indices, given.indptr), shape=given.shape))
    require_lattice(changed, noise)
    moved = float(np.sqrt(((exact - rounded) ** 2).sum()))
    return changed, moved * (1 + 2.0**-30)


def require_lattice(graph: Graph, noise: Noise) -> None:
    """Refuse attributes that are not multiples of h: votes would not be samples of the certified classifier."""
    if graph.attr_values is None:
        raise InputError("Gaussian noise needs attributes that are numbers; expected a graph with attr_values")
    steps = np.asarray(graph.attr_values, dtype=np.float64) / float(noise.step)  # a power of two: exact
    if (steps != np.rint(steps)).any():
        raise InputError(
            f"an attribute is no multiple of {noise.lattice}, on which the noise is drawn; round them to it first"
        )
    if np.abs(steps).max(initial=0) >= MOST_STEPS:
        raise InputError(
            f"an attribute is {float(np.abs(graph.attr_values).max()):g}, which is 2^22 steps of the lattice "
            f"{noise.lattice} or more; choose a larger attr_std or lattice, or scale the attributes"
        )


@lru_cache(maxsize=4)
def lattice_table(std: Fraction, step: Fraction) -> LatticeTable:
    """The table of one noise, cached: the finest lattices take a second."""
    values = thresholds(std, step)
    words = np.array([[value >> shift & 0xFFFFFFFF for shift in (96, 64, 32, 0)] for value in values], dtype=np.uint32)
    prefix = np.ascontiguousarray(words[:, 0])
    starts = np.arange(2**_GUIDE_BITS, dtype=np.uint64) << np.uint64(32 - _GUIDE_BITS)
    guide = np.searchsorted(prefix, starts.astype(np.uint32), side="left").astype(np.int32)
    return LatticeTable(words, prefix, guide, len(values) // 2)


@compiled(inline="always")
def _more(start, step, draw, words, at, first):
    """The number of thresholds ≤ r, if the first 32 bits of r equal those of a threshold; draws the other 96 bits."""
    second = mix(start + step * (uint64(2) * uint64(draw) + uint64(1)))
    third = mix(start + step * (uint64(2) * uint64(draw) + uint64(2)))
    b, c, d = second >> uint64(32), second & uint64(0xFFFFFFFF), third >> uint64(32)
    while at < len(words) and uint64(words[at, 0]) == first:
        u, v, w = uint64(words[at, 1]), uint64(words[at, 2]), uint64(words[at, 3])
        if u > b or (u == b and (v > c or (v == c and w > d))):
            break
        at += 1
    return at


@compiled(nogil=True)
def draw_steps(seed, kind, sample, first, table, out):
    """K of the draws first … first + len(out) − 1 of a sample; draw i uses its own half of a 64-bit word."""
    words, prefix, guide, top = table
    start, step = open_stream(seed, kind + ATTR_NOISE, sample)
    more, stride = open_stream(seed, kind + ATTR_NOISE_MORE, sample)
    shift = uint64(32 - _GUIDE_BITS)
    word = uint64(0)
    for i in range(len(out)):
        draw = first + i
        if i == 0 or not draw & 1:
            word = mix(start + step * (uint64(draw >> 1) + uint64(1)))
        bits = word & uint64(0xFFFFFFFF) if draw & 1 else word >> uint64(32)
        at = np.int64(guide[bits >> shift])
        while at < len(prefix) and uint64(prefix[at]) < bits:
            at += 1
        if at < len(prefix) and uint64(prefix[at]) == bits:
            at = _more(more, stride, draw, words, at, bits)
        out[i] = at - top


@compiled(nogil=True)
def noisy_row(seed, kind, sample, node, table, h, attributes, steps, row):
    """One row of X̄ + h·K: exact in 32 bits, because both terms are small multiples of h."""
    indptr, indices, values = attributes
    draw_steps(seed, kind, sample, node * len(row), table, steps)
    for d in range(len(row)):
        row[d] = float32(steps[d]) * h
    for i in range(indptr[node], indptr[node + 1]):
        row[indices[i]] += values[i]


@compiled(nogil=True)
def noisy_table(seed, kind, sample, table, h, attributes, out):
    """X̄ + h·K of one sample, (nodes, attributes)."""
    steps = np.empty(out.shape[1], dtype=np.int32)
    for node in range(out.shape[0]):
        noisy_row(seed, kind, sample, node, table, h, attributes, steps, out[node])


@compiled(nogil=True)
def noisy_layer(seed, kind, first, table, h, attributes, weights, out):
    """out[s, b, n] = row n of X̄ + h·K in sample first + s, times block b of the weights; summed in a fixed order."""
    row = np.empty(weights.shape[1], dtype=np.float32)
    steps = np.empty(weights.shape[1], dtype=np.int32)
    for s in range(out.shape[0]):
        for n in range(out.shape[2]):
            noisy_row(seed, kind, first + s, n, table, h, attributes, steps, row)
            for b in range(out.shape[1]):
                total = out[s, b, n]
                total[:] = float32(0)
                for d in range(len(row)):
                    add_scaled_row(weights[b], d, row[d], total)
