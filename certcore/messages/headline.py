"""Short forms of the same claims, for large type on a screen; no short form claims more than the long one.

A certified count begins with “at least”. *Proven* is used for verified counts only, *found* for attacks only. Counts
and shares are passed as text: the dashboard inserts the numbers of every budget that a slider passes into the same
words.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from fractions import Fraction

from certcore.common.exact import confidence_text
from certcore.common.rounding import share_down
from certcore.domain.perturbations import LABELS, TYPES
from certcore.domain.threat import ThreatModel
from certcore.instance.instance import Instance
from certcore.messages.attacker import attacks_nothing, ballots_of, short_threat
from certcore.messages.guarantee import changes_sums, for_means_only, said_convex, uncovered
from certcore.messages.text import Text, count, listing, message, name, text
from certcore.result.certificate import Certificate
from certcore.result.partition import Partition

#: Labels of the parts of the bar, from left to right.
PARTS = {
    "naive": "naive",
    "collective": "collective",
    "open": "open",
    "lost": "lose their certificate",
    "none": "had none",
    "wrong": "wrong already",
}

# --- the headline: one form for every view, so that nobody takes one statement for another ---------------------------


def short_head(proven: int, targets: int, asked: int | None = None) -> Text:
    """The headline: how many labels stay. `asked`: number of all labels, if the targets are the right among them."""
    if asked is None:
        return stays(count(proven), count(targets), share_down(proven, targets))
    return right_stays(count(proven), count(asked), share_down(proven, asked))


def stays(proven: str, targets: str, share: str) -> Text:
    return text(f"At least **{proven}** of {targets} labels stay · {share}")


def right_stays(proven: str, asked: str, share: str) -> Text:
    """Where only right labels count: certified accuracy, a share of all labels asked about."""
    return text(f"At least **{proven}** of {asked} labels are right and stay · {share}")


def waiting(targets: str) -> Text:
    return text(f"At least **…** of {targets} labels stay")


# --- the line below it ------------------------------------------------------------------------------------------------


def short_sub(instance: Instance, threat: ThreatModel, proven: int, targets: int = 1) -> Text:
    """The line below the headline: proven against which attacker, at which confidence."""
    if not targets:
        return no_label()
    if attacks_nothing(threat, instance):
        return no_attack()
    attacker = short_threat(threat, directed=instance.graph.directed)
    return proven_against(attacker, short_sure(instance)) if proven else nothing(attacker)


def short_sure(instance: Instance) -> str:
    """The confidence in the fewest words."""
    facts = instance.base.facts
    if "alpha" in facts:
        return f"{confidence_text(str(facts['alpha']), 100)} % confidence"
    if ballots_of(instance) is not None:
        return "no sampling, provided that ballots read no other node"
    return "as far as the base certificate holds" + (" (convex, deterministic)" if said_convex(instance) else "")


def proven_against(attacker: str, sure: str) -> Text:
    return text(f"**Proven**, whatever an attacker does with {attacker} · {sure}")


def proven_already(attacker: str, sure: str) -> Text:
    return text(f"**Proven** so far and rising, whatever an attacker does with {attacker} · {sure}")


def no_label() -> Text:
    return text("No label is counted, so nothing is proven.")


def no_attack() -> Text:
    return text("Nothing is attacked at these budgets, so nothing is promised against anybody.")


def nothing(attacker: str) -> Text:
    return text(f"Nothing is proven against {attacker}. Labels may still stay.")


def solving() -> Text:
    return text("Solving the first certificate.")


# --- the bar ----------------------------------------------------------------------------------------------------------


def short_open(result: Certificate, parts: Partition) -> Text:
    """The open part of the bar: between the proven count and the best attack found."""
    most = parts.open + parts.lost
    if result.attack is None:
        return text(f"No attack takes more than {count(most)}. None was looked for yet.")
    if not parts.open:
        return settled()
    return text(f"An attack found takes {count(parts.lost)}. No attack takes more than {count(most)}.")


def settled() -> Text:
    return text("Settled: the attack found takes all the rest.")


def searched(more: str, most: str) -> Text:
    return text(f"{more} more than before. At most {most} more can be proven from these certificates.")


# --- what a model attack changes, beside the headline -----------------------------------------------------------------


def changes(labels: str) -> Text:
    return text(f"an attack found changes **{labels}**")


def changed_with(attacker: str) -> Text:
    return text(f"model attack with {attacker}")


def changed_within(attacker: str) -> Text:
    return text(f"model attack within {attacker}")


def looking() -> Text:
    return text("looking for a stored model attack")


def not_tried() -> Text:
    return text("no model attack tried")


def not_known() -> Text:
    return text("whether labels change is not known")


def how_to_try() -> Text:
    return text(
        "Certificates that are lost are no labels that change. This command looks for flips that change labels of the "
        "model itself; what it finds is stored beside the file, held against every certificate, and shown here."
    )


# --- maps, groups of nodes, and several instances ---------------------------------------------------------------------


def cell(share: str, budgets: str) -> Text:
    return text(f"at least {share} up to {budgets}")


def growing(solved: str, cells: str) -> Text:
    """Beside a map that is being computed."""
    return text(
        f"all {cells} cells solved" if solved == cells else f"{solved} of {cells} solved; the rest proven, rising"
    )


def some_stay(certified: str, alike: str) -> Text:
    """Over a group of nodes that look alike."""
    return text(f"at least {certified} of these {alike} stay")


def short_most(proven: Mapping[str, tuple[int, int]], budget: str, *, below: bool = False) -> Text:
    """The instance with the most proven labels: its name, verified count and number of labels.

    `below`: the same was said of another budget right above.
    """
    shares = {one: Fraction(certified, max(of, 1)) for one, (certified, of) in proven.items()}
    best = [one for one, share in shares.items() if share == max(shares.values())]
    if not shares[best[0]]:
        return text(f"Nothing is proven for any of them at {budget}")
    share, names = share_down(*proven[best[0]]), name(listing(best))
    if below:
        return message(f"At {budget}: ", names, f", {share}")
    return message("Most" if len(best) == 1 else "As much", " is proven for ", names, f": {share} at {budget}")


# --- remarks ----------------------------------------------------------------------------------------------------------


def short_remarks(instance: Instance, threat: ThreatModel) -> list[Text]:
    """The required remarks, each as one short sentence; the long forms are in the panel."""
    found = []
    if uncovered(instance, threat):
        found.append("A budget is set that this file does not cover: its flips count against every label in reach.")
    if for_means_only(instance, threat):
        found.append("Sound for mean and attention aggregation only.")
    if changes_sums(instance, threat):
        found.append(
            "Changes before training are not covered."
            if instance.base.facts["weights_read_edges"]
            else "Edges and new nodes: before training too. Attributes: after it only."
        )
    return [text(one) for one in found]


def right_only() -> Text:
    return text("Accuracy is shown, right labels only; More has the switch.")


def short_uncovered(instance: Instance, missing: Sequence[str]) -> tuple[Text, Text]:
    """The text shown instead of sliders for types that the base certificate does not cover, with the reason."""
    kinds = {"attr": "Attributes", "adj": "Edges"}
    whole = [kind for kind in kinds if all(t in missing for t in TYPES if t.startswith(kind))]
    names = [kinds[kind] for kind in whole]
    names += [LABELS[t].capitalize() for t in missing if t.split("_")[0] not in whole]
    covered = listing([LABELS[t] for t in TYPES if t in instance.base.axes])
    why = (
        f"This file proves something about {covered} only. Any other flip would count against every label in its reach."
    )
    if (ballots := where_ballots(instance, missing)) is not None:
        why += f" {ballots}"
    return text(f"{names[0] if len(names) == 1 else 'Other types'}: not covered."), text(why)


def where_ballots(instance: Instance, missing: Sequence[str]) -> Text | None:
    """Whoever asks about added edges or new nodes: what certifies them; None where nothing of it is missing."""
    asked = [name for name in ("adj_add", "inject") if name in missing]
    if not asked or ballots_of(instance) is not None:
        return None
    what = {"adj_add": "Added edges", "inject": "new nodes"}
    told = " and ".join(what[name] for name in asked)
    return text(f"{told[:1].upper()}{told[1:]} are certified by ballots: `certcore.ballots` makes such a file.")
