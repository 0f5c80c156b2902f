"""The lattice of budgets: its extent, and a traversal that stops where nothing is certified."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator

import numpy as np

from certcore.base.joint import Joint, Order, order_pairs
from certcore.base.regions import NOTHING, BitPair, Regions
from certcore.domain.noise import Noise
from certcore.domain.perturbations import FLIPS, UNLIMITED

Extent = tuple[int, int, int, int]

#: A lattice with a larger estimated running time in seconds is cut, and the result says so.
MAX_SECONDS = 60.0
#: Largest number of flips along one axis.
MAX_AXIS = 1024


def _bit_pairs(noise: Noise) -> tuple[BitPair, BitPair]:
    """The two kinds of bits, attributes and edges, each with its flip probabilities."""
    a, b, c, d = noise.fractions
    return BitPair(a, b), BitPair(c, d)


def free_types(noise: Noise) -> tuple[bool, bool, bool, bool]:
    """Types whose flips have no effect, because samples do not depend on these bits."""
    a, e = (pair.free for pair in _bit_pairs(noise))
    return (a, a, e, e)


def certifiable_types(noise: Noise) -> tuple[bool, bool, bool, bool]:
    """Types of which at least one flip can be certified for some votes."""
    a, b, c, d = (_single_threshold(noise, kind, 1) < 1 for kind in range(len(FLIPS)))
    return (a, b, c, d)


def _single_threshold(noise: Noise, kind: int, flips: int) -> float:
    """The threshold p* of a budget with flips of one type only."""
    pair = _bit_pairs(noise)[kind // 2]
    regions = pair.regions(flips, 0) if kind % 2 == 0 else pair.regions(0, flips)
    return Joint(regions, NOTHING, _line(len(regions.clean))).threshold()


def lattice_box(
    noise: Noise, ceiling: float, limits: Extent, *, corners: bool = False
) -> tuple[Extent, tuple[bool, ...]]:
    """The largest budget of each type alone with a threshold below `ceiling`, and which axes were cut.

    Thresholds grow with the budget, so every budget certified for a probability up to `ceiling` lies in this box. A
    free type has no end; its axis has length one. No budget exceeds `limits`, the number of bits. If flip probabilities
    nearly cancel (θ_add + θ_del close to 1), the box can be too large to compute. It is then cut. `corners` means that
    every region of every budget will be listed, which takes longer.
    """
    free = free_types(noise)
    wanted = [0 if free[k] else _follow(noise, k, ceiling, min(limits[k], MAX_AXIS)) for k in range(len(FLIPS))]
    ends = list(wanted)
    while _seconds(noise, ends, wanted, corners) > MAX_SECONDS:
        longest = int(np.argmax(ends))
        ends[longest] = ends[longest] * 9 // 10
    cut = tuple(ends[k] < wanted[k] or MAX_AXIS <= ends[k] < limits[k] for k in range(len(FLIPS)))
    return (ends[0], ends[1], ends[2], ends[3]), cut


def walk(noise: Noise, extent: Extent, go_on: Callable[[Extent, Joint], bool]) -> Iterator[Extent]:
    """Visit budgets up to `extent`; budgets beyond one that `go_on` rejects are not visited.

    `go_on` is called once per visited budget with its worst-case classifier. The accepted budgets are yielded.
    """
    attributes, edges = _bit_pairs(noise)
    sizes = [math.prod(e + 1 for e in extent[:2]), math.prod(e + 1 for e in extent[2:])]
    # The larger factor is the outer loop: it is stored one row at a time, the inner factor as a whole.
    swap = sizes[1] > sizes[0]
    outer_pair, inner_pair = (edges, attributes) if swap else (attributes, edges)
    outer_end, inner_end = (extent[2:], extent[:2]) if swap else (extent[:2], extent[2:])
    order = order_pairs(
        outer_pair.step, inner_pair.step, _most_regions(outer_pair, outer_end), _most_regions(inner_pair, inner_end)
    )
    inner: dict[tuple[int, int], Regions] = {(0, 0): NOTHING}
    accepted: dict[tuple[int, int], np.ndarray] = {}
    everything = np.ones((inner_end[0] + 1, inner_end[1] + 1), dtype=bool)
    first = NOTHING
    for a in range(outer_end[0] + 1):
        if a:
            first = outer_pair.next_regions(first, addition=True, additions=a, deletions=0)
        regions, previous = first, accepted
        row: dict[tuple[int, int], np.ndarray] = {}
        for d in range(outer_end[1] + 1):
            allowed = everything
            if a:
                allowed = allowed & previous.get((a - 1, d), False)
            if d:
                allowed = allowed & row[a, d - 1]
                if allowed[0, 0]:
                    regions = outer_pair.next_regions(regions, addition=False, additions=a, deletions=d)
            if not allowed[0, 0]:
                break
            done = np.zeros_like(allowed)
            for b in range(inner_end[0] + 1):
                for c in range(inner_end[1] + 1):
                    before = (b == 0 or done[b - 1, c]) and (c == 0 or done[b, c - 1])
                    if not (before and allowed[b, c]):
                        break
                    if (b, c) not in inner:
                        inner[b, c] = _inner_step(inner_pair, inner, b, c)
                    budget = (b, c, a, d) if swap else (a, d, b, c)
                    if not go_on(budget, Joint(regions, inner[b, c], order)):
                        break
                    done[b, c] = True
                    yield budget
                if not done[b, 0]:
                    break
            row[a, d] = done
        accepted = row
        if not row:
            break


def _inner_step(pair: BitPair, known: dict[tuple[int, int], Regions], b: int, c: int) -> Regions:
    if c:
        return pair.next_regions(known[b, c - 1], addition=False, additions=b, deletions=c)
    return pair.next_regions(known[b - 1, 0], addition=True, additions=b, deletions=0)


def _most_regions(pair: BitPair, end: tuple[int, ...]) -> int:
    return 1 if pair.free or pair.degenerate else sum(end) + 1


def _line(length: int) -> Order:
    return Order(length, 1, tuple(((i, 0),) for i in range(length)))


def _follow(noise: Noise, kind: int, ceiling: float, limit: int) -> int:
    """The largest number of flips of one type, at most `limit`, with a threshold below `ceiling`."""
    high = 1
    while high <= limit and _single_threshold(noise, kind, high) < ceiling:
        high *= 2
    low, high = high // 2, min(high, limit + 1)
    while high - low > 1:
        middle = (low + high) // 2
        if _single_threshold(noise, kind, middle) < ceiling:
            low = middle
        else:
            high = middle
    return low


def _seconds(noise: Noise, ends: list[int], wanted: list[int], corners: bool) -> float:
    """Estimated seconds of the traversal on one core (fitted to measurements; only the order of magnitude matters)."""
    box = math.prod(e + 1 for e in ends)
    # The certified budgets fill a simplex over the wanted ends. If the box is cut, they may fill all of it.
    simplex = math.prod(w + 1 for w in wanted) / math.factorial(sum(1 for w in wanted if w))
    cells = min(box, simplex)
    sides = []
    for pair, end in zip(_bit_pairs(noise), (ends[:2], ends[2:])):
        plain = pair.free or pair.degenerate
        words = max(end) * math.log2(pair.denominator) / 64
        sides.append((math.prod(e + 1 for e in end), 1 if plain else max(end) + 1, words))
    (outer_cells, outer_regions, outer_words), (_, inner_regions, inner_words) = sorted(sides, reverse=True)
    words = outer_words + inner_words
    build = outer_cells * outer_regions * (0.6 + 0.03 * outer_words)
    steps = math.log2(outer_regions * inner_regions + 1) * inner_regions
    fill = cells * (20 + 0.1 * words**1.6 + steps * (0.4 + 0.05 * words) + 0.05 * outer_regions)
    listing = cells * outer_regions * inner_regions * (2.0 + 0.05 * words) if corners else 0.0
    return 1e-6 * (build + fill + listing)


def bits_of(n_nodes: int, n_attrs: int, ones: int, edges: int, directed: bool) -> Extent:
    """Number of possible flips of each type. An undirected edge is one bit."""
    slots = n_nodes * (n_nodes - 1) // (1 if directed else 2)
    return (n_nodes * n_attrs - ones, ones, slots - edges, edges)


NO_LIMITS: Extent = (UNLIMITED, UNLIMITED, UNLIMITED, UNLIMITED)
