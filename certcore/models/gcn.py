"""Graph convolutional networks: two layers, symmetric or row-normalised."""

from __future__ import annotations

import torch
from torch import Tensor, nn
from torch_geometric.nn import GCNConv, SimpleConv

from certcore.common.errors import InputError
from certcore.domain.edge_field import EdgeField
from certcore.domain.graph import Graph
from certcore.domain.noise import Noise
from certcore.models.base import Edges, NodeClassifier
from certcore.models.field import Field


class GCN(NodeClassifier):
    """Kipf and Welling's network: messages have weights 1/√(d_i d_j), so sender degrees enter."""

    name = "gcn"

    def __init__(self, n_attrs: int, n_classes: int, units: int = 64, dropout: float = 0.5) -> None:
        super().__init__(n_attrs, n_classes, units, dropout)
        self.bias1 = nn.Parameter(torch.zeros(units))
        self.second = nn.Parameter(nn.init.xavier_uniform_(torch.empty(units, n_classes)))
        self.bias2 = nn.Parameter(torch.zeros(n_classes))
        self._conv = _propagation_only(GCNConv(units, units, bias=False))

    def propagate(self, values: Tensor, edges: Edges) -> Tensor:
        """One step of message passing, self loops included."""
        return self._conv(values, edges.index)

    def head(self, units: Tensor, edges: Edges) -> Tensor:
        hidden = self.activate(self.propagate(units, edges) + self.bias1)
        return self.propagate(hidden @ self.second, edges) + self.bias2

    def field(self, graph: Graph, noise: Noise) -> Field:
        return Field(layers=2, edge_field=EdgeField.DEGREES)


class GCNMean(GCN):
    """The same network with the mean over a node and its neighbours: sender degrees do not enter."""

    name = "gcn_mean"

    def __init__(self, n_attrs: int, n_classes: int, units: int = 64, dropout: float = 0.5) -> None:
        super().__init__(n_attrs, n_classes, units, dropout)
        self._conv = SimpleConv(aggr="mean")

    def propagate(self, values: Tensor, edges: Edges) -> Tensor:
        return self._conv(values, torch.stack(edges.looped))

    def field(self, graph: Graph, noise: Noise) -> Field:
        return Field(layers=2, edge_field=EdgeField.MESSAGES)


def gcn_class(name: str) -> type[NodeClassifier]:
    """The class of a model by its name in files."""
    known = {kind.name: kind for kind in (GCN, GCNMean)}
    if name not in known:
        raise InputError(
            f"the model is a {name[:40]!r}; expected {' or '.join(known)}: use certcore.attack for any network, "
            "or `python -m experiments attack` in the repository"
        )
    return known[name]


def _propagation_only(conv: GCNConv) -> GCNConv:
    """A layer without weights, which only propagates; the weights are in the model."""
    conv.lin = nn.Identity()
    return conv
