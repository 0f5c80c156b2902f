"""Weighted questions along every way that knows weights, and mistakes that such walks find."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from certcore.common.errors import InputError, SoundnessError
from certcore.program.builder import Builder
from certcore.program.problem import Problem
from certcore.result import assemble
from certcore.sweep import sweep
from certcore.sweep.family import ThreatFamily
from tests.oracle.instances import KINDS, weighted
from tests.oracle.walk import ENGINE, AboveTheTruth, Tally, go, walk_weights
from tests.oracle.ways import WAYS

Patch = pytest.MonkeyPatch


def test_no_weighted_count_is_above_the_truth() -> None:
    """The walk itself ends with an error at the first one."""
    walked = walk_weights(4, range(28), Tally())
    assert walked.counts["counts"] > 5_000
    assert walked.counts["attacks"] > 300
    assert walked.counts["equal"] > walked.counts["counts"] / 2
    assert set(walked.ways) == set(ENGINE)


def _built(change: Callable[[Builder, Any], None]) -> Callable[[Builder], Any]:
    right = Builder.build

    def build(self: Builder) -> Any:
        found = right(self)
        change(self, found)
        return found

    return build


def _ignored(patch: Patch) -> None:
    patch.setattr(Problem, "weigh", lambda self, chosen: int(np.sum(chosen)))


def _first_of_group(patch: Patch) -> None:
    """The number of members times the weight of the first one."""

    def change(self: Builder, found: Any) -> None:
        groups = found.groups
        members = np.bincount(groups.of_target[groups.of_target >= 0], minlength=len(groups))
        groups.weight[:] = members * self.problem.weights[groups.representative]

    patch.setattr(Builder, "build", _built(change))


def _halved(patch: Patch) -> None:
    patch.setattr(Builder, "build", _built(lambda self, found: found.groups.weight.__ifloordiv__(2)))


def _of_all_weights(patch: Patch) -> None:
    """Bounds for other weights, known to the same session."""
    patch.setattr(ThreatFamily, "holds_for", lambda self, other: True)
    right = ThreatFamily.of
    patch.setattr(ThreatFamily, "of", staticmethod(lambda threat: right(threat.replace(weights=None))))


def _total(patch: Patch) -> None:
    """One more than all weights together."""
    patch.setattr(assemble, "certified_count", lambda total, bound: max(0, total + 1 - int(bound)))


def _naive(patch: Patch) -> None:
    right = sweep.naive_counts
    patch.setattr(sweep, "naive_counts", lambda problem, *rest: right(problem, *rest) + problem.weights[0])


MISTAKES = {
    "weights ignored": (_ignored, "certify"),
    "number of members times the first weight": (_first_of_group, "certify"),
    "weights rounded down": (_halved, "certify"),
    "one more than there is": (_total, "certify"),
    "naive counts of the wrong target": (_naive, "curve"),
}


@pytest.mark.parametrize("name", MISTAKES)
def test_a_mistake_is_found(name: str, monkeypatch: Patch) -> None:
    make, way = MISTAKES[name]
    make(monkeypatch)
    for number in range(200):
        try:
            asked = weighted(6, number, KINDS[number % len(KINDS)])
            go(asked, WAYS[way], "tight", warm=False, large=False, tally=Tally())
        except (AboveTheTruth, SoundnessError):
            return
    raise AssertionError("nothing was found")


def test_bounds_for_other_weights_are_not_taken_over(monkeypatch: Patch) -> None:
    """A session that knows the answer for all weights equal gives another one for these, and would not if it mixed."""
    _of_all_weights(monkeypatch)
    with pytest.raises((AssertionError, SoundnessError, InputError)):
        _mixed()
    monkeypatch.undo()
    _mixed()


def _mixed() -> None:
    from certcore import Session

    for number in range(20):
        asked = weighted(6, number, KINDS[number % len(KINDS)])
        session = Session(asked.instance)
        session.certify(asked.threat.replace(weights=None))
        found = session.certify(asked.threat)
        assert found.certified <= asked.truth.certified(asked.threat)
        assert found.bound >= asked.truth.left(asked.threat)
        assert session.preview(asked.threat).bound >= asked.truth.left(asked.threat)
