"""Attacks on the model itself. Only these sentences say *changed*, and always of an attack that was found."""

from __future__ import annotations

from fractions import Fraction

from certcore.common.exact import confidence_text
from certcore.common.rounding import percent_up
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
    return changed(found.count.n_changed, len(found.count.targets), found.flips, how_sure(found), share)


def short_changed(found: FoundAttack) -> Text:
    """A short form of `changed_words`."""
    sure = "for certain" if found.count.alpha is None else f"{confidence_text(found.count.alpha, 100)} % confidence"
    return changes(count(found.count.n_changed), count(found.flips), sure)


def how_sure(found: FoundAttack) -> str:
    if found.count.alpha is None:
        return "for certain: the prediction differs"
    return (
        f"exact binomial test on {found.attack.samples:,} new samples, confidence "
        f"{confidence_text(found.count.alpha, 100)} % for all of them together"
    )


@sentence(
    "attack.changed", "an attack on the model was tried that this attacker can make",
    23, 1870, 50, "exact binomial test on 10,000 new samples, confidence 99 % for all of them together", "69.0 %",
    others=((1, 9, 2, "for certain: the prediction differs", ""),),
)  # fmt: skip
def changed(labels: int, targets: int, flips: int, sure: str, accuracy: str) -> Text:
    accuracy_text = f" Accuracy under this attack: {accuracy} at most." if accuracy else ""
    return message(
        "An attack found with ", some(flips, "flip", "flips"), " changes ", strong(f"{labels:,} of {targets:,} labels"),
        f" of the model in fact ({sure}). It is what was found: there may be worse ones.{accuracy_text}",
    )  # fmt: skip


untried = template(
    "attack.not_tried", "no attack on the model was tried that this attacker can make",
    "No attack on the model was tried within these limits: how many labels change in fact is not known.",
)  # fmt: skip
