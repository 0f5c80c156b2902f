"""Conversion of graphs in several forms: torch-geometric, networkx, plain matrices, or certcore's own types."""

from __future__ import annotations

import copy
from dataclasses import replace
from typing import Any, Unpack

import numpy as np
import scipy.sparse as sp

from certcore.common.errors import InputError
from certcore.common.reading import whole_numbers
from certcore.data.convert import from_networkx, from_pyg
from certcore.data.dataset import Dataset, ImportOptions, build_dataset, numbered_classes
from certcore.domain.graph import Graph
from certcore.domain.limits import MAX_CLASSES


def as_dataset(data: Any, name: str = "", **options: Unpack[ImportOptions]) -> tuple[Dataset, bool]:
    """The data as a dataset, and whether labels were given.

    Accepted are torch-geometric's `Data`, a networkx graph, a `Dataset` or `Graph` of certcore, and tuples (x, edges)
    or (x, edges, labels). The edges are an edge_index of two rows or an N × N matrix whose entry (i, j) means that i
    receives from j. The data are changed only by the given options.
    """
    if isinstance(data, Dataset | Graph) and any(options.values()):
        raise InputError(f"a {type(data).__name__} of certcore is taken as it is; leave {', '.join(options)} out")
    if isinstance(data, Dataset):
        return (replace(data, name=name) if name else data), True
    if isinstance(data, Graph):
        return Dataset(name or "graph", data, np.zeros(data.n_nodes, dtype=np.int64), ("class 0",)), False
    if isinstance(data, tuple | list):
        return _from_matrices(data, name or "graph", options)
    if hasattr(data, "nodes") and hasattr(data, "is_directed") and hasattr(data, "edges") and callable(data.edges):
        known = str(getattr(data, "name", "") or "")
        labelled = all("y" in data.nodes[node] for node in data.nodes)
        if not labelled:
            data = data.copy()
            for node in data.nodes:
                data.nodes[node]["y"] = 0
        return from_networkx(data, name or known or "graph", **options), labelled
    if hasattr(data, "edge_index") and hasattr(data, "x"):
        labelled = getattr(data, "y", None) is not None
        if not labelled and data.x is not None:
            data = copy.copy(data)
            data.y = data.x.new_zeros(len(data.x)).long()
        return from_pyg(data, name or "graph", **options), labelled
    raise InputError(
        f"the data are a {type(data).__name__}; expected a torch-geometric Data, a networkx graph, a certcore Dataset "
        "or Graph, or a tuple (x, edge_index) or (x, adjacency), with labels as a third part if there are any"
    )


def _from_matrices(data: Any, name: str, options: ImportOptions) -> tuple[Dataset, bool]:
    if len(data) not in (2, 3):
        raise InputError(f"the data are a tuple of {len(data)}; expected (x, edges) or (x, edges, labels)")
    attributes = sp.csr_array(_array(data[0]))
    n_nodes = attributes.shape[0]
    edges = _array(data[1])
    weights = None
    if sp.issparse(edges) or (edges.shape == (n_nodes, n_nodes) and n_nodes != 2):
        if edges.shape != (n_nodes, n_nodes):
            raise InputError(f"the adjacency has shape {edges.shape}; expected ({n_nodes}, {n_nodes}), as x has rows")
        matrix = sp.coo_array(edges)
        matrix.sum_duplicates()
        matrix.eliminate_zeros()
        pairs, weights = np.stack(matrix.coords, axis=1), matrix.data
    elif edges.ndim == 2 and len(edges) == 2:
        pairs = edges[::-1].T  # edge_index holds (sender, receiver); rows here are (receiver, sender)
    else:
        raise InputError(
            f"the edges have shape {edges.shape}; expected two rows (senders, receivers) or an adjacency of "
            f"({n_nodes}, {n_nodes})"
        )
    labelled = len(data) == 3 and data[2] is not None
    given = _array(data[2]) if labelled else np.zeros(n_nodes, dtype=np.int64)
    labels = whole_numbers(given, "the list of labels", 0, MAX_CLASSES - 1, shape=(n_nodes,))
    dataset = build_dataset(
        name, pairs, attributes, labels, numbered_classes(labels), weights=weights, source={"from": "matrices"},
        **options,
    )  # fmt: skip
    return dataset, labelled


def _array(part: Any) -> Any:
    """A tensor or list as an array; sparse matrices stay sparse."""
    if sp.issparse(part):
        return part
    if hasattr(part, "detach"):
        dense = part.to_dense() if "sparse" in str(part.layout) else part
        return dense.detach().cpu().numpy()
    array = np.asarray(part)
    if array.dtype == object:
        raise InputError("a matrix of the data holds objects; expected numbers")
    return array
