"""Division voting: a base certificate for edge additions and deletions that needs no samples.

A hash puts every unordered pair of nodes into one of T groups. One classifier, with fixed weights, votes once per
group on the graph that has all nodes and attributes and only the edges of that group; a group in which a node has no
edge may abstain. The label is the majority, ties go to the smaller class. A flipped pair belongs to one group, so it
can change at most one vote of a node, and only if one of its ends lies near the node in that group's clean graph.
Everything here is counting in whole numbers.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from certcore.base.grid import MAX_CLASSES, BaseLocal
from certcore.common.errors import InputError
from certcore.common.reading import flag, whole_number, whole_numbers
from certcore.domain.fronts import Fronts, fronts_from_lists
from certcore.domain.perturbations import UNLIMITED

MAX_GROUPS = 1000
MAX_WEIGHT = 10**6
ABSTAINS = -1
HASH, HASH_VERSION = "splitmix64", "1"


@dataclass(frozen=True)
class PairHash:
    """Which group a pair of nodes belongs to: named, versioned and salted, whatever graph the pair is in."""

    groups: int
    salt: int = 0
    name: str = HASH
    version: str = HASH_VERSION

    def __post_init__(self) -> None:
        object.__setattr__(self, "groups", whole_number(self.groups, "the number of groups", 1, MAX_GROUPS))
        object.__setattr__(self, "salt", whole_number(self.salt, "the salt of the hash", 0, 2**63 - 1))
        if (self.name, self.version) != (HASH, HASH_VERSION):
            raise InputError(
                f"the pairs were divided by the hash {str(self.name)[:40]!r} version {str(self.version)[:20]!r}; this "
                f"version knows {HASH!r} version {HASH_VERSION!r} only: make the votes again"
            )

    @classmethod
    def from_array(cls, groups: int, told: np.ndarray) -> PairHash:
        """Read the file form: name, version and salt as text."""
        told = np.asarray(told)
        if told.shape != (3,) or told.dtype.kind != "U":
            raise InputError("division_hash is no list of three texts; expected name, version and salt of the hash")
        name, version, salt = told.tolist()
        if not (salt.isascii() and salt.isdigit() and len(salt) < 20):
            raise InputError(f"the salt in division_hash is {salt[:30]!r}; expected a whole number as text")
        return cls(groups, int(salt), name, version)

    def to_array(self) -> np.ndarray:
        return np.array([self.name, self.version, str(self.salt)])

    def of(self, pairs: np.ndarray) -> np.ndarray:
        """The group of each pair; (u, v) and (v, u) are one pair."""
        low = np.minimum(pairs[:, 0], pairs[:, 1]).astype(np.uint64)
        high = np.maximum(pairs[:, 0], pairs[:, 1]).astype(np.uint64)
        z = np.uint64(self.salt) + (low << np.uint64(32) | high) * np.uint64(0x9E3779B97F4A7C15)
        z = (z ^ (z >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
        z = (z ^ (z >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
        z ^= z >> np.uint64(31)
        return (z % np.uint64(self.groups)).astype(np.int64)


@dataclass(frozen=True, eq=False)
class DivisionBase:
    """A base certificate from one vote per group; labels and thresholds follow from the votes.

    `votes` has one row per group and one column per node, −1 where a group abstains. `fixed` are labels that count
    `fixed_weight` votes each and that no edge can change (the same model on the empty graph).
    """

    votes: np.ndarray
    n_classes: int
    hash: PairHash
    fixed: np.ndarray | None = None
    fixed_weight: int = 0
    weights_read_edges: bool = True
    """Whether training has seen edges. Only if not does a certificate cover edges poisoned before training."""

    def __post_init__(self) -> None:
        classes = whole_number(self.n_classes, "the number of classes", 1, MAX_CLASSES)
        votes = whole_numbers(
            self.votes, "division_votes", ABSTAINS, classes - 1, shape=(self.hash.groups, None)
        )  # fmt: skip
        object.__setattr__(self, "n_classes", classes)
        object.__setattr__(self, "votes", votes)
        weight = whole_number(self.fixed_weight, "the weight of the fixed votes", 0, MAX_WEIGHT)
        object.__setattr__(self, "fixed_weight", weight)
        if self.fixed is None and weight:
            raise InputError("the fixed votes have a weight but are not given; expected one label per node")
        if self.fixed is not None:
            fixed = whole_numbers(self.fixed, "the fixed votes", 0, classes - 1, shape=(votes.shape[1],))
            object.__setattr__(self, "fixed", fixed)
        object.__setattr__(self, "weights_read_edges", flag(self.weights_read_edges, "weights_read_edges"))

    @property
    def n_nodes(self) -> int:
        return int(self.votes.shape[1])

    @property
    def n_groups(self) -> int:
        return self.hash.groups

    @property
    def axes(self) -> tuple[str, ...]:
        return ("adj_add", "adj_del")

    @property
    def local(self) -> BaseLocal | None:
        return None

    @property
    def global_fields(self) -> bool:
        return False

    @property
    def fixed_adjacency(self) -> bool:
        return False  # every vote is taken on a part of the edges

    @cached_property
    def _count(self) -> np.ndarray:
        """(classes, nodes): votes for each class, the fixed ones with their weight."""
        count = np.zeros((self.n_classes, self.n_nodes), dtype=np.int64)
        group, node = np.nonzero(self.votes != ABSTAINS)
        np.add.at(count, (self.votes[group, node], node), 1)
        if self.fixed is not None:
            count[self.fixed, np.arange(self.n_nodes)] += self.fixed_weight
        return count

    @cached_property
    def prediction(self) -> np.ndarray:
        """The majority of each node; of equal ones the smallest class, and class 0 where all abstain."""
        return self._count.argmax(axis=0)

    @cached_property
    def thresholds(self) -> np.ndarray:
        """How many group votes must change at least to change the label; UNLIMITED where no change can.

        For a rival to win it must gain on the label: 2 for a vote that goes over from the label, 1 for a vote that
        leaves the label for nobody or comes to the rival from elsewhere. Votes of the rival itself gain nothing.
        """
        nodes, label = np.arange(self.n_nodes), self.prediction
        own = (self.votes == label).sum(axis=0)
        least = np.full(self.n_nodes, UNLIMITED, dtype=np.int64)
        for rival in range(self.n_classes):
            gap = self._count[label, nodes] - self._count[rival] + (label < rival)
            need = np.where(gap <= 2 * own, -(-gap // 2), gap - own)
            free = self.n_groups - (self.votes == rival).sum(axis=0)
            possible = (label != rival) & (need <= free)
            least = np.where(possible, np.minimum(least, need), least)
        return least

    @property
    def facts(self) -> dict[str, Any]:
        return {
            "kind": "division",
            "groups": self.n_groups,
            "hash": f"{self.hash.name} version {self.hash.version}, salt {self.hash.salt}",
            "abstentions": int((self.votes == ABSTAINS).sum()),
            "fixed_weight": self.fixed_weight,
            "weights_read_edges": self.weights_read_edges,
        }

    def fronts(self) -> Fronts:
        return self._fronts

    @cached_property
    def _fronts(self) -> Fronts:
        """One by one, a node stands while additions plus deletions stay below its threshold; attributes are fixed."""
        distinct, front_of_node = np.unique(self.thresholds, return_inverse=True)
        return fronts_from_lists(front_of_node.reshape(-1), [_front(int(least)) for least in distinct])

    def arrays(self) -> dict[str, np.ndarray]:
        arrays = {
            "division_groups": np.array(self.n_groups),
            "division_classes": np.array(self.n_classes),
            "division_hash": self.hash.to_array(),
            "division_votes": _narrow(self.votes),
            "weights_read_edges": np.array(self.weights_read_edges),
        }
        if self.fixed is not None:
            arrays["division_fixed"] = _narrow(np.append(self.fixed, self.fixed_weight))
        return arrays

    @classmethod
    def from_arrays(cls, arrays: dict[str, np.ndarray]) -> DivisionBase:
        """Read the keys of an instance file; labels and thresholds are computed again, never read."""
        for key in ("division_groups", "division_classes", "division_hash", "weights_read_edges"):
            if key not in arrays:
                raise InputError(f"the file has division_votes but no {key!r}; expected both")
        groups = whole_number(arrays["division_groups"], "division_groups", 1, MAX_GROUPS)
        fixed, weight = None, 0
        if "division_fixed" in arrays:
            told = whole_numbers(arrays["division_fixed"], "division_fixed", 0, MAX_WEIGHT)
            if not len(told):
                raise InputError("division_fixed is empty; expected one label per node and then their weight")
            fixed, weight = told[:-1], int(told[-1])
        return cls(
            arrays["division_votes"],
            whole_number(arrays["division_classes"], "division_classes", 1, MAX_CLASSES),
            PairHash.from_array(groups, arrays["division_hash"]),
            fixed,
            weight,
            flag(arrays["weights_read_edges"], "weights_read_edges"),
        )


def _front(threshold: int) -> np.ndarray:
    points = [(1, 0, 0, 0), (0, 1, 0, 0)]
    if threshold < UNLIMITED:
        points += [(0, 0, added, threshold - added) for added in range(threshold + 1)]
    return np.array(points, dtype=np.int64)


def _narrow(labels: np.ndarray) -> np.ndarray:
    """Labels in as few bytes as they need."""
    return labels.astype(np.int8 if int(labels.max(initial=0)) < 128 else np.int32)
