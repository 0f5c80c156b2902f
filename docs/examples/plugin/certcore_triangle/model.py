"""One layer of message passing: the mean over a node and its neighbours."""

from __future__ import annotations

import torch
from torch import Tensor, nn

from certcore.domain.edge_field import EdgeField
from certcore.domain.graph import Graph
from certcore.domain.noise import Noise
from certcore.models.base import Edges, NodeClassifier
from certcore.models.field import Field


class OneHop(NodeClassifier):
    name = "one_hop"

    def __init__(self, n_attrs: int, n_classes: int, units: int = 16, dropout: float = 0.5) -> None:
        super().__init__(n_attrs, n_classes, units, dropout)
        self.second = nn.Linear(units, n_classes)

    def head(self, units: Tensor, edges: Edges) -> Tensor:
        sender, receiver = edges.looped
        summed = torch.zeros_like(units).index_add(0, receiver, units[sender])
        return self.second(self.activate(summed / edges.degrees[:, None]))

    def field(self, graph: Graph, noise: Noise) -> Field:
        return Field(layers=1, edge_field=EdgeField.MESSAGES)
