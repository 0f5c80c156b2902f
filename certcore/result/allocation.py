"""Where the adversary spends its budget: integers in an attack, fractions in the relaxed program."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
import scipy.sparse as sp

from certcore.base.ballots import UNIT
from certcore.common.reading import whole_numbers
from certcore.domain.perturbations import ADJ_ADD, ADJ_DEL, INJECT, TABLE, TYPES, UNLIMITED, node_types
from certcore.program.problem import Problem
from certcore.program.structure import Structure


@dataclass(frozen=True, eq=False)
class Allocation:
    """Flips per node and per edge. An integer allocation is an attack; a fractional one is not.

    `attributes` is (node types, N): the budget spent at each node, for each type in `node_types` (additions, deletions
    and registered types). In attacks, real amounts are whole units too. `deleted` has an amount per edge of
    `Graph.edges`. `added` lists new edges. `attackers` is the value a_n of each node (without σ: 1 if the node is
    used). `inside` is (targets, types): the perturbation inside each target's field. `attacked` is the fraction of each
    target that is broken: 0 or 1 in an attack, anything between in the relaxed solution.
    """

    attributes: np.ndarray
    deleted: np.ndarray
    added: np.ndarray
    attackers: np.ndarray
    inside: np.ndarray
    attacked: np.ndarray
    integer: bool
    injected: np.ndarray = field(default_factory=lambda: empty_edges())
    """(edges, 2): edges of new nodes, each as a new node (numbered from N on) and the node it is joined to."""
    shown: np.ndarray = field(default_factory=lambda: empty_edges())
    """Ballots: rewritten and new nodes, each with the class for which it shows a full ballot."""
    loss: int = 0
    """In an attack, how many targets are broken; with weights, the sum of theirs."""

    @property
    def bytes(self) -> int:
        """Memory of its arrays."""
        return sum(value.nbytes for value in vars(self).values() if isinstance(value, np.ndarray))

    def spent_at(self, edges: np.ndarray) -> np.ndarray:
        """(types, N): budget spent at each node by type; an edge counts at both its ends."""
        n = self.attributes.shape[1]
        spent = np.zeros((len(TYPES), n), dtype=self.attributes.dtype)
        spent[list(node_types())] = self.attributes
        for end in (0, 1):
            np.add.at(spent[ADJ_DEL], edges[:, end], self.deleted)
            if len(self.added):
                np.add.at(spent[ADJ_ADD], self.added[:, end], 1)
        np.add.at(spent[INJECT], self.injected[:, 1], 1)
        return spent

    @property
    def totals(self) -> tuple[float, ...]:
        """Flips of each type in the whole graph."""
        totals = dict(zip(node_types(), self.attributes.sum(axis=1).tolist()))
        totals |= {ADJ_ADD: len(self.added), ADJ_DEL: self.deleted.sum().item()}
        totals[INJECT] = len(np.unique(self.injected[:, 0]))
        return tuple(totals.get(k, 0) for k in range(len(TYPES)))


def inside_fields(
    problem: Problem, attributes: np.ndarray, deleted: np.ndarray, added: np.ndarray, injected: np.ndarray | None = None
) -> np.ndarray:
    """(targets, types): the perturbation inside each target's field, recomputed from the allocation.

    Against ballots, added edges and edges of new nodes count where they bring a new sender.
    """
    inside = np.zeros((len(problem.targets), len(TYPES)), dtype=attributes.dtype)
    if problem.whole_graph:
        inside[:, list(node_types())] = attributes.sum(axis=1)
        inside[:, ADJ_ADD] = len(added)
        inside[:, ADJ_DEL] = deleted.sum()
        return inside
    fields = problem.fields
    if problem.by_ballots:
        receivers = added[:, :1] if problem.instance.graph.directed else added
        joined = empty_edges() if injected is None else injected
        for k, nodes in ((ADJ_ADD, receivers.ravel()), (INJECT, joined[:, 1])):
            inside[:, k] = np.bincount(nodes, minlength=problem.instance.graph.n_nodes)[problem.targets]
    if attributes.any():
        psi = fields.nodes.astype(attributes.dtype)
        for k, amounts in zip(node_types(), attributes):
            inside[:, k] = psi @ amounts
    if fields.edges is not None and deleted.any():
        inside[:, ADJ_DEL] = fields.edges.astype(attributes.dtype) @ deleted
    return inside


def replay(
    problem: Problem,
    attributes: np.ndarray,
    deleted: np.ndarray,
    added: np.ndarray,
    attackers: np.ndarray,
    injected: np.ndarray | None = None,
    shown: np.ndarray | None = None,
) -> Allocation:
    """Replay an integer attack: recompute the flips inside every field and evaluate each target's base certificate.

    Against ballots the labels are recomputed, and targets whose label changes count as attacked.
    """
    graph = problem.instance.graph
    shape = (len(node_types()), graph.n_nodes)
    attributes = whole_numbers(attributes, "the attribute flips", -UNLIMITED, UNLIMITED, shape=shape)
    deleted = whole_numbers(deleted, "the deleted edges", -UNLIMITED, UNLIMITED, shape=(graph.n_edges,))
    pairs = added if np.size(added) else np.zeros((0, 2), dtype=np.int64)
    added = whole_numbers(pairs, "the added edges", 0, graph.n_nodes - 1, shape=(None, 2))
    injected = empty_edges() if injected is None else injected
    shown = empty_edges() if shown is None else shown
    inside = inside_fields(problem, attributes, deleted, added, injected)
    if problem.by_ballots:
        attacked = _labels_changed(problem, deleted, added, injected, shown)[problem.targets]
    else:
        attacked = problem.fronts.uncertified_at(problem.targets, inside)
    share = np.asarray(attackers, dtype=float)
    loss = problem.weigh(np.asarray(attacked, dtype=bool))
    return Allocation(attributes, deleted, added, share, inside, attacked.astype(float), True, injected, shown, loss)


def _labels_changed(
    problem: Problem, deleted: np.ndarray, added: np.ndarray, injected: np.ndarray, shown: np.ndarray
) -> np.ndarray:
    """Which labels change when the ballots of the attacked graph are summed; a new node without a class shows zeros."""
    base, graph = problem.ballots, problem.instance.graph
    n = graph.n_nodes
    ballots = np.concatenate([base.ballots, np.zeros((int(injected[:, 0].max(initial=n - 1)) + 1 - n, base.n_classes))])
    ballots = ballots.astype(np.int64)
    ballots[shown[:, 0]] = UNIT * np.eye(base.n_classes, dtype=np.int64)[shown[:, 1]]
    pairs = np.concatenate([graph.edges[deleted == 0], added])
    if not graph.directed:
        pairs = np.concatenate([pairs, pairs[:, ::-1]])
    scores = base.weight * ballots[:n]
    np.add.at(scores, pairs[:, 0], ballots[pairs[:, 1]])
    np.add.at(scores, injected[:, 1], ballots[injected[:, 0]])
    return np.asarray(scores.argmax(axis=1) != base.prediction)


def inadmissible(problem: Problem, allocation: Allocation) -> str | None:
    """Why an integer allocation violates the threat model, or None. Shares no code with the program."""
    graph, threat = problem.instance.graph, problem.threat
    attributes, deleted, added = allocation.attributes, allocation.deleted, allocation.added
    if attributes.min(initial=0) < 0 or deleted.min(initial=0) < 0 or deleted.max(initial=0) > 1:
        return "a count is negative, or an edge is deleted more than once"
    paid = dict(zip(node_types(), attributes.sum(axis=1).tolist()))
    paid |= {ADJ_ADD: len(added), ADJ_DEL: int(deleted.sum())}
    paid[INJECT] = len(np.unique(allocation.injected[:, 0]))
    for k, (name, budget) in enumerate(zip(TYPES, threat.budgets)):
        if paid.get(k, 0) > budget:
            return f"{name} takes {paid[k]}, the global budget is {budget}"
    if threat.scale is not None and _too_long(problem, attributes[node_types().index(TYPES.index("attr_l2"))]):
        return "the attributes are moved further than allowed"
    spent = allocation.spent_at(graph.edges)
    if (spent > threat.local_limits(graph)).any():
        return "a local budget is exceeded"
    each = np.unique(allocation.injected[:, 0], return_counts=True)[1]
    if threat.inject_edges is not None and each.max(initial=0) > threat.inject_edges:
        return f"a new node has {each.max()} edges, {threat.inject_edges} are allowed"
    if len(np.unique(allocation.injected, axis=0)) != len(allocation.injected):
        return "a new node is joined twice to the same node"
    missing = None if problem.by_ballots else _missing(problem, attributes)  # a rewritten node may show any ballot
    if missing is not None:
        return missing
    protected = np.asarray(threat.protected, dtype=np.int64)
    if spent[:, protected].any():
        return "a protected node is touched"
    if len(added):
        if (added[:, 0] == added[:, 1]).any() or graph.adjacency[added[:, 0], added[:, 1]].sum():
            return "an added edge is a self loop or exists already"
        keys = added if graph.directed else np.sort(added, axis=1)
        if len(np.unique(keys, axis=0)) != len(keys):
            return "an edge is added twice"
    if threat.sigma is not None:
        attackers = allocation.attackers > 0.5
        if attackers.sum() > threat.sigma:
            return f"{int(attackers.sum())} attackers, σ is {threat.sigma}"
        if attributes[:, ~attackers].any():
            return "attributes change at a node that is no attacker"
        changed = np.concatenate([graph.edges[deleted > 0], added])
        if not attackers[changed].any(axis=1).all():
            return "an edge changes at which no end is an attacker"
    return None


def _too_long(problem: Problem, moved: np.ndarray) -> bool:
    """Whether moves, in units of squared length at each node, exceed their limits in exact arithmetic.

    The limits are `attr_l2` and `local_attr_l2`, which the program rounds up to units.
    """
    threat, scale, kind = problem.threat, problem.threat.scale, TYPES.index("attr_l2")
    assert scale is not None
    if threat.local[kind] is not None:
        limits = threat.squared_limits(kind, len(moved))
        if any(scale.square_of(int(moved[node])) > limits[node] for node in np.flatnonzero(moved)):
            return True
    return scale.square_of(int(moved.sum())) > threat.attr_l2**2


def _missing(problem: Problem, attributes: np.ndarray) -> str | None:
    """A message about flips of bits that do not exist at some node, or None."""
    graph = problem.instance.graph
    if (attributes[0] > graph.n_attrs - graph.ones).any() or (attributes[1] > graph.ones).any():
        return "an attribute is added twice, or one that is not there is deleted"
    free = np.ones(graph.n_nodes, dtype=bool)
    for k, amounts in zip(node_types(), attributes):
        if (amounts > TABLE[k].capacity(graph, free)).any():
            return f"there is not so much at a node for {TABLE[k].plural}"
    return None


def fractional(problem: Problem, structure: Structure, x: np.ndarray) -> Allocation:
    """The allocation of a relaxed solution: flips, attackers and broken targets may be fractions."""
    graph = problem.instance.graph
    attributes = np.zeros((len(node_types()), graph.n_nodes))
    deleted = np.zeros(graph.n_edges)
    flips, amount = structure.flips, np.clip(x[structure.columns.flips], 0.0, None)
    for row, k in enumerate(node_types()):
        chosen = flips.kind == k
        attributes[row, flips.site[chosen]] = amount[chosen]
    chosen = flips.kind == ADJ_DEL
    np.add.at(deleted, flips.site[chosen], amount[chosen])
    attackers = np.zeros(graph.n_nodes)
    if structure.has_sigma:
        attackers[structure.attackers.nodes] = np.clip(x[structure.columns.attackers], 0.0, 1.0)
    else:
        attackers[attributes.sum(axis=0) > 0] = 1.0
        attackers[graph.edges[deleted > 0].ravel()] = 1.0
    share, group = structure.attacked(x), structure.groups.of_target
    attacked = np.where(group >= 0, np.clip(np.append(share, 0.0)[group], 0.0, 1.0), 0.0)
    zero = problem.fronts.uncertified_at(problem.targets, np.zeros((len(problem.targets), len(TYPES)), dtype=np.int64))
    attacked = np.where(zero, 1.0, attacked)
    inside = inside_fields(problem, attributes, deleted, empty_edges())
    return Allocation(attributes, deleted, np.zeros((0, 2), np.int64), attackers, inside, attacked, False)


def empty_edges() -> np.ndarray:
    return np.zeros((0, 2), dtype=np.int64)


def columns_of(matrix: sp.csr_array) -> sp.csr_array:
    """The transpose in CSR form with sorted indices: which rows a column touches."""
    result = sp.csr_array(matrix.T.tocsr())
    result.sort_indices()
    return result
