"""A dataset: one graph with labels, and where it came from."""

from __future__ import annotations

import json
import os
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, TypedDict, Unpack

import numpy as np
import scipy.sparse as sp
from scipy.sparse.csgraph import connected_components

from certcore.common.errors import InputError
from certcore.common.npz import read_npz, write_npz
from certcore.common.reading import flag, read_json, whole_numbers
from certcore.domain.graph import Graph, pattern
from certcore.domain.limits import MAX_CLASSES
from certcore.domain.split import TEST


@dataclass(frozen=True, eq=False)
class Dataset:
    """A labelled graph; `source` records its origin and is copied to the provenance of everything made from it."""

    name: str
    graph: Graph
    labels: np.ndarray
    class_names: tuple[str, ...]
    node_names: tuple[str, ...] | None = None
    source: dict[str, Any] = field(default_factory=dict)
    split: np.ndarray | None = None
    """The split of the published data: 0 train, 1 validation, 2 test, -1 none of them."""

    def __post_init__(self) -> None:
        n = self.graph.n_nodes
        names = tuple(str(name) for name in self.class_names)
        labels = whole_numbers(self.labels, f"the list of labels of {self.name}", 0, len(names) - 1, shape=(n,))
        if self.node_names is not None and len(self.node_names) != n:
            raise InputError(f"{self.name} names {len(self.node_names)} nodes; expected one name for each of {n}")
        if any("\0" in text for text in (self.name, *names, *(self.node_names or ()))):
            raise InputError(f"a name in {self.name!r} holds a zero character, which no file can keep; remove it")
        object.__setattr__(self, "labels", labels)
        object.__setattr__(self, "class_names", names)
        if self.split is not None:
            object.__setattr__(self, "split", whole_numbers(self.split, "split", -1, TEST, shape=(n,)))

    @property
    def changes(self) -> list[str]:
        """The changes made during import, one sentence each."""
        return [str(sentence) for sentence in self.source.get("changes", [])]

    @property
    def n_classes(self) -> int:
        return len(self.class_names)

    @property
    def counts(self) -> dict[str, Any]:
        """Name, size and kind, as `python -m experiments data get NAME --json` prints them."""
        return {
            "name": self.name,
            "nodes": self.graph.n_nodes,
            "edges": self.graph.n_edges,
            "attributes": self.graph.n_attrs,
            **({"values": "numbers"} if self.graph.real else {}),
            "classes": self.n_classes,
        }


class ImportOptions(TypedDict, total=False):
    """Changes that an import may make. Each is made only on request, and is recorded.

    `binarize`: non-zero attributes become 1. `keep_values`: attributes stay real-valued, in 32 bits (for attacks on
    edges, or on attributes by an l2 distance). `undirected`: every edge is used in both directions. `directed`: edges
    keep their direction. `simplify`: self loops, repeated edges, edge weights and edges to missing nodes are removed.
    `largest_component`: nodes outside the largest connected component are removed.
    """

    binarize: bool
    keep_values: bool
    undirected: bool
    directed: bool
    simplify: bool
    largest_component: bool


#: The options with which the paper's versions of the known datasets are made.
AS_IN_THE_PAPER: ImportOptions = {"binarize": True, "undirected": True, "simplify": True, "largest_component": True}


class Changes:
    """Applies the requested options and records them; refuses other changes and names the option that allows them."""

    def __init__(self, name: str, options: ImportOptions) -> None:
        strange = sorted(set(options) - set(ImportOptions.__annotations__))
        if strange:
            raise InputError(
                f"{strange[0]!r} is no option of an import; expected {', '.join(ImportOptions.__annotations__)}"
            )
        if options.get("undirected") and options.get("directed"):
            raise InputError(f"{name} cannot be both directed and undirected; ask for one of them")
        if options.get("binarize") and options.get("keep_values"):
            raise InputError(f"the attributes of {name} cannot become 0 and 1 and keep their values; ask for one")
        self.name, self.options = name, options
        self.done: list[str] = []

    def allow(self, option: str, found: str, done: str) -> None:
        """Record the change `done` if the option is on; otherwise refuse the data because of `found`."""
        if not self.options.get(option):
            raise InputError(
                f"{self.name} has {found}; nothing is changed without being asked for: "
                f"{option}=True (--{option.replace('_', '-')}) means that {done}"
            )
        self.done.append(f"{found}: {done}")


def build_dataset(
    name: str | Changes,
    edges: Any,
    attributes: Any,
    labels: Any,
    class_names: tuple[str, ...],
    *,
    both_ways: bool = False,
    weights: Any = None,
    node_names: tuple[str, ...] | None = None,
    split: np.ndarray | None = None,
    source: dict[str, Any] | None = None,
    **options: Unpack[ImportOptions],
) -> Dataset:
    """A dataset from raw parts, which are used unchanged, changed as requested, or refused (see `ImportOptions`).

    `edges` are rows (receiver, sender). `both_ways` states that every edge of the source is undirected. `name` may be a
    `Changes` object instead, with changes that the caller has already made.
    """
    changes = name if isinstance(name, Changes) else Changes(name, options)
    name = changes.name
    matrix, real = _attributes(name, attributes, changes)
    n_nodes = matrix.shape[0]
    given = edges if np.size(edges) else np.zeros((0, 2), dtype=np.int64)
    pairs = whole_numbers(given, f"the list of edges of {name}", 0, n_nodes - 1, shape=(None, 2))
    if len(labels) != n_nodes:
        raise InputError(f"{name} has {len(labels)} labels for {n_nodes} nodes; expected one label per node")
    pairs, directed = _simple(pairs, n_nodes, weights, both_ways, changes)
    keep = np.arange(n_nodes)
    if changes.options.get("largest_component"):
        links = sp.coo_array((np.ones(len(pairs)), (pairs[:, 0], pairs[:, 1])), shape=(n_nodes, n_nodes))
        count, component = connected_components(links, directed=False)
        keep = np.flatnonzero(component == np.bincount(component).argmax())
        if count > 1:
            lost = n_nodes - len(keep)
            changes.done.append(f"{count:,} connected components: {lost:,} of {n_nodes:,} nodes were left out")
    position = np.full(n_nodes, -1)
    position[keep] = np.arange(len(keep))
    inside = position[pairs]
    inside = inside[(inside >= 0).all(axis=1)]
    graph = Graph.from_edges(len(keep), inside, matrix[keep], directed=directed, keep_values=real)
    kept_names = None if node_names is None else tuple(node_names[i] for i in keep)
    record = dict(source or {}) | ({"changes": changes.done} if changes.done else {})
    kept_split = None if split is None else np.asarray(split)[keep]
    return Dataset(name, graph, np.asarray(labels)[keep], class_names, kept_names, record, kept_split)


