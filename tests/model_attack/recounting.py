"""Labels that an attack on a model changes, counted again with an independent stream of samples."""

from __future__ import annotations

import threading
from dataclasses import dataclass

import numpy as np

from certcore.common.exact import read_alpha
from certcore.instance.instance import Instance
from certcore.model_attack.counting import beaten, count_changed
from certcore.model_attack.flips import apply_flips
from certcore.model_attack.run import count_votes
from certcore.model_attack.stored import ModelAttack
from certcore.model_attack.victim import Victim

#: The stream of samples: none of the program's own purposes.
RECOUNT = 80


@dataclass(frozen=True)
class Recount:
    """One level recounted: labels changed in the file, in new samples, and in the file but significantly not now."""

    flips: int
    distance: float
    stored: int
    recounted: int
    wrong: int


def recount(
    attack: ModelAttack, victim: Victim, instance: Instance, seed: int, cancel: threading.Event
) -> list[Recount]:
    """Count every level again with an independent stream of samples, as many as before."""
    targets = np.asarray(instance.targets)
    labels = np.asarray(instance.prediction)[targets]
    result = []
    for level in attack.levels:
        graph = apply_flips(instance.graph, attack.flips[: level.flips], level.shift)
        votes = count_votes(victim, graph, seed, attack.samples, cancel, RECOUNT)
        if votes is None:
            break
        before = attack.count(instance, level, targets)
        again = count_changed(instance, targets, votes, attack.alpha, plain=attack.plain)
        kept = np.flatnonzero(before.changed)
        chosen = votes[targets[kept]]
        rivals = chosen.copy()
        rivals[np.arange(len(kept)), labels[kept]] = -1
        # The label significantly beats the strongest rival: the same test with exchanged roles.
        rival = rivals.argmax(axis=1)
        swapped = np.zeros((len(kept), 2), dtype=np.int64)
        swapped[:, 0], swapped[:, 1] = chosen[np.arange(len(kept)), labels[kept]], chosen[np.arange(len(kept)), rival]
        if attack.plain:
            wrong = int((chosen.argmax(axis=1) == labels[kept]).sum())
        else:
            wrong = int(beaten(swapped, np.ones(len(kept), dtype=np.int64), float(read_alpha(attack.alpha))).sum())
        result.append(Recount(level.flips, attack.distance(level), before.n_changed, again.n_changed, wrong))
    return result
