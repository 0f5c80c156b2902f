"""The attacked classifier: it counts votes on any graph, and gives gradients of its soft votes by bits.

The gradients are of Σ coefficient[node, class] · (share of soft votes). A soft vote is the softmax of the scores of one
sample. The coefficients are the derivative of a soft count of changed labels. Gradients are taken at the output of the
first linear map, X·W: the effect of a bit at (node, attribute) is the inner product with one row of W, so no dense
attribute matrix is built.
"""

from __future__ import annotations

import copy
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any, Protocol

import numpy as np
import torch
from torch import Tensor, nn
from torch_geometric.explain.algorithm.utils import clear_masks, set_masks

from certcore.domain.graph import Graph
from certcore.domain.noise import Noise
from certcore.models.base import Edges, NodeClassifier
from certcore.models.gcn import GCN, GCNMean
from certcore.votes.fused import pad_weights
from certcore.votes.purposes import ATTACK_SEARCH
from certcore.votes.run import Voter
from certcore.votes.sampler import Sampler
from certcore.votes.threads import one_thread
from certcore.votes.voters import gcn_voter

#: Scores of nodes from X·W, edges and the weight of each message (None: all 1).
Scores = Callable[[Tensor, Edges, Tensor | None], Tensor]
#: From purpose, first sample and number of samples to X·W under noise, stacked.
Units = Callable[[int, int, int], Tensor]
#: From the shares of soft votes (nodes, classes) to the value of one more vote.
Weigh = Callable[[np.ndarray], np.ndarray]
#: Maximum number of bytes of the samples in one backward pass.
_BYTES = 16 * 2**20


@dataclass(frozen=True, eq=False)
class Gradients:
    """Increase of the objective if a bit is set: `units @ weights.T` at attributes, `pairs` at (i, j)."""

    units: np.ndarray
    weights: np.ndarray
    pairs: np.ndarray | None

    def at(self, nodes: np.ndarray, attributes: np.ndarray) -> np.ndarray:
        """Gradients at single bits (node, attribute)."""
        return np.einsum("ku,ku->k", self.units[nodes], self.weights[attributes])


class Victim(Protocol):
    """The interface of the classifier that a search uses."""

    @property
    def noise(self) -> Noise: ...
    @property
    def digest(self) -> str: ...
    @property
    def weighs_edges(self) -> bool:
        """Whether it takes edge weights, so that the gradient at a missing edge is meaningful."""

    @property
    def plain(self) -> bool:
        """Whether there is no noise, so that it makes one deterministic prediction."""

    def voter(self, graph: Graph, seed: int) -> Voter: ...

    def noisy_units(self, graph: Graph, seed: int) -> Units:
        """X·W under noise for several samples, stacked."""

    def scores(self) -> tuple[np.ndarray, Scores]:
        """The first linear map W, and the network after X·W, which takes weights of messages."""


#: Makes the voter of a network on a graph, under noise, with a seed.
MakeVoter = Callable[[NodeClassifier, Graph, Noise, int], Voter]


@dataclass(eq=False)
class NetworkVictim:
    """One of our networks; `head` is the network after X·W and may take edge weights."""

    model: NodeClassifier
    noise: Noise
    digest: str
    voters: MakeVoter = gcn_voter

    @property
    def weighs_edges(self) -> bool:
        return type(self.model) in (GCN, GCNMean)

    @property
    def plain(self) -> bool:
        return not (self.noise.attributes or self.noise.adjacency)

    def voter(self, graph: Graph, seed: int) -> Voter:
        return self.voters(self.model, graph, self.noise, seed)

    def noisy_units(self, graph: Graph, seed: int) -> Units:
        return _units_of_bits(graph, self.noise, self.model.first.detach().numpy(), seed)

    def scores(self) -> tuple[np.ndarray, Scores]:
        # A copy, because computing edge gradients changes a layer such that a voter would no longer recognise it.
        model = copy.deepcopy(self.model)

        def scores(units: Tensor, edges: Edges, strength: Tensor | None) -> Tensor:
            if strength is None:
                return model.head(units, edges)
            if self.weighs_edges:
                return _weighted_gcn(model, units, edges, strength)
            return _masked(model, edges, strength, lambda: model.head(units, edges))

        return model.first.detach().numpy(), scores


@dataclass(eq=False)
class ModuleVictim:
    """Any network: `voters` counts its votes, `rest` is the network after X·weights (which may be the identity)."""

    noise: Noise
    digest: str
    voters: Callable[[Graph, int], Voter]
    weights: np.ndarray
    rest: nn.Module
    weighs_edges: bool = False

    @property
    def plain(self) -> bool:
        return not (self.noise.attributes or self.noise.adjacency)

    def voter(self, graph: Graph, seed: int) -> Voter:
        return self.voters(graph, seed)

    def noisy_units(self, graph: Graph, seed: int) -> Units:
        return _units_of_bits(graph, self.noise, self.weights, seed)

    def scores(self) -> tuple[np.ndarray, Scores]:
        def scores(units: Tensor, edges: Edges, strength: Tensor | None) -> Tensor:
            if strength is None:
                return self.rest(units, edges.index)
            return _masked(self.rest, edges, strength, lambda: self.rest(units, edges.index))

        return self.weights, scores


