"""Search methods with one interface: a method extends the flips of a search to given budgets."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping

import numpy as np

from certcore.common.choice import Choice
from certcore.model_attack.flips import Flip
from certcore.model_attack.prbcd import prbcd
from certcore.model_attack.room import Room
from certcore.model_attack.search import Search, candidates, take_best

Budgets = Mapping[str, int]
#: A search method. The first `fixed` flips are never removed, so that attacks at growing budgets are nested.
Method = Callable[[Search, Budgets, int], None]
#: SWAPPED: share of the flips swapped at once.
SWAPPED = 0.15
#: MORE_VOTES: number of votes by which two attacks are compared.
#: FAILURES: the search ends after this many consecutive unsuccessful swaps.
MORE_VOTES, FAILURES = 1024, 6


class AttackMethod(Choice):
    """The search method."""

    LOCAL = "local"
    """Greedy, followed by swaps of flips for better ones."""
    GREEDY = "greedy"
    """Greedy by gradients of a soft count of changed labels, a few flips at a time."""
    PRBCD = "prbcd"
    """torch-geometric's PRBCD, for edges."""
    RANDOM = "random"
    """Random flips, as a baseline."""


def room_for(search: Search, budgets: Budgets, flips: list[Flip]) -> Room:
    """The remaining budgets after these flips."""
    return Room(search.problem, flips).limited_to(dict(budgets))


def greedy(search: Search, budgets: Budgets, fixed: int) -> None:
    """Add the flips with the largest gradients until the budgets are spent or no flip promises a gain."""
    goal = sum(budgets.values())
    search.width = search.width_for(goal)
    while not search.stopped:
        begun = time.monotonic()
        room = room_for(search, budgets, search.flips)
        missing = sum(room.left.values())
        if not missing:
            return
        shares = search.shares(search.flips)
        found = candidates(search, room, search.flips, shares)
        taken = take_best(room, found, search.batch(missing))
        if not taken:
            return
        search.flips += taken
        search.step_done(goal, f"about {search.worth(shares):.0f} labels changed")
        search.step_seconds = time.monotonic() - begun


def local(search: Search, budgets: Budgets, fixed: int) -> None:
    """Greedy, then swap the least useful new flips; a swap is kept if it is better on the same samples."""
    greedy(search, budgets, fixed)
    shares = search.shares(search.flips, MORE_VOTES)
    best = search.worth(shares)
    share, failures, widest = SWAPPED, 0, min(search.width, search.swap_width)
    search.width, jitter = widest, 0.0
    for _ in range(search.rounds if search.deadline is None else 10**6):
        new = len(search.flips) - fixed
        if search.stopped or not new:
            return
        if failures > FAILURES:
            if search.deadline is None:
                return
            # With time left: other flips are dropped, for labels at another distance from changing.
            share, failures, jitter = SWAPPED, 0, 1.0
            search.width = widest * float(search.rng.choice([0.5, 1.0, 2.0]))
        kept = search.flips[:fixed] + _without_the_least(search, shares, fixed, max(1, round(share * new)), jitter)
        room = room_for(search, budgets, kept)
        if room.attacker.sum() > room.sigma:  # other attackers are chosen once the first flips are gone
            share, failures = max(share / 1.5, 0.01), failures + 1
            continue
        trial = list(kept)
        while not search.stopped:
            found = candidates(search, room, trial, search.shares(trial))
            taken = take_best(room, found, max(1, (len(search.flips) - len(kept)) // 2))
            if not taken or not sum(room.left.values()):
                trial += taken
                break
            trial += taken
        trial_shares = search.shares(trial, MORE_VOTES)
        worth = search.worth(trial_shares)
        if worth > best:
            search.flips, shares, best, failures = trial, trial_shares, worth, 0
        else:
            share, failures = max(share / 1.5, 0.01), failures + 1
        search.step_done(sum(budgets.values()), f"about {best:.0f} labels changed, swapping")


def _without_the_least(search: Search, shares: np.ndarray, fixed: int, count: int, jitter: float) -> list[Flip]:
    """The new flips without those whose removal costs least, by the gradient at the current attack.

    `jitter` lets a random factor up to e to its power change their order.
    """
    edges = [flip[1:] for flip in search.flips[fixed:] if flip.of_edge]
    pairs = np.array(edges, dtype=np.int64).reshape(-1, 2)
    gradients = search.gradients(search.flips, shares, pairs if len(pairs) else None)
    new = search.flips[fixed:]
    at_bits = gradients.at(
        np.array([flip.first for flip in new]), np.array([0 if flip.of_edge else flip.second for flip in new])
    )
    at_edges = iter(gradients.pairs if gradients.pairs is not None else np.zeros(len(edges)))
    # The cost of undoing a flip is the gradient for an added bit, and the negative gradient for a deleted one.
    held = [
        (float(next(at_edges)) if flip.of_edge else bit) * (1 if flip.kind.endswith("add") else -1)
        for flip, bit in zip(new, at_bits.tolist())
    ]
    factors = np.exp(jitter * search.rng.random(len(new)))
    dropped = set(np.argsort(np.array(held) * factors, kind="stable")[:count].tolist())
    return [flip for place, flip in enumerate(new) if place not in dropped]


def at_random(search: Search, budgets: Budgets, fixed: int) -> None:
    """Flips drawn at random from all possible ones."""
    room = room_for(search, budgets, search.flips)
    for kind in room.kinds:
        failures = 0
        while room.left[kind] > 0 and failures < 1000:
            flip = _any_flip(search, kind)
            if flip is not None and room.fits(flip):
                room.take(flip)
                search.flips.append(flip)
            else:
                failures += 1


def _any_flip(search: Search, kind: str) -> Flip | None:
    graph, rng = search.graph, search.rng
    if kind == "attr_del":
        if not len(graph.attr_indices):
            return None
        place = int(rng.integers(len(graph.attr_indices)))
        node = int(np.searchsorted(graph.attr_indptr, place, side="right")) - 1
        return Flip(kind, node, int(graph.attr_indices[place]))
    if kind == "adj_del":
        if not graph.n_edges:
            return None
        first, second = graph.edges[int(rng.integers(graph.n_edges))].tolist()
        return Flip(kind, first, second)
    first = int(rng.integers(graph.n_nodes))
    second = int(rng.integers(graph.n_attrs if kind == "attr_add" else graph.n_nodes))
    matrix = graph.attributes if kind == "attr_add" else graph.adjacency
    if (kind == "adj_add" and first == second) or matrix[first, second]:
        return None
    if kind == "adj_add" and not graph.directed:
        first, second = min(first, second), max(first, second)
    return Flip(kind, first, second)


METHODS: dict[AttackMethod, Method] = {
    AttackMethod.LOCAL: local,
    AttackMethod.GREEDY: greedy,
    AttackMethod.PRBCD: prbcd,
    AttackMethod.RANDOM: at_random,
}
