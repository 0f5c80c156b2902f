"""Graphs from elsewhere: torch-geometric, networkx, edge lists with attribute tables, LINQS files, documents."""

from __future__ import annotations

import csv
from pathlib import Path
from typing import Any

import numpy as np
import scipy.sparse as sp

from certcore.data.dataset import Dataset, build_dataset, load_dataset_file
from certcore.data.linqs import read_linqs
from certcore.data.texts import from_documents, nearest_neighbours
from certcore.errors import InputError


def from_pyg(data: Any, name: str, *, connected: bool = True, source: dict[str, Any] | None = None) -> Dataset:
    """A torch-geometric `Data` with `x` (dense or sparse, non-zero means 1), `edge_index` and `y`."""
    for key in ("x", "edge_index", "y"):
        if getattr(data, key, None) is None:
            raise InputError(f"the Data object of {name} has no {key}; expected x, edge_index and y")
    x = data.x.to_dense() if data.x.layout is not _strided() else data.x
    labels = data.y.cpu().numpy().reshape(-1)
    # Messages run from the first row to the second: the second receives.
    edges = data.edge_index.cpu().numpy()[::-1].T
    classes = tuple(f"class {k}" for k in range(int(labels.max()) + 1))
    source = source or {"from": "torch-geometric"}
    attributes = sp.csr_array(x.cpu().numpy())
    return build_dataset(name, edges, attributes, labels, classes, connected=connected, source=source)


def _strided() -> Any:
    import torch

    return torch.strided


def from_networkx(
    graph: Any,
    name: str,
    *,
    attribute: str = "x",
    label: str = "y",
    connected: bool = True,
    directed: bool | None = None,
) -> Dataset:
    """A networkx graph whose nodes carry a 0/1 vector (`attribute`) and a class (`label`); u → v: v receives from u."""
    nodes = list(graph.nodes)
    if not nodes:
        raise InputError(f"the networkx graph {name} has no nodes; expected at least one")
    for key in (attribute, label):
        lacking = [node for node in nodes if key not in graph.nodes[node]]
        if lacking:
            raise InputError(f"node {lacking[0]!r} of {name} has no {key!r}; expected it at every node")
    position = {node: i for i, node in enumerate(nodes)}
    edges = np.array([(position[v], position[u]) for u, v in graph.edges()], dtype=np.int64).reshape(-1, 2)
    rows = [np.asarray(graph.nodes[node][attribute]).reshape(-1) for node in nodes]
    if len({len(row) for row in rows}) > 1:
        raise InputError(f"the {attribute!r} of the nodes of {name} differ in length; expected vectors of one length")
    class_names, labels = _classes([str(graph.nodes[node][label]) for node in nodes])
    return build_dataset(
        name,
        edges,
        np.stack(rows),
        labels,
        class_names,
        node_names=tuple(map(str, nodes)),
        directed=bool(graph.is_directed()) if directed is None else directed,
        connected=connected,
        source={"from": "networkx"},
    )


def from_tables(
    edges: str | Path | None, attributes: str | Path, name: str, *, connected: bool = True, directed: bool = False
) -> Dataset:
    """An edge list (two ids a line) and a CSV of nodes: id, then one column per attribute, then the class.

    Without an edge list the columns are taken as words, and each node is linked to its three nearest neighbours.
    """
    table = _rows(attributes)
    if len(table) < 2 or len(table[0]) < 3:
        raise InputError(
            f"{Path(attributes).name} has no nodes; expected a header, then `id, attributes …, class` per line"
        )
    header, body = table[0], table[1:]
    for number, row in enumerate(body, start=2):
        if len(row) != len(header):
            raise InputError(
                f"line {number} of {Path(attributes).name} has {len(row)} fields; expected {len(header)} as in line 1"
            )
    ids = [row[0].strip() for row in body]
    position = {node: i for i, node in enumerate(ids)}
    if len(position) != len(ids):
        raise InputError(f"{Path(attributes).name} names a node twice; expected every id once")
    try:
        values = np.array([row[1:-1] for row in body], dtype=np.float64)
    except ValueError as error:
        raise InputError(f"an attribute in {Path(attributes).name} is no number ({error}); non-zero means 1") from error
    class_names, labels = _classes([row[-1].strip() for row in body])
    source = {"from": ", ".join(Path(file).name for file in (edges, attributes) if file is not None)}
    if edges is None:
        return build_dataset(
            name, nearest_neighbours(values != 0), values, labels, class_names, node_names=tuple(ids), connected=False,
            source=source,
        )  # fmt: skip
    pairs = []
    for number, row in enumerate(_rows(edges), start=1):
        ends = [field for part in row for field in part.split()]
        if len(ends) != 2:
            raise InputError(f"line {number} of {Path(edges).name} has {len(ends)} fields; expected two node ids")
        if number == 1 and not any(end in position for end in ends):
            continue  # a header such as `source,target`
        for end in ends:
            if end not in position:
                raise InputError(f"line {number} of {Path(edges).name} names {end!r}, which has no attributes")
        pairs.append((position[ends[1]], position[ends[0]]))
    return build_dataset(
        name,
        np.array(pairs, dtype=np.int64).reshape(-1, 2),
        values,
        labels,
        class_names,
        node_names=tuple(ids),
        directed=directed,
        connected=connected,
        source=source,
    )


