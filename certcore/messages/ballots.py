"""Sentences for ballots: their guarantee, whether graphs changed before training are covered, and remarks.

All of it follows from the arrays of the instance: the ballots, their weight, and whether the scores depend on edges.
"""

from __future__ import annotations

from certcore.base.ballots import BallotsBase
from certcore.domain.threat import ThreatModel
from certcore.instance.instance import Instance
from certcore.messages.registry import sentence, template
from certcore.messages.text import Text, count, filled, message


def ballots_of(instance: Instance) -> BallotsBase | None:
    """The base certificate, if it is ballots."""
    return instance.base if isinstance(instance.base, BallotsBase) else None


def rewritten(instance: Instance, threat: ThreatModel) -> int | None:
    """The number of nodes with arbitrary ballots in the program for ballots; None where flips are limited otherwise.

    The program allows any ballot at a node that may change at all, so its counts hold for arbitrary ballots. With costs
    or local budgets the set of nodes that may change is different, and the sentence is about flips.
    """
    flips = threat.attr_add + threat.attr_del
    limited = threat.node_costs is not None or threat.local_attr_add is not None or threat.local_attr_del is not None
    if ballots_of(instance) is None or not flips or limited:
        return None
    return flips if threat.sigma is None else min(flips, threat.sigma)


def ballot_remarks(instance: Instance, threat: ThreatModel) -> list[Text]:
    """Remarks that are required beside every count for ballots if edges or injected nodes have a budget."""
    base = ballots_of(instance)
    if base is None or not threat.adj_add + threat.adj_del + threat.inject:
        return []
    attributes = threat.attr_add + threat.attr_del > 0
    return [read_edges(attributes)] if base.weights_read_edges else [read_no_edges(attributes, bool(threat.inject))]


deterministic = template(
    "confidence.ballots", "the base certificate is ballots",
    ", for certain: ballots are summed in whole numbers and nothing is sampled",
)  # fmt: skip


@sentence(
    "remark.ballots.poisoning",
    "edges or new nodes are attacked, and the file says that the weights have read no edge; attributes are attacked or "
    "not, new nodes added or not",
    False, False, others=((True, True), (False, True)),
)  # fmt: skip
def read_no_edges(attributes: bool, new: bool) -> Text:
    start = "Attributes are changed after training only" if attributes else "Attributes of the graph stay as they are"
    unless = " New nodes must have had no part in training or validation." if new else ""
    return message(
        f"{start}. The same holds if the graph was changed in this way before training, because the weights were, "
        f"according to the file, made without reading an edge.{unless}"
    )


@sentence(
    "remark.ballots.evasion", "edges or new nodes are attacked, and the weights have read edges; attributes or not",
    False, others=((True,),),
)  # fmt: skip
def read_edges(attributes: bool) -> Text:
    start = "Weights stay as they are" if attributes else "Attributes of the graph and weights stay as they are"
    text = "{start}: what is changed before training is **not covered**, because the weights have read edges."
    return filled(text, start=start)


why_controls = template(
    "controls", "beside curves of ballots whose file names accuracies of other models",
    "The lines across are other models, by the accuracies that the file tells. An MLP without edges keeps every label "
    "whatever happens to edges, before or after training. An MLP distilled from a GNN does so after training only "
    "(evasion): its teacher has read the edges, so a graph changed before training (poisoning) is not covered. The "
    "GNN itself has no certificate against any of this. A curve below a line buys nothing where that line holds.",
)  # fmt: skip
why_control_columns = template(
    "controls.compared", "under a table that compares ballots with other instances",
    "The last columns are other models, by the accuracies that the file tells: an MLP without edges keeps every label "
    "whatever happens to edges, one distilled from a GNN does so only if the graph was changed after training, and "
    "the GNN itself has no certificate.",
)  # fmt: skip
why_accuracy = template(
    "controls.missing", "under curves of ballots that count labels whether they are right or not",
    "A model that ignores edges keeps all its labels whatever edges are changed, so this share says little alone: "
    "only in certified accuracy can the two be compared.",
)  # fmt: skip


@sentence("ballots.how", "on the page of the base certificate", 1, others=((2,),))
def how_it_sums(weight: int) -> Text:
    own = "once" if weight == 1 else f"{count(weight)} times"
    return message(
        "Every node shows a ballot: a whole number from 0 to 2²⁰ for each class, made from its own attributes. The "
        f"score of a node is its own ballot, counted {own}, plus the ballots of its neighbours (in a directed graph: "
        "of those that send to it). The class with the largest score is its label; of equal ones the smaller class. A "
        "new neighbour can add one full ballot for a rival, a deleted one takes its own away, and one that is "
        "controlled can do both; a label changes only if what was done to its sum fills the gap to a rival."
    )
