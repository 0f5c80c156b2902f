"""Graphs of torch-geometric and networkx as datasets."""

from __future__ import annotations

from typing import Any, Unpack

import numpy as np
import scipy.sparse as sp

from certcore.common.errors import InputError
from certcore.common.reading import whole_numbers
from certcore.data.dataset import Dataset, ImportOptions, build_dataset, numbered_classes
from certcore.domain.limits import MAX_CLASSES
from certcore.domain.split import TEST, TRAIN, VALIDATION


def from_pyg(
    data: Any, name: str, *, source: dict[str, Any] | None = None, **options: Unpack[ImportOptions]
) -> Dataset:
    """A torch-geometric `Data` with `x`, `edge_index` and `y`; its masks become the split, names are kept.

    Only the `ImportOptions` change the data. Values other than 0 and 1 need `keep_values` or `binarize`.
    """
    if getattr(data, "edge_index", None) is None and getattr(data, "adj_t", None) is not None:
        raise InputError(
            f"the Data object of {name} has adj_t and no edge_index; give the data as they were before ToSparseTensor "
            "(layers take both; edges='adjacency' gives a model of your own the matrix)"
        )
    for key in ("x", "edge_index", "y"):
        if getattr(data, key, None) is None:
            raise InputError(f"the Data object of {name} has no {key}; expected x, edge_index and y")
    attributes = sp.csr_array(_numpy(data.x))
    n_nodes = attributes.shape[0]
    y = _numpy(data.y)
    labels = whole_numbers(
        y.reshape(-1) if y.size == n_nodes else y, f"y of {name}", 0, MAX_CLASSES - 1, shape=(n_nodes,)
    )
    index = _numpy(data.edge_index)
    if index.ndim != 2 or len(index) != 2:
        raise InputError(f"edge_index of {name} has shape {index.shape}; expected two rows, senders and receivers")
    weights = [_numpy(data[key]).reshape(-1) for key in ("edge_weight", "edge_attr") if _has(data, key)]
    names = data["node_names"] if _has(data, "node_names") else None
    if names is None and options.get("largest_component"):
        names = range(n_nodes)  # the index of each node in the original data
    if names is not None and len(names) != n_nodes:
        raise InputError(f"node_names of {name} has {len(names)} entries; expected one for each of {n_nodes:,} nodes")
    return build_dataset(
        name,
        index[::-1].T,  # edge_index holds (sender, receiver); rows here are (receiver, sender)
        attributes,
        labels,
        numbered_classes(labels),
        weights=np.concatenate(weights) if weights else None,
        node_names=None if names is None else tuple(map(str, names)),
        split=_split_of_masks(data, name, n_nodes),
        source=source or {"from": "torch-geometric"},
        **options,
    )


def _has(data: object, key: str) -> bool:
    return getattr(data, key, None) is not None


def _numpy(tensor: Any) -> np.ndarray:
    dense = tensor.to_dense() if getattr(tensor, "is_sparse", False) or "sparse" in str(tensor.layout) else tensor
    return np.asarray(dense.detach().cpu().numpy())


def _split_of_masks(data: Any, name: str, n_nodes: int) -> np.ndarray | None:
    """Train, validation and test masks as one array; a node in no mask gets -1."""
    split = np.full(n_nodes, -1, dtype=np.int8)
    masks = {"train_mask": TRAIN, "val_mask": VALIDATION, "test_mask": TEST}
    found = [key for key in masks if _has(data, key)]
    for key in found:
        mask = _numpy(data[key])
        if mask.shape != (n_nodes,) or mask.dtype != np.bool_:
            raise InputError(
                f"{key} of {name} has shape {mask.shape} and type {mask.dtype}; expected {n_nodes:,} booleans: where "
                f"there are several splits choose one, data.{key} = data.{key}[:, 0]"
            )
        twice = np.flatnonzero(mask & (split >= 0))
        if len(twice):
            raise InputError(f"node {twice[0]} of {name} is in two of the masks; expected every node in one at most")
        split[mask] = masks[key]
    return split if found else None


def from_networkx(
    graph: Any,
    name: str,
    *,
    attribute: str = "x",
    label: str = "y",
    weight: str = "weight",
    **options: Unpack[ImportOptions],
) -> Dataset:
    """A networkx graph whose nodes have a vector (`attribute`) and a class (`label`); u → v: v receives from u.

    Only the `ImportOptions` change the data. Values other than 0 and 1 need `keep_values` or `binarize`.
    """
    nodes = list(graph.nodes)
    if not nodes:
        raise InputError(f"the networkx graph {name} has no nodes; expected at least one")
    for key in (attribute, label):
        lacking = [node for node in nodes if key not in graph.nodes[node]]
        if lacking:
            raise InputError(f"node {lacking[0]!r} of {name} has no {key!r}; expected it at every node")
    position = {node: i for i, node in enumerate(nodes)}
    edges = np.array([(position[v], position[u]) for u, v in graph.edges()], dtype=np.int64).reshape(-1, 2)
    weights = [value for _, _, value in graph.edges(data=weight, default=1)]
    if graph.is_directed() and not options.get("undirected"):
        options["directed"] = True
    rows = [np.asarray(graph.nodes[node][attribute]).reshape(-1) for node in nodes]
    if len({len(row) for row in rows}) > 1:
        raise InputError(f"the {attribute!r} of the nodes of {name} differ in length; expected vectors of one length")
    class_names, labels = named_classes([str(graph.nodes[node][label]) for node in nodes])
    return build_dataset(
        name, edges, np.stack(rows), labels, class_names, both_ways=not graph.is_directed(),
        weights=np.array(weights, dtype=object), node_names=tuple(map(str, nodes)), source={"from": "networkx"},
        **options,
    )  # fmt: skip


def named_classes(given: list[str]) -> tuple[tuple[str, ...], np.ndarray]:
    """Names of classes in order, numbers by their value, and the class of each entry."""
    names = sorted(set(given), key=lambda text: (not text.isdigit(), int(text) if text.isdigit() else 0, text))
    return tuple(names), np.array([names.index(text) for text in given])
