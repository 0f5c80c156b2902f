"""Sentences about weights of targets: sums of weights instead of numbers of labels."""

from __future__ import annotations

from fractions import Fraction

import numpy as np

from certcore.common.exact import decimal_text
from certcore.common.rounding import rounded_up, share_down
from certcore.domain.threat import ThreatModel
from certcore.domain.weights import DEGREE, Weights
from certcore.instance.instance import Instance
from certcore.messages.text import Text, count, message, some, text


def weights_of(instance: Instance, threat: ThreatModel) -> Weights | None:
    """The weights of a threat model on this instance; None if labels are counted."""
    found: Weights | None = threat.weighed(instance.graph, np.asarray(instance.targets)).weights
    return found


def amount(threat: ThreatModel, number: int) -> str:
    """A count, or a sum of weights as they were given, with thousands separators."""
    if not isinstance(threat.weights, Weights):
        return count(number)
    whole, _, rest = decimal_text(threat.weights.exact(number)).partition(".")
    return f"{int(whole):,}{'.' if rest else ''}{rest}"


def counted(threat: ThreatModel, what: str = "targets") -> str:
    """What is counted: targets, or units of weight."""
    return what if threat.weights is None else "units of weight"


def at_most(threat: ThreatModel, bound: Fraction) -> str:
    """An upper bound on what is lost, rounded up; with weights in words."""
    weights = threat.weights
    if not isinstance(weights, Weights):
        return rounded_up(bound, 4)
    return f"{rounded_up(weights.exact(1) * bound, 4)} {counted(threat)}"


def stays(threat: ThreatModel, total: int, proven: int, confidence: Text) -> Text:
    """The guarantee where something is attacked and something is certified."""
    parts = f"{amount(threat, proven)} of {amount(threat, total)}"
    head = text(f"at least **{share_down(proven, total)} of the weight** stays as it is (**{parts}**), all at once")
    return message(head, confidence, f". The worst-case loss is at most {amount(threat, total - proven)}.")


def nothing(threat: ThreatModel, attacker: str, total: int) -> Text:
    """Something is attacked, and nothing is certified."""
    return text(
        f"**Nothing is guaranteed at these budgets**: **0 of {amount(threat, total)}** {counted(threat)} are certified "
        f"against an attacker with **{attacker}**. It is not ruled out that every certificate is lost, which does not "
        "prove that any label changes."
    )


def clean(threat: ThreatModel, total: int, proven: int, confidence: Text) -> Text:
    """Nothing is attacked."""
    parts = f"**{amount(threat, proven)} of {amount(threat, total)}** {counted(threat)}"
    if not proven:
        return text(f"**Nothing is guaranteed, even without any attack**: {parts} have a certificate.")
    end = ". Nothing is attacked at these budgets, so this is no guarantee against anybody."
    return message(text(f"**Without any attack**: {parts} have a certificate"), confidence, end)


def weighed(weights: Weights) -> Text:
    """Required beside every weighted number: what a label counts."""
    what = "a weight that was given, which is no part of the instance"
    if weights.source == DEGREE:
        what = "the number of edges at its node in the observed graph, also where an attack changes it"
    out = f" {some(weights.left_out, 'node', 'nodes')} of weight 0 are left out." if weights.left_out else ""
    return text(f"Labels are not counted one by one: each counts with {what}.{out}")
