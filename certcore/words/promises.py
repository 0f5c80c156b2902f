"""What is guaranteed, for whom, how sure it is, and what must be said beside it.

The number in front is always the verified one. What only a solver claims is told in the same sentence, as its word.
"""

from __future__ import annotations

from typing import Any

from certcore.common.exact import confidence_text
from certcore.common.rounding import share_down
from certcore.domain.bundle_types import BundleTypes
from certcore.domain.edge_field import EdgeField
from certcore.domain.perturbations import LABELS, TABLE, TYPES
from certcore.domain.threat import ThreatModel
from certcore.instance.instance import Instance
from certcore.program.problem import whole_graph
from certcore.result.certificate import Certificate
from certcore.words.attacker import attacks_nothing, threat_words, whatever, without
from certcore.words.division import deterministic, division_remarks, votes_over_groups
from certcore.words.registry import sentence
from certcore.words.text import Text, code, count, listing, name, paragraph, samples, say, some, strong

_DATASETS = {"citeseer": "Citeseer", "cora": "Cora", "cora_ml": "Cora-ML", "pubmed": "PubMed"}


#: Explicit fields are a claim of whoever wrote the file: nothing in it shows that the model reads nothing else.
AS_GIVEN = "fields as given in the file"


def dataset_title(name: str) -> str:
    """A dataset's name as people write it."""
    return _DATASETS.get(name, name)


def guarantee(instance: Instance, certificate: Certificate, of: int | None = None) -> Text:
    """The guarantee in one sentence, and what it is about in another; `of` as in `promise`."""
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
    """`proven` labels in exact arithmetic; `claimed` ones according to the solver, if those are more.

    `of`: the targets are the correct labels among so many, and shares are certified accuracies, which are shares of
    all of them.
    """
    if not targets:
        return no_targets()
    attacker = threat_words(threat, directed=instance.graph.directed)
    sure = confidence(instance)
    if attacks_nothing(threat):
        head = say(without(), clean(proven, targets, sure, of)) if claimed else clean_nothing(targets, of)
    elif not claimed:
        head = nothing(attacker, targets, of)
    elif not proven:
        head = say(whatever(attacker), only_solver(claimed, targets, sure, of))
    elif claimed > proven:
        head = say(whatever(attacker), solver(proven, claimed, targets, sure, of))
    else:
        head = say(whatever(attacker), verified(proven, targets, sure, of))
    return paragraph([head, subject(instance, claimed > 0)])


def statement(instance: Instance, certificate: Certificate, of: int | None = None) -> Text:
    """The guarantee with every remark that belongs to it: for reports, files and everybody who quotes it."""
    return paragraph([guarantee(instance, certificate, of), *remarks(instance, certificate.threat)])


def _of(part: int, whole: int) -> str:
    return f"{count(part)} of {count(whole)}"


def _labels(of: int | None) -> str:
    return "labels" if of is None else "correct labels"


def _share(part: int, targets: int, of: int | None) -> str:
    """A share of the targets; of correct labels none is told, because it looks like an accuracy."""
    return f" ({share_down(part, targets)})" if of is None else ""


def _accuracy(part: int, of: int | None) -> Text:
    if of is None:
        return say()
    return say(
        ", a ", strong(f"certified accuracy of {share_down(part, of)}"), f" (of all {count(of)} labels asked about)"
    )


@sentence("guarantee.no_targets", "the target set is empty")
def no_targets() -> Text:
    return say("There are no targets: no label is counted, so ", strong("nothing is guaranteed"), ".")


@sentence(
    "guarantee.verified",
    "something is attacked, the verified count is above 0 and nobody claims more; the accuracy where the targets are "
    "the correct labels",
    1257, 1870, say(" (confidence 99 % for all nodes together, 10⁶ samples per node)"), None,
    others=((1190, 1402, say(" (confidence 99 % for all nodes together, 10⁶ samples per node)"), 1870),),
)  # fmt: skip
def verified(proven: int, targets: int, sure: Text, of: int | None) -> Text:
    return say(
        "at least ",
        strong(_of(proven, targets)),
        f" {_labels(of)} stay as they are{_share(proven, targets, of)}, all at once",
        sure,
        _accuracy(proven, of),
        ".",
    )


