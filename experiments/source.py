"""Where the instances of an experiment come from: bundles, or vote counts joined with a graph from a local folder."""

from __future__ import annotations

import dataclasses
import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np
import scipy.sparse as sp

from certcore.common.errors import InputError
from certcore.common.npz import read_npz, write_npz
from certcore.common.reading import read_json, whole_numbers
from certcore.data.dataset import Dataset, load_dataset_file
from certcore.domain.edge_field import EdgeField
from certcore.domain.graph import Graph
from certcore.instance.instance import Instance, load_instance
from experiments.datasets.registry import get_dataset

ROOT = Path(__file__).resolve().parents[1]
BUNDLES = ROOT / "precomputed"
RESULTS = ROOT / "docs" / "results"
VOTES = ROOT / "experiments" / "votes"
MOST_SPLITS = 10

#: Graphs that may not travel with the project: name in results → (file in the data folder, directed neighbours?).
LOCAL = {
    "cora_ml": ("cora_ml.npz", False),
    "webkb_knn3": ("webkb_knn3.npz", False),
    "webkb_knn3_directed": ("webkb_knn3.npz", True),
    "reuters_knn3_d200": ("reuters_knn3_d200.npz", False),
    "reuters_knn3_d200_directed": ("reuters_knn3_d200.npz", True),
}
#: Arrays of an instance file that show the graph, or that its user can do without.
_GRAPH_KEYS = ("adj_", "attr_", "field_", "labels", "class_names", "node_names", "layout", "directed")


@dataclass(frozen=True)
class Source:
    """A trained and voted model, in any number of splits."""

    dataset: str
    model: str = "gcn"
    types: str = "attr"

    @property
    def group(self) -> str:
        return f"{self.dataset}-{self.model}-{self.types}"

    @property
    def local(self) -> bool:
        """Whether the graph is kept outside of the project."""
        return self.dataset in LOCAL


@dataclass(frozen=True)
class Folders:
    """Where to look for instances, votes and graphs."""

    bundles: Path = BUNDLES
    results: Path = RESULTS
    data: Path | None = None
    votes: Path = VOTES

    def splits(self, source: Source) -> Iterator[int]:
        """Splits for which there is a bundle, or votes and a graph to join them with."""
        for split in range(MOST_SPLITS):
            if self.bundle(source, split).exists() or (self.kept(source, split).exists() and self.has_graph(source)):
                yield split

    def bundle(self, source: Source, split: int) -> Path:
        return self.bundles / f"{source.group}-s{split}.npz"

    def kept(self, source: Source, split: int) -> Path:
        return self.votes / f"{source.group}-s{split}.npz"

    def has_graph(self, source: Source) -> bool:
        return not source.local or (self.data is not None and (self.data / LOCAL[source.dataset][0]).exists())

    def load(self, source: Source, split: int) -> Instance:
        """The instance of one split."""
        bundle = self.bundle(source, split)
        if bundle.exists():
            return load_instance(bundle)
        if source.local and self.data is None:
            raise InputError(
                f"the graph of {source.dataset} is not part of the project; give the folder that holds "
                f"{LOCAL[source.dataset][0]} with --data"
            )
        return join_votes(self.kept(source, split), dataset_of(source.dataset, self.data))


@lru_cache(maxsize=4)
def dataset_of(name: str, folder: Path | None) -> Dataset:
    """A dataset of the registry, or one from the local folder."""
    if name not in LOCAL:
        return get_dataset(name)
    assert folder is not None
    file, directed = LOCAL[name]
    dataset = load_dataset_file(folder / file, name)
    return directed_neighbours(dataset, folder / file) if directed else dataset


def directed_neighbours(dataset: Dataset, path: Path) -> Dataset:
    """The same documents with the directed graph: every node receives from its nearest neighbours only."""
    neighbours = read_npz(path)["knn_directed"]
    receivers = np.repeat(np.arange(len(neighbours)), neighbours.shape[1])
    edges = np.stack([receivers, neighbours.ravel()], axis=1)
    graph = Graph.from_edges(dataset.graph.n_nodes, edges, dataset.graph.attributes, directed=True)
    return dataclasses.replace(dataset, graph=graph)


def keep_votes(bundle: str | Path, output: str | Path) -> None:
    """Keep what was counted in a bundle, without anything that shows its graph."""
    arrays = read_npz(bundle)
    if "votes" not in arrays:
        raise InputError(f"{Path(bundle).name} holds no votes; expected an instance made by smoothing")
    meta = read_json(str(arrays["meta"].reshape(-1)[0]), "meta")
    kept = {key: value for key, value in arrays.items() if not key.startswith(_GRAPH_KEYS)}
    kept["votes"] = whole_numbers(kept["votes"], "votes", 0, 2**31 - 1, shape=(None, None)).astype(np.int32)
    kept["explicit_field"] = np.array("field_indptr" in arrays)
    # Paths of the machine that counted are nobody's business.
    meta["source"] = {key: value for key, value in meta.get("source", {}).items() if key != "path"}
    kept["meta"] = np.array(json.dumps(meta, sort_keys=True))
    write_npz(output, kept)


def join_votes(path: str | Path, dataset: Dataset) -> Instance:
    """Votes and the graph they were counted on, as one instance again."""
    from certcore.base.smoothing import SmoothingBase
    from experiments.bundle import dataset_digest

    arrays = read_npz(path)
    meta: dict[str, Any] = read_json(str(arrays["meta"].reshape(-1)[0]), "meta")
    if meta["checksums"]["dataset"] != dataset_digest(dataset):
        raise InputError(
            f"{Path(path).name} was counted on another version of {dataset.name}; expected a graph with the checksum "
            f"{meta['checksums']['dataset'][:16]}…"
        )
    theta = tuple(map(str, arrays["theta"]))
    base = SmoothingBase(
        votes=arrays["votes"],
        prediction=arrays["prediction"],
        n_samples=int(arrays["n_samples"]),
        alpha=str(arrays["alpha"]),
        theta=theta,
        graph=dataset.graph,
    )
    node_field = None
    if bool(arrays["explicit_field"]):
        node_field = _explicit_field(meta["model"], dataset, theta)
    return Instance(
        graph=dataset.graph, base=base, layers=None if node_field is not None else int(arrays["layers"]),
        edge_field=str(arrays.get("edge_field", EdgeField.DEGREES)), node_field=node_field, targets=arrays["targets"],
        split=arrays["split"], labels=dataset.labels, class_names=dataset.class_names, meta=meta,
    )  # fmt: skip


def _explicit_field(model: str, dataset: Dataset, theta: Sequence[str]) -> sp.csr_array | None:
    """The support of the truncated PageRank rows, from the graph alone."""
    from certcore.domain.noise import Noise
    from experiments.networks.registry import model_class

    network = model_class(model)(dataset.graph.n_attrs, dataset.n_classes)
    return network.field(dataset.graph, Noise.of(tuple(theta))).node_field
