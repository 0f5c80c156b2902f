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
from certcore.messages.registry import sentence, template
from certcore.messages.text import Text, count, listing, message, name, paragraph, strong
from certcore.result.certificate import Certificate
from certcore.result.partition import Partition

#: Labels of the parts of the bar, from left to right.
PARTS = {
    "each": "one by one",
    "together": "more together",
    "solver": "solver only, unchecked",
    "open": "open",
    "lost": "lose their certificate",
    "none": "never had one",
    "wrong": "wrong already",
    "changed": "changed by another attack found",
}
#: Against ballots both counts are of one attack.
PARTS_OF_BALLOTS = PARTS | {"changed": "of these changed in fact"}


def short_head(
    threat: ThreatModel, proven: int, targets: int, asked: int | None = None, changed: int | None = None
) -> Text:
    """The headline: how many labels stay. `asked`: number of all labels, if the targets are the right ones among them.

    With `changed` (labels that an attack on the model changes; None: not tried) it gives both bounds of the worst case.
    """
    whole = targets if asked is None else asked
    if not whole:
        return nobody()
    numbers = (count(proven), count(whole), share_down(proven, whole))
    if attacks_nothing(threat):
        return clean(*numbers) if asked is None else clean_right(*numbers)
    if not proven and not changed:
        return nothing(short_threat(threat))
    if changed is not None:
        most = targets - changed
        shares = () if asked is None else (share_down(proven, whole), percent_up(Fraction(most, whole)))
        return worst(count(proven), count(most), count(whole), *shares)
    return stays(*numbers) if asked is None else accuracy(*numbers)


def short_sub(instance: Instance, threat: ThreatModel, proven: int, claimed: int, tried: bool = False) -> Text:
    """The line below the headline: proven or solver claim, against which attacker, at which confidence.

    `tried`: the headline gives two bounds of the worst case, of which only the lower one is proven.
    """
    if attacks_nothing(threat):
        return no_attack()
    parts = (short_threat(threat, directed=instance.graph.directed), short_sure(instance))
    if claimed > proven:
        return paragraph([*([proven_only(*parts)] if proven else []), solver_says(count(claimed))])
    if not proven:
        return may_stay()
    return lower_proven(*parts) if tried else proven_against(*parts)


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


stays = template(
    "short.stays", "something is attacked and the verified count is above 0",
    "At least **{proven}** of {targets} labels stay · {share}", proven="1,577", targets="1,870", share="84.3 %",
)  # fmt: skip
accuracy = template(
    "short.accuracy", "the same where only right labels count: a share of all labels asked about",
    "At least **{share}** accuracy: {proven} of {asked} are right and stay",
    proven="1,210", asked="1,870", share="64.7 %",
)  # fmt: skip


@sentence(
    "short.worst", "the same where an attack on the model was tried: the most that stay is what it leaves unchanged",
    "1,577", "1,847", "1,870",
    others=(("1,210", "1,290", "1,870", "64.7 %", "69.0 %"), ("1,538", "1,538", "2,205", "69.7 %", "69.8 %")),
)  # fmt: skip
def worst(proven: str, most: str, whole: str, low: str = "", high: str = "") -> Text:
    if proven == most:  # nothing is open
        rest = f" accuracy: {proven} of {whole}" if low else f" of {whole} labels stay"
        return message("Worst case: ", strong(low or proven), rest)
    if low:
        return message("Worst case: ", strong(f"{low} to {high}"), f" accuracy: {proven} to {most} of {whole}")
    return message("Worst case: ", strong(f"{proven} to {most}"), f" of {whole} labels stay")


