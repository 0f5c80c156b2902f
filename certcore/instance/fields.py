"""Receptive fields: which nodes (ψ) and edges (Ψ) can influence each target's prediction."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import scipy.sparse as sp

from certcore.common.errors import InputError
from certcore.common.memory import check_memory
from certcore.domain.edge_field import EdgeField
from certcore.domain.graph import Graph
from certcore.instance.instance import Instance

#: Largest number of entries of fields, checked while they are built: two hops around a hub may reach every node.
MAX_ENTRIES = 5 * 10**8
#: Products with more terms are made in blocks of rows, which bounds their memory.
BLOCK_TERMS = 10**7


@dataclass(frozen=True, eq=False)
class Fields:
    """Fields of the chosen targets: one row per target, over all nodes and over all edges of `Graph.edges`.

    `nodes` is for attribute flips, `edges` for edge deletions. Both are sparse 0/1 patterns with sorted indices.
    `edges` is None if edge deletions are not needed.
    """

    nodes: sp.csr_array
    edges: sp.csr_array | None


def fields_of(instance: Instance, targets: np.ndarray, *, need_edges: bool) -> Fields:
    """Derive the fields of the targets from the instance's declaration."""
    if instance.node_field is not None:
        if need_edges:
            raise InputError(
                "this instance has explicit node fields, which hold for attribute budgets only; "
                "set the edge budgets to 0, or give layers and edge_field"
            )
        return Fields(as_pattern(sp.csr_array(instance.node_field[targets])), None)
    assert instance.layers is not None
    return hop_fields(instance.graph, targets, instance.layers, instance.edge_field, need_edges=need_edges)


def hop_fields(graph: Graph, targets: np.ndarray, layers: int, rule: str, *, need_edges: bool = True) -> Fields:
    """Fields of a message-passing network with `layers` layers; rows follow messages from receiver to sender.

    Rule `messages`: an edge is included if its receiving end is within layers − 1 hops. Rule `degrees`: if either end
    is within `layers` hops, because messages are weighted by the sender's degree.
    """
    reach = sp.csr_array(
        (np.ones(len(targets), dtype=np.int32), targets.copy(), np.arange(len(targets) + 1)),
        shape=(len(targets), graph.n_nodes),
    )
    step = sp.csr_array(graph.adjacency.astype(np.int32) + sp.eye_array(graph.n_nodes, dtype=np.int32))
    inner = sp.csr_array(reach.shape, dtype=np.int32)
    for _ in range(layers):
        inner = reach
        reach = product_of_patterns(reach, step)
    if not need_edges:
        return Fields(reach, None)
    receivers = _incidence(graph, both=not graph.directed)
    near, incidence = (inner, receivers) if rule == EdgeField.MESSAGES else (reach, _incidence(graph, both=True))
    return Fields(reach, product_of_patterns(near, incidence))


def product_of_patterns(fields: sp.csr_array, steps: sp.csr_array) -> sp.csr_array:
    """The pattern of the product of two patterns, computed in blocks of rows."""
    lengths = np.diff(steps.indptr).astype(np.int64)
    work = np.concatenate([[0], np.cumsum(lengths[fields.indices])])[fields.indptr]  # cumulative, before each row
    if work[-1] <= min(BLOCK_TERMS, MAX_ENTRIES):
        return as_pattern(fields @ steps)
    parts, entries, start = [], 0, 0
    while start < fields.shape[0]:
        stop = max(start + 1, int(np.searchsorted(work, work[start] + BLOCK_TERMS, side="right")) - 1)
        parts.append(as_pattern(fields[start:stop] @ steps))
        entries += parts[-1].nnz
        if entries > MAX_ENTRIES:
            raise InputError(
                f"the receptive fields of the targets have more than {MAX_ENTRIES:,} entries; expected fewer layers, "
                "fewer targets or a smaller graph"
            )
        check_memory(entries)
        start = stop
    return sp.csr_array(sp.vstack(parts, format="csr"))


def _incidence(graph: Graph, *, both: bool) -> sp.csr_array:
    """Nodes × edges: which edges end at a node (as receiver only, or at either end)."""
    edges = graph.edges
    number = np.arange(len(edges))
    nodes, columns = (edges.T.ravel(), np.tile(number, 2)) if both else (edges[:, 0], number)
    data = np.ones(len(nodes), dtype=np.int32)
    return sp.csr_array(sp.coo_array((data, (nodes, columns)), shape=(graph.n_nodes, len(edges))))


def as_pattern(matrix: sp.csr_array) -> sp.csr_array:
    """The same non-zero entries with value one, in a byte each, and sorted indices.

    Products of two patterns count beyond a byte: one of them must have a wider type. The matrix must not be used after
    this, because its arrays are.
    """
    result = sp.csr_array(matrix)
    result.eliminate_zeros()
    result.data = np.ones(len(result.indices), dtype=np.int8)  # nothing else has to be sorted along
    result.sort_indices()
    return result
