"""Targets with equal fronts and equal fields are merged into one group, weighted by their number."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
import scipy.sparse as sp

from certcore.domain.fronts import Fronts
from certcore.program.incidence import product

#: Number of matrix entries compared at a time; limits memory.
MARKS = 4_000_000


@dataclass(frozen=True, eq=False)
class LiveFronts:
    """The targets' fronts, restricted to perturbation types with a budget and to points within the extent."""

    front_of_target: np.ndarray
    indptr: np.ndarray
    points: np.ndarray
    fallen: np.ndarray
    """Targets whose front contains the zero point: uncertified with no attack at all."""

    @property
    def alive(self) -> np.ndarray:
        """Targets with at least one nonzero front point: those in the program."""
        return (np.diff(self.indptr)[self.front_of_target] > 0) & ~self.fallen


def live_fronts(fronts: Fronts, targets: np.ndarray, extent: np.ndarray) -> LiveFronts:
    """Drop points beyond the extent (the paper's set L), then merge fronts that have become equal."""
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


def merge_rows(labels: np.ndarray, rows: list[sp.csr_array], chosen: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Group positions in `chosen`, which names rows of every matrix, by equal labels and equal rows.

    Returns the representative position of each group and the group of each position. Rows are hashed first. The members
    of a group are then compared with its representative entry by entry, so a hash collision cannot merge different
    rows.
    """
    rng = np.random.default_rng(20210501)
    columns = [labels.astype(np.uint64)]
    for matrix in rows:
        salt = rng.integers(0, 2**64, size=(matrix.shape[1] + 1), dtype=np.uint64)
        lengths = np.diff(matrix.indptr).astype(np.uint64)
        columns += [_row_sums(salt, matrix)[chosen], lengths[chosen]]
    _, first, group = np.unique(np.stack(columns, axis=1), axis=0, return_index=True, return_inverse=True)
    group = group.reshape(-1)
    order = np.argsort(first)
    rank = np.empty_like(order)
    rank[order] = np.arange(len(order))
    representative, group = first[order], rank[group]
    for matrix in rows:
        others = np.flatnonzero(representative[group] != np.arange(len(group)))
        extra = others[_differ(matrix, chosen[others], chosen[representative[group[others]]])]
        if len(extra):
            group[extra] = len(representative) + np.arange(len(extra))
            representative = np.concatenate([representative, extra])
    return representative, group


def undominated(influence: sp.csr_array, allowed: np.ndarray) -> np.ndarray:
    """Columns of `influence` (groups × sites) not dominated by another allowed column; of equal columns, the first.

    A site dominates another if it influences the same groups and has a limit that never binds. The adversary never
    needs a dominated site.
    """
    by_site = sp.csr_array(influence.T.tocsr())
    by_site.sort_indices()
    sizes = np.diff(by_site.indptr)
    keep = allowed & (sizes > 0)
    sites = np.flatnonzero(keep)
    # A dominating site has an entry in every row of the dominated site, so the smallest of these rows has all
    # candidates.
    row_sizes = np.diff(influence.indptr).astype(np.int64)
    width = influence.shape[0]
    if not len(sites):
        return keep
    filled = np.flatnonzero(sizes)
    smallest = np.zeros(len(sizes), dtype=np.int64)
    rank = row_sizes * width + np.arange(width)  # by size, then by index
    smallest[filled] = np.minimum.reduceat(rank[by_site.indices], by_site.indptr[filled]) % width
    smallest = smallest[sites]
    lengths = row_sizes[smallest]
    left = np.repeat(sites.astype(influence.indices.dtype), lengths)
    right = influence.indices[ranges(influence.indptr[smallest], lengths)]
    # A dominating site has more groups, or is the first of two equal sites; sites that are not allowed are last.
    place = np.empty(len(sizes), dtype=influence.indices.dtype)
    place[np.argsort(np.where(keep, -sizes.astype(np.int64), 1), kind="stable")] = np.arange(len(sizes))
    larger = place[right] < place[left]
    left, right = left[larger], right[larger]
    # Signatures of 256 bits rule out most pairs: each group sets one bit, so a subset sets a subset of the bits.
    for signature in _signatures(by_site):
        stays = (signature[left] & ~signature[right]) == 0
        left, right = left[stays], right[stays]
    # One dominating site is enough. The largest candidate is compared first, because it usually dominates.
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

    Works in blocks: a dense array marks the groups of the right sites and is read at those of the left sites.
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
        while at < stop:  # blocks bound the memory
            end = min(stop, max(at + 1, int(np.searchsorted(read, read[at] + MARKS, side="right")) - 1))
            part, lengths = left[at:end], sizes[left[at:end]]
            asked = _entries_of(by_site, part, sizes) + np.repeat((of[at:end] - first) * width, lengths)
            found = marked[asked]
            result[at:end] = np.logical_and.reduceat(found, read[at:end] - read[at])
            at = end
        marked[inside] = 0
    in_order = np.zeros(len(left), dtype=bool)
    in_order[order] = result
    return in_order


def _entries_of(matrix: sp.csr_array, rows: np.ndarray, sizes: np.ndarray) -> np.ndarray:
    """The columns of all entries of several rows, one row after the other."""
    return np.asarray(matrix.indices[ranges(matrix.indptr[rows], sizes[rows])])


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


def ranges(starts: np.ndarray, lengths: np.ndarray) -> np.ndarray:
    """All positions of several index ranges, one after the other."""
    total = int(lengths.sum())
    offsets = np.repeat(starts - (np.cumsum(lengths) - lengths), lengths)
    return offsets + np.arange(total)


def _row_sums(salt: np.ndarray, matrix: sp.csr_array) -> np.ndarray:
    return product(matrix, salt[: matrix.shape[1]])


def _differ(matrix: sp.csr_array, left: np.ndarray, right: np.ndarray) -> np.ndarray:
    """Whether row left[i] differs from row right[i]."""
    sizes = np.diff(matrix.indptr)
    unequal = sizes[left] != sizes[right]
    lengths = np.where(unequal, 0, sizes[left])
    a, b = ranges(matrix.indptr[left], lengths), ranges(matrix.indptr[right], lengths)
    other = matrix.indices[a] != matrix.indices[b]
    owner = np.repeat(np.arange(len(left)), lengths)
    return unequal | (np.bincount(owner[other], minlength=len(left)) > 0)
