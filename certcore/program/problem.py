"""A threat model applied to an instance: the targets, their fields, and the flips that exist."""

from __future__ import annotations

import math
from dataclasses import dataclass, field, replace
from functools import cached_property

import numpy as np

from certcore.base.ballots import BallotsBase
from certcore.base.gaussian import GaussianBase
from certcore.common.errors import InputError
from certcore.domain.fronts import Fronts
from certcore.domain.perturbations import ADJ_DEL, TABLE, TYPES, UNLIMITED
from certcore.domain.threat import ThreatModel
from certcore.instance.fields import Fields, fields_of
from certcore.instance.instance import Instance

#: Dual values are integers over two to this power, or a smaller one where weights are large.
SCALE_BITS = 40


@dataclass(frozen=True, eq=False)
class Problem:
    """An instance under a threat model, validated; the starting point of every certificate."""

    instance: Instance
    threat: ThreatModel
    like: Problem | None = field(default=None, repr=False)
    """A problem that differs only in global budgets, σ and rounding; cached data that depend on none are reused."""
    round_up: bool = True
    """Whether lengths are rounded up to units, as bounds need it; attacks need them rounded down."""

    def __post_init__(self) -> None:
        graph, scale = self.instance.graph, self.instance.scale
        threat = self.threat.bound_to(scale if scale is None or self.round_up else replace(scale, up=False))
        threat.check(graph)
        object.__setattr__(self, "threat", threat.weighed(graph, np.asarray(self.instance.targets)))
        if self.instance.base.local is not None:
            self.instance.base.local.check(threat.budgets, threat.local_limits(graph))
        if self.instance.node_field is not None and any(not TABLE[k].at_nodes for k in self.in_play):
            raise InputError(
                "this instance has explicit node fields, which hold for attribute budgets only; "
                "set the edge budgets to 0, or give layers and edge_field"
            )
        self._check_new_nodes()

    def _check_new_nodes(self) -> None:
        threat, new = self.threat, [TABLE[k] for k in self.in_play if TABLE[k].brings_nodes]
        if not new:
            return
        if not isinstance(self.instance.base, BallotsBase):
            raise InputError(
                f"this base certificate says nothing about {new[0].plural}; set {new[0].name} to 0, or use ballots, "
                "which do: certcore.ballots(scores, data)"
            )
        if threat.sigma is not None and threat.adj_add + threat.adj_del:
            raise InputError(
                f"σ together with edge budgets and {new[0].plural} is not supported, because a new node pays for its "
                "own edges; leave out one of the three"
            )

    @cached_property
    def targets(self) -> np.ndarray:
        """The nodes whose labels are counted."""
        if self.like is not None:
            return self.like.targets
        chosen = self.threat.targets
        return np.asarray(self.instance.targets if chosen is None else chosen)

    @cached_property
    def weights(self) -> np.ndarray:
        """For each target how often it counts, a whole number of at least 1; 1 unless weights are given."""
        if self.like is not None:
            return self.like.weights
        given = self.threat.weights
        return np.ones(len(self.targets), dtype=np.int64) if given is None else given.values[self.targets]

    @property
    def total(self) -> int:
        """The sum of all weights: the number of targets unless weights are given."""
        return int(self.weights.sum())

    def weigh(self, chosen: np.ndarray) -> int:
        """The sum of the weights of some targets, given by a mask."""
        return int(self.weights[chosen].sum())

    @property
    def is_weighted(self) -> bool:
        """Whether some target counts more than once."""
        return bool(self.weights.max(initial=1) > 1)

    @property
    def scale_bits(self) -> int:
        """Dual values are integers over two to this power: so large that all weights together stay below 2⁵²."""
        return min(SCALE_BITS, 52 - self.total.bit_length()) if self.is_weighted else SCALE_BITS

    @property
    def step(self) -> int:
        """Bounds that differ by less settle no search: one target, or a ten-thousandth of all weights."""
        return max(1, self.total // 10**4) if self.is_weighted else 1

    @property
    def mean_weight(self) -> float:
        """A power of two near the mean weight: solvers are given weights over it, and their tolerances times it."""
        return 2.0 ** round(math.log2(self.total / len(self.targets))) if self.is_weighted else 1.0

    @cached_property
    def fronts(self) -> Fronts:
        return self.instance.base.fronts()

    @property
    def in_play(self) -> tuple[int, ...]:
        """The perturbation types with a positive budget; front points that need another type cannot be reached."""
        return tuple(k for k in range(len(TYPES)) if self.threat.budgets[k] > 0)

    @property
    def real_amounts(self) -> bool:
        """Whether a type in play is measured in real amounts; arguments that need integer flips do not apply then."""
        return any(not TABLE[k].whole for k in self.in_play)

    @property
    def has_strong_rows(self) -> bool:
        """Whether strong rows are valid and proofs have a format for them.

        Not for ballots, real amounts, or Gaussian noise, even where only edges have a budget.
        """
        gaussian = isinstance(self.instance.base, GaussianBase)
        return not (self.by_ballots or self.real_amounts or gaussian)

    @property
    def whole_graph(self) -> bool:
        return whole_graph(self.instance, self.threat)

    @property
    def by_ballots(self) -> bool:
        return isinstance(self.instance.base, BallotsBase)

    @property
    def ballots(self) -> BallotsBase:
        assert isinstance(self.instance.base, BallotsBase)
        return self.instance.base

    @cached_property
    def fields(self) -> Fields:
        """Fields of the targets, one row per target."""
        need_edges = ADJ_DEL in self.in_play
        if self.like is not None and (not need_edges or ADJ_DEL in self.like.in_play):
            return self.like.fields
        return fields_of(self.instance, self.targets, need_edges=need_edges)

    @property
    def _limited_alike(self) -> bool:
        return self.like is not None and self.like.round_up == self.round_up

    @cached_property
    def local_limits(self) -> np.ndarray:
        if self.like is not None and self._limited_alike:
            return self.like.local_limits
        return self.threat.local_limits(self.instance.graph)

    @cached_property
    def capacities(self) -> np.ndarray:
        """(types, N): how many flips each node can take, by local budget, existing bits and protection."""
        if self.like is not None and self._limited_alike:
            return self.like.capacities
        return self.threat.capacities(self.instance.graph)

    @cached_property
    def free(self) -> np.ndarray:
        """Nodes that are not protected."""
        free = np.ones(self.instance.graph.n_nodes, dtype=bool)
        free[self.threat.protected] = False
        return free

    def limited(self, kind: int) -> bool:
        """Whether a local budget is set for this type."""
        return self.threat.local[kind] is not None

    @cached_property
    def naive_certified(self) -> int:
        """Targets certified one by one at the global budgets (the paper's naive certificate)."""
        return self.weigh(self.fronts.certified(self.threat.budgets)[self.targets])


def whole_graph(instance: Instance, threat: ThreatModel) -> bool:
    """Whether every field is the whole graph, because the attacker or the smoothing may add edges."""
    adding = any(budget and entry.adds_edges for budget, entry in zip(threat.budgets, TABLE))
    return (adding and not isinstance(instance.base, BallotsBase)) or instance.base.global_fields


def whole_graph_totals(problem: Problem) -> np.ndarray:
    """The largest total perturbation of each type in any admissible graph."""
    graph, threat = problem.instance.graph, problem.threat
    totals = np.array(threat.budgets, dtype=np.int64)
    sigma = graph.n_nodes if threat.sigma is None else min(threat.sigma, graph.n_nodes)
    for k in range(len(TYPES)):
        caps = np.sort(problem.capacities[k])[::-1]
        totals[k] = min(totals[k], int(caps[:sigma].sum()))
        if not TABLE[k].at_nodes:
            # Every flipped edge uses one unit of capacity at both ends. The σ sum is not halved: an edge between an
            # attacker and another node uses the attacker's capacity only once.
            totals[k] = min(totals[k], int(caps.sum()) // 2)
    return np.minimum(totals, UNLIMITED)
