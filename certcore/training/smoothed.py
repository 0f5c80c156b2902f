"""Training for smoothing: every epoch sees one fresh draw from the smoothing distribution (paper, appendix)."""

from __future__ import annotations

import copy
from collections.abc import Callable
from dataclasses import asdict, dataclass

import numpy as np
import torch
from torch.nn import functional

from certcore.common.errors import InputError
from certcore.data.dataset import Dataset
from certcore.data.split import PER_CLASS, TEST, TRAIN, VALIDATION, make_split
from certcore.domain.noise import Noise
from certcore.models.base import Edges, NodeClassifier
from certcore.models.registry import model_class
from certcore.training.result import Trained
from certcore.votes.purposes import TRAINING
from certcore.votes.sampler import Sampler
from certcore.votes.threads import one_thread


@dataclass(frozen=True)
class Schedule:
    """Adam with early stopping on the validation loss."""

    epochs: int = 3000
    patience: int = 50
    learning_rate: float = 1e-3
    weight_decay: float = 1e-3

    @classmethod
    def of(cls, name: str, epochs: int | None = None) -> Schedule:
        """The paper's schedule for a model."""
        kind = model_class(name)
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
    schedule = schedule or Schedule.of(name)
    parts = make_split(dataset.labels, split, per_class)
    labels = torch.from_numpy(dataset.labels.copy())
    train, validation = (torch.from_numpy(np.flatnonzero(parts == part)) for part in (TRAIN, VALIDATION))
    sampler = Sampler(dataset.graph, noise)
    with one_thread(), torch.random.fork_rng():
        torch.manual_seed(seed)
        model = model_class(name).for_noise(dataset.graph.n_attrs, dataset.n_classes, noise)
        optimizer = torch.optim.Adam(model.parameters(), lr=schedule.learning_rate, weight_decay=schedule.weight_decay)
        best_loss, best_epoch, best_state = float("inf"), 0, copy.deepcopy(model.state_dict())
        for epoch in range(schedule.epochs):
            sample = _draw_inputs(sampler, seed, TRAINING, epoch)
            model.train()
            optimizer.zero_grad()
            loss = functional.cross_entropy(model(*sample)[train], labels[train])
            loss.backward()
            optimizer.step()
            model.eval()
            with torch.no_grad():
                held_out = float(functional.cross_entropy(model(*sample)[validation], labels[validation]))
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
        "model": name,
        "dataset": dataset.name,
        "training": "smoothed",
        "theta": list(noise.theta),
        "split": split,
        "seed": seed,
        "schedule": asdict(schedule),
        "epochs_run": epoch + 1,
        "best_epoch": best_epoch,
        "validation_loss": best_loss,
        "accuracy_clean": clean_accuracy(model, dataset, parts),
    }
    return Trained(model, parts, facts)


def _draw_inputs(sampler: Sampler, seed: int, kind: int, sample: int) -> tuple[torch.Tensor, torch.Tensor, Edges]:
    """One sample in the form the models take."""
    indptr, indices = sampler.attributes(seed, kind, sample)
    edges = Edges.stack(sampler.graph.n_nodes, [sampler.edges(seed, kind, sample)])
    return torch.from_numpy(indices), torch.from_numpy(indptr[:-1].copy()), edges


def _predict_clean(model: NodeClassifier, dataset: Dataset) -> np.ndarray:
    """Labels that the model gives to the clean graph."""
    graph = dataset.graph
    offsets = torch.from_numpy(graph.attr_indptr[:-1].copy())
    with torch.no_grad():
        scores = model.eval()(torch.from_numpy(graph.attr_indices.copy()), offsets, Edges.of(graph))
    return scores.argmax(dim=1).numpy()


def clean_accuracy(model: NodeClassifier, dataset: Dataset, parts: np.ndarray) -> float:
    """Share of test nodes that the model labels right without noise."""
    return float((_predict_clean(model, dataset) == dataset.labels)[parts == TEST].mean())
