"""Classifiers for division voting: small, of mean aggregation, trained in seconds.

`decoupled`: a perceptron trained on attributes alone, then one mean over a node and its neighbours, where training
nodes show their label. Its weights never read an edge. `sage`: two layers of mean aggregation, trained on the graphs
of the groups in turn, as it will vote.
"""

from __future__ import annotations

import copy
from collections.abc import Callable
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
from certcore.votes.division import Classify
from certcore.votes.threads import one_thread

HIDDEN, DROPOUT, RATE, DECAY, EPOCHS, PATIENCE = 64, 0.6, 1e-2, 5e-3, 400, 60

Report = Callable[[int, int, str], None]


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
    report: Report = lambda done, total, note: None,
) -> DivisionModel:  # fmt: skip
    """Train `decoupled` or `sage`, and the controls that belong beside their curves."""
    seed = split if seed is None else seed
    parts = make_split(dataset.labels, split)
    run = _Run(dataset, parts, seed, epochs or EPOCHS, report)
    with one_thread(), torch.random.fork_rng():
        torch.manual_seed(seed)
        perceptron = run.fit(_Perceptron(dataset.graph.n_attrs, dataset.n_classes), [None])
        plain = run.scores(perceptron, None)
        teacher = run.fit(_Sage(dataset.graph.n_attrs, dataset.n_classes), [_mean(dataset.graph.adjacency)])
        distilled = run.fit(
            _Perceptron(dataset.graph.n_attrs, dataset.n_classes),
            [None],
            taught=run.scores(teacher, _mean(dataset.graph.adjacency)),
        )
        controls = {"MLP without edges": plain, "MLP distilled from a GNN": run.scores(distilled, None)}
        if name == "decoupled":
            shown = _shown(plain, dataset.labels, parts)
            model = DivisionModel(lambda _, adjacency: shown + adjacency @ shown, 1, False, parts, {})
        else:
            edges = PairHash(groups, salt).of(dataset.graph.edges)
            graphs = [_mean(_group(dataset, edges == t)) for t in range(groups)]
            sage = run.fit(_Sage(dataset.graph.n_attrs, dataset.n_classes), graphs)
            model = DivisionModel(lambda _, a: run.scores(sage, _mean(a)), 2, True, parts, {})
            nothing = sp.csr_array((dataset.graph.n_nodes,) * 2)
            controls["same weights on the empty graph"] = run.scores(sage, _mean(nothing))
    model.facts.update(
        model=name,
        seed=seed,
        settings={"hidden": HIDDEN, "dropout": DROPOUT, "rate": RATE, "decay": DECAY, "epochs": epochs or EPOCHS},
        controls={label: run.accuracy(scores, TEST) for label, scores in controls.items()},
    )
    return model


class _Perceptron(nn.Module):
    def __init__(self, n_attrs: int, n_classes: int) -> None:
        super().__init__()
        self.first = nn.Linear(n_attrs, HIDDEN)
        self.last = nn.Linear(HIDDEN, n_classes)

    def forward(self, x: Tensor, _: Tensor | None) -> Tensor:
        hidden = functional.relu(self.first(functional.dropout(x, DROPOUT, self.training)))
        return self.last(functional.dropout(hidden, DROPOUT, self.training))


class _Sage(nn.Module):
    """Each layer adds what a node has and the mean of what its neighbours have."""

    def __init__(self, n_attrs: int, n_classes: int) -> None:
        super().__init__()
        self.first, self.first_mean = nn.Linear(n_attrs, HIDDEN), nn.Linear(n_attrs, HIDDEN, bias=False)
        self.last, self.last_mean = nn.Linear(HIDDEN, n_classes), nn.Linear(HIDDEN, n_classes, bias=False)

    def forward(self, x: Tensor, mean: Tensor) -> Tensor:
        x = functional.dropout(x, DROPOUT, self.training)
        hidden = functional.relu(self.first(x) + mean @ self.first_mean(x))
        hidden = functional.dropout(hidden, DROPOUT, self.training)
        return self.last(hidden) + mean @ self.last_mean(hidden)


