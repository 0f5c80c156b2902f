"""Robust training of a GCN for the convex certificate (Zügner and Günnemann 2019; the paper's appendix).

The margin between two classes under the worst admissible attribute flips is bounded from below by relaxing every ReLU
to the triangle between its bounds. The bound is linear in the attributes, so the worst flips are the `GLOBAL` largest
gains, at most `LOCAL` per node. Training maximises this bound up to a margin: a hinge loss on labelled nodes (with
their label) and on others (with the predicted label).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import scipy.sparse as sp
import torch
from torch import Tensor
from torch.nn import functional

from certcore.common.errors import InputError
from certcore.data.dataset import Dataset
from certcore.data.split import make_split
from certcore.domain.graph import Graph
from certcore.domain.perturbations import no_flips
from certcore.domain.split import TRAIN
from certcore.models.base import Edges
from certcore.models.gcn import GCN
from certcore.votes.threads import one_thread
from experiments.training.result import Trained
from experiments.training.smoothed import clean_accuracy

LOCAL, GLOBAL = 21, 12
MARGIN_LABELLED = float(np.log(90 / 10))
MARGIN_OTHERS = float(np.log(60 / 40))
EPOCHS, PLAIN_EPOCHS, BATCH, ACCUMULATE = 1000, 100, 8, 5


@dataclass(frozen=True, eq=False)
class MarginBound:
    """Lower bounds on margins under at most `budget` flips in total and `local` per node."""

    graph: Graph
    budget: int = GLOBAL
    local: int = LOCAL

    @cached_property
    def _weights(self) -> sp.csr_array:
        return Edges.of(self.graph).symmetric

    @cached_property
    def _attributes(self) -> sp.csr_array:
        return self.graph.attributes

    @cached_property
    def _own(self) -> tuple[Tensor, Tensor]:
        """The attributes of all nodes as a padded table, and the mask of real entries."""
        graph = self.graph
        place = np.arange(max(1, int(graph.ones.max())))[None, :]
        real = place < graph.ones[:, None]
        padded = np.concatenate([graph.attr_indices, [0]])
        where = np.where(real, graph.attr_indptr[:-1, None] + place, len(graph.attr_indices))
        return torch.from_numpy(padded[where]), torch.from_numpy(real.astype(np.float32))

    def __call__(self, model: GCN, node: int, label: int) -> Tensor:
        """Bound on score[label] − score[k] for every class k (0 for the label itself), differentiable."""
        near = self._weights[[node]].indices
        far = np.unique(self._weights[near].indices)
        reach = torch.from_numpy(self._weights[near][:, far].toarray())
        pull = torch.from_numpy(self._weights[[node]][:, near].toarray()[0])
        index, real = self._own[0][far], self._own[1][far]
        own = model.first[index] * real[:, :, None]
        summed = own.sum(dim=1)
        low, high = self._hidden_bounds(model.first, own, reach, reach @ summed + model.bias1)
        # Coefficient of each hidden unit in the margin against class k.
        direction = model.second[:, label, None] - model.second
        gain = pull[None, :, None] * direction.T[:, None, :]
        unstable = (low < 0) & (high > 0)
        slope = torch.where(unstable, high / (high - low).clamp(min=1e-9), (low >= 0).float())
        weight = gain * slope
        # With a negative coefficient, the upper side of the triangle also contributes its offset.
        offset = torch.where(unstable & (gain < 0), -weight * low, torch.zeros_like(weight))
        arriving = reach.T @ weight
        clean = (arriving * summed).sum(dim=(1, 2)) + (weight * model.bias1).sum(dim=(1, 2))
        worst = self._most_harm(model.first, arriving, far)
        margin = clean + offset.sum(dim=(1, 2)) + model.bias2[label] - model.bias2 - worst
        return margin.masked_fill(torch.arange(len(margin)) == label, 0.0)

    def _most_harm(self, first: Tensor, arriving: Tensor, far: np.ndarray) -> Tensor:
        """Per class, the largest decrease of the margin by admissible flips.

        The flips are found without gradients. The loss is differentiable in their values only.
        """
        sign = torch.from_numpy(2 * self._attributes[far].toarray().astype(np.float32) - 1)
        n_attrs = len(first)
        totals = []
        for part in arriving:
            with torch.no_grad():
                harm = (part @ first.T) * sign
                if self.local < self.budget:
                    least = harm.topk(min(self.local, n_attrs), dim=1).values[:, -1:]
                    harm = torch.where(harm >= least, harm, torch.zeros_like(harm))
                chosen = harm.flatten().topk(min(self.budget, harm.numel())).indices
            rows, columns = torch.div(chosen, n_attrs, rounding_mode="floor"), chosen % n_attrs
            values = (part[rows] * first[columns]).sum(dim=1) * sign[rows, columns]
            totals.append(values.clamp(min=0).sum())
        return torch.stack(totals)

    def _hidden_bounds(self, first: Tensor, own: Tensor, reach: Tensor, before: Tensor) -> tuple[Tensor, Tensor]:
        """Bounds on the hidden units before ReLU.

        The largest increase of a unit by flips at a node is bounded by the best attributes overall (even those it
        already has) and its own ones. This is slightly too large, so the bound stays valid.
        """
        bounds = []
        count = min(self.budget, self.local, len(first))
        for sign in (-1.0, 1.0):
            best_new = (sign * first).topk(count, dim=0).values.clamp(min=0)
            choices = torch.cat([best_new.expand(len(own), -1, -1), (-sign * own).clamp(min=0)], dim=1)
            per_node = choices.topk(count, dim=1).values
            changes = []
            for row in reach:
                around = torch.nonzero(row)[:, 0]
                flat = (row[around, None, None] * per_node[around]).flatten(0, 1)
                changes.append(flat.topk(min(self.budget, len(flat)), dim=0).values.sum(dim=0))
            bounds.append(before + sign * torch.stack(changes))
        return bounds[0], bounds[1]


def train_robust(
    dataset: Dataset,
    *,
    split: int = 0,
    seed: int | None = None,
    epochs: int | None = None,
    report: Callable[[int, int, str], None] = lambda done, total, note: None,
) -> Trained:
    """Train with cross-entropy first, then with the robust hinge loss; gradients are summed over five epochs."""
    if dataset.graph.real:
        raise InputError(f"robust training is for attribute flips, but {no_flips()}")
    seed = split if seed is None else seed
    total = EPOCHS if epochs is None else epochs
    parts = make_split(dataset.labels, split)
    labels = torch.from_numpy(dataset.labels.copy())
    train = np.flatnonzero(parts == TRAIN)
    others = np.flatnonzero(parts != TRAIN)
    rng = np.random.default_rng([seed, 0xB0B])
    bound = MarginBound(dataset.graph)
    graph = dataset.graph
    inputs = (
        torch.from_numpy(graph.attr_indices.copy()),
        torch.from_numpy(graph.attr_indptr[:-1].copy()),
        Edges.of(graph),
    )
    with one_thread(), torch.random.fork_rng():
        torch.manual_seed(seed)
        model = GCN(graph.n_attrs, dataset.n_classes)
        optimizer = torch.optim.Adam(model.parameters(), lr=1e-2, weight_decay=1e-5)
        for epoch in range(total):
            model.train()
            batch = rng.choice(train, size=min(BATCH, len(train)), replace=False)
            robust = epoch >= PLAIN_EPOCHS
            loss = functional.cross_entropy(model(*inputs)[batch], labels[batch])
            if robust:
                model.eval()
                unlabelled = rng.choice(others, size=min(BATCH, len(others)), replace=False)
                with torch.no_grad():
                    given = model(*inputs).argmax(dim=1)
                loss = loss + _hinge(bound, model, batch, labels, MARGIN_LABELLED)
                loss = (loss + _hinge(bound, model, unlabelled, given, MARGIN_OTHERS)) / ACCUMULATE
            loss.backward()
            if not robust or (epoch - PLAIN_EPOCHS) % ACCUMULATE == ACCUMULATE - 1:
                optimizer.step()
                optimizer.zero_grad()
            shown = float(loss.detach())
            if not np.isfinite(shown):
                raise InputError(f"robust training diverged in epoch {epoch}: the loss is {shown}; try another seed")
            report(epoch + 1, total, f"loss {shown:.3f}")
    model.eval()
    facts = {
        "model": "gcn", "dataset": dataset.name, "training": "robust", "theta": ["0", "0", "0", "0"],
        "local_budget": LOCAL, "global_budget": GLOBAL, "split": split, "seed": seed, "epochs_run": total,
        "accuracy_clean": clean_accuracy(model, dataset, parts),
    }  # fmt: skip
    return Trained(model, parts, facts)


def _hinge(bound: MarginBound, model: GCN, nodes: np.ndarray, labels: Tensor, margin: float) -> Tensor:
    """Mean over nodes of Σ_k max(0, margin − bound on the margin against k)."""
    losses = []
    for node in nodes.tolist():
        label = int(labels[node])
        short = functional.relu(margin - bound(model, node, label))
        losses.append(short.sum() - short[label])
    return torch.stack(losses).mean()
