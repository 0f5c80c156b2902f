"""The quantity that a sweep varies: a global budget, σ, or a local budget."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import pairwise
from typing import Any

import numpy as np

from certcore.common.errors import InputError, did_you_mean
from certcore.common.numbers import MAX_VALUES
from certcore.common.reading import whole_numbers
from certcore.domain.fronts import Fronts
from certcore.domain.perturbations import TABLE, TYPES, canonical
from certcore.domain.scale import read_length
from certcore.domain.threat import MAX_BUDGET, ThreatModel
from certcore.program.problem import Problem
from certcore.program.program import BudgetPoint


@dataclass(frozen=True)
class Axis:
    """One quantity of a threat model, for example `attr_del`, `sigma` or `local_attr_del`."""

    name: str

    @classmethod
    def parse(cls, name: str, *, local: bool = True, new: bool = False) -> Axis:
        """Read a name; dashes equal underscores, and aliases are accepted (`edge_del`: adj_del).

        Without `local`, `new` still accepts the local budgets of new nodes.
        """
        plain = canonical(str(name).strip().lower().replace("-", "_"))
        known = [*TYPES, "sigma", *(f"local_{e.name}" for e in TABLE if local or (new and e.brings_nodes))]
        if plain not in known:
            hint = did_you_mean(plain, known)
            raise InputError(f"{name!r} is nothing that can be varied{hint}; expected one of {', '.join(known)}")
        return cls(plain)

    @property
    def is_sigma(self) -> bool:
        return self.name == "sigma"

    @property
    def is_local(self) -> bool:
        return self.name.startswith("local_")

    @property
    def kind(self) -> int:
        """The perturbation type of a global or local budget."""
        return TYPES.index(self.name.removeprefix("local_"))

    @property
    def lengths(self) -> bool:
        """Whether values are lengths (decimals), which an instance converts into units."""
        return not self.is_sigma and bool(TABLE[self.kind].lengths)

    def amounts(self, threat: ThreatModel, values: Sequence[Any]) -> list[Any]:
        """Values of a global budget or of σ as the program's integers; local budgets unchanged."""
        if self.is_local or not self.lengths:
            return list(values)
        return [self.at(threat, value).budgets[self.kind] for value in values]

    def of(self, threat: ThreatModel) -> Any:
        """The value in a threat model."""
        return getattr(threat, self.name)

    def shown(self, values: Sequence[Any], threat: ThreatModel) -> np.ndarray:
        """Values as numbers; a share may be written as a quotient (1/3), which the threat model converts."""
        return np.array([v if isinstance(v, int) else float(self.of(self.at(threat, v))) for v in values])

    def at(self, threat: ThreatModel, value: object) -> ThreatModel:
        """The threat model with this quantity changed."""
        return threat.replace(**{self.name: value})

    def move(self, point: BudgetPoint, value: int) -> BudgetPoint:
        """A budget point with this quantity changed."""
        budgets, sigma = point
        if self.is_sigma:
            return budgets, value
        return (*budgets[: self.kind], value, *budgets[self.kind + 1 :]), sigma


def whole_values(values: Sequence[Any] | np.ndarray, axis: Axis) -> list[Any]:
    """Check for ascending non-negative integers; for lengths, decimals."""
    if axis.lengths:
        return _lengths(values, axis)
    if not 1 <= len(values) <= MAX_VALUES:
        raise InputError(f"{len(values)} values for {axis.name}; expected 1 to {MAX_VALUES:,}")
    numbers = whole_numbers(values, f"the list of values for {axis.name}", 0, MAX_BUDGET)
    if (np.diff(numbers) <= 0).any():
        raise InputError(f"the values for {axis.name} are not ascending; sort them and drop repeats")
    return [int(v) for v in numbers]


def _lengths(values: Sequence[Any] | np.ndarray, axis: Axis) -> list[float]:
    """Ascending lengths as floats that represent exactly the decimals given."""
    given = [read_length(value, f"a value for {axis.name}") for value in values]
    if not 1 <= len(given) <= MAX_VALUES:
        raise InputError(f"{len(given)} values for {axis.name}; expected 1 to {MAX_VALUES:,}")
    numbers = [float(value) for value in given]
    longest = next((value for value, number in zip(given, numbers) if Fraction(repr(number)) != value), None)
    if longest is not None:
        raise InputError(f"{axis.name} is varied over {longest}; expected decimals with at most 15 digits")
    if any(larger <= smaller for smaller, larger in pairwise(given)):
        raise InputError(f"the values for {axis.name} are not ascending; sort them and drop repeats")
    return numbers


def local_values(values: Sequence[Any] | np.ndarray, axis: Axis, threat: ThreatModel) -> list[Any]:
    """Ascending local budgets as given; the order matters because bounds at larger values are used at smaller ones."""
    given = list(values)
    if not 1 <= len(given) <= MAX_VALUES:
        raise InputError(f"{len(given)} values for {axis.name}; expected 1 to {MAX_VALUES:,}")
    numbers = [axis.of(axis.at(threat, value)) for value in given]
    if any(number is None or np.ndim(number) for number in numbers):
        raise InputError(f"the values for {axis.name} are not all single numbers; give one local budget for all nodes")
    if any(larger <= smaller for smaller, larger in pairwise(numbers)):
        raise InputError(f"the values for {axis.name} are not ascending; sort them and drop repeats")
    return given


def naive_counts(problem: Problem, budgets: Sequence[int], axis: Axis, values: list[int]) -> np.ndarray:
    """Targets certified one by one at each value, or their weights; σ and local budgets do not change them."""
    fronts, targets = problem.fronts, problem.targets
    if axis.is_sigma or axis.is_local:
        return np.full(len(values), problem.weigh(fronts.certified(budgets)[targets]))
    smallest = _breaking_value(fronts, budgets, axis.kind)[fronts.front_of_node[targets]]
    order = np.argsort(smallest)
    left = problem.total - np.concatenate([[0], np.cumsum(problem.weights[order])])
    return np.asarray(left[np.searchsorted(smallest[order], np.asarray(values), side="right")])


def _breaking_value(fronts: Fronts, budgets: Sequence[int], kind: int) -> np.ndarray:
    """For each front, the smallest budget of one type that leaves it uncertified, given the other budgets."""
    others = np.array(budgets, dtype=np.int64)
    others[kind] = np.iinfo(np.int64).max
    possible = (fronts.points <= others).all(axis=1)
    smallest = np.full(fronts.n_fronts, np.iinfo(np.int64).max)
    owner = np.repeat(np.arange(fronts.n_fronts), np.diff(fronts.indptr))
    np.minimum.at(smallest, owner[possible], fronts.points[possible, kind])
    return smallest
