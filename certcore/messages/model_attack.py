"""Attacks on the model itself. Only these sentences say *changed*, and always of an attack that was found."""

from __future__ import annotations

from decimal import ROUND_UP, Context
from fractions import Fraction

from certcore.common.exact import confidence_text
from certcore.common.rounding import percent_up
from certcore.instance.instance import Instance
from certcore.messages.registry import sentence, template
from certcore.messages.short import changes
from certcore.messages.text import Text, count, message, some, strong
from certcore.model_attack.stored import FoundAttack


def changed_words(found: FoundAttack | None, asked: int | None = None) -> Text:
    """The number of labels that the largest attack found changes; None: no attack on the model was tried.

    `asked`: the targets are the right labels among this many, and accuracy is a fraction of those.
    """
    if found is None:
        return untried()
    right = found.count.right_after
    whole = len(found.count.targets) if asked is None else asked
    share = "" if right is None or not whole else percent_up(Fraction(right, whole))
    return changed(found.count.n_changed, len(found.count.targets), spent_words(found), how_sure(found), share)


def short_changed(found: FoundAttack) -> Text:
    """A short form of `changed_words`."""
    sure = "for certain" if found.count.alpha is None else f"{confidence_text(found.count.alpha, 100)} % confidence"
    return changes(count(found.count.n_changed), spent_words(found), sure)


def spent_words(found: FoundAttack) -> str:
    """What an attack spends: flips, new nodes, a distance."""
    return size_words(found.flips, found.distance, found.injected)


def size_words(flips: int, distance: float, injected: int = 0) -> str:
    parts = [some(injected, "new node", "new nodes")] if injected else []
    parts += [f"a distance of {_up(distance)}"] if distance else []
    return " and ".join([some(flips, "flip", "flips"), *parts] if flips or not parts else parts)


def _up(length: float) -> str:
    """A length in four digits, rounded up: an attack spends no more than is said."""
    return f"{Context(prec=4, rounding=ROUND_UP).create_decimal_from_float(length).normalize():f}"


def jointly(instance: Instance, found: FoundAttack | None) -> Text | None:
    """The confidence with which certificate and attack hold together; None if no more than one of them is sampled."""
    alphas = [instance.base.facts.get("alpha"), None if found is None else found.count.alpha]
    if None in alphas:
        return None
    return both_hold(confidence_text(str(min(Fraction(1), sum(Fraction(str(one)) for one in alphas))), 100))


def how_sure(found: FoundAttack) -> str:
    if found.count.alpha is None or found.attack is None:
        return "for certain: the prediction differs"
    return (
        f"exact binomial test on {found.attack.samples:,} new samples, confidence "
        f"{confidence_text(found.count.alpha, 100)} % for all of them together"
    )


@sentence(
    "attack.changed", "an attack on the model was tried that this attacker can make",
    23, 1870, "50 flips", "exact binomial test on 10,000 new samples, confidence 99 % for all of them together",
    "69.0 %", others=((1, 9, "2 flips", "for certain: the prediction differs", ""),),
)  # fmt: skip
def changed(labels: int, targets: int, spent: str, sure: str, accuracy: str) -> Text:
    accuracy_text = f" Accuracy under this attack: {accuracy} at most." if accuracy else ""
    return message(
        f"An attack found with {spent} changes ", strong(f"{labels:,} of {targets:,} labels"),
        f" of the model in fact ({sure}). It is what was found: there may be worse ones.{accuracy_text}",
    )  # fmt: skip


both_hold = template(
    "attack.jointly", "the certificate and an attack on the model stand together, each at a confidence of its own",
    "Certificate and attack each have their own confidence; both hold together with at least {sure} %.", sure="98",
)  # fmt: skip


untried = template(
    "attack.not_tried", "no attack on the model was tried that this attacker can make",
    "No attack on the model was tried within these limits: how many labels change in fact is not known.",
)  # fmt: skip
