"""The guarantee, its attacker, its confidence, and the remarks that are required beside it.

Every count in a sentence is proven in exact integers.
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterable
from fractions import Fraction
from typing import Any

import numpy as np

from certcore.base.ballots import BallotsBase
from certcore.common.exact import confidence_text, decimal_text, exact_fraction, together
from certcore.common.rounding import percent_down, share_down
from certcore.domain.bundle_types import BundleTypes
from certcore.domain.edge_field import EdgeField
from certcore.domain.perturbations import LABELS, TABLE, TYPES
from certcore.domain.threat import ThreatModel
from certcore.instance.instance import Instance
from certcore.messages import weights
from certcore.messages.attacker import attacks_nothing, ballots_of, rewritten, threat_words, whatever_happens
from certcore.messages.text import Text, count, listing, message, name, paragraph, samples, text
from certcore.program.problem import whole_graph
from certcore.result.certificate import Certificate

_DATASETS = {
    "citeseer": "Citeseer",
    "cora": "Cora",
    "cora_ml": "Cora-ML",
    "pubmed": "PubMed",
    "pubmed_tfidf": "PubMed (TF-IDF)",
    "digits": "Digits",
}

#: Explicit fields are a claim of the file's author: the file does not show that the model reads nothing else.
AS_GIVEN = "fields as given in the file"


def dataset_title(name: str) -> str:
    """Display name of a dataset."""
    return _DATASETS.get(name, name)


# --- the guarantee ----------------------------------------------------------------------------------------------------


def guarantee(instance: Instance, certificate: Certificate, of: int | None = None) -> Text:
    """The guarantee in one sentence, and its subject (labels and graph) in another; `of` as in `promise`."""
    return promise(instance, certificate.threat, certificate.targets, certificate.certified, of)


def promise(instance: Instance, threat: ThreatModel, targets: int, proven: int, of: int | None = None) -> Text:
    """The guarantee: `proven` labels in exact arithmetic.

    `of`: the targets are the correct labels among this many nodes. Then shares are certified accuracies, which are
    fractions of all these nodes.
    """
    if not targets:
        return no_targets()
    if threat.weights is not None:
        return paragraph([_weighted(instance, threat, targets, proven), subject(instance, proven > 0)])
    if attacks_nothing(threat, instance):
        head = _clean(instance, proven, targets, of)
    elif not proven:
        head = _nothing(threat_words(threat, directed=instance.graph.directed), targets, of)
    else:
        opening = whatever_happens(threat, rewritten(instance, threat), directed=instance.graph.directed)
        head = message(opening, _stay(instance, proven, targets, of))
    return paragraph([head, subject(instance, proven > 0)])


def _weighted(instance: Instance, threat: ThreatModel, total: int, proven: int) -> Text:
    """The guarantee about sums of weights."""
    threat = threat.weighed(instance.graph, np.asarray(instance.targets))
    if attacks_nothing(threat, instance):
        return weights.clean(threat, total, proven, confidence(instance))
    if not proven:
        return weights.nothing(threat, threat_words(threat, directed=instance.graph.directed), total)
    opening = whatever_happens(threat, rewritten(instance, threat), directed=instance.graph.directed)
    return message(opening, weights.stays(threat, total, proven, confidence(instance)))


def statement(instance: Instance, certificate: Certificate, of: int | None = None) -> Text:
    """The guarantee with all its remarks, for reports, files and quotations."""
    return paragraph([guarantee(instance, certificate, of), *remarks(instance, certificate.threat)])


def no_targets() -> Text:
    return text("There are no targets: no label is counted, so **nothing is guaranteed**.")


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
    return text(f", a **certified accuracy of {share_down(part, of)}** (of all {count(of)} labels asked about)")


def _stay(instance: Instance, proven: int, targets: int, of: int | None) -> Text:
    """Something is attacked, and something is certified."""
    share = _share(proven, targets, of)
    head = text(f"at least **{_of(proven, targets)}** {_labels(of)} stay as they are{share}, all at once")
    return message(head, confidence(instance), _accuracy(proven, of), ".")


def _nothing(attacker: str, targets: int, of: int | None) -> Text:
    """Something is attacked, and nothing is certified."""
    return text(
        f"**Nothing is guaranteed at these budgets**: **0 of {count(targets)}** {_labels(of)} are certified against an "
        f"attacker with **{attacker}**. It is not ruled out that every certificate is lost, which does not prove that "
        "any label changes."
    )


def _clean(instance: Instance, proven: int, targets: int, of: int | None) -> Text:
    """Nothing is attacked."""
    if not proven:
        start = "**Nothing is guaranteed, even without any attack**"
        return text(f"{start}: **0 of {count(targets)}** {_labels(of)} have a certificate.")
    missing = targets - proven
    share = _share(proven, targets, of)
    head = text(f"**Without any attack**: **{_of(proven, targets)}** {_labels(of)}{share} have a certificate")
    rest = f"; the other {count(missing)} have no certificate to begin with" if missing else ""
    end = ". Nothing is attacked at these budgets, so this is no guarantee against anybody."
    return message(head, confidence(instance), _accuracy(proven, of), rest, end)


# --- confidence and subject -------------------------------------------------------------------------------------------


def confidence(instance: Instance) -> Text:
    """The confidence, from the arrays of the instance; what only the file's metadata state is marked as such."""
    facts = instance.base.facts
    if "alpha" in facts:
        number = int(facts.get("samples", facts.get("n_samples", 0)))
        drawn = f", {samples(number)} samples per node" if number else ""
        return text(f" (confidence {confidence_text(str(facts['alpha']), 100)} % for all nodes together{drawn})")
    ballots = ballots_of(instance)
    if ballots is not None:
        return text(f", {own_attributes(ballots)}: ballots are summed in whole numbers and nothing is sampled")
    kind = " (a convex relaxation, deterministic, according to the file)" if said_convex(instance) else ""
    return text(f", as far as the base certificate holds{kind}")


