"""Samples as sparse arrays: for training, for models without a fused kernel, and for user-defined models."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property

import numpy as np
import scipy.sparse as sp

from certcore.common.compiled import compiled
from certcore.common.errors import InputError
from certcore.domain.graph import Graph
from certcore.domain.noise import Noise
from certcore.domain.perturbations import no_flips
from certcore.votes.kernel import draw_edges, first_layer
from certcore.votes.lattice import SHARE, LatticeTable, lattice_table, noisy_layer, noisy_table, require_lattice
from certcore.votes.streams import ATTR_ADD, ATTR_KEEP, added_columns, jump, keep_bits, open_stream, take_bits
from certcore.votes.tables import bit_table, gap_table, keep_threshold


@dataclass(frozen=True, eq=False)
class Sampler:
    """Draws the smoothed graphs of one clean graph, by seed, kind of sample and sample number."""

    graph: Graph
    noise: Noise

    def __post_init__(self) -> None:
        self.noise.check_drawable()
        if self.graph.real and any(self.noise.fractions[:2]):
            raise InputError(f"the noise flips attributes, but {no_flips()}")
        if self.noise.attr_std is not None:
            require_lattice(self.graph, self.noise)

    @cached_property
    def attribute_tables(self) -> tuple:
        """Tables of the attributes for the compiled code."""
        graph, flips = self.graph, self.noise.fractions
        existing = np.zeros((graph.n_nodes, 0), dtype=np.uint64)
        if flips[0]:
            existing = bit_table(graph.attr_indptr, graph.attr_indices, graph.n_attrs)
        indices = graph.attr_indices.astype(np.int32)
        return (graph.attr_indptr, indices, existing, *keep_threshold(flips[1]), gap_table(flips[0]))

    @cached_property
    def edge_tables(self) -> tuple:
        """Tables of the edges for the compiled code."""
        graph, flips = self.graph, self.noise.fractions
        threshold, keep_all = keep_threshold(flips[3])
        table = gap_table(flips[2])
        return (graph.adj_indptr, graph.adj_indices, graph.edges, graph.directed, threshold, keep_all, table)

    @cached_property
    def _lattice(self) -> LatticeTable:
        return lattice_table(self.noise.std, self.noise.step)

    @property
    def _step(self) -> np.float32:
        return np.float32(float(self.noise.step))

    @cached_property
    def _values(self) -> tuple:
        """The clean real-valued attributes, for the compiled code."""
        return self.graph.attr_indptr, self.graph.attr_indices, np.asarray(self.graph.attr_values)

    def moved(self, seed: int, kind: int, sample: int) -> np.ndarray:
        """The attributes of one sample of Gaussian noise as a dense table."""
        out = np.empty((self.graph.n_nodes, self.graph.n_attrs), dtype=np.float32)
        noisy_table(seed, kind, sample, self._lattice.arrays, self._step, self._values, out)
        return out

    def distance_to_ideal(self, samples: int) -> Fraction:
        """Bound on the total variation distance η between so many samples and ideal ones."""
        moves = self.graph.n_nodes * self.graph.n_attrs * self._lattice.total_variation
        return samples * (moves + Fraction(self.graph.n_edges, 2**128))

    def require_exact(self, samples: int, alpha: Fraction) -> None:
        """Refuse Gaussian noise whose distance to ideal noise exceeds the reserved fraction of α."""
        if self.noise.attr_std is not None and self.distance_to_ideal(samples) > alpha * SHARE:
            raise InputError(
                f"{samples:,} samples of this graph are too many draws for α = {float(alpha):g}: their distance to "
                "ideal Gaussian noise exceeds its 2^20th part; take fewer samples, or a larger α"
            )

    def attributes(self, seed: int, kind: int, sample: int) -> tuple[np.ndarray, np.ndarray]:
        """CSR arrays of the attributes of one sample; columns are not sorted (kept ones, then added ones).

        For real-valued attributes, `graph.attr_values` are the values at these columns.
        """
        return _draw_attributes(seed, kind, sample, self.attribute_tables, self.graph.n_attrs)

    def edges(self, seed: int, kind: int, sample: int) -> tuple[np.ndarray, np.ndarray]:
        """Receivers and senders of one sample, with both directions of an undirected edge."""
        existing = self.graph.edges
        words = np.empty((len(existing) + 63) // 64 + 1, dtype=np.uint64)
        added = draw_edges(seed, kind, sample, self.edge_tables, words)
        stays = np.unpackbits(words.view(np.uint8), bitorder="little")[: len(existing)].astype(bool)
        pairs = np.concatenate([existing[stays], added])
        if not self.graph.directed:
            pairs = np.concatenate([pairs, pairs[:, ::-1]])
        return pairs[:, 0], pairs[:, 1]

    def matrices(self, seed: int, kind: int, sample: int) -> tuple[sp.csr_array, sp.csr_array]:
        """One sample as sparse matrices: attributes (0/1, or the graph's real values) and 0/1 adjacency."""
        n_nodes = self.graph.n_nodes
        rows, columns = self.edges(seed, kind, sample)
        adjacency = sp.csr_array((np.ones(len(rows), dtype=np.float32), (rows, columns)), shape=(n_nodes, n_nodes))
        if self.noise.attr_std is not None:
            return sp.csr_array(self.moved(seed, kind, sample)), adjacency
        indptr, indices = self.attributes(seed, kind, sample)
        values = np.ones(len(indices), dtype=np.float32) if not self.graph.real else self.graph.attributes.data
        attributes = sp.csr_array((values, indices, indptr), shape=(n_nodes, self.graph.n_attrs))
        attributes.sort_indices()  # kept ones come first: the order would reveal the clean graph to the model
        return attributes, adjacency

    def summed_rows(self, seed: int, kind: int, first: int, count: int, weights: np.ndarray) -> np.ndarray:
        """X·W for `count` samples, without building X; `weights` is (blocks, attributes, 64), see `pad_weights`."""
        out = np.empty((count, weights.shape[0], self.graph.n_nodes, weights.shape[2]), dtype=np.float32)
        if self.noise.attr_std is not None:
            noisy_layer(seed, kind, first, self._lattice.arrays, self._step, self._values, weights, out)
            return out
        if self.graph.real:
            out[:] = [self.graph.attributes @ block for block in weights]  # scipy sums row by row, in a fixed order
            return out
        first_layer(seed, kind, first, count, self.attribute_tables, weights, out)
        return out


@compiled()
def _draw_attributes(seed, kind, sample, attributes, n_attrs):  # type: ignore[no-untyped-def]
    indptr, indices, existing, keep, keep_all, table = attributes
    n_nodes = len(indptr) - 1
    n_ones = indptr[n_nodes]
    kept = np.empty((n_ones + 63) // 64 + 1, dtype=np.uint64)
    start, step = open_stream(seed, kind + ATTR_KEEP, sample)
    keep_bits(start, step, keep, keep_all, n_ones, kept)
    position = np.int64(0)
    if len(table):
        start, step = open_stream(seed, kind + ATTR_ADD, sample)
        start, distance = jump(start, step, table, n_nodes * n_attrs)
        position = distance - 1
    columns = np.empty(n_attrs + 1, dtype=np.int32)
    drawn = np.empty(n_ones + n_attrs + 64, dtype=np.int64)
    pointers = np.zeros(n_nodes + 1, dtype=np.int64)
    total = 0
    for n in range(n_nodes):
        if total + n_attrs > len(drawn):
            longer = np.empty(2 * len(drawn) + n_attrs, dtype=np.int64)
            longer[:total] = drawn[:total]
            drawn = longer
        for i in range(indptr[n], indptr[n + 1]):
            if take_bits(kept, i, 1):
                drawn[total] = indices[i]
                total += 1
        if len(table):
            start, position, count = added_columns(
                start, step, position, table, n_attrs, n_nodes * n_attrs, existing[n], columns
            )
            for i in range(count):
                drawn[total] = columns[i]
                total += 1
        pointers[n + 1] = total
    return pointers, drawn[:total].copy()
