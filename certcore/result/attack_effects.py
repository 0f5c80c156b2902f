"""The sites of an allocation, the targets whose fields contain them, and the margin of every other target.

A *site* is a node whose attributes are flipped, a deleted or added edge, or a new node. Results are integers for a
replayed attack, and fractions from the linear program for the relaxed adversary.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import scipy.sparse as sp

from certcore.domain.perturbations import ADJ_ADD, ADJ_DEL, INJECT, TABLE, TYPES, UNLIMITED, node_types
from certcore.domain.scale import shown
from certcore.domain.threat import ThreatModel
from certcore.instance.fields import as_pattern
from certcore.instance.instance import Instance
from certcore.program.problem import Problem
from certcore.result.allocation import Allocation, columns_of, inside_fields
from certcore.result.attack import searched
from certcore.result.certificate import Certificate
from certcore.result.states import NOTHING, TargetState

#: Margin of a target that no number of flips of the types in play leaves uncertified.
NEVER = -1
#: Margin of a node that is not a target.
NO_TARGET = -2
L2 = TYPES.index("attr_l2")
ByType = tuple[float, ...]


@dataclass(frozen=True, eq=False)
class Reach:
    """The sites of one allocation and its targets; rows of `ends` and `amounts` are sites, most flips first.

    `inside` is sites × targets: whose field contains a site (None: every field contains every site). `received` is the
    perturbation inside each target's field. `needed` is the front point that was reached, or the nearest one. `margin`
    is how many further flips inside its field leave the target uncertified (0: it is uncertified; `NEVER`: no number
    does). Amounts of types with lengths are lengths, and `margin` then counts steps of a further distance.
    """

    ends: np.ndarray
    """(sites, 2): the ends of an edge; the same node twice for attribute flips and for new nodes.

    New nodes are numbered after those of the graph.
    """
    amounts: np.ndarray
    """(sites, types): flips by type; unrounded fractions for the relaxed adversary."""
    spent: np.ndarray
    """What all sites spend together, by type: flips; of lengths the root of the sum of squares, or their sum."""
    budgets: np.ndarray
    """The global budgets in the same measure."""
    used_up: bool
    """Whether nothing is left of any budget."""
    step: float
    """What one step of `margin` is: one flip (0), or a distance."""
    targets: np.ndarray
    inside: sp.csr_array | None
    received: np.ndarray
    needed: np.ndarray
    margin: np.ndarray
    broken: np.ndarray
    """The broken fraction of each target: 0 or 1 in an attack, u in the relaxed adversary."""
    lost: np.ndarray
    """Targets that lose their certificate in this attack, without those uncertified before it."""
    uses: np.ndarray
    """(targets, types): the types of flips by which a target is broken; no type for other targets.

    In an attack, a type counts if it is positive in a reached front point. If several points are reached, the types of
    all of them count. In the relaxed adversary, all types in play count for every target that is partly broken.
    """

    @property
    def is_edge(self) -> np.ndarray:
        return self.ends[:, 0] != self.ends[:, 1]

    @property
    def flips(self) -> np.ndarray:
        """Flips spent at each site."""
        return np.asarray(self.amounts.sum(axis=1))

    def reached_by(self, site: int) -> np.ndarray:
        """Indices of the targets whose field contains a site."""
        if self.inside is None:
            return np.arange(len(self.targets))
        return self.inside.indices[self.inside.indptr[site] : self.inside.indptr[site + 1]]

    def broken_by(self, site: int) -> np.ndarray:
        """Indices of those targets that the site helps to break: it spends a type by which they are broken (`uses`)."""
        reached = self.reached_by(site)
        return reached[self._by(self.amounts[site] > 0)[reached]]

    def _by(self, types: np.ndarray) -> np.ndarray:
        """Which targets are broken by one of these types."""
        return np.asarray(self.uses[:, types].any(axis=1))

    def reaches(self) -> np.ndarray:
        """How many targets have each site in their field."""
        if self.inside is None:
            return np.full(len(self.ends), len(self.targets))
        return np.diff(self.inside.indptr)

    def breaks(self) -> np.ndarray:
        """How many targets each site helps to break, as in `broken_by`."""
        found = np.zeros(len(self.ends), dtype=np.int64)
        kinds, kind_of = np.unique(self.amounts > 0, axis=0, return_inverse=True)
        for k, types in enumerate(kinds):
            here, by = np.flatnonzero(kind_of.ravel() == k), self._by(types)
            found[here] = by.sum() if self.inside is None else self.inside[here] @ by.astype(np.int64)
        return found


def reach(instance: Instance, certificate: Certificate, *, relaxed: bool = False) -> Reach | None:
    """Sites, fields and margins of the replayed attack or of the relaxed adversary; None if it does not exist."""
    allocation = certificate.fractional if relaxed else certificate.attack
    if allocation is None:
        return None
    problem = Problem(instance, certificate.threat)
    ends, amounts = sites(allocation, instance.graph.edges)
    needed, margin = nearest_points(problem, allocation.inside)
    state = certificate.states(problem.fronts, integer=not relaxed)[problem.targets]
    lost = np.asarray(state == TargetState.LOST, dtype=bool)
    counted = lost | np.asarray(state == TargetState.PARTLY, dtype=bool)
    # Ballots add up gains of all types, and fractions do not show which type breaks a target.
    alike = relaxed or problem.by_ballots
    uses = np.array([problem.threat.budgets]) != 0 if alike else _used(problem, allocation)
    scale, threat = instance.scale, problem.threat
    return Reach(
        ends=ends,
        amounts=shown(scale, amounts),
        spent=shown(scale, amounts.sum(axis=0)),
        budgets=shown(scale, threat.budgets),
        used_up=bool((amounts.sum(axis=0) >= np.array(searched(problem).threat.budgets)).all()),
        step=step_of(instance, threat),
        targets=problem.targets,
        inside=None if problem.whole_graph else _inside(problem, ends, allocation.injected),
        received=shown(scale, allocation.inside),
        needed=shown(scale, needed),
        margin=margin,
        broken=np.asarray(allocation.attacked, dtype=float),
        lost=lost,
        uses=uses & counted[:, None],
    )


def margins(instance: Instance, certificate: Certificate, *, relaxed: bool = False) -> np.ndarray:
    """For every node, how many further flips (steps) inside its field leave it uncertified; else `NO_TARGET`."""
    allocation = certificate.fractional if relaxed else certificate.attack
    assert allocation is not None
    problem = Problem(instance, certificate.threat)
    found = np.full(instance.graph.n_nodes, NO_TARGET, dtype=np.int64)
    _, found[problem.targets] = nearest_points(problem, allocation.inside)
    return found


def step_of(instance: Instance, threat: ThreatModel) -> float:
    """The distance that one step of a margin stands for; 0 if margins are numbers of flips."""
    scale = instance.scale
    return float(scale.step()) if scale is not None and threat.attr_l2 else 0.0


def sites(allocation: Allocation, edges: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """The sites of an allocation, most flips first: their ends, and their flips by type."""
    flipped = np.flatnonzero(allocation.attributes.sum(axis=0) > NOTHING)
    gone = np.flatnonzero(np.asarray(allocation.deleted) > NOTHING)
    added = np.asarray(allocation.added, dtype=np.int64).reshape(-1, 2)
    new = np.unique(allocation.injected[:, 0])
    at_nodes = np.repeat(np.concatenate([flipped, new])[:, None], 2, axis=1)
    ends = np.concatenate([at_nodes[: len(flipped)], edges[gone].reshape(-1, 2), added, at_nodes[len(flipped) :]])
    amounts = np.zeros((len(ends), len(TYPES)), dtype=allocation.attributes.dtype)
    amounts[: len(flipped), list(node_types())] = allocation.attributes[:, flipped].T
    amounts[len(flipped) : len(flipped) + len(gone), ADJ_DEL] = np.asarray(allocation.deleted)[gone]
    amounts[len(flipped) + len(gone) :, ADJ_ADD] = 1
    amounts[len(ends) - len(new) :] = np.eye(len(TYPES), dtype=amounts.dtype)[INJECT]
    order = np.argsort(-amounts.sum(axis=1), kind="stable")
    return ends[order], amounts[order]


def _inside(problem: Problem, ends: np.ndarray, injected: np.ndarray) -> sp.csr_array:
    """Sites × targets: whose field contains each site."""
    if problem.by_ballots:
        return _receivers(problem, ends, injected)
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


def _receivers(problem: Problem, ends: np.ndarray, injected: np.ndarray) -> sp.csr_array:
    """Sites × targets for ballots: a rewritten node affects itself and its receivers, an edge its receiving ends.

    A new node affects the nodes it is joined to.
    """
    graph, count = problem.instance.graph, len(ends)
    is_edge = ends[:, 0] != ends[:, 1]
    shape = (count, graph.n_nodes)
    old = np.flatnonzero(ends[:, 0] < graph.n_nodes)
    at = sp.csr_array(sp.coo_array((np.ones(len(old), np.int32), (old, ends[old, 0])), shape=shape))
    rows = at + sp.csr_array(at.multiply(~is_edge[:, None])) @ sp.csr_array(graph.adjacency.T.astype(np.int32))
    if not graph.directed:
        other = sp.coo_array((np.ones(len(old), np.int32), (old, ends[old, 1])), shape=shape)
        rows = rows + sp.csr_array(other)
    if len(injected):
        site_of = np.zeros(int(injected[:, 0].max()) + 1, dtype=np.int64)
        new = np.flatnonzero(ends[:, 0] >= graph.n_nodes)
        site_of[ends[new, 0]] = new
        joined = sp.coo_array(
            (np.ones(len(injected), np.int32), (site_of[injected[:, 0]], injected[:, 1])), shape=shape
        )
        rows = rows + sp.csr_array(joined)
    return as_pattern(sp.csr_array(rows)[:, problem.targets])


def nearest_points(problem: Problem, received: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """For each target, the front point with the fewest missing flips, and that number.

    Points that need a type without budget, or more flips than exist in the field, are excluded. A reached point misses
    no flips; of several, the first is returned. A target without any point gets a zero row and the margin `NEVER`.
    With lengths in play, the missing distance is counted, in steps and rounded up, for points that miss nothing else.
    """
    nodes, budgets = problem.targets, problem.threat.budgets
    owner, points = _points(problem)
    possible = (points[:, np.asarray(budgets) == 0] == 0).all(axis=1) & (points <= _held(problem)[owner]).all(axis=1)
    lacking, step = np.maximum(points - received[owner], 0), step_of(problem.instance, problem.threat)
    if step:
        possible &= (np.delete(lacking, L2, axis=1) <= NOTHING).all(axis=1)
    owner, points, lacking = owner[possible], points[possible], lacking[possible]
    if step:
        missing = np.ceil(shown(problem.instance.scale, lacking)[:, L2] / step - NOTHING).astype(np.int64)
    else:
        missing = np.ceil(lacking.sum(axis=1) - NOTHING).astype(np.int64)
    # On ties, points within the budgets come first: a broken target has reached one of these.
    beyond = (points > np.asarray(budgets)).any(axis=1)
    order = np.lexsort((np.arange(len(owner)), beyond, missing, owner))
    first = order[np.unique(owner[order], return_index=True)[1]] if len(order) else order
    needed = np.zeros((len(nodes), len(TYPES)), dtype=np.int64)
    margin = np.full(len(nodes), NEVER, dtype=np.int64)
    needed[owner[first]], margin[owner[first]] = points[first], missing[first]
    return needed, margin


def _points(problem: Problem) -> tuple[np.ndarray, np.ndarray]:
    """The points of all fronts, concatenated, and the target of each point."""
    fronts = problem.fronts
    front = fronts.front_of_node[problem.targets]
    sizes = np.diff(fronts.indptr)[front]
    owner = np.repeat(np.arange(len(front)), sizes)
    which = np.arange(len(owner)) - np.repeat(np.cumsum(sizes) - sizes, sizes) + fronts.indptr[front][owner]
    return owner, fronts.points[which]


def _used(problem: Problem, attack: Allocation) -> np.ndarray:
    """(targets, types): the types that are positive in some reached front point."""
    owner, points = _points(problem)
    reached = (points <= attack.inside[owner]).all(axis=1)
    used = np.zeros((len(problem.targets), len(TYPES)), dtype=bool)
    np.logical_or.at(used, owner[reached], points[reached] > 0)
    return used


def _held(problem: Problem) -> np.ndarray:
    """(targets, types): how many flips of each type exist in a field, regardless of the budgets."""
    graph, count = problem.instance.graph, len(problem.targets)
    most = np.full((count, len(TYPES)), UNLIMITED, dtype=np.int64)
    everybody = np.ones(graph.n_nodes, dtype=bool)
    exists = {k: TABLE[k].capacity(graph, everybody).astype(np.int64) for k in node_types()}
    if problem.whole_graph:
        most[:, ADJ_DEL] = graph.n_edges
        for k, at_node in exists.items():
            most[:, k] = min(int(at_node.sum()), UNLIMITED)
        return most
    for k, at_node in exists.items() if not problem.by_ballots else ():  # a rewritten node may show any ballot
        most[:, k] = problem.fields.nodes.astype(np.int64) @ at_node
    if problem.fields.edges is not None:
        most[:, ADJ_DEL] = np.diff(problem.fields.edges.indptr)
    return most


# --- one node -------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Influence:
    """One node in one attack: flips at it, flips inside its field, and the targets it helps to break.

    An edge counts at both ends in `spent`, and once in `received`.
    """

    node: int
    state: TargetState
    spent: ByType
    received: ByType
    at_nodes: tuple[tuple[int, ByType], ...]
    """Nodes of the field with attribute flips, and these flips by type; most first."""
    at_edges: tuple[tuple[int, int, str], ...]
    """Changed edges of the field: both ends and the type."""
    helps_to_break: tuple[int, ...]
    """Targets that the flips at this node help to break, as defined by `Reach.broken_by`."""
    margin: int
    """The fewest further flips inside its field that can leave it uncertified, as in `Reach.margin`."""
    step: float = 0
    """As in `Reach.step`."""

    @property
    def hit(self) -> bool:
        return any(self.spent)


def influence(instance: Instance, certificate: Certificate, node: int) -> Influence | None:
    """The effect of the replayed attack at and through a node; None if no attack was searched for."""
    attack = certificate.attack
    if attack is None:
        return None
    state = certificate.states(instance.base.fronts())
    alone = Problem(instance, certificate.threat.replace(targets=np.array([node])))
    received = inside_fields(alone, attack.attributes, attack.deleted, attack.added, attack.injected)[0]
    _, margin = nearest_points(alone, received[None])
    nodes, edges = _within(alone)
    added = attack.added.tolist()
    if alone.by_ballots:  # an added edge brings a new sender only at its ends
        added = [pair for pair in added if node in (pair[:1] if instance.graph.directed else pair)]
    flipped = np.flatnonzero(attack.attributes.sum(axis=0) * nodes)
    flipped = flipped[np.argsort(-attack.attributes[:, flipped].sum(axis=0), kind="stable")]
    spent, scale = attack.spent_at(instance.graph.edges), instance.scale
    changed = [(*instance.graph.edges[e].tolist(), TYPES[ADJ_DEL]) for e in np.flatnonzero(attack.deleted * edges)]
    changed += [(*pair, TYPES[ADJ_ADD]) for pair in added]
    changed += [(*pair, "inject") for pair in attack.injected.tolist() if pair[1] == node]
    return Influence(
        node=node,
        state=TargetState(state[node]),
        spent=_by_type(shown(scale, spent[:, node])),
        received=_by_type(shown(scale, received)),
        at_nodes=tuple((int(i), _by_type(shown(scale, _attributes(attack, int(i))))) for i in flipped),
        at_edges=tuple(changed),
        helps_to_break=tuple(_broken_through(instance, certificate, node)),
        margin=int(margin[0]),
        step=step_of(instance, certificate.threat),
    )


def _attributes(attack: Allocation, node: int) -> np.ndarray:
    amounts = np.zeros(len(TYPES))
    amounts[list(node_types())] = attack.attributes[:, node]
    return amounts


def _by_type(values: np.ndarray) -> ByType:
    return tuple(float(value) for value in values)


def _within(problem: Problem) -> tuple[np.ndarray, np.ndarray]:
    """Which nodes and edges lie in the field of the only target."""
    graph = problem.instance.graph
    if problem.whole_graph:
        return np.ones(graph.n_nodes, dtype=bool), np.ones(graph.n_edges, dtype=bool)
    nodes, edges = np.zeros(graph.n_nodes, dtype=bool), np.zeros(graph.n_edges, dtype=bool)
    nodes[problem.fields.nodes.indices] = True
    if problem.fields.edges is not None:
        edges[problem.fields.edges.indices] = True
    return nodes, edges


def _broken_through(instance: Instance, certificate: Certificate, node: int) -> list[int]:
    """Targets that the flips at a node, or at one of its edges, help to break."""
    found = reach(instance, certificate)
    assert found is not None
    here = np.flatnonzero((found.ends == node).any(axis=1)).tolist()
    return found.targets[sorted({int(t) for site in here for t in found.broken_by(site)})].tolist()
