"""The guarantee, its attacker, its confidence, and the remarks that are required beside it.

The first number is always the verified one. An unverified solver claim follows in the same sentence, marked as such.
"""

from __future__ import annotations

import contextlib
from fractions import Fraction
from typing import Any

from certcore.common.exact import confidence_text, decimal_text, exact_fraction
from certcore.common.rounding import percent_down, share_down
from certcore.domain.bundle_types import BundleTypes
from certcore.domain.edge_field import EdgeField
from certcore.domain.perturbations import LABELS, TABLE, TYPES
from certcore.domain.threat import ThreatModel
from certcore.instance.instance import Instance
from certcore.messages.attacker import attacks_nothing, threat_words, whatever_happens, without
from certcore.messages.ballots import ballot_remarks, ballots_of, deterministic, rewritten
from certcore.messages.registry import sentence, template
from certcore.messages.text import Text, count, filled, listing, message, name, paragraph, samples, some, strong
from certcore.program.problem import whole_graph
from certcore.result.certificate import Certificate

_DATASETS = {
    "citeseer": "Citeseer", "cora": "Cora", "cora_ml": "Cora-ML", "pubmed": "PubMed", "pubmed_tfidf": "PubMed (TF-IDF)",
    "digits": "Digits",
}  # fmt: skip


#: Explicit fields are a claim of the file's author: the file does not show that the model reads nothing else.
AS_GIVEN = "fields as given in the file"


def dataset_title(name: str) -> str:
    """Display name of a dataset."""
    return _DATASETS.get(name, name)


def guarantee(instance: Instance, certificate: Certificate, of: int | None = None) -> Text:
    """The guarantee in one sentence, and its subject (labels and graph) in another; `of` as in `promise`."""
    return promise(
        instance,
        certificate.threat,
        certificate.targets,
        certificate.verified_certified,
        max(certificate.certified, certificate.verified_certified),
        of,
    )


def promise(
    instance: Instance, threat: ThreatModel, targets: int, proven: int, claimed: int, of: int | None = None
) -> Text:
    """The guarantee: `proven` labels in exact arithmetic, and `claimed` ones by the solver if those are more.

    `of`: the targets are the correct labels among this many nodes. Then shares are certified accuracies, which are
    fractions of all these nodes.
    """
    if not targets:
        return no_targets()
    attacker = threat_words(threat, directed=instance.graph.directed)
    opening = whatever_happens(threat, rewritten(instance, threat), directed=instance.graph.directed)
    sure = confidence(instance)
    if attacks_nothing(threat):
        head = message(without(), clean(proven, targets, sure, of)) if claimed else clean_nothing(targets, of)
    elif not claimed:
        head = nothing(attacker, targets, of)
    elif not proven:
        head = message(opening, only_solver(claimed, targets, sure, of))
    elif claimed > proven:
        head = message(opening, solver(proven, claimed, targets, sure, of))
    else:
        head = message(opening, verified(proven, targets, sure, of))
    return paragraph([head, subject(instance, claimed > 0)])


def statement(instance: Instance, certificate: Certificate, of: int | None = None) -> Text:
    """The guarantee with all its remarks, for reports, files and quotations."""
    return paragraph([guarantee(instance, certificate, of), *remarks(instance, certificate.threat)])


def _of(part: int, whole: int) -> str:
    return f"{count(part)} of {count(whole)}"


def _labels(of: int | None) -> str:
    return "labels" if of is None else "correct labels"


def _share(part: int, targets: int, of: int | None) -> str:
    """A fraction of the targets; empty for correct labels, where it could be mistaken for an accuracy."""
    return f" ({share_down(part, targets)})" if of is None else ""


def _accuracy(part: int, of: int | None) -> Text:
    if of is None:
        return message()
    return filled(
        ", a **certified accuracy of {share}** (of all {of} labels asked about)", share=share_down(part, of), of=of
    )


no_targets = template(
    "guarantee.no_targets", "the target set is empty",
    "There are no targets: no label is counted, so **nothing is guaranteed**.",
)  # fmt: skip


