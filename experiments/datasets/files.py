"""Import of files: edge lists with attribute tables, LINQS files, documents, arrays."""

from __future__ import annotations

import csv
from pathlib import Path
from typing import Unpack

import numpy as np
import scipy.sparse as sp

from certcore.common.errors import InputError
from certcore.common.npz import read_npz
from certcore.common.reading import whole_numbers
from certcore.data.convert import named_classes
from certcore.data.dataset import Changes, Dataset, ImportOptions, build_dataset, load_dataset_file, numbered_classes
from certcore.domain.graph import MAX_ATTRS
from certcore.domain.limits import MAX_CLASSES
from experiments.datasets.features import built_from, nearest_points
from experiments.datasets.linqs import read_linqs
from experiments.datasets.texts import from_documents, neighbour_pairs


def from_tables(
    edges: str | Path | None, attributes: str | Path, name: str, **options: Unpack[ImportOptions]
) -> Dataset:
    """An edge list (two ids per line) and a CSV of nodes: id, then one column per attribute, then the class.

    Without an edge list each node is linked to its three nearest neighbours. Columns are then used as words, or with
    `keep_values` as coordinates. Only the `ImportOptions` change the data. Values other than 0 and 1 need
    `keep_values` or `binarize`.
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
        raise InputError(f"an attribute in {Path(attributes).name} is no number ({error}); expected numbers") from error
    class_names, labels = named_classes([row[-1].strip() for row in body])
    source = {"from": ", ".join(Path(file).name for file in (edges, attributes) if file is not None)}
    if edges is None:
        pairs_of = neighbour_pairs(values != 0)
        if options.get("keep_values"):
            pairs_of, source = nearest_points(values, 3), source | built_from(3)
        return build_dataset(
            name, pairs_of, values, labels, class_names, both_ways=True, node_names=tuple(ids), source=source, **options
        )
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
        name, np.array(pairs, dtype=np.int64).reshape(-1, 2), values, labels, class_names, node_names=tuple(ids),
        source=source, **options,
    )  # fmt: skip


def import_file(
    path: str | Path,
    name: str | None = None,
    *,
    edges: str | Path | None = None,
    words: int = 200,
    **options: Unpack[ImportOptions],
) -> Dataset:
    """Import by file extension: .npz (ours, or the published Cora-ML), .content [+ .cites], .csv + edges, .tsv, .txt.

    Only the `ImportOptions` change the data. Values other than 0 and 1 need `keep_values` or `binarize`.
    """
    path = Path(path)
    if not path.exists():
        raise InputError(f"there is no file {path}; give an .npz, .content, .csv, .tsv or .txt file")
    name = name or path.stem
    if path.is_dir():
        # WebKB comes as one .content file per university.
        parts = sorted(path.glob("*.content"))
        if not parts:
            raise InputError(f"the folder {path} has no .content files; give one that has, or a single file")
        source = {"from": ", ".join(part.name for part in parts)}
        return read_linqs(name, "\n".join(map(_text, parts)), source=source, **options)
    if path.suffix == ".npz":
        return _import_npz(path, name, options)
    if path.suffix == ".content":
        cites = Path(edges) if edges else path.with_suffix(".cites")
        # WebKB has .cites files, but the paper links documents by their words. So its links are used on request only.
        linked = _text(cites) if edges or (cites.exists() and name != "webkb") else None
        return read_linqs(name, _text(path), linked, source={"from": path.name}, **options)
    if path.suffix == ".csv":
        return from_tables(edges, path, name, **options)
    if path.suffix in (".tsv", ".txt", ".tab"):
        lines = [line.partition("\t") for line in _text(path).splitlines() if line.strip()]
        if not lines or not all(tab for _, tab, _ in lines):
            raise InputError(f"{path.name} has a line without a tab; expected `class<tab>text` on every line")
        texts, classes = [text for _, _, text in lines], [label.strip() for label, _, _ in lines]
        return from_documents(name, texts, classes, n_words=words, source={"from": path.name}, **options)
    raise InputError(f"{path.name} has an unknown ending; expected .npz, .content, .csv, .tsv or .txt")


def _import_npz(path: Path, name: str, options: ImportOptions) -> Dataset:
    """Clean arrays in our format, or the `adj_data, adj_indices, …` arrays in which Cora-ML is published."""
    arrays = read_npz(path)
    published = {"adj_indices", "adj_indptr", "adj_shape", "attr_indices", "attr_indptr", "attr_shape", "labels"}
    if not published <= set(arrays):
        return _again(load_dataset_file(path, name), options)
    matrices = []
    for part in ("adj", "attr"):
        shape = whole_numbers(arrays[f"{part}_shape"], f"{part}_shape", 1, MAX_ATTRS, shape=(2,)).tolist()
        indices = whole_numbers(arrays[f"{part}_indices"], f"{part}_indices", 0, shape[1] - 1)
        indptr = whole_numbers(arrays[f"{part}_indptr"], f"{part}_indptr", 0, len(indices), shape=(shape[0] + 1,))
        data = arrays.get(f"{part}_data", np.ones(len(indices)))
        try:
            matrix = sp.csr_array((data, indices.copy(), indptr.copy()), shape=shape)
            matrix.check_format(full_check=True)
        except ValueError as error:
            raise InputError(
                f"the {part} arrays of {path.name} are no sparse matrix ({error}); save it again"
            ) from error
        matrices.append(matrix)
    adj, attributes = matrices
    if adj.shape != (attributes.shape[0],) * 2:
        raise InputError(f"{path.name} has {adj.shape} adjacencies for {attributes.shape[0]:,} nodes; expected N × N")
    adj.eliminate_zeros()
    rows = np.repeat(np.arange(adj.shape[0]), np.diff(adj.indptr))
    labels = whole_numbers(arrays["labels"], "labels", 0, MAX_CLASSES - 1, shape=(attributes.shape[0],))
    return build_dataset(
        name, np.stack([rows, adj.indices], axis=1), attributes, labels, numbered_classes(labels), weights=adj.data,
        source={"from": path.name}, **options,
    )  # fmt: skip


def _again(dataset: Dataset, options: ImportOptions) -> Dataset:
    """A dataset of ours, changed as requested; earlier changes stay recorded."""
    graph = dataset.graph
    if graph.real and not options.get("binarize"):
        options["keep_values"] = True  # they were kept in the first import
    if not any(options.values()):
        return dataset
    changes = Changes(dataset.name, options)
    changes.done += dataset.changes
    if graph.directed and not options.get("undirected"):
        options["directed"] = True
    return build_dataset(
        changes, graph.edges, graph.attributes, dataset.labels, dataset.class_names, both_ways=not graph.directed,
        node_names=dataset.node_names, split=dataset.split, source=dataset.source,
    )  # fmt: skip


def _text(path: Path) -> str:
    try:
        return path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise InputError(f"{path} cannot be read as text ({error})") from error


def _rows(path: str | Path) -> list[list[str]]:
    lines = _text(Path(path)).splitlines()
    return [row for row in csv.reader(lines) if any(field.strip() for field in row)]
