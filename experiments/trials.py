"""Trials: one thing that the paper leaves open is changed, the model trained and its votes counted again.

A trial is a variant whose instance is made from the graph of another one. All trials of an experiment have the same
number of votes, so they can be compared with each other, and with nothing else.
"""

from __future__ import annotations

import hashlib
import json
from dataclasses import asdict, dataclass, field, replace
from typing import Any

import numpy as np
import scipy.sparse as sp

from certcore.common.files import cache_folder
from certcore.data.dataset import Dataset
from certcore.data.split import PER_CLASS
from certcore.domain.graph import Graph
from certcore.domain.noise import Noise
from certcore.domain.split import TEST
from certcore.instance.instance import Instance
from experiments.datasets.texts import nearest_neighbours
from experiments.unit import Variant

#: Samples that choose the label, as in the paper.
SELECTION = 1000


@dataclass(frozen=True)
class Documents:
    """How a graph is made from words. The defaults are those of the reconstruction that WebKB's other results rest on;
    Reuters' neighbours there came with the data."""

    neighbours: int = 3
    direction: str = "symmetric"
    """`symmetric`; `nearest` (a document receives from its nearest); `named` (from those whose nearest it is);
    `mutual` (both are among the other's nearest)."""
    similarity: str = "tfidf"
    """Cosine of idf-weighted words (`tfidf`) or of plain ones (`cosine`)."""
    words: int | None = None
    """Keep only so many attributes …"""
    chosen: str = "frequent"
    """… the most `frequent` ones, or those that tell most about the class (`informative`)."""
    at_least: int = 0
    """Leave out documents with fewer words."""

    def make(self, dataset: Dataset) -> Dataset:
        """The graph of these documents, from the attributes of `dataset` alone."""
        words = sp.csr_array(dataset.graph.attributes)
        labels = dataset.labels
        if self.words is not None:
            words = sp.csr_array(words[:, np.sort(_order(words, labels, self.chosen)[: self.words])])
        keep = np.flatnonzero(np.diff(words.indptr) >= max(1, self.at_least))
        words, labels = sp.csr_array(words[keep]), labels[keep]
        nearest = nearest_by(words, self.neighbours, self.similarity)
        receivers = np.repeat(np.arange(len(nearest)), self.neighbours)
        edges = np.stack([receivers, nearest.ravel()], axis=1)
        if self.direction == "named":
            edges = edges[:, ::-1]
        elif self.direction == "mutual":
            n = len(nearest)
            both = np.isin(edges[:, 0] * n + edges[:, 1], edges[:, 1] * n + edges[:, 0])
            edges = edges[both]
        graph = Graph.from_edges(len(nearest), edges, words, directed=self.direction in ("nearest", "named"))
        return replace(dataset, graph=graph, labels=labels, node_names=None, split=None)


def nearest_by(words: sp.csr_array, k: int, similarity: str) -> np.ndarray:
    """The k most similar other documents of each, the most similar first; ties go to the lower index."""
    if similarity == "tfidf":
        return nearest_neighbours(words, k)[:, 1].reshape(-1, k)
    binary = (words != 0).astype(np.int64)
    shared = np.asarray((binary @ binary.T).todense())
    size = np.asarray(binary.sum(axis=1)).ravel()
    close = shared / np.sqrt(np.maximum(size[:, None] * size[None], 1))
    np.fill_diagonal(close, -np.inf)
    return np.argsort(-close, axis=1, kind="stable")[:, :k]


def _order(words: sp.csr_array, labels: np.ndarray, chosen: str) -> np.ndarray:
    """Attributes, the first to keep first."""
    frequency = np.asarray(words.sum(axis=0)).ravel().astype(np.float64)
    if chosen == "frequent":
        return np.argsort(-frequency, kind="stable")
    # Mutual information of "the word occurs" and the class.
    n = len(labels)
    information = np.zeros(words.shape[1])
    for label in range(int(labels.max()) + 1):
        inside = np.asarray(words[labels == label].sum(axis=0)).ravel()
        members = (labels == label).sum()
        for joint, marginal in ((inside, frequency), (members - inside, n - frequency)):
            share = joint / n
            expected = marginal * members / n**2
            information += np.where(
                share > 0, share * np.log(np.maximum(share, 1e-300) / np.maximum(expected, 1e-300)), 0
            )
    return np.argsort(-information, kind="stable")


