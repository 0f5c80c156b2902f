"""Fields of division voting: which nodes near a target matter for each of its votes."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import scipy.sparse as sp

from certcore.base.division import DivisionBase, PairHash
from certcore.domain.edge_field import EdgeField
from certcore.domain.graph import Graph
from certcore.instance.fields import as_pattern, product_of_patterns
from certcore.instance.instance import Instance


@dataclass(frozen=True, eq=False)
class Division:
    """For every group, the nodes within k' hops of each target in the clean graph of that group.

    Vote (n, t) can change only if a flipped pair of group t has an end there. k' is one less than the number of
    layers for mean and attention aggregation (`messages`), and the number of layers where the degrees of senders are
    read (`degrees`): there the new degree of a neighbour counts even if its state is unchanged.
    """

    hash: PairHash
    near: tuple[sp.csr_array, ...]
    """Per group: targets × nodes, a 0/1 pattern."""
    group_of_edge: np.ndarray
    thresholds: np.ndarray
    """How many votes of each target must change at least."""
    alone: bool
    """Whether every target is near itself only (k' = 0)."""

    def touched(self, graph: Graph, deleted: np.ndarray, added: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """(targets, groups) twice: votes that the added pairs can change, and those that the deleted edges can.

        `deleted` are positions in `Graph.edges`, `added` pairs of nodes.
        """
        by_adding, by_deleting = (
            np.stack([self._reached(t, pairs[group == t]) for t in range(self.hash.groups)], axis=1)
            for pairs, group in (
                (added, self.hash.of(added)),
                (graph.edges[deleted], self.group_of_edge[deleted]),
            )
        )
        return by_adding, by_deleting

    def reached_by(self, pair: tuple[int, int]) -> np.ndarray:
        """Targets one of whose votes a flip of this pair can change."""
        ends = np.array([pair])
        return self._reached(int(self.hash.of(ends)[0]), ends)

    def _reached(self, group: int, pairs: np.ndarray) -> np.ndarray:
        near = self.near[group]
        ends = np.zeros(near.shape[1], dtype=np.int64)
        ends[pairs.ravel()] = 1
        return np.asarray(near @ ends > 0)


def division_of(instance: Instance, targets: np.ndarray) -> Division:
    """Recompute groups and fields from the instance; nothing of them is read from a file."""
    base, graph = instance.base, instance.graph
    assert isinstance(base, DivisionBase)
    assert instance.layers is not None
    group = base.hash.of(graph.edges)
    hops = max(instance.layers - 1, 0) if instance.edge_field == EdgeField.MESSAGES else instance.layers
    near = tuple(_near(graph, group == t, targets, hops) for t in range(base.n_groups))
    return Division(base.hash, near, group, base.thresholds[targets], hops == 0)


def _near(graph: Graph, chosen: np.ndarray, targets: np.ndarray, hops: int) -> sp.csr_array:
    """Nodes within some hops of each target over the chosen edges, from receivers to senders."""
    n, edges = graph.n_nodes, graph.edges[chosen]
    pairs = edges if graph.directed else np.concatenate([edges, edges[:, ::-1]])
    steps = sp.csr_array(sp.coo_array((np.ones(len(pairs), dtype=np.int32), (pairs[:, 0], pairs[:, 1])), shape=(n, n)))
    reach = sp.csr_array(
        (np.ones(len(targets), dtype=np.int32), targets.copy(), np.arange(len(targets) + 1)), shape=(len(targets), n)
    )
    for _ in range(hops):
        reach = as_pattern(reach + product_of_patterns(reach, steps))
    return as_pattern(reach)
