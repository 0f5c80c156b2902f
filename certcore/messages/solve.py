"""How a solve ended, and the largest certified budget: only verified results are called proven."""

from __future__ import annotations

from fractions import Fraction

import numpy as np

from certcore.common.exact import decimal_text
from certcore.common.rounding import rounded_up, share_down
from certcore.domain.perturbations import LABELS
from certcore.domain.threat import ThreatModel
from certcore.instance.instance import Instance
from certcore.messages.accuracy import share_of_right
from certcore.messages.attacker import beside
from certcore.messages.promises import confidence, no_targets, subject
from certcore.messages.registry import sentence, template
from certcore.messages.text import Text, count, message, paragraph, strong
from certcore.program.relaxation import Relaxation
from certcore.result.certificate import Certificate
from certcore.solve.status import Status
from certcore.sweep.radii import Radius


def status(certificate: Certificate) -> Text:
    """The solver status, and what it means for the number beside it."""
    if certificate.unproven:
        return solver_status(certificate.status)
    if not certificate.verified:
        return nothing_added(certificate.status)
    if certificate.size is None and certificate.status is Status.OPTIMAL:
        return totals()
    if certificate.closed:
        return closed(certificate.targets - certificate.verified_certified)
    if certificate.relaxation == Relaxation.STRONG and certificate.status in _SEARCHED:
        return searched(certificate.status)
    return proven_status(certificate.status)


totals = template(
    "status.totals", "the count is verified and no solver was needed",
    "Every field is the whole graph, so the totals decide: no solver was needed.",
)  # fmt: skip


#: Examples for sentences that depend on the status.
_EACH = tuple((ended,) for ended in Status)
_PROVEN = {
    Status.OPTIMAL: "The program was solved and its bound proven in exact integers.",
    Status.TIME_LIMIT: "The time limit was reached; the bound is proven but may be improved by allowing more time.",
    Status.INTERRUPTED: "The solve was cancelled; the bound is proven but weak: run it again to the end.",
    Status.RECOMPUTED: "A first answer failed its check; the program was solved again and its bound proven.",
    Status.FAILED: "The solver gave no usable answer; the bound is proven but weak: try another relaxation or budget.",
}
_SOLVER = {
    Status.OPTIMAL: "The integer program was solved to its end; its bound is the solver's claim and not verified.",
    Status.TIME_LIMIT: "The time limit was reached; the integer program's bound so far is the solver's claim and not "
    "verified.",
    Status.INTERRUPTED: "The integer program was cancelled; its bound so far is the solver's claim and not verified.",
    Status.RECOMPUTED: "The integer program was solved again; its bound is the solver's claim and not verified.",
    Status.FAILED: "The integer program gave no usable answer; only the verified count stands.",
}


_SEARCHED = {
    Status.OPTIMAL: "The search ended by itself, since nothing it tries helps any more; its bound is proven in exact "
    "integers.",
    Status.TIME_LIMIT: "The search was stopped by its limit; its bound is proven in exact integers, and more time may "
    "improve it.",
    Status.INTERRUPTED: "The search was cancelled; what it had proven in exact integers by then stands.",
}


closed = template(
    "status.closed", "the best attack found breaks as many targets as the proven bound allows",
    "**Optimal, proven**: a replayed attack leaves {broken} targets uncertified, and it is proven in exact integers "
    "that none leaves more. From these base certificates no larger count can be certified.", broken=163,
)  # fmt: skip


@sentence("strengthening", "while the search improves a number in place", 1577, 1611, 1870)
def strengthening(before: int, now: int, targets: int) -> Text:
    better = f"at least {count(before)} … now {count(now)}" if now > before else f"at least {count(now)}"
    return message(f"{better} of {count(targets)}")


@sentence(
    "status.searched", "the count is verified and found by a search, by status",
    Status.OPTIMAL, others=((Status.TIME_LIMIT,), (Status.INTERRUPTED,)),
)  # fmt: skip
def searched(ended: Status) -> Text:
    return message(_SEARCHED[ended])


