"""One allocation as the map draws it, and the two tables below it: where the flips go, which labels are lost."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd

from certcore import words
from certcore.domain.perturbations import LABELS, TABLE, TYPES
from certcore.figures.style import STATES
from certcore.instance.instance import Instance
from certcore.result.certificate import Certificate
from certcore.result.reach import NO_TARGET, Reach
from certcore.result.states import NOTHING

from ..words.names import class_name, node_name
from ..words.text import SHORT, count, plain
from .view import pack

#: Entries of fields that travel with one attack; sites beyond are drawn and counted, without a list of their targets.
MOST_REACH = 1_500_000
KEYS = (
    "the arrow keys walk through the sites, Enter opens a node, a zooms to the attack, plus and minus zoom, 0 shows "
    "all, Shift with an arrow moves, Escape lets go"
)


def data(
    instance: Instance, result: Certificate, found: Reach, *, relaxed: bool = False, title: str = ""
) -> dict[str, Any]:
    """What the browser gets of one attack (or of the relaxed adversary, in unrounded fractions)."""
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
    most = result.targets - result.verified_certified
    said = words.attack_words(
        found, lambda node: _name_of(instance, node), most, result.threat.budgets, relaxed=relaxed
    )
    sent: dict[str, Any] = {
        "title": title,
        "relaxed": relaxed,
        "kinds": [
            {
                "type": k,
                "edge": not TABLE[k].at_nodes,
                "label": LABELS[TYPES[k]],
                "one": TABLE[k].singular,
                "short": SHORT[TYPES[k]],
                "budget": int(result.threat.budgets[k]),
            }
            for k in in_play
        ],
        "ends": pack(found.ends, np.uint32),
        "amounts": pack(found.amounts, np.float64),
        "everyField": found.inside is None,
        "reach": pack(found.reaches(), np.uint32),
        "breaks": pack(found.breaks(), np.uint32),
        "state": pack(state, np.uint8),
        "margin": pack(margin, np.int16),
        "targets": pack(found.targets, np.uint32),
        "received": pack(found.received[:, in_play], np.float64),
        "needed": pack(found.needed[:, in_play], np.uint32),
        "uses": pack(found.uses @ (1 << np.arange(len(TYPES))), np.uint8),
        "controlled": pack(controlled, np.uint32),
        "share": pack(allocation.attackers[controlled], np.float64),
        "protected": pack(np.asarray(result.threat.protected, dtype=np.int64), np.uint32),
        "sentence": pieces(found, said),
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


def _name_of(instance: Instance, node: int) -> str:
    """A node in a sentence that says already that it speaks about nodes."""
    return node_name(instance, node) if instance.node_names is not None else str(node)


def pieces(found: Reach, said: words.Text) -> list[dict[str, Any]]:
    """The sentence above the map in pieces; a name carries the number of its site."""
    sites = iter([site for kind in words.named_sites(found) for site in kind])
    told: list[dict[str, Any]] = []
    for piece in said.pieces:
        one: dict[str, Any] = {"text": piece.text}
        if piece.kind == "name":
            one["site"] = next(sites)
        elif piece.kind == "strong":
            one["strong"] = True
        told.append(one)
    return told


def sites_table(instance: Instance, result: Certificate, found: Reach, *, relaxed: bool) -> pd.DataFrame:
    """Where the flips go: one row per site, with how many labels it helps to break."""
    node = np.where(found.is_edge, -1, found.ends[:, 0])
    other = np.where(found.is_edge, found.ends[:, 1], -1)
    named = [
        node_name(instance, a) if a == b else f"{_name_of(instance, a)} – {_name_of(instance, b)}"
        for a, b in found.ends.tolist()
    ]
    columns: dict[str, Any] = {
        "site": named,
        "what": np.where(found.is_edge, "edge", "node"),
        "node": pd.Series(np.where(node < 0, found.ends[:, 0], node)).astype("Int64"),
    }
    if found.is_edge.any():
        columns["other end"] = pd.Series(other).astype("Int64").mask(other < 0)
    for k in _in_play(result):
        columns[LABELS[TYPES[k]]] = found.amounts[:, k] if relaxed else found.amounts[:, k].astype(np.int64)
    if not relaxed:
        columns["labels it helps to break"] = found.breaks()
    columns["targets in reach"] = found.reaches()
    return pd.DataFrame(columns)


def lost_table(instance: Instance, result: Certificate, found: Reach, *, relaxed: bool) -> pd.DataFrame:
    """Which labels are lost (or counted by the bound, by which fraction): what each received and needed.

    What it received comes from the sites in its field; not all of them need to have been of use (`Reach.uses`).
    """
    chosen = np.flatnonzero(found.uses.any(axis=1))
    nodes = found.targets[chosen]
    columns: dict[str, Any] = {"node": nodes}
    if instance.node_names is not None:
        columns["name"] = [plain(instance.node_names[i]) for i in nodes.tolist()]
    if instance.prediction is not None:
        columns["predicted class"] = [class_name(instance, int(instance.prediction[i])) for i in nodes.tolist()]
    if instance.labels is not None:
        columns["true class"] = [class_name(instance, int(instance.labels[i])) for i in nodes.tolist()]
    if relaxed:
        columns["fraction counted"] = found.broken[chosen]
    for k in _in_play(result):
        received = found.received[chosen, k]
        columns[f"received {SHORT[TYPES[k]]}"] = received if relaxed else received.astype(np.int64)
        columns[f"needed {SHORT[TYPES[k]]}"] = found.needed[chosen, k]
    columns["sites in its field"] = (
        np.full(len(chosen), len(found.ends))
        if found.inside is None
        else np.asarray(found.inside.sum(axis=0)).ravel()[chosen]
    )
    return pd.DataFrame(columns)


def _in_play(result: Certificate) -> list[int]:
    return [k for k, budget in enumerate(result.threat.budgets) if budget]


def title(result: Certificate, *, relaxed: bool) -> str:
    """What stands above one of two pictures."""
    if relaxed:
        return f"Relaxed adversary: at most {count(result.targets - result.verified_certified)} uncertified (the bound)"
    return f"Replayed attack: {count(result.attack_found or 0)} uncertified"