def own_attributes(base: BallotsBase) -> str:
    """The assumption behind ballots, and whether a model was checked; the small checker has the same words."""
    known = "taken as given"
    if base.checked is not None:
        known = f"checked on a model on {count(base.checked)} of {count(base.n_nodes)} rows, according to the file"
    return f"provided that every ballot is made from its node's own attributes alone ({known})"


def joint_confidence(instances: Iterable[Instance]) -> Text | None:
    """The confidence with which the certificates of several instances hold at once; None if none of them is sampled.

    The same votes count once. A deterministic base certificate adds nothing.
    """
    known = {instance.digest: instance.base.facts.get("alpha") for instance in instances}
    alphas = [str(alpha) for alpha in known.values() if alpha is not None]
    if len(known) < 2 or not alphas:
        return None
    sure = confidence_text(together(alphas), 100)
    return text(f"Each certificate has its own confidence; all {len(known)} hold together with at least {sure} %.")


def said_convex(instance: Instance) -> bool:
    """Whether the metadata name a convex relaxation as base certificate; the arrays cannot show it."""
    return (
        not {"alpha", "weights_read_edges"} & set(instance.base.facts)
        and instance.meta.get("types") == BundleTypes.CONVEX
    )


def subject(instance: Instance, holds: bool = True) -> Text:
    """Which model's labels, on which graph."""
    if "alpha" in instance.base.facts:
        model = "the smoothed classifier"
    elif ballots_of(instance) is not None:
        model = "the classifier that sums the ballots of neighbours"
    else:
        model = "the classifier that the base certificate speaks about"
    dataset = instance.meta.get("dataset")
    title = dataset_title(dataset) if isinstance(dataset, str) else ""
    called = message(" (", name(title, 40), " according to its file)") if title.strip() else message()
    fields = f", with the receptive {AS_GIVEN}" if instance.node_field is not None else ""
    return message(
        f"This {'holds for' if holds else 'is about'} {model} on this one observed graph", called, fields, "."
    )


# --- remarks ----------------------------------------------------------------------------------------------------------


def remarks(instance: Instance, threat: ThreatModel) -> list[Text]:
    """Remarks that are required beside every number at these budgets, on screen, in the terminal and in reports."""
    found = []
    given = weights.weights_of(instance, threat)
    if given is not None:
        found.append(weights.weighed(given))
    missing = uncovered(instance, threat)
    if missing:
        found.append(not_covered(listing([LABELS[kind] for kind in missing])))
    real = [entry.plural for entry, budget in zip(TABLE, threat.budgets) if budget and not entry.whole]
    if real:
        found.append(_real_amounts(listing(real)))
    if threat.attr_l2:
        found += _distances(instance, threat)
    if for_means_only(instance, threat):
        found.append(
            text(
                "The receptive fields follow the edge rule `messages`. It is sound for row-normalised and attention "
                "models; for the usual symmetric GCN it overstates robustness against edge deletions and serves "
                "comparison only."
            )
        )
    if changes_sums(instance, threat):
        attributes = threat.attr_add + threat.attr_del > 0
        edges = instance.base.facts["weights_read_edges"]
        found.append(_read_edges(attributes) if edges else _read_no_edges(attributes, bool(threat.inject)))
    return found


