"""How a model reads the graph: what a certificate has to know about it."""

from __future__ import annotations

from dataclasses import dataclass

import scipy.sparse as sp

from certcore.common.choice import Choice
from certcore.domain.edge_field import EdgeField


@dataclass(frozen=True, eq=False)
class Field:
    """Either `layers` hops with an edge rule, or explicit supports that hold while the adjacency is fixed."""

    layers: int | None
    edge_field: EdgeField = EdgeField.DEGREES
    node_field: sp.csr_array | None = None


class Fault(Choice):
    """What makes a model no function of the graph, so that it has no field at all."""

    CHANCE = "chance"
    MEMORY = "memory"
    """Of earlier calls."""
