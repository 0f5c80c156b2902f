"""The smoothing distribution as tables for the sampler: thresholds and alias tables.

Bits are kept with their probability to within 2^-128. Alias tables represent probabilities to within 2^-59, which is
negligible beside the smallest distance of a flip probability from 0 and 1 that a `Noise` allows.
"""

from __future__ import annotations

from fractions import Fraction
from functools import lru_cache

import numpy as np

#: SLOT_BITS: an alias table has 2^11 slots, chosen by the low bits of a random word. SIDE_BITS: the 48 high bits choose
#: between slot and alias.
SLOT_BITS, SIDE_BITS = 11, 48


def keep_threshold(flip: Fraction) -> tuple[tuple[np.uint64, np.uint64], bool]:
    """A bit is kept iff a uniform 128-bit number is below the threshold (two words); the flag: all are kept."""
    threshold = min(int((1 - flip) * 2**128), 2**128 - 1)
    return (np.uint64(threshold >> 64), np.uint64(threshold & 2**64 - 1)), flip == 0


@lru_cache(maxsize=16)
def gap_table(flip: Fraction) -> np.ndarray:
    """Alias table of the geometric number of zeros between two additions; slot = threshold · 2^16 + alias.

    The last outcome means "at least this many, draw again", which is exact because the geometric distribution is
    memoryless. Weights are integers, so no mass is lost. An empty table means no additions.
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
    # The remaining slots are exactly full: both sides mean the same outcome.
    return np.array([t << 16 | alias for t, alias in zip(thresholds, aliases)], dtype=np.uint64)


def bit_table(indptr: np.ndarray, indices: np.ndarray, n_cols: int) -> np.ndarray:
    """The ones of a sparse matrix as a bit array for fast lookup, 64 per word, each row starting a new word."""
    n_rows, width = len(indptr) - 1, (n_cols + 63) // 64
    words = np.zeros(n_rows * width, dtype=np.uint64)
    rows = np.repeat(np.arange(n_rows), np.diff(indptr))
    np.bitwise_or.at(words, rows * width + (indices >> 6), np.uint64(1) << (indices & 63).astype(np.uint64))
    return words.reshape(n_rows, width)
