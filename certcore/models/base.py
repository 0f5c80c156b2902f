"""The base class of the networks: a first linear map of the sparse attributes, then a head on its output.

The first map is separate because attributes are sparse and binary: its output is a sum of weight rows, which the
sampler computes without building an attribute matrix. Heads process many samples at once.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any, ClassVar

import numpy as np
import scipy.sparse as sp
import torch
from torch import Tensor, nn
from torch.nn import functional

from certcore.common.errors import InputError
from certcore.domain.graph import Graph
from certcore.domain.noise import Noise
from certcore.models.field import Field


@dataclass(frozen=True, eq=False)
class Edges:
    """The adjacency of `copies` disjoint graphs, without self loops; index = copy · n_nodes + node."""

    n_nodes: int
    copies: int
    sender: Tensor
    receiver: Tensor

    @classmethod
    def of(cls, graph: Graph, copies: int = 1) -> Edges:
        """The clean adjacency, repeated."""
        rows = np.repeat(np.arange(graph.n_nodes), np.diff(graph.adj_indptr))
        return cls.stack(graph.n_nodes, [(rows, graph.adj_indices)] * copies)

    @classmethod
    def stack(cls, n_nodes: int, draws: list[tuple[np.ndarray, np.ndarray]]) -> Edges:
        """From (receivers, senders) of each copy."""
        receiver = np.concatenate([i + k * n_nodes for k, (i, _) in enumerate(draws)])
        sender = np.concatenate([j + k * n_nodes for k, (_, j) in enumerate(draws)])
        return cls(n_nodes, len(draws), torch.from_numpy(sender), torch.from_numpy(receiver))

    @cached_property
    def index(self) -> Tensor:
        """torch-geometric's `edge_index`: messages run from the first row to the second."""
        return torch.stack([self.sender, self.receiver])

    @cached_property
    def looped(self) -> tuple[Tensor, Tensor]:
        """Senders and receivers with a self loop at every node."""
        nodes = torch.arange(self.n_nodes * self.copies)
        return torch.cat([self.sender, nodes]), torch.cat([self.receiver, nodes])

    @cached_property
    def degrees(self) -> Tensor:
        """In-degree of each node, including its self loop."""
        return torch.bincount(self.looped[1], minlength=self.n_nodes * self.copies).float()

    def normalised(self, power: float) -> sp.csr_array:
        """Weights (d_i d_j)^-power on all edges, self loops included, as a sparse matrix."""
        sender, receiver = (part.numpy() for part in self.looped)
        scale = self.degrees.numpy() ** np.float32(-power)
        size = len(scale)
        return sp.csr_array((scale[receiver] * scale[sender], (receiver, sender)), shape=(size, size))

    @cached_property
    def symmetric(self) -> sp.csr_array:
        """Weights 1/√(d_i d_j), the usual normalisation."""
        return self.normalised(0.5)

    @cached_property
    def squared(self) -> sp.csr_array:
        """Weights 1/(d_i d_j), which propagate variances where `symmetric` propagates values."""
        return self.normalised(1.0)

    @cached_property
    def one_copy(self) -> sp.csr_array:
        """The adjacency of the first copy, for models that require all copies to be the clean graph."""
        kept = self.receiver < self.n_nodes
        pairs = (self.receiver[kept].numpy(), self.sender[kept].numpy())
        ones = np.ones(len(pairs[0]), dtype=np.int8)
        return sp.csr_array((ones, pairs), shape=(self.n_nodes, self.n_nodes))


class _SparseProduct(torch.autograd.Function):
    """A constant sparse matrix times a dense one, by scipy: one thread and a fixed order of summation."""

    @staticmethod
    def forward(context: Any, matrix: sp.csr_array, values: Tensor) -> Tensor:
        context.matrix = matrix
        return torch.from_numpy(matrix @ values.detach().numpy())

    @staticmethod
    def backward(context: Any, *gradients: Any) -> tuple[None, Tensor]:
        return None, torch.from_numpy(context.matrix.T @ gradients[0].numpy())


def sparse_product(matrix: sp.csr_array, values: Tensor) -> Tensor:
    """matrix @ values, differentiable in `values`."""
    return _SparseProduct.apply(matrix, values)


class NodeClassifier(nn.Module):
    """Base class of the networks; `options` are the constructor arguments needed besides the weights."""

    name: ClassVar[str]
    #: Training schedule of the paper (appendix "Hyperparameters").
    learning_rate: ClassVar[float] = 1e-3
    patience: ClassVar[int] = 50
    #: Increased when the same weights would give other votes, so that old and new checkpoints are never mixed.
    revision: ClassVar[int] = 1

    def __init__(self, n_attrs: int, n_classes: int, units: int = 64, dropout: float = 0.5) -> None:
        super().__init__()
        if min(n_attrs, n_classes, units) < 1 or not 0 <= dropout < 1:
            raise InputError(
                f"a model of {n_attrs} attributes, {n_classes} classes, {units} units and dropout {dropout} cannot be "
                "built; expected positive sizes and a dropout below 1"
            )
        self.options: dict[str, Any] = {
            "n_attrs": n_attrs, "n_classes": n_classes, "units": units, "dropout": dropout
        }  # fmt: skip
        self.n_classes = n_classes
        self.units = units
        self.dropout = dropout
        self.first = nn.Parameter(nn.init.xavier_uniform_(torch.empty(n_attrs, units)))

    @classmethod
    def for_noise(cls, n_attrs: int, n_classes: int, noise: Noise) -> NodeClassifier:
        """A new network, in the form that suits the smoothed parts of the graph."""
        return cls(n_attrs, n_classes) if noise.attr_std is None else cls(n_attrs, n_classes, units=32)

    def head(self, units: Tensor, edges: Edges) -> Tensor:
        """Scores (copies · nodes, classes) from the first map's output (copies · nodes, units)."""
        raise TypeError(f"{type(self).__name__} has no head; a network defines one")

    def field(self, graph: Graph, noise: Noise) -> Field:
        """The receptive field of a prediction."""
        raise TypeError(f"{type(self).__name__} declares no field; a network defines one")

    def forward(self, indices: Tensor, offsets: Tensor, edges: Edges, values: Tensor | None = None) -> Tensor:
        """Scores from the attributes of all nodes: `indices` of non-zeros and their `values`; `offsets` per node."""
        units = functional.embedding_bag(indices, self.first, offsets, mode="sum", per_sample_weights=values)
        return self.head(units, edges)

    def activate(self, values: Tensor) -> Tensor:
        """ReLU, and dropout while training."""
        return functional.dropout(functional.relu(values), self.dropout, self.training)
