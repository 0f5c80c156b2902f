"""Accuracy: the default definition (abstaining counts as wrong), and the other one, which is named where it is used."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from certcore.common.rounding import share_down
from certcore.domain.threat import ThreatModel
from certcore.instance.instance import TRAIN, Instance
from certcore.messages.attacker import attacks_nothing
from certcore.messages.registry import sentence, template
from certcore.messages.text import Text, count, filled, message, paragraph, strong


@dataclass(frozen=True)
class Accuracy:
    """Number of right labels among the test nodes (among all nodes without a split)."""

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
    if instance.right is None:
        return None
    split = instance.split
    nodes = np.ones(instance.graph.n_nodes, dtype=bool) if split is None else np.asarray(split) == 2
    if not nodes.any():
        return None
    same = np.asarray(instance.labels) == np.asarray(instance.prediction)
    return Accuracy(int((instance.right & nodes).sum()), int((same & nodes).sum()), int(nodes.sum()), split is not None)


def accuracy_words(found: Accuracy) -> Text:
    return right_labels(found.right, found.right_anyway, found.nodes, found.test)


@sentence("accuracy", "labels and predictions are known; the end only where nodes abstain", 702, 723, 1000, True)
def right_labels(right: int, anyway: int, nodes: int, test: bool) -> Text:
    which = "test nodes" if test else "nodes"
    also = f" Where they count by the label most votes chose, it is {share_down(anyway, nodes)}."
    return filled(
        "**{share}** of the {nodes} {which} have the right label; nodes that abstain count as wrong.{also}",
        share=share_down(right, nodes), nodes=nodes, which=which, also=also if anyway != right else "",
    )  # fmt: skip


def certified_accuracy(instance: Instance, threat: ThreatModel, certified: int, of: np.ndarray) -> Text:
    """The sentence on certified accuracy: a certificate for the right labels, as a fraction of the nodes `of`."""
    if not len(of):
        return message()
    right = 0 if instance.right is None else int(instance.right[of].sum())
    head = under_attack(certified, len(of), right, attacks_nothing(threat))
    return paragraph([head, not_for_training()]) if has_training_nodes(instance, of) else head


def share_of_right(instance: Instance, of: np.ndarray) -> Text:
    """The sentence that names the denominator of ratios where the targets are the right labels among the nodes `of`."""
    head = which_share(0 if instance.right is None else int(instance.right[of].sum()), len(of))
    return paragraph([head, not_for_training()]) if has_training_nodes(instance, of) else head


def has_training_nodes(instance: Instance, nodes: np.ndarray | None = None) -> bool:
    """Whether training nodes are among these nodes (default: among the targets of the file)."""
    nodes = np.asarray(instance.targets if nodes is None else nodes)
    return instance.split is not None and bool((np.asarray(instance.split)[nodes] == TRAIN).any())


@sentence(
    "accuracy.certified", "the targets are the right labels of a larger set; the attacker has a budget or not",
    1190, 1870, 1402, False, others=((1402, 1870, 1402, True),),
)  # fmt: skip
def under_attack(certified: int, nodes: int, right: int, nothing: bool) -> Text:
    share = strong(f"at least {share_down(certified, nodes)}")
    start = f"{count(certified)} of {count(nodes)} labels are right and "
    if nothing:
        return message("Accuracy is ", share, f": {start}have a certificate. Nothing is attacked at these budgets.")
    return message(
        "Accuracy is ",
        share,
        f" under this attacker: {start}stay, all at once; without an attack {count(right)} are right "
        f"({share_down(right, nodes)}). Nodes that abstain count as wrong.",
    )


which_share = template(
    "accuracy.which", "a share of the right labels is told, which is not the accuracy",
    "Only the {right} right labels are targets here, and a share of the targets is a share of them. Certified "
    "accuracy is a share of all {nodes} nodes asked about; abstentions count as wrong.", right=1402, nodes=1870,
)  # fmt: skip
not_for_training = template(
    "accuracy.training", "nodes of the training split are among the nodes whose accuracy is told",
    "Training nodes are among them: accuracy on labels the model has seen says nothing about new nodes.",
)  # fmt: skip
