"""Votes of any model: a function from sparse matrices to labels."""

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
from certcore.votes.identity import SAMPLES, require_key
from certcore.votes.purposes import SELECTION
from certcore.votes.sampler import Sampler

Classifier = Callable[[sp.csr_array, sp.csr_array], np.ndarray]


@dataclass(frozen=True, eq=False)
class FunctionVoter:
    """`function(attributes, adjacency)` returns one label per node; both arguments are sparse 0/1 matrices.

    With one job and without a checkpoint any function is accepted. Checkpoints, other processes and clusters need a
    `key`: a name of the model that must change whenever the model changes. The labels of the first 64 samples are part
    of the digest as well, which detects most changes under the same key, but not all. With several processes the
    function must be importable, that is, defined at the top level of a module.
    """

    graph: Graph
    noise: Noise
    seed: int
    function: Classifier
    n_classes: int
    key: str | None = None

    @property
    def n_nodes(self) -> int:
        return self.graph.n_nodes

    @property
    def digest(self) -> str:
        """Digest of the key, and of the labels of the first samples."""
        who = f"{require_key(self.key)!r}|{self.n_classes}|{self.noise.theta}{self.noise.moved}|{self.seed}"
        labels = tuple(self.count(SELECTION, number, 1) for number in range(SAMPLES))
        return voter_digest(f"function-3|{who}", self.graph, labels)

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
