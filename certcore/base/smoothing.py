"""Sparse randomized smoothing as a base certificate: from votes to fronts."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from fractions import Fraction
from functools import cached_property
from typing import Any

import numpy as np

from certcore.base.confidence import MAX_TRIALS, lower_bounds
from certcore.base.grid import BaseLocal
from certcore.base.lattice import NO_LIMITS, Extent, bits_of, certifiable_types
from certcore.base.multiclass import CornerTable, grown_corners
from certcore.base.thresholds import ThresholdTable, grown_thresholds
from certcore.common.errors import InputError
from certcore.common.exact import decimal_text, read_alpha
from certcore.common.reading import read_only, whole_number, whole_numbers
from certcore.domain.base_rule import BaseRule
from certcore.domain.fronts import Fronts
from certcore.domain.graph import Graph
from certcore.domain.noise import Noise
from certcore.domain.perturbations import ADJ_ADD, ADJ_DEL, FLIPS


@dataclass(frozen=True, eq=False)
class SmoothingBase:
    """The base certificate of a smoothed classifier, from estimation votes; validates itself.

    `votes` counts per node how many of `n_samples` samples voted for each class. `prediction` is the label of each
    node, chosen by *other* votes. The bounds of all nodes hold simultaneously with probability 1 − α: each node gets
    the level α / N (Bonferroni), whatever the targets. `theta` holds the flip probabilities in the order of the
    perturbation types. The graph, if given, limits the number of flips.
    """

    votes: np.ndarray
    prediction: np.ndarray
    n_samples: int
    alpha: Any
    theta: Sequence[Any]
    rule: str = BaseRule.BINARY
    graph: Graph | None = field(default=None, repr=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "n_samples", whole_number(self.n_samples, "n_samples", 1, MAX_TRIALS))
        object.__setattr__(self, "votes", _check_votes(self.votes, self.n_samples))
        n_nodes, n_classes = self.votes.shape
        labels = whole_numbers(self.prediction, "prediction", 0, n_classes - 1, shape=(n_nodes,))
        object.__setattr__(self, "prediction", labels)
        object.__setattr__(self, "alpha", read_alpha(self.alpha))
        object.__setattr__(self, "theta", Noise.of(self.theta).fractions)
        object.__setattr__(self, "rule", BaseRule.parse(self.rule, "the base rule"))
        if self.graph is not None and self.graph.n_nodes != self.n_nodes:
            raise InputError(f"votes has {self.n_nodes} rows; expected one per node, {self.graph.n_nodes}")

    def for_graph(self, graph: Graph) -> SmoothingBase:
        """This certificate for that graph; refused if it was made for another one.

        The largest budgets depend on the number of bits. Without the graph, or with another one, the same votes could
        certify different budgets before and after a file is written and read.
        """
        if self.graph is None:
            return replace(self, graph=graph)
        if self.graph is not graph and self.graph.digest != graph.digest:
            raise InputError(
                "the base certificate was made for another graph than the instance's; make it for this graph, or leave "
                "the graph of SmoothingBase out"
            )
        return self

    @property
    def n_nodes(self) -> int:
        return len(self.votes)

    @property
    def noise(self) -> Noise:
        return Noise.of(self.theta)

    @cached_property
    def axes(self) -> tuple[str, ...]:
        """The types of which a flip can be certified under this smoothing."""
        return tuple(name for name, speaks in zip(FLIPS, certifiable_types(self.noise)) if speaks)

    @property
    def local(self) -> BaseLocal | None:
        return None

    @property
    def global_fields(self) -> bool:
        """True if samples may have added edges, which connect the whole graph."""
        return bool(self.theta[ADJ_ADD] > 0)

    @property
    def fixed_adjacency(self) -> bool:
        return bool(self.theta[ADJ_ADD] == 0 and self.theta[ADJ_DEL] == 0)

    @property
    def level(self) -> Fraction:
        """The error probability of one confidence bound of one node."""
        bounds = 1 if self.rule is BaseRule.BINARY else 2
        return Fraction(self.alpha) / (bounds * self.n_nodes)

    @cached_property
    def probability(self) -> np.ndarray:
        """Per node a lower bound on the probability of its label (p_n, or p_A), rounded down."""
        return read_only(lower_bounds(self._label_votes, self.n_samples, self.level))

    @cached_property
    def rest_probability(self) -> np.ndarray:
        """Per node a lower bound on 1 − p_B, rounded down: p_B bounds the probability of every other class.

        The upper bound for x of n votes is one minus the lower bound for n − x. The largest *estimation* count of
        another class is used for all of them: the bound grows with the count, so it covers the most probable class.
        Besides, no other class exceeds 1 − p_A.
        """
        others = self.votes.copy()
        others[np.arange(self.n_nodes), self.prediction] = 0
        most = others.max(axis=1)
        rest = lower_bounds(self.n_samples - most, self.n_samples, self.level)
        return read_only(np.maximum(rest, self.probability))

    @cached_property
    def abstained(self) -> np.ndarray:
        """Nodes whose votes certify nothing, even without an attack."""
        if self.rule is BaseRule.BINARY:
            return self.probability <= 0.5
        return ~self.fronts().clean

    @property
    def facts(self) -> dict[str, Any]:
        cut = [name for name, flag in zip(FLIPS, self.table.cut) if flag]
        facts: dict[str, Any] = {
            "kind": "sparse smoothing",
            "rule": str(self.rule),
            "alpha": decimal_text(Fraction(self.alpha)),
            "samples": self.n_samples,
            "theta": [decimal_text(t) for t in self.theta],
            "abstained": int(np.count_nonzero(self.abstained)),
        }
        if cut:
            facts["cut"] = cut  # larger budgets of these types were not computed and count as uncertified
        return facts

    @cached_property
    def bits(self) -> Extent:
        """The number of possible flips of each type."""
        if self.graph is None:
            return NO_LIMITS
        g = self.graph
        return bits_of(g.n_nodes, g.n_attrs, len(g.attr_indices), g.n_edges, g.directed)

    @cached_property
    def table(self) -> ThresholdTable | CornerTable:
        """The table of this smoothing, computed as far as these votes need it."""
        if self.rule is BaseRule.BINARY:
            return grown_thresholds(self.noise, float(self.probability.max()), self.bits)
        return grown_corners(self.noise, float(self.rest_probability.max()), self.bits)

    @cached_property
    def _fronts(self) -> Fronts:
        if isinstance(self.table, ThresholdTable):
            return self.table.fronts(self.probability)
        return self.table.fronts(self.probability, self.rest_probability)

    def fronts(self) -> Fronts:
        return self._fronts

    def arrays(self) -> dict[str, np.ndarray]:
        return {
            "votes": self.votes.astype(np.int32 if self.n_samples < 2**31 else np.int64),
            "prediction": self.prediction.astype(np.int32),
            "n_samples": np.array(self.n_samples),
            "alpha": np.array(decimal_text(Fraction(self.alpha))),
            "theta": np.array([decimal_text(t) for t in self.theta]),
        }

    @property
    def _label_votes(self) -> np.ndarray:
        return self.votes[np.arange(self.n_nodes), self.prediction]


def _check_votes(votes: Any, n_samples: int) -> np.ndarray:
    if np.ndim(votes) != 2 or 0 in np.shape(votes):
        raise InputError(
            f"votes has shape {np.shape(votes)}; expected whole numbers, one row per node and one column per class"
        )
    votes = whole_numbers(votes, "votes", 0, n_samples, shape=(None, None))
    sums = votes.sum(axis=1)
    if (sums != n_samples).any():
        node = int(np.flatnonzero(sums != n_samples)[0])
        raise InputError(f"the votes of node {node} sum to {sums[node]}; expected n_samples, {n_samples}")
    return votes
