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

HIDDEN, DROPOUT, RATE, DECAY, EPOCHS, PATIENCE = 64, 0.5, 1e-2, 5e-4, 200, 50
#: Perceptrons that see training rows only take milliseconds per epoch, and longer to learn.
EPOCHS_ALONE = 400
#: Validation nodes are looked at every so many epochs.
EVERY = 5
#: Weight decay of the perceptron whose answers are passed on; of 5e-4 … 1e-2 the best on validation
#: nodes on average, within noise.
DECAY_PASSED_ON = 3e-3

PLAIN, EMPTY, DISTILLED = "MLP without edges", "same weights on the empty graph", "MLP distilled from a GNN"


@dataclass(frozen=True, eq=False)
class DivisionModel:
    """A trained classifier as division voting takes it, its split, and what is known about it."""

    classify: Classify
    layers: int
    weights_read_edges: bool
    split: np.ndarray
    facts: dict[str, Any]


def train_division(
    dataset: Dataset, name: str, *, groups: int, salt: int, split: int, seed: int | None, epochs: int | None
) -> DivisionModel:  # fmt: skip
    """Train `decoupled` or `sage`, and the controls that belong beside their curves."""
    seed = split if seed is None else seed
    graph, parts = dataset.graph, make_split(dataset.labels, split)
    run = _TrainingRun(dataset, parts, seed, epochs)
    size = (graph.n_attrs, dataset.n_classes)
    with one_thread(), torch.random.fork_rng():
        torch.manual_seed(seed)
        plain = run.fit(_Perceptron(*size), [None])
        whole = _mean(graph.adjacency)
        teacher = run.fit(_Sage(*size), [whole])
        distilled = run.fit(_Perceptron(*size), [None], taught=run.scores(teacher, whole))
        controls = {PLAIN: run.scores(plain, None)}
        if name == "decoupled":
            alone = run.scores(run.fit(_Perceptron(*size), [None], decay=DECAY_PASSED_ON), None)
            shown = _shown(alone, dataset.labels, parts)
            # Sums and means have the same largest class, and sums of whole numbers over 2²⁰ are exact.
            model = DivisionModel(lambda _, adjacency: shown + adjacency @ shown, 1, False, parts, {})
            controls[EMPTY] = shown
        else:
            group = PairHash(groups, salt).of(graph.edges)
            sage = run.fit(_Sage(*size), [_mean(edges_only(graph, group == t)) for t in range(groups)])
            model = DivisionModel(lambda _, adjacency: run.scores(sage, _mean(adjacency)), 2, True, parts, {})
            controls[EMPTY] = run.scores(sage, _mean(sp.csr_array((graph.n_nodes,) * 2)))
        controls[DISTILLED] = run.scores(distilled, None)
    settings = {
        "hidden": HIDDEN,
        "dropout": DROPOUT,
        "rate": RATE,
        "decay": DECAY_PASSED_ON if name == "decoupled" else DECAY,
        "epochs": epochs or (EPOCHS_ALONE if name == "decoupled" else EPOCHS),
        "patience": PATIENCE,
    }
    model.facts.update(
        seed=seed,
        settings=settings,
        controls={label: run.accuracy(scores, TEST) for label, scores in controls.items()},
    )
    return model


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

    def __init__(self, dataset: Dataset, parts: np.ndarray, seed: int, epochs: int | None) -> None:
        attributes = sp.csr_array(dataset.graph.attributes, dtype=np.float64)
        norm = np.maximum(np.asarray(attributes.sum(axis=1)).ravel(), 1)
        self.matrix = sp.csr_array(sp.diags_array(1 / norm) @ attributes)
        self.labels = torch.from_numpy(dataset.labels.copy())
        self.parts, self.epochs = parts, epochs
        self.rng = np.random.default_rng([seed, 0xD1F])

    def fit(
        self, model: nn.Module, graphs: list[Tensor | None], taught: np.ndarray | None = None, decay: float = DECAY
    ) -> nn.Module:
        """Adam until the validation loss rests; a perceptron is shown only the rows it learns from."""
        train, held = (np.flatnonzero(self.parts == part) for part in (TRAIN, VALIDATION))
        learn = train if taught is None else np.arange(len(self.parts))
        goal = self.labels[learn] if taught is None else torch.from_numpy(taught).float()
        optimizer = torch.optim.Adam(model.parameters(), lr=RATE, weight_decay=decay)
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
