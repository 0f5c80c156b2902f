"""The effect of an attack at one node, and the other targets that flips there help to break."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from certcore.domain.perturbations import ADJ_ADD, ADJ_DEL, TYPES, node_types
from certcore.domain.scale import shown
from certcore.instance.instance import Instance
from certcore.program.problem import Problem
from certcore.result.allocation import Allocation, inside_fields
from certcore.result.attack_effects import nearest_points, reach, step_of
from certcore.result.certificate import Certificate
from certcore.result.states import TargetState

ByType = tuple[float, ...]


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