def import_file(
    path: str | Path,
    name: str | None = None,
    *,
    edges: str | Path | None = None,
    words: int = 200,
    connected: bool = True,
    directed: bool = False,
) -> Dataset:
    """Import by ending: .npz (ours, or as Cora-ML is published), .content [+ .cites], .csv + edges, .tsv, .txt."""
    path = Path(path)
    if not path.exists():
        raise InputError(f"there is no file {path}; give an .npz, .content, .csv, .tsv or .txt file")
    name = name or path.stem
    if path.is_dir():
        # WebKB comes as one .content file per university.
        parts = sorted(path.glob("*.content"))
        if not parts:
            raise InputError(f"the folder {path} has no .content files; give one that has, or a single file")
        return read_linqs(name, "\n".join(map(_text, parts)), source={"from": ", ".join(part.name for part in parts)})
    if path.suffix == ".npz":
        return _import_npz(path, name)
    if path.suffix == ".content":
        cites = Path(edges) if edges else path.with_suffix(".cites")
        # WebKB has .cites too, but the paper links documents by their words; so links need to be asked for.
        linked = _text(cites) if edges or (cites.exists() and name != "webkb") else None
        return read_linqs(name, _text(path), linked, source={"from": path.name})
    if path.suffix == ".csv":
        return from_tables(edges, path, name, connected=connected, directed=directed)
    if path.suffix in (".tsv", ".txt", ".tab"):
        lines = [line.partition("\t") for line in _text(path).splitlines() if line.strip()]
        if not lines or not all(tab for _, tab, _ in lines):
            raise InputError(f"{path.name} has a line without a tab; expected `class<tab>text` on every line")
        texts, classes = [text for _, _, text in lines], [label.strip() for label, _, _ in lines]
        return from_documents(name, texts, classes, n_words=words, source={"from": path.name})
    raise InputError(f"{path.name} has an unknown ending; expected .npz, .content, .csv, .tsv or .txt")


def _import_npz(path: Path, name: str) -> Dataset:
    """Clean arrays as we write them, or the `adj_data, adj_indices, …` arrays in which Cora-ML is published."""
    try:
        with np.load(path, allow_pickle=False) as file:
            published = {
                "adj_indices",
                "adj_indptr",
                "adj_shape",
                "attr_indices",
                "attr_indptr",
                "attr_shape",
                "labels",
            }
            if not published <= set(file.files):
                return load_dataset_file(path, name)
            adj = sp.csr_array(
                (np.ones(len(file["adj_indices"])), file["adj_indices"], file["adj_indptr"]),
                shape=tuple(file["adj_shape"]),
            )
            ones = file["attr_data"] if "attr_data" in file.files else np.ones(len(file["attr_indices"]))
            attributes = sp.csr_array(
                (ones, file["attr_indices"], file["attr_indptr"]), shape=tuple(file["attr_shape"])
            )
            labels = file["labels"]
    except InputError:
        raise
    except (OSError, ValueError, KeyError, EOFError) as error:
        raise InputError(f"{path.name} cannot be read as arrays without pickles ({error})") from error
    rows, columns = adj.nonzero()
    classes = tuple(f"class {k}" for k in range(int(labels.max()) + 1))
    return build_dataset(
        name, np.stack([rows, columns], axis=1), attributes, labels, classes, source={"from": path.name}
    )


def _classes(given: list[str]) -> tuple[tuple[str, ...], np.ndarray]:
    names = sorted(set(given), key=lambda text: (not text.isdigit(), int(text) if text.isdigit() else 0, text))
    return tuple(names), np.array([names.index(text) for text in given])


def _text(path: Path) -> str:
    try:
        return path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise InputError(f"{path} cannot be read as text ({error})") from error


def _rows(path: str | Path) -> list[list[str]]:
    lines = _text(Path(path)).splitlines()
    return [row for row in csv.reader(lines) if any(field.strip() for field in row)]
