"""Upper limits on the flips of one type inside a field; front points that need more cannot be reached."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import scipy.sparse as sp

from certcore.domain.perturbations import ADJ_DEL
from certcore.program.incidence import product
from certcore.program.problem import Problem


@dataclass(frozen=True, eq=False)
class FieldCapacity:
    """For each group an upper limit on the flips inside its field, as a function of σ.

    Without σ it is `total`. With σ, at most σ nodes are attackers: the limit is the sum of the σ largest capacities,
    looked up in the running sums of the capacities in descending order.
    """

    total: np.ndarray
    indptr: np.ndarray | None = None
    running: np.ndarray | None = None

    def limit(self, sigma: int | None) -> np.ndarray:
        """The most flips that each group's field can contain."""
        if sigma is None or self.indptr is None or self.running is None:
            return self.total
        take = np.minimum(np.diff(self.indptr), sigma)
        last = self.indptr[:-1] + take - 1
        padded = np.concatenate([self.running, [0]])  # index -1 (empty prefix) gives 0
        best = np.where(take > 0, padded[np.where(take > 0, last, -1)], 0)
        return np.asarray(np.minimum(self.total, best))


def attribute_supply(psi: sp.csr_array, capacity: np.ndarray, has_sigma: bool) -> FieldCapacity:
    """Attribute flips: the sum of the capacities of the nodes in the field."""
    capacity = capacity.astype(np.int64)
    total = product(psi, capacity)
    if not has_sigma:
        return FieldCapacity(total)
    return _with_sigma(capacity[psi.indices], psi.indptr, total)


def edge_supply(problem: Problem, big_psi: sp.csr_array) -> FieldCapacity:
    """Edge deletions: the unprotected edges of the field, limited by local budgets and by the attackers' capacities."""
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
    # A node contributes at most its capacity, and at most its number of incident edges in this field.
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
