"""A dataset and a base certificate that `certcore` finds by their entry points. No torch is needed to list them."""

from __future__ import annotations

import numpy as np

from certcore import Dataset, Graph, GridBase


def triangles() -> Dataset:
    """Sixty triangles in a ring; the class of a node is that of its triangle, and so are its attributes."""
    corners = np.arange(180).reshape(60, 3)
    ring = np.stack([corners[:, 0], np.roll(corners[:, 0], -1)], axis=1)
    edges = np.concatenate([corners[:, [0, 1]], corners[:, [1, 2]], corners[:, [2, 0]], ring])
    labels = np.repeat(np.arange(60) % 3, 3)
    attributes = (np.arange(12) // 4 == labels[:, None]).astype(int)
    return Dataset("triangles", Graph.from_edges(180, edges, attributes), labels, ("left", "middle", "right"))


def by_degree(graph: Graph) -> GridBase:
    """An example of the form, not of a proof: it claims that nodes survive as many deletions as they have neighbours.

    A base certificate that you publish needs an argument why no attack within its budgets changes the label.
    """
    degrees = np.diff(graph.adjacency.indptr)
    return GridBase(np.arange(degrees.max() + 1) <= degrees[:, None], ("attr_del",))
