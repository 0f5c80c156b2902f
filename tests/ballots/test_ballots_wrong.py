"""Mistakes on purpose: each of them is found by the enumeration."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from itertools import islice
from typing import Any

import numpy as np
import pytest

from certcore.base import ballots
from certcore.base.ballots import BallotsBase
from certcore.common.errors import SoundnessError
from certcore.domain.perturbations import ADJ_ADD, INJECT
from certcore.program.ballots import BallotsBuilder, TargetLimits, TopSums
from tests.ballots.enumeration import Counts, Violation, enumerate_graph

Wrong = Callable[[pytest.MonkeyPatch], None]
MOST = 150
"""Graphs until a mistake must be found."""


def _value(name: str, change: Callable[[BallotsBase, np.ndarray], np.ndarray]) -> Wrong:
    right = vars(BallotsBase)[name].func
    return lambda patch: patch.setattr(BallotsBase, name, property(lambda base: change(base, right(base))))


def _method(owner: type, name: str, wrong: Callable[..., Any]) -> Wrong:
    right = getattr(owner, name)
    return lambda patch: patch.setattr(owner, name, lambda self, *given: wrong(right, self, *given))


def _ties(right: Any, base: BallotsBase, rival: int) -> np.ndarray:
    return np.asarray(right(base, rival) + (base.prediction > rival))


def _own_label_stays(right: Any, builder: BallotsBuilder) -> None:
    kept, builder.attributes = builder.attributes, ()
    right(builder)
    builder.attributes = kept


def _one_unit_for_own_control(right: Any, builder: BallotsBuilder) -> Any:
    structure = right(builder)
    rows = structure.matrix[structure.rows["count"]].tolil()
    for k in builder.attributes:
        for row, column in enumerate(builder.column_at[k][builder.nodes].tolist()):
            if column >= 0:
                rows[row, column] = -1
    matrix = structure.matrix.tolil()
    matrix[structure.rows["count"]] = rows
    return replace(structure, matrix=matrix.tocsr())


def _units(kind: int, change: Callable[[int], int]) -> Wrong:
    def wrong(right: Any, builder: BallotsBuilder) -> np.ndarray:
        units = right(builder)
        units[kind] = change(units[kind])
        return np.asarray(units)

    return _method(BallotsBuilder, "_units", wrong)


def _one_end_only(right: Any, builder: BallotsBuilder) -> None:
    right(builder)
    first = builder.sender < builder.problem.targets[builder.target_of]
    for name in ("share_deleted", "count_deleted"):
        setattr(builder, name, np.where(first, getattr(builder, name), 0))


def _at_most_one(kind: int) -> Wrong:
    def wrong(right: Any, builder: BallotsBuilder, k: int) -> Any:
        sites, caps = right(builder, k)
        return sites, np.minimum(caps, 1) if k == kind else caps

    return _method(BallotsBuilder, "_sites", wrong)


def _without_new_nodes(right: Any, means: TargetLimits, amounts: np.ndarray, sigma: int | None) -> np.ndarray:
    fewer = amounts.copy()
    fewer[INJECT] = 0
    return np.asarray(right(means, fewer, sigma))


def _one_less(right: Any, largest: TopSums, number: int) -> np.ndarray:
    return np.asarray(right(largest, max(number - 1, 0)))


def _share_of_unit(base: BallotsBase, right: np.ndarray) -> np.ndarray:
    return np.minimum(right, base._largest(lambda gain, gap: ballots._share(np.full(len(gain), ballots.UNIT), gap)))


def _largest_gap(base: BallotsBase, right: np.ndarray) -> np.ndarray:
    gaps = [np.where(is_rival, -(-gap // ballots.UNIT), 0) for is_rival, gap, _, _ in base._rivals()]
    return np.asarray(np.maximum.reduce(gaps))


def _down(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(ballots, "_share", lambda gain, gap: np.clip(gain * ballots.SHARE // gap, 0, ballots.SHARE))


MISTAKES: dict[str, Wrong] = {
    "ties are kept": _method(BallotsBase, "gap", _ties),
    "half a gain for a new sender": _value("share_new", lambda base, right: right // 2),
    "control without what it shows": _value("share_controlled", lambda base, right: base.share_deleted),
    "control without what it hides": _value("share_controlled", _share_of_unit),
    "control counted as one unit": _value("count_controlled", lambda base, right: np.minimum(right, 1)),
    "deletions that gain nothing": _value("share_deleted", lambda base, right: 0 * right),
    "own label kept": _method(BallotsBuilder, "_gain_rows", _own_label_stays),
    "own control counted as one unit": _method(BallotsBuilder, "build", _one_unit_for_own_control),
    "one rival only": _method(BallotsBase, "_rivals", lambda right, base: islice(right(base), 2)),
    "M from the largest gap": _value("needs", _largest_gap),
    "M one too large": _value("needs", lambda base, right: right + 1),
    "shares rounded down": _down,
    "one token per undirected edge": _units(ADJ_ADD, lambda units: 1),
    "a new node with one edge less": _units(INJECT, lambda units: units - 1),
    "a deletion seen at one end": _method(BallotsBuilder, "_senders", _one_end_only),
    "one added end at a node": _at_most_one(ADJ_ADD),
    "one edge from new nodes at a node": _at_most_one(INJECT),
    "targets closed without one of the changes": _method(
        TopSums, "most", lambda right, one, n: right(one, max(n - 1, 0))
    ),
    "targets closed without new nodes": _method(TargetLimits, "suffice", _without_new_nodes),
}


@pytest.mark.parametrize("name", MISTAKES)
def test_the_enumeration_finds_it(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    MISTAKES[name](monkeypatch)
    with pytest.raises((Violation, SoundnessError)):
        _enumerate()


def _enumerate() -> None:
    for number in range(MOST):
        enumerate_graph(number, 1, Counts(), proofs=False)
