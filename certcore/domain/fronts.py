"""Fronts: the minimal uncertified budgets of every node (the paper's Pareto fronts P)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from certcore.common.errors import InputError
from certcore.common.reading import whole_numbers
from certcore.domain.perturbations import FLIPS, TYPES


@dataclass(frozen=True, eq=False)
class Fronts:
    """The front of every node; nodes with equal fronts share one.

    Front f consists of `points[indptr[f]:indptr[f + 1]]`, each a budget per perturbation type. A budget is uncertified
    for a node iff some point of its front is at most the budget in every type. An empty front means
    certified at every budget. The zero point means uncertified even without an attack. Points over the four
    types of `FLIPS` alone are accepted too: any amount of another type is then uncertified.
    """

    front_of_node: np.ndarray
    indptr: np.ndarray
    points: np.ndarray

    def __post_init__(self) -> None:
        complete = np.shape(self.points)[1:] == (len(TYPES),)
        known = len(TYPES) if complete else len(FLIPS)
        points = self.points if np.size(self.points) else np.zeros((0, known), dtype=np.int64)
        points = whole_numbers(points, "the list of front points", 0, 2**62, shape=(None, known))
        indptr = whole_numbers(self.indptr, "the list of where fronts begin", 0, len(points))
        if not len(indptr) or indptr[0] != 0 or indptr[-1] != len(points) or (np.diff(indptr) < 0).any():
            raise InputError(f"fronts begin at {indptr[:5]} …; expected numbers from 0 up to {len(points)}")
        chosen = whole_numbers(self.front_of_node, "the list of the fronts of nodes", 0, len(indptr) - 2)
        if known < len(TYPES):
            indptr, points = _widened(indptr, points, range(known))
        for name, array in (("front_of_node", chosen), ("indptr", indptr), ("points", points)):
            object.__setattr__(self, name, array)

    @property
    def n_nodes(self) -> int:
        return len(self.front_of_node)

    @property
    def n_fronts(self) -> int:
        """Number of distinct fronts."""
        return len(self.indptr) - 1

    @property
    def clean(self) -> np.ndarray:
        """Mask of the nodes that are certified without any attack."""
        return self.certified((0,) * len(TYPES))

    def certified(self, budget: Sequence[int]) -> np.ndarray:
        """Mask of the nodes that are certified at this budget; types that are left out have budget 0."""
        given = (*budget, *(0,) * (len(TYPES) - len(budget))) if len(budget) == len(FLIPS) else budget
        limits = whole_numbers(given, "the budget", 0, 2**62, shape=(len(TYPES),))
        reached = np.all(self.points <= limits, axis=1)
        return ~self._any_per_front(reached)[self.front_of_node]

    def uncertified_at(self, nodes: np.ndarray, inside: np.ndarray) -> np.ndarray:
        """Which of `nodes` are uncertified, where node i receives the perturbation in row i of `inside`."""
        result = np.zeros(len(nodes), dtype=bool)
        fronts = self.front_of_node[nodes]
        sizes = np.diff(self.indptr)[fronts]
        owner = np.repeat(np.arange(len(nodes)), sizes)
        which = np.arange(len(owner)) - np.repeat(np.cumsum(sizes) - sizes, sizes) + self.indptr[fronts][owner]
        np.logical_or.at(result, owner, (self.points[which] <= inside[owner]).all(axis=1))
        return result

    def of_node(self, node: int) -> np.ndarray:
        """The points of one node's front."""
        front = self.front_of_node[node]
        return self.points[self.indptr[front] : self.indptr[front + 1]]

    def _any_per_front(self, flags: np.ndarray) -> np.ndarray:
        owner = np.repeat(np.arange(self.n_fronts), np.diff(self.indptr))
        return np.bincount(owner[flags], minlength=self.n_fronts) > 0


def fronts_from_lists(front_of_node: np.ndarray, fronts: Sequence[np.ndarray]) -> Fronts:
    """Concatenate one array of points per distinct front."""
    sizes = [len(front) for front in fronts]
    width = next((front.shape[1] for front in fronts if front.ndim == 2), len(TYPES))
    points = np.concatenate([np.reshape(f, (-1, width)) for f in fronts]) if fronts else np.zeros((0, width), np.int64)
    return Fronts(front_of_node, np.concatenate([[0], np.cumsum(sizes)]), points)


def fronts_over(kinds: Sequence[str], front_of_node: np.ndarray, indptr: np.ndarray, points: np.ndarray) -> Fronts:
    """Fronts from points over the types `kinds`; any amount of another type is uncertified."""
    return Fronts(front_of_node, *_widened(indptr, points, [TYPES.index(kind) for kind in kinds]))


