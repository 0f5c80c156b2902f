"""One node under one attack: the state of its certificate, flips at it and in its field, and targets it helps break."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from certcore.domain.scale import shown
from certcore.instance.instance import Instance
from certcore.messages.ballots import ballots_of
from certcore.messages.registry import sentence, template
from certcore.messages.sites import kept
from certcore.messages.text import Piece, Text, budget_words, count, further, message, name, strong
from certcore.result.attack_effects import NEVER
from certcore.result.certificate import Certificate
from certcore.result.influence import Influence
from certcore.result.states import TargetState

#: The most sites that one sentence names; the table has all of them.
_MOST = 8

Naming = Callable[[int], str]


def state_words(instance: Instance, certificate: Certificate, node: int, received: tuple[float, ...] | None) -> Text:
    """The state of the node's certificate; `received` are the attack's flips inside its field (None: no attack)."""
    state = TargetState(certificate.states(instance.base.fronts())[node])
    if state is TargetState.NOT_A_TARGET:
        return not_a_target()
    if state is TargetState.BEFORE:
        return before()
    if state is TargetState.ALONE:
        return alone()
    front = instance.base.fronts().of_node(node)
    reachable = shown(instance.scale, front[(front <= np.array(certificate.threat.budgets)).all(axis=1)])
    gets = () if received is None else received
    if state is TargetState.LOST and ballots_of(instance) is not None:
        return changed(budget_words(gets))
    if state is TargetState.LOST:
        reached = reachable[(reachable <= np.array(gets)).all(axis=1)][0]
        return lost(budget_words(gets), budget_words(reached.tolist()))
    cheapest = reachable[reachable.sum(axis=1).argmin()]
    return undecided(budget_words(cheapest.tolist()), budget_words(gets) if received is not None else "")


not_a_target = template(
    "node.not_a_target", "the node is not a target", "**Not a target**: its label is not counted. It can still be hit.",
)  # fmt: skip
before = template(
    "node.before", "a target whose base certificate says nothing at budget 0",
    "**Uncertified before the attack**: its base certificate says nothing even without an attack, so it counts as "
    "uncertified at every budget.",
)  # fmt: skip
alone = template(
    "node.alone", "a target whose base certificate holds at the whole global budget",
    "**Certified on its own**: even the whole budget inside its receptive field reaches no point of its front.",
)  # fmt: skip
lost = template(
    "node.lost", "a target that the attack found leaves uncertified",
    "**Loses its certificate** in the attack found: it receives {gets} inside its field, which reaches {ends}, where "
    "its base certificate ends. That does not prove that its label changes.",
    gets="4 attribute deletions", ends="3 attribute deletions",
)  # fmt: skip
changed = template(
    "node.changed", "ballots: a target whose label the attack found changes",
    "**Its label changes** in the attack found, where its sum is touched by {gets}.", gets="2 new nodes",
)  # fmt: skip


@sentence(
    "node.undecided", "any other target; the middle only if an attack was looked for",
    "3 attribute deletions", "1 attribute deletion",
)  # fmt: skip
def undecided(cheapest: str, gets: str) -> Text:
    in_attack = f"; in the attack found it receives {gets}" if gets else ""
    return message(
        strong(kept(bool(gets))),
        f": {cheapest} inside its field would leave it uncertified{in_attack}. The collective count says how many such "
        "labels stay, not whether this one does.",
    )


def node_words(found: Influence, named: Naming) -> list[Text]:
    """Flips at the node, flips received and from where, the effect of one more flip, and the targets it helps break."""
    sentences = [hit(budget_words(found.spent)) if found.hit else not_hit()]
    if any(found.received):
        places: list[Piece | str] = []
        for node, amounts in found.at_nodes:
            places.append(name(f"{'this node' if node == found.node else named(node)}: {budget_words(amounts)}", 80))
        for i, j, kind in found.at_edges:
            if kind == "inject":
                places.append("a new node is joined to it")
                continue
            what = "deleted" if kind == "adj_del" else "added"
            places.append(name(f"the edge between {named(i)} and {named(j)}: {what}", 120))
        sentences.append(received(budget_words(found.received), _list(places)))
    else:
        sentences.append(received_nothing())
    counted = found.state not in (TargetState.NOT_A_TARGET, TargetState.BEFORE)
    if counted and found.margin != NEVER:
        sentences.append(one_more(found.margin, found.step))
    if found.hit:
        breaks = [name(named(node), 40) for node in found.helps_to_break]
        sentences.append(helps(len(breaks), _list(breaks)) if breaks else helps_nobody())
    return sentences


def _list(parts: list[Piece | str] | list[Piece]) -> Text:
    shown: list[Piece | str] = []
    for k, part in enumerate(parts[:_MOST]):
        shown += [part] if not k else ["; ", part]
    if len(parts) > _MOST:
        shown.append(f"; and {count(len(parts) - _MOST)} more")
    return message(*shown)


hit = template(
    "node.hit", "flips are spent at the node", "**Hit**: spent at this node {spent}.", spent="3 attribute deletions",
)  # fmt: skip
not_hit = template("node.not_hit", "no flips are spent at the node", "**Not hit**: no flips are spent at this node.")
received = template(
    "node.received", "flips lie inside the field of the node", "**Received** inside its field: {amount} ({places}).",
    amount="9 attribute deletions", places=message("this node: 3 attribute deletions; 618: 6 attribute deletions"),
)  # fmt: skip
received_nothing = template(
    "node.received_nothing", "no flips lie inside the field of the node",
    "**Received** inside its field: no flips at all.",
)  # fmt: skip


@sentence(
    "node.one_more",
    "a target certified without an attack, that some number of flips of the types in play can leave uncertified",
    3,
    others=((1,), (0,), (3, 0.1), (0, 0.1)),
)
def one_more(margin: int, step: float = 0) -> Text:
    """`margin` is the fewest further flips that can leave it uncertified (0: it is already), or steps of a distance."""
    if not margin:
        more = strong("A further distance" if step else "One more flip")
        return message(more, " inside its field adds nothing: its certificate is lost already.")
    if step:
        where = " inside its field, on top of this attack and whatever the budgets, "
        return message(strong(further(margin, step).capitalize()), where, "can be enough to leave it uncertified.")
    where = " of the attacker's kinds inside its field, on top of this attack and whatever the budgets, "
    if margin == 1:
        return message(strong("One more flip"), where, "can be enough to leave it uncertified.")
    return message(
        strong("One more flip"), where, f"is not enough to leave it uncertified: it takes at least {count(margin)}."
    )


helps = template(
    "node.helps", "the node is hit, and targets in whose field its flips lie are lost by flips of their types",
    "**Helps to break** {number:target|targets} in whose field these flips lie: {whom}.",
    number=2, whom=message("618; 1023"),
)  # fmt: skip
helps_nobody = template(
    "node.helps_nobody", "the node is hit, but no target in whose field its flips lie is lost by flips of their types",
    "**Helps to break** no target.",
)  # fmt: skip