class _Run:
    """Full-batch training with early stopping on validation nodes; test nodes are only ever reported."""

    def __init__(self, dataset: Dataset, parts: np.ndarray, seed: int, epochs: int, report: Report) -> None:
        attributes = dataset.graph.attributes
        norm = np.maximum(np.asarray(attributes.sum(axis=1)).ravel(), 1)
        dense = attributes.toarray().astype(np.float32) / norm[:, None].astype(np.float32)
        self.x = torch.from_numpy(dense)
        self.labels = torch.from_numpy(dataset.labels.copy())
        self.parts, self.epochs, self.report = parts, epochs, report
        self.train, self.held = (torch.from_numpy(np.flatnonzero(parts == part)) for part in (TRAIN, VALIDATION))
        self.rng = np.random.default_rng([seed, 0xD1F])

    def fit(self, model: nn.Module, graphs: list[Tensor | None], taught: np.ndarray | None = None) -> nn.Module:
        optimizer = torch.optim.Adam(model.parameters(), lr=RATE, weight_decay=DECAY)
        wanted = None if taught is None else torch.from_numpy(taught.argmax(axis=1))
        best, best_epoch, kept = float("inf"), 0, copy.deepcopy(model.state_dict())
        for epoch in range(self.epochs):
            graph = graphs[int(self.rng.integers(len(graphs)))]
            model.train()
            optimizer.zero_grad()
            scores = model(self.x, graph)
            if wanted is None:
                loss = functional.cross_entropy(scores[self.train], self.labels[self.train])
            else:
                loss = functional.cross_entropy(scores, wanted)
            loss.backward()
            optimizer.step()
            model.eval()
            with torch.no_grad():
                outputs = [model(self.x, graph)[self.held] for graph in graphs]
                held = float(sum(functional.cross_entropy(o, self.labels[self.held]) for o in outputs) / len(outputs))
            if held < best:
                best, best_epoch, kept = held, epoch, copy.deepcopy(model.state_dict())
            self.report(epoch + 1, self.epochs, f"validation loss {held:.3f}")
            if epoch - best_epoch >= PATIENCE:
                break
        model.load_state_dict(kept)
        return model.eval()

    def scores(self, model: nn.Module, graph: Tensor | None) -> np.ndarray:
        with torch.no_grad():
            return functional.softmax(model(self.x, graph), dim=1).numpy().astype(np.float64)

    def accuracy(self, scores: np.ndarray, part: int) -> float:
        return float((scores.argmax(axis=1) == self.labels.numpy())[self.parts == part].mean())


def _shown(scores: np.ndarray, labels: np.ndarray, parts: np.ndarray) -> np.ndarray:
    """What a node shows its neighbours, on a grid of whole numbers over 2²⁰, so that sums are exact."""
    shown = np.rint(scores * 2**20) / 2**20
    known = parts == TRAIN
    shown[known] = np.eye(scores.shape[1])[labels[known]]
    return shown


def _group(dataset: Dataset, chosen: np.ndarray) -> sp.csr_array:
    edges = dataset.graph.edges[chosen]
    pairs = edges if dataset.graph.directed else np.concatenate([edges, edges[:, ::-1]])
    return sp.csr_array(
        sp.coo_array((np.ones(len(pairs)), (pairs[:, 0], pairs[:, 1])), shape=(dataset.graph.n_nodes,) * 2)
    )


def _mean(adjacency: sp.csr_array) -> Tensor:
    """Rows that take the mean of the neighbours; nothing where there is none."""
    matrix = sp.csr_array(adjacency, dtype=np.float32)
    degree = np.maximum(np.asarray(matrix.sum(axis=1)).ravel(), 1)
    matrix = sp.csr_array(sp.diags_array(1 / degree).astype(np.float32) @ matrix).tocoo()
    index = torch.from_numpy(np.stack([matrix.row, matrix.col]).astype(np.int64))
    return torch.sparse_coo_tensor(index, torch.from_numpy(matrix.data), matrix.shape).coalesce()