def fronts_from_grid(grid: np.ndarray, axes: Sequence[str]) -> Fronts:
    """Fronts of a boolean grid: first axis nodes, further axes the perturbation types named by `axes`.

    A point is on the front iff it is uncertified and every neighbour with one flip less is certified (or would be
    negative). That is a difference along each axis, computed for all distinct certificates at once. The grid is padded
    by one uncertified layer, so that budgets beyond its end are uncertified. A type without an axis gets an axis of
    length one before padding, so that any flip of it is uncertified.
    """
    known = [kind for kind in TYPES if kind in FLIPS or kind in axes]
    full = _all_axes(grid, axes, known)
    distinct, front_of_node = _distinct_rows(full.reshape(len(full), -1))
    certified = np.pad(distinct.reshape(-1, *full.shape[1:]), [(0, 0)] + [(0, 1)] * len(known))
    minimal = ~certified
    for axis in range(1, 1 + len(known)):
        below = np.roll(certified, 1, axis=axis)
        first = [slice(None)] * certified.ndim
        first[axis] = slice(0, 1)
        below[tuple(first)] = True
        minimal &= below
    found = np.argwhere(minimal)
    indptr = np.concatenate([[0], np.cumsum(np.bincount(found[:, 0], minlength=len(certified)))])
    points = found[:, 1:]
    if len(known) < len(TYPES):
        indptr, points = _widened(indptr, points, [TYPES.index(kind) for kind in known])
    return Fronts(front_of_node, indptr, points)


def _widened(indptr: np.ndarray, points: np.ndarray, kinds: Sequence[int]) -> tuple[np.ndarray, np.ndarray]:
    """Extend fronts over some types to all types: one unit of any other type is a point of every front.

    A front with the zero point needs no other point.
    """
    wide = np.zeros((len(points), len(TYPES)), dtype=np.int64)
    wide[:, list(kinds)] = points
    others = [k for k in range(len(TYPES)) if k not in kinds]
    units = np.eye(len(TYPES), dtype=np.int64)[others]
    owner = np.repeat(np.arange(len(indptr) - 1), np.diff(indptr))
    zero = np.bincount(owner[~points.any(axis=1)], minlength=len(indptr) - 1) > 0
    more = np.flatnonzero(~zero)
    owners = np.concatenate([owner, np.repeat(more, len(others))])
    order = np.argsort(owners, kind="stable")
    sizes = np.diff(indptr) + np.where(zero, 0, len(others))
    return np.concatenate([[0], np.cumsum(sizes)]), np.concatenate([wide, np.tile(units, (len(more), 1))])[order]


def _distinct_rows(rows: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Distinct rows of a boolean matrix, and the index of the distinct row that each row equals."""
    packed = np.packbits(rows, axis=1)
    keys = np.ascontiguousarray(packed).view([("", packed.dtype)] * packed.shape[1]).ravel()
    _, first, which = np.unique(keys, return_index=True, return_inverse=True)
    return rows[first], which.reshape(-1)


def _all_axes(grid: np.ndarray, axes: Sequence[str], known: Sequence[str]) -> np.ndarray:
    """Bring a grid into the order of the types `known`, with an axis of length one for each missing one."""
    grid = np.asarray(grid)
    names = [str(name) for name in axes]
    if grid.dtype != np.bool_:
        if grid.dtype.kind not in "iu" or not np.isin(grid, (0, 1)).all():
            raise InputError(f"base_grid has type {grid.dtype}; expected booleans (or only 0 and 1)")
        grid = grid.astype(bool)
    for name in names:
        if name not in TYPES:
            raise InputError(f"base_axes names {name!r}; expected names among {', '.join(TYPES)}")
        if names.count(name) > 1:
            raise InputError(f"base_axes names {name!r} twice; every perturbation type may have one axis")
    if grid.ndim != len(names) + 1:
        raise InputError(
            f"base_grid has {grid.ndim} axes; expected one for the nodes and one for each of the {len(names)} types"
        )
    if 0 in grid.shape:
        raise InputError(f"base_grid has shape {grid.shape}; expected at least one node and one budget on every axis")
    order = sorted(range(len(names)), key=lambda i: TYPES.index(names[i]))
    ordered = grid.transpose(0, *(i + 1 for i in order))
    shape = [grid.shape[names.index(t) + 1] if t in names else 1 for t in known]
    full = ordered.reshape(len(grid), *shape)
    for axis in range(1, full.ndim):
        low, high = [slice(None)] * full.ndim, [slice(None)] * full.ndim
        low[axis], high[axis] = slice(0, -1), slice(1, None)
        wrong = np.argwhere(full[tuple(high)] & ~full[tuple(low)])
        if len(wrong):
            node, *budget = wrong[0].tolist()
            lower = tuple(budget)
            budget[axis - 1] += 1
            raise InputError(
                f"base_grid is not monotone: node {node} is certified at budget {tuple(budget)} but not at the smaller "
                f"budget {lower} (order {', '.join(known)}); a larger budget cannot be easier to certify"
            )
    return full