changes = template(
    "short.changed", "an attack on the model was tried within these limits",
    "An attack found with {spent} changes {changed} labels · {sure}. There may be worse ones.",
    changed="23", spent="50 flips", sure="99 % confidence",
)  # fmt: skip
not_tried = template("short.not_tried", "no attack on the model was tried within these limits", "changed: not tried")
so_far = template(
    "short.so_far", "a solve goes on, and this much is proven already",
    "At least **{proven}** of {targets} labels stay so far", proven="1,076", targets="1,870",
)  # fmt: skip
clean = template(
    "short.clean", "nothing is attacked",
    "**{proven}** of {targets} labels have a certificate · {share}", proven="1,759", targets="1,870", share="94.0 %",
)  # fmt: skip
clean_right = template(
    "short.clean_right", "nothing is attacked, and only right labels count",
    "**{share}** accuracy: {proven} of {asked} are right and have a certificate",
    proven="1,313", asked="1,870", share="70.2 %",
)  # fmt: skip
nothing = template(
    "short.nothing", "something is attacked and nothing is verified",
    "Nothing is proven at {attacker}", attacker="5,000 attribute deletions",
)  # fmt: skip
may_stay = template("short.may_stay", "below it", "Labels may still stay.")
nobody = template("short.no_targets", "no label is asked about", "No label is counted, so nothing is proven")
waiting = template(
    "short.waiting", "before the first certificate of an instance", "**…** of {targets} labels stay", targets="1,870",
)  # fmt: skip
solving = template("short.solving", "below it", "Solving the first certificate.")
proven_against = template(
    "short.proven", "the verified count is above 0 and no claim exceeds it",
    "**Proven**, whatever an attacker does with {attacker} · {sure}",
    attacker="10 attribute deletions", sure="99 % confidence",
)  # fmt: skip
lower_proven = template(
    "short.lower_proven", "the same below both bounds of the worst case",
    "**Lower number proven** ({sure}), whatever an attacker does with {attacker}",
    attacker="10 attribute deletions", sure="99 % confidence",
)  # fmt: skip
proven_already = template(
    "short.proven_already", "a solve goes on",
    "**Proven** already for {attacker}, and rising · {sure}", attacker="20 attribute deletions", sure="99 % confidence",
)  # fmt: skip
proven_only = template(
    "short.proven_only", "the integer program claims more than is verified",
    "**Proven** against {attacker} · {sure}.", attacker="10 attribute deletions", sure="99 % confidence",
)  # fmt: skip
solver_says = template(
    "short.solver", "the same: the claim, which is not proven",
    "The solver says {claimed}; nobody has checked that.", claimed="1,616",
)  # fmt: skip
no_attack = template(
    "short.no_attack", "nothing is attacked",
    "Nothing is attacked at these budgets, so nothing is promised against anybody.",
)  # fmt: skip
takes = template(
    "short.takes", "an attack was found, and a larger one is not ruled out",
    "An attack found takes {lost}. No attack takes more than {most}.", lost="128", most="182",
)  # fmt: skip
settled = template(
    "short.settled", "the attack found takes all that is not proven", "Settled: the attack found takes all the rest.",
)  # fmt: skip
no_attack_yet = template(
    "short.no_attack_yet", "no attack was looked for yet",
    "No attack takes more than {most}. None was looked for yet.", most="182",
)  # fmt: skip
searched = template(
    "short.searched", "a search for more has ended",
    "{more} more than before. At most {most} more can be proven from these certificates.",
    more="52", most="2", others=(("0", "0"),),
)  # fmt: skip
cell = template(
    "short.cell", "over a cell of the map of two budgets",
    "at least {share} up to {budgets}", share="71.9 %", budgets="20 attribute deletions and 2 edge additions",
)  # fmt: skip


@sentence("short.growing", "beside a map that is being computed", "5", "297", others=(("297", "297"),))
def growing(solved: str, cells: str) -> Text:
    return message(
        f"all {cells} cells solved" if solved == cells else f"{solved} of {cells} solved; the rest proven, rising"
    )


some_stay = template(
    "short.at_least_of", "over a group of nodes that look alike",
    "at least {certified} of these {alike} stay", certified="869", alike="923",
)  # fmt: skip


def short_most(proven: Mapping[str, tuple[int, int]], budget: str, *, below: bool = False) -> Text:
    """The instance with the most proven labels: its name, verified count and number of labels.

    `below`: the same was said of another budget right above.
    """
    shares = {one: Fraction(certified, max(of, 1)) for one, (certified, of) in proven.items()}
    best = [one for one, share in shares.items() if share == max(shares.values())]
    if not shares[best[0]]:
        return none_proven(budget)
    share = share_down(*proven[best[0]])
    if below:
        return most_at(listing(best), share, budget)
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


@sentence("short.most_at", "the same at another budget, below it", "GCN", "12.9 %", "50 attribute deletions")
def most_at(several: str, share: str, budget: str) -> Text:
    return message(f"At {budget}: ", name(several), f", {share}")


none_proven = template(
    "short.none_proven", "several instances are compared, and nothing is verified of any",
    "Nothing is proven for any of them at {budget}", budget="500 edge deletions",
)  # fmt: skip


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


right_only = template(
    "short.remark.accuracy", "only right labels are targets, so that shares are accuracies",
    "Accuracy is shown, right labels only; More has the switch.",
)  # fmt: skip
uncovered_here = template(
    "short.remark.uncovered", "a budget is set for a type that the base certificate says nothing about",
    "A budget is set that this file does not cover: its flips count against every label in reach.",
)  # fmt: skip
means = template(
    "short.remark.means", "edges are attacked, and the fields follow the rule for means",
    "Sound for mean and attention aggregation only.",
)  # fmt: skip
weights_fixed = template(
    "short.remark.weights", "ballots: edges or new nodes are attacked, and the weights have read edges",
    "Changes before training are not covered.",
)  # fmt: skip
attributes_fixed = template(
    "short.remark.attributes", "ballots: edges or new nodes are attacked, and the weights have read no edge",
    "Edges and new nodes: before training too. Attributes: after it only.",
)  # fmt: skip


def short_uncovered(instance: Instance, missing: Sequence[str]) -> tuple[Text, Text]:
    """The text shown instead of sliders for types that the base certificate does not cover, with the reason."""
    kinds = {"attr": "Attributes", "adj": "Edges"}
    whole = [kind for kind in kinds if all(t in missing for t in TYPES if t.startswith(kind))]
    names = [kinds[kind] for kind in whole]
    names += [LABELS[t].capitalize() for t in missing if t.split("_")[0] not in whole]
    speaks = listing([LABELS[t] for t in TYPES if t in instance.base.axes])
    return uncovered_chip(names[0] if len(names) == 1 else "Other types"), uncovered_why(speaks)


uncovered_chip = template("short.uncovered", "a type has no slider", "{types}: not covered.", types="Edges")
uncovered_why = template(
    "short.uncovered.why", "asked why",
    "This file proves something about {covered} only. Any other flip would count against every label in its reach.",
    covered="attribute additions and attribute deletions",
)  # fmt: skip
