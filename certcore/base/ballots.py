"""Ballots: a base certificate for edges, attributes and new nodes that needs no samples.

The ballot of a node is one integer from 0 to U = 2²⁰ per class, computed from its own attributes by fixed weights. The
score of a node is `weight` times its own ballot plus the ballots of its senders (in undirected graphs its neighbours).
Its label is the class with the largest score; ties go to the smaller class. An attack at one node changes one term of
that sum, by a bounded amount. All arithmetic here is in integers.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np

from certcore.base.grid import MAX_CLASSES, BaseLocal
from certcore.common.errors import InputError
from certcore.common.reading import flag, read_only, whole_number, whole_numbers
from certcore.domain.fronts import Fronts
from certcore.domain.graph import Graph
from certcore.domain.perturbations import ADJ_ADD, ADJ_DEL, ATTR_ADD, ATTR_DEL, INJECT, TYPES, UNLIMITED

#: U, the largest entry of a ballot.
UNIT = 2**20
#: Denominator of shares: integers over this are fractions of a gap.
SHARE = 2**20
MAX_WEIGHT = 10**6


@dataclass(frozen=True, eq=False)
class BallotsBase:
    """A base certificate from one ballot per node; labels and gains follow from ballots and graph.

    `ballots` has one row per node and one column per class. Arrays over senders follow the order of the adjacency
    entries: row n, column m means that m sends to n.
    """

    ballots: np.ndarray
    weight: int = 1
    """The weight of a node's own ballot in its score."""
    weights_read_edges: bool = True
    """Whether training used edges. If not, changes of edges and nodes before training are covered too."""
    checked: int | None = None
    """On how many rows a model was checked to read a node's own attributes only; None: that is taken as given."""
    graph: Graph | None = None
    """The clean graph; an instance passes its own."""

    def __post_init__(self) -> None:
        ballots = whole_numbers(self.ballots, "ballots", 0, UNIT, shape=(None, None))
        whole_number(ballots.shape[1], "the number of classes in ballots", 1, MAX_CLASSES)
        object.__setattr__(self, "ballots", ballots)
        weight = whole_number(self.weight, "the weight of the own ballot", 1, MAX_WEIGHT)
        object.__setattr__(self, "weight", weight)
        object.__setattr__(self, "weights_read_edges", flag(self.weights_read_edges, "weights_read_edges"))
        if self.checked is not None:
            object.__setattr__(self, "checked", whole_number(self.checked, "ballots_checked", 1, len(ballots)))

    def for_graph(self, graph: Graph) -> BallotsBase:
        """The same ballots on this graph."""
        return self if self.graph is graph else replace(self, graph=graph)

    @property
    def n_nodes(self) -> int:
        return int(self.ballots.shape[0])

    @property
    def n_classes(self) -> int:
        return int(self.ballots.shape[1])

    @property
    def axes(self) -> tuple[str, ...]:
        return tuple(TYPES[k] for k in (ATTR_ADD, ATTR_DEL, ADJ_ADD, ADJ_DEL, INJECT))

    @property
    def local(self) -> BaseLocal | None:
        return None

    @property
    def global_fields(self) -> bool:
        return False

    @property
    def fixed_adjacency(self) -> bool:
        return False  # the score sums over the edges that exist

    @property
    def _bound(self) -> Graph:
        if self.graph is None:
            raise InputError("ballots alone have no labels; put them into an Instance with the graph first")
        return self.graph

    @cached_property
    def _receiver(self) -> np.ndarray:
        """The receiver (row) of each adjacency entry."""
        return np.repeat(np.arange(self.n_nodes), np.diff(self._bound.adj_indptr))

    @cached_property
    def scores(self) -> np.ndarray:
        """(nodes, classes): the own ballot times its weight, plus the ballots of the senders."""
        sums = self._bound.adjacency.astype(np.int64) @ self.ballots
        return read_only(np.asarray(self.weight * self.ballots + sums, dtype=np.int64))

    @cached_property
    def prediction(self) -> np.ndarray:
        """The class with the largest score; ties go to the smallest class."""
        return read_only(self.scores.argmax(axis=1))

    def gap(self, rival: int) -> np.ndarray:
        """The smallest change of the score difference that makes `rival` the label of each node: at least 1.

        Undefined where `rival` is already the label.
        """
        label = self.prediction
        own = self.scores[np.arange(self.n_nodes), label]
        return np.asarray(own - self.scores[:, rival] + (label < rival))

    def _rivals(self) -> Iterator[tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]]:
        """Per class: where it is a rival, its gaps (1 elsewhere), the gain of deleting each sender, receivers."""
        senders, receivers = self._bound.adj_indices, self._receiver
        shown = self.ballots[senders, self.prediction[receivers]]
        for rival in range(self.n_classes):
            is_rival = self.prediction != rival
            yield is_rival, np.where(is_rival, self.gap(rival), 1), shown - self.ballots[senders, rival], receivers

    @cached_property
    def share_new(self) -> np.ndarray:
        """Per node: the largest share of a gap that one new sender can close, over SHARE, rounded up."""
        share = np.zeros(self.n_nodes, dtype=np.int64)
        for is_rival, gap, _, _ in self._rivals():
            share = np.maximum(share, np.where(is_rival, _share(np.full(len(gap), UNIT), gap), 0))
        return read_only(share)

    @cached_property
    def share_deleted(self) -> np.ndarray:
        """Per sender: the largest share of a gap that deleting it can close."""
        return self._largest(lambda gain, gap: _share(gain, gap))

    @cached_property
    def share_controlled(self) -> np.ndarray:
        """Per sender: the largest share of a gap that it can close if the attacker chooses its ballot."""
        return self._largest(lambda gain, gap: _share(gain + UNIT, gap))

    @cached_property
    def needs(self) -> np.ndarray:
        """Per node: the smallest gain that changes its label, in units U, rounded up; UNLIMITED without a rival."""
        least = np.full(self.n_nodes, UNLIMITED, dtype=np.int64)
        for is_rival, gap, _, _ in self._rivals():
            least = np.where(is_rival, np.minimum(least, -(-gap // UNIT)), least)
        return read_only(least)

    @cached_property
    def count_deleted(self) -> np.ndarray:
        """Per sender: the largest gain of deleting it, in units U, rounded up: 0 or 1."""
        return self._largest(lambda gain, gap: -(-np.maximum(gain, 0) // UNIT))

    @cached_property
    def count_controlled(self) -> np.ndarray:
        """Per sender: the largest gain if the attacker chooses its ballot, in units U, rounded up: 0, 1 or 2."""
        return self._largest(lambda gain, gap: -(-np.maximum(gain + UNIT, 0) // UNIT))

    def _largest(self, of: Any) -> np.ndarray:
        """The largest value over all rivals of each sender's receiver; 0 without a rival."""
        best = np.zeros(len(self._receiver), dtype=np.int64)
        for is_rival, gap, gain, receivers in self._rivals():
            best = np.maximum(best, np.where(is_rival[receivers], of(gain, gap[receivers]), 0))
        return read_only(best)

    @property
    def facts(self) -> dict[str, Any]:
        known = {
            "kind": "ballots",
            "classes": self.n_classes,
            "weight": self.weight,
            "weights_read_edges": self.weights_read_edges,
        }
        return known if self.checked is None else known | {"ballots_checked": self.checked}

    def fronts(self) -> Fronts:
        return self._fronts

    @cached_property
    def _fronts(self) -> Fronts:
        """The exact front of each node: for each number of deletions, how many new senders change its label.

        For each rival, the deletions with the largest gains come first. Any change of attributes leaves a node
        uncertified, because the changed attributes may be its own.
        """
        indptr = self._bound.adj_indptr
        degree = np.diff(indptr)
        start = indptr[:-1] + np.arange(self.n_nodes)  # per node one entry for no deletion, then one per sender
        node = np.repeat(np.arange(self.n_nodes), degree + 1)
        deleted = np.arange(len(node)) - start[node]
        least = np.full(len(node), UNLIMITED, dtype=np.int64)
        for is_rival, gap, gain, receivers in self._rivals():
            order = np.lexsort((-gain, receivers))
            gains = np.zeros(len(node), dtype=np.int64)
            gains[np.arange(len(order)) + receivers + 1] = np.maximum(gain[order], 0)
            gains = np.cumsum(gains)
            missing = gap[node] - (gains - gains[start[node]])
            least = np.where(is_rival[node], np.minimum(least, np.maximum(-(-missing // UNIT), 0)), least)
        fewer = np.ones(len(node), dtype=bool)
        fewer[1:] = (least[1:] < least[:-1]) | (deleted[1:] == 0)
        kept = np.flatnonzero(fewer & (least < UNLIMITED))
        return self._points(node[kept], deleted[kept], least[kept])

    def _points(self, node: np.ndarray, deleted: np.ndarray, new: np.ndarray) -> Fronts:
        """One point for each way to split new senders into added edges and new nodes, and two points for attributes."""
        owner = np.repeat(np.arange(len(node)), new + 1)
        added = np.arange(len(owner)) - np.repeat(np.cumsum(new + 1) - (new + 1), new + 1)
        points = np.zeros((len(owner) + 2 * self.n_nodes, len(TYPES)), dtype=np.int64)
        points[: len(owner), ADJ_DEL] = deleted[owner]
        points[: len(owner), ADJ_ADD] = added
        points[: len(owner), INJECT] = new[owner] - added
        for place, kind in enumerate((ATTR_ADD, ATTR_DEL)):
            points[len(owner) + place * self.n_nodes :][: self.n_nodes, kind] = 1
        of_node = np.concatenate([node[owner], np.tile(np.arange(self.n_nodes), 2)])
        order = np.argsort(of_node, kind="stable")
        sizes = np.bincount(of_node, minlength=self.n_nodes)
        return Fronts(np.arange(self.n_nodes), np.concatenate([[0], np.cumsum(sizes)]), points[order])

    def arrays(self) -> dict[str, np.ndarray]:
        arrays = {
            "ballots": self.ballots.astype(np.int32),
            "ballots_weight": np.array(self.weight),
            "weights_read_edges": np.array(self.weights_read_edges),
        }
        return arrays if self.checked is None else arrays | {"ballots_checked": np.array(self.checked)}

    @classmethod
    def from_arrays(cls, arrays: dict[str, np.ndarray]) -> BallotsBase:
        """Read the arrays of an instance file; labels and gains are computed again, never read."""
        for key in ("ballots_weight", "weights_read_edges"):
            if key not in arrays:
                raise InputError(f"the file has ballots but no {key!r}; expected both")
        weight = whole_number(arrays["ballots_weight"], "ballots_weight", 1, MAX_WEIGHT)
        read_edges = flag(arrays["weights_read_edges"], "weights_read_edges")
        checked = None
        if "ballots_checked" in arrays:
            checked = whole_number(arrays["ballots_checked"], "ballots_checked", 1, UNLIMITED)
        return cls(arrays["ballots"], weight, read_edges, checked)


def whole_ballots(scores: object) -> np.ndarray:
    """Scores in [0, 1], such as a softmax, as integers over U, rounded to the nearest."""
    shares = np.asarray(scores, dtype=np.float64)
    if shares.ndim != 2 or not np.isfinite(shares).all():
        raise InputError(f"the scores have shape {shares.shape}; expected finite numbers, one row per node")
    return np.clip(np.rint(shares * UNIT), 0, UNIT).astype(np.int64)


def _share(gain: np.ndarray, gap: np.ndarray) -> np.ndarray:
    """gain / gap clipped to [0, 1], as an integer over SHARE, rounded up."""
    return np.clip(-(-gain * SHARE // gap), 0, SHARE)