def uncovered(instance: Instance, threat: ThreatModel) -> list[str]:
    """Types with a budget that the base certificate does not cover."""
    return [kind for kind, budget in zip(TYPES, threat.budgets) if budget and kind not in instance.base.axes]


def not_covered(types: str) -> Text:
    return text(
        f"The base certificate says nothing about {types}: each such flip counts as breaking every target in whose "
        "receptive field it lies."
    )


def for_means_only(instance: Instance, threat: ThreatModel) -> bool:
    """Whether edges can be deleted and the fields follow the edge rule of the paper."""
    hops = instance.node_field is None and instance.edge_field == EdgeField.MESSAGES
    return bool(threat.adj_del and hops and not whole_graph(instance, threat) and ballots_of(instance) is None)


def changes_sums(instance: Instance, threat: ThreatModel) -> bool:
    """Whether edges or new nodes change which ballots are summed."""
    return ballots_of(instance) is not None and threat.adj_add + threat.adj_del + threat.inject > 0


def _real_amounts(types: str) -> Text:
    return text(
        f"The amounts of {types} are real numbers. Rows of the strong form hold for whole numbers only: where it is "
        "asked for, the tight form answers. Attacks are looked for in whole units."
    )


def _distances(instance: Instance, threat: ThreatModel) -> list[Text]:
    """What is measured by the lengths of a threat model."""
    facts, scale = instance.base.facts, instance.scale
    if scale is None:
        return []
    length = threat.attr_l2
    said = text(
        f"Distances are in the units of the attributes that the model reads: {decimal_text(length)} is "
        f"{float(length / scale.std):.3g} standard deviations of the noise ({decimal_text(scale.std)}, drawn on "
        f"multiples of {facts.get('lattice', '')}). Any values are admitted, also outside the range of the data; edges "
        "that were computed from attributes stay as they are."
    )
    behind = _behind_map() if facts.get("noise_at") == "first map" else _from_lattice(instance.meta.get("rounding"))
    return [said, behind, *_beside(instance, length)]


def _read_edges(attributes: bool) -> Text:
    start = "Weights stay as they are" if attributes else "Attributes of the graph and weights stay as they are"
    return text(f"{start}: what is changed before training is **not covered**, because the weights have read edges.")


def _read_no_edges(attributes: bool, new: bool) -> Text:
    """Edges or new nodes are attacked, and the file says that the weights have read no edge."""
    start = "Attributes are changed after training only" if attributes else "Attributes of the graph stay as they are"
    unless = " New nodes must have had no part in training or validation." if new else ""
    return text(
        f"{start}. The same holds if the graph was changed in this way before training, because the weights were, "
        f"according to the file, made without reading an edge.{unless}"
    )


def _from_lattice(rounding: Any) -> Text:
    """The noise is added to the attributes; the file may tell how far their rounding moved them."""
    known = isinstance(rounding, int | float) and rounding > 0
    far = f", which are {rounding:.3g} away from those that were given" if known else ""
    return text(
        f"Changes are measured from the attributes rounded to these multiples{far}: for changes of the attributes as "
        "they were given, that distance counts as well."
    )


def _behind_map() -> Text:
    return text(
        "The noise lies behind the first linear map of the model: the needs account for what the map stretches and for "
        "what rounding behind it moves, and changes are measured from the attributes as they are."
    )


def _beside(instance: Instance, length: Fraction) -> list[Text]:
    """Accuracy of a network that ignores edges at this distance, if the file has it at this one or a larger one."""
    control = instance.meta.get("control")
    curve = control.get("certified_accuracy") if isinstance(control, dict) else None
    known = {}
    for distance, share in curve.items() if isinstance(curve, dict) else ():
        with contextlib.suppress(ValueError):
            if isinstance(share, int | float) and 0 <= share <= 1:
                known[exact_fraction(str(distance))] = float(share)
    reached = [distance for distance in known if distance >= length]
    if not reached:
        return []
    keeps = f"keeps {percent_down(known[min(reached)])} certified accuracy up to the distance"
    return [
        text(
            "For comparison, as the file tells: a smoothed MLP that ignores edges "
            f"{keeps} {decimal_text(min(reached))}."
        )
    ]


