"""Results in plain words: what is guaranteed, with which confidence, and under which assumption."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import numpy as np

from certcore.base.exact import confidence_text, decimal_text
from certcore.certificate import Certificate
from certcore.instance import Instance
from certcore.perturbations import LABELS, TYPES
from certcore.threat import ThreatModel
from pages.shared.bundles import dataset
from pages.shared.text import budget_words, count, listing, markdown, percent, samples


def threat_words(threat: ThreatModel) -> str:
    """What the attacker may do, in words (Markdown)."""
    parts = [f"at most {budget_words(threat.budgets)}"]
    local = [
        _local(value, name, threat.local_mode)
        for name, value, budget in zip(TYPES, threat.local, threat.budgets)
        # A limit that the global budget keeps anyway is no news.
        if value is not None and budget and (threat.local_mode == "relative" or np.min(np.asarray(value)) < budget)
    ]
    if local:
        whose = "of what the node has" if threat.local_mode == "relative" else "at any one node"
        parts.append(f"no more than {listing(local)} {whose}")
    if threat.sigma is not None:
        parts.append(f"controls at most {count(threat.sigma)} node{'' if threat.sigma == 1 else 's'}")
    if len(threat.protected):
        parts.append(f"cannot touch the {count(len(threat.protected))} protected nodes")
    costs = [
        f"{what} at most {count(np.max(values))}"
        for what, values in (("a flip at a node", threat.node_costs), ("the deletion of an edge", threat.edge_costs))
        if values is not None and np.max(values, initial=1) > 1
    ]
    if costs:  # such budgets are prices, not numbers of flips
        parts.append(f"where flips are weighed with the given costs ({listing(costs)})")
    return ", ".join(parts)


def _local(value: Any, name: str, mode: str) -> str:
    if np.ndim(value):
        return f"the given number of {LABELS[name]}"
    if mode == "relative":
        return f"{decimal_text(Fraction(value))} × {LABELS[name]}"  # rounded up, it would promise too much
    return f"{count(value)} {LABELS[name] if value != 1 else LABELS[name].removesuffix('s')}"


def guarantee(certificate: Certificate, instance: Instance) -> str:
    """The guarantee in one sentence (Markdown)."""
    return (
        f"Whatever an attacker does with **{threat_words(certificate.threat)}**: at least "
        f"**{count(certificate.certified)} of {count(certificate.targets)}** labels stay as they are"
        f"{confidence(instance)}. This holds for this one clean graph ({markdown(dataset(instance), 40)})."
    )


def confidence(instance: Instance) -> str:
    """How sure the guarantee is: sampling has a confidence, a deterministic base certificate has none to give."""
    facts = instance.base.facts
    if "alpha" not in facts:
        if is_convex(instance):
            return " (deterministic: the convex base certificate needs no samples)"
        return ", as far as the base certificate holds"
    number = facts.get("samples", facts.get("n_samples"))
    drawn = f", {samples(int(number))} samples per node" if number else ""
    return f" (confidence {confidence_text(facts['alpha'], 100)} % for all nodes together{drawn})"


def is_convex(instance: Instance) -> bool:
    """Whether the base certificate comes from the convex relaxation, as far as the file tells."""
    return instance.meta.get("types") == "convex"


NOT_PER_NODE = (
    "The number is about all targets together. Apart from nodes that are robust by themselves it does not say "
    "*which* labels stay."
)


def bracket(certificate: Certificate) -> tuple[str, str]:
    """Best attack found … proven bound on attacked targets, and what it means."""
    attacked = certificate.targets - certificate.certified
    found = "?" if certificate.attack_found is None else count(certificate.attack_found)
    text = f"{found} … {count(attacked)}"
    meaning = (
        f"The best integer attack found, replayed, leaves {found} targets uncertified; the proof says that no attack "
        f"reaches more than {count(attacked)}. “Uncertified” is about the base certificates: it does not prove that "
        "the model's label really flips."
    )
    return text, meaning


def fields_note(instance: Instance) -> str:
    """A warning where the instance uses the paper's field rule with a model for which it is not proven."""
    if instance.node_field is None and instance.edge_field == "messages":
        return (
            "This instance uses the edge rule `messages`. It is sound for row-normalised and attention models; for the "
            "usual symmetric GCN it overstates robustness against edge deletions and serves comparison only."
        )
    return ""


def ratio_delta(certificate: Certificate) -> str:
    gain = certificate.certified - certificate.naive_certified
    return f"{count(gain)} more than node by node" if gain else "as many as node by node"


def short(certificate: Certificate) -> str:
    return f"{percent(certificate.ratio)} ({count(certificate.certified)} of {count(certificate.targets)})"


def accuracy(instance: Instance) -> float | None:
    """Accuracy of the certified labels on the test nodes (all nodes without a split); abstaining counts as wrong."""
    if instance.labels is None or instance.prediction is None:
        return None
    test = (
        np.asarray(instance.split) == 2 if instance.split is not None else np.ones(instance.graph.n_nodes, dtype=bool)
    )
    speaks = instance.base.fronts().certified((0, 0, 0, 0))
    right = (np.asarray(instance.labels) == np.asarray(instance.prediction)) & speaks
    return float(right[test].mean()) if test.any() else None