@dataclass(eq=False)
class MovedVictim(NetworkVictim):
    """One of our networks under Gaussian noise on its attributes: f(round_h(X·map + s·Z)) at any real X.

    Normal numbers are drawn in double precision: unlike the votes of a certificate, these need no exact tails.
    """

    map: np.ndarray | None = None
    """Q̂, where noise is drawn behind the first map; None: at the input."""

    @property
    def plain(self) -> bool:
        return False

    def voter(self, graph: Graph, seed: int) -> Voter:
        return _MovedVoter(self, graph, seed)

    def noisy_units(self, graph: Graph, seed: int) -> Units:
        table = np.asarray(
            graph.attributes.astype(np.float64) @ (np.eye(graph.n_attrs) if self.map is None else self.map)
        )
        first, step, std = self.model.first.detach(), float(self.noise.step), float(self.noise.std)

        def units(kind: int, begin: int, copies: int) -> Tensor:
            rows = []
            for sample in range(begin, begin + copies):
                normal = np.random.default_rng([seed, kind, sample]).standard_normal(table.shape)
                rows.append(np.rint((table + std * normal) / step) * step)
            return torch.from_numpy(np.concatenate(rows).astype(np.float32)) @ first

        return units

    def scores(self) -> tuple[np.ndarray, Scores]:
        first, scores = super().scores()
        return first if self.map is None else (self.map @ first).astype(np.float32), scores