def not_per_node() -> Text:
    return text(
        "The number is about all targets together. Apart from targets that are certified on their own it does not say "
        "which labels stay."
    )


# --- an accepted proof ------------------------------------------------------------------------------------------------


def accepted(instance: Instance, threat: ThreatModel, certified: int, targets: int) -> Text:
    """The statement of an accepted proof: the guarantee, its assumptions, and its remarks."""
    sentence = promise(instance, threat, targets, certified)
    return paragraph([sentence, _rests_on(instance, threat), *remarks(instance, threat)])


def _rests_on(instance: Instance, threat: ThreatModel) -> Text:
    """The assumptions of an accepted proof; the small checker says them in the same words."""
    if whole_graph(instance, threat):
        fields = "fields: the whole graph"
    elif instance.node_field is not None:
        fields = AS_GIVEN
    else:
        fields = f"fields: {instance.layers} layers with the edge rule {instance.edge_field}"
    alpha = instance.base.facts.get("alpha")
    ballots = ballots_of(instance)
    if ballots is not None:
        base = f"ballots, deterministic: summed here again without sampling, {own_attributes(ballots)}"
    elif alpha is None:
        base = "a grid, as far as it holds"
    else:
        sure = f"confidence {confidence_text(str(alpha), 100)} % for all nodes together (Bonferroni)"
        base = f"votes by the {instance.base_rule} rule, probabilistic: {sure}"
    return text(f"It rests on these: {fields}; base certificate: {base}.")


# --- numbers beside it ------------------------------------------------------------------------------------------------


def bracket(certificate: Certificate) -> tuple[str, Text]:
    """Lower and upper bound on the number of uncertified targets: by the best attack found, and by the proof."""
    found = certificate.attack_found
    proven, threat = certificate.targets - certificate.certified, certificate.threat
    best = "?" if found is None else weights.amount(threat, found)
    return f"{best} … {weights.amount(threat, proven)}", between(found, proven, threat)


def between(found: int | None, proven: int, threat: ThreatModel | None = None) -> Text:
    threat = ThreatModel() if threat is None else threat
    best = "No attack was looked for"
    if found is not None:
        what = weights.counted(threat, "target" if found == 1 else "targets")
        best = f"The best integer attack found, replayed, leaves {weights.amount(threat, found)} {what} uncertified"
    most = weights.amount(threat, proven)
    return text(
        f"{best}; it is proven that no attack leaves more than {most} uncertified. Targets that were "
        "uncertified before the attack are counted in both. “Uncertified” is about the base certificates: it does not "
        "prove that the model's label changes."
    )


def gain(certificate: Certificate) -> Text:
    """The collective count compared with the naive count."""
    more = certificate.certified - certificate.naive_certified
    if not more:
        return text("as many as the naive certificate")
    size = weights.amount(certificate.threat, abs(more))
    return text(f"{size} {'more' if more > 0 else 'fewer'} than the naive certificate")


def summary(certificate: Certificate, of: int | None = None) -> Text:
    """In one line, where there is no room for the guarantee; `of`: the targets are the correct labels among these."""
    proven, threat = certificate.certified, certificate.threat
    if threat.weights is not None:
        parts = f"{weights.amount(threat, proven)} of {weights.amount(threat, certificate.targets)}"
        return text(f"**{parts}** {weights.counted(threat)} certified, {share_down(proven, certificate.targets)}")
    whole = certificate.targets if of is None else of
    kind = "labels certified" if of is None else "labels correct and certified"
    return text(f"**{_of(proven, whole)}** {kind}, {share_down(proven, whole)}")


def base_kind(instance: Instance) -> tuple[str, str]:
    """The kind of base certificate, whether it is deterministic, and whether arrays or metadata show it."""
    facts: dict[str, Any] = instance.base.facts
    if said_convex(instance):
        about = "a grid of budgets per node; according to the file it comes from a convex relaxation."
        return "Grid", f"Deterministic: {about}"
    ballots = ballots_of(instance)
    if ballots is not None:
        about = "one-hop votes of predictions that read no edges (ballots), summed over neighbours without samples"
        return "Ballots", f"Deterministic: {about}, {own_attributes(ballots)}."
    kind = str(facts.get("kind", "smoothing")).capitalize()
    if "alpha" not in facts:
        return kind, "A grid of budgets per node. The file does not say whether it is deterministic or probabilistic."
    sure = f"1 − α = {confidence_text(str(facts['alpha']), 100)} % for all nodes together (Bonferroni)"
    return kind, f"Probabilistic: votes on random graphs, confidence {sure}."
