"""Gaussian smoothing of real-valued attributes: from votes to fronts over `attr_l2` and `adj_del`.

Every attribute gets noise of standard deviation s. Optionally, edges get deletion noise θ. A label with probability at
least p cannot change while the rows in its field are moved by less than s·z and d edges of its field are deleted, with
z = Φ⁻¹(1 − (1 − p) / θ^d). Amounts are *units* of squared distance, `units` of them per s². So the label is certified
strictly below need = ⌊units · z²⌋. The derivation is in docs/explanation/soundness.md.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cached_property
from typing import Any

import numpy as np

from certcore.base.normal import GRID, NEVER, passes, quantiles
from certcore.base.smoothing import SmoothingBase
from certcore.common.errors import InputError
from certcore.common.exact import decimal_text
from certcore.common.reading import whole_number, whole_numbers
from certcore.domain.base_rule import BaseRule
from certcore.domain.fronts import Fronts, fronts_over
from certcore.domain.graph import Graph
from certcore.domain.perturbations import ADJ_DEL
from certcore.domain.scale import Scale, read_length

#: Largest number of certified deletions. The need of any further deletion is 0.
MAX_DELETIONS = 1024
#: Denominator of `offsets` and `factor`, for noise behind the first linear map.
FINE = 2**20
#: Smallest and largest number of units per s², which is a power of two.
LEAST_UNITS = 2**8
MOST_UNITS = 2**20
#: Fraction of α reserved for the total variation distance between the drawn noise and ideal noise.
SAMPLER_SHARE = Fraction(1, 2**20)


@dataclass(frozen=True, eq=False, kw_only=True)
class GaussianBase(SmoothingBase):
    """The base certificate of a classifier smoothed with Gaussian attribute noise, from estimation votes.

    `std` is the standard deviation s as a decimal. `lattice` is the step h of the drawn noise (`2^-9`). `units` is the
    number of units of squared distance per s². `theta` may contain edge deletions (its last entry) and nothing else. If
    the noise is added behind the first linear map, `offsets` holds c_n / s of every node and `factor` holds κ, as
    integers over 2²⁰ rounded up. Then need = ⌊units · ((z − c_n / s)⁺)² / κ⌋.
    """

    std: Any
    lattice: str
    units: int = 4096
    offsets: np.ndarray | None = None
    factor: int | None = None

    def __post_init__(self) -> None:
        super().__post_init__()
        object.__setattr__(self, "std", read_length(self.std, "attr_std"))
        if not self.std > 0 or "/" in decimal_text(self.std):
            raise InputError(f"attr_std is {self.std}; expected a standard deviation above 0 as a decimal such as 0.06")
        _ = lattice_step(self.lattice)
        object.__setattr__(self, "units", whole_number(self.units, "units", LEAST_UNITS, MOST_UNITS))
        if self.units & (self.units - 1):
            raise InputError(f"units is {self.units}; expected a power of two from 256 to 1,048,576")
        if any(self.theta[:ADJ_DEL]):
            raise InputError(
                f"theta is {', '.join(map(decimal_text, self.theta))}; expected 0 except for edge deletions: beside "
                "Gaussian attribute noise no bits are flipped and no edges added"
            )
        if (self.offsets is None) is not (self.factor is None):
            raise InputError("attr_offsets and attr_factor belong together; give both or none of them")
        if self.offsets is not None:
            offsets = whole_numbers(self.offsets, "attr_offsets", 0, 2**40, shape=(self.n_nodes,))
            object.__setattr__(self, "offsets", offsets)
            object.__setattr__(self, "factor", whole_number(self.factor, "attr_factor", 1, 2**40))
        if self.graph is not None:
            self._check_values(self.graph)

    def _check_values(self, graph: Graph) -> None:
        """Refuse clean attributes that are not on the noise lattice: votes at the input would not be exact samples."""
        values = graph.attr_values
        if not graph.real:
            raise InputError(
                "the attributes of the graph are bits, but the base certificate is about Gaussian noise on numbers; "
                "expected a graph with attr_values"
            )
        if self.offsets is None and values is not None:
            steps = np.asarray(values, dtype=np.float64) / float(lattice_step(self.lattice))  # a power of two: exact
            if (steps != np.round(steps)).any() or np.abs(steps).max(initial=0) >= 2**22:
                raise InputError(
                    f"an attribute is no multiple of the lattice {self.lattice} or too large for it; expected the "
                    "attributes rounded to the lattice on which the noise was drawn"
                )

    @cached_property
    def scale(self) -> Scale:
        """Conversion between lengths and units."""
        return Scale(self.std, self.units, self.graph)

    @cached_property
    def axes(self) -> tuple[str, ...]:
        return ("adj_del", "attr_l2") if self.theta[ADJ_DEL] else ("attr_l2",)

    @property
    def level(self) -> Fraction:
        """The level of one confidence bound, after subtracting the sampler's share from α."""
        return super().level * (1 - SAMPLER_SHARE)

    @cached_property
    def abstained(self) -> np.ndarray:
        return ~self.fronts().clean

    @property
    def table(self) -> Any:
        raise AttributeError("Gaussian smoothing has no table of thresholds")

    @property
    def facts(self) -> dict[str, Any]:
        facts: dict[str, Any] = {
            "kind": "Gaussian smoothing",
            "rule": str(self.rule),
            "alpha": decimal_text(Fraction(self.alpha)),
            "samples": self.n_samples,
            "theta": [decimal_text(t) for t in self.theta],
            "std": decimal_text(self.std),
            "lattice": self.lattice,
            "units": self.units,
            "noise_at": "input" if self.offsets is None else "first map",
            "abstained": int(np.count_nonzero(self.abstained)),
        }
        return facts

    @cached_property
    def quantiles(self) -> list[tuple[np.ndarray, np.ndarray]]:
        """For d = 0, 1, … deleted edges: verified z of the label and of its rivals per node, as integers over 2³².

        The list ends when no node is certified, or at `MAX_DELETIONS`. The binary rule is the multi-class rule with the
        label's own bound in both positions.
        """
        label = self.probability
        rest = label if self.rule is BaseRule.BINARY else self.rest_probability
        theta, share = self.theta[ADJ_DEL], Fraction(1)
        found: list[tuple[np.ndarray, np.ndarray]] = []
        alive = np.ones(self.n_nodes, dtype=bool)
        for _ in range(MAX_DELETIONS + 1):
            pair = np.full((2, self.n_nodes), NEVER, dtype=object)
            pair[0, alive] = quantiles(label[alive], share)
            pair[1, alive] = quantiles(rest[alive], share) if rest is not label else pair[0, alive]
            alive = np.array(pair[0] + pair[1] > 0, dtype=bool)
            if not alive.any():
                break
            found.append((pair[0], pair[1]))
            share *= theta
            if not theta or theta == 1:
                break
        return found

    @property
    def facts_of_votes(self) -> np.ndarray:
        """(nodes, 2): the votes that needs depend on: for the label, and not for its strongest rival."""
        mine = self._label_votes
        if self.rule is BaseRule.BINARY:
            return np.stack([mine, mine], axis=1)
        others = self.votes.copy()
        others[np.arange(self.n_nodes), self.prediction] = 0
        return np.stack([mine, self.n_samples - others.max(axis=1)], axis=1)

    def stated(self, nodes: np.ndarray, deletions: int) -> list[list[Any]]:
        """The verified z up to `deletions` for each distinct pair of vote counts of the nodes, as in a proof."""
        facts, first = np.unique(self.facts_of_votes[nodes], axis=0, return_index=True)
        steps = self.quantiles[: deletions + 1]
        result = []
        for (mine, against), node in zip(facts.tolist(), np.asarray(nodes)[first].tolist()):
            pairs = [[int(label[node]), int(rest[node])] for label, rest in steps if label[node] + rest[node] > 0]
            result.append([mine, against, pairs])
        return result

    def as_stated(self, given: Any) -> GaussianBase:
        """The same certificate with the z of a proof, each verified; vote counts missing there certify nothing.

        A stated z may be smaller than the largest valid one. So a proof stays valid if another version rounds
        differently.
        """
        known = {(mine, against): pairs for mine, against, pairs in _stated_lists(given)}
        votes = [(mine, against) for mine, against in self.facts_of_votes.tolist()]
        # Where θ is 0 or 1 there is one z: a deletion breaks the label, or does nothing.
        most = 1 if self.theta[ADJ_DEL] in (0, 1) else MAX_DELETIONS + 1
        if not set(known) <= set(votes) or any(len(pairs) > most for pairs in known.values()):
            raise InputError("the proof states needs of votes that are not in the instance, or of too many deletions")
        lists = [known.get(pair, []) for pair in votes]
        rest = self.probability if self.rule is BaseRule.BINARY else self.rest_probability
        share, steps = Fraction(1), []
        for d in range(max(map(len, lists), default=0)):
            has = np.array([len(pairs) > d for pairs in lists])
            pair = np.full((2, self.n_nodes), NEVER, dtype=object)
            for i, bounds in enumerate((self.probability, rest)):
                pair[i, has] = np.array([pairs[d][i] for pairs in lists if len(pairs) > d] + [0], dtype=object)[:-1]
                if not passes(pair[i, has], bounds[has], share).all():
                    raise InputError("a need of the proof is larger than the votes allow")
            steps.append((pair[0], pair[1]))
            share *= self.theta[ADJ_DEL]
        copy = replace(self)
        copy.__dict__["quantiles"] = steps
        return copy

    def need(self, label: np.ndarray, rest: np.ndarray) -> np.ndarray:
        """Needs in units from verified z; 0 where nothing is certified."""
        double = label + rest  # (z_A + z_B) / 2 over 2³³
        lost = np.zeros(self.n_nodes, dtype=object) if self.offsets is None else self.offsets.astype(object)
        left = np.maximum(double - lost * (2 * GRID // FINE), 0)
        factor = FINE if self.factor is None else self.factor
        return np.asarray(self.units * left * left * FINE // (4 * GRID * GRID * factor), dtype=np.int64)

    @cached_property
    def needs(self) -> np.ndarray:
        """(deletions, nodes): the need of each node after d deletions in its field; non-increasing in d."""
        rows = [self.need(*pair) for pair in self.quantiles] or [np.zeros(self.n_nodes, dtype=np.int64)]
        return np.minimum.accumulate(np.stack(rows))

    @cached_property
    def _fronts(self) -> Fronts:
        """Points (need(d), d): certified strictly below. A deletion that does not lower the need adds no point."""
        distinct, which = np.unique(self.needs, axis=1, return_inverse=True)
        if self.theta[ADJ_DEL] != 1:  # θ = 1 deletes every edge from every sample, so deletions have no effect
            distinct = np.concatenate([distinct, np.zeros((1, distinct.shape[1]), dtype=np.int64)])
        before = np.concatenate([np.full((1, distinct.shape[1]), 2**62), distinct[:-1]])
        front, deletions = np.nonzero((distinct < before).T)
        points = np.stack([deletions, distinct.T[front, deletions]], axis=1)
        indptr = np.concatenate([[0], np.cumsum(np.bincount(front, minlength=distinct.shape[1]))])
        return fronts_over(("adj_del", "attr_l2"), which.reshape(-1), indptr, points)

    def arrays(self) -> dict[str, np.ndarray]:
        arrays = super().arrays() | {
            "attr_std": np.array(decimal_text(self.std)),
            "attr_lattice": np.array(self.lattice),
            "units": np.array(self.units),
        }
        if self.offsets is not None:
            arrays |= {"attr_offsets": self.offsets, "attr_factor": np.array(self.factor)}
        return arrays


def _stated_lists(given: Any) -> list[list[Any]]:
    """The needs of a proof after a check of their form: [votes, votes against, [[z, z], …]]."""

    def whole(value: Any) -> bool:
        return type(value) is int and abs(value) < 2**40

    good = isinstance(given, list) and all(
        isinstance(entry, list) and len(entry) == 3 and whole(entry[0]) and whole(entry[1])
        and isinstance(entry[2], list)
        and all(isinstance(pair, list) and len(pair) == 2 and all(map(whole, pair)) for pair in entry[2])
        for entry in given
    )  # fmt: skip
    if not good or len({(mine, against) for mine, against, _ in given}) < len(given):
        raise InputError("the needs of the proof are not in the form that certify --proof writes")
    return list(given)


def stored_std(text: str) -> Fraction:
    """The standard deviation in a file, accepted in its shortest decimal form only, as in the standalone checker."""
    std = read_length(text, "attr_std")
    if decimal_text(std) != text:
        raise InputError(f"attr_std is {text[:40]!r}; expected the shortest decimal, {decimal_text(std)[:40]}")
    return std


def lattice_step(text: str) -> Fraction:
    """The step of a lattice, a power of two in the form `2^-9`."""
    match = re.fullmatch(r"2\^(-?[0-9]{1,3})", str(text))
    if match is None or abs(int(match[1])) > 100:
        raise InputError(f"attr_lattice is {str(text)[:40]!r}; expected a power of two written as 2^-9")
    return Fraction(2) ** int(match[1])
