"""Short forms of the same claims, for large type on a screen; no short form claims more than the long one.

A certified count begins with “at least”. *Proven* is used for verified counts only, *found* for attacks only. Counts
and shares are passed as text: the dashboard inserts the numbers of every budget that a slider passes into the same
words.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from fractions import Fraction

from certcore.common.exact import confidence_text
from certcore.common.rounding import percent_up, share_down
from certcore.domain.perturbations import LABELS, TYPES
from certcore.domain.threat import ThreatModel
from certcore.instance.instance import Instance
from certcore.messages.attacker import attacks_nothing, short_threat
from certcore.messages.ballots import ballots_of
from certcore.messages.promises import remarks, said_convex
from certcore.messages.registry import sentence
from certcore.messages.text import Text, count, listing, message, name, paragraph, strong
from certcore.result.certificate import Certificate
from certcore.result.partition import Partition
from certcore.result.states import TargetState

#: Labels of the parts of the bar, from left to right.
PARTS = {
    "each": "one by one",
    "together": "more together",
    "solver": "solver only, unchecked",
    "open": "open",
    "lost": "lose their certificate",
    "none": "never had one",
    "wrong": "wrong already",
    "changed": "changed by an attack found",
}
#: Labels of node states in the legend of the graph.
STATES = {
    TargetState.NOT_A_TARGET: "not counted",
    TargetState.ALONE: "proven one by one",
    TargetState.UNDECIDED: "kept in this attack",
    TargetState.PARTLY: "counted in part by the relaxed adversary",
    TargetState.LOST: "loses its certificate",
    TargetState.BEFORE: "never had one",
}
COUNTED = STATES | {
    TargetState.UNDECIDED: "not counted by the relaxed adversary",
    TargetState.LOST: "counted in full by the relaxed adversary",
}


def short_head(
    threat: ThreatModel, proven: int, targets: int, asked: int | None = None, changed: int | None = None
) -> Text:
    """The headline: how many labels stay. `asked`: number of all labels, if the targets are the right ones among them.

    With `changed` (labels that an attack on the model changes; None: not tried) it gives both bounds of the worst case.
    """
    whole = targets if asked is None else asked
    if not whole:
        return nobody()
    told = (count(proven), count(whole), share_down(proven, whole))
    if attacks_nothing(threat):
        return clean(*told) if asked is None else clean_right(*told)
    if not proven:
        return nothing(short_threat(threat))
    if changed is not None:
        most = targets - changed
        shares = () if asked is None else (share_down(proven, whole), percent_up(Fraction(most, whole)))
        return worst(count(proven), count(most), count(whole), *shares)
    return stays(*told) if asked is None else accuracy(*told)


def short_sub(instance: Instance, threat: ThreatModel, proven: int, claimed: int) -> Text:
    """The line below the headline: proven or solver claim, against which attacker, at which confidence."""
    if attacks_nothing(threat):
        return no_attack()
    told = (short_threat(threat, directed=instance.graph.directed), short_sure(instance))
    if claimed > proven:
        return paragraph([*([proven_only(*told)] if proven else []), solver_says(count(claimed))])
    return proven_against(*told) if proven else may_stay()


def short_sure(instance: Instance) -> str:
    """The confidence in the fewest words."""
    facts = instance.base.facts
    if "alpha" in facts:
        return f"{confidence_text(str(facts['alpha']), 100)} % confidence"
    if ballots_of(instance) is not None:
        return "for certain: no sampling"
    return "as far as the base certificate holds" + (" (convex, deterministic)" if said_convex(instance) else "")


def short_open(result: Certificate, parts: Partition) -> Text:
    """The open part of the bar: between the proven count and the best attack found."""
    lost = parts.lost + parts.changed
    most = parts.solver + parts.open + lost
    if result.attack is None:
        return no_attack_yet(count(most))
    return settled() if not parts.open + parts.solver else takes(count(lost), count(most))


@sentence("short.stays", "something is attacked and the verified count is above 0", "1,577", "1,870", "84.3 %")
def stays(proven: str, targets: str, share: str) -> Text:
    return message("At least ", strong(proven), f" of {targets} labels stay · {share}")


@sentence(
    "short.accuracy", "the same where only right labels count: a share of all labels asked about",
    "1,210", "1,870", "64.7 %",
)  # fmt: skip
def accuracy(proven: str, asked: str, share: str) -> Text:
    return message("At least ", strong(share), f" accuracy: {proven} of {asked} are right and stay")


@sentence(
    "short.worst", "the same where an attack on the model was tried: the most that stay is what it leaves unchanged",
    "1,577", "1,847", "1,870", others=(("1,210", "1,290", "1,870", "64.7 %", "69.0 %"),),
)  # fmt: skip
def worst(proven: str, most: str, whole: str, low: str = "", high: str = "") -> Text:
    if low:
        return message("Worst case: ", strong(f"{low} to {high}"), f" accuracy: {proven} to {most} of {whole}")
    return message("Worst case: ", strong(f"{proven} to {most}"), f" of {whole} labels stay")


@sentence(
    "short.changed", "an attack on the model was tried within these limits", "23", "50 flips", "99 % confidence",
)  # fmt: skip
def changes(changed: str, spent: str, sure: str) -> Text:
    return message(f"An attack found with {spent} changes {changed} labels · {sure}. There may be worse ones.")


@sentence("short.not_tried", "no attack on the model was tried within these limits")
def not_tried() -> Text:
    return message("changed: not tried")


@sentence("short.so_far", "a solve goes on, and this much is proven already", "1,076", "1,870")
def so_far(proven: str, targets: str) -> Text:
    return message("At least ", strong(proven), f" of {targets} labels stay so far")


@sentence("short.clean", "nothing is attacked", "1,759", "1,870", "94.0 %")
def clean(proven: str, targets: str, share: str) -> Text:
    return message(strong(proven), f" of {targets} labels have a certificate · {share}")


@sentence("short.clean_right", "nothing is attacked, and only right labels count", "1,313", "1,870", "70.2 %")
def clean_right(proven: str, asked: str, share: str) -> Text:
    return message(strong(share), f" accuracy: {proven} of {asked} are right and have a certificate")


@sentence("short.nothing", "something is attacked and nothing is verified", "5,000 attribute deletions")
def nothing(attacker: str) -> Text:
    return message(f"Nothing is proven at {attacker}")


@sentence("short.may_stay", "below it")
def may_stay() -> Text:
    return message("Labels may still stay.")


@sentence("short.no_targets", "no label is asked about")
def nobody() -> Text:
    return message("No label is counted, so nothing is proven")


@sentence("short.waiting", "before the first certificate of an instance", "1,870")
def waiting(targets: str) -> Text:
    return message(strong("…"), f" of {targets} labels stay")


@sentence("short.solving", "below it")
def solving() -> Text:
    return message("Solving the first certificate.")


@sentence(
    "short.proven", "the verified count is above 0 and no claim exceeds it",
    "10 attribute deletions", "99 % confidence",
)  # fmt: skip
def proven_against(attacker: str, sure: str) -> Text:
    return message(strong("Proven"), f", whatever an attacker does with {attacker} · {sure}")


@sentence("short.proven_already", "a solve goes on", "20 attribute deletions", "99 % confidence")
def proven_already(attacker: str, sure: str) -> Text:
    return message(strong("Proven"), f" already for {attacker}, and rising · {sure}")


@sentence(
    "short.proven_only", "the integer program claims more than is verified", "10 attribute deletions", "99 % confidence"
)
def proven_only(attacker: str, sure: str) -> Text:
    return message(strong("Proven"), f" against {attacker} · {sure}.")


@sentence("short.solver", "the same: the claim, which is not proven", "1,616")
def solver_says(claimed: str) -> Text:
    return message(f"The solver says {claimed}; nobody has checked that.")


@sentence("short.no_attack", "nothing is attacked")
def no_attack() -> Text:
    return message("Nothing is attacked at these budgets, so nothing is promised against anybody.")


@sentence("short.takes", "an attack was found, and a larger one is not ruled out", "128", "182")
def takes(lost: str, most: str) -> Text:
    return message(f"An attack found takes {lost}. No attack takes more than {most}.")


@sentence("short.settled", "the attack found takes all that is not proven")
def settled() -> Text:
    return message("Settled: the attack found takes all the rest.")


@sentence("short.no_attack_yet", "no attack was looked for yet", "182")
def no_attack_yet(most: str) -> Text:
    return message(f"No attack takes more than {most}. None was looked for yet.")


@sentence("short.searched", "a search for more has ended", "52", "2", others=(("0", "0"),))
def searched(more: str, most: str) -> Text:
    return message(f"{more} more than before. At most {most} more can be proven from these certificates.")


@sentence(
    "short.cell", "over a cell of the map of two budgets", "71.9 %", "20 attribute deletions and 2 edge additions"
)
def cell(share: str, budgets: str) -> Text:
    return message(f"at least {share} up to {budgets}")


@sentence("short.growing", "beside a map that is being computed", "5", "297", others=(("297", "297"),))
def growing(solved: str, cells: str) -> Text:
    return message(f"all {cells} cells solved" if solved == cells else f"{solved} of {cells} cells solved, all proven")


@sentence("short.at_least_of", "over a group of nodes that look alike", "869", "923")
def some_stay(certified: str, alike: str) -> Text:
    return message(f"at least {certified} of these {alike} stay")


def short_most(proven: Mapping[str, tuple[int, int]], budget: str) -> Text:
    """The instance with the most proven labels: its name, verified count and number of labels."""
    shares = {one: Fraction(certified, max(of, 1)) for one, (certified, of) in proven.items()}
    best = [one for one, share in shares.items() if share == max(shares.values())]
    if not shares[best[0]]:
        return none_proven(budget)
    share = share_down(*proven[best[0]])
    return most_proven(best[0], share, budget) if len(best) == 1 else as_much(listing(best), share, budget)


@sentence(
    "short.most", "several instances are compared, and one has the largest verified share",
    "GCN", "84.3 %", "10 attribute deletions",
)  # fmt: skip
def most_proven(one: str, share: str, budget: str) -> Text:
    return message("Most is proven for ", name(one), f": {share} at {budget}")


@sentence(
    "short.as_much", "the same where several share the first place", "GCN and GAT", "84.3 %", "10 attribute deletions"
)
def as_much(several: str, share: str, budget: str) -> Text:
    return message("As much is proven for ", name(several), f": {share} at {budget}")


@sentence("short.none_proven", "several instances are compared, and nothing is verified of any", "500 edge deletions")
def none_proven(budget: str) -> Text:
    return message(f"Nothing is proven for any of them at {budget}")


def short_remarks(instance: Instance, threat: ThreatModel) -> list[Text]:
    """The required remarks, each as one short sentence; the long forms are in the panel."""
    said = {key for one in remarks(instance, threat) for key in one.keys}
    known = {
        "remark.uncovered": uncovered_here,
        "remark.messages": means,
        "remark.ballots.evasion": weights_fixed,
        "remark.ballots.poisoning": attributes_fixed,
    }
    found = {say_it: say_it() for key, say_it in known.items() if key in said}
    return list(found.values())


@sentence("short.remark.uncovered", "a budget is set for a type that the base certificate says nothing about")
def uncovered_here() -> Text:
    return message("A budget is set that this file does not cover: its flips count against every label in reach.")


@sentence("short.remark.means", "edges are attacked, and the fields follow the rule for means")
def means() -> Text:
    return message("Sound for mean and attention aggregation only.")


@sentence("short.remark.weights", "ballots: edges or new nodes are attacked, and the weights have read edges")
def weights_fixed() -> Text:
    return message("Changes before training are not covered.")


@sentence("short.remark.attributes", "ballots: edges or new nodes are attacked, and the weights have read no edge")
def attributes_fixed() -> Text:
    return message("Edges and new nodes: before training too. Attributes: after it only.")


def short_uncovered(instance: Instance, missing: Sequence[str]) -> tuple[Text, Text]:
    """The text shown instead of sliders for types that the base certificate does not cover, with the reason."""
    kinds = {"attr": "Attributes", "adj": "Edges"}
    whole = [kind for kind in kinds if all(t in missing for t in TYPES if t.startswith(kind))]
    told = [kinds[kind] for kind in whole]
    told += [LABELS[t].capitalize() for t in missing if t.split("_")[0] not in whole]
    speaks = listing([LABELS[t] for t in TYPES if t in instance.base.axes])
    return uncovered_chip(told[0] if len(told) == 1 else "Other types"), uncovered_why(speaks)


@sentence("short.uncovered", "a type has no slider", "Edges")
def uncovered_chip(types: str) -> Text:
    return message(f"{types}: not covered.")


@sentence("short.uncovered.why", "asked why", "attribute additions and attribute deletions")
def uncovered_why(covered: str) -> Text:
    return message(
        f"This file proves something about {covered} only. Any other flip would count against every label in its reach."
    )
