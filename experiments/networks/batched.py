"""Votes of any network in batches of samples: the sampler sums weight rows, torch runs the head."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import torch
from torch_geometric.nn import GATConv

from certcore.common.errors import InputError
from certcore.domain.graph import Graph
from certcore.domain.noise import Noise
from certcore.models.base import Edges, NodeClassifier
from certcore.votes.attention import Attention, can_attend
from certcore.votes.fused import pad_weights, voter_digest
from certcore.votes.sampler import Sampler
from certcore.votes.threads import one_thread
from experiments.networks.registry import model_class, model_identity

#: Largest number of bytes of hidden units per batch.
_BATCH_BYTES = 16 * 2**20


@dataclass(frozen=True, eq=False)
class TorchVoter:
    """A trained network on one graph; its weights are plain arrays, so that it can be sent to any worker.

    The weights are copies. Further training of the network does not change the votes.
    """

    graph: Graph
    noise: Noise
    seed: int
    model: str
    options: dict[str, Any]
    weights: dict[str, np.ndarray]

    def __post_init__(self) -> None:
        weights = {key: np.array(value, order="C") for key, value in self.weights.items()}
        for value in weights.values():
            value.setflags(write=False)
        object.__setattr__(self, "weights", weights)
        object.__setattr__(self, "options", dict(self.options))

    @classmethod
    def of(cls, model: NodeClassifier, graph: Graph, noise: Noise, seed: int) -> TorchVoter:
        if model_class(model.name) is not type(model):
            raise InputError(
                f"the model is a {type(model).__name__}, but {model.name!r} stands for "
                f"{model_class(model.name).__name__}, whose votes would be counted; use a FunctionVoter for it"
            )
        if noise.adjacency:
            model.field(graph, noise)  # refuses a model that requires equal edges in all samples
        weights = {key: value.detach().numpy() for key, value in model.state_dict().items()}
        return cls(graph, noise, seed, model.name, dict(model.options), weights)

    @property
    def n_nodes(self) -> int:
        return self.graph.n_nodes

    @property
    def n_classes(self) -> int:
        return int(self.options["n_classes"])

    @property
    def digest(self) -> str:
        """Digest of everything the votes depend on, and nothing else."""
        name = model_identity(self.model)
        kind = f"torch|{name}|{sorted(self.options.items())}|{'|'.join(self.noise.theta)}{self.noise.moved}|{self.seed}"
        return voter_digest(kind, self.graph, tuple(self.weights[key] for key in sorted(self.weights)))

    @cached_property
    def _network(self) -> NodeClassifier:
        network = model_class(self.model)(**self.options)
        network.load_state_dict({key: torch.from_numpy(value.copy()) for key, value in self.weights.items()})
        for name, layer in list(network.named_children()):
            if isinstance(layer, GATConv) and can_attend(layer):  # the same attention in compiled code
                setattr(network, name, Attention(layer))
        return network.eval()

    @cached_property
    def _sampler(self) -> Sampler:
        return Sampler(self.graph, self.noise)

    @cached_property
    def _first(self) -> np.ndarray:
        return pad_weights(self.weights["first"])

    @cached_property
    def _fixed_units(self) -> torch.Tensor | None:
        """The first map's output if attributes are not smoothed."""
        return None if self.noise.attributes else self._units(0, 0, 1)

    def _units(self, kind: int, first: int, count: int) -> torch.Tensor:
        summed = self._sampler.summed_rows(self.seed, kind, first, count, self._first)
        units = summed.transpose(0, 2, 1, 3).reshape(count * self.n_nodes, -1)
        return torch.from_numpy(np.ascontiguousarray(units[:, : self.weights["first"].shape[1]]))

    @cached_property
    def _clean_edges(self) -> Edges:
        return Edges.of(self.graph, self.batch)

    def _edges(self, kind: int, first: int) -> Edges:
        if not self.noise.adjacency:
            return self._clean_edges
        draws = [self._sampler.edges(self.seed, kind, first + s) for s in range(self.batch)]
        return Edges.stack(self.n_nodes, draws)

    @property
    def batch(self) -> int:
        """Number of samples computed together."""
        return max(1, min(16, _BATCH_BYTES // (self.n_nodes * self.weights["first"].shape[1] * 4)))

    def count(self, kind: int, first: int, count: int) -> np.ndarray:
        """Votes (nodes, classes) of samples first … first + count − 1.

        Matrix products may round differently in batches of another size. So a sample is always computed in the same
        batch: batch b holds the samples b·size … (b + 1)·size − 1, even if only some of them are requested.
        """
        votes = np.zeros((self.n_nodes, self.n_classes), dtype=np.int64)
        nodes = np.arange(self.n_nodes)
        with torch.no_grad(), one_thread():
            for start in range(first - first % self.batch, first + count, self.batch):
                fixed = self._fixed_units
                units = self._units(kind, start, self.batch) if fixed is None else fixed.repeat(self.batch, 1)
                scores = self._network.head(units, self._edges(kind, start))
                labels = scores.argmax(dim=1).numpy().reshape(self.batch, -1)
                for row in labels[max(0, first - start) : first + count - start]:
                    votes[nodes, row] += 1
        return votes
