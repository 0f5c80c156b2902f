"""How a solve ended, and how much can be promised: nothing unverified is called proven."""

from __future__ import annotations

from fractions import Fraction

from certcore.base.exact import decimal_text
from certcore.common.rounding import rounded_up
from certcore.domain.perturbations import LABELS
from certcore.result.certificate import Certificate
from certcore.solve.status import Status
from certcore.sweep.radius import Radius
from certcore.words.registry import sentence
from certcore.words.text import Text, count, say, strong


def status(certificate: Certificate) -> Text:
    """How the solve ended, and what that means for the number beside it."""
    if certificate.unproven:
        return solver_status(certificate.status)
    if not certificate.verified:
        return nothing_added(certificate.status)
    if certificate.size is None and certificate.status is Status.OPTIMAL:
        return totals()
    if certificate.closed:
        return closed(certificate.targets - certificate.verified_certified)
    if certificate.relaxation == "strong" and certificate.status in _SEARCHED:
        return searched(certificate.status)
    return proven_status(certificate.status)


@sentence("status.totals", "the count is verified and no solver was needed")
def totals() -> Text:
    return say("Every field is the whole graph, so the totals decide: no solver was needed.")


#: The examples of a sentence that depends on the status.
_EACH = tuple((ended,) for ended in Status)
_PROVEN = {
    Status.OPTIMAL: "The program was solved and its bound proven in exact integers.",
    Status.TIME_LIMIT: "The time limit was reached; the bound is proven but may be improved by allowing more time.",
    Status.INTERRUPTED: "The solve was cancelled; the bound is proven but weak: run it again to the end.",
    Status.RECOMPUTED: "A first answer failed its check; the program was solved again and its bound proven.",
    Status.FAILED: "The solver gave no usable answer; the bound is proven but weak: try another relaxation or budget.",
}
_SOLVER = {
    Status.OPTIMAL: "The integer program was solved to its end; its bound is the solver's word and not verified.",
    Status.TIME_LIMIT: "The time limit was reached; the integer program's bound so far is the solver's word and not "
    "verified.",
    Status.INTERRUPTED: "The integer program was cancelled; its bound so far is the solver's word and not verified.",
    Status.RECOMPUTED: "The integer program was solved again; its bound is the solver's word and not verified.",
    Status.FAILED: "The integer program gave no usable answer; only the verified count stands.",
}


_SEARCHED = {
    Status.OPTIMAL: "The search ran to its end: it finds nothing more that would help. Its bound is proven in exact "
    "integers.",
    Status.TIME_LIMIT: "The search was stopped by its limit; its bound is proven in exact integers, and more time may "
    "improve it.",
    Status.INTERRUPTED: "The search was cancelled; what it had proven in exact integers by then stands.",
}


@sentence("status.closed", "the best attack found breaks as many targets as the proven bound allows", 163)
def closed(broken: int) -> Text:
    return say(
        strong("Optimal, proven"),
        f": a replayed attack leaves {count(broken)} targets uncertified, and it is proven in exact integers that none "
        "leaves more. From these base certificates no larger count can be certified.",
    )


@sentence(
    "status.searched", "the count is verified and found by a search, by status",
    Status.OPTIMAL, others=((Status.TIME_LIMIT,), (Status.INTERRUPTED,)),
)  # fmt: skip
def searched(ended: Status) -> Text:
    return say(_SEARCHED[ended])


@sentence("status.proven", "the count is verified, by status", *_EACH[0], others=_EACH[1:])
def proven_status(ended: Status) -> Text:
    return say(_PROVEN[ended])


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
    return say(f"{how} integer program adds no label to what is proven.")


@sentence("status.solver", "the integer program claims more than is verified, by status", *_EACH[0], others=_EACH[1:])
def solver_status(ended: Status) -> Text:
    return say(_SOLVER[ended])


def limit_words(certificate: Certificate) -> Text:
    """The bound in words, with the source of it."""
    return limit(certificate.bound, certificate.relaxation, certificate.verified)


@sentence(
    "limit", "beside the bound: its source, proven only where it is verified",
    Fraction(6111199, 10000), "tight", True, others=((Fraction(540), "exact", False),),
)  # fmt: skip
def limit(bound: Fraction, relaxation: str, verified: bool) -> Text:
    source = "proven in exact arithmetic" if verified else "the solver's word, not verified"
    return say(f"at most {rounded_up(bound, 4)} ({relaxation}; {source})")


# --- how much can be promised ---------------------------------------------------------------------------------------


def radius(found: Radius) -> Text:
    """The largest budget that keeps a share certified."""
    what = "σ" if found.vary == "sigma" else LABELS.get(found.vary, found.vary)
    share = f"{decimal_text(100 * found.at_least)} %"
    if found.value is None:
        return radius_none(what, share, found.certified, found.needed, found.targets)
    word = "" if found.verified else ", on the solver's word, which is not verified"
    if found.unbounded:
        return radius_unbounded(what, share, found.certified, found.targets, word)
    counts = (found.certified, found.needed, found.targets)
    if found.limit_reached:
        return radius_limit(what, found.value, share, *counts, word)
    return radius_found(what, found.value, share, *counts, found.next_certified, word)


@sentence("radius.none", "not even 0 keeps the share", "attribute deletions", "80 %", 1400, 1496, 1870)
def radius_none(what: str, share: str, certified: int, needed: int, targets: int) -> Text:
    return say(
        strong("No budget"),
        f" keeps {share} of the targets certified: without any {what} {count(certified)} of {count(targets)} are, and "
        f"{count(needed)} were asked for.",
    )


@sentence("radius.unbounded", "the share is kept at every budget", "attribute deletions", "10 %", 700, 1870, "")
def radius_unbounded(what: str, share: str, certified: int, targets: int, word: str) -> Text:
    return say(
        strong("No limit"),
        f": however many {what} there are, at least {count(certified)} of {count(targets)} targets stay certified, "
        f"which is {share} or more{word}.",
    )


@sentence(
    "radius.found", "some budget keeps the share and a larger one does not (or was not reached)",
    "attribute deletions", 12, "80 %", 1500, 1496, 1870, 1490, ", on the solver's word, which is not verified",
)  # fmt: skip
def radius_found(
    what: str, value: int, share: str, certified: int, needed: int, targets: int, after: int | None, word: str
) -> Text:
    more = "" if after is None else f"; for {count(value + 1)} it is {count(after)}, which is too few"
    return say(
        strong(f"{what}: up to {count(value)}"),
        f" keep at least {count(certified)} of {count(targets)} targets certified{word} ({share} were asked for, "
        f"{count(needed)} targets){more}.",
    )


@sentence(
    "radius.limit", "the share is kept at the largest budget there can be, and larger ones were not looked at",
    "attribute deletions", 10**9, "80 %", 1500, 1496, 1870, "",
)  # fmt: skip
def radius_limit(what: str, value: int, share: str, certified: int, needed: int, targets: int, word: str) -> Text:
    return say(
        strong(f"{what}: up to {count(value)}"),
        f" keep at least {count(certified)} of {count(targets)} targets certified{word} ({share} were asked for, "
        f"{count(needed)} targets). A threat model holds no larger budget, so none was looked at.",
    )
