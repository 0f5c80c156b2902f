"""One attack on the certificates in words: on the whole graph, at one node, and beside the relaxed adversary."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from certcore.common.rounding import rounded_up
from certcore.domain.perturbations import ADJ_ADD, ADJ_DEL, INJECT, TABLE
from certcore.domain.scale import shown
from certcore.instance.instance import Instance
from certcore.messages.attacker import ballots_of
from certcore.messages.text import (
    Piece,
    Text,
    budget_words,
    count,
    further,
    length,
    message,
    name,
    paragraph,
    some,
    strong,
    text,
)
from certcore.result.attack_effects import NEVER, Influence, Reach
from certcore.result.certificate import Certificate
from certcore.result.states import NOTHING, TargetState

#: The most sites of each kind that the sentence names; the list beside the map has all of them.
_MOST_SITES = 5
#: The most places or targets that a sentence about one node names; the table has all of them.
_MOST_PLACES = 8

Naming = Callable[[int], str]


def kept(attacked: bool) -> str:
    """The state of a target that this attack leaves certified, but another one may not."""
    return "Keeps its certificate in this attack; another one may take it" if attacked else "May lose its certificate"


# --- the whole graph --------------------------------------------------------------------------------------------------


def named_sites(found: Reach) -> list[list[int]]:
    """The sites that the sentence names, in order: nodes, deleted edges, added edges."""
    kinds = (~found.is_edge & ~_new(found), found.amounts[:, ADJ_DEL] > 0, found.amounts[:, ADJ_ADD] > 0)
    return [np.flatnonzero(kind)[:_MOST_SITES].tolist() for kind in kinds]


def _new(found: Reach) -> np.ndarray:
    """Which sites are injected nodes."""
    return np.asarray(found.amounts[:, INJECT] > 0)


def attack_words(found: Reach, named: Naming, most: int, *, relaxed: bool = False) -> Text:
    """The effect of an attack, or of the relaxed adversary, on the whole graph; site names are pieces of kind `name`.

    For an attack two statements follow. The first bounds all other attacks: each leaves at most `most` targets
    uncertified. The second gives the smallest margin of the other targets. It says “beyond these limits” only if the
    attack uses all of the budgets.
    """
    if relaxed:
        return _relaxed(found) if len(found.ends) else relaxed_nothing()
    if len(found.ends):
        done = _done(found, named)
    else:
        done = text("The best attack found **changes nothing**: no label loses its certificate by it.")
    lost = int(found.lost.sum())
    before = int(found.broken.sum()) - lost
    return paragraph([done, others(lost, most - before), *_near(found)])


def _relaxed(found: Reach) -> Text:
    spent = budget_words(np.round(found.spent, 6).tolist())
    return text(
        f"The relaxed adversary, which may use fractions, spends **{spent}** over "
        f"{some(len(found.ends), 'place', 'places')} and counts **{rounded_up(float(found.broken.sum()))} labels** as "
        "uncertified. It explains the bound; it is **not an attack**."
    )


def relaxed_nothing() -> Text:
    return text("The relaxed adversary **spends nothing**. It explains the bound; it is **not an attack**.")


def _near(found: Reach) -> list[Text]:
    ahead = found.margin[found.margin > 0]
    if not len(ahead):
        return []
    return [nearest(int((ahead == ahead.min()).sum()), int(ahead.min()), found.used_up, found.step)]


def _done(found: Reach, named: Naming) -> Text:
    """Where the flips of an attack are spent, and which labels lose their certificate."""
    new, nodes = _new(found), ~found.is_edge & ~_new(found)
    at_nodes, deleted, added = named_sites(found)
    clauses: list[Text] = []
    if nodes.any():
        number = int(nodes.sum())
        spent = budget_words(np.where([entry.at_nodes for entry in TABLE], found.spent, 0).tolist())
        sites = [(named(int(found.ends[s, 0])), float(found.flips[s])) for s in at_nodes]
        where = _named(sites, number, bool(found.step))
        clauses.append(message(text(f"spends **{spent}** at **{some(number, 'node', 'nodes')}** ("), where, ")"))
    for word, edges, kind in (("deletes", deleted, ADJ_DEL), ("adds", added, ADJ_ADD)):
        number = int((found.amounts[:, kind] > 0).sum())
        if number:
            ends = [f"{named(int(found.ends[s, 0]))} – {named(int(found.ends[s, 1]))}" for s in edges]
            where = _named([(end, 1.0) for end in ends], number)
            clauses.append(message(text(f"{word} **{some(number, 'edge', 'edges')}** ("), where, ")"))
    if new.any():
        clauses.append(_joins(int(new.sum()), int(found.reaches()[new].sum())))
    parts: list[Text | str] = ["The attack "]
    for k, one in enumerate(clauses):
        parts += [one] if not k else [" and " if k == len(clauses) - 1 else ", ", one]
    return message(*parts, "; ", _breaks(int(found.lost.sum())))


def _named(sites: list[tuple[str, float]], number: int, lengths: bool = False) -> Text:
    parts: list[Text] = []
    for k, (called, flips) in enumerate(sites):
        spent = f" by {length(flips)}" if lengths else f" ×{count(flips)}" if flips > 1 else ""
        parts.append(message(", " if k else "", name(called, 60), spent))
    return message(*parts, ", …" if number > len(sites) else "")


def _joins(nodes: int, edges: int) -> Text:
    added = some(nodes, "new node", "new nodes")
    return text(f"adds **{added}** and joins them to targets by {some(edges, 'edge', 'edges')}")


def _breaks(lost: int) -> Text:
    if not lost:
        return text("**no label loses its certificate**.")
    return text(f"**{count(lost)} label{' loses its' if lost == 1 else 's lose their'} certificate**.")


def others(lost: int, most: int) -> Text:
    """How many certificates any attack takes at most, `lost` of which the one found takes."""
    if lost < most:
        return text(
            f"No attack within these limits takes **more than {some(most, 'certificate', 'certificates')}** of the "
            f"labels counted here (proven); one that takes more than {count(lost)} is not ruled out."
        )
    limit = "more certificates" if lost else "any certificate"
    return text(f"No attack within these limits takes **{limit}** of the labels counted here (proven).")


def nearest(number: int, margin: int, spent: bool, step: float = 0) -> Text:
    """How close the next targets are; `spent`: the budgets are used up, so every further flip exceeds them."""
    start = "Beyond these limits, " if spent else "On top of this attack, "
    away = ("at most " if step else "") + further(margin, step)
    end = "away from losing theirs, each counted by itself." if number > 1 else "away from losing its own."
    return text(f"{start}**{count(number)} more** {'are' if number > 1 else 'is'} **{away}** {end}")


# --- the relaxed adversary beside the attack --------------------------------------------------------------------------


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


def larger(total: str, lost: int, places: tuple[int, int, int], fractions: tuple[int, str], short: int) -> Text:
    """`places`: sites of the relaxed adversary, those with fractional flips, and sites of the attack. `fractions`: the
    number of labels that are broken fractionally, and their sum. `short`: labels that count although the flips in their
    field are too few.
    """
    spread, split, of_attack = places
    number, together = fractions
    head = text(
        "Of the labels that have a certificate without an attack the relaxed adversary counts "
        f"{total}, the attack takes **{count(lost)}**. "
    )
    if not (split or number or short):
        return head + "It uses no fractions here: all that it spends and counts is whole."
    parts = f", with parts of a flip at {count(split)} of them" if split else ""
    labels = some(number, "label counts", "labels count")
    in_part = f", and **{labels}** in part, together as {together}" if number else ""
    too_little = (
        f" **{count(short)} of the labels** that it counts received too little to become uncertified; in an attack "
        "they would not count."
    )
    return head + text(
        f"It may use fractions: what it spends is spread over {some(spread, 'place', 'places')}{parts} "
        f"(the attack: {count(of_attack)}){in_part}.{too_little if short else ''}"
    )


# --- one node ---------------------------------------------------------------------------------------------------------


def state_words(instance: Instance, certificate: Certificate, node: int, received: tuple[float, ...] | None) -> Text:
    """The state of the node's certificate; `received` are the attack's flips inside its field (None: no attack)."""
    state = TargetState(certificate.states(instance.base.fronts())[node])
    if state is TargetState.NOT_A_TARGET:
        return text("**Not a target**: its label is not counted. It can still be hit.")
    if state is TargetState.BEFORE:
        return text(
            "**Uncertified before the attack**: its base certificate says nothing even without an attack, so it counts "
            "as uncertified at every budget."
        )
    if state is TargetState.ALONE:
        return text(
            "**Certified on its own**: even the whole budget inside its receptive field reaches no point of its front."
        )
    front = instance.base.fronts().of_node(node)
    reachable = shown(instance.scale, front[(front <= np.array(certificate.threat.budgets)).all(axis=1)])
    gets = budget_words(() if received is None else received)
    if state is TargetState.LOST and ballots_of(instance) is not None:
        return text(f"**Its label changes** in the attack found, where its sum is touched by {gets}.")
    if state is TargetState.LOST:
        reached = reachable[(reachable <= np.array(received)).all(axis=1)][0]
        return text(
            f"**Loses its certificate** in the attack found: it receives {gets} inside its field, which reaches "
            f"{budget_words(reached.tolist())}, where its base certificate ends. That does not prove that its label "
            "changes."
        )
    cheapest = budget_words(reachable[reachable.sum(axis=1).argmin()].tolist())
    in_attack = f"; in the attack found it receives {gets}" if received is not None else ""
    return text(
        f"**{kept(received is not None)}**: {cheapest} inside its field would leave it uncertified{in_attack}. The "
        "collective count says how many such labels stay, not whether this one does."
    )


def node_words(found: Influence, named: Naming) -> list[Text]:
    """Flips at the node, flips received and from where, the effect of one more flip, and the targets it helps break."""
    spent = f"**Hit**: spent at this node {budget_words(found.spent)}."
    sentences = [text(spent if found.hit else "**Not hit**: no flips are spent at this node.")]
    if any(found.received):
        received = text(f"**Received** inside its field: {budget_words(found.received)} (")
        sentences.append(message(received, _list(_places(found, named)), ")."))
    else:
        sentences.append(text("**Received** inside its field: no flips at all."))
    counted = found.state not in (TargetState.NOT_A_TARGET, TargetState.BEFORE)
    if counted and found.margin != NEVER:
        sentences.append(one_more(found.margin, found.step))
    if found.hit:
        sentences.append(_helps([name(named(node), 40) for node in found.helps_to_break]))
    return sentences


def _places(found: Influence, named: Naming) -> list[Piece | str]:
    """From where the flips inside the field of a node come."""
    places: list[Piece | str] = []
    for node, amounts in found.at_nodes:
        places.append(name(f"{'this node' if node == found.node else named(node)}: {budget_words(amounts)}", 80))
    for i, j, kind in found.at_edges:
        what = "deleted" if kind == "adj_del" else "added"
        edge = name(f"the edge between {named(i)} and {named(j)}: {what}", 120)
        places.append("a new node is joined to it" if kind == "inject" else edge)
    return places


def _list(parts: list[Piece | str] | list[Piece]) -> Text:
    shown: list[Piece | str] = []
    for k, part in enumerate(parts[:_MOST_PLACES]):
        shown += [part] if not k else ["; ", part]
    if len(parts) > _MOST_PLACES:
        shown.append(f"; and {count(len(parts) - _MOST_PLACES)} more")
    return message(*shown)


def _helps(broken: list[Piece]) -> Text:
    if not broken:
        return text("**Helps to break** no target.")
    targets = some(len(broken), "target", "targets")
    return message(text(f"**Helps to break** {targets} in whose field these flips lie: "), _list(broken), ".")


def one_more(margin: int, step: float = 0) -> Text:
    """`margin` is the fewest further flips that can leave it uncertified (0: it is already), or steps of a distance."""
    if not margin:
        more = strong("A further distance" if step else "One more flip")
        return message(more, " inside its field adds nothing: its certificate is lost already.")
    if step:
        where = " inside its field, on top of this attack and whatever the budgets, "
        return message(strong(further(margin, step).capitalize()), where, "can be enough to leave it uncertified.")
    enough = "can be enough to leave it uncertified."
    if margin > 1:
        enough = f"is not enough to leave it uncertified: it takes at least {count(margin)}."
    return text(
        "**One more flip** of the attacker's kinds inside its field, on top of this attack and whatever the budgets, "
        f"{enough}"
    )