@sentence(
    "guarantee.verified",
    "something is attacked, the verified count is above 0 and no claim exceeds it; the accuracy where the targets are "
    "the correct labels",
    1257, 1870, message(" (confidence 99 % for all nodes together, 10⁶ samples per node)"), None,
    others=((1190, 1402, message(" (confidence 99 % for all nodes together, 10⁶ samples per node)"), 1870),),
)  # fmt: skip
def verified(proven: int, targets: int, sure: Text, of: int | None) -> Text:
    return message(_stay(proven, targets, sure, of), ".")


def _stay(proven: int, targets: int, sure: Text, of: int | None) -> Text:
    share, accuracy = _share(proven, targets, of), _accuracy(proven, of)
    head = message("at least ", strong(_of(proven, targets)), f" {_labels(of)} stay as they are{share}, all at once")
    return message(head, sure, accuracy)


@sentence(
    "guarantee.solver",
    "something is attacked and the integer program claims more than is verified, which is above 0",
    1190, 1257, 1870, message(), None, others=((1190, 1257, 1402, message(), 1870),),
)  # fmt: skip
def solver(proven: int, claimed: int, targets: int, sure: Text, of: int | None) -> Text:
    return message(
        _stay(proven, targets, sure, of),
        f", which is proven in exact arithmetic, and at least {count(claimed)}{_share(claimed, targets, of)} on the "
        "solver's claim, which is not verified.",
    )


@sentence(
    "guarantee.only_solver", "something is attacked, nothing is verified, the integer program claims a count",
    31, 1870, message(), None,
)  # fmt: skip
def only_solver(claimed: int, targets: int, sure: Text, of: int | None) -> Text:
    return filled(
        "**0 of {targets}** {labels} are proven to stay, and at least {claimed}{share} do on the solver's claim, which "
        "is not verified{sure}.",
        targets=targets, labels=_labels(of), claimed=claimed, share=_share(claimed, targets, of), sure=sure,
    )  # fmt: skip


@sentence(
    "guarantee.nothing", "something is attacked, and neither a proof nor the solver certifies a label",
    "at most 200 attribute deletions in the whole graph", 1870, None,
)  # fmt: skip
def nothing(attacker: str, targets: int, of: int | None) -> Text:
    return filled(
        "**Nothing is guaranteed at these budgets**: **0 of {targets}** {labels} are certified against an attacker "
        "with **{attacker}**. It is not ruled out that every certificate is lost, which does not prove that any label "
        "changes.",
        targets=targets, labels=_labels(of), attacker=attacker,
    )  # fmt: skip


@sentence(
    "guarantee.clean", "nothing is attacked and some labels are certified",
    1759, 1870, message(), None, others=((1402, 1402, message(), 1870),),
)  # fmt: skip
def clean(proven: int, targets: int, sure: Text, of: int | None) -> Text:
    missing = targets - proven
    rest = f"; the other {count(missing)} have no certificate to begin with" if missing else ""
    head = message(strong(_of(proven, targets)), f" {_labels(of)}{_share(proven, targets, of)} have a certificate")
    end = ". Nothing is attacked at these budgets, so this is no guarantee against anybody."
    return message(head, sure, _accuracy(proven, of), rest, end)


@sentence("guarantee.clean_nothing", "nothing is attacked and no label is certified", 1870, None)
def clean_nothing(targets: int, of: int | None) -> Text:
    text = "**Nothing is guaranteed, even without any attack**: **0 of {targets}** {labels} have a certificate."
    return filled(text, targets=targets, labels=_labels(of))


# --- confidence and subject ------------------------------------------------------------------------------------------


def confidence(instance: Instance) -> Text:
    """The confidence, from the arrays of the instance; what only the file's metadata state is marked as such."""
    facts = instance.base.facts
    if "alpha" in facts:
        return sampled(str(facts["alpha"]), int(facts.get("samples", facts.get("n_samples", 0))))
    if ballots_of(instance) is not None:
        return deterministic()
    return given(convex=said_convex(instance))


