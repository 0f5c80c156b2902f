"""Targets with equal fronts and equal fields are merged into one group, weighted by their number."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
import scipy.sparse as sp

from certcore.domain.fronts import Fronts

#: Matrix entries that are compared at a time, which limits the memory used.
MARKS = 4_000_000


@dataclass(frozen=True, eq=False)
class LiveFronts:
    """Fronts cut down to the types in play and the budgets within an extent, for the targets."""

    front_of_target: np.ndarray
    indptr: np.ndarray
    points: np.ndarray
    fallen: np.ndarray
    """Targets whose front contains the zero point: uncertified with no attack at all."""

    @property
    def alive(self) -> np.ndarray:
        """Targets with at least one point, the zero point aside: those the program is about."""
        return (np.diff(self.indptr)[self.front_of_target] > 0) & ~self.fallen


def live_fronts(fronts: Fronts, targets: np.ndarray, extent: np.ndarray) -> LiveFronts:
    """Drop points beyond the extent (the paper's set L) and unify fronts that have become equal."""
    keep = (fronts.points <= extent).all(axis=1)
    owner = np.repeat(np.arange(fronts.n_fronts), np.diff(fronts.indptr))
    counts = np.bincount(owner[keep], minlength=fronts.n_fronts)
    indptr = np.concatenate([[0], np.cumsum(counts)])
    points = fronts.points[keep]
    seen: dict[bytes, int] = {}
    unified = np.array(
        [seen.setdefault(points[indptr[f] : indptr[f + 1]].tobytes(), f) for f in range(fronts.n_fronts)],
        dtype=np.int64,
    )
    zero = np.zeros(fronts.n_fronts, dtype=bool)
    zero[owner[(fronts.points == 0).all(axis=1)]] = True
    front_of_target = unified[fronts.front_of_node[targets]]
    return LiveFronts(front_of_target, indptr, points, zero[fronts.front_of_node[targets]])


def merge_rows(labels: np.ndarray, rows: list[sp.csr_array]) -> tuple[np.ndarray, np.ndarray]:
    """Group positions with equal labels and equal rows in every matrix.

    Returns the representative position of each group and the group of each position. Rows are compared by a hash
    first; the members of a group are then compared with their representative entry by entry, so a collision can
    never merge what differs.
    """
    rng = np.random.default_rng(20210501)
    columns = [labels.astype(np.uint64)]
    for matrix in rows:
        salt = rng.integers(0, 2**64, size=(matrix.shape[1] + 1), dtype=np.uint64)
        columns += [_row_sums(salt, matrix), np.diff(matrix.indptr).astype(np.uint64)]
    _, first, group = np.unique(np.stack(columns, axis=1), axis=0, return_index=True, return_inverse=True)
    group = group.reshape(-1)
    order = np.argsort(first)
    rank = np.empty_like(order)
    rank[order] = np.arange(len(order))
    representative, group = first[order], rank[group]
    for matrix in rows:
        others = np.flatnonzero(representative[group] != np.arange(len(group)))
        extra = others[_differ(matrix, others, representative[group[others]])]
        if len(extra):
            group[extra] = len(representative) + np.arange(len(extra))
            representative = np.concatenate([representative, extra])
    return representative, group


def undominated(influence: sp.csr_array, allowed: np.ndarray) -> np.ndarray:
    """Columns of `influence` (groups × sites) not contained in another allowed column; of equal ones, the first.

    If another site influences all groups that a site influences, costs the same and has a limit that never binds, the
    adversary does not need the first one.
    """
    by_site = sp.csr_array(influence.T.tocsr())
    by_site.sort_indices()
    sizes = np.diff(by_site.indptr)
    keep = allowed & (sizes > 0)
    sites = np.flatnonzero(keep)
    # A dominating site has an entry in every row of the dominated one: the smallest row gives all candidates.
    row_sizes = np.diff(influence.indptr).astype(np.int64)
    width = influence.shape[0]
    if not len(sites):
        return keep
    filled = np.flatnonzero(sizes)
    smallest = np.zeros(len(sizes), dtype=np.int64)
    rank = row_sizes * width + np.arange(width)  # by size, then by number
    smallest[filled] = np.minimum.reduceat(rank[by_site.indices], by_site.indptr[filled]) % width
    smallest = smallest[sites]
    lengths = row_sizes[smallest]
    left = np.repeat(sites, lengths)
    right = influence.indices[_ranges(influence.indptr[smallest], lengths)]
    possible = keep[right] & (left != right)
    larger = (sizes[right] > sizes[left]) | ((sizes[right] == sizes[left]) & (right < left))
    left, right = left[possible & larger], right[possible & larger]
    # A signature of 256 bits rules most pairs out: every group sets one bit, and a subset sets no other bits.
    for signature in _signatures(by_site):
        stays = (signature[left] & ~signature[right]) == 0
        left, right = left[stays], right[stays]
    # One dominating site is enough: the largest candidate is compared first, and in most cases it dominates.
    order = np.lexsort((-sizes[right], left))
    left, right = left[order], right[order]
    first = np.append(True, left[1:] != left[:-1])[: len(left)]
    dominated = np.zeros(len(sizes), dtype=bool)
    dominated[left[first][_within(by_site, left[first], right[first])]] = True
    rest = ~first & ~dominated[left]
    left, right = left[rest], right[rest]
    dominated[left[_within(by_site, left, right)]] = True
    return keep & ~dominated


def _within(by_site: sp.csr_array, left: np.ndarray, right: np.ndarray) -> np.ndarray:
    """Whether all groups of site left[i] are groups of site right[i].

    The groups of a block of sites on the right are marked, and those of the left sites are looked up among them.
    """
    sizes, width = np.diff(by_site.indptr).astype(np.int64), by_site.shape[1]
    order = np.argsort(right, kind="stable")
    left = left[order]
    wholes, of = np.unique(right[order], return_inverse=True)
    result = np.zeros(len(left), dtype=bool)
    step = max(1, MARKS // max(width, 1))
    marked = np.zeros(min(step, len(wholes)) * width, dtype=bool)
    read = np.concatenate([[0], np.cumsum(sizes[left])])
    for first in range(0, len(wholes), step):
        block = wholes[first : first + step]
        inside = _entries_of(by_site, block, sizes) + np.repeat(np.arange(len(block)) * width, sizes[block])
        marked[inside] = True
        at, stop = np.searchsorted(of, [first, first + step]).tolist()
        while at < stop:  # in blocks that fit into memory
            end = min(stop, max(at + 1, int(np.searchsorted(read, read[at] + MARKS, side="right")) - 1))
            part, lengths = left[at:end], sizes[left[at:end]]
            asked = _entries_of(by_site, part, sizes) + np.repeat((of[at:end] - first) * width, lengths)
            result[at:end] = np.logical_and.reduceat(marked[asked], read[at:end] - read[at])
            at = end
        marked[inside] = False
    found = np.zeros(len(left), dtype=bool)
    found[order] = result
    return found


def _entries_of(matrix: sp.csr_array, rows: np.ndarray, sizes: np.ndarray) -> np.ndarray:
    """The columns of all entries of several rows, one row after the other."""
    return np.asarray(matrix.indices[_ranges(matrix.indptr[rows], sizes[rows])])


def _signatures(by_site: sp.csr_array) -> Iterator[np.ndarray]:
    """The four 64-bit words of the signatures, each as one array over all sites."""
    bit = np.random.default_rng(20260501).integers(0, 256, by_site.shape[1])
    filled = np.flatnonzero(np.diff(by_site.indptr))
    for word in range(4):
        mine = np.where(bit // 64 == word, np.uint64(1) << (bit % 64).astype(np.uint64), np.uint64(0))
        signature = np.zeros(by_site.shape[0], dtype=np.uint64)
        if len(filled):
            signature[filled] = np.bitwise_or.reduceat(mine[by_site.indices], by_site.indptr[filled])
        yield signature


def _ranges(starts: np.ndarray, lengths: np.ndarray) -> np.ndarray:
    """All positions of several index ranges, one after the other."""
    total = int(lengths.sum())
    offsets = np.repeat(starts - (np.cumsum(lengths) - lengths), lengths)
    return offsets + np.arange(total)


def _row_sums(salt: np.ndarray, matrix: sp.csr_array) -> np.ndarray:
    ones = sp.csr_array((np.ones(matrix.nnz, dtype=np.uint64), matrix.indices, matrix.indptr), shape=matrix.shape)
    return np.asarray(ones @ salt[: matrix.shape[1]])


def _differ(matrix: sp.csr_array, left: np.ndarray, right: np.ndarray) -> np.ndarray:
    """Whether row left[i] differs from row right[i]."""
    sizes = np.diff(matrix.indptr)
    unequal = sizes[left] != sizes[right]
    lengths = np.where(unequal, 0, sizes[left])
    a = matrix.indices[_ranges(matrix.indptr[left], lengths)]
    b = matrix.indices[_ranges(matrix.indptr[right], lengths)]
    owner = np.repeat(np.arange(len(left)), lengths)
    return unequal | (np.bincount(owner[a != b], minlength=len(left)) > 0)
