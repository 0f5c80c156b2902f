"""A dataset: one graph with labels, and where it came from."""

from __future__ import annotations

import json
import os
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import scipy.sparse as sp
from scipy.sparse.csgraph import connected_components

from certcore.errors import InputError
from certcore.graph import Graph
from certcore.npz import read_npz, write_npz


@dataclass(frozen=True, eq=False)
class Dataset:
    """A labelled graph; `source` tells where it came from (kept in the provenance of everything made from it)."""

    name: str
    graph: Graph
    labels: np.ndarray
    class_names: tuple[str, ...]
    node_names: tuple[str, ...] | None = None
    source: dict[str, Any] = field(default_factory=dict)

    def __post_init__(self) -> None:
        labels = np.asarray(self.labels)
        if labels.shape != (self.graph.n_nodes,) or labels.dtype.kind not in "iu":
            raise InputError(
                f"labels of {self.name} have shape {labels.shape} and type {labels.dtype}; "
                f"expected {self.graph.n_nodes} integers, one per node"
            )
        labels = labels.astype(np.int64)
        names = tuple(str(name) for name in self.class_names)
        if len(labels) and (labels.min() < 0 or labels.max() >= len(names)):
            node = int(np.flatnonzero((labels < 0) | (labels >= len(names)))[0])
            raise InputError(
                f"node {node} of {self.name} has label {labels[node]}; expected labels from 0 to {len(names) - 1} "
                f"({len(names)} classes are named)"
            )
        if self.node_names is not None and len(self.node_names) != self.graph.n_nodes:
            raise InputError(
                f"{self.name} names {len(self.node_names)} nodes; expected one name for each of {self.graph.n_nodes}"
            )
        labels.setflags(write=False)
        object.__setattr__(self, "labels", labels)
        object.__setattr__(self, "class_names", names)

    @property
    def n_classes(self) -> int:
        return len(self.class_names)

    @property
    def counts(self) -> dict[str, Any]:
        """What `certcore data get NAME --json` prints, without the path."""
        return {
            "name": self.name,
            "nodes": self.graph.n_nodes,
            "edges": self.graph.n_edges,
            "attributes": self.graph.n_attrs,
            "classes": self.n_classes,
        }


def build_dataset(
    name: str,
    edges: np.ndarray,
    attributes: sp.csr_array | np.ndarray,
    labels: np.ndarray,
    class_names: tuple[str, ...],
    *,
    node_names: tuple[str, ...] | None = None,
    directed: bool = False,
    connected: bool = True,
    source: dict[str, Any] | None = None,
) -> Dataset:
    """Clean a raw graph: binary attributes, no self loops, symmetric unless directed, largest component."""
    binary = sp.csr_array(attributes)
    if not np.isfinite(binary.data).all():
        raise InputError(f"attributes of {name} contain NaN or infinity; expected finite numbers (non-zero means 1)")
    binary = sp.csr_array((binary.data != 0, binary.indices, binary.indptr), shape=binary.shape).astype(np.int8)
    binary.eliminate_zeros()
    binary.sum_duplicates()
    binary.data[:] = 1
    pairs = np.asarray(edges, dtype=np.int64).reshape(-1, 2)
    n_nodes = binary.shape[0]
    if len(labels) != n_nodes:
        raise InputError(f"{name} has {len(labels)} labels for {n_nodes} nodes; expected one label per node")
    if len(pairs) and (pairs.min() < 0 or pairs.max() >= n_nodes):
        raise InputError(
            f"an edge of {name} names node {pairs.min() if pairs.min() < 0 else pairs.max()}; "
            f"expected 0 to {n_nodes - 1}"
        )
    pairs = pairs[pairs[:, 0] != pairs[:, 1]]
    keep = np.arange(n_nodes)
    if connected:
        weights = sp.coo_array((np.ones(len(pairs)), (pairs[:, 0], pairs[:, 1])), shape=(n_nodes, n_nodes))
        _, component = connected_components(weights, directed=False)
        keep = np.flatnonzero(component == np.bincount(component).argmax())
    position = np.full(n_nodes, -1)
    position[keep] = np.arange(len(keep))
    inside = position[pairs]
    inside = inside[(inside >= 0).all(axis=1)]
    graph = Graph.from_edges(len(keep), inside, binary[keep], directed=directed)
    kept_names = None if node_names is None else tuple(node_names[i] for i in keep)
    return Dataset(name, graph, np.asarray(labels)[keep], class_names, kept_names, source or {})


def save_dataset(path: str | os.PathLike[str], dataset: Dataset) -> None:
    """Write a dataset as plain arrays; nothing in the file needs to be unpickled."""
    graph = dataset.graph
    arrays = {
        "n_nodes": np.array(graph.n_nodes),
        "n_attrs": np.array(graph.n_attrs),
        "adj_indptr": graph.adj_indptr,
        "adj_indices": graph.adj_indices.astype(np.int32),
        "attr_indptr": graph.attr_indptr,
        "attr_indices": graph.attr_indices.astype(np.int32),
        "directed": np.array(graph.directed),
        "labels": dataset.labels,
        "class_names": np.array(dataset.class_names),
        "name": np.array(dataset.name),
        "source": np.array(json.dumps(dataset.source)),
    }
    if dataset.node_names is not None:
        arrays["node_names"] = np.array(dataset.node_names)
    write_npz(path, arrays)


def load_dataset_file(path: str | os.PathLike[str], name: str | None = None) -> Dataset:
    """Read a clean `.npz` dataset (keys as in `save_dataset`; names, source and `directed` are optional)."""
    path = Path(path)
    arrays = read_npz(path)
    needed = ("n_nodes", "n_attrs", "adj_indptr", "adj_indices", "attr_indptr", "attr_indices", "labels")
    missing = [key for key in needed if key not in arrays]
    if missing:
        raise InputError(f"{path} lacks {', '.join(missing)}; expected a dataset with the arrays {', '.join(needed)}")
    graph = Graph(
        _scalar(arrays, "n_nodes", path),
        _scalar(arrays, "n_attrs", path),
        arrays["adj_indptr"],
        arrays["adj_indices"],
        arrays["attr_indptr"],
        arrays["attr_indices"],
        bool(_scalar(arrays, "directed", path)) if "directed" in arrays else False,
    )
    labels = arrays["labels"]
    n_classes = int(labels.max()) + 1 if labels.size and labels.dtype.kind in "iu" else 1
    class_names = arrays.get("class_names", np.array([f"class {k}" for k in range(n_classes)]))
    node_names = tuple(map(str, arrays["node_names"])) if "node_names" in arrays else None
    stored = str(arrays["name"].reshape(-1)[0]) if "name" in arrays else path.stem
    source = {"file": path.name}
    if "source" in arrays:
        try:
            source = json.loads(str(arrays["source"].reshape(-1)[0]))
        except ValueError as error:
            raise InputError(f"the source in {path} is no JSON ({error}); import the dataset again") from error
    return Dataset(name or stored, graph, labels, tuple(map(str, class_names)), node_names, source)


def _scalar(arrays: dict[str, np.ndarray], key: str, path: Path) -> int:
    value = arrays[key]
    if value.size != 1 or value.dtype.kind not in "iub":
        raise InputError(f"{key} of {path} has shape {value.shape} and type {value.dtype}; expected one whole number")
    return int(value.reshape(-1)[0])