@sentence("confidence.sampled", "the base certificate rests on votes", "0.01", 10**6)
def sampled(alpha: str, number: int) -> Text:
    drawn = f", {samples(number)} samples per node" if number else ""
    return message(f" (confidence {confidence_text(alpha, 100)} % for all nodes together{drawn})")


@sentence("confidence.given", "the base certificate is given as a grid; the end only if the file calls it convex", True)
def given(convex: bool) -> Text:
    kind = " (a convex relaxation, deterministic, according to the file)" if convex else ""
    return message(f", as far as the base certificate holds{kind}")


def said_convex(instance: Instance) -> bool:
    """Whether the metadata name a convex relaxation as base certificate; the arrays cannot show it."""
    return (
        not {"alpha", "weights_read_edges"} & set(instance.base.facts)
        and instance.meta.get("types") == BundleTypes.CONVEX
    )


def subject(instance: Instance, holds: bool = True) -> Text:
    """Which model's labels, on which graph."""
    dataset = instance.meta.get("dataset")
    if "alpha" in instance.base.facts:
        whose = "the smoothed classifier"
    elif ballots_of(instance) is not None:
        whose = "the classifier that sums the ballots of neighbours"
    else:
        whose = "the classifier that the base certificate speaks about"
    explicit = instance.node_field is not None
    return about(whose, dataset_title(dataset) if isinstance(dataset, str) else "", holds, explicit)


@sentence(
    "guarantee.subject",
    "always, after a guarantee and after the word that there is none",
    "the smoothed classifier", "Citeseer", True, False,
    others=(("the classifier that the base certificate speaks about", "", False, True),
            ("the classifier that sums the ballots of neighbours", "Cora", True, False)),
)  # fmt: skip
def about(whose: str, dataset: str, holds: bool, explicit: bool) -> Text:
    called = message(" (", name(dataset, 40), " according to its file)") if dataset.strip() else message()
    fields = f", with the receptive {AS_GIVEN}" if explicit else ""
    return message(f"This {'holds for' if holds else 'is about'} {whose} on this one clean graph", called, fields, ".")


# --- remarks --------------------------------------------------------------------------------------------------------


def remarks(instance: Instance, threat: ThreatModel) -> list[Text]:
    """Remarks that are required beside every number at these budgets, on screen, in the terminal and in reports."""
    found = []
    missing = uncovered(instance, threat)
    if missing:
        found.append(not_covered(listing([LABELS[kind] for kind in missing])))
    real = [entry.plural for entry, budget in zip(TABLE, threat.budgets) if budget and not entry.whole]
    if real:
        found.append(real_amounts(listing(real)))
    if threat.attr_l2 or threat.attr_l2_sum:
        found += _distances(instance, threat)
    hops = instance.node_field is None and instance.edge_field == EdgeField.MESSAGES
    if threat.adj_del and hops and not whole_graph(instance, threat) and ballots_of(instance) is None:
        found.append(messages())
    return [*found, *ballot_remarks(instance, threat)]


def _distances(instance: Instance, threat: ThreatModel) -> list[Text]:
    """What is measured by the lengths of a threat model."""
    facts, scale = instance.base.facts, instance.scale
    if scale is None:
        return []
    length = threat.attr_l2_sum or threat.attr_l2
    deviations = f"{float(length / scale.std):.3g}"
    said = [distances(decimal_text(length), decimal_text(scale.std), deviations, str(facts.get("lattice", "")))]
    rounding = instance.meta.get("rounding")
    moved = f"{rounding:.3g}" if isinstance(rounding, int | float) and rounding > 0 else ""
    said.append(behind_map() if facts.get("noise_at") == "first map" else from_lattice(moved))
    return [*said, *_beside(instance, length)]


