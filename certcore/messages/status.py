"""How a solve ended, and the largest certified budget."""

from __future__ import annotations

from fractions import Fraction

import numpy as np

from certcore.common.exact import decimal_text
from certcore.common.rounding import share_down
from certcore.domain.perturbations import LABELS
from certcore.domain.threat import ThreatModel
from certcore.instance.instance import Instance
from certcore.messages.attacker import beside
from certcore.messages.guarantee import confidence, no_targets, subject
from certcore.messages.model import share_of_right
from certcore.messages.text import Text, count, message, paragraph, text
from certcore.messages.weights import amount, at_most, counted
from certcore.program.relaxation import Relaxation
from certcore.result.certificate import Certificate
from certcore.solve.status import Status
from certcore.sweep.radii import Radius

_PROVEN = {
    Status.OPTIMAL: "The program was solved and its bound proven in exact integers.",
    Status.TIME_LIMIT: "The time limit was reached; the bound is proven but may be improved by allowing more time.",
    Status.ROUNDS: "The solver used up its rounds; the bound is proven, and more time does not improve it.",
    Status.INTERRUPTED: "The solve was cancelled; the bound is proven but weak: run it again to the end.",
    Status.RECOMPUTED: "A first answer failed its check; the program was solved again and its bound proven.",
    Status.FAILED: "The solver gave no usable answer; the bound is proven but weak: try another relaxation or budget.",
}
_SEARCHED = {
    Status.OPTIMAL: "The search ended by itself, since nothing it tries helps any more; its bound is proven in exact "
    "integers.",
    Status.TIME_LIMIT: "The search was stopped by its limit; its bound is proven in exact integers, and more time may "
    "improve it.",
    Status.INTERRUPTED: "The search was cancelled; what it had proven in exact integers by then stands.",
}
#: Why fewer nodes are suggested than were asked for.
_NO_MORE = {
    Status.TIME_LIMIT: "The time limit ended the search before the next node was found; allow more time.",
    Status.ROUNDS: "The solver used up its rounds for the next node, which ended the search; what is proven stands.",
    Status.INTERRUPTED: "The search was cancelled before the next node was found; what it had proven by then stands.",
    Status.FAILED: "The solver gave no usable answer for the next node, which ended the search; what is proven stands: "
    "try another relaxation or budget.",
}


def status(certificate: Certificate) -> Text:
    """The solver status, and what it means for the number beside it."""
    ended = certificate.status
    if certificate.size is None and ended is Status.OPTIMAL:
        return totals()
    if certificate.closed:
        broken = amount(certificate.threat, certificate.targets - certificate.certified)
        what = counted(certificate.threat)
        return text(
            f"**Optimal, proven**: a replayed attack leaves {broken} {what} uncertified, and it is proven in exact "
            "integers that none leaves more. From these base certificates no larger count can be certified."
        )
    if certificate.relaxation == Relaxation.STRONG and ended in _SEARCHED:
        return text(_SEARCHED[ended])
    return text(_PROVEN[ended])


def totals() -> Text:
    return text("Every field is the whole graph, so the totals decide: no solver was needed.")


def strengthening(before: int, now: int, targets: int) -> Text:
    """While the search improves a number in place."""
    better = f"at least {count(before)} … now {count(now)}" if now > before else f"at least {count(now)}"
    return text(f"{better} of {count(targets)}")


def defence_ended(tries: int, ended: Status, relaxation: str) -> Text:
    """Why fewer nodes to protect were found than asked for."""
    within = " within the limit of each search" if ended is Status.TIME_LIMIT else ""
    if ended.is_final or (within and relaxation == Relaxation.STRONG):
        return text(f"None of the up to {count(tries)} candidates tried next certifies more{within}; try more of them.")
    return text(_NO_MORE[ended])


def limit_words(certificate: Certificate) -> Text:
    """The bound in words, with its source."""
    most = at_most(certificate.threat, certificate.bound)
    return text(f"at most {most} ({certificate.relaxation}; proven in exact arithmetic)")


# --- the largest certified budget -------------------------------------------------------------------------------------


def radius(instance: Instance, threat: ThreatModel, found: Radius, of: np.ndarray | None = None) -> Text:
    """The largest budget at which a share stays certified, with the attacker, the confidence and the subject.

    `of`: the targets are the right labels among these nodes, and the share is a fraction of the right labels.
    """
    if not found.targets:
        return no_targets()
    others = beside(threat, found.vary, directed=instance.graph.directed)
    head = text(f"Against an attacker with **{others}**: ") if others else message()
    promised = found.value is not None and found.needed > 0
    about = [message("All at once", confidence(instance), ".")] if promised else []
    if of is not None:
        if found.needed:
            share = f"{count(found.certified)} of {count(len(of))}, {share_down(found.certified, len(of))}"
            about.append(text(f"Certified accuracy there is {share}."))
        about.append(share_of_right(instance, of))
    weighed = threat.weighed(instance.graph, np.asarray(instance.targets))
    return paragraph([message(head, _largest(found, weighed)), *about, subject(instance, promised)])


def _largest(found: Radius, threat: ThreatModel) -> Text:
    """The largest budget found."""
    what = "attacked nodes σ" if found.vary == "sigma" else LABELS.get(found.vary, found.vary)
    share = f"{decimal_text(100 * found.at_least)} %"
    certified, targets, needed = (amount(threat, n) for n in (found.certified, found.targets, found.needed))
    units = counted(threat)
    if found.value is None:
        return text(
            f"**No budget** was found that keeps {share} of the {units} certified: without any {what} {certified} of "
            f"{targets} are, and {needed} were asked for."
        )
    if not found.needed:
        return text(f"**Nothing was asked for**: {share} of the {units} is none, which every budget keeps.")
    if found.unbounded:
        return text(
            f"**No limit**: however many {what} there are, at least {certified} of {targets} {units} stay certified, "
            f"which is {share} or more."
        )
    kept = text(
        f"**{what}: up to {_value(found.value)}** keep at least {certified} of {targets} {units} certified"
        f" ({share} were asked for, {needed} {units})"
    )
    if found.limit_reached:
        return kept + ". A threat model holds no larger budget, so none was looked at."
    if found.next_value is None or found.next_certified is None:
        return kept + "."
    return kept + f"; for {_value(found.next_value)} it is {amount(threat, found.next_certified)}, which is too few."


def _value(value: float) -> str:
    """A count, or a length with all its digits."""
    return count(value) if isinstance(value, int) else decimal_text(Fraction(repr(value)))
