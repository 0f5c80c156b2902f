"""Votes of anybody's torch network: several samples side by side as one graph without links between them."""

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
from certcore.votes.fused import pad_weights, voter_digest
from certcore.votes.identity import identity
from certcore.votes.sampler import Sampler
from certcore.votes.split import Split, split_first
from certcore.votes.threads import one_thread

#: Samples of a batch hold at most this many bytes of attributes, or of what the first maps make of them.
_BATCH_BYTES = 8 * 2**20
_MOST = 8


@dataclass(frozen=True, eq=False)
class ModuleVoter:
    """A network on one graph. `split` runs the first linear maps on sparse attributes; see `certcore.votes.split`.

    Whose votes they are is told by `identity`: code, weights and everything the network refers to.
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
    """Whether each batch is answered by a new copy, because the network keeps values from one call to the next."""

    @property
    def n_nodes(self) -> int:
        return self.graph.n_nodes

    @property
    def digest(self) -> str:
        """Of the network as it is now, and of what decides how its sums are rounded."""
        who = f"{identity(self.module)}|{self.batch}|{self.split}|{self.device}{'|fresh' if self.fresh else ''}"
        return voter_digest(f"module|{who}|{self.n_classes}|{self.noise.theta}|{self.seed}", self.graph, ())

    def __getstate__(self) -> dict[str, Any]:
        """What was built on the way stays here: traced calls do not travel."""
        return {name: getattr(self, name) for name in self.__dataclass_fields__}

    @cached_property
    def _sampler(self) -> Sampler:
        return Sampler(self.graph, self.noise)

    @cached_property
    def _split(self) -> Split | None:
        if not self.split:
            return None
        return split_first(self.module, *clean_input(self.graph))

    @cached_property
    def _weights(self) -> np.ndarray:
        assert self._split is not None
        return pad_weights(self._split.weights)

    @cached_property
    def _clean_edges(self) -> Tensor:
        return Edges.of(self.graph, self.batch).index.to(self.device)

    @cached_property
    def _clean_x(self) -> Tensor:
        """What goes in where attributes are not smoothed, for one sample."""
        return self._inputs(0, 0, 1)

    def _inputs(self, kind: int, first: int, count: int) -> Tensor:
        """Attributes, or what the first maps make of them, of `count` samples below each other."""
        if self._split is not None:
            summed = self._sampler.summed_rows(self.seed, kind, first, count, self._weights)
            rows = summed.transpose(0, 2, 1, 3).reshape(count * self.n_nodes, -1)
            return torch.from_numpy(np.ascontiguousarray(rows[:, : self._split.weights.shape[1]]))
        table = np.zeros((count * self.n_nodes, self.graph.n_attrs), dtype=np.float32)
        for number in range(count):
            indptr, indices = self._sampler.attributes(self.seed, kind, first + number)
            table[number * self.n_nodes + np.repeat(np.arange(self.n_nodes), np.diff(indptr)), indices] = 1
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
            else:  # a copy of the edges: the same ones are given again, and a network may write into them
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

        As sums may round differently in other company, batch b always holds the samples b·size … (b + 1)·size − 1.
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
    """Edges in one order that depends on nothing but which they are: a network may read it (LSTM aggregation)."""
    order = np.lexsort((sender, receiver))
    return receiver[order], sender[order]


def clean_input(graph: Graph) -> tuple[Tensor, Tensor]:
    """The clean graph as `x` and `edge_index`."""
    return torch.from_numpy(graph.attributes.toarray().astype(np.float32)), Edges.of(graph).index


def fitting_batch(n_nodes: int, width: int) -> int:
    """How many samples fit into one batch."""
    return max(1, min(_MOST, _BATCH_BYTES // max(1, n_nodes * width * 4)))
