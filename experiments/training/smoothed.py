"""Training for smoothing: every epoch uses one new sample of the smoothing distribution (paper, appendix)."""

from __future__ import annotations

import copy
from collections.abc import Callable
from dataclasses import asdict, dataclass, replace

import numpy as np
import torch
from torch.nn import functional

from certcore.common.errors import InputError
from certcore.data.dataset import Dataset
from certcore.data.split import PER_CLASS, make_split
from certcore.domain.graph import Graph
from certcore.domain.noise import Noise
from certcore.domain.split import TEST, TRAIN, VALIDATION
from certcore.models.base import Edges, NodeClassifier, sparse_product
from certcore.votes.purposes import TRAINING
from certcore.votes.sampler import Sampler
from certcore.votes.threads import one_thread
from experiments.networks.registry import model_class
from experiments.training.result import Trained


@dataclass(frozen=True)
class Schedule:
    """Adam with early stopping on the validation loss."""

    epochs: int = 3000
    patience: int = 50
    learning_rate: float = 1e-3
    weight_decay: float = 1e-3

    @classmethod
    def of(cls, name: str, epochs: int | None = None, noise: Noise | None = None) -> Schedule:
        """The paper's schedule for a model; fewer and larger steps for Gaussian noise."""
        kind = model_class(name)
        if noise is not None and noise.attr_std is not None:
            return cls(epochs=epochs or 400, patience=100, learning_rate=1e-2, weight_decay=5e-4)
        return cls(epochs=epochs or cls.epochs, patience=kind.patience, learning_rate=kind.learning_rate)


def train_smoothed(
    dataset: Dataset,
    name: str,
    noise: Noise,
    *,
    split: int = 0,
    seed: int | None = None,
    schedule: Schedule | None = None,
    per_class: int = PER_CLASS,
    progress: Callable[[int, int, str], None] | None = None,
) -> Trained:
    """Train model `name` on split number `split`; the seed (default: the split) fixes weights, dropout and draws."""
    seed = split if seed is None else seed
    schedule = schedule or Schedule.of(name, noise=noise)
    parts = make_split(dataset.labels, split, per_class)
    # Without edges no node reads another, so test nodes can be left out.
    rows = np.arange(len(parts)) if dataset.graph.n_edges else np.flatnonzero(parts != TEST)
    graph = dataset.graph if dataset.graph.n_edges else _rows_of(dataset.graph, rows)
    labels = torch.from_numpy(dataset.labels[rows])
    train, validation = (torch.from_numpy(np.flatnonzero(parts[rows] == part)) for part in (TRAIN, VALIDATION))
    # Training needs no exact samples: float noise behind the first map has the same distribution.
    draw = _MovedInputs(graph, noise) if noise.attr_std else _FlippedInputs(graph, noise)
    with one_thread(), torch.random.fork_rng():
        torch.manual_seed(seed)
        model = model_class(name).for_noise(dataset.graph.n_attrs, dataset.n_classes, noise)
        optimizer = torch.optim.Adam(model.parameters(), lr=schedule.learning_rate, weight_decay=schedule.weight_decay)
        best_loss, best_epoch, best_state = float("inf"), 0, copy.deepcopy(model.state_dict())
        for epoch in range(schedule.epochs):
            scores = draw(seed, epoch)
            model.train()
            optimizer.zero_grad()
            loss = functional.cross_entropy(scores(model)[train], labels[train])
            loss.backward()
            optimizer.step()
            model.eval()
            with torch.no_grad():
                held_out = float(functional.cross_entropy(scores(model)[validation], labels[validation]))
            if not np.isfinite(held_out):
                raise InputError(f"training of {name} diverged in epoch {epoch} (loss {held_out}); try another seed")
            if held_out < best_loss:
                best_loss, best_epoch, best_state = held_out, epoch, copy.deepcopy(model.state_dict())
            if progress is not None:
                progress(epoch + 1, schedule.epochs, f"validation loss {held_out:.3f}")
            if epoch - best_epoch >= schedule.patience:
                break
        model.load_state_dict(best_state)
    model.eval()
    facts = {
        "model": name, "dataset": dataset.name, "training": "smoothed", "theta": list(noise.theta),
        **({} if noise.attr_std is None else {"attr_std": noise.attr_std}), "split": split, "seed": seed,
        "schedule": asdict(schedule), "epochs_run": epoch + 1, "best_epoch": best_epoch,
        "validation_loss": best_loss, "accuracy_clean": clean_accuracy(model, dataset, parts),
    }  # fmt: skip
    return Trained(model, parts, facts)


def _rows_of(graph: Graph, rows: np.ndarray) -> Graph:
    """Some nodes of a graph without edges."""
    none = np.zeros((0, 2), dtype=np.int64)
    return Graph.from_edges(len(rows), none, graph.attributes[rows], keep_values=graph.real)


class _FlippedInputs:
    """Samples with flipped bits; calling the object gives a model's scores on a new sample."""

    def __init__(self, graph: Graph, noise: Noise) -> None:
        self.graph, self.sampler = graph, Sampler(graph, noise)

    def __call__(self, seed: int, sample: int) -> Callable[[NodeClassifier], torch.Tensor]:
        indptr, indices = self.sampler.attributes(seed, TRAINING, sample)
        edges = Edges.stack(self.graph.n_nodes, [self.sampler.edges(seed, TRAINING, sample)])
        inputs = (torch.from_numpy(indices), torch.from_numpy(indptr[:-1].copy()), edges, _values(self.graph))
        return lambda model: model(*inputs)


class _MovedInputs:
    """Samples of Gaussian noise: (X + s·Z)·W is distributed as X·W + s·G·L, with G standard normal and L·Lᵀ = WᵀW."""

    def __init__(self, graph: Graph, noise: Noise) -> None:
        self.graph, self.std = graph, float(noise.std)
        self.attributes = graph.attributes.astype(np.float32)
        self.edges = Sampler(graph, replace(noise, attr_std=None, lattice=None)).edges

    def __call__(self, seed: int, sample: int) -> Callable[[NodeClassifier], torch.Tensor]:
        edges = Edges.stack(self.graph.n_nodes, [self.edges(seed, TRAINING, sample)])
        normal: list[torch.Tensor] = []

        def scores(model: NodeClassifier) -> torch.Tensor:
            if not normal:
                normal.append(torch.randn(self.graph.n_nodes, model.units))
            gram = model.first.T @ model.first
            jitter = 1e-6 * gram.diagonal().mean() * torch.eye(len(gram))
            factor = torch.linalg.cholesky(gram + jitter).T
            units = sparse_product(self.attributes, model.first) + self.std * (normal[0] @ factor)
            return model.head(units, edges)

        return scores


def _values(graph: Graph) -> torch.Tensor | None:
    """The real-valued attributes, or None."""
    return None if graph.attr_values is None else torch.from_numpy(graph.attr_values.copy())


def _predict_clean(model: NodeClassifier, dataset: Dataset) -> np.ndarray:
    """Labels that the model gives on the clean graph."""
    graph = dataset.graph
    offsets = torch.from_numpy(graph.attr_indptr[:-1].copy())
    with torch.no_grad():
        indices = torch.from_numpy(graph.attr_indices.copy())
        scores = model.eval()(indices, offsets, Edges.of(graph), _values(graph))
    return scores.argmax(dim=1).numpy()


def clean_accuracy(model: NodeClassifier, dataset: Dataset, parts: np.ndarray) -> float:
    """Share of test nodes with the correct label, without noise."""
    return float((_predict_clean(model, dataset) == dataset.labels)[parts == TEST].mean())
