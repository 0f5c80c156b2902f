"""Votes of two-layer GCNs through the fused kernel."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from certcore.common.errors import InputError
from certcore.common.vectors import NARROW, WIDE
from certcore.domain.graph import Graph
from certcore.domain.noise import Noise
from certcore.votes.kernel import gcn_votes
from certcore.votes.sampler import Sampler

#: Largest number of bytes of hidden units of the samples that the kernel processes together.
_SHARED_BYTES = 4 * 2**20


@dataclass(frozen=True, eq=False)
class FusedVoter:
    """A trained GCN (symmetric or row-normalised) on one graph, as plain arrays that can be sent to any worker.

    The weights are copies. Further training of the model does not change the votes.
    """

    graph: Graph
    noise: Noise
    seed: int
    symmetric: bool
    weights1: np.ndarray
    bias1: np.ndarray
    weights2: np.ndarray
    bias2: np.ndarray

    def __post_init__(self) -> None:
        for name in ("weights1", "bias1", "weights2", "bias2"):
            value = np.array(getattr(self, name), dtype=np.float32, order="C")
            value.setflags(write=False)
            if not np.isfinite(value).all():
                raise InputError(f"{name} of the model contains NaN or infinite weights; train the model again")
            object.__setattr__(self, name, value)
        units, n_classes = len(self.bias1), len(self.bias2)
        expected = ((self.graph.n_attrs, units), (units, n_classes))
        if (self.weights1.shape, self.weights2.shape) != expected:
            raise InputError(
                f"the model's weights have the shapes {self.weights1.shape} and {self.weights2.shape}; expected "
                f"{expected[0]} and {expected[1]} for this graph: was it trained on another dataset?"
            )

    @property
    def n_nodes(self) -> int:
        return self.graph.n_nodes

    @property
    def n_classes(self) -> int:
        return len(self.bias2)

    @property
    def digest(self) -> str:
        """Digest of everything the votes depend on, and nothing else."""
        kind = f"fused|{self.symmetric}|{'|'.join(self.noise.theta)}{self.noise.moved}|{self.seed}"
        return voter_digest(kind, self.graph, (self.weights1, self.bias1, self.weights2, self.bias2))

    @cached_property
    def _tables(self) -> tuple:
        """Weights padded to full vectors, and the first layer's sums if attributes are not smoothed."""
        sampler = Sampler(self.graph, self.noise)
        weights1 = pad_weights(self.weights1)
        blocks = len(weights1)
        bias1 = np.zeros(blocks * WIDE, dtype=np.float32)
        bias1[: len(self.bias1)] = self.bias1
        groups = -(-self.n_classes // NARROW)
        columns = np.zeros((blocks * WIDE, groups * NARROW), dtype=np.float32)
        columns[: len(self.bias1), : self.n_classes] = self.weights2
        weights2 = np.ascontiguousarray(columns.reshape(-1, groups, NARROW).transpose(1, 0, 2))
        fixed = np.zeros((1, blocks, 0, WIDE), dtype=np.float32)
        if not self.noise.attributes:
            fixed = sampler.summed_rows(0, 0, 0, 1, weights1)
        batch = max(1, min(16, _SHARED_BYTES // max(1, self.n_nodes * blocks * WIDE * 4)))
        return sampler, (weights1, bias1, weights2, self.bias2.copy()), fixed, batch

    def count(self, kind: int, first: int, count: int) -> np.ndarray:
        """Votes (nodes, classes) of samples first … first + count − 1."""
        sampler, weights, fixed, batch = self._tables
        votes = np.zeros((self.n_nodes, self.n_classes), dtype=np.int64)
        moved = self.noise.attr_std is not None
        smoothed = (self.noise.attributes and not moved, self.noise.adjacency)
        for start in range(first, first + count, batch if moved else count):
            now = min(batch if moved else count, first + count - start)
            if moved:
                fixed = sampler.summed_rows(self.seed, kind, start, now, weights[0])
            gcn_votes(
                (self.seed, kind, start, now), batch, sampler.attribute_tables, sampler.edge_tables, smoothed,
                self.symmetric, weights, fixed, votes,
            )  # fmt: skip
        return votes


def pad_weights(weights: np.ndarray) -> np.ndarray:
    """(attributes, units) → (blocks, attributes, 64), padded with zeros."""
    blocks = -(-weights.shape[1] // WIDE)
    padded = np.zeros((weights.shape[0], blocks * WIDE), dtype=np.float32)
    padded[:, : weights.shape[1]] = weights
    return np.ascontiguousarray(padded.reshape(-1, blocks, WIDE).transpose(1, 0, 2))


def voter_digest(kind: str, graph: Graph, arrays: tuple[np.ndarray, ...]) -> str:
    """SHA-256 over a description, a graph and weights."""
    digest = hashlib.sha256(f"certcore-votes-1|{kind}|{graph.n_nodes}|{graph.n_attrs}|{graph.directed}".encode())
    for array in (*graph.arrays, *arrays):
        digest.update(f"|{array.dtype.str}{array.shape}|".encode() + np.ascontiguousarray(array).tobytes())
    return digest.hexdigest()
