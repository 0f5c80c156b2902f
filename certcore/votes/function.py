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
from certcore.votes.identity import code_digest
from certcore.votes.purposes import SELECTION
from certcore.votes.sampler import Sampler

Classifier = Callable[[sp.csr_array, sp.csr_array], np.ndarray]


@dataclass(frozen=True, eq=False)
class FunctionVoter:
    """`function(attributes, adjacency)` returns one label per node; both arguments are sparse 0/1 matrices.

    With one job and without a checkpoint any function is accepted. Checkpoints, other processes and clusters need a
    `key`: a name of the model that must change whenever the model changes. The output on the first sample is part of
    the digest as well, which detects most changes under the same key, but not all. With several processes the function
    must be importable, that is, defined at the top level of a module.
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
        """Digest of the key, the function's own code, and its output on the first sample."""
        if not isinstance(self.key, str) or not self.key:
            raise InputError(
                "a function has no certain identity, so it is not certain whose votes a checkpoint or another process "
                "would hold; give it a name of its own with key=… (another one whenever it changes), or count with "
                "jobs=1 and without a checkpoint"
            )
        who = f"{self.key!r}|{code_digest(self.function).hex()}|{self.n_classes}"
        who += f"|{self.noise.theta}{self.noise.moved}|{self.seed}"
        return voter_digest(f"function-2|{who}", self.graph, (self.count(SELECTION, 0, 1),))

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
