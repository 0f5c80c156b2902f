"""A threat model applied to an instance: who is a target, what can reach it, what exists to be flipped."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property

import numpy as np

from certcore.base.division import DivisionBase
from certcore.common.errors import InputError
from certcore.domain.fronts import Fronts
from certcore.domain.perturbations import ADJ_DEL, TABLE, TYPES, UNLIMITED
from certcore.domain.threat import ThreatModel
from certcore.instance.division import Division, division_of
from certcore.instance.fields import Fields, fields_of
from certcore.instance.instance import Instance


@dataclass(frozen=True, eq=False)
class Problem:
    """An instance under a threat model, checked and resolved; the start of every certificate."""

    instance: Instance
    threat: ThreatModel
    like: Problem | None = field(default=None, repr=False)
    """A problem with other global budgets and another σ only: what is derived from all the rest is taken from it."""

    def __post_init__(self) -> None:
        threat, graph = self.threat, self.instance.graph
        threat.check(graph)
        if self.instance.base.local is not None:
            self.instance.base.local.check(threat.budgets, threat.local_limits(graph))
        if self.instance.node_field is not None and any(not TABLE[k].at_nodes for k in self.in_play):
            raise InputError(
                "this instance has explicit node fields, which hold for attribute budgets only; "
                "set the edge budgets to 0, or give layers and edge_field"
            )

    @cached_property
    def targets(self) -> np.ndarray:
        """The nodes whose labels are counted."""
        if self.like is not None:
            return self.like.targets
        chosen = self.threat.targets
        return np.asarray(self.instance.targets if chosen is None else chosen)

    @cached_property
    def fronts(self) -> Fronts:
        return self.instance.base.fronts()

    @property
    def in_play(self) -> tuple[int, ...]:
        """The perturbation types with a budget; the others disappear together with the points that need them."""
        return tuple(k for k in range(len(TYPES)) if self.threat.budgets[k] > 0)

    @property
    def real_amounts(self) -> bool:
        """Whether a type in play has real amounts: what holds for whole numbers of flips only must not be used."""
        return any(not TABLE[k].whole for k in self.in_play)

    @property
    def has_strong_rows(self) -> bool:
        """Whether rows of the strong form hold: not where votes over groups decide, nor for real amounts."""
        return not (self.by_division or self.real_amounts)

    @property
    def whole_graph(self) -> bool:
        return whole_graph(self.instance, self.threat)

    @property
    def by_division(self) -> bool:
        return by_division(self.instance, self.threat)

    @cached_property
    def division(self) -> Division:
        """The votes' own fields, one row per target; only where division voting decides."""
        if self.like is not None and self.like.by_division:
            return self.like.division
        return division_of(self.instance, self.targets)

    @cached_property
    def fields(self) -> Fields:
        """Fields of the targets, one row per target."""
        need_edges = ADJ_DEL in self.in_play
        if self.like is not None and (not need_edges or ADJ_DEL in self.like.in_play):
            return self.like.fields
        return fields_of(self.instance, self.targets, need_edges=need_edges)

    @cached_property
    def local_limits(self) -> np.ndarray:
        if self.like is not None:
            return self.like.local_limits
        return self.threat.local_limits(self.instance.graph)

    @cached_property
    def capacities(self) -> np.ndarray:
        """(types, N): flips each node can take, by local budget, existence and protection."""
        if self.like is not None:
            return self.like.capacities
        return self.threat.capacities(self.instance.graph)

    @cached_property
    def free(self) -> np.ndarray:
        """Nodes that are not protected."""
        free = np.ones(self.instance.graph.n_nodes, dtype=bool)
        free[self.threat.protected] = False
        return free

    @cached_property
    def node_costs(self) -> np.ndarray:
        """What an attribute flip at each node costs."""
        costs = self.threat.node_costs
        return np.ones(self.instance.graph.n_nodes, np.int64) if costs is None else np.asarray(costs)

    @cached_property
    def edge_costs(self) -> np.ndarray:
        """What the deletion of each edge costs."""
        costs = self.threat.edge_costs
        return np.ones(self.instance.graph.n_edges, np.int64) if costs is None else np.asarray(costs)

    def limited(self, kind: int) -> bool:
        """Whether a local budget is set for this type."""
        return self.threat.local[kind] is not None

    @cached_property
    def naive_certified(self) -> int:
        """Targets certified one by one at the global budgets (the paper's naive certificate)."""
        return int(self.fronts.certified(self.threat.budgets)[self.targets].sum())


def whole_graph(instance: Instance, threat: ThreatModel) -> bool:
    """Whether every field is the whole graph: edges may be added, by the attacker or by the smoothing."""
    adding = any(budget and entry.adds_edges for budget, entry in zip(threat.budgets, TABLE))
    return (adding and not by_division(instance, threat)) or instance.base.global_fields


def by_division(instance: Instance, threat: ThreatModel) -> bool:
    """Whether votes over groups of edges decide: their fields stay local under additions while attributes stay.

    With attribute flips beside them the usual program holds: a deletion changes one vote at most, and any attribute
    flip counts as uncertified.
    """
    edges = threat.adj_add + threat.adj_del
    return isinstance(instance.base, DivisionBase) and 0 < edges == sum(threat.budgets)


def whole_graph_totals(problem: Problem) -> np.ndarray:
    """The largest perturbation of each type that any admissible graph can contain."""
    graph, threat = problem.instance.graph, problem.threat
    totals = np.array(threat.budgets, dtype=np.int64)
    sigma = graph.n_nodes if threat.sigma is None else min(threat.sigma, graph.n_nodes)
    for k in range(len(TYPES)):
        caps = np.sort(problem.capacities[k])[::-1]
        totals[k] = min(totals[k], int(caps[:sigma].sum()))
        if not TABLE[k].at_nodes:
            # Every flipped edge takes one from the capacity of both its ends. The σ sum is not halved: an edge
            # between an attacker and somebody else is charged to the attacker once.
            totals[k] = min(totals[k], int(caps.sum()) // 2)
        totals[k] = min(totals[k], _affordable(problem, k))
    return np.minimum(totals, UNLIMITED)


def _affordable(problem: Problem, kind: int) -> int:
    """How many flips of a type the global budget pays for at most: the cheapest ones first."""
    graph, threat = problem.instance.graph, problem.threat
    budget = threat.budgets[kind]
    if kind == ADJ_DEL and threat.edge_costs is not None:
        costs = np.asarray(threat.edge_costs)[problem.free[graph.edges].all(axis=1)]
        amounts = np.ones(len(costs), dtype=np.int64)
    elif TABLE[kind].at_nodes and threat.node_costs is not None:
        costs, amounts = np.asarray(threat.node_costs), problem.capacities[kind]
    else:
        return budget
    count = 0
    for cost in np.unique(costs).tolist():
        taken = min(int(amounts[costs == cost].sum()), budget // cost)
        count += taken
        budget -= taken * cost
    return count
