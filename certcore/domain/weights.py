"""Weights of nodes: a target of weight 3 counts as three labels, so counts become sums of weights.

Weights are whole numbers inside the engine: decimals are read exactly and multiplied by one common factor.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from decimal import Decimal
from fractions import Fraction
from typing import Any

import numpy as np

from certcore.common.errors import InputError
from certcore.common.exact import bounded_decimal
from certcore.common.reading import read_only

#: Larger sums would leave too few bits for dual values (`certcore.program.problem.Problem.scale_bits`).
MAX_TOTAL = 10**12
#: More decimal places are refused.
PLACES = 6
#: The name of the weights that are the numbers of edges at the nodes.
DEGREE = "degree"

WeightsGiven = str | Sequence[Any] | np.ndarray | None


@dataclass(frozen=True, eq=False)
class Weights:
    """Weights of all nodes, as whole numbers of at least 0 over one common denominator."""

    values: np.ndarray
    denominator: int = 1
    """A divisor of a million; 1 unless decimals were given."""
    source: str = "given"
    """Where the weights come from: `degree`, or `given`."""
    left_out: int = 0
    """How many targets were left out because their weight is 0."""

    def exact(self, amount: int | Fraction) -> Fraction:
        """A sum of these whole numbers in the weights that were given."""
        return Fraction(amount) / self.denominator


def shown_by(weights: Any) -> Callable[[Any], Any]:
    """How tables show sums (a number, an array or None): as they are, or with decimal weights as floats."""
    denominator = 1 if weights is None else weights.denominator
    return lambda amount: amount if amount is None or denominator == 1 else amount / denominator


def source_of(weights: Any) -> dict[str, str]:
    """What JSON says of weights; nothing where labels are counted."""
    return {} if weights is None else {"weights": weights.source}


def read_weights(given: Any) -> Weights | str | None:
    """Validate weights: None, `degree`, or one number of at least 0 per node with at most six decimal places."""
    if given is None or isinstance(given, Weights):
        return given
    if isinstance(given, str):
        if given != DEGREE:
            raise InputError(f"the weights are {given[:40]!r}; expected one number per node, or the word {DEGREE!r}")
        return DEGREE
    given = given.detach().cpu().numpy() if hasattr(given, "detach") else given
    if not isinstance(given, Sequence | np.ndarray) or np.ndim(given) != 1:
        raise InputError(f"the weights are {str(given)[:40]!r}; expected a list with one number per node")
    numbers = [_number(value, node) for node, value in enumerate(given)]
    places = math.lcm(*(number.denominator for number in numbers))
    whole = np.array([int(number * places) for number in numbers], dtype=np.int64)
    return Weights(read_only(whole), places)


def _number(value: Any, node: int) -> Fraction:
    """One weight, exactly; a float is read by its shortest decimal form."""
    wrong = isinstance(value, bool | np.bool_) or not isinstance(value, int | float | np.number | Decimal | Fraction)
    try:
        number = Fraction(bounded_decimal("" if wrong else str(value))) if not isinstance(value, Fraction) else value
    except ValueError as error:
        raise InputError(
            f"the weight of node {node} is {str(value)[:40]!r}; expected a number of at least 0"
        ) from error
    if number < 0:
        raise InputError(f"the weight of node {node} is {value}; expected a number of at least 0")
    if 10**PLACES % number.denominator:
        raise InputError(
            f"the weight of node {node} is {value}; expected at most {PLACES} decimal places: round the weights"
        )
    if number > MAX_TOTAL:
        raise InputError(f"the weight of node {node} is {value}; expected at most 10^12: divide all weights by 1,000")
    return number


def refuse_weights(weights: object, what: str) -> None:
    """Refuse weights, in one sentence, where labels are counted."""
    if weights is not None:
        raise InputError(f"{what} counts labels, and weights are given; leave the weights out for it")


def refuse_decimals(given: Iterable[Any]) -> None:
    """Refuse weights with decimal places, in one sentence, where only whole sums are shown."""
    if any(weights is not None and weights.denominator > 1 for weights in given):
        raise InputError("figures show whole sums, and these weights are decimals; multiply all weights by 10 or more")


def count_weight(results: Iterable[Any]) -> bool:
    """Whether the results of one figure count weight; refused if only some do, or if sums are no whole numbers."""
    threats = [getattr(one, "threat", None) for one in results]  # figures are also made of plain numbers
    given = [None if threat is None else threat.weights for threat in threats]
    if any(weights is None for weights in given) and any(weights is not None for weights in given):
        raise InputError("some of these results count labels and some weight; draw them in different figures")
    refuse_decimals(given)
    return any(weights is not None for weights in given)


def of_targets(weights: Weights, targets: np.ndarray, n_nodes: int) -> np.ndarray:
    """The targets with a weight above 0; refused if there are none of them, or if the weights do not fit."""
    if len(weights.values) != n_nodes:
        raise InputError(f"there are {len(weights.values):,} weights; expected one per node of the graph, {n_nodes:,}")
    own = weights.values[targets]
    if len(targets) and not own.any():
        raise InputError("the weights of all targets are 0; expected a target with a weight above 0")
    total = sum(own.tolist())
    if total > MAX_TOTAL:
        raise InputError(
            f"the weights of the targets sum to {total:,}/{weights.denominator:,}; expected at most 10^12 over the "
            "denominator of their decimal places: divide all weights, or give fewer places"
        )
    return np.asarray(targets if own.all() else targets[own > 0])
