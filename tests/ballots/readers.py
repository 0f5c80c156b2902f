"""Models that read other nodes, on rings of nodes, and how many labels stay when one attribute is set."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import torch
from torch import Tensor, nn

import certcore as cc
from certcore.base.ballots import UNIT, BallotsBase

Model = Callable[[Tensor], Tensor]


def ring(n: int, n_runs: int = 4) -> cc.Graph:
    """A ring; attribute 0 is the class, in runs; 1 is set on eight nodes, 2 on all but eight, 3 on none."""
    nodes = np.arange(n)
    attributes = np.zeros((n, 4), dtype=np.int8)
    attributes[:, 0] = nodes * n_runs // n % 2
    attributes[nodes[1::5][:8], 1] = 1
    attributes[:, 2] = ~np.isin(nodes, np.linspace(0, n - 1, 8).astype(int))
    return cc.Graph.from_edges(n, np.stack([nodes, (nodes + 1) % n], axis=1), attributes)


def turns(n: int) -> cc.Graph:
    """The same, but attribute 0 is set on two of three nodes."""
    attributes = ring(n).attributes.toarray()
    attributes[:, 0] = np.arange(n) % 3 != 0
    return cc.Graph.from_edges(n, ring(n).edges, attributes)


def _two(first: Tensor, others: Tensor, own: Tensor) -> Tensor:
    """(rows, 2): `own` for the class in attribute 0, `others` for the other class."""
    mine = first > 0.5
    return torch.stack([torch.where(mine, others, own), torch.where(mine, own, others)], dim=1)


def saturated(x: Tensor) -> Tensor:
    """Whole numbers: 850 for class 0, or 20 for class 1 and 50 more for each node with attribute 1."""
    return _two(x[:, 0], torch.zeros(len(x)), torch.where(x[:, 0] > 0.5, 20 + 50 * x[:, 1].sum(), 850)).long()


def faint(x: Tensor) -> Tensor:
    """Shares that differ from 1/2 by at most 0.0004, by the number of nodes with attribute 1."""
    lead = 5e-5 * (8.5 - x[:, 1].sum()).clamp(-8, 8) * torch.ones(len(x))
    return _two(x[:, 0], 0.5 - lead / 2, 0.5 + lead / 2).double()


def rare(x: Tensor) -> Tensor:
    """Shares; rows with attribute 2 depend on how many nodes have attribute 1, and all other rows do not."""
    lead = torch.where(x[:, 2] > 0.5, 0.1 * (8.5 - x[:, 1].sum()).clamp(-8, 8), torch.tensor(0.5))
    return _two(x[:, 0], 0.5 - lead / 2, 0.5 + lead / 2).double()


def dormant(x: Tensor) -> Tensor:
    """Shares that depend on other nodes only once some node has attribute 3, which no node of the graph has."""
    lead = torch.where((x[:, 3] > 0.5).any(), -0.8, 0.8) * torch.ones(len(x))
    return _two(x[:, 0], 0.5 - lead / 2, 0.5 + lead / 2).double()


def lone(x: Tensor) -> Tensor:
    """Shares that depend on other nodes only while exactly one node has attribute 3."""
    lead = torch.where((x[:, 3] > 0.5).sum() == 1, -0.8, 0.8) * torch.ones(len(x))
    return _two(x[:, 0], 0.5 - lead / 2, 0.5 + lead / 2).double()


class Remembers(nn.Module):
    """Answers of `dormant`, stored for every row that it has seen."""

    def __init__(self) -> None:
        super().__init__()
        self.known: dict[tuple[float, ...], Tensor] = {}

    def forward(self, x: Tensor) -> Tensor:
        rows = [tuple(row) for row in x.tolist()]
        for row, answer in zip(rows, dormant(x), strict=True):
            self.known.setdefault(row, answer)
        return torch.stack([self.known[row] for row in rows])


def linear(x: Tensor) -> Tensor:
    """Shares of the own row alone, in whole multiples of 0.05."""
    return torch.where(x[:, :1] > 0.5, torch.tensor([0.0, 0.55, 0.45]), torch.tensor([1.0, 0.0, 0.0]))


def uneven(x: Tensor) -> Tensor:
    """The same, but no shares once attribute 3 is set."""
    return linear(x) + x[:, 3:]


def labels(ballots: np.ndarray, graph: cc.Graph) -> np.ndarray:
    return BallotsBase(ballots, graph=graph).prediction


def attacked(graph: cc.Graph) -> list[cc.Graph]:
    """Every graph with one more attribute."""
    dense = graph.attributes.toarray()
    found = []
    for node, attribute in np.argwhere(dense == 0):
        more = dense.copy()
        more[node, attribute] = 1
        found.append(cc.Graph.from_edges(graph.n_nodes, graph.edges, more))
    return found


def answers(model: Model, graph: cc.Graph) -> np.ndarray:
    return model(torch.from_numpy(graph.attributes.toarray().astype(np.float32))).numpy()


def shown(model: Model, graph: cc.Graph) -> np.ndarray:
    """Whole numbers are ballots, shares are rounded: what the model shows on this graph."""
    scores = answers(model, graph)
    return scores if scores.dtype.kind == "i" else np.rint(scores * UNIT).astype(np.int64)


def staying(show: Callable[[cc.Graph], np.ndarray], graph: cc.Graph) -> int:
    """The fewest labels that stay under any one added attribute, with all ballots made again."""
    clean = labels(show(graph), graph)
    return min(int((labels(show(other), other) == clean).sum()) for other in attacked(graph))
