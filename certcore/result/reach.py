"""Where an allocation spends its flips, whose fields those places lie in, and how close every other target is.

A *site* is a place that is changed: a node whose attributes are flipped, a deleted edge or an added one. The same
questions are answered for a replayed attack, in whole numbers, and for the relaxed adversary, in fractions as the
linear program has them.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import scipy.sparse as sp

from certcore.domain.perturbations import ADJ_ADD, ADJ_DEL, TABLE, TYPES, UNLIMITED, node_types
from certcore.instance.fields import as_pattern, product_of_patterns
from certcore.instance.instance import Instance
from certcore.program.problem import Problem
from certcore.result.allocation import Allocation, columns_of
from certcore.result.certificate import Certificate
from certcore.result.states import NOTHING, TargetState

#: Margin of a target that no number of flips of the types in play would leave uncertified.
NEVER = -1
#: Margin of a node that is no target.
NO_TARGET = -2


@dataclass(frozen=True, eq=False)
class Reach:
    """The sites of one allocation and the targets; rows of `ends` and `amounts` are sites, most flips first.

    `inside` is sites × targets: whose field a site lies in (None: every site lies in every field). `received` is what
    each target's field got, `needed` the point of its front that was reached, or the nearest one. `margin` is how many
    further flips of the types in play inside its field would leave it uncertified (0: it is, `NEVER`: none would).
    """

    ends: np.ndarray
    """(sites, 2): both ends of an edge; twice the same node where attributes are flipped."""
    amounts: np.ndarray
    """(sites, types): flips by type; unrounded fractions in the relaxed adversary."""
    targets: np.ndarray
    inside: sp.csr_array | None
    received: np.ndarray
    needed: np.ndarray
    margin: np.ndarray
    broken: np.ndarray
    """How far each target is broken: 0 or 1 in an attack, the fraction u in the relaxed adversary."""
    lost: np.ndarray
    """Targets that lose their certificate in this attack; those uncertified before it are not among them."""
    uses: np.ndarray
    """(targets, types): by flips of which types a target is lost; no type for a target that is not.

    In an attack: the types in which a point of its front that the received flips have reached is positive. Of several
    reached points each would be enough, so that all their types count; a type that none of them needs does not, however
    many flips of it the target received. In the relaxed adversary nobody says what a fraction is made of: every type
    in play counts for every target that is broken by some fraction.
    """

    @property
    def is_edge(self) -> np.ndarray:
        return self.ends[:, 0] != self.ends[:, 1]

    @property
    def flips(self) -> np.ndarray:
        """Flips spent at each site."""
        return np.asarray(self.amounts.sum(axis=1))

    def reached_by(self, site: int) -> np.ndarray:
        """Numbers of the targets in whose field a site lies."""
        if self.inside is None:
            return np.arange(len(self.targets))
        return self.inside.indices[self.inside.indptr[site] : self.inside.indptr[site + 1]]

    def broken_by(self, site: int) -> np.ndarray:
        """Numbers of those among them that it helps to break: it spends a type by which they are lost (`uses`)."""
        reached = self.reached_by(site)
        return reached[self._by(self.amounts[site] > 0)[reached]]

    def _by(self, types: np.ndarray) -> np.ndarray:
        """Which targets are lost by one of these types."""
        return np.asarray(self.uses[:, types].any(axis=1))

    def reaches(self) -> np.ndarray:
        """How many targets have each site in their field."""
        if self.inside is None:
            return np.full(len(self.ends), len(self.targets))
        return np.diff(self.inside.indptr)

    def breaks(self) -> np.ndarray:
        """How many targets each site helps to break, as `broken_by` has them."""
        found = np.zeros(len(self.ends), dtype=np.int64)
        kinds, kind_of = np.unique(self.amounts > 0, axis=0, return_inverse=True)
        for k, types in enumerate(kinds):
            here, by = np.flatnonzero(kind_of.ravel() == k), self._by(types)
            found[here] = by.sum() if self.inside is None else self.inside[here] @ by.astype(np.int64)
        return found


def reach(instance: Instance, certificate: Certificate, *, relaxed: bool = False) -> Reach | None:
    """Sites, fields and margins of the replayed attack or of the relaxed adversary; None if there is none."""
    allocation = certificate.fractional if relaxed else certificate.attack
    if allocation is None:
        return None
    problem = Problem(instance, certificate.threat)
    ends, amounts = sites(allocation, instance.graph.edges)
    needed, margin = nearest_points(problem, allocation.inside)
    state = certificate.states(problem.fronts, integer=not relaxed)[problem.targets]
    lost = np.asarray(state == TargetState.LOST, dtype=bool)
    counted = lost | np.asarray(state == TargetState.PARTLY, dtype=bool)
    # A vote over groups of edges changes alike by an added and by a deleted pair.
    alike = relaxed or problem.by_division
    uses = np.array([problem.threat.budgets]) != 0 if alike else _used(problem, allocation)
    return Reach(
        ends=ends,
        amounts=amounts,
        targets=problem.targets,
        inside=None if problem.whole_graph else _inside(problem, ends),
        received=allocation.inside,
        needed=needed,
        margin=margin,
        broken=np.asarray(allocation.attacked, dtype=float),
        lost=lost,
        uses=uses & counted[:, None],
    )


def margins(instance: Instance, certificate: Certificate, *, relaxed: bool = False) -> np.ndarray:
    """For every node how many further flips inside its field would leave it uncertified; `NO_TARGET` for others."""
    allocation = certificate.fractional if relaxed else certificate.attack
    assert allocation is not None
    problem = Problem(instance, certificate.threat)
    found = np.full(instance.graph.n_nodes, NO_TARGET, dtype=np.int64)
    _, found[problem.targets] = nearest_points(problem, allocation.inside)
    return found


def sites(allocation: Allocation, edges: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """The changed places of an allocation, most flips first: their ends, and their flips by type."""
    flipped = np.flatnonzero(allocation.attributes.sum(axis=0) > NOTHING)
    gone = np.flatnonzero(np.asarray(allocation.deleted) > NOTHING)
    added = np.asarray(allocation.added, dtype=np.int64).reshape(-1, 2)
    ends = np.concatenate([np.repeat(flipped[:, None], 2, axis=1), edges[gone].reshape(-1, 2), added])
    amounts = np.zeros((len(ends), len(TYPES)), dtype=allocation.attributes.dtype)
    amounts[: len(flipped), list(node_types())] = allocation.attributes[:, flipped].T
    amounts[len(flipped) : len(flipped) + len(gone), ADJ_DEL] = np.asarray(allocation.deleted)[gone]
    amounts[len(flipped) + len(gone) :, ADJ_ADD] = 1
    order = np.argsort(-amounts.sum(axis=1), kind="stable")
    return ends[order], amounts[order]


def _inside(problem: Problem, ends: np.ndarray) -> sp.csr_array:
    """Sites × targets: in whose field each site lies."""
    if problem.by_division:
        return _near_votes(problem, ends)
    edges, is_edge = problem.instance.graph.edges, ends[:, 0] != ends[:, 1]
    rows = sp.csr_array((len(ends), len(problem.targets)), dtype=np.int8)
    parts = [(problem.fields.nodes, ends[~is_edge, 0], np.flatnonzero(~is_edge))]
    if problem.fields.edges is not None:
        n = problem.instance.graph.n_nodes
        key, wanted = edges[:, 0] * n + edges[:, 1], ends[is_edge, 0] * n + ends[is_edge, 1]
        order = np.argsort(key, kind="stable")
        parts.append((problem.fields.edges, order[np.searchsorted(key[order], wanted)], np.flatnonzero(is_edge)))
    for fields, columns, where in parts:
        if len(columns):
            rank, number = (where, np.arange(len(where))), len(where)
            place = sp.csr_array((np.ones(number, np.int8), rank), shape=(len(ends), number))
            rows = rows + place @ columns_of(sp.csr_array(fields[:, columns])).astype(np.int8)
    result = sp.csr_array(rows)
    result.sort_indices()
    return result


def _near_votes(problem: Problem, ends: np.ndarray) -> sp.csr_array:
    """Sites × targets: of whom each flipped pair can change a vote, the one of its group."""
    division, number = problem.division, np.arange(len(ends))
    group = division.hash.of(ends)
    rows = sp.csr_array((len(ends), len(problem.targets)), dtype=np.int32)
    for t in np.unique(group):
        here = number[group == t]
        places = (np.ones(2 * len(here), np.int32), (np.repeat(here, 2), ends[here].ravel()))
        at_ends = sp.csr_array(sp.coo_array(places, shape=(len(ends), problem.instance.graph.n_nodes)))
        rows = rows + product_of_patterns(at_ends, sp.csr_array(division.near[t].T))
    return as_pattern(rows)


def nearest_points(problem: Problem, received: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """For each target the front point that fewest further flips would reach, and how many flips those are.

    Points that need a type without budget, or more flips than there is something to flip in the field, are out of
    reach. A reached point needs no further flip; of several the first one is taken. Without any point the row is zero
    and the margin `NEVER`.
    """
    nodes, budgets = problem.targets, problem.threat.budgets
    owner, points = _points(problem)
    possible = (points[:, np.asarray(budgets) == 0] == 0).all(axis=1) & (points <= _held(problem)[owner]).all(axis=1)
    owner, points = owner[possible], points[possible]
    missing = np.ceil(np.maximum(points - received[owner], 0).sum(axis=1) - NOTHING).astype(np.int64)
    # What is lost is lost by a point within the budgets, so that it is the one named.
    beyond = (points > np.asarray(budgets)).any(axis=1)
    order = np.lexsort((np.arange(len(owner)), beyond, missing, owner))
    first = order[np.unique(owner[order], return_index=True)[1]] if len(order) else order
    needed = np.zeros((len(nodes), len(TYPES)), dtype=np.int64)
    margin = np.full(len(nodes), NEVER, dtype=np.int64)
    needed[owner[first]], margin[owner[first]] = points[first], missing[first]
    return needed, margin


def _points(problem: Problem) -> tuple[np.ndarray, np.ndarray]:
    """The points of all fronts, one after the other, and the number of the target that each belongs to."""
    fronts = problem.fronts
    front = fronts.front_of_node[problem.targets]
    sizes = np.diff(fronts.indptr)[front]
    owner = np.repeat(np.arange(len(front)), sizes)
    which = np.arange(len(owner)) - np.repeat(np.cumsum(sizes) - sizes, sizes) + fronts.indptr[front][owner]
    return owner, fronts.points[which]


def _used(problem: Problem, attack: Allocation) -> np.ndarray:
    """(targets, types): the types in which some reached point of a front is positive."""
    owner, points = _points(problem)
    reached = (points <= attack.inside[owner]).all(axis=1)
    used = np.zeros((len(problem.targets), len(TYPES)), dtype=bool)
    np.logical_or.at(used, owner[reached], points[reached] > 0)
    return used


def _held(problem: Problem) -> np.ndarray:
    """(targets, types): how many flips of each type a field has room for at all, whatever the attacker is allowed."""
    graph, count = problem.instance.graph, len(problem.targets)
    most = np.full((count, len(TYPES)), UNLIMITED, dtype=np.int64)
    if problem.by_division:  # what counts are votes that can change: by deletions only where there are edges
        most[:, ADJ_DEL] = problem.division.touched(graph, np.arange(graph.n_edges), np.zeros((0, 2), int))[1].sum(
            axis=1
        )
        return most
    everybody = np.ones(graph.n_nodes, dtype=bool)
    exists = {k: TABLE[k].capacity(graph, everybody).astype(np.int64) for k in node_types()}
    if problem.whole_graph:
        most[:, ADJ_DEL] = graph.n_edges
        for k, at_node in exists.items():
            most[:, k] = min(int(at_node.sum()), UNLIMITED)
        return most
    for k, at_node in exists.items():
        most[:, k] = problem.fields.nodes @ at_node
    if problem.fields.edges is not None:
        most[:, ADJ_DEL] = np.diff(problem.fields.edges.indptr)
    return most
