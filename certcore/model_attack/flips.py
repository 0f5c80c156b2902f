"""Flips of single bits: a list of flips is an attack, and every prefix of it is an attack at a smaller budget."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import NamedTuple

import numpy as np
import scipy.sparse as sp

from certcore.common.errors import InputError
from certcore.domain.graph import Graph
from certcore.domain.perturbations import TYPES, no_flips, node_types
from certcore.model_attack.shift import Shift
from certcore.program.problem import Problem
from certcore.result.allocation import Allocation, replay


class Flip(NamedTuple):
    """One flipped bit of type `kind`, at (node, attribute) or at (receiver, sender) of an edge."""

    kind: str
    first: int
    second: int

    @property
    def of_edge(self) -> bool:
        return self.kind in ("adj_add", "adj_del")

    @property
    def ends(self) -> tuple[int, ...]:
        """The nodes whose local budget the flip uses."""
        return (self.first, self.second) if self.of_edge else (self.first,)


def apply_flips(graph: Graph, flips: Sequence[Flip], shift: Shift | None = None) -> Graph:
    """The perturbed graph; refuses a bit flipped twice, and one that already has its new value."""
    if shift is not None:
        return shift.applied(apply_flips(graph, flips))
    if len({(flip.of_edge, flip.first, flip.second) for flip in flips}) != len(flips):
        raise InputError("the attack flips a bit twice; every bit may be flipped once")
    adjacency = _changed(graph.adjacency, flips, "adj_add", "adj_del", both=not graph.directed)
    changed = replace(graph, adj_indptr=adjacency.indptr, adj_indices=adjacency.indices)
    if not any(flip.kind in ("attr_add", "attr_del") for flip in flips):
        return changed
    if graph.real:
        raise InputError(f"the attack flips attributes, but {no_flips()}")
    attributes = _changed(graph.attributes, flips, "attr_add", "attr_del", both=False)
    return replace(changed, attr_indptr=attributes.indptr, attr_indices=attributes.indices)


def _changed(matrix: sp.csr_array, flips: Sequence[Flip], adds: str, deletes: str, *, both: bool) -> sp.csr_array:
    chosen = [(f.first, f.second, 1 if f.kind == adds else -1) for f in flips if f.kind in (adds, deletes)]
    if not chosen:
        return matrix
    rows, columns, signs = np.array(chosen, dtype=np.int64).T
    if min(rows.min(), columns.min()) < 0 or rows.max() >= matrix.shape[0] or columns.max() >= matrix.shape[1]:
        raise InputError("the attack flips a bit that this graph does not have; was it made for another graph?")
    if both:
        rows, columns, signs = np.concatenate([rows, columns]), np.concatenate([columns, rows]), np.tile(signs, 2)
    result = sp.csr_array(matrix + sp.csr_array((signs.astype(np.int8), (rows, columns)), shape=matrix.shape))
    result.eliminate_zeros()
    result.sort_indices()
    if result.nnz and (result.data != 1).any():
        raise InputError("the attack adds a bit that is there, or deletes one that is not; was it made for this graph?")
    return result


def allocation_of(
    problem: Problem, flips: Sequence[Flip], attackers: Sequence[int], shift: Shift | None = None
) -> Allocation:
    """The flips and moved attributes as an attack on the base certificates, replayed."""
    graph = problem.instance.graph
    counts = {TYPES[k]: np.zeros(graph.n_nodes, dtype=np.int64) for k in node_types()}
    deleted = np.zeros(graph.n_edges, dtype=np.int64)
    numbers = edge_numbers(graph, np.array([f[1:] for f in flips if f.kind == "adj_del"], dtype=np.int64))
    np.add.at(deleted, numbers, 1)
    for flip in flips:
        if not flip.of_edge:
            counts[flip.kind][flip.first] += 1
    if shift is not None:
        assert problem.instance.scale is not None
        counts["attr_l2"][shift.nodes] = shift.units(problem.instance.scale)
    added = np.array([flip[1:] for flip in flips if flip.kind == "adj_add"], dtype=np.int64).reshape(-1, 2)
    control = np.zeros(graph.n_nodes)
    control[list(attackers)] = 1.0
    return replay(problem, np.stack(list(counts.values())), deleted, added, control)


def edge_numbers(graph: Graph, pairs: np.ndarray) -> np.ndarray:
    """The positions of edges in `Graph.edges`."""
    pairs = pairs.reshape(-1, 2)
    ordered = pairs if graph.directed else np.sort(pairs, axis=1)
    keys = graph.edges[:, 0] * graph.n_nodes + graph.edges[:, 1]
    wanted = ordered[:, 0] * graph.n_nodes + ordered[:, 1]
    found = np.searchsorted(keys, wanted)
    if len(wanted) and (found.max() >= len(keys) or (keys[found] != wanted).any()):
        raise InputError("the attack deletes an edge that this graph does not have; was it made for another graph?")
    return found
