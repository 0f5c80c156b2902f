"""APPNP: predict with two linear layers, then propagate by personalised PageRank."""

from __future__ import annotations

import numpy as np
import scipy.sparse as sp
import torch
from torch import Tensor, nn
from torch_geometric.nn import APPNP as PowerIteration

from certcore.common.errors import InputError
from certcore.domain.edge_field import EdgeField
from certcore.domain.graph import Graph
from certcore.domain.noise import Noise
from certcore.models.base import Edges, NodeClassifier, sparse_product
from certcore.models.field import Field
from experiments.networks.pagerank import TELEPORT, TOP, PagerankCache, truncated_pagerank

ITERATIONS = 10


class APPNP(NodeClassifier):
    """Gasteiger et al.'s network; each row of the PageRank matrix keeps its `top` largest entries (None: all).

    Truncated rows make it local. But which entries are largest depends on the whole neighbourhood, so their support is
    a receptive field only while the adjacency is fixed. If edges are smoothed, the field has ten hops, one per
    iteration.
    """

    name = "appnp"

    def __init__(
        self, n_attrs: int, n_classes: int, units: int = 64, dropout: float = 0.5, top: int | None = TOP
    ) -> None:
        super().__init__(n_attrs, n_classes, units, dropout)
        self.options["top"] = top
        self.top = top
        self.bias1 = nn.Parameter(torch.zeros(units))
        self.second = nn.Linear(units, n_classes)
        self._iterate = PowerIteration(K=ITERATIONS, alpha=TELEPORT)
        self._cache = None if top is None else PagerankCache(ITERATIONS, top)

    @classmethod
    def for_noise(cls, n_attrs: int, n_classes: int, noise: Noise) -> APPNP:
        return cls(n_attrs, n_classes, top=None if noise.adjacency else TOP)

    def head(self, units: Tensor, edges: Edges) -> Tensor:
        scores = self.second(self.activate(units + self.bias1))
        if self._cache is None:
            return self._iterate(scores, edges.index)
        # One matrix serves all copies: nodes become rows, copies and classes columns.
        matrix = self._cache.get(edges.one_copy)
        shape = (edges.copies, edges.n_nodes, self.n_classes)
        columns = scores.reshape(shape).transpose(0, 1).reshape(edges.n_nodes, -1)
        spread = sparse_product(matrix, columns).reshape(edges.n_nodes, edges.copies, self.n_classes)
        return spread.transpose(0, 1).reshape(-1, self.n_classes)

    def field(self, graph: Graph, noise: Noise) -> Field:
        if self.top is None:
            return Field(layers=ITERATIONS, edge_field=EdgeField.DEGREES)
        return Field(layers=None, node_field=truncated_support(graph, noise, ITERATIONS, self.top))


def truncated_support(graph: Graph, noise: Noise, iterations: int, top: int) -> sp.csr_array:
    """The nodes that a truncated row reads; refused if edges are smoothed, because then rows change."""
    if noise.adjacency:
        raise InputError(
            "truncated PageRank rows are fields only while the adjacency is fixed, but edges are smoothed here; train "
            "a model for this noise"
        )
    matrix = truncated_pagerank(graph.adjacency, iterations, top)
    return sp.csr_array((np.ones(matrix.nnz, dtype=np.int8), matrix.indices, matrix.indptr), shape=matrix.shape)