@sentence(
    "guarantee.solver",
    "something is attacked and the integer program claims more than is verified, which is above 0",
    1190, 1257, 1870, say(), None, others=((1190, 1257, 1402, say(), 1870),),
)  # fmt: skip
def solver(proven: int, claimed: int, targets: int, sure: Text, of: int | None) -> Text:
    return say(
        "at least ",
        strong(_of(proven, targets)),
        f" {_labels(of)} stay as they are{_share(proven, targets, of)}, all at once",
        sure,
        _accuracy(proven, of),
        f", which is proven in exact arithmetic, and at least {count(claimed)}{_share(claimed, targets, of)} on the "
        "solver's word, which is not verified.",
    )


@sentence(
    "guarantee.only_solver", "something is attacked, nothing is verified, the integer program claims a count",
    31, 1870, say(), None,
)  # fmt: skip
def only_solver(claimed: int, targets: int, sure: Text, of: int | None) -> Text:
    return say(
        strong(_of(0, targets)),
        f" {_labels(of)} are proven to stay, and at least "
        f"{count(claimed)}{_share(claimed, targets, of)} do on the solver's word, which is not verified",
        sure,
        ".",
    )


@sentence(
    "guarantee.nothing", "something is attacked, and neither a proof nor the solver certifies a label",
    "at most 200 attribute deletions in the whole graph", 1870, None,
)  # fmt: skip
def nothing(attacker: str, targets: int, of: int | None) -> Text:
    return say(
        strong("Nothing is guaranteed at these budgets"),
        ": ",
        strong(_of(0, targets)),
        f" {_labels(of)} are certified against an attacker with ",
        strong(attacker),
        ". It is not ruled out that every certificate is lost, which does not prove that any label changes.",
    )


@sentence(
    "guarantee.clean", "nothing is attacked and some labels are certified",
    1759, 1870, say(), None, others=((1402, 1402, say(), 1870),),
)  # fmt: skip
def clean(proven: int, targets: int, sure: Text, of: int | None) -> Text:
    missing = targets - proven
    rest = f"; the other {count(missing)} have no certificate to begin with" if missing else ""
    return say(
        strong(_of(proven, targets)),
        f" {_labels(of)}{_share(proven, targets, of)} have a certificate",
        sure,
        _accuracy(proven, of),
        rest,
        ". Nothing is attacked at these budgets, so this is no guarantee against anybody.",
    )


@sentence("guarantee.clean_nothing", "nothing is attacked and no label is certified", 1870, None)
def clean_nothing(targets: int, of: int | None) -> Text:
    head = strong("Nothing is guaranteed, even without any attack")
    return say(head, ": ", strong(_of(0, targets)), f" {_labels(of)} have a certificate.")


# --- how sure, and about what ---------------------------------------------------------------------------------------


def confidence(instance: Instance) -> Text:
    """How sure it is, from the arrays of the instance; what only the file's metadata say is told as such."""
    facts = instance.base.facts
    if "alpha" in facts:
        return sampled(str(facts["alpha"]), int(facts.get("samples", facts.get("n_samples", 0))))
    if votes_over_groups(instance) is not None:
        return deterministic()
    return given(convex=said_convex(instance))


@sentence("confidence.sampled", "the base certificate rests on votes", "0.01", 10**6)
def sampled(alpha: str, number: int) -> Text:
    drawn = f", {samples(number)} samples per node" if number else ""
    return say(f" (confidence {confidence_text(alpha, 100)} % for all nodes together{drawn})")


@sentence("confidence.given", "the base certificate is given as a grid; the end only if the file calls it convex", True)
def given(convex: bool) -> Text:
    told = " (a convex relaxation, deterministic, according to the file)" if convex else ""
    return say(f", as far as the base certificate holds{told}")


def said_convex(instance: Instance) -> bool:
    """Whether the file says that its base certificate is a convex relaxation; nothing in the arrays shows it."""
    return (
        not {"alpha", "weights_read_edges"} & set(instance.base.facts)
        and instance.meta.get("types") == BundleTypes.CONVEX
    )


