"""Baselines that ignore edges, stored in every bundle with real-valued attributes.

A two-layer network on the graph without edges reads only the node's own row. No attack on edges changes its labels, and
under Gaussian noise its receptive fields are single rows. It is trained, chosen and certified like the bundle's model.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from decimal import Decimal
from typing import Any

import numpy as np

from certcore.base.gaussian import GaussianBase
from certcore.data.dataset import Dataset
from certcore.domain.graph import Graph
from certcore.domain.noise import Noise
from certcore.domain.perturbations import FLIPS
from certcore.domain.scale import read_length
from certcore.instance.instance import Instance
from experiments.training import train

#: Number of votes of the baseline under Gaussian noise.
SAMPLES = 10_000
#: Candidate standard deviations, as fractions of the bundle's; one is chosen on the validation nodes.
SHARES = ("0.125", "0.25", "0.5", "1")
#: Default distances at which the baseline is certified, in standard deviations of the bundle.
DISTANCES = ("0.5", "1", "2", "3", "4", "6", "8", "14")


def edge_control(dataset: Dataset, split: int, seed: int | None, per_class: int) -> dict[str, Any]:
    """Entries of `meta` for a bundle about edges: the test accuracy of a network that ignores edges."""
    clean = Noise(("0",) * len(FLIPS))  # type: ignore[arg-type]
    trained = train(_alone(dataset), "gcn", clean, split=split, seed=seed, per_class=per_class)
    return {"controls": {"MLP without edges": trained.facts["accuracy_clean"]}}


def moved_control(
    make: Callable[[tuple[str, ...], Dataset], Instance], dataset: Dataset, std: str, distances: Sequence[str]
) -> dict[str, Any]:
    """Entries of `meta` for a bundle under Gaussian noise `std`: certified accuracy of a smoothed MLP by distance.

    `make` chooses among standard deviations, trains, votes and returns the instance of a dataset.
    """
    instance = make(times(std, SHARES), _alone(dataset))
    chosen = str(instance.meta["attr_std"])
    given = distances or times(std, DISTANCES)
    curve = {distance: certified_accuracy(instance, distance) for distance in given}
    return {
        "controls": {f"smoothed MLP, s = {chosen}, at ε = {distance}": share for distance, share in curve.items()},
        "control": {
            "attr_std": chosen, "samples": SAMPLES, "accuracy": instance.meta["accuracy"]["smoothed"],
            "certified_accuracy": curve, "attr_std_trials": instance.meta["attr_std_trials"],
        },
    }  # fmt: skip


def certified_accuracy(instance: Instance, distance: str) -> float:
    """The fraction of the targets whose label is right and certified, where every node reads its own row only.

    Fields share no row, so the best attack pays for the smallest needs first, and no program has to be solved: that
    of PubMed, with 19,157 separate rows, did not end in ten minutes.
    """
    assert isinstance(instance.base, GaussianBase)
    total = len(instance.select_targets(None))
    needs = np.sort(instance.base.needs[0][instance.select_targets("correct")])
    budget = instance.base.scale.of_square(read_length(distance, "attr_l2") ** 2)
    return int((np.cumsum(needs) > budget).sum()) / total


def times(std: str, shares: Sequence[str]) -> tuple[str, ...]:
    """Multiples of a decimal number, as decimals."""
    return tuple(format((Decimal(std) * Decimal(share)).normalize(), "f") for share in shares)


def _alone(dataset: Dataset) -> Dataset:
    return replace(dataset, name=f"{dataset.name}-alone", graph=_without_edges(dataset.graph))


def _without_edges(graph: Graph) -> Graph:
    """The graph without its edges, for a network that ignores them."""
    return replace(graph, adj_indptr=np.zeros(graph.n_nodes + 1, dtype=np.int64), adj_indices=np.zeros(0, np.int64))