@sentence("status.proven", "the count is verified, by status", *_EACH[0], others=_EACH[1:])
def proven_status(ended: Status) -> Text:
    return message(_PROVEN[ended])


@sentence(
    "status.nothing_added",
    "the integer program claims no more than is verified, by status",
    *_EACH[0],
    others=_EACH[1:],
)
def nothing_added(ended: Status) -> Text:
    how = {
        Status.TIME_LIMIT: "The time limit was reached; so far the",
        Status.INTERRUPTED: "The solve was cancelled; so far the",
        Status.FAILED: "The solver gave no usable answer; the",
    }.get(ended, "The")
    return message(f"{how} integer program adds no label to what is proven.")


@sentence("status.solver", "the integer program claims more than is verified, by status", *_EACH[0], others=_EACH[1:])
def solver_status(ended: Status) -> Text:
    return message(_SOLVER[ended])


#: Why fewer nodes are suggested than were asked for, by status.
_NO_MORE = {
    Status.TIME_LIMIT: "The time limit ended the search before the next node was found; allow more time.",
    Status.INTERRUPTED: "The search was cancelled before the next node was found; what it had proven by then stands.",
    Status.FAILED: "The solver gave no usable answer for the next node, which ended the search; what is proven stands: "
    "try another relaxation or budget.",
}


@sentence(
    "defence.ended", "fewer nodes to protect were found than asked for, by status", 3, Status.OPTIMAL, "tight",
    others=(*((3, ended, "tight") for ended in _NO_MORE), (3, Status.TIME_LIMIT, "strong")),
)  # fmt: skip
def defence_ended(tries: int, ended: Status, relaxation: str) -> Text:
    within = " within the limit of each search" if ended is Status.TIME_LIMIT else ""
    if ended.is_final or (within and relaxation == Relaxation.STRONG):
        return message(
            f"None of the up to {count(tries)} candidates tried next certifies more{within}; try more of them."
        )
    return message(_NO_MORE[ended])


def limit_words(certificate: Certificate) -> Text:
    """The bound in words, with its source."""
    if certificate.verified:
        return limit(certificate.bound, certificate.relaxation)
    proven = certificate.targets - certificate.verified_certified
    return solver_limit(proven, certificate.bound, certificate.relaxation, certificate.unproven > 0)


@sentence("limit", "beside a bound that is verified", Fraction(6111199, 10000), "tight")
def limit(bound: Fraction, relaxation: str) -> Text:
    return message(f"at most {rounded_up(bound, 4)} ({relaxation}; proven in exact arithmetic)")


@sentence(
    "limit.solver",
    "beside a bound of the integer program: what is proven first, its own only where it is smaller",
    613, Fraction(540), "exact", True, others=((613, Fraction(613), "exact", False),),
)  # fmt: skip
def solver_limit(proven: int, bound: Fraction, relaxation: str, adds: bool) -> Text:
    also = f"; at most {rounded_up(bound, 4)} on the solver's claim ({relaxation}, not verified)" if adds else ""
    return message(f"at most {count(proven)} (proven in exact arithmetic){also}")


# --- the largest certified budget ----------------------------------------------------------------------------------


