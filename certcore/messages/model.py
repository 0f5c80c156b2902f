"""The model itself in words: its accuracy, its receptive field, attacks on it, and models to compare it with.

Only sentences on attacks on the model say *changed*, and always of an attack that was found.
"""

from __future__ import annotations

from dataclasses import dataclass
from decimal import ROUND_UP, Context
from fractions import Fraction
from typing import TYPE_CHECKING

import numpy as np

from certcore.common.exact import confidence_text, together
from certcore.common.rounding import percent_up, share_down
from certcore.domain.split import TRAIN
from certcore.domain.threat import ThreatModel
from certcore.instance.instance import Instance
from certcore.messages.attacker import attacks_nothing
from certcore.messages.text import Text, count, listing, message, paragraph, some, text
from certcore.model_attack.stored import FoundAttack
from certcore.models.field import Fault

if TYPE_CHECKING:
    from certcore.check_field import FieldCheck, Violation

# --- accuracy ---------------------------------------------------------------------------------------------------------


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
    which = f"{count(found.nodes)} {'test nodes' if found.test else 'nodes'}"
    said = text(
        f"**{share_down(found.right, found.nodes)}** of the {which} have the right label; nodes that abstain count as "
        "wrong."
    )
    if found.right == found.right_anyway:
        return said
    anyway = share_down(found.right_anyway, found.nodes)
    return said + f" Where they count by the label most votes chose, it is {anyway}."


def certified_accuracy(instance: Instance, threat: ThreatModel, certified: int, of: np.ndarray) -> Text:
    """The sentence on certified accuracy: a certificate for the right labels, as a fraction of the nodes `of`."""
    if not len(of):
        return message()
    head = text(f"Accuracy is **at least {share_down(certified, len(of))}**")
    start = f"{count(certified)} of {count(len(of))} labels are right and "
    if attacks_nothing(threat, instance):
        head += f": {start}have a certificate. Nothing is attacked at these budgets."
    else:
        right = _right(instance, of)
        head += (
            f" under this attacker: {start}stay, all at once; without an attack {count(right)} are right "
            f"({share_down(right, len(of))}). Nodes that abstain count as wrong."
        )
    return paragraph([head, not_for_training()]) if has_training_nodes(instance, of) else head


def share_of_right(instance: Instance, of: np.ndarray) -> Text:
    """The sentence that names the denominator of ratios where the targets are the right labels among the nodes `of`."""
    head = text(
        f"Only the {count(_right(instance, of))} right labels are targets here, and a share of the targets is a share "
        f"of them. Certified accuracy is a share of all {count(len(of))} nodes asked about; abstentions count as wrong."
    )
    return paragraph([head, not_for_training()]) if has_training_nodes(instance, of) else head


def _right(instance: Instance, of: np.ndarray) -> int:
    return 0 if instance.right is None else int(instance.right[of].sum())


def has_training_nodes(instance: Instance, nodes: np.ndarray | None = None) -> bool:
    """Whether training nodes are among these nodes (default: among the targets of the file)."""
    nodes = np.asarray(instance.targets if nodes is None else nodes)
    return instance.split is not None and bool((np.asarray(instance.split)[nodes] == TRAIN).any())


def not_for_training() -> Text:
    return text("Training nodes are among them: accuracy on labels the model has seen says nothing about new nodes.")


# --- ballots, and models to compare them with -------------------------------------------------------------------------


def how_it_sums(weight: int) -> Text:
    """How ballots make a label, and what an attacker can do to a sum."""
    own = "once" if weight == 1 else f"{count(weight)} times"
    return text(
        "One-hop votes of predictions that read no edges (ballots): every node shows a whole number from 0 to 2²⁰ for "
        "each class, which has to be made from its own attributes alone. The score of a node is its own ballot, "
        f"counted {own}, plus the ballots of its neighbours (in a directed graph: of those that send to it). The class "
        "with the largest score is its label; of equal ones the smaller class. A new neighbour can add one full ballot "
        "for a rival, a deleted one takes its own away, and an attacked one can do both; a label changes only if what "
        "was done to its sum fills the gap to a rival."
    )


def why_controls() -> Text:
    """Beside curves of ballots whose file names accuracies of other models."""
    return text(
        "The lines across are other models, by the accuracies that the file tells. An MLP without edges keeps every "
        "label whatever happens to edges, before or after training. An MLP distilled from a GNN does so after "
        "training only (evasion): its teacher has read the edges, so a graph changed before training (poisoning) is "
        "not covered. The GNN itself has no certificate against any of this. A curve below a line buys nothing where "
        "that line holds."
    )


def why_control_columns() -> Text:
    """Under a table that compares ballots with other instances."""
    return text(
        "The last columns are other models, by the accuracies that the file tells: an MLP without edges keeps every "
        "label whatever happens to edges, one distilled from a GNN does so only if the graph was changed after "
        "training, and the GNN itself has no certificate."
    )


def why_accuracy() -> Text:
    """Under curves of ballots that count labels whether they are right or not."""
    return text(
        "A model that ignores edges keeps all its labels whatever edges are changed, so this share says little alone: "
        "only in certified accuracy can the two be compared."
    )


