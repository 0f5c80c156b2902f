"""The same claims in few words, for a screen that shows them large: nothing shorter claims more.

A count that stays begins with “at least”; *proven* is said of verified counts alone, *found* of attacks. Counts and
shares arrive as text: the dashboard fills the same words with the numbers of every budget that a slider passes.
"""

from __future__ import annotations

from collections.abc import Sequence

from certcore.common.exact import confidence_text
from certcore.common.rounding import share_down
from certcore.domain.perturbations import LABELS, TYPES
from certcore.domain.threat import ThreatModel
from certcore.instance.instance import Instance
from certcore.messages.attacker import attacks_nothing, short_threat
from certcore.messages.division import votes_over_groups
from certcore.messages.promises import remarks, said_convex
from certcore.messages.registry import sentence
from certcore.messages.text import Text, count, listing, message, paragraph, strong
from certcore.result.certificate import Certificate
from certcore.result.partition import Partition
from certcore.result.states import TargetState

#: What is known of the parts of the bar, in its order from left to right.
PARTS = {
    "each": "one by one",
    "together": "more together",
    "solver": "solver only, unchecked",
    "open": "open",
    "lost": "lose their certificate",
    "none": "never had one",
    "wrong": "wrong already",
}
#: What becomes of one node, for the legend inside the picture.
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


def short_head(threat: ThreatModel, proven: int, targets: int, asked: int | None = None) -> Text:
    """The large line: how many labels stay; `asked` labels in all where the targets are the right ones among them."""
    whole = targets if asked is None else asked
    if not whole:
        return nobody()
    told = (count(proven), count(whole), share_down(proven, whole))
    if attacks_nothing(threat):
        return clean(*told) if asked is None else clean_right(*told)
    if not proven:
        return nothing(short_threat(threat))
    return stays(*told) if asked is None else accuracy(*told)


def short_sub(instance: Instance, threat: ThreatModel, proven: int, claimed: int) -> Text:
    """The line below it: by whose word, against whom, how sure."""
    if attacks_nothing(threat):
        return no_attack()
    told = (short_threat(threat, directed=instance.graph.directed), short_sure(instance))
    if claimed > proven:
        return paragraph([*([proven_only(*told)] if proven else []), solver_says(count(claimed))])
    return proven_against(*told) if proven else may_stay()


def short_sure(instance: Instance) -> str:
    """How sure, in the fewest words."""
    facts = instance.base.facts
    if "alpha" in facts:
        return f"{confidence_text(str(facts['alpha']), 100)} % confidence"
    if votes_over_groups(instance) is not None:
        return "for certain: no sampling"
    return "as far as the base certificate holds" + (" (convex, deterministic)" if said_convex(instance) else "")


def short_open(result: Certificate, parts: Partition) -> Text:
    """What is known of the open part."""
    most = parts.solver + parts.open + parts.lost
    if result.attack is None:
        return no_attack_yet(count(most))
    return settled() if not parts.open + parts.solver else takes(count(parts.lost), count(most))


@sentence("short.stays", "something is attacked and the verified count is above 0", "1,577", "1,870", "84.3 %")
def stays(proven: str, targets: str, share: str) -> Text:
    return message("At least ", strong(proven), f" of {targets} labels stay · {share}")


@sentence(
    "short.accuracy", "the same where only right labels count: a share of all labels asked about",
    "1,210", "1,870", "64.7 %",
)  # fmt: skip
def accuracy(proven: str, asked: str, share: str) -> Text:
    return message("At least ", strong(share), f" accuracy: {proven} of {asked} are right and stay")


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
    "short.proven", "the verified count is above 0 and nobody claims more",
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


@sentence("short.solver", "the same: the claim, as nobody's proof", "1,616")
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


def short_remarks(instance: Instance, threat: ThreatModel) -> list[Text]:
    """What must be said beside the number, each in one short sentence; the long ones stand in the panel."""
    said = {key for one in remarks(instance, threat) for key in one.keys}
    known = {
        "remark.uncovered": uncovered_here,
        "remark.messages": means,
        "remark.division.rule": means,
        "remark.division.evasion": weights_fixed,
        "remark.division.poisoning": attributes_fixed,
    }
    found = {say_it: say_it() for key, say_it in known.items() if key in said}
    return list(found.values())


@sentence("short.remark.uncovered", "a budget is set for a type that the base certificate says nothing about")
def uncovered_here() -> Text:
    return message("A budget is set that this file does not cover: its flips count against every label in reach.")


@sentence("short.remark.means", "edges are attacked, and the fields follow the rule for means")
def means() -> Text:
    return message("Sound for mean and attention aggregation only.")


@sentence("short.remark.weights", "division voting: edges are attacked, and the weights have read edges")
def weights_fixed() -> Text:
    return message("Attributes and weights stay fixed.")


@sentence("short.remark.attributes", "division voting: edges are attacked, and the weights have read no edge")
def attributes_fixed() -> Text:
    return message("Attributes stay fixed.")


def short_uncovered(instance: Instance, missing: Sequence[str]) -> tuple[Text, Text]:
    """What stands instead of the sliders of types that the base certificate says nothing about, and why."""
    kinds = {"attr": "Attributes", "adj": "Edges"}
    whole = [kind for kind in kinds if all(t in missing for t in TYPES if t.startswith(kind))]
    told = [kinds[kind] for kind in whole]
    told += [LABELS[t].capitalize() for t in missing if t.split("_")[0] not in whole]
    speaks = listing([LABELS[t] for t in TYPES if t in instance.base.axes])
    return uncovered_chip(listing(told)), uncovered_why(speaks)


@sentence("short.uncovered", "a type has no slider", "Edges")
def uncovered_chip(types: str) -> Text:
    return message(f"{types}: not covered.")


@sentence("short.uncovered.why", "asked why", "attribute additions and attribute deletions")
def uncovered_why(covered: str) -> Text:
    return message(
        f"This file proves something about {covered} only. Any other flip would count against every label in its reach."
    )
