"""GCN and GAT as modules of torch-geometric, with the weights of our own; `certcore.smooth` votes them as any other."""

from __future__ import annotations

import torch
from torch import Tensor, nn
from torch_geometric.nn import GATConv, GCNConv

from certcore.common.errors import InputError
from certcore.models.base import NodeClassifier
from certcore.models.gcn import GCN
from experiments.networks.gat import GAT


class TwoLayers(nn.Module):
    """A layer, ReLU, and a layer."""

    def __init__(self, first: nn.Module, second: nn.Module) -> None:
        super().__init__()
        self.conv1, self.conv2 = first, second

    def forward(self, x: Tensor, edge_index: Tensor) -> Tensor:
        answer: Tensor = self.conv2(torch.relu(self.conv1(x, edge_index)), edge_index)
        return answer


def as_geometric(model: NodeClassifier) -> nn.Module:
    """The same network as a module of torch-geometric that takes `x` and `edge_index`."""
    if type(model) is GCN:
        layers = GCNConv(len(model.first), model.units), GCNConv(model.units, model.n_classes)
        state = {
            "conv1.lin.weight": model.first.T,
            "conv1.bias": model.bias1,
            "conv2.lin.weight": model.second.T,
            "conv2.bias": model.bias2,
        }
    elif type(model) is GAT:
        heads = model.conv1.heads
        layers = GATConv(len(model.first), model.units // heads, heads=heads), GATConv(model.units, model.n_classes)
        kept = {name: value for name, value in model.state_dict().items() if name != "first"}
        state = {"conv1.lin.weight": model.first.T, **kept}
    else:
        raise InputError(f"the model is a {type(model).__name__}; expected a GCN or a GAT")
    network = TwoLayers(*layers)
    network.load_state_dict(state)
    return network.eval()
