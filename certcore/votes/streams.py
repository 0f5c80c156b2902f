"""Random words by sample number: every sample has its own streams, independent of process and order.

A stream is SplitMix64 with its own start and its own odd increment, both hashed from (seed, purpose, sample), as in
Steele, Lea and Flood, "Fast splittable pseudorandom number generators" (2014). Word number i is a hash of start +
i·increment, so no state is passed from one sample to the next.
"""

# Numba infers the types of compiled functions from their arguments.
# mypy: disable-error-code="no-untyped-def"
from __future__ import annotations

import numpy as np
from numba import uint64

from certcore.common.compiled import compiled

#: What a stream draws; the purpose of its sample (certcore.votes.purposes) is added.
ATTR_KEEP, ATTR_ADD, ADJ_KEEP, ADJ_ADD = range(4)

_GOLDEN = np.uint64(0x9E3779B97F4A7C15)
_ALL = np.uint64(0xFFFFFFFFFFFFFFFF)


@compiled(inline="always")
def mix(z):
    """The finaliser of SplitMix64."""
    z = (z ^ (z >> uint64(30))) * uint64(0xBF58476D1CE4E5B9)
    z = (z ^ (z >> uint64(27))) * uint64(0x94D049BB133111EB)
    return z ^ (z >> uint64(31))


@compiled()
def open_stream(seed, purpose, sample):
    """Start and increment of one stream."""
    key = mix(uint64(seed) + _GOLDEN)
    key = mix(key ^ mix(uint64(purpose) + uint64(1)))
    key = mix(key + _GOLDEN * (uint64(sample) + uint64(1)))
    return mix(key + uint64(1)), mix(key + uint64(2)) | uint64(1)


@compiled()
def keep_bits(counter, increment, threshold, keep_all, n_bits, words):
    """Fill `words` with independent bits, each one with probability threshold / 2^128 (two words, the high one first).

    Sixty-four comparisons "uniform < threshold" run in parallel. Each word of the stream supplies one bit of every
    uniform, highest first. They end when each comparison has found a differing bit (after about 8 words on average).
    """
    for i in range((n_bits + 63) // 64):
        result = _ALL
        if not keep_all:
            undecided = _ALL
            result = uint64(0)
            rest, low, left = threshold[0], threshold[1], 64
            while undecided != 0 and (rest != 0 or low != 0):
                counter += increment
                word = mix(counter)
                if rest >> uint64(63):
                    result |= undecided & ~word
                    undecided &= word
                else:
                    undecided &= ~word
                rest <<= uint64(1)
                left -= 1
                if left == 0:
                    rest, low = low, uint64(0)
        words[i] = result
    return counter


@compiled(inline="always")
def take_bits(words, start, count):
    """Bits start … start + count − 1 of a bit array, 1 ≤ count ≤ 64, lowest first."""
    block, shift = start >> 6, uint64(start & 63)
    bits = words[block] >> shift
    if shift and (start + count - 1) >> 6 != block:
        bits |= words[block + 1] << (uint64(64) - shift)
    return bits & (_ALL >> uint64(64 - count))


@compiled(inline="always")
def next_gap(counter, increment, table):
    """One draw from an alias table of gaps; the last outcome means: skip that many and draw again."""
    counter += increment
    word = mix(counter)
    slot = word & uint64(len(table) - 1)
    entry = table[slot]
    alias = entry & uint64(0xFFFF)
    # A mask instead of a branch, which would be unpredictable.
    own = uint64(0) - uint64((word >> uint64(16)) < (entry >> uint64(16)))
    return counter, np.int64(alias ^ ((alias ^ slot) & own))


@compiled(inline="always")
def jump(counter, increment, table, cells):
    """Geometric distance (at least 1) from one hit to the next; distances beyond `cells` are not exact.

    Without that limit, a hit of probability 1e-12 would take a billion draws in every sample.
    """
    last = len(table) - 1
    counter, gap = next_gap(counter, increment, table)
    distance = gap + 1
    while gap == last and distance <= cells:
        counter, gap = next_gap(counter, increment, table)
        distance += gap
    return counter, distance


@compiled(inline="always")
def added_columns(counter, increment, position, table, width, cells, existing, columns):
    """List the additions in one row of `width` cells (of `cells` in all), skipping the bits set in `existing`.

    `position` is the next hit, counted from the start of this row; it may lie in a later row. Returns the counter,
    the next hit counted from the start of the next row, and the number of columns listed.
    """
    count = np.int64(0)
    while position < width:
        taken = (existing[position >> 6] >> uint64(position & 63)) & uint64(1)
        columns[count] = position
        count += np.int64(uint64(1) - taken)
        counter, distance = jump(counter, increment, table, cells)
        position += distance
    return counter, position - width, count
