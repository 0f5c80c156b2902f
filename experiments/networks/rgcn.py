"""Robust GCN: hidden units are Gaussians, and neighbours with large variance have less weight."""

from __future__ import annotations

import torch
from torch import Tensor, nn

from certcore.common.errors import InputError
from certcore.domain.edge_field import EdgeField
from certcore.domain.graph import Graph
from certcore.domain.noise import Noise
from certcore.models.base import Edges, NodeClassifier, sparse_product
from certcore.models.field import Field
from experiments.networks.gaussian import Messages, fits, in_groups, side_by_side


class RGCN(NodeClassifier):
    """Zhu et al.'s network: one linear layer, two convolutions, half of the units are means and half variances.

    In training, scores are drawn from the last Gaussians. In evaluation their means are the scores, so that a
    prediction is a deterministic function of the graph. The KL term of the original is left out, as in the paper.
    """

    name = "rgcn"
    revision = 2

    def __init__(self, n_attrs: int, n_classes: int, units: int = 64, dropout: float = 0.5) -> None:
        super().__init__(n_attrs, n_classes, units, dropout)
        if units % 2:
            raise InputError(f"rgcn has {units} units; expected an even number, half for means, half for variances")
        half = units // 2
        self.bias1 = nn.Parameter(torch.zeros(units))
        self.means = nn.ModuleList([nn.Linear(half, half), nn.Linear(half, n_classes)])
        self.variances = nn.ModuleList([nn.Linear(half, half), nn.Linear(half, n_classes)])
        self._messages: Messages | None = None

    def head(self, units: Tensor, edges: Edges) -> Tensor:
        if not torch.is_grad_enabled() and not self.training and fits(self.units):
            return self._count(units, edges)
        mean, variance = (self.activate(part) for part in (units + self.bias1).chunk(2, dim=1))
        last = len(self.means) - 1
        for layer, (to_mean, to_variance) in enumerate(zip(self.means, self.variances)):
            trust = torch.exp(-variance)
            mean = sparse_product(edges.symmetric, to_mean(mean * trust))
            variance = sparse_product(edges.squared, to_variance(variance * trust * trust))
            if layer < last:
                mean, variance = self.activate(mean), self.activate(variance)
        if not self.training:
            return mean
        return mean + torch.randn_like(mean) * (torch.relu(variance) + 1e-8).sqrt()

    def _count(self, units: Tensor, edges: Edges) -> Tensor:
        """Scores in compiled code, without gradients and draws; unsmoothed edges are prepared once."""
        if self._messages is None or self._messages.edges is not edges:
            self._messages = Messages.of(edges)
        hidden, last = side_by_side(self.means[0], self.variances[0]), in_groups(self.means[1])
        return self._messages.scores(units, self.bias1, hidden, last)[:, : self.n_classes]

    def field(self, graph: Graph, noise: Noise) -> Field:
        return Field(layers=2, edge_field=EdgeField.DEGREES)
