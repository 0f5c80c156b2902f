"""Training of `decoupled`, a perceptron that reads no edges and gives ballots, and of its control models.

The perceptron is trained on attributes alone. The ballot of a node is its softmax as integers; that of a training node
is its label. Ballots do not depend on edges, so poisoning of the graph before training is covered too.
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

from certcore.base.ballots import UNIT, whole_ballots
from certcore.data.dataset import Dataset
from certcore.data.split import make_split
from certcore.domain.split import TEST, TRAIN, VALIDATION
from certcore.votes.threads import one_thread

HIDDEN, DROPOUT, RATE, EPOCHS, PATIENCE = 64, 0.5, 1e-2, 200, 50
#: Weight decay, chosen by the validation accuracy of the perceptron, which reads attributes only. The attributes of a
#: node are divided by their number.
DECAY = 5e-4
#: Epochs of perceptrons, which are trained on training rows only: each takes milliseconds, but more are needed.
EPOCHS_ALONE = 400
#: Number of epochs between two validations.
EVERY = 5

PLAIN, DISTILLED, WHOLE = "MLP without edges", "MLP distilled from a GNN", "GNN, not certified"


@dataclass(frozen=True, eq=False)
class Decoupled:
    """The ballots of `decoupled`, its split, facts about its training, and the perceptron itself."""

    ballots: np.ndarray
    split: np.ndarray
    facts: dict[str, Any]
    network: nn.Module


def train_decoupled(dataset: Dataset, *, split: int, seed: int | None, epochs: int | None) -> Decoupled:
    """Train the perceptron and compute its ballots as integers."""
    seed = split if seed is None else seed
    parts = make_split(dataset.labels, split)
    run = _TrainingRun(dataset, parts, seed, epochs)
    with one_thread(), torch.random.fork_rng():
        torch.manual_seed(seed)
        network = run.fit(_Perceptron(*run.size), None)
        ballots = whole_ballots(run.scores(network, None))
    known = parts == TRAIN
    ballots[known] = UNIT * np.eye(dataset.n_classes, dtype=np.int64)[dataset.labels[known]]
    settings = {
        "hidden": HIDDEN,
        "dropout": DROPOUT,
        "rate": RATE,
        "decay": DECAY,
        "attributes": "divided by their number",
        "epochs": epochs or EPOCHS_ALONE,
        "patience": PATIENCE,
        "ballots": "softmax, without a temperature; training nodes show their label",
        "chosen": "fixed beforehand; the weight decay on validation attributes",
    }
    return Decoupled(ballots, parts, {"seed": seed, "settings": settings}, network)


def train_controls(dataset: Dataset, parts: np.ndarray, seed: int, *, epochs: int | None) -> dict[str, float]:
    """Test accuracies of control models: two that ignore edges, and an ordinary GNN without certificate."""
    run = _TrainingRun(dataset, parts, seed, epochs)
    with one_thread(), torch.random.fork_rng():
        torch.manual_seed(seed + 2**20)  # other initial weights than those of the classifier
        plain = run.scores(run.fit(_Perceptron(*run.size), None), None)
        whole = _mean(dataset.graph.adjacency)
        lesson = run.scores(run.fit(_Sage(*run.size), whole), whole)
        distilled = run.scores(run.fit(_Perceptron(*run.size), None, taught=lesson), None)
    scores = {PLAIN: plain, DISTILLED: distilled, WHOLE: lesson}
    return {label: run.accuracy(found, TEST) for label, found in scores.items()}


class _Sparse:
    """Attributes as a sparse matrix with dropout on its entries, without a dense copy."""

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
    """Each layer combines the values of a node and the mean of its neighbours' values."""

    def __init__(self, n_attrs: int, n_classes: int) -> None:
        super().__init__()
        self.first, self.first_mean = nn.Linear(n_attrs, HIDDEN), nn.Linear(n_attrs, HIDDEN, bias=False)
        self.last, self.last_mean = nn.Linear(HIDDEN, n_classes), nn.Linear(HIDDEN, n_classes, bias=False)

    def forward(self, x: Tensor, mean: Tensor) -> Tensor:
        own, sent = x @ self.first.weight.T + self.first.bias, x @ self.first_mean.weight.T
        hidden = functional.dropout(functional.relu(own + mean @ sent), DROPOUT, self.training)
        return self.last(hidden) + mean @ self.last_mean(hidden)