@dataclass(eq=False)
class _MovedVoter:
    """Counts votes in batches of torch."""

    victim: MovedVictim
    graph: Graph
    seed: int

    @property
    def n_nodes(self) -> int:
        return self.graph.n_nodes

    @property
    def n_classes(self) -> int:
        return int(self.victim.model.n_classes)

    @property
    def digest(self) -> str:
        return self.victim.digest

    def count(self, kind: int, first: int, count: int) -> np.ndarray:
        """Votes (nodes, classes) of samples first … first + count − 1."""
        n, noise = self.n_nodes, self.victim.noise
        votes = np.zeros((n, self.n_classes), dtype=np.int64)
        units, sampler = self.victim.noisy_units(self.graph, self.seed), Sampler(self.graph, _of_edges(noise))
        size = max(1, min(16, _BYTES // (n * self.victim.model.units * 4)))
        with one_thread(), torch.no_grad():
            for start in range(first, first + count, size):
                copies = min(size, first + count - start)
                edges, _, _ = _edges(sampler, self.graph, noise, None, self.seed, start, copies, kind)
                labels = self.victim.model.head(units(kind, start, copies), edges).argmax(dim=1).numpy()
                np.add.at(votes, (np.tile(np.arange(n), copies), labels), 1)
        return votes


def _of_edges(noise: Noise) -> Noise:
    return replace(noise, attr_std=None, lattice=None)


def gradients_of(
    victim: Victim, graph: Graph, weigh: Weigh, pairs: np.ndarray | None, seed: int, first: int, count: int
) -> Gradients:
    """Gradients from samples first … first + count − 1; `pairs` are existing or possible edges."""
    noise = victim.noise
    weights, scores = victim.scores()
    sampler, noisy_units = Sampler(graph, _of_edges(noise)), victim.noisy_units(graph, seed)
    n, width = graph.n_nodes, weights.shape[1]
    size = max(1, min(count, _BYTES // (n * width * 4)))
    total = np.zeros((n, width), dtype=np.float32)
    at_pairs = None if pairs is None else np.zeros(len(pairs), dtype=np.float64)
    with one_thread():
        for start in range(first, first + count, size):
            copies = min(size, first + count - start)
            units = noisy_units(ATTACK_SEARCH, start, copies).requires_grad_()
            edges, strength, where = _edges(sampler, graph, noise, pairs, seed, start, copies)
            shares = scores(units, edges, strength).softmax(dim=1)
            coefficient = weigh(shares.detach().numpy().reshape(copies, n, -1).mean(axis=0)).astype(np.float32)
            objective = (shares * torch.from_numpy(coefficient).repeat(copies, 1)).sum() / count
            inputs = [units] if strength is None else [units, strength]
            found = torch.autograd.grad(objective, inputs, allow_unused=True)
            if found[0] is not None:
                total += found[0].numpy().reshape(copies, n, width).sum(axis=0)
            if at_pairs is not None and strength is not None and found[1] is not None:
                inside = where >= 0
                np.add.at(at_pairs, where[inside], found[1].numpy()[inside])
    return Gradients(total, weights, at_pairs)


def _units_of_bits(graph: Graph, noise: Noise, weights: np.ndarray, seed: int) -> Units:
    sampler, padded = Sampler(graph, noise), pad_weights(np.ascontiguousarray(weights, dtype=np.float32))

    def units(kind: int, first: int, copies: int) -> Tensor:
        summed = sampler.summed_rows(seed, kind, first, copies, padded)
        rows = summed.transpose(0, 2, 1, 3).reshape(summed.shape[0] * summed.shape[2], -1)
        return torch.from_numpy(np.ascontiguousarray(rows[:, : weights.shape[1]]))

    return units


def _edges(
    sampler: Sampler,
    graph: Graph,
    noise: Noise,
    pairs: np.ndarray | None,
    seed: int,
    first: int,
    copies: int,
    kind: int = ATTACK_SEARCH,
) -> tuple[Edges, Tensor | None, np.ndarray]:
    """Edges of the samples, and the pair of each message; `pairs` without an edge are added with weight 0."""
    if noise.adjacency:
        draws = [sampler.edges(seed, kind, first + k) for k in range(copies)]
    else:
        rows = np.repeat(np.arange(graph.n_nodes), np.diff(graph.adj_indptr))
        draws = [(rows, graph.adj_indices)] * copies
    if pairs is None:
        return Edges.stack(graph.n_nodes, draws), None, np.zeros(0, dtype=np.int64)
    number = _Lookup(graph, pairs)
    filled, strengths, where = [], [], []
    for receivers, senders in draws:
        extra = number.absent(receivers, senders)
        filled.append((np.concatenate([receivers, extra[0]]), np.concatenate([senders, extra[1]])))
        strengths.append(np.concatenate([np.ones(len(receivers)), np.zeros(len(extra[0]))]))
        where.append(number.of(*filled[-1]))
    strength = torch.from_numpy(np.concatenate(strengths).astype(np.float32)).requires_grad_()
    return Edges.stack(graph.n_nodes, filled), strength, np.concatenate(where)


class _Lookup:
    """Finds the pair that a message belongs to."""

    def __init__(self, graph: Graph, pairs: np.ndarray) -> None:
        self.graph, self.n = graph, graph.n_nodes
        keys, numbers = pairs[:, 0] * self.n + pairs[:, 1], np.arange(len(pairs))
        if not graph.directed:
            keys, numbers = np.concatenate([keys, pairs[:, 1] * self.n + pairs[:, 0]]), np.tile(numbers, 2)
        order = np.argsort(keys)
        self.keys, self.numbers = keys[order], numbers[order]
        there = np.repeat(np.arange(self.n), np.diff(graph.adj_indptr)) * self.n + graph.adj_indices
        self.new = np.setdiff1d(self.keys, there)

    def of(self, receivers: np.ndarray, senders: np.ndarray) -> np.ndarray:
        wanted = receivers * self.n + senders
        found = np.minimum(np.searchsorted(self.keys, wanted), max(len(self.keys) - 1, 0))
        if not len(self.keys):
            return np.full(len(wanted), -1)
        return np.where(self.keys[found] == wanted, self.numbers[found], -1)

    def absent(self, receivers: np.ndarray, senders: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Messages of pairs that have an edge neither in the graph nor in the sample."""
        keys = np.setdiff1d(self.new, receivers * self.n + senders)
        return keys // self.n, keys % self.n


def _weighted_gcn(model: Any, units: Tensor, edges: Edges, strength: Tensor) -> Tensor:
    """The network of `certcore.models.gcn` with message weights, which also enter the degrees."""
    sender, receiver = edges.looped
    weight = torch.cat([strength, torch.ones(edges.n_nodes * edges.copies)])
    degree = torch.zeros(edges.n_nodes * edges.copies).index_add(0, receiver, weight)
    if isinstance(model, GCNMean):
        weight = weight / degree[receiver]
    else:
        scale = degree.clamp(min=1e-6).rsqrt()
        weight = weight * scale[receiver] * scale[sender]

    def propagate(values: Tensor) -> Tensor:
        return torch.zeros_like(values).index_add(0, receiver, values[sender] * weight[:, None])

    hidden = torch.relu(propagate(units) + model.bias1)
    return propagate(hidden @ model.second) + model.bias2


def _masked(network: nn.Module, edges: Edges, strength: Tensor, call: Callable[[], Tensor]) -> Tensor:
    """Multiply messages of torch-geometric layers by `strength`; normalisation and attention weights stay unchanged."""
    set_masks(network, strength, edges.index, apply_sigmoid=False)
    try:
        return call()
    finally:
        clear_masks(network)
