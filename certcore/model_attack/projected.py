"""Projected gradients over all candidate flips at once (as in PRBCD, Geisler et al. 2021), rounded in every step.

Every candidate has a weight in [0, 1]; the weights of a type sum to at most its budget. Each step
rounds the weights to an admissible attack, takes the gradient there, moves along it and projects back. The best rounded
attack is kept. Candidates for additions are a block that is drawn once.
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from certcore.model_attack.flips import Flip
from certcore.model_attack.room import Room
from certcore.model_attack.search import Candidates, Search, candidates, score_of

#: EPOCHS: steps without a time limit.
#: STEP: by how much the largest gradient changes a weight.
EPOCHS, STEP = 30, 0.3


def projected(search: Search, budgets: Mapping[str, int], fixed: int) -> None:
    """Extend the flips of a search to these budgets; the first `fixed` flips stay."""
    kept = search.flips[:fixed]
    room = Room(search.problem, kept).limited_to(dict(budgets))
    search.width = search.width_for(sum(budgets.values()))
    shares = search.shares(kept)
    block = candidates(search, room, kept, shares)
    weights = [np.zeros(len(one.first)) for one in block]
    limits = {one.kind: room.left[one.kind] for one in block}
    best = search.worth(shares)
    search.flips = list(kept)
    trial = list(kept)
    for _ in range(EPOCHS if search.deadline is None else 10**6):
        if search.stopped or not block:
            return
        scores = _scores(search, trial, shares, block)
        for number, one in enumerate(block):
            largest = np.abs(scores[number]).max(initial=0.0)
            if largest:
                moved = weights[number] + STEP * scores[number] / largest
                weights[number] = project(moved, limits[one.kind])
        trial = kept + _rounded(Room(search.problem, kept).limited_to(dict(budgets)), block, weights)
        shares = search.shares(trial)
        worth = search.worth(shares)
        if worth > best:
            best, search.flips = worth, trial
        search.step_done(sum(budgets.values()), f"about {best:.0f} labels changed")


def project(values: np.ndarray, budget: float) -> np.ndarray:
    """Projection onto weights in [0, 1] that sum to at most the budget, by bisection over the dual value."""
    if np.clip(values, 0, 1).sum() <= budget:
        return np.clip(values, 0, 1)
    low, high = 0.0, float(values.max())
    for _ in range(60):
        middle = (low + high) / 2
        low, high = (middle, high) if np.clip(values - middle, 0, 1).sum() > budget else (low, middle)
    return np.clip(values - high, 0, 1)


def _scores(search: Search, trial: list[Flip], shares: np.ndarray, block: list[Candidates]) -> list[np.ndarray]:
    """Gradients of all candidates at the rounded attack, whether or not they are flipped there."""
    edges = [one for one in block if one.kind.startswith("adj")]
    pairs = np.concatenate([np.stack([one.first, one.second], axis=1) for one in edges]) if edges else None
    gradients = search.gradients(trial, shares, pairs)
    result, begun = [], 0
    for one in block:
        here = np.zeros(len(one.first))
        if one.kind.startswith("adj") and gradients.pairs is not None:
            here = gradients.pairs[begun : begun + len(one.first)]
            begun += len(one.first)
        result.append(score_of(search, gradients, one.kind, one.first, one.second, here))
    return result


def _rounded(room: Room, block: list[Candidates], weights: list[np.ndarray]) -> list[Flip]:
    """The candidates with the largest weights that are admissible together."""
    taken: list[Flip] = []
    for one, weight in zip(block, weights):
        for place in np.argsort(-weight, kind="stable").tolist():
            if weight[place] <= 0 or room.left[one.kind] <= 0:
                break
            flip = Flip(one.kind, int(one.first[place]), int(one.second[place]))
            if room.fits(flip):
                room.take(flip)
                taken.append(flip)
    return taken
