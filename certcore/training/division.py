"""Classifiers for division voting: small, of mean aggregation, trained in seconds.

`decoupled`: a perceptron trained on attributes alone, then one mean over a node and its neighbours, where training
nodes show their label. Its weights never read an edge. `sage`: two layers of mean aggregation, trained on the graphs
of the groups in turn, as it will vote.
"""

from __future__ import annotations

import copy
from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.sparse as sp
import torch
from torch import Tensor, nn
from torch.nn import functional

from certcore.base.division import PairHash
from certcore.data.dataset import Dataset
from certcore.data.split import TEST, TRAIN, VALIDATION, make_split
from certcore.votes.division import Classify, edges_only
from certcore.votes.threads import one_thread

HIDDEN, DROPOUT, RATE, EPOCHS, PATIENCE = 64, 0.5, 1e-2, 200, 50
#: Perceptrons that see training rows only take milliseconds per epoch, and longer to learn.
EPOCHS_ALONE = 400
#: Validation nodes are looked at every so many epochs.
EVERY = 5

PLAIN, EMPTY, DISTILLED = "MLP without edges", "same weights on the empty graph", "MLP distilled from a GNN"


@dataclass(frozen=True)
class Settings:
    """What was chosen on validation nodes."""

    decay: float
    """Weight decay."""
    by_row: bool
    """Whether the attributes of a node are divided by their number."""


#: For both models the best of the list in `benchmarks/division.py` on validation nodes; see docs/division.md. The
#: perceptron that is taught by a graph network has them too, without a choice of its own.
CHOSEN = Settings(5e-4, True)


@dataclass(frozen=True, eq=False)
class DivisionModel:
    """A trained classifier as division voting takes it, its split, and what is known about it."""

    classify: Classify
    layers: int
    weights_read_edges: bool
    split: np.ndarray
    facts: dict[str, Any]


def train_division(
    dataset: Dataset, name: str, *, groups: int, salt: int, split: int, seed: int | None, epochs: int | None,
    settings: Settings = CHOSEN,
) -> DivisionModel:  # fmt: skip
    """Train `decoupled` or `sage`."""
    seed = split if seed is None else seed
    graph, parts = dataset.graph, make_split(dataset.labels, split)
    run = _TrainingRun(dataset, parts, seed, epochs, settings)
    with one_thread(), torch.random.fork_rng():
        torch.manual_seed(seed)
        if name == "decoupled":
            shown = _shown(run.scores(run.fit(_Perceptron(*run.size), [None]), None), dataset.labels, parts)
        else:
            group = PairHash(groups, salt).of(graph.edges)
            sage = run.fit(_Sage(*run.size), [_mean(edges_only(graph, group == t)) for t in range(groups)])
    facts = {
        "seed": seed,
        "settings": {
            "hidden": HIDDEN,
            "dropout": DROPOUT,
            "rate": RATE,
            "decay": settings.decay,
            "attributes": "divided by their number" if settings.by_row else "as they are",
            "epochs": epochs or (EPOCHS_ALONE if name == "decoupled" else EPOCHS),
            "patience": PATIENCE,
        },
    }
    if name == "decoupled":
        # Sums and means have the same largest class, and sums of whole numbers over 2²⁰ are exact.
        return DivisionModel(lambda _, adjacency: shown + adjacency @ shown, 1, False, parts, facts)
    return DivisionModel(lambda _, adjacency: run.scores(sage, _mean(adjacency)), 2, True, parts, facts)


def train_controls(dataset: Dataset, model: DivisionModel, *, epochs: int | None) -> dict[str, float]:
    """Test accuracies of models that ignore edges: they belong beside the curves of the classifier."""
    parts, seed = model.split, int(model.facts["seed"])
    run = _TrainingRun(dataset, parts, seed, epochs, CHOSEN)
    with one_thread(), torch.random.fork_rng():
        torch.manual_seed(seed + 2**20)  # a draw of its own: not the weights of the classifier again
        plain = run.scores(run.fit(_Perceptron(*run.size), [None]), None)
        whole = _mean(dataset.graph.adjacency)
        lesson = run.scores(run.fit(_Sage(*run.size), [whole]), whole)
        distilled = run.scores(run.fit(_Perceptron(*run.size), [None], taught=lesson), None)
    empty = model.classify(dataset.graph.attributes, sp.csr_array((dataset.graph.n_nodes,) * 2))
    scores = {PLAIN: plain, EMPTY: empty, DISTILLED: distilled}
    return {label: run.accuracy(found, TEST) for label, found in scores.items()}


class _Sparse:
    """Attributes as a sparse matrix whose entries can be dropped out without a dense copy."""

    def __init__(self, matrix: sp.csr_array) -> None:
        coo = matrix.tocoo()
        self.index = torch.from_numpy(np.stack([coo.row, coo.col]).astype(np.int64))
        self.values = torch.from_numpy(coo.data.astype(np.float32))
        self.shape = matrix.shape

    def tensor(self, training: bool) -> Tensor:
        return _coo(self.index, functional.dropout(self.values, DROPOUT, training), self.shape)


