"""Instances whose base certificate is ballots: from any class scores per node, and from `decoupled`."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Unpack

import numpy as np

from certcore.base.ballots import UNIT, BallotsBase, whole_ballots
from certcore.common.errors import InputError
from certcore.data.anything import as_dataset
from certcore.data.dataset import Dataset, ImportOptions, numbered_classes
from certcore.data.split import TEST, VALIDATION
from certcore.domain.edge_field import EdgeField
from certcore.instance.instance import Instance

if TYPE_CHECKING:
    from certcore.training.ballots import Decoupled

#: Rows of scores count as probabilities if their sums differ from 1 by at most this.
NEAR = 1e-3
#: `ALONE`: number of rows on which a model is evaluated separately. `TOLERANCE`: largest allowed difference from its
#: scores for the same rows among all others.
ALONE, TOLERANCE = 8, 1e-3


def ballots(
    scores: Callable[[Any], Any] | object,
    data: object,
    *,
    weight: int = 1,
    weights_read_edges: bool = True,
    targets: str | Sequence[int] | np.ndarray | None = None,
    name: str = "",
    **options: Unpack[ImportOptions],
) -> Instance:
    """Give every node a ballot, sum ballots over neighbours, and return the instance to certify.

    `scores` is an array with one row per node and one column per class, or a model that is called as `model(x)` with
    the attributes alone. A ballot must depend on the node's own attributes only: a model is evaluated on some rows
    separately, and refused if its scores for them differ. Integers from 0 to 2²⁰ are used as ballots directly. Other
    numbers become probabilities first: rows that sum to one stay, anything else (logits) goes through a softmax.
    Probabilities are then multiplied by 2²⁰ and rounded. `weight` is the factor of a node's own ballot in its sum; the
    class with the largest sum is its label. With `weights_read_edges=False` you declare that no edge was read when the
    scores were made: then graphs that were changed before training are covered as well. `data` is as for `smooth`.
    """
    dataset, labelled = as_dataset(data, name, **options)
    answers = _answer(scores, dataset) if callable(scores) else _array(scores)
    shown, how = _whole(answers, dataset.graph.n_nodes)
    base = BallotsBase(shown, weight, weights_read_edges)
    where = targets
    if where is None and dataset.split is not None and (dataset.split == TEST).any():
        where = np.flatnonzero(dataset.split == TEST)
    names = dataset.class_names if labelled else ()
    meta = {"dataset": name or dataset.name, "source": dataset.source, "ballots": how}
    instance = Instance(
        graph=dataset.graph, base=base, layers=1, edge_field=EdgeField.MESSAGES,
        targets=None if where is None or isinstance(where, str) else np.asarray(where),
        labels=dataset.labels if labelled else None,
        class_names=(*names, *numbered_classes(np.array([base.n_classes - 1]))[len(names) :]),
        node_names=dataset.node_names, split=dataset.split, meta=meta,
    )  # fmt: skip
    return replace(instance, targets=instance.select_targets(where)) if isinstance(where, str) else instance


def _array(scores: object) -> np.ndarray:
    """Scores as a numpy array; tensors are moved to the CPU."""
    for step in ("detach", "cpu", "numpy"):
        scores = getattr(scores, step)() if hasattr(scores, step) else scores
    return np.asarray(scores)


def _answer(model: Callable[[Any], Any], dataset: Dataset) -> np.ndarray:
    """The scores of a model for all rows; refused if scores for some rows evaluated separately differ."""
    import torch

    rows = torch.from_numpy(dataset.graph.attributes.toarray().astype(np.float32))
    if isinstance(model, torch.nn.Module) and model.training:
        raise InputError("the model is in training mode, so its answers are left to chance; call model.eval() first")
    with torch.no_grad():
        together = _array(model(rows))
        some = np.linspace(0, len(rows) - 1, min(ALONE, len(rows))).astype(int)
        answers = [_array(model(rows[i : i + 1])) for i in some]
    if together.ndim != 2 or len(together) != len(rows) or any(one.shape != (1, together.shape[1]) for one in answers):
        raise InputError(
            f"the model answered with shape {together.shape}; expected a row of scores for each of the "
            f"{len(rows):,} nodes"
        )
    alone = np.concatenate(answers)
    if np.abs(_shares(together[some])[0] - _shares(alone)[0]).max(initial=0) > TOLERANCE:
        raise InputError(
            "the model answers otherwise about one node alone than among all, so it reads other nodes (batch "
            "statistics, pooling, edges); give one that reads a node's own attributes only"
        )
    return together


def _whole(scores: np.ndarray, n_nodes: int) -> tuple[np.ndarray, str]:
    """Ballots as integers, and a description of how they were computed."""
    if scores.ndim != 2 or len(scores) != n_nodes:
        raise InputError(f"the scores have shape {scores.shape}; expected one row for each of the {n_nodes:,} nodes")
    if scores.dtype.kind in "iu":
        return scores, f"whole numbers from 0 to {UNIT:,}, as given"
    shares, how = _shares(scores)
    return whole_ballots(shares), f"{how}, times {UNIT:,} and rounded"


def _shares(scores: np.ndarray) -> tuple[np.ndarray, str]:
    values = np.asarray(scores, dtype=np.float64)
    if not np.isfinite(values).all():
        raise InputError("the scores are not all finite; expected probabilities or logits")
    if values.min(initial=0) >= 0 and np.abs(values.sum(axis=1) - 1).max(initial=0) <= NEAR:
        return values, "shares as given"
    grown = np.exp(values - values.max(axis=1, keepdims=True))
    return grown / grown.sum(axis=1, keepdims=True), "softmax of the scores"


def decoupled_instance(dataset: Dataset, model: Decoupled, meta: dict[str, Any]) -> Instance:
    """An instance from the ballots of `decoupled`; all test nodes are targets."""
    base = BallotsBase(model.ballots, 1, weights_read_edges=False).for_graph(dataset.graph)
    right = base.prediction == dataset.labels
    accuracy = {
        "ballots": float(right[model.split == TEST].mean()),
        "validation": float(right[model.split == VALIDATION].mean()),
    }
    return Instance(
        graph=dataset.graph, base=base, layers=1, edge_field=EdgeField.MESSAGES,
        targets=np.flatnonzero(model.split == TEST), labels=dataset.labels, class_names=dataset.class_names,
        node_names=dataset.node_names, split=model.split,
        meta=meta | {"accuracy": accuracy, "training": model.facts["settings"]},
    )  # fmt: skip
