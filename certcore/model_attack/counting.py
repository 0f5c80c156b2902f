"""Which labels have changed with statistical certainty, from votes on the perturbed graph.

For a target with the certified label y and every other class c, the null hypothesis is that c is no likelier than y.
Among the votes for y or c, those for c are then binomial with a probability of at most one half, so the exact tail is a
p-value. Holm's procedure is applied over all nodes with a certified label and all other classes. It keeps the
probability that any label is called changed by mistake below α. Targets that abstain have no certified label and do not
count. A plain classifier makes one deterministic prediction, so no test is needed.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.special import betainc

from certcore.common.exact import read_alpha, together
from certcore.domain.perturbations import TYPES
from certcore.instance.instance import Instance


@dataclass(frozen=True, eq=False)
class Count:
    """The effect of an attack on the targets; `changed` and `abstaining` have one entry per target."""

    targets: np.ndarray
    changed: np.ndarray
    abstaining: np.ndarray
    right: np.ndarray | None
    """Which targets were classified correctly before, if true labels are known; abstaining ones count as wrong."""
    alpha: str | None = None
    """The level of the test for all targets together; None for a plain classifier."""
    joint_alpha: str | None = None
    """The same with the α of the base certificate: a label has changed if it was the label before, as votes show."""

    @property
    def n_changed(self) -> int:
        return int(self.changed.sum())

    @property
    def right_after(self) -> int | None:
        """Correct labels that were not found to be changed; None without true labels."""
        return None if self.right is None else int((self.right & ~self.changed).sum())

    @property
    def accuracy(self) -> float | None:
        """Accuracy under attack: correct labels that were not found to be changed, as a share of the targets."""
        return None if self.right_after is None or not len(self.targets) else self.right_after / len(self.targets)


def count_changed(instance: Instance, targets: np.ndarray, votes: np.ndarray, alpha: str, *, plain: bool) -> Count:
    """Compare votes (nodes, classes) on the perturbed graph with the certified labels.

    All nodes with a certified label are tested together, not only the targets. The confidence therefore holds for every
    choice of targets, even one made after seeing which labels changed.
    """
    labels = np.asarray(instance.prediction)
    certified = instance.base.fronts().certified((0,) * len(TYPES))
    changed = np.zeros(len(votes), dtype=bool)
    if plain:
        changed = votes.argmax(axis=1) != labels
    else:
        changed[certified] = beaten(votes[certified], labels[certified], float(read_alpha(alpha)))
    right = None if instance.right is None else instance.right[targets]
    level, own = None if plain else alpha, instance.base.facts.get("alpha")
    return Count(
        targets, (changed & certified)[targets], ~certified[targets], right, level,
        None if level is None else together([level, *([] if own is None else [str(own)])]),
    )  # fmt: skip


def beaten(votes: np.ndarray, labels: np.ndarray, alpha: float) -> np.ndarray:
    """Rows whose label loses to another class, by Holm's procedure over all rows and other classes."""
    rows = np.arange(len(votes))
    own = votes[rows, labels][:, None]
    # P[Bin(own + other, 1/2) >= other], exactly; 1 if the other class has no vote.
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
