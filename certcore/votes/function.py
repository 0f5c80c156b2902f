"""Votes of anybody's model: a function from sparse matrices to labels."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import scipy.sparse as sp

from certcore.common.errors import InputError
from certcore.domain.graph import Graph
from certcore.domain.noise import Noise
from certcore.votes.fused import voter_digest
from certcore.votes.identity import identity
from certcore.votes.sampler import Sampler

Classifier = Callable[[sp.csr_array, sp.csr_array], np.ndarray]


@dataclass(frozen=True, eq=False)
class FunctionVoter:
    """`function(attributes, adjacency)` returns one label per node; both arguments are sparse 0/1 matrices.

    Checkpoints and other processes recognise the function by all it depends on: code, defaults, closure, globals it
    refers to, arrays, torch modules. What cannot be told for certain is refused there; with one job and without a
    checkpoint any function will do. `version` is added to that, for what no code shows, such as a file that the
    function reads. With several processes the function must be importable, that is, defined at the top of a module.
    """

    graph: Graph
    noise: Noise
    seed: int
    function: Classifier
    n_classes: int
    version: str = ""

    @property
    def n_nodes(self) -> int:
        return self.graph.n_nodes

    @property
    def digest(self) -> str:
        """Of the function as it is now: nothing that is reached from it is remembered, for it may have changed."""
        who = f"{identity(self.function)}|{self.version!r}"
        return voter_digest(f"callable|{who}|{self.n_classes}|{self.noise.theta}|{self.seed}", self.graph, ())

    @cached_property
    def _sampler(self) -> Sampler:
        return Sampler(self.graph, self.noise)

    def count(self, kind: int, first: int, count: int) -> np.ndarray:
        """Votes (nodes, classes) of samples first … first + count − 1."""
        votes = np.zeros((self.n_nodes, self.n_classes), dtype=np.int64)
        nodes = np.arange(self.n_nodes)
        for sample in range(first, first + count):
            labels = np.asarray(self.function(*self._sampler.matrices(self.seed, kind, sample)))
            if labels.shape != (self.n_nodes,) or labels.dtype.kind not in "iu":
                raise InputError(
                    f"the model returned {labels.dtype} of shape {labels.shape}; expected {self.n_nodes} whole "
                    "numbers, one label per node"
                )
            if labels.min() < 0 or labels.max() >= self.n_classes:
                odd = labels[(labels < 0) | (labels >= self.n_classes)][0]
                raise InputError(f"the model returned the label {odd}; expected labels from 0 to {self.n_classes - 1}")
            votes[nodes, labels] += 1
        return votes