class _TrainingRun:
    """Full-batch training with early stopping on validation nodes; test nodes are only reported."""

    def __init__(self, dataset: Dataset, parts: np.ndarray, seed: int, epochs: int | None) -> None:
        matrix = sp.csr_array(dataset.graph.attributes, dtype=np.float64)
        norm = np.maximum(np.asarray(matrix.sum(axis=1)).ravel(), 1)
        self.matrix = sp.csr_array(sp.diags_array(1 / norm) @ matrix)
        self.size = (dataset.graph.n_attrs, dataset.n_classes)
        self.labels = torch.from_numpy(dataset.labels.copy())
        self.parts, self.epochs = parts, epochs

    def fit(self, model: nn.Module, graph: Tensor | None, taught: np.ndarray | None = None) -> nn.Module:
        """Adam until the validation loss stops improving; a perceptron gets only the rows it is trained on."""
        train, held = (np.flatnonzero(self.parts == part) for part in (TRAIN, VALIDATION))
        learn = train if taught is None else np.arange(len(self.parts))
        goal = self.labels[learn] if taught is None else torch.from_numpy(taught).float()
        optimizer = torch.optim.Adam(model.parameters(), lr=RATE, weight_decay=DECAY)
        (shown, at), (tried, held_at) = self._rows(learn, graph), self._rows(held, graph)
        tried_x = tried.tensor(training=False)
        best, best_epoch, kept = float("inf"), 0, copy.deepcopy(model.state_dict())
        for epoch in range(self.epochs or (EPOCHS_ALONE if graph is None and taught is None else EPOCHS)):
            model.train()
            optimizer.zero_grad()
            functional.cross_entropy(model(shown.tensor(training=True), graph)[at], goal).backward()
            optimizer.step()
            if epoch % EVERY:
                continue
            model.eval()
            with torch.no_grad():
                loss = float(functional.cross_entropy(model(tried_x, graph)[held_at], self.labels[held]))
            if loss < best:
                best, best_epoch, kept = loss, epoch, copy.deepcopy(model.state_dict())
            if epoch - best_epoch >= PATIENCE:
                break
        model.load_state_dict(kept)
        return model.eval()

    def _rows(self, nodes: np.ndarray, graph: Tensor | None) -> tuple[_Sparse, Any]:
        """The attributes needed for the scores of these nodes, and the positions of the nodes in the output."""
        return (_Sparse(self.matrix[nodes]), slice(None)) if graph is None else (_Sparse(self.matrix), nodes)

    def scores(self, model: nn.Module, graph: Tensor | None) -> np.ndarray:
        with torch.no_grad():
            answer = model(_Sparse(self.matrix).tensor(training=False), graph)
            return functional.softmax(answer, dim=1).numpy().astype(np.float64)

    def accuracy(self, scores: np.ndarray, part: int) -> float:
        return float((scores.argmax(axis=1) == self.labels.numpy())[self.parts == part].mean())


def _mean(adjacency: sp.csr_array) -> Tensor:
    """A matrix that averages over neighbours; zero rows for isolated nodes."""
    degree = np.maximum(np.asarray(adjacency.sum(axis=1)).ravel(), 1)
    matrix = sp.csr_array(sp.diags_array(1 / degree) @ sp.csr_array(adjacency, dtype=np.float64))
    return _Sparse(matrix).tensor(training=False)


def _coo(index: Tensor, values: Tensor, shape: tuple[int, ...]) -> Tensor:
    return torch.sparse_coo_tensor(index, values, shape, is_coalesced=True, check_invariants=False)
