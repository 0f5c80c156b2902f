"""Graph attention networks."""

from __future__ import annotations

from torch import Tensor, nn
from torch_geometric.nn import GATConv

from certcore.domain.edge_field import EdgeField
from certcore.domain.graph import Graph
from certcore.domain.noise import Noise
from certcore.models.base import Edges, NodeClassifier
from certcore.models.field import Field

HEADS = 8


class GAT(NodeClassifier):
    """Veličković et al.'s network: eight heads that share 64 hidden units, then one head.

    Attention depends only on the two ends of a message, so sender degrees do not enter.
    """

    name = "gat"
    revision = 2

    def __init__(self, n_attrs: int, n_classes: int, units: int = 64, dropout: float = 0.5) -> None:
        super().__init__(n_attrs, n_classes, units, dropout)
        self.conv1 = GATConv(units, units // HEADS, heads=HEADS)
        # The first linear map is `first`; the layer computes attention only.
        self.conv1.lin = nn.Identity()
        self.conv2 = GATConv(units, n_classes, heads=1)

    def head(self, units: Tensor, edges: Edges) -> Tensor:
        return self.conv2(self.activate(self.conv1(units, edges.index)), edges.index)

    def field(self, graph: Graph, noise: Noise) -> Field:
        return Field(layers=2, edge_field=EdgeField.MESSAGES)