@dataclass(frozen=True)
class Trial(Variant):
    """A variant that is trained and voted again: other documents, another noise, another schedule, another split."""

    label: str = ""
    says: str = ""
    documents: Documents | None = None
    theta: tuple[str, str, str, str] | None = None
    schedule: dict[str, Any] = field(default_factory=dict)
    per_class: int = PER_CLASS
    first: int = 0
    """Number of the first estimation sample: beyond those of a smaller trial that was looked at."""

    @property
    def name(self) -> str:
        return f"{self.label}-{self.samples}"

    @property
    def changes(self) -> dict[str, Any]:
        """All that decides what comes out, beside the graph it starts from."""
        settings = {key: value for key, value in asdict(self).items() if key not in ("label", "says")}
        if not self.first:
            del settings["first"]  # older results do not name it
        return settings

    def fits(self, instance: Instance) -> bool:
        return instance.labels is not None

    def key(self, instance: Instance, settings: dict[str, Any]) -> str:
        """Known before anything is trained: from the graph, the labels and the changes."""
        from experiments.bundle import dataset_digest

        parts = [dataset_digest(dataset_in(instance)), instance.meta.get("split"), self.changes, settings]
        return hashlib.sha256(json.dumps(parts, sort_keys=True).encode()).hexdigest()[:24]

    def apply(self, instance: Instance) -> Instance:
        """Train and vote; votes are kept in the cache while they are counted, so that a stopped run goes on."""
        from certcore.base.smoothing import SmoothingBase
        from certcore.common.packages import require_training_packages

        require_training_packages()
        from certcore.votes.run import collect_votes
        from experiments.networks.voters import make_voter
        from experiments.training.smoothed import Schedule, train_smoothed

        assert self.samples is not None
        dataset = dataset_in(instance)
        if self.documents is not None:
            dataset = self.documents.make(dataset)
        model, split = str(instance.meta.get("model", "gcn")), int(instance.meta.get("split", 0))
        noise = Noise.of(self.theta or tuple(instance.base.facts["theta"]))
        schedule = replace(Schedule.of(model), **self.schedule)
        trained = train_smoothed(dataset, model, noise, split=split, schedule=schedule, per_class=self.per_class)
        voter = make_voter(trained.model, dataset.graph, noise, split)
        kept = cache_folder() / "trials" / f"{dataset.name}-{self.name}-{self.first}-{voter.digest[:12]}.votes.npz"
        votes = collect_votes(
            voter, selection=SELECTION, estimation=self.samples, first=self.first, checkpoint=kept, jobs=1
        )
        test = np.flatnonzero(trained.split == TEST)
        receptive = trained.model.field(dataset.graph, noise)
        accuracy = {
            "clean": trained.facts["accuracy_clean"],
            "smoothed": float((votes.prediction == dataset.labels)[test].mean()),
        }
        return Instance(
            graph=dataset.graph,
            base=SmoothingBase(
                votes=votes.estimation,
                prediction=votes.prediction,
                n_samples=votes.n_samples,
                alpha=str(instance.base.facts["alpha"]),
                theta=noise.theta,
                graph=dataset.graph,
            ),
            layers=receptive.layers,
            edge_field=self.edge_field or receptive.edge_field,
            node_field=receptive.node_field,
            targets=test,
            labels=dataset.labels,
            class_names=dataset.class_names,
            split=trained.split,
            meta={
                **instance.meta,
                "accuracy": accuracy,
                "seed": split,
                "command": f"{instance.meta.get('command', '')} (its graph; trained and voted again, see trial)",
                "trial": self.changes,
            },
        )


def dataset_in(instance: Instance) -> Dataset:
    """The graph and the labels of an instance, to train on again."""
    assert instance.labels is not None
    assert instance.class_names is not None
    name = str(instance.meta.get("dataset", "graph"))
    return Dataset(name, instance.graph, np.asarray(instance.labels), tuple(instance.class_names))
