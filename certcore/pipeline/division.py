"""Bundles whose base certificate is division voting: train, vote once per group, no samples."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from certcore.base.division import ABSTAINS
from certcore.data.dataset import Dataset
from certcore.data.split import TEST, VALIDATION
from certcore.domain.edge_field import EdgeField
from certcore.instance.instance import Instance
from certcore.votes.division import division_base

if TYPE_CHECKING:
    from certcore.training.division import DivisionModel


def division_instance(
    dataset: Dataset, model: DivisionModel, *, groups: int, salt: int, meta: dict[str, Any]
) -> Instance:
    """An instance from one forward pass per group; all test nodes are targets."""
    graph = dataset.graph
    base = division_base(
        model.classify,
        graph,
        dataset.n_classes,
        groups=groups,
        salt=salt,
        weights_read_edges=model.weights_read_edges,
    )
    right = base.prediction == dataset.labels
    facts = {
        "accuracy": {
            "division": float(right[model.split == TEST].mean()),
            "validation": float(right[model.split == VALIDATION].mean()),
        },
        "training": model.facts["settings"],
        "abstentions": int((base.votes == ABSTAINS).sum()),
    }
    return Instance(
        graph=graph,
        base=base,
        layers=model.layers,
        edge_field=EdgeField.MESSAGES,
        targets=np.flatnonzero(model.split == TEST),
        labels=dataset.labels,
        class_names=dataset.class_names,
        node_names=dataset.node_names,
        split=model.split,
        meta=meta | facts,
    )
