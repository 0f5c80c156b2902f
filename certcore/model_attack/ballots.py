"""Ballots: the attack on the certificates is an attack on the model, once new nodes show ballots that exist.

Labels are summed again in integers, from the ballots of the instance: a label that differs is changed, provided that
ballots read no other node. The program lets a new node show a full ballot for a class, which no attributes may produce.
Here it shows the ballot of a node of the graph instead, whose attributes it can copy. Rewritten
attributes are left out for the same reason.
"""

from __future__ import annotations

import numpy as np

from certcore.base.ballots import BallotsBase
from certcore.instance.instance import Instance
from certcore.model_attack.counting import Count
from certcore.model_attack.stored import FoundAttack
from certcore.result.allocation import Allocation
from certcore.result.certificate import Certificate


def changed_by_ballots(instance: Instance, certificate: Certificate) -> FoundAttack | None:
    """The attack that a certificate of ballots found, as an attack on the model; None if it is none."""
    base, attack = instance.base, certificate.attack
    if not isinstance(base, BallotsBase) or attack is None or attack.attributes.any() or not any(attack.totals):
        return None
    targets = np.asarray(certificate.target_nodes)
    changed = (labels_after(instance, base, attack) != base.prediction)[targets]
    right = None if instance.right is None else instance.right[targets]
    return FoundAttack(None, None, Count(targets, changed, np.zeros(len(targets), dtype=bool), right), attack)


def labels_after(instance: Instance, base: BallotsBase, attack: Allocation) -> np.ndarray:
    """The labels on the attacked graph; new nodes copy the attributes of existing ones."""
    graph, n = instance.graph, base.n_nodes
    pairs = np.concatenate([graph.edges[attack.deleted == 0], attack.added])
    if not graph.directed:
        pairs = np.concatenate([pairs, pairs[:, ::-1]])
    scores = base.weight * base.ballots.astype(np.int64)
    np.add.at(scores, pairs[:, 0], base.ballots[pairs[:, 1]])
    shown = dict(attack.shown.tolist())
    best = _clearest(instance, base)
    for new, node in attack.injected.tolist():
        if new in shown and new >= n and best[shown[new]] >= 0:
            scores[node] += base.ballots[best[shown[new]]]
    return np.asarray(scores.argmax(axis=1))


def _clearest(instance: Instance, base: BallotsBase) -> np.ndarray:
    """Per class, the node whose ballot leads for it most, or -1; the label of a training node cannot be copied."""
    ballots = base.ballots.astype(np.int64)
    lead = np.empty_like(ballots)
    for label in range(base.n_classes):
        lead[:, label] = ballots[:, label] - np.delete(ballots, label, axis=1).max(axis=1, initial=0)
    if instance.split is not None:
        lead[np.asarray(instance.split) == 0] = np.iinfo(np.int64).min
    return np.where(lead.max(axis=0) > np.iinfo(np.int64).min, lead.argmax(axis=0), -1)
