"""How many labels are right: one definition by default, and the other one named where it is shown."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from certcore.common.rounding import share_down
from certcore.instance.instance import Instance
from certcore.words.registry import sentence
from certcore.words.text import Text, count, say, strong


@dataclass(frozen=True)
class Accuracy:
    """Labels that are right, of the test nodes (of all nodes without a split)."""

    right: int
    """Right and certified at budget 0: a node that abstains counts as wrong. This is the accuracy meant by default."""
    right_anyway: int
    """Right by the label most votes chose, whether or not the node abstains."""
    nodes: int
    test: bool
    """Whether the nodes are the test nodes of a split."""

    @property
    def ratio(self) -> float:
        return self.right / self.nodes


def accuracy(instance: Instance) -> Accuracy | None:
    """The accuracy of the certified labels, if labels and predictions are known."""
    if instance.labels is None or instance.prediction is None:
        return None
    split = instance.split
    nodes = np.ones(instance.graph.n_nodes, dtype=bool) if split is None else np.asarray(split) == 2
    if not nodes.any():
        return None
    same = np.asarray(instance.labels) == np.asarray(instance.prediction)
    speaks = instance.base.fronts().certified((0, 0, 0, 0))
    return Accuracy(int((same & speaks & nodes).sum()), int((same & nodes).sum()), int(nodes.sum()), split is not None)


def accuracy_words(found: Accuracy) -> Text:
    return right_labels(found.right, found.right_anyway, found.nodes, found.test)


@sentence("accuracy", "labels and predictions are known; the end only where nodes abstain", 702, 723, 1000, True)
def right_labels(right: int, anyway: int, nodes: int, test: bool) -> Text:
    which = "test nodes" if test else "nodes"
    also = (
        f" Where they count by the label most votes chose, it is {share_down(anyway, nodes)}."
        if anyway != right
        else ""
    )
    return say(
        strong(share_down(right, nodes)),
        f" of the {count(nodes)} {which} have the right label; nodes that abstain count as wrong.{also}",
    )