def subject(instance: Instance, holds: bool = True) -> Text:
    """Whose labels, on which graph."""
    told = instance.meta.get("dataset")
    votes = votes_over_groups(instance)
    if "alpha" in instance.base.facts:
        whose = "the smoothed classifier"
    elif votes is not None:
        whose = f"the majority vote over {some(votes.n_groups, 'group', 'groups')} of edges"
    else:
        whose = "the classifier that the base certificate speaks about"
    explicit = instance.node_field is not None
    return about(whose, dataset_title(told) if isinstance(told, str) else "", holds, explicit)


@sentence(
    "guarantee.subject",
    "always, after a guarantee and after the word that there is none",
    "the smoothed classifier", "Citeseer", True, False,
    others=(("the classifier that the base certificate speaks about", "", False, True),
            ("the majority vote over 3 groups of edges", "Cora", True, False)),
)  # fmt: skip
def about(whose: str, dataset: str, holds: bool, explicit: bool) -> Text:
    called = say(" (", name(dataset, 40), " according to its file)") if dataset.strip() else say()
    fields = f", with the receptive {AS_GIVEN}" if explicit else ""
    return say(f"This {'holds for' if holds else 'is about'} {whose} on this one clean graph", called, fields, ".")


# --- remarks --------------------------------------------------------------------------------------------------------


def remarks(instance: Instance, threat: ThreatModel) -> list[Text]:
    """What must be said beside every number at these budgets, on screen, in the terminal and in reports."""
    found = []
    missing = uncovered(instance, threat)
    if missing:
        found.append(not_covered(listing([LABELS[kind] for kind in missing])))
    real = [entry.plural for entry, budget in zip(TABLE, threat.budgets) if budget and not entry.whole]
    if real:
        found.append(real_amounts(listing(real)))
    hops = instance.node_field is None and instance.edge_field == EdgeField.MESSAGES
    if threat.adj_del and hops and not whole_graph(instance, threat) and votes_over_groups(instance) is None:
        found.append(messages())
    return [*found, *division_remarks(instance, threat)]


def uncovered(instance: Instance, threat: ThreatModel) -> list[str]:
    """Types with a budget that the base certificate says nothing about."""
    return [kind for kind, budget in zip(TYPES, threat.budgets) if budget and kind not in instance.base.axes]


@sentence(
    "remark.uncovered", "a type with a budget is not covered by the base certificate", "attribute deletions"
)  # fmt: skip
def not_covered(types: str) -> Text:
    return say(
        f"The base certificate says nothing about {types}: each such flip counts as breaking every target in whose "
        "receptive field it lies."
    )


@sentence("remark.real", "a type with a budget has real amounts", "attribute shifts")
def real_amounts(types: str) -> Text:
    return say(
        f"The amounts of {types} are real numbers. Rows of the strong form hold for whole numbers only: where it is "
        "asked for, the tight form answers. Attacks are looked for in whole units."
    )


@sentence(
    "remark.messages",
    "edges can be deleted, and the fields follow the edge rule of the paper (not where fields are the whole graph)",
)
def messages() -> Text:
    return say(
        "The receptive fields follow the edge rule ",
        code(EdgeField.MESSAGES),
        ". It is sound for row-normalised and attention models; for the usual symmetric GCN it overstates robustness "
        "against edge deletions and serves comparison only.",
    )


@sentence("remark.not_per_node", "beside every count")
def not_per_node() -> Text:
    return say(
        "The number is about all targets together. Apart from targets that are certified on their own it does not say "
        "which labels stay."
    )


# --- numbers beside it ----------------------------------------------------------------------------------------------


def accepted(instance: Instance, threat: ThreatModel, certified: int, targets: int) -> Text:
    """What an accepted proof shows: the guarantee, what it rests on, and the remarks that belong to it."""
    told = promise(instance, threat, targets, certified, certified)
    return paragraph([told, _rests_on(instance, threat), *remarks(instance, threat)])