def _beside(instance: Instance, length: Fraction) -> list[Text]:
    """Accuracy of a network that ignores edges at this distance, if the file has it at this one or a larger one."""
    control = instance.meta.get("control")
    curve = control.get("certified_accuracy") if isinstance(control, dict) else None
    known = {}
    for text, share in curve.items() if isinstance(curve, dict) else ():
        with contextlib.suppress(ValueError):
            if isinstance(share, int | float) and 0 <= share <= 1:
                known[exact_fraction(str(text))] = float(share)
    reached = [distance for distance in known if distance >= length]
    if not reached:
        return []
    return [ignores_edges(percent_down(known[min(reached)]), decimal_text(min(reached)))]


ignores_edges = template(
    "remark.control", "the file tells the certified accuracy of a smoothed MLP at this distance or a larger one",
    "For comparison, as the file tells: a smoothed MLP that ignores edges keeps {share} certified accuracy up to the "
    "distance {distance}.", share="57.3 %", distance="2",
)  # fmt: skip
distances = template(
    "remark.distance", "the attributes may be moved by a distance",
    "Distances are in the units of the attributes that the model reads: {length} is {deviations} standard deviations "
    "of the noise ({std}, drawn on multiples of {lattice}). Any values are admitted, also outside the range of the "
    "data; edges that were computed from attributes stay as they are.",
    length="0.3", std="0.06", deviations="5", lattice="2^-9",
)  # fmt: skip


@sentence(
    "remark.lattice", "the same, and the noise is added to the attributes; the end only if the file tells the distance",
    "0.021", others=(("",),),
)  # fmt: skip
def from_lattice(moved: str) -> Text:
    far = f", which are {moved} away from those that were given" if moved else ""
    return message(
        f"Changes are measured from the attributes rounded to these multiples{far}: for changes of the attributes as "
        "they were given, that distance counts as well."
    )


behind_map = template(
    "remark.map", "the same, and the noise is added behind the first linear map of the model",
    "The noise lies behind the first linear map of the model: the needs account for what the map stretches and for "
    "what rounding behind it moves, and changes are measured from the attributes as they are.",
)  # fmt: skip


def uncovered(instance: Instance, threat: ThreatModel) -> list[str]:
    """Types with a budget that the base certificate does not cover."""
    return [kind for kind, budget in zip(TYPES, threat.budgets) if budget and kind not in instance.base.axes]


not_covered = template(
    "remark.uncovered", "a type with a budget is not covered by the base certificate",
    "The base certificate says nothing about {types}: each such flip counts as breaking every target in whose "
    "receptive field it lies.", types="attribute deletions",
)  # fmt: skip
real_amounts = template(
    "remark.real", "a type with a budget has real amounts",
    "The amounts of {types} are real numbers. Rows of the strong form hold for whole numbers only: where it is asked "
    "for, the tight form answers. Attacks are looked for in whole units.", types="attribute shifts",
)  # fmt: skip
messages = template(
    "remark.messages",
    "edges can be deleted, and the fields follow the edge rule of the paper (not where fields are the whole graph)",
    "The receptive fields follow the edge rule `messages`. It is sound for row-normalised and attention models; for "
    "the usual symmetric GCN it overstates robustness against edge deletions and serves comparison only.",
)  # fmt: skip
not_per_node = template(
    "remark.not_per_node", "beside every count",
    "The number is about all targets together. Apart from targets that are certified on their own it does not say "
    "which labels stay.",
)  # fmt: skip


# --- numbers beside it ----------------------------------------------------------------------------------------------


def accepted(instance: Instance, threat: ThreatModel, certified: int, targets: int) -> Text:
    """The statement of an accepted proof: the guarantee, its assumptions, and its remarks."""
    sentence = promise(instance, threat, targets, certified, certified)
    return paragraph([sentence, _rests_on(instance, threat), *remarks(instance, threat)])


def _rests_on(instance: Instance, threat: ThreatModel) -> Text:
    if whole_graph(instance, threat):
        fields = "fields: the whole graph"
    elif instance.node_field is not None:
        fields = AS_GIVEN
    else:
        fields = f"fields: {instance.layers} layers with the edge rule {instance.edge_field}"
    alpha = instance.base.facts.get("alpha")
    if ballots_of(instance) is not None:
        base = "ballots, summed here again, for certain: no sampling"
    elif alpha is None:
        base = "a grid, as far as it holds"
    else:
        sure = f"confidence {confidence_text(str(alpha), 100)} % for all nodes together"
        base = f"votes by the {instance.base_rule} rule, {sure}"
    return rests_on(fields, base)


