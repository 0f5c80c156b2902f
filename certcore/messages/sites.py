"""One attack in one sentence: where its flips are spent, and how many labels lose their certificate."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from certcore.common.rounding import rounded_up
from certcore.domain.perturbations import ADJ_ADD, ADJ_DEL, INJECT, TABLE
from certcore.messages.registry import sentence, template
from certcore.messages.text import (
    Piece,
    Text,
    budget_words,
    count,
    filled,
    further,
    length,
    message,
    name,
    paragraph,
    some,
    strong,
)
from certcore.result.attack_effects import Reach
from certcore.result.states import NOTHING

#: The most sites of each kind that the sentence names; the list beside the map has all of them.
_MOST = 5


def kept(attacked: bool) -> str:
    """The state of a target that this attack leaves certified, but another one may not."""
    return "Keeps its certificate in this attack; another one may take it" if attacked else "May lose its certificate"


def named_sites(found: Reach) -> list[list[int]]:
    """The sites that the sentence names, in order: nodes, deleted edges, added edges."""
    kinds = (~found.is_edge & ~_new(found), found.amounts[:, ADJ_DEL] > 0, found.amounts[:, ADJ_ADD] > 0)
    return [np.flatnonzero(kind)[:_MOST].tolist() for kind in kinds]


def _new(found: Reach) -> np.ndarray:
    """Which sites are injected nodes."""
    return np.asarray(found.amounts[:, INJECT] > 0)


def attack_words(found: Reach, named: Callable[[int], str], most: int, *, relaxed: bool = False) -> Text:
    """The effect of an attack, or of the relaxed adversary, on the whole graph; site names are pieces of kind `name`.

    For an attack two statements follow. The first bounds all other attacks: each leaves at most `most` targets
    uncertified. The second gives the smallest margin of the other targets. It says “beyond these limits” only if the
    attack uses all of the budgets.
    """
    if relaxed:
        return _relaxed(found) if len(found.ends) else relaxed_nothing()
    done = _done(found, named) if len(found.ends) else attack_nothing()
    lost = int(found.lost.sum())
    before = int(found.broken.sum()) - lost
    return paragraph([done, others(lost, most - before), *_near(found)])


def _relaxed(found: Reach) -> Text:
    total = np.round(found.spent, 6).tolist()
    return relaxed_spends(budget_words(total), len(found.ends), rounded_up(float(found.broken.sum())))


def _near(found: Reach) -> list[Text]:
    ahead = found.margin[found.margin > 0]
    if not len(ahead):
        return []
    return [nearest(int((ahead == ahead.min()).sum()), int(ahead.min()), found.used_up, found.step)]


def _done(found: Reach, named: Callable[[int], str]) -> Text:
    """Where the flips of an attack are spent, and which labels lose their certificate."""
    new, nodes = _new(found), ~found.is_edge & ~_new(found)
    at_nodes, deleted, added = named_sites(found)
    clauses: list[Text] = []
    if nodes.any():
        number = int(nodes.sum())
        spent = np.where([entry.at_nodes for entry in TABLE], found.spent, 0)
        shown = [(named(int(found.ends[s, 0])), float(found.flips[s])) for s in at_nodes]
        clauses.append(spends(budget_words(spent.tolist()), number, _named(shown, number, bool(found.step))))
    for word, sites, kind in (("deletes", deleted, ADJ_DEL), ("adds", added, ADJ_ADD)):
        number = int((found.amounts[:, kind] > 0).sum())
        if number:
            ends = [f"{named(int(found.ends[s, 0]))} – {named(int(found.ends[s, 1]))}" for s in sites]
            clauses.append(changes(word, number, _named([(end, 1.0) for end in ends], number)))
    if new.any():
        clauses.append(joins(int(new.sum()), int(found.reaches()[new].sum())))
    parts: list[Text | str] = ["The attack "]
    for k, one in enumerate(clauses):
        parts += [one] if not k else [" and " if k == len(clauses) - 1 else ", ", one]
    return message(*parts, "; ", breaks(int(found.lost.sum())))


def _named(sites: list[tuple[str, float]], number: int, lengths: bool = False) -> Text:
    parts: list[Text] = []
    for k, (called, flips) in enumerate(sites):
        spent = f" by {length(flips)}" if lengths else f" ×{count(flips)}" if flips > 1 else ""
        parts.append(message(", " if k else "", name(called, 60), spent))
    return message(*parts, ", …" if number > len(sites) else "")


attack_nothing = template(
    "attack.nothing", "the best attack found changes nothing",
    "The best attack found **changes nothing**: no label loses its certificate by it.",
)  # fmt: skip
spends = template(
    "attack.spends", "attributes are flipped in the attack found",
    "spends **{spent}** at **{nodes:node|nodes}** ({named})",
    spent="11 attribute deletions", nodes=7, named=message("902 ×3, 703 ×3, …"),
)  # fmt: skip
changes = template(
    "attack.changes", "edges are deleted or added in the attack found",
    "{word} **{edges:edge|edges}** ({named})", word="deletes", edges=2, named=message("12 – 40, 7 – 9"),
)  # fmt: skip


@sentence("attack.joins", "new nodes are added in the attack found", 10, 50)
def joins(nodes: int, targets: int) -> Text:
    joined = f" and joins them to targets by {some(targets, 'edge', 'edges')}"
    return message("adds ", strong(some(nodes, "new node", "new nodes")), joined)


@sentence("attack.breaks", "after what an attack found does", 135, others=((0,), (1,)))
def breaks(lost: int) -> Text:
    if not lost:
        return message(strong("no label loses its certificate"), ".")
    return message(strong(f"{count(lost)} label{' loses its' if lost == 1 else 's lose their'} certificate"), ".")


@sentence(
    "attack.others",
    "after an attack found: how many certificates it takes, and how many any attack takes at most",
    128, 182, others=((128, 128), (0, 0), (0, 1)),
)  # fmt: skip
def others(lost: int, most: int) -> Text:
    if lost < most:
        return filled(
            "No attack within these limits takes **more than {most:certificate|certificates}** of the labels counted "
            "here (proven); one that takes more than {lost} is not ruled out.", most=most, lost=lost,
        )  # fmt: skip
    limit = strong("more certificates" if lost else "any certificate")
    return message("No attack within these limits takes ", limit, " of the labels counted here (proven).")


@sentence(
    "attack.nearest", "some target keeps its certificate in the attack found, and some number of flips can take it",
    192, 1, True, others=((1, 3, True), (192, 1, False), (192, 1, True, 0.1)),
)  # fmt: skip
def nearest(number: int, margin: int, spent: bool, step: float = 0) -> Text:
    """`spent`: the budgets are used up, so every further flip exceeds them."""
    flips = strong(("at most " if step else "") + further(margin, step))
    end = " away from losing theirs, each counted by itself." if number > 1 else " away from losing its own."
    start = "Beyond these limits, " if spent else "On top of this attack, "
    return message(start, strong(f"{count(number)} more"), " are " if number > 1 else " is ", flips, end)


relaxed_spends = template(
    "attack.relaxed", "the relaxed adversary is shown instead of an attack",
    "The relaxed adversary, which may use fractions, spends **{spent}** over {sites:place|places} and counts "
    "**{broken} labels** as uncertified. It explains the bound; it is **not an attack**.",
    spent="10 attribute deletions", sites=36, broken="252.5",
)  # fmt: skip
relaxed_nothing = template(
    "attack.relaxed-nothing", "the relaxed adversary is shown instead of an attack and spends nothing",
    "The relaxed adversary **spends nothing**. It explains the bound; it is **not an attack**.",
)  # fmt: skip


def why_larger(attack: Reach, relaxed: Reach) -> Text:
    """Why the relaxed adversary breaks more than the attack, in numbers: fractional flips and fractional labels."""
    if not len(relaxed.ends):
        return relaxed_nothing()
    counted = relaxed.uses.any(axis=1)
    shares = relaxed.broken[counted]
    parts = shares < 1 - NOTHING
    whole = relaxed.amounts[:, [entry.whole for entry in TABLE]]
    broken_flips = (np.abs(whole - np.round(whole)) > NOTHING).any(axis=1)
    return larger(
        rounded_up(float(shares.sum())),
        int(attack.lost.sum()),
        (len(relaxed.ends), int(broken_flips.sum()), len(attack.ends)),
        (int(parts.sum()), rounded_up(float(shares[parts].sum()), 1)),
        int((relaxed.margin[counted] != 0).sum()),
    )


@sentence(
    "attack.larger", "the relaxed adversary is shown beside the attack",
    "182.1", 128, (36, 24, 6), (90, "41.5"), 97,
    others=(("5.0", 5, (3, 0, 3), (0, "0.0"), 0), ("5.5", 5, (3, 1, 1), (1, "0.5"), 1)),
)  # fmt: skip
def larger(total: str, lost: int, places: tuple[int, int, int], fractions: tuple[int, str], short: int) -> Text:
    """`places`: sites of the relaxed adversary, those with fractional flips, and sites of the attack. `fractions`: the
    number of labels that are broken fractionally, and their sum. `short`: labels that count although the flips in their
    field are too few.
    """
    spread, split, of_attack = places
    number, together = fractions
    pieces: list[Piece | str] = [
        "Of the labels that have a certificate without an attack the relaxed adversary counts "
    ]
    pieces += [total, ", the attack takes ", strong(count(lost)), ". "]
    if not (split or number or short):
        return message(*pieces, "It uses no fractions here: all that it spends and counts is whole.")
    pieces.append(f"It may use fractions: what it spends is spread over {some(spread, 'place', 'places')}")
    pieces.append(f", with parts of a flip at {count(split)} of them" if split else "")
    pieces.append(f" (the attack: {count(of_attack)})")
    if number:
        pieces += [", and ", strong(some(number, "label counts", "labels count")), f" in part, together as {together}"]
    pieces.append(".")
    if short:
        pieces += [
            " ",
            strong(f"{count(short)} of the labels"),
            " that it counts received too little to become uncertified; in an attack they would not count.",
        ]
    return message(*pieces)
