"""One attack or relaxed adversary as data for drawing."""

from __future__ import annotations

from typing import Any

import numpy as np

from certcore import messages
from certcore.domain.perturbations import LABELS, TABLE, TYPES
from certcore.figures.style import STATES
from certcore.instance.instance import Instance
from certcore.messages.names import node_name
from certcore.result.attack_effects import NO_TARGET, Reach, reach
from certcore.result.certificate import Certificate
from certcore.result.states import NOTHING
from certcore.workbench.packing import pack

#: The most (site, target) entries that are sent with one attack. Further sites are drawn and counted, but without a
#: list of their targets.
MOST_REACH = 1_500_000
KEYS = (
    "the arrow keys walk through the sites, Enter opens a node, a zooms to the attack, plus and minus zoom, 0 shows "
    "all, Shift with an arrow moves, Escape lets go"
)


def data(
    instance: Instance,
    result: Certificate,
    found: Reach,
    *,
    relaxed: bool = False,
    title: str = "",
    changed: np.ndarray | None = None,
) -> dict[str, Any]:
    """The data of one attack (or of the relaxed adversary, in unrounded fractions) for the browser.

    `changed`: for an attack on the model, the nodes whose labels it changes.
    """
    n = instance.graph.n_nodes
    keys = list(STATES)
    number = {key: k for k, key in enumerate(keys)}
    state = np.array([number[key] for key in result.states(instance.base.fronts(), integer=not relaxed)])
    in_play = [k for k, budget in enumerate(result.threat.budgets) if budget]
    margin = np.full(n, NO_TARGET)
    margin[found.targets] = np.minimum(found.margin, 32_000)
    allocation = result.fractional if relaxed else result.attack
    assert allocation is not None
    controlled = np.flatnonzero(allocation.attackers > NOTHING) if result.threat.sigma is not None else np.zeros(0, int)
    most = result.targets - result.certified
    said = messages.attack_words(found, lambda node: name_in_sentence(instance, node), most, relaxed=relaxed)
    sent: dict[str, Any] = {
        "title": title,
        "relaxed": relaxed,
        "kinds": _kinds(found, in_play),
        "ends": pack(found.ends, np.uint32),
        "amounts": pack(found.amounts, np.float64),
        "everyField": found.inside is None,
        "reach": pack(found.reaches(), np.uint32),
        "breaks": pack(found.breaks(), np.uint32),
        "state": pack(state, np.uint8),
        "margin": pack(margin, np.int16),
        "step": found.step,
        "targets": pack(found.targets, np.uint32),
        "received": pack(found.received[:, in_play], np.float64),
        "needed": pack(found.needed[:, in_play], np.float64),
        "uses": pack(found.uses @ (1 << np.arange(len(TYPES))), np.uint8),
        "controlled": pack(controlled, np.uint32),
        "share": pack(allocation.attackers[controlled], np.float64),
        "changed": pack(np.zeros(0) if changed is None else changed, np.uint32),
        "protected": pack(np.asarray(result.threat.protected, dtype=np.int64), np.uint32),
        "alt": f"{said} Keys: {KEYS}.",
    }
    if found.inside is not None:
        start = found.inside.indptr
        last = int(np.searchsorted(start, MOST_REACH, side="right")) - 1
        sent["start"] = pack(start[: last + 1], np.uint32)
        sent["inside"] = pack(found.targets[found.inside.indices[: start[last]]], np.uint32)
    if relaxed:
        broken = np.zeros(n)
        broken[found.targets] = found.broken
        sent["broken"] = pack(broken, np.float64)
    return sent


def _kinds(found: Reach, in_play: list[int]) -> list[dict[str, Any]]:
    """The perturbation types that the attack uses, in words."""
    return [
        {
            "type": k,
            "edge": not (TABLE[k].at_nodes or TABLE[k].brings_nodes),
            "label": LABELS[TYPES[k]],
            "one": TABLE[k].singular,
            "short": TABLE[k].short,
            "lengths": TABLE[k].lengths,
            "budget": float(found.budgets[k]),
        }
        for k in in_play
    ]


def name_in_sentence(instance: Instance, node: int) -> str:
    """The name of a node for a sentence that already says “node”."""
    return node_name(instance, node) if instance.node_names is not None else str(node)


def sent_of(instance: Instance, result: Certificate) -> dict[str, Any]:
    """The attack of a certificate as data for the browser."""
    here = reach(instance, result)
    assert here is not None
    return data(instance, result, here)
