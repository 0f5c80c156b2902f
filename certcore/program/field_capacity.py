"""How much perturbation of one type can reach a field at all: points beyond that are out of reach."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import scipy.sparse as sp

from certcore.domain.perturbations import ADJ_DEL
from certcore.program.problem import Problem


@dataclass(frozen=True, eq=False)
class FieldCapacity:
    """For each group a proven limit on what its field can receive, as a function of σ.

    Without σ it is `total`. With σ, at most σ nodes give anything: the sum of the σ largest capacities, looked up
    in the running sums of the capacities sorted in descending order.
    """

    total: np.ndarray
    indptr: np.ndarray | None = None
    running: np.ndarray | None = None

    def limit(self, sigma: int | None) -> np.ndarray:
        """What each group's field can receive at most."""
        if sigma is None or self.indptr is None or self.running is None:
            return self.total
        take = np.minimum(np.diff(self.indptr), sigma)
        last = self.indptr[:-1] + take - 1
        padded = np.concatenate([self.running, [0]])  # index -1 for empty takes
        best = np.where(take > 0, padded[np.where(take > 0, last, -1)], 0)
        return np.minimum(self.total, best)


def attribute_supply(psi: sp.csr_array, capacity: np.ndarray, has_sigma: bool) -> FieldCapacity:
    """Attribute flips: the capacities of the nodes in the field."""
    total = np.asarray(psi @ capacity.astype(np.int64))
    return _with_sigma(capacity[psi.indices].astype(np.int64), psi.indptr, total) if has_sigma else FieldCapacity(total)


def edge_supply(problem: Problem, big_psi: sp.csr_array) -> FieldCapacity:
    """Edge deletions: the free edges of the field, thinned by local budgets and by who may pay."""
    graph = problem.instance.graph
    free = problem.free[graph.edges].all(axis=1).astype(np.int64)
    total = _segment_sums(free[big_psi.indices], big_psi.indptr)
    has_sigma = problem.threat.sigma is not None
    if not has_sigma and not problem.limited(ADJ_DEL):
        return FieldCapacity(total)
    count = graph.n_edges
    ends = sp.coo_array(
        (np.tile(free, 2), (np.tile(np.arange(count), 2), graph.edges.T.ravel())),
        shape=(count, graph.n_nodes),
    )
    standing = sp.csr_array(big_psi.astype(np.int64) @ ends.tocsr())
    # At node m at most its capacity, and at most the edges of this very field that stand there.
    at_node = np.minimum(standing.data, problem.capacities[ADJ_DEL][standing.indices])
    total = np.minimum(total, _segment_sums(at_node, standing.indptr) // 2)
    return _with_sigma(at_node, standing.indptr, total) if has_sigma else FieldCapacity(total)


def _with_sigma(values: np.ndarray, indptr: np.ndarray, total: np.ndarray) -> FieldCapacity:
    owner = np.repeat(np.arange(len(indptr) - 1), np.diff(indptr))
    order = np.lexsort((-values, owner))
    running = np.cumsum(values[order])
    before = np.concatenate([[0], running])[indptr[:-1]]
    return FieldCapacity(total, np.asarray(indptr), running - np.repeat(before, np.diff(indptr)))


def _segment_sums(values: np.ndarray, indptr: np.ndarray) -> np.ndarray:
    sums = np.concatenate([[0], np.cumsum(values, dtype=np.int64)])
    return sums[indptr[1:]] - sums[indptr[:-1]]