rests_on = template(
    "accepted.rests_on", "a proof was accepted; the small checker says it in the same words",
    "It rests on these: {fields}; base certificate: {base}.",
    fields="fields: 2 layers with the edge rule degrees",
    base="votes by the binary rule, confidence 99 % for all nodes together",
    others=((AS_GIVEN, "a grid, as far as it holds"),),
)  # fmt: skip


@sentence("preview", "a solve is under way and multipliers known before prove something", 1100, 1870)
def preview(certified: int, whole: int) -> Text:
    share = share_down(certified, whole)
    return message(f"already proven for these budgets: at least {_of(certified, whole)} ({share})")


no_preview = template(
    "preview.nothing", "a solve is under way and nothing is proven yet", "nothing is proven for these budgets yet",
)  # fmt: skip


def known_already(certified: int, whole: int) -> Text:
    """`whole`: the number of targets, or of all labels asked about if the targets are the correct ones."""
    return preview(certified, whole) if certified else no_preview()


def bracket(certificate: Certificate) -> tuple[str, Text]:
    """Lower and upper bound on the number of uncertified targets: by the best attack found, and by the proof."""
    found = certificate.attack_found
    proven = certificate.targets - certificate.verified_certified
    claimed = proven if certificate.verified else min(proven, certificate.targets - certificate.certified)
    text = f"{'?' if found is None else count(found)} … {count(proven)}"
    return text, between(found, proven, claimed)


@sentence("bracket", "beside every count of uncertified targets", 135, 613, 540)
def between(found: int | None, proven: int, claimed: int) -> Text:
    best, solver = "No attack was looked for", ""
    if found is not None:
        best = f"The best integer attack found, replayed, leaves {some(found, 'target', 'targets')} uncertified"
    if claimed < proven:
        solver = f"; according to the solver, whose word is not verified, not more than {count(claimed)}"
    return message(
        f"{best}; it is proven that no attack leaves more than {count(proven)} uncertified{solver}. Targets that were "
        "uncertified before the attack are counted in both. “Uncertified” is about the base certificates: it does not "
        "prove that the model's label changes."
    )


def gain(certificate: Certificate) -> Text:
    """The verified collective count compared with the naive count, node by node."""
    return compared(certificate.verified_certified - certificate.naive_certified)


@sentence("gain", "beside the verified count", 573, others=((0,), (-2,)))
def compared(more: int) -> Text:
    if not more:
        return message("as many as node by node")
    return message(f"{count(abs(more))} {'more' if more > 0 else 'fewer'} than node by node")


@sentence(
    "summary", "in one line, where there is no room for the guarantee; a share of all labels asked about",
    1190, 1257, 1870, False, others=((1190, 1190, 1870, True),),
)  # fmt: skip
def _summary(proven: int, claimed: int, whole: int, correct: bool) -> Text:
    solver = f" (on the solver's claim {count(claimed)})" if claimed > proven else ""
    kind = "labels correct and certified" if correct else "labels certified"
    return message(strong(_of(proven, whole)), f" {kind}, {share_down(proven, whole)}{solver}")


def summary(certificate: Certificate, of: int | None = None) -> Text:
    """`of`: the targets are the correct labels among this many."""
    whole = certificate.targets if of is None else of
    return _summary(certificate.verified_certified, certificate.certified, whole, of is not None)


def base_kind(instance: Instance) -> tuple[str, str]:
    """The kind of base certificate, and whether arrays or metadata show it."""
    facts: dict[str, Any] = instance.base.facts
    if said_convex(instance):
        return "Grid", "A grid of budgets per node; according to the file it comes from a convex relaxation."
    if ballots_of(instance) is not None:
        return "Ballots", "What nodes show, summed over neighbours: deterministic, without samples."
    return str(facts.get("kind", "smoothing")).capitalize(), "How the base certificate was made."
