"""One attack in one sentence: where its flips are spent, and how many labels lose their certificate by it."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from certcore.common.rounding import rounded_up
from certcore.domain.perturbations import ADJ_ADD, ADJ_DEL
from certcore.result.reach import Reach
from certcore.result.states import NOTHING, TargetState
from certcore.words.registry import sentence
from certcore.words.text import Piece, Text, budget_words, count, name, paragraph, say, some, strong

#: Sites of each kind that the sentence names; the list beside the map has all of them.
_MOST = 5


#: Each state in a legend and beside a node, where nobody explains it: what is true of one target in this attack.
_LEGEND = {
    TargetState.NOT_A_TARGET: "not a target: its label is not counted",
    TargetState.ALONE: "keeps its certificate in every attack within these limits",
    TargetState.UNDECIDED: "keeps its certificate in this attack; another one may take it",
    TargetState.PARTLY: "counted by a fraction by the relaxed adversary",
    TargetState.LOST: "loses its certificate",
    TargetState.BEFORE: "has no certificate even without an attack",
}
#: The relaxed adversary takes no certificate: it is what the bound counts.
_COUNTED = _LEGEND | {
    TargetState.UNDECIDED: "not counted by the relaxed adversary",
    TargetState.LOST: "counted in full by the relaxed adversary",
}


def state_legend(state: TargetState, *, relaxed: bool = False) -> str:
    """A state in words that need no explanation; in the relaxed adversary nothing is lost, the bound counts."""
    return (_COUNTED if relaxed else _LEGEND)[state]


def kept(attacked: bool) -> str:
    """A target that another attack than the one found (if one was looked for) may leave uncertified."""
    return "Keeps its certificate in this attack; another one may take it" if attacked else "May lose its certificate"


def named_sites(found: Reach) -> list[list[int]]:
    """The sites that the sentence names, in its order: nodes, deleted edges, added edges."""
    kinds = (~found.is_edge, found.amounts[:, ADJ_DEL] > 0, found.amounts[:, ADJ_ADD] > 0)
    return [np.flatnonzero(kind)[:_MOST].tolist() for kind in kinds]


def attack_words(
    found: Reach, named: Callable[[int], str], most: int, budgets: tuple[int, ...], *, relaxed: bool = False
) -> Text:
    """What an attack, or the relaxed adversary, does in the whole graph; names of sites are pieces of kind `name`.

    After an attack follow what is proven about all others, `most` being how many targets any of them leaves
    uncertified, and how close the rest is: beyond the limits only if there is nothing left of the `budgets`.
    """
    if relaxed:
        return _relaxed(found) if len(found.ends) else relaxed_nothing()
    done = _done(found, named) if len(found.ends) else attack_nothing()
    lost = int(found.lost.sum())
    before = int(found.broken.sum()) - lost
    spent = bool((found.amounts.sum(axis=0) >= np.asarray(budgets)).all())
    return paragraph([done, others(lost, most - before), *_near(found.margin, spent)])


def _relaxed(found: Reach) -> Text:
    total = np.round(found.amounts.sum(axis=0), 6).tolist()
    return relaxed_spends(budget_words(total), len(found.ends), rounded_up(float(found.broken.sum())))


def _near(margin: np.ndarray, spent: bool) -> list[Text]:
    ahead = margin[margin > 0]
    return [nearest(int((ahead == ahead.min()).sum()), int(ahead.min()), spent)] if len(ahead) else []


def _done(found: Reach, named: Callable[[int], str]) -> Text:
    """Where the flips of an attack are spent, and what they break."""
    nodes = ~found.is_edge
    at_nodes, deleted, added = named_sites(found)
    told: list[Text] = []
    spent = found.amounts[nodes].sum(axis=0)
    if nodes.any():
        shown = [(named(int(found.ends[s, 0])), int(found.flips[s])) for s in at_nodes]
        told.append(spends(budget_words(spent.tolist()), int(nodes.sum()), _named(shown, int(nodes.sum()))))
    for word, sites, kind in (("deletes", deleted, ADJ_DEL), ("adds", added, ADJ_ADD)):
        number = int((found.amounts[:, kind] > 0).sum())
        if number:
            ends = [f"{named(int(found.ends[s, 0]))} – {named(int(found.ends[s, 1]))}" for s in sites]
            told.append(changes(word, number, _named([(end, 1) for end in ends], number)))
    parts: list[Text | str] = ["The attack "]
    for k, one in enumerate(told):
        parts += [one] if not k else [" and " if k == len(told) - 1 else ", ", one]
    return say(*parts, "; ", breaks(int(found.lost.sum())))


def _named(sites: list[tuple[str, int]], number: int) -> Text:
    parts: list[Text] = []
    for k, (called, flips) in enumerate(sites):
        parts.append(say(", " if k else "", name(called, 60), f" ×{count(flips)}" if flips > 1 else ""))
    return say(*parts, ", …" if number > len(sites) else "")


@sentence("attack.nothing", "the best attack found changes nothing")
def attack_nothing() -> Text:
    return say("The best attack found ", strong("changes nothing"), ": no label loses its certificate by it.")


@sentence(
    "attack.spends", "attributes are flipped in the attack found", "11 attribute deletions", 7, say("902 ×3, 703 ×3, …")
)
def spends(spent: str, nodes: int, named: Text) -> Text:
    return say("spends ", strong(spent), " at ", strong(some(nodes, "node", "nodes")), " (", named, ")")


@sentence("attack.changes", "edges are deleted or added in the attack found", "deletes", 2, say("12 – 40, 7 – 9"))
def changes(word: str, edges: int, named: Text) -> Text:
    return say(f"{word} ", strong(some(edges, "edge", "edges")), " (", named, ")")


@sentence("attack.breaks", "after what an attack found does", 135, others=((0,), (1,)))
def breaks(lost: int) -> Text:
    if not lost:
        return say(strong("no label loses its certificate"), ".")
    return say(strong(f"{count(lost)} label{' loses its' if lost == 1 else 's lose their'} certificate"), ".")


@sentence(
    "attack.others",
    "after an attack found: how many certificates it takes, and how many any attack takes at most",
    128, 182, others=((128, 128), (0, 0), (0, 1)),
)  # fmt: skip
def others(lost: int, most: int) -> Text:
    if lost < most:
        told = strong(f"more than {some(most, 'certificate', 'certificates')}")
        return say(
            "No attack within these limits takes ",
            told,
            f" of the labels counted here (proven); one that takes more than {count(lost)} is not ruled out.",
        )
    told = strong("more certificates" if lost else "any certificate")
    return say("No attack within these limits takes ", told, " of the labels counted here (proven).")


@sentence(
    "attack.nearest", "some target keeps its certificate in the attack found, and some number of flips can take it",
    192, 1, True, others=((1, 3, True), (192, 1, False)),
)  # fmt: skip
def nearest(number: int, margin: int, spent: bool) -> Text:
    """`spent`: nothing is left of the budgets, so that every further flip is beyond them."""
    flips = strong(some(margin, "further flip", "further flips"))
    end = " away from losing theirs, each counted by itself." if number > 1 else " away from losing its own."
    start = "Beyond these limits, " if spent else "On top of this attack, "
    return say(start, strong(f"{count(number)} more"), " are " if number > 1 else " is ", flips, end)


@sentence(
    "attack.relaxed", "the relaxed adversary is shown instead of an attack", "10 attribute deletions", 36, "252.5"
)
def relaxed_spends(spent: str, sites: int, broken: str) -> Text:
    return say(
        "The relaxed adversary, which may use fractions, spends ",
        strong(spent),
        f" over {some(sites, 'place', 'places')} and counts ",
        strong(f"{broken} labels"),
        " as uncertified. It explains the bound; it is ",
        strong("not an attack"),
        ".",
    )


@sentence("attack.relaxed-nothing", "the relaxed adversary is shown instead of an attack and spends nothing")
def relaxed_nothing() -> Text:
    return say(
        "The relaxed adversary ",
        strong("spends nothing"),
        ". It explains the bound; it is ",
        strong("not an attack"),
        ".",
    )


def why_larger(attack: Reach, relaxed: Reach) -> Text:
    """Beside both pictures: what the relaxed adversary does and the attack cannot, in numbers of this situation."""
    if not len(relaxed.ends):
        return relaxed_nothing()
    counted = relaxed.uses.any(axis=1)
    shares = relaxed.broken[counted]
    parts = shares < 1 - NOTHING
    broken_flips = (np.abs(relaxed.amounts - np.round(relaxed.amounts)) > NOTHING).any(axis=1)
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
    """`places`: of the relaxed adversary, those with parts of a flip, and of the attack; `fractions`: how many labels
    count in part, and what that adds up to; `short`: labels that count although too little reaches them."""
    spread, split, of_attack = places
    number, together = fractions
    told: list[Piece | str] = ["Of the labels that have a certificate without an attack the relaxed adversary counts "]
    told += [total, ", the attack takes ", strong(count(lost)), ". "]
    if not (split or number or short):
        return say(*told, "It uses no fractions here: all its flips and all the labels it counts are whole.")
    told.append(f"It may use fractions: its flips are spread over {some(spread, 'place', 'places')}")
    told.append(f", with parts of a flip at {count(split)} of them" if split else "")
    told.append(f" (the attack: {count(of_attack)})")
    if number:
        told += [", and ", strong(some(number, "label counts", "labels count")), f" in part, together as {together}"]
    told.append(".")
    if short:
        told += [
            " ",
            strong(f"{count(short)} of the labels"),
            " that it counts received too little to become uncertified; in an attack they would not count.",
        ]
    return say(*told)
