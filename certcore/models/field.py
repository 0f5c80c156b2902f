"""The receptive field of a model, which certificates need."""

from __future__ import annotations

from dataclasses import dataclass

import scipy.sparse as sp

from certcore.common.choice import Choice
from certcore.domain.edge_field import EdgeField


@dataclass(frozen=True, eq=False)
class Field:
    """Either `layers` hops with an edge rule, or explicit node fields that are valid while the adjacency is fixed."""

    layers: int | None
    edge_field: EdgeField = EdgeField.DEGREES
    node_field: sp.csr_array | None = None


class Fault(Choice):
    """Why a model is not a deterministic function of the graph, and so has no receptive field."""

    CHANCE = "chance"
    MEMORY = "memory"
    """Its output depends on earlier calls."""
    EDGES = "edges"
    """Its output is the same for other edges, although layers of messages were declared."""
