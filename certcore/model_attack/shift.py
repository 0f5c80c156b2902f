"""Moved rows of real-valued attributes, in whole multiples of a power of two: norms are exact, files are small."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction

import numpy as np
import scipy.sparse as sp

from certcore.domain.graph import Graph
from certcore.domain.scale import Scale

#: Largest number of steps of one entry.
MOST_STEPS = 127


@dataclass(frozen=True, eq=False)
class Shift:
    """Row `nodes[i]` of the attributes moves by `steps[i]` · 2^exponent."""

    nodes: np.ndarray
    steps: np.ndarray
    exponent: int

    @classmethod
    def of(cls, moves: np.ndarray) -> Shift:
        """Moves (nodes, attributes) rounded to steps; rows that round to nothing stay where they are."""
        largest = float(np.abs(moves).max(initial=0.0))
        exponent = int(np.ceil(np.log2(largest / MOST_STEPS))) if largest else 0
        steps = np.rint(moves / 2.0**exponent).astype(np.int8)
        nodes = np.flatnonzero(steps.any(axis=1))
        return cls(nodes, steps[nodes], exponent)

    @property
    def rows(self) -> np.ndarray:
        return self.steps * 2.0**self.exponent

    def units(self, scale: Scale) -> np.ndarray:
        """Squared distance of each moved row in units, rounded up."""
        squares = (self.steps.astype(np.int64) ** 2).sum(axis=1)
        factor = Fraction(4) ** self.exponent * scale.units / scale.std**2
        whole = -(-squares.astype(object) * factor.numerator // factor.denominator)
        return np.asarray(whole, dtype=np.int64)

    def table(self, n_nodes: int) -> np.ndarray:
        """The moves of all nodes, (nodes, attributes)."""
        moves = np.zeros((n_nodes, self.steps.shape[1]))
        moves[self.nodes] = self.rows
        return moves

    def applied(self, graph: Graph) -> Graph:
        """The graph with moved attributes."""
        rows, columns = self.steps.nonzero()
        moves = sp.csr_array((self.rows[rows, columns], (self.nodes[rows], columns)), shape=graph.attributes.shape)
        return graph.with_attributes(sp.csr_array(graph.attributes.astype(np.float64) + moves))