# --- attacks on the model ---------------------------------------------------------------------------------------------


def changed_words(found: FoundAttack | None, asked: int | None = None) -> Text:
    """The number of labels that the largest attack found changes; None: no attack on the model was tried.

    `asked`: the targets are the right labels among this many, and accuracy is a fraction of those.
    """
    if found is None:
        return untried()
    right = found.count.right_after
    targets = len(found.count.targets)
    whole = targets if asked is None else asked
    said = text(
        f"An attack found with {spent_words(found)} changes **{count(found.count.n_changed)} of {count(targets)} "
        f"labels** of the model in fact ({how_sure(found)}). It is what was found: there may be worse ones."
    )
    if right is None or not whole:
        return said
    return said + f" Accuracy under this attack: {percent_up(Fraction(right, whole))} at most."


def untried() -> Text:
    return text("No model attack was tried within these limits: how many labels change in fact is not known.")


def short_changed(found: FoundAttack) -> Text:
    """A short form of `changed_words`."""
    if found.count.joint_alpha is not None:
        sure = f"{confidence_text(found.count.joint_alpha, 100)} % confidence with the certificate"
    else:
        sure = "for certain" if found.attack is not None else "by the sums of the ballots"
    changed = f"changes {count(found.count.n_changed)} labels"
    return text(f"An attack found with {spent_words(found)} {changed} · {sure}. There may be worse ones.")


def spent_words(found: FoundAttack) -> str:
    """What an attack spends: flips, new nodes, a distance."""
    return size_words(found.flips, found.distance, found.injected)


def size_words(flips: int, distance: float, injected: int = 0) -> str:
    parts = [some(injected, "new node", "new nodes")] if injected else []
    parts += [f"a distance of {_up(distance)}"] if distance else []
    return " and ".join([some(flips, "flip", "flips"), *parts] if flips or not parts else parts)


def _up(length: float) -> str:
    """A length in four digits, rounded up: an attack spends no more than is said."""
    return f"{Context(prec=4, rounding=ROUND_UP).create_decimal_from_float(length).normalize():f}"


def how_sure(found: FoundAttack) -> str:
    if found.attack is None:
        return "by the sums of the ballots, provided that these read no other node"
    if found.count.joint_alpha is None:
        return "for certain: the prediction differs"
    return (
        f"exact binomial test on {found.attack.samples:,} new samples, confidence "
        f"{confidence_text(found.count.joint_alpha, 100)} % for all of them together with the certificate"
    )


def jointly(instance: Instance, found: FoundAttack | None) -> Text | None:
    """The confidence with which certificate and attack hold together; None if no more than one of them is sampled."""
    alphas = [instance.base.facts.get("alpha"), None if found is None else found.count.alpha]
    if None in alphas:
        return None
    sure = confidence_text(together(map(str, alphas)), 100)
    return text(f"Certificate and attack each have their own confidence; both hold together with at least {sure} %.")


# --- the receptive field ----------------------------------------------------------------------------------------------


def field_words(check: FieldCheck) -> Text:
    """The outcome of an attempt to falsify a declared or derived receptive field."""
    if check.fault is not None:
        return _no_field(check.fault)
    kind = "derived" if check.derived else "declared"
    field = f"{kind} field ({some(check.layers, 'layer', 'layers')}, rule `{check.edge_field}`)"
    if check.violation is not None:
        found = check.violation
        return _reads_more(field, found)
    if not check.comparisons:
        return text(
            f"The {field} is the whole graph for every node that was looked at: there is nothing outside to compare, "
            "and nothing was checked."
        )
    return text(
        f"No flip outside the {field} was found to change a score, in "
        f"{some(check.comparisons, 'comparison', 'comparisons')} on {some(check.graphs, 'graph', 'graphs')}. This was "
        "an attempt to falsify it, not a proof of it."
    )


def _reads_more(field: str, found: Violation) -> Text:
    changed = [some(found.attributes, "attribute changed", "attributes changed")] if found.attributes else []
    deleted = [some(found.edges, "edge deleted", "edges deleted")] if found.edges else []
    return text(
        f"The model reads more than the {field}: on {found.graph}, {listing([*changed, *deleted])} outside the field "
        f"of node {found.node} make its scores differ by {found.change:.3g}. A certificate on this field would claim "
        "too much: declare more layers or the rule `degrees`, put the model into evaluation mode, or take out what "
        "reads the whole graph (pooling, virtual nodes, normalisation over all nodes)."
    )


def _no_field(fault: Fault) -> Text:
    """Why a model has no field that could be checked."""
    if fault is Fault.CHANCE:
        return text(
            "The model gives different scores for the same graph, so it has no field and no votes of its own: call "
            "`model.eval()`, which turns off dropout, and take other chance out of it."
        )
    if fault is Fault.EDGES:
        return text(
            "The model gives the same scores for other edges, although layers of messages were declared: it keeps the "
            "edges of an earlier call (`cached=True`), or reads none. Turn the cache off, or declare `layers=0`."
        )
    return text(
        "What the model says about a graph depends on the graphs it has seen before (a layer with `cached=True`, or "
        "running statistics in training mode), so its votes would be about other graphs than they were asked for: turn "
        "that off."
    )
