"""Division voting: what its votes promise, and whether edges changed before training are covered.

All of it follows from the arrays of the instance: the number of groups, the votes, the edge rule, and whether the
weights have read edges.
"""

from __future__ import annotations

from certcore.base.division import DivisionBase
from certcore.domain.edge_field import EdgeField
from certcore.domain.threat import ThreatModel
from certcore.instance.instance import Instance
from certcore.messages.registry import sentence
from certcore.messages.sites import kept
from certcore.messages.text import Text, code, count, message, some, strong


def votes_over_groups(instance: Instance) -> DivisionBase | None:
    """The base certificate, if it is division voting."""
    return instance.base if isinstance(instance.base, DivisionBase) else None


def division_remarks(instance: Instance, threat: ThreatModel) -> list[Text]:
    """What must be said beside every number of division voting while edges are attacked."""
    base = votes_over_groups(instance)
    if base is None or not threat.adj_add + threat.adj_del:
        return []
    attributes = threat.attr_add + threat.attr_del > 0
    told = [read_edges(attributes) if base.weights_read_edges else read_no_edges(attributes)]
    return [*told, means_only()] if instance.edge_field == EdgeField.MESSAGES else told


@sentence("confidence.division", "the base certificate counts votes over groups of edges")
def deterministic() -> Text:
    return message(", for certain: votes are counted and nothing is sampled")


@sentence(
    "remark.division.poisoning",
    "edges are attacked, and the file says that the weights have read no edge; attributes are attacked or not",
    False, others=((True,),),
)  # fmt: skip
def read_no_edges(attributes: bool) -> Text:
    start = "Attributes are changed after training only" if attributes else "Attributes stay as they are"
    return message(
        f"{start}. The same holds if those edges were changed before training, because the weights were, according to "
        "the file, made without reading an edge."
    )


@sentence(
    "remark.division.evasion", "edges are attacked, and the weights have read edges; attributes are attacked or not",
    False, others=((True,),),
)  # fmt: skip
def read_edges(attributes: bool) -> Text:
    start, why = "Attributes and weights stay as they are: edges", "the weights have read edges"
    if attributes:
        start, why = "Weights stay as they are: edges and attributes", "the weights have read them"
    return message(f"{start} changed before training are ", strong("not covered"), f", because {why}.")


@sentence("remark.division.rule", "edges are attacked, and the fields of the votes follow the rule for means")
def means_only() -> Text:
    return message(
        "The fields of the votes follow the edge rule ",
        code(EdgeField.MESSAGES),
        ". It is sound for mean and attention aggregation; for a model that reads the degrees of senders, like the "
        "usual GCN, it would claim too much.",
    )


@sentence(
    "node.votes.lost", "division voting: so many votes of a target can change in the attack found that its label may",
    2, 1, 3,
)  # fmt: skip
def votes_lost(touched: int, needed: int, groups: int) -> Text:
    return message(
        strong("Loses its certificate"),
        f" in the attack found: {count(touched)} of its {some(groups, 'vote', 'votes')} can change, and "
        f"{count(needed)} that change can be enough. That does not prove that its label changes.",
    )


@sentence(
    "node.votes.undecided", "division voting: any other target; the middle only if an attack was looked for", 2, 1, 3
)
def votes_undecided(needed: int, touched: int | None, groups: int) -> Text:
    told = f"; in the attack found {count(touched)} can change" if touched is not None else ""
    return message(
        strong(kept(touched is not None)),
        f": {count(needed)} of its {some(groups, 'vote', 'votes')} would have to change{told}. The collective count "
        "says how many such labels stay, not whether this one does.",
    )


@sentence(
    "node.votes.received", "division voting: flipped pairs have an end in the field of a vote of the node",
    2, message("the edge between 7 and 12: added"),
)  # fmt: skip
def votes_received(touched: int, places: Text) -> Text:
    return message(
        strong("Received"), f" in the fields of its votes, of which {count(touched)} can change: ", places, "."
    )


@sentence("controls", "beside curves of division voting whose file names accuracies of models that ignore edges")
def why_controls() -> Text:
    return message(
        "The lines across are models that ignore edges: no edge changed after training can change their labels, so "
        "against that they are certified at every budget for free, and a curve below such a line buys nothing. "
        "Their accuracies are those the file tells."
    )


@sentence("controls.compared", "under a table that compares division voting with other instances")
def why_control_columns() -> Text:
    return message(
        "The last columns are models that ignore edges: no edge changed after training can change their labels, so "
        "against that these are their certified accuracies at every budget, for free. They are what the file tells."
    )


@sentence("controls.missing", "under curves of division voting that count labels whether they are right or not")
def why_accuracy() -> Text:
    return message(
        "A model that ignores edges keeps all its labels whatever edges are flipped, so this share says little alone: "
        "only in certified accuracy can the two be compared."
    )


@sentence("division.groups", "on the page of the base certificate", 3, 1, True)
def how_it_votes(groups: int, weight: int, abstains: bool) -> Text:
    rest = " A group in which a node has no edge abstains." if abstains else ""
    own = (
        f" The vote on the graph without edges counts {'once' if weight == 1 else f'{count(weight)} times'} and no "
        "edge can change it."
        if weight
        else ""
    )
    return message(
        f"A hash puts every pair of nodes into one of {some(groups, 'group', 'groups')}, edges and absent edges alike. "
        f"The model votes once per group, on the graph that has only the edges of that group.{rest}{own} The majority "
        "is the label; of equal ones the smaller class wins. A flipped pair lies in one group, so it can change one "
        "vote of a node at most, and only if it ends near that node in the graph of its group."
    )