class _Perceptron(nn.Module):
    def __init__(self, n_attrs: int, n_classes: int) -> None:
        super().__init__()
        self.first = nn.Linear(n_attrs, HIDDEN)
        self.last = nn.Linear(HIDDEN, n_classes)

    def forward(self, x: Tensor, _: Tensor | None) -> Tensor:
        hidden = functional.relu(x @ self.first.weight.T + self.first.bias)
        return self.last(functional.dropout(hidden, DROPOUT, self.training))


class _Sage(nn.Module):
    """Each layer adds what a node has and the mean of what its neighbours have."""

    def __init__(self, n_attrs: int, n_classes: int) -> None:
        super().__init__()
        self.first, self.first_mean = nn.Linear(n_attrs, HIDDEN), nn.Linear(n_attrs, HIDDEN, bias=False)
        self.last, self.last_mean = nn.Linear(HIDDEN, n_classes), nn.Linear(HIDDEN, n_classes, bias=False)

    def forward(self, x: Tensor, mean: Tensor) -> Tensor:
        own, sent = x @ self.first.weight.T + self.first.bias, x @ self.first_mean.weight.T
        hidden = functional.dropout(functional.relu(own + mean @ sent), DROPOUT, self.training)
        return self.last(hidden) + mean @ self.last_mean(hidden)


class _TrainingRun:
    """Full-batch training with early stopping on validation nodes; test nodes are only ever reported."""

    def __init__(self, dataset: Dataset, parts: np.ndarray, seed: int, epochs: int | None, settings: Settings) -> None:
        self.matrix = sp.csr_array(dataset.graph.attributes, dtype=np.float64)
        if settings.by_row:
            norm = np.maximum(np.asarray(self.matrix.sum(axis=1)).ravel(), 1)
            self.matrix = sp.csr_array(sp.diags_array(1 / norm) @ self.matrix)
        self.size = (dataset.graph.n_attrs, dataset.n_classes)
        self.labels = torch.from_numpy(dataset.labels.copy())
        self.parts, self.epochs, self.decay = parts, epochs, settings.decay
        self.rng = np.random.default_rng([seed, 0xD1F])

    def fit(self, model: nn.Module, graphs: list[Tensor | None], taught: np.ndarray | None = None) -> nn.Module:
        """Adam until the validation loss rests; a perceptron is shown only the rows it learns from."""
        train, held = (np.flatnonzero(self.parts == part) for part in (TRAIN, VALIDATION))
        learn = train if taught is None else np.arange(len(self.parts))
        goal = self.labels[learn] if taught is None else torch.from_numpy(taught).float()
        optimizer = torch.optim.Adam(model.parameters(), lr=RATE, weight_decay=self.decay)
        (shown, at), (tried, held_at) = self._rows(learn, graphs), self._rows(held, graphs)
        tried_x = tried.tensor(training=False)
        best, best_epoch, kept = float("inf"), 0, copy.deepcopy(model.state_dict())
        for epoch in range(self.epochs or (EPOCHS_ALONE if graphs == [None] and taught is None else EPOCHS)):
            model.train()
            optimizer.zero_grad()
            scores = model(shown.tensor(training=True), graphs[int(self.rng.integers(len(graphs)))])
            functional.cross_entropy(scores[at], goal).backward()
            optimizer.step()
            if epoch % EVERY:
                continue
            model.eval()
            with torch.no_grad():
                losses = [functional.cross_entropy(model(tried_x, g)[held_at], self.labels[held]) for g in graphs]
            loss = float(sum(losses)) / len(losses)
            if loss < best:
                best, best_epoch, kept = loss, epoch, copy.deepcopy(model.state_dict())
            if epoch - best_epoch >= PATIENCE:
                break
        model.load_state_dict(kept)
        return model.eval()

    def _rows(self, nodes: np.ndarray, graphs: list[Tensor | None]) -> tuple[_Sparse, Any]:
        """Attributes a model needs to speak about these nodes, and where they are in its answer."""
        return (_Sparse(self.matrix[nodes]), slice(None)) if graphs == [None] else (_Sparse(self.matrix), nodes)

    def scores(self, model: nn.Module, graph: Tensor | None) -> np.ndarray:
        with torch.no_grad():
            answer = model(_Sparse(self.matrix).tensor(training=False), graph)
            return functional.softmax(answer, dim=1).numpy().astype(np.float64)

    def accuracy(self, scores: np.ndarray, part: int) -> float:
        return float((scores.argmax(axis=1) == self.labels.numpy())[self.parts == part].mean())


def _shown(scores: np.ndarray, labels: np.ndarray, parts: np.ndarray) -> np.ndarray:
    """What a node shows its neighbours, on a grid of whole numbers over 2²⁰, so that sums are exact."""
    shown = np.rint(scores * 2**20) / 2**20
    known = parts == TRAIN
    shown[known] = np.eye(scores.shape[1])[labels[known]]
    return shown


def _mean(adjacency: sp.csr_array) -> Tensor:
    """Rows that take the mean of the neighbours; nothing where there is none."""
    degree = np.maximum(np.asarray(adjacency.sum(axis=1)).ravel(), 1)
    matrix = sp.csr_array(sp.diags_array(1 / degree) @ sp.csr_array(adjacency, dtype=np.float64))
    return _Sparse(matrix).tensor(training=False)


def _coo(index: Tensor, values: Tensor, shape: tuple[int, ...]) -> Tensor:
    return torch.sparse_coo_tensor(index, values, shape, is_coalesced=True, check_invariants=False)
