"""The part of `prbcd` that needs torch: the smoothed classifier on weighted edges, and a block of possible flips."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn

from certcore.common.errors import InputError
from certcore.domain.graph import Graph
from certcore.model_attack.victim import Victim
from certcore.models.base import Edges
from certcore.votes.purposes import ATTACK_SEARCH

with warnings.catch_warnings():
    warnings.simplefilter("ignore", UserWarning)  # its folder calls itself experimental
    from torch_geometric.contrib.nn import PRBCDAttack


class SmoothedOnWeights(nn.Module):
    """Log shares of soft votes, differentiable in the edge weights; every call draws new samples."""

    def __init__(self, victim: Victim, graph: Graph, seed: int, samples: int) -> None:
        super().__init__()
        self.victim, self.graph, self.seed = victim, graph, seed
        self.samples = 1 if victim.plain else samples
        _, self.rest = victim.scores()
        self.units = victim.noisy_units(graph, seed)
        self.deleted = float(victim.noise.fractions[3])
        self.random = torch.Generator().manual_seed(seed)
        self.drawn, self.reads_edges = 0, False

    def forward(self, x: Tensor, edge_index: Tensor, edge_weight: Tensor) -> Tensor:
        n, copies = self.graph.n_nodes, self.samples
        # Sample numbers that neither the votes nor the gradients of the other methods use.
        first = 2 * 10**6 + self.drawn
        self.drawn += copies
        units = self.units(ATTACK_SEARCH, first, copies)
        sender, receiver = edge_index
        edges = Edges.stack(n, [(receiver.numpy(), sender.numpy())] * copies)
        shares = self.rest(units, edges, edge_weight.repeat(copies) * self._kept(edge_index))
        if edge_weight.requires_grad and not self.reads_edges:
            _require_edges_read(shares, edge_weight)
            self.reads_edges = True
        return shares.softmax(dim=1).reshape(copies, n, -1).mean(dim=0).clamp(min=1e-9).log()

    def _kept(self, edge_index: Tensor) -> Tensor:
        """Which messages the noise keeps: both directions of an undirected edge, or none."""
        pairs = edge_index if self.graph.directed else edge_index.sort(dim=0).values
        key, number = torch.unique(pairs[0] * self.graph.n_nodes + pairs[1], return_inverse=True)
        drawn = torch.rand(self.samples, len(key), generator=self.random)
        return (drawn >= self.deleted).float()[:, number].reshape(-1)


def _require_edges_read(scores: Tensor, edge_weight: Tensor) -> None:
    used = scores.requires_grad
    if not used or torch.autograd.grad(scores.sum(), edge_weight, retain_graph=True, allow_unused=True)[0] is None:
        raise InputError(
            "prbcd follows the gradient at edge weights, and the scores of this network depend on none (it reads no "
            "edges, or not through layers of torch-geometric); choose another method, such as greedy"
        )


class Block(PRBCDAttack):
    """PRBCD restricted to a list of pairs (first, second) instead of the whole adjacency matrix."""

    def __init__(self, model: nn.Module, pairs: np.ndarray, **options: Any) -> None:
        super().__init__(model, **options)
        # Messages go from the sender (second of a pair) to the receiver (first).
        self.places = torch.from_numpy(pairs[:, ::-1].copy().astype(np.int64)).T

    def _num_possible_edges(self, n: int, is_undirected: bool) -> int:
        return int(self.places.shape[1])

    def _linear_to_triu_idx(self, n: int, lin_idx: Tensor) -> Tensor:
        return self.places[:, lin_idx]

    _linear_to_full_idx = _linear_to_triu_idx
