"""One vote per group of edges: a classifier with fixed weights runs once on the graph of every group."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import scipy.sparse as sp

from certcore.base.division import ABSTAINS, DivisionBase, PairHash
from certcore.common.errors import InputError
from certcore.domain.graph import Graph

Classify = Callable[[sp.csr_array, sp.csr_array], np.ndarray]
"""Attributes and adjacency in, scores (nodes × classes) or labels (nodes) out."""

#: Scores are compared on this grid, so that the order in which floats were added decides no vote.
GRID = 2.0**20


def division_base(
    classify: Classify,
    graph: Graph,
    n_classes: int,
    *,
    groups: int = 3,
    salt: int = 0,
    abstain: bool = True,
    fixed_weight: int = 1,
    weights_read_edges: bool = True,
) -> DivisionBase:
    """The base certificate of a classifier: its votes per group and, with a weight, its vote on the empty graph.

    The classifier must look at nothing but attributes and the edges it is given: no batch statistics, no pooling over
    the graph, the same weights in every group.
    """
    pairs = PairHash(groups, salt)
    group = pairs.of(graph.edges)
    parts = [edges_only(graph, group == t) for t in range(groups)]
    votes = np.stack([_labels(classify(graph.attributes, part), graph.n_nodes) for part in parts])
    if abstain:
        ends = np.stack([np.bincount(graph.edges[group == t].ravel(), minlength=graph.n_nodes) for t in range(groups)])
        votes = np.where(ends == 0, ABSTAINS, votes)
    fixed = None
    if fixed_weight:
        fixed = _labels(
            classify(graph.attributes, edges_only(graph, np.zeros(graph.n_edges, dtype=bool))), graph.n_nodes
        )
    return DivisionBase(votes, n_classes, pairs, fixed, fixed_weight, weights_read_edges)


def edges_only(graph: Graph, chosen: np.ndarray) -> sp.csr_array:
    """The adjacency with the chosen edges only."""
    edges = graph.edges[chosen]
    pairs = edges if graph.directed else np.concatenate([edges, edges[:, ::-1]])
    shape = (graph.n_nodes, graph.n_nodes)
    part = sp.csr_array(sp.coo_array((np.ones(len(pairs)), (pairs[:, 0], pairs[:, 1])), shape=shape))
    part.sort_indices()
    return part


def _labels(answer: np.ndarray, n_nodes: int) -> np.ndarray:
    answer = np.asarray(answer)
    if answer.ndim == 2 and len(answer) == n_nodes and np.isfinite(answer).all():
        return np.rint(answer * GRID).argmax(axis=1)
    if answer.shape == (n_nodes,) and answer.dtype.kind in "iu":
        return answer.astype(np.int64)
    raise InputError(
        f"the classifier answered with shape {answer.shape}; expected finite scores ({n_nodes} × classes) or "
        f"{n_nodes} labels"
    )