def _rests_on(instance: Instance, threat: ThreatModel) -> Text:
    if whole_graph(instance, threat):
        fields = "fields: the whole graph"
    elif instance.node_field is not None:
        fields = AS_GIVEN
    else:
        fields = f"fields: {instance.layers} layers with the edge rule {instance.edge_field}"
    votes, alpha = votes_over_groups(instance), instance.base.facts.get("alpha")
    if votes is not None:
        base = f"votes over {votes.n_groups} groups of edges, for certain: no sampling"
    elif alpha is None:
        base = "a grid, as far as it holds"
    else:
        sure = f"confidence {confidence_text(str(alpha), 100)} % for all nodes together"
        base = f"votes by the {instance.base_rule} rule, {sure}"
    return rests_on(fields, base)


@sentence(
    "accepted.rests_on", "a proof was accepted; the small checker says it in the same words",
    "fields: 2 layers with the edge rule degrees", "votes by the binary rule, confidence 99 % for all nodes together",
    others=((AS_GIVEN, "a grid, as far as it holds"),),
)  # fmt: skip
def rests_on(fields: str, base: str) -> Text:
    return say(f"It rests on these: {fields}; base certificate: {base}.")


@sentence("preview", "a solve is under way and multipliers known before prove something", 1100, 1870)
def preview(certified: int, whole: int) -> Text:
    return say(f"already proven for these budgets: at least {_of(certified, whole)} ({share_down(certified, whole)})")


@sentence("preview.nothing", "a solve is under way and nothing is proven yet")
def no_preview() -> Text:
    return say("nothing is proven for these budgets yet")


def known_already(certified: int, whole: int) -> Text:
    """`whole`: the targets, or all labels asked about where the targets are the correct ones."""
    return preview(certified, whole) if certified else no_preview()


def bracket(certificate: Certificate) -> tuple[str, Text]:
    """How many targets are uncertified: by the best attack found … at most, and what that means."""
    found = certificate.attack_found
    proven = certificate.targets - certificate.verified_certified
    told = proven if certificate.verified else min(proven, certificate.targets - certificate.certified)
    text = f"{'?' if found is None else count(found)} … {count(proven)}"
    return text, between(found, proven, told)


@sentence("bracket", "beside every count of uncertified targets", 135, 613, 540)
def between(found: int | None, proven: int, told: int) -> Text:
    best = (
        "No attack was looked for"
        if found is None
        else f"The best integer attack found, replayed, leaves {some(found, 'target', 'targets')} uncertified"
    )
    solver = (
        f"; according to the solver, whose word is not verified, not more than {count(told)}" if told < proven else ""
    )
    return say(
        f"{best}; it is proven that no attack leaves more than {count(proven)} uncertified{solver}. Targets that were "
        "uncertified before the attack are counted in both. “Uncertified” is about the base certificates: it does not "
        "prove that the model's label changes."
    )


def gain(certificate: Certificate) -> Text:
    """How the verified count compares with counting node by node."""
    return compared(certificate.verified_certified - certificate.naive_certified)


@sentence("gain", "beside the verified count", 573, others=((0,), (-2,)))
def compared(more: int) -> Text:
    if not more:
        return say("as many as node by node")
    return say(f"{count(abs(more))} {'more' if more > 0 else 'fewer'} than node by node")


@sentence(
    "summary", "in one line, where there is no room for the guarantee; a share of all labels asked about",
    1190, 1257, 1870, False, others=((1190, 1190, 1870, True),),
)  # fmt: skip
def _summary(proven: int, claimed: int, whole: int, correct: bool) -> Text:
    solver = f" (on the solver's word {count(claimed)})" if claimed > proven else ""
    kind = "labels correct and certified" if correct else "labels certified"
    return say(strong(_of(proven, whole)), f" {kind}, {share_down(proven, whole)}{solver}")


def summary(certificate: Certificate, of: int | None = None) -> Text:
    """`of`: the targets are the correct labels among so many."""
    whole = certificate.targets if of is None else of
    return _summary(certificate.verified_certified, certificate.certified, whole, of is not None)


def base_kind(instance: Instance) -> tuple[str, str]:
    """What kind of base certificate it is, and where that is known from."""
    facts: dict[str, Any] = instance.base.facts
    if said_convex(instance):
        return "Grid", "A grid of budgets per node; according to the file it comes from a convex relaxation."
    if votes_over_groups(instance) is not None:
        return "Division", "One vote per group of edges, counted: deterministic, without samples."
    return str(facts.get("kind", "smoothing")).capitalize(), "How the base certificate was made."
