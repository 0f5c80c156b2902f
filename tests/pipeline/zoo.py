"""Small graphs and networks of torch-geometric for the tests of the way in."""

from __future__ import annotations

import numpy as np
import torch
import torch_geometric.nn as geometric
from torch import nn
from torch.nn import functional
from torch_geometric.data import Data

from certcore.data import citation_like

DATASET = citation_like(120, 24, 3, ones=6, seed=1)


def as_data(dataset=DATASET, test: int = 60) -> Data:
    """The dataset as torch-geometric has it, with masks."""
    receiver, sender = dataset.graph.adjacency.nonzero()
    data = Data(
        x=torch.from_numpy(dataset.graph.attributes.toarray()).float(),
        edge_index=torch.from_numpy(np.stack([sender, receiver]).astype(np.int64)),
        y=torch.tensor(dataset.labels),
    )
    number = torch.arange(dataset.graph.n_nodes)
    data.train_mask, data.test_mask = number < 40, number >= test
    return data


def without_edges(model, x, edge_index):
    return model(x)


class Tutorial(nn.Module):
    """The network of the first page of every tutorial."""

    def __init__(self, inputs: int = 24, units: int = 8, classes: int = 3) -> None:
        super().__init__()
        self.conv1 = geometric.GCNConv(inputs, units)
        self.conv2 = geometric.GCNConv(units, classes)

    def forward(self, x, edge_index):
        x = functional.relu(self.conv1(x, edge_index))
        x = functional.dropout(x, training=self.training)
        return functional.log_softmax(self.conv2(x, edge_index), dim=1)


class VirtualNode(nn.Module):
    """Everybody is linked to one more node, so two layers see everything."""

    def __init__(self) -> None:
        super().__init__()
        self.conv1, self.conv2 = geometric.GCNConv(24, 8), geometric.GCNConv(8, 3)

    def forward(self, x, edge_index):
        n = len(x)
        node, hub = torch.arange(n), torch.full((n,), n)
        edges = torch.cat([edge_index, torch.stack([node, hub]), torch.stack([hub, node])], dim=1)
        wide = torch.cat([x, x.new_zeros(1, x.shape[1])])
        return self.conv2(self.conv1(wide, edges).relu(), edges)[:n]


class Pooled(nn.Module):
    """A layer of messages, and a hint of what all nodes are like."""

    def __init__(self) -> None:
        super().__init__()
        self.conv = geometric.SAGEConv(24, 3)

    def forward(self, x, edge_index):
        return self.conv(x, edge_index) + 0.01 * x.mean(dim=0, keepdim=True)[:, :3]


class Repeated(nn.Module):
    """One layer, used three times."""

    def __init__(self) -> None:
        super().__init__()
        self.conv, self.last = geometric.GraphConv(24, 24), nn.Linear(24, 3)

    def forward(self, x, edge_index):
        for _ in range(3):
            x = x + self.conv(x, edge_index).tanh()
        return self.last(x)


class Aliased(nn.Module):
    """Changes a value in place that has another name too: the trace does not see it."""

    def __init__(self) -> None:
        super().__init__()
        self.conv = geometric.GraphConv(24, 24)

    def forward(self, x, edge_index):
        first = self.conv(x, edge_index)
        kept = first
        first += self.conv(first, edge_index)
        return kept


class PerNode(nn.Module):
    """Divides by a number per node that broadcasts over columns: with as many columns as nodes it mixes nodes."""

    def __init__(self, n: int = 24) -> None:
        super().__init__()
        self.weight = nn.Parameter(torch.rand(n))

    def forward(self, x, edge_index):
        return x * (x @ self.weight)


def train(model: nn.Module, data: Data, wrapper=None, steps: int = 40) -> nn.Module:
    """Some steps of training, which take a fraction of a second."""
    optimizer = torch.optim.Adam(model.parameters(), lr=0.02)
    model.train()
    for _ in range(steps):
        scores = model(data.x, data.edge_index) if wrapper is None else wrapper(model, data.x, data.edge_index)
        loss = functional.cross_entropy(scores[data.train_mask], data.y[data.train_mask])
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    return model