def radius(instance: Instance, threat: ThreatModel, found: Radius, of: np.ndarray | None = None) -> Text:
    """The largest budget at which a share stays certified, with the attacker, the confidence and the subject.

    `of`: the targets are the right labels among these nodes, and the share is a fraction of the right labels.
    """
    if not found.targets:
        return no_targets()
    what = "attackers (σ)" if found.vary == "sigma" else LABELS.get(found.vary, found.vary)
    share = f"{decimal_text(100 * found.at_least)} %"
    others = beside(threat, found.vary, directed=instance.graph.directed)
    head = radius_attacker(others) if others else message()
    word = "" if found.verified else ", on the solver's claim, which is not verified"
    counts = (found.certified, found.needed, found.targets)
    if found.value is None:
        sentence = radius_none(what, share, *counts, word)
    elif not found.needed:
        sentence = radius_nothing_asked(share)
    elif found.unbounded:
        sentence = radius_unbounded(what, share, found.certified, found.targets, word)
    elif found.limit_reached:
        sentence = radius_limit(what, _value(found.value), share, *counts, word)
    else:
        following = "" if found.next_value is None else _value(found.next_value)
        sentence = radius_found(what, _value(found.value), following, share, *counts, found.next_certified, word)
    promised = found.value is not None and found.needed > 0
    about = [radius_sure(confidence(instance))] if promised else []
    if of is not None:
        about += [radius_accuracy(found.certified, len(of), word)] if found.needed else []
        about.append(share_of_right(instance, of))
    return paragraph([message(head, sentence), *about, subject(instance, promised)])


def _value(value: float) -> str:
    """A count, or a length with all its digits."""
    return count(value) if isinstance(value, int) else decimal_text(Fraction(repr(value)))


radius_attacker = template(
    "radius.attacker", "something else than what is varied is set or limited",
    "Against an attacker with **{rest}**: ",
    rest="at most 3 attribute additions in the whole graph, control of at most 2 nodes",
)  # fmt: skip


@sentence(
    "radius.accuracy", "the targets are the right labels of a larger set, and some were asked for", 1190, 1870, ""
)
def radius_accuracy(certified: int, nodes: int, word: str) -> Text:
    share = f"{count(certified)} of {count(nodes)}, {share_down(certified, nodes)}"
    return message(f"Certified accuracy there is {share}{word}.")


radius_sure = template(
    "radius.sure", "beside every budget that was found",
    "All at once{sure}.", sure=message(" (confidence 99 % for all nodes together)"),
)  # fmt: skip
radius_nothing_asked = template(
    "radius.nothing_asked", "the share asked for is so small that no target is needed for it",
    "**Nothing was asked for**: {share} of the targets is no target, which every budget keeps.", share="0 %",
)  # fmt: skip
radius_none = template(
    "radius.none", "not even 0 keeps the share",
    "**No budget** was found that keeps {share} of the targets certified: without any {what} {certified} of {targets} "
    "are{word}, and {needed} were asked for.",
    what="attribute deletions", share="80 %", certified=1400, needed=1496, targets=1870, word="",
)  # fmt: skip
radius_unbounded = template(
    "radius.unbounded", "the share is kept at every budget",
    "**No limit**: however many {what} there are, at least {certified} of {targets} targets stay certified, which is "
    "{share} or more{word}.", what="attribute deletions", share="10 %", certified=700, targets=1870, word="",
)  # fmt: skip


@sentence(
    "radius.found", "some budget keeps the share and a larger one does not (or was not reached)",
    "attribute deletions", "12", "13", "80 %", 1500, 1496, 1870, 1490, ", on the solver's claim, which is not verified",
)  # fmt: skip
def radius_found(
    what: str,
    value: str,
    following: str,
    share: str,
    certified: int,
    needed: int,
    targets: int,
    after: int | None,
    word: str,
) -> Text:
    more = "" if after is None or not following else f"; for {following} it is {count(after)}, which is too few"
    return message(
        strong(f"{what}: up to {value}"),
        f" keep at least {count(certified)} of {count(targets)} targets certified{word} ({share} were asked for, "
        f"{count(needed)} targets){more}.",
    )


radius_limit = template(
    "radius.limit", "the share is kept at the largest budget there can be, and larger ones were not looked at",
    "**{what}: up to {value}** keep at least {certified} of {targets} targets certified{word} ({share} were asked "
    "for, {needed} targets). A threat model holds no larger budget, so none was looked at.",
    what="attribute deletions", value="1,000,000,000", share="80 %", certified=1500, needed=1496, targets=1870, word="",
)  # fmt: skip
