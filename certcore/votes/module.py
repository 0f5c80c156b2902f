"""Votes of any torch network: a batch of samples is one graph with disconnected copies."""

from __future__ import annotations

import copy
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import torch
from torch import Tensor

from certcore.common.errors import InputError
from certcore.domain.graph import Graph
from certcore.domain.noise import Noise
from certcore.models.base import Edges
from certcore.models.called import Called, not_running
from certcore.votes.first_map import FirstMap, first_map
from certcore.votes.fused import pad_weights, voter_digest
from certcore.votes.identity import SAMPLES, digest_of, parts_of, tensor_bytes
from certcore.votes.purposes import SELECTION
from certcore.votes.sampler import Sampler
from certcore.votes.sparse import SparseTable
from certcore.votes.split import Split, split_first
from certcore.votes.threads import one_thread

#: Largest number of bytes of attributes, or of the first maps' output, per batch.
_BATCH_BYTES = 8 * 2**20
_MOST = 8
#: On another device: the largest number of samples in a batch, the assumed number of hidden units of a message, and
#: the assumed number of free bytes where torch does not tell.
_MOST_ON_DEVICE, _UNITS, _FREE = 1024, 256, 2**30


@dataclass(frozen=True, eq=False)
class ModuleVoter:
    """A network on one graph. `split` runs the first linear maps on sparse attributes; see `certcore.votes.split`.

    Functions need a `key` to be identified, see `certcore.votes.identity`.
    """

    graph: Graph
    noise: Noise
    seed: int
    module: Called
    n_classes: int
    batch: int = 1
    split: bool = False
    sparse: bool = False
    """Whether attributes are multiplied by weights without being stored; see `certcore.votes.sparse`."""
    fresh: bool = False
    """Whether each batch uses a new copy, because the network stores values between calls."""
    behind: bool = False
    """Whether Gaussian noise is drawn behind the first linear maps; see `certcore.votes.first_map`."""
    key: str | None = None
    """The user's name for a function."""

    @property
    def n_nodes(self) -> int:
        return self.graph.n_nodes

    @property
    def digest(self) -> str:
        """Digest of the network, of its scores for the first samples, and of everything that affects rounding."""
        return digest_of(self._identity())

    def _identity(self) -> Iterator[bytes]:
        yield from parts_of(self.module, self.key)
        who = f"{self.batch}|{self.split}|{self.sparse}|{self.fresh}|{self.behind}|{self.n_classes}|{self.seed}"
        yield f"{who}|{self.module.place}|{self.noise.theta}{self.noise.moved}".encode()
        yield voter_digest("module-2", self.graph, ()).encode()
        for answer in self.answers(SAMPLES):
            yield from tensor_bytes(answer)

    def answers(self, samples: int) -> list[Tensor]:
        """Scores for the batches that hold the first samples."""
        with torch.no_grad(), one_thread():
            return [self.scores(SELECTION, first) for first in range(0, samples, self.batch)]

    def __getstate__(self) -> dict[str, Any]:
        """Derived data such as traced calls are not pickled."""
        return {name: getattr(self, name) for name in self.__dataclass_fields__}

    @cached_property
    def _sampler(self) -> Sampler:
        return Sampler(self.graph if self.cut is None else self.cut.graph, self.noise)

    @cached_property
    def cut(self) -> FirstMap | None:
        """The factored first maps, if noise is drawn behind them."""
        if not self.behind or self.noise.attr_std is None:
            return None
        assert self._split is not None
        return first_map(self.graph, self._split.weights, self.noise)

    @cached_property
    def _split(self) -> Split | None:
        if not self.split:
            return None
        return split_first(self.module, *clean_input(self.graph, self.module))

    @cached_property
    def _weights(self) -> np.ndarray:
        assert self._split is not None
        return pad_weights(self._split.weights if self.cut is None else self.cut.rest)

    @cached_property
    def _clean_edges(self) -> Tensor:
        rows = np.repeat(np.arange(self.n_nodes), np.diff(self.graph.adj_indptr))
        return self._index([(rows, self.graph.adj_indices)] * self.batch)

    @cached_property
    def _clean_x(self) -> Tensor:
        """The input of one sample if attributes are not smoothed."""
        return self._first_maps(0, 0, 1) if self._split is not None else self._table(0, 0, 1)

    @cached_property
    def _products(self) -> list[tuple[Tensor, Tensor]]:
        """Weights that were multiplied by the clean attributes, and what came out."""
        return []

    def _inputs(self, kind: int, first: int, count: int) -> Tensor:
        """Attributes, or the first maps' output, of `count` samples, concatenated."""
        if self.sparse:
            return SparseTable(
                (count * self.n_nodes, self.graph.n_attrs),
                lambda weights: self._times(kind, first, count, weights),
                lambda: self._table(kind, first, count),
            )
        if not self.noise.attributes:
            return self._clean_x.repeat(count, 1)
        return self._table(kind, first, count) if self._split is None else self._first_maps(kind, first, count)

    def _first_maps(self, kind: int, first: int, count: int) -> Tensor:
        assert self._split is not None
        return self._summed(kind, first, count, self._weights)[:, : self._split.width].contiguous()

    def _summed(self, kind: int, first: int, count: int, weights: np.ndarray) -> Tensor:
        """Attributes times padded weights, one row per node and sample."""
        summed = self._sampler.summed_rows(self.seed, kind, first, count, weights)
        return torch.from_numpy(summed.transpose(0, 2, 1, 3).reshape(count * self.n_nodes, -1))

    def _times(self, kind: int, first: int, count: int, weights: Tensor) -> Tensor:
        """Attributes times weights (attributes × units) without the attributes."""
        width = weights.shape[1]
        if self.noise.attributes:
            return self._summed(kind, first, count, pad_weights(weights.detach().numpy()))[:, :width].contiguous()
        for known, product in self._products:
            if known.shape == weights.shape and torch.equal(known, weights):
                return product.repeat(count, 1)
        product = self._summed(0, 0, 1, pad_weights(weights.detach().numpy()))[:, :width].contiguous()
        self._products[:] = [*self._products[-3:], (weights.clone(), product)]
        return product.repeat(count, 1)

    def _table(self, kind: int, first: int, count: int) -> Tensor:
        """Attributes as the model takes them, written where it is."""
        place, shape = self.module.place, (count * self.n_nodes, self.graph.n_attrs)
        table = torch.zeros(shape, dtype=self.module.dtype, device=place)
        for number in range(count):
            part = table[number * self.n_nodes : (number + 1) * self.n_nodes]
            if self.noise.attr_std is not None:
                part.copy_(torch.from_numpy(self._sampler.moved(self.seed, kind, first + number)))
                continue
            indptr, indices = self._sampler.attributes(self.seed, kind, first + number)
            rows = torch.from_numpy(np.repeat(np.arange(self.n_nodes), np.diff(indptr))).to(place)
            columns = torch.from_numpy(indices).to(place)
            ones = np.ones(len(indices)) if self.graph.attr_values is None else self.graph.attr_values
            part[rows, columns] = torch.tensor(ones, dtype=table.dtype, device=place)
        return table

    def _edges(self, kind: int, first: int) -> Tensor:
        if not self.noise.adjacency:
            return self._clean_edges
        samples = (self._sampler.edges(self.seed, kind, first + number) for number in range(self.batch))
        draws = [_in_order(*pairs, self.n_nodes) for pairs in samples]
        return self._index(draws)

    def _index(self, draws: list[tuple[np.ndarray, np.ndarray]]) -> Tensor:
        """The edge_index of several copies of the graph from their (receivers, senders), where the model is."""
        pairs = [
            np.stack([sender, receiver]) + number * self.n_nodes for number, (receiver, sender) in enumerate(draws)
        ]
        return torch.from_numpy(np.concatenate(pairs, axis=1, dtype=np.int64)).to(self.module.place)

    def scores(self, kind: int, first: int) -> Tensor:
        """Scores (batch · nodes, classes) of the batch that begins with sample `first`."""
        inputs = self._inputs(kind, first, self.batch)
        edges = self._edges(kind, first)
        try:
            if self._split is not None:
                scores = self._split.scores(inputs, edges)
            else:  # a copy, because the edges are reused and a network may write into them
                module = copy.deepcopy(self.module) if self.fresh else self.module
                scores = module.scores(inputs, edges.clone())
        except InputError:
            raise
        except Exception as error:
            where = "a sample of the noise" if self.batch == 1 else f"{self.batch} samples side by side"
            raise not_running(error, where) from error
        if scores.shape[1] != self.n_classes:
            raise InputError(
                f"the model returned {scores.shape[1]} scores per node, before that it were {self.n_classes}"
            )
        return scores

    def count(self, kind: int, first: int, count: int) -> np.ndarray:
        """Votes (nodes, classes) of samples first … first + count − 1.

        Sums may round differently in other batches, so batch b always holds the samples b·size … (b + 1)·size − 1.
        """
        votes = np.zeros((self.n_nodes, self.n_classes), dtype=np.int64)
        nodes = np.arange(self.n_nodes)
        with torch.no_grad(), one_thread():
            for start in range(first - first % self.batch, first + count, self.batch):
                labels = self.scores(kind, start).argmax(dim=1).cpu().numpy().reshape(self.batch, -1)
                for row in labels[max(0, first - start) : first + count - start]:
                    votes[nodes, row] += 1
        return votes


