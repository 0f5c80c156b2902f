"""Soft medoid aggregation: robust averages that weight central neighbours most."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import scipy.sparse as sp
import torch
from torch import Tensor, nn
from torch.nn import functional

from certcore.domain.edge_field import EdgeField
from certcore.domain.graph import Graph
from certcore.domain.noise import Noise
from certcore.models.base import Edges, NodeClassifier
from certcore.models.field import Field
from experiments.networks.appnp import truncated_support
from experiments.networks.medoid import Meetings, fits
from experiments.networks.pagerank import TOP, PagerankCache, truncated_pagerank

ITERATIONS = 2
TEMPERATURE = 10.0


class SMA(NodeClassifier):
    """Geisler et al.'s aggregation on two iterations of PageRank, top 64, between two linear layers.

    With row weights a, the soft medoid of x is Σ_j a_j · Σ_i s_i x_i, s = softmax(−Σ_j a_j |x_j − x_i| / T): the
    parameterisation of their appendix B.5, in which s is not multiplied by a once more.
    """

    name = "sma"
    revision = 2
    learning_rate = 1e-2
    patience = 300

    def __init__(self, n_attrs: int, n_classes: int, units: int = 64, dropout: float = 0.5, top: int = TOP) -> None:
        super().__init__(n_attrs, n_classes, units, dropout)
        self.options["top"] = top
        self.top = top
        self.bias1 = nn.Parameter(torch.zeros(units))
        self.second = nn.Linear(units, n_classes)
        self._cache = PagerankCache(ITERATIONS, top)
        self._meetings: Meetings | None = None
        self._plan: tuple[sp.csr_array, list[tuple[Tensor, Tensor, Tensor]]] | None = None

    def head(self, units: Tensor, edges: Edges) -> Tensor:
        values = (units + self.bias1).reshape(edges.copies, edges.n_nodes, -1)
        if _same_everywhere(edges):
            matrix = self._cache.get(edges.one_copy)
            voting = not torch.is_grad_enabled() and fits(values.shape[2])
            medoids = self._compare_once(values, matrix) if voting else self._aggregate(values, matrix)
        else:
            # With smoothed edges, the weight rows differ from copy to copy.
            medoids = torch.cat(
                [
                    self._aggregate(values[k : k + 1], truncated_pagerank(adjacency, ITERATIONS, self.top))
                    for k, adjacency in enumerate(_copies(edges))
                ]
            )
        return self.second(self.activate(medoids.reshape(-1, values.shape[2])))

    def _aggregate(self, values: Tensor, matrix: sp.csr_array) -> Tensor:
        """Soft medoids (copies, nodes, units) of the rows of `matrix`."""
        if self._plan is None or self._plan[0] is not matrix:
            self._plan = (matrix, _buckets(matrix))
        copies, _, units = values.shape
        parts, order = [], []
        for rows, columns, weights in self._plan[1]:
            around = values[:, columns.reshape(-1)].reshape(copies * len(rows), columns.shape[1], units)
            squares = (around * around).sum(dim=2)
            products = torch.bmm(around, around.transpose(1, 2))
            distances = (squares[:, :, None] + squares[:, None, :] - 2 * products).clamp(min=1e-6).sqrt()
            a = weights.repeat(copies, 1)
            # Padding has weight zero.
            reach = (distances * a[:, None, :]).sum(dim=2).masked_fill(a == 0, float("inf"))
            soft = functional.softmax(-reach / TEMPERATURE, dim=1)
            medoids = torch.bmm(soft[:, None, :], around)[:, 0] * a.sum(dim=1, keepdim=True)
            parts.append(medoids.reshape(copies, len(rows), units))
            order.append(rows)
        return torch.cat(parts, dim=1)[:, torch.argsort(torch.cat(order))]

    def _compare_once(self, values: Tensor, matrix: sp.csr_array) -> Tensor:
        """`_aggregate` in compiled code, without gradients; its preparation pays off for many samples."""
        if self._meetings is None or self._meetings.matrix is not matrix:
            self._meetings = Meetings.of(matrix)
        return torch.from_numpy(self._meetings.soft_medoids(values.contiguous().numpy(), TEMPERATURE))

    def field(self, graph: Graph, noise: Noise) -> Field:
        if noise.adjacency:
            # Before truncation a row depends on two hops and on the degrees there; so does which entries are kept.
            return Field(layers=ITERATIONS, edge_field=EdgeField.DEGREES)
        return Field(layers=None, node_field=truncated_support(graph, noise, ITERATIONS, self.top))


def _buckets(matrix: sp.csr_array) -> list[tuple[Tensor, Tensor, Tensor]]:
    """Buckets of rows of similar length: (rows, columns, weights), padded with the first column and weight 0."""
    lengths = np.diff(matrix.indptr)
    result = []
    limits = [0, 2, 4, 8, 12, 16, 24, 32, 48, max(64, int(lengths.max(initial=1)))]
    for low, high in pairwise(limits):
        rows = np.flatnonzero((lengths > low) & (lengths <= high))
        if not len(rows):
            continue
        place = np.arange(high)[None, :]
        inside = place < lengths[rows][:, None]
        where = matrix.indptr[rows][:, None] + np.where(inside, place, 0)
        weights = np.where(inside, matrix.data[where], 0).astype(np.float32)
        result.append(
            (
                torch.from_numpy(rows),
                torch.from_numpy(matrix.indices[where].astype(np.int64)),
                torch.from_numpy(weights),
            )
        )
    return result


def _same_everywhere(edges: Edges) -> bool:
    """Whether all copies have the same edges."""
    size, rest = divmod(len(edges.sender), edges.copies)
    if rest:
        return False
    shift = torch.arange(edges.copies)[:, None] * edges.n_nodes
    return all(
        bool((part.reshape(edges.copies, size) - shift == part[:size]).all()) for part in (edges.sender, edges.receiver)
    )


def _copies(edges: Edges) -> list[sp.csr_array]:
    """The adjacency of every copy."""
    owner = torch.div(edges.receiver, edges.n_nodes, rounding_mode="floor").numpy()
    sender, receiver = edges.sender.numpy() % edges.n_nodes, edges.receiver.numpy() % edges.n_nodes
    shape = (edges.n_nodes, edges.n_nodes)
    ones = np.ones(len(owner), dtype=np.int8)
    return [
        sp.csr_array((ones[owner == k], (receiver[owner == k], sender[owner == k])), shape=shape)
        for k in range(edges.copies)
    ]
