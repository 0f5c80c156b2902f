"""Noise behind the first linear map of a network: a few dozen draws per node instead of one per attribute.

A network that reads x through x·W alone is f₂(x·Q̂) with W ≈ Q̂·R. Q̂ is the orthogonal factor of W rounded to
multiples of 2⁻²⁰, and R is part of f₂. Noise is drawn around Ȳ, which is X·Q̂ rounded to a lattice, so votes are
samples of f₂∘round_h at Ȳ. For attacked X′ = X + Δ the rows that node n reads are ‖X′Q̂ − Ȳ‖ ≤ √κ·‖Δ‖ + c_n away from
Ȳ, with κ ≥ ‖Q̂‖² and c_n ≥ ‖X·Q̂ − Ȳ‖ over these rows. Both constants are computed, and X itself is not rounded.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction

import numpy as np
import scipy.sparse as sp

from certcore.common.errors import InputError
from certcore.domain.graph import Graph
from certcore.domain.noise import Noise
from certcore.votes.lattice import require_lattice

#: Denominator of the integers that represent Q̂, κ and c_n / s.
FINE = 2**20


@dataclass(frozen=True, eq=False)
class FirstMap:
    """The factors Q̂ and R of W, and the mapped graph."""

    graph: Graph
    """The same edges with Ȳ as attributes, on which votes are drawn."""
    orthogonal: np.ndarray
    """Q̂ as integers over 2²⁰, (attributes, units)."""
    rest: np.ndarray
    """R as float32, (units, units): the first operation of f₂."""
    factor: int
    """κ over 2²⁰, rounded up."""
    squared_offsets: np.ndarray
    """‖(X·Q̂ − Ȳ)_m‖² of every row m, rounded up."""

    def offsets(self, fields: sp.csr_array, std: Fraction) -> np.ndarray:
        """c_n / s over 2²⁰ for the rows (nodes) of a 0/1 matrix of fields, rounded up."""
        pattern = sp.csr_array((np.ones(len(fields.indices)), fields.indices, fields.indptr), shape=fields.shape)
        # Double-precision sums of positive numbers, a root and a quotient: relative errors are far below 2⁻³⁰.
        lengths = np.sqrt(pattern @ self.squared_offsets) * (1 + 2.0**-30) / float(std)
        return np.ceil(lengths * (1 + 2.0**-30) * FINE).astype(np.int64)

    def preimage(self, table: np.ndarray) -> np.ndarray:
        """Attributes that Q̂ maps to these rows; the network's scores on them are f₂'s scores on the table."""
        return table.astype(np.float64) @ np.linalg.pinv(self.orthogonal / FINE)


def first_map(graph: Graph, weights: np.ndarray, noise: Noise) -> FirstMap:
    """Factor the first map of a network (attributes × units) on a graph; the noise determines the lattice."""
    n_attrs, units = weights.shape
    if units >= n_attrs:
        raise InputError(
            f"the first map makes {units} units of {n_attrs} attributes, so noise behind it would be no less than at "
            "the input; leave noise_at out"
        )
    orthogonal, rest = np.linalg.qr(weights.astype(np.float64))
    whole = np.rint(orthogonal * FINE).astype(np.int64)
    largest = int(np.abs(whole.T @ whole).sum(axis=1).max())  # over 2⁴⁰: an upper bound on the largest eigenvalue
    matrix, q = graph.attributes.astype(np.float64), whole / FINE
    # Products of 24 and 21 bits are exact, so the relative error of each sum is at most its length times 2⁻⁵³.
    product = matrix @ q
    doubt = (n_attrs + 2) * 2.0**-53 * (abs(matrix) @ np.abs(q))
    step = float(noise.step)
    rounded = np.rint(product / step) * step
    offsets = (np.abs(product - rounded) * (1 + 2.0**-50) + doubt) ** 2
    changed = graph.with_attributes(rounded)
    require_lattice(changed, noise)
    squared = offsets.sum(axis=1) * (1 + 2.0**-40)
    return FirstMap(changed, whole, rest.astype(np.float32), -(-largest // FINE), squared)
