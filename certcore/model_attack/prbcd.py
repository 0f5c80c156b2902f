"""torch-geometric's `PRBCDAttack` (Geisler et al. 2021) as a method and as a baseline for ours; edges only.

Its model is the smoothed classifier: shares of soft votes over a few samples, in which the noise keeps or deletes every
edge weight. Its loss is its own default (probability margin). It supports one budget, so deletions are searched first
and additions second. Its block is drawn from the possible flips. Of the flips it chooses, those that fit into the
threat model together (local budgets, σ) are used, largest weight first.
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from certcore.common.errors import InputError
from certcore.model_attack.flips import Flip, apply_flips
from certcore.model_attack.room import Room
from certcore.model_attack.search import Search, new_pairs

#: EPOCHS: gradient steps.
#: RESAMPLING: how many of these steps draw new candidate edges.
#: BLOCK: candidate edges in one step.
#: SAMPLES: samples of the smoothed classifier in one step.
EPOCHS, RESAMPLING, BLOCK, SAMPLES = 125, 100, 8000, 8
#: Number of possible new edges from which blocks are drawn.
PLACES = 40_000
#: Step length: torch-geometric's is for losses of a plain network, and shares of votes change less.
LENGTH = 4000.0


def prbcd(search: Search, budgets: Mapping[str, int], fixed: int) -> None:
    """Extend the flips of a search to these edge budgets; the first `fixed` flips stay."""
    if not (budgets["adj_add"] or budgets["adj_del"]):
        raise InputError("prbcd flips edges only, and the budgets have none; give adj_del or adj_add")
    if search.victim.noise.fractions[2]:
        raise InputError("prbcd does not know noise that adds edges; choose another method")
    del search.flips[fixed:]
    for kind in ("adj_del", "adj_add"):
        room = Room(search.problem, search.flips).limited_to(dict(budgets))
        for flip in _chosen(search, room, kind) if room.left[kind] > 0 else ():
            if room.fits(flip):
                room.take(flip)
                search.flips.append(flip)
        search.step_done(sum(budgets.values()), "PRBCD")


def _chosen(search: Search, room: Room, kind: str) -> list[Flip]:
    """The flips chosen by PRBCD, largest weight first."""
    import torch

    from certcore.model_attack.prbcd_torch import Block, SmoothedOnWeights

    graph = apply_flips(search.graph, search.flips)
    pairs = search.graph.edges if kind == "adj_del" else new_pairs(search, room, PLACES)
    pairs = pairs[room.open(kind, *pairs.T)]
    budget = min(room.left[kind], len(pairs) // 2)
    if budget < 1:
        return []
    attack = Block(
        SmoothedOnWeights(search.victim, graph, search.seed, SAMPLES), pairs, block_size=max(BLOCK, 4 * budget),
        epochs=EPOCHS, epochs_resampling=RESAMPLING, lr=LENGTH, is_undirected=not graph.directed, log=False,
    )  # fmt: skip
    rows = np.repeat(np.arange(graph.n_nodes), np.diff(graph.adj_indptr))
    edges = torch.from_numpy(np.stack([graph.adj_indices, rows]).astype(np.int64))
    labels = torch.from_numpy(np.asarray(search.problem.instance.prediction).astype(np.int64))
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(search.seed)
        features = torch.zeros(graph.n_nodes, 1)
        _, flipped = attack.attack(features, edges, labels, budget, torch.from_numpy(search.targets))
    return [Flip(kind, int(receiver), int(sender)) for sender, receiver in flipped.T.tolist()]