def _in_order(receiver: np.ndarray, sender: np.ndarray, n_nodes: int) -> tuple[np.ndarray, np.ndarray]:
    """Edges in an order that depends on the edge set only: networks may depend on it (LSTM aggregation)."""
    keys = np.sort(receiver.astype(np.int64) * n_nodes + sender)
    receiver = keys // n_nodes
    return receiver, keys - receiver * n_nodes


def clean_input(graph: Graph, called: Called | None = None) -> tuple[Tensor, Tensor]:
    """The clean graph as `x` and `edge_index`, where and in which precision the model takes them."""
    x, index = torch.from_numpy(graph.attributes.toarray().astype(np.float32)), Edges.of(graph).index
    return (x, index) if called is None else (x.to(called.place, called.dtype), index.to(called.place))


def fitting_batch(graph: Graph, width: int, called: Called) -> int:
    """The number of samples in one batch: on the CPU what its caches hold, on a device a quarter of its free memory."""
    cells = max(1, graph.n_nodes * width)
    if called.place.type == "cpu":
        return max(1, min(_MOST, _BATCH_BYTES // (4 * cells)))
    free = _free_bytes(called.place)
    messages = (graph.n_nodes + 2 * graph.n_edges) * _UNITS
    return max(1, min(_MOST_ON_DEVICE, free // (4 * called.dtype.itemsize * (cells + messages))))


def _free_bytes(device: torch.device) -> int:
    """Free memory of a device, as far as its part of torch tells."""
    asked = getattr(getattr(torch, device.type, None), "mem_get_info", None)
    return int(asked(device)[0]) if asked is not None else _FREE
