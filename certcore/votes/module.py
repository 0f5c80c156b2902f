"""Votes of any torch network: a batch of samples is one graph with disconnected copies."""

from __future__ import annotations

import copy
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
from certcore.votes.identity import identity
from certcore.votes.purposes import SELECTION
from certcore.votes.sampler import Sampler
from certcore.votes.split import Split, split_first
from certcore.votes.threads import one_thread

#: Largest number of bytes of attributes, or of the first maps' output, per batch.
_BATCH_BYTES = 8 * 2**20
_MOST = 8


@dataclass(frozen=True, eq=False)
class ModuleVoter:
    """A network on one graph. `split` runs the first linear maps on sparse attributes; see `certcore.votes.split`.

    `identity` identifies the network. With a `key`, its output on the first samples is included too.
    """

    graph: Graph
    noise: Noise
    seed: int
    module: Called
    n_classes: int
    batch: int = 1
    split: bool = False
    device: str = "cpu"
    fresh: bool = False
    """Whether each batch uses a new copy, because the network stores values between calls."""
    behind: bool = False
    """Whether Gaussian noise is drawn behind the first linear maps; see `certcore.votes.first_map`."""
    key: str | None = None
    """The user's name for a network that cannot be identified by its contents."""

    @property
    def n_nodes(self) -> int:
        return self.graph.n_nodes

    @property
    def digest(self) -> str:
        """Digest of the network in its present state, and of everything that affects rounding."""
        who = f"{identity(self.module, self.key)}|{self.batch}|{self.split}|{self.device}"
        who += f"{'|fresh' if self.fresh else ''}{'|behind' if self.behind else ''}|{self.n_classes}"
        who += f"|{self.noise.theta}{self.noise.moved}|{self.seed}"
        first = () if self.key is None else (self.count(SELECTION, 0, self.batch),)
        return voter_digest(f"module|{who}", self.graph, first)

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
        return split_first(self.module, *clean_input(self.graph))

    @cached_property
    def _weights(self) -> np.ndarray:
        assert self._split is not None
        return pad_weights(self._split.weights if self.cut is None else self.cut.rest)

    @cached_property
    def _clean_edges(self) -> Tensor:
        return Edges.of(self.graph, self.batch).index.to(self.device)

    @cached_property
    def _clean_x(self) -> Tensor:
        """The input of one sample if attributes are not smoothed."""
        return self._inputs(0, 0, 1)

    def _inputs(self, kind: int, first: int, count: int) -> Tensor:
        """Attributes, or the first maps' output, of `count` samples, concatenated."""
        if self._split is not None:
            summed = self._sampler.summed_rows(self.seed, kind, first, count, self._weights)
            rows = summed.transpose(0, 2, 1, 3).reshape(count * self.n_nodes, -1)
            return torch.from_numpy(np.ascontiguousarray(rows[:, : self._split.width]))
        table = np.zeros((count * self.n_nodes, self.graph.n_attrs), dtype=np.float32)
        if self.noise.attr_std is not None:
            for number, part in enumerate(table.reshape(count, self.n_nodes, -1)):
                part[:] = self._sampler.moved(self.seed, kind, first + number)
            return torch.from_numpy(table).to(self.device)
        for number in range(count):
            indptr, indices = self._sampler.attributes(self.seed, kind, first + number)
            values = 1 if self.graph.attr_values is None else self.graph.attr_values
            table[number * self.n_nodes + np.repeat(np.arange(self.n_nodes), np.diff(indptr)), indices] = values
        return torch.from_numpy(table).to(self.device)

    def _edges(self, kind: int, first: int) -> Tensor:
        if not self.noise.adjacency:
            return self._clean_edges
        draws = [_in_order(*self._sampler.edges(self.seed, kind, first + number)) for number in range(self.batch)]
        return Edges.stack(self.n_nodes, draws).index.to(self.device)

    def scores(self, kind: int, first: int) -> Tensor:
        """Scores (batch · nodes, classes) of the batch that begins with sample `first`."""
        if self.noise.attributes:
            inputs = self._inputs(kind, first, self.batch)
        else:
            inputs = self._clean_x.repeat(self.batch, 1)
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


def _in_order(receiver: np.ndarray, sender: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Edges in an order that depends on the edge set only: networks may depend on it (LSTM aggregation)."""
    order = np.lexsort((sender, receiver))
    return receiver[order], sender[order]


def clean_input(graph: Graph) -> tuple[Tensor, Tensor]:
    """The clean graph as `x` and `edge_index`."""
    return torch.from_numpy(graph.attributes.toarray().astype(np.float32)), Edges.of(graph).index


def fitting_batch(n_nodes: int, width: int) -> int:
    """The number of samples that fit into one batch."""
    return max(1, min(_MOST, _BATCH_BYTES // max(1, n_nodes * width * 4)))
