"""Which labels have changed for certain, from votes on the perturbed graph.

For a target with the certified label y, and every other class c, the null hypothesis is that c is no likelier than y.
Among the votes for either, those for c are then binomial with a probability of at most one half, so the exact tail is a
p-value; Holm's procedure over all targets and other classes together keeps the probability that any label is called
changed by mistake below α. Targets that abstain have no certified label and count neither way. Votes of a plain
classifier are its one prediction: there is nothing to test.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.special import betainc

from certcore.common.exact import read_alpha
from certcore.domain.perturbations import TYPES
from certcore.instance.instance import Instance


@dataclass(frozen=True, eq=False)
class Count:
    """What an attack does to the targets: `changed` and `abstaining` say it for each of them."""

    targets: np.ndarray
    changed: np.ndarray
    abstaining: np.ndarray
    right: np.ndarray | None
    """Which targets had the right label before, if true labels are known; those that abstain count as wrong."""
    alpha: str | None = None
    """The level of the test, for all targets together; None where nothing was sampled."""

    @property
    def how_sure(self) -> str:
        """How sure it is that all of these labels have changed, for a sentence."""
        return "for certain" if self.alpha is None else f"with confidence 1 − {self.alpha} for all of them together"

    @property
    def n_changed(self) -> int:
        return int(self.changed.sum())

    @property
    def accuracy(self) -> float | None:
        """Accuracy under attack: right labels that were not changed for certain, as a share of the targets."""
        if self.right is None or not len(self.targets):
            return None
        return float((self.right & ~self.changed).mean())


def count_changed(instance: Instance, targets: np.ndarray, votes: np.ndarray, alpha: str, *, plain: bool) -> Count:
    """Hold votes (nodes, classes) on the perturbed graph against the certified labels."""
    labels = np.asarray(instance.prediction)[targets]
    abstaining = ~instance.base.fronts().certified((0,) * len(TYPES))[targets]
    chosen = votes[targets]
    if plain:
        changed = chosen.argmax(axis=1) != labels
    else:
        changed = beaten(chosen, labels, float(read_alpha(alpha)))
    right = None if instance.right is None else instance.right[targets]
    return Count(targets, changed & ~abstaining, abstaining, right, None if plain else alpha)


def beaten(votes: np.ndarray, labels: np.ndarray, alpha: float) -> np.ndarray:
    """Rows whose label is beaten by another class, by Holm's procedure over all rows and other classes."""
    rows = np.arange(len(votes))
    own = votes[rows, labels][:, None]
    # P[Bin(own + other, 1/2) >= other], exactly; 1 where the other class has no vote.
    values = np.where(votes > 0, betainc(np.maximum(votes, 1), own + 1.0, 0.5), 1.0)
    values[rows, labels] = 1.0
    tests = votes.shape[0] * (votes.shape[1] - 1)
    order = np.argsort(values, axis=None, kind="stable")[:tests]
    limits = alpha / (tests - np.arange(len(order)))
    failed = np.flatnonzero(values.ravel()[order] > limits)
    rejected = order[: failed[0]] if len(failed) else order
    result = np.zeros(len(votes), dtype=bool)
    result[rejected // votes.shape[1]] = True
    return result