def _attributes(name: str, attributes: object, changes: Changes) -> tuple[sp.csr_array, bool]:
    """The attributes as a sparse matrix, and whether they are real-valued."""
    matrix = sp.csr_array(attributes)
    if matrix.dtype.kind not in "biuf" or not np.isfinite(matrix.data).all():
        raise InputError(f"attributes of {name} contain NaN, infinity or text; expected finite numbers")
    other = matrix.data[(matrix.data != 0) & (matrix.data != 1)]
    found = f"{len(other):,} attributes that are neither 0 nor 1" + (f", such as {other[0]:g}" if len(other) else "")
    if not len(other) or changes.options.get("binarize"):
        if len(other):
            changes.allow("binarize", found, "what is not zero becomes 1")
        return pattern(matrix), False
    if not changes.options.get("keep_values"):
        raise InputError(
            f"{name} has {found}; nothing is changed without being asked for: keep_values=True (--keep-values) takes "
            "them as numbers, binarize=True (--binarize) means that what is not zero becomes 1"
        )
    return matrix, True


def _simple(
    pairs: np.ndarray, n_nodes: int, weights: Any, both_ways: bool, changes: Changes
) -> tuple[np.ndarray, bool]:
    """Edges without loops and repetitions, and whether they have a direction."""
    if weights is not None and np.size(weights) and not np.all(np.asarray(weights) == 1):
        changes.allow("simplify", "weights or attributes on its edges", "they are left out")
    loops = pairs[:, 0] == pairs[:, 1]
    if loops.any():
        changes.allow("simplify", f"{int(loops.sum()):,} self loops", "they are left out")
        pairs = pairs[~loops]
    ordered = np.sort(pairs, axis=1) if both_ways else pairs
    keys, first = np.unique(ordered[:, 0] * n_nodes + ordered[:, 1], return_index=True)
    if len(keys) < len(pairs):
        # In undirected data (a, b) and (b, a) are the same edge and no repetition.
        repeated = len(pairs) - len(np.unique(pairs[:, 0] * n_nodes + pairs[:, 1]))
        if repeated:
            changes.allow("simplify", f"{repeated:,} edges that are given more than once", "each counts once")
        pairs = pairs[np.sort(first)]
    if changes.options.get("directed"):
        if both_ways:
            raise InputError(f"the edges of {changes.name} have no direction to keep; leave directed out")
        return pairs, True
    back = pairs[:, 1] * n_nodes + pairs[:, 0]
    lonely = 0 if both_ways else int(np.count_nonzero(~np.isin(back, keys)))
    if lonely and not changes.options.get("undirected"):
        raise InputError(
            f"{changes.name} has {lonely:,} edges in one direction only; say what they are: undirected=True "
            "(--undirected) takes each in both directions, directed=True (--directed) keeps their direction"
        )
    if lonely:
        changes.done.append(f"{lonely:,} edges in one direction only: each is taken in both directions")
    return pairs, False


def save_dataset(path: str | os.PathLike[str], dataset: Dataset) -> None:
    """Write a dataset as plain arrays, without pickles."""
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
    if graph.attr_values is not None:
        arrays["attr_values"] = graph.attr_values
    if dataset.node_names is not None:
        arrays["node_names"] = np.array(dataset.node_names)
    if dataset.split is not None:
        arrays["split"] = dataset.split.astype(np.int8)
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
        arrays["n_nodes"],  # type: ignore[arg-type]
        arrays["n_attrs"],  # type: ignore[arg-type]
        arrays["adj_indptr"],
        arrays["adj_indices"],
        arrays["attr_indptr"],
        arrays["attr_indices"],
        flag(arrays.get("directed", False), f"directed of {path}"),
        arrays.get("attr_values"),
    )
    labels = whole_numbers(
        arrays["labels"], f"the list of labels of {path}", 0, MAX_CLASSES - 1, shape=(graph.n_nodes,)
    )
    class_names = arrays.get("class_names", np.array(numbered_classes(labels)))
    node_names = tuple(map(str, arrays["node_names"])) if "node_names" in arrays else None
    stored = str(arrays["name"].reshape(-1)[0]) if "name" in arrays else path.stem
    source = {"file": path.name}
    if "source" in arrays:
        source = read_json(str(arrays["source"].reshape(-1)[0]), f"the source in {path}")
        if not isinstance(source, dict):
            raise InputError(f"the source in {path} is no object; import the dataset again")
    split = arrays.get("split")
    return Dataset(name or stored, graph, labels, tuple(map(str, class_names)), node_names, source, split)


def numbered_classes(labels: Any) -> tuple[str, ...]:
    """Names for classes that only have numbers."""
    return tuple(f"class {k}" for k in range(int(np.max(labels, initial=0)) + 1))
