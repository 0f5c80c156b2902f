"""All public ways to a certified count against the truth, on a hundred small questions; and the truth by hand."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest

from certcore import Graph, GridBase, Instance, ThreatModel, certify, messages
from tests.oracle.instances import KINDS, question
from tests.oracle.truth import Truth, least_mass, lower_bound, most_broken
from tests.oracle.walk import PORTION, AboveTheTruth, Tally, judge, schedule, walk
from tests.oracle.ways import WAYS, Count

#: Ways that have nothing to say about some questions: budgets of any size without local ones, fields that are the whole
#: graph, axes that end at zero.
SOMETIMES_SILENT = {
    "radius", "command radius", "page largest", "page family", "page film", "page map", "figure base",
    "command figures", "defend", "command defend", "page suggestion", "report", "server frames", "server suggestion",
}  # fmt: skip


@pytest.fixture(scope="module")
def walked() -> Tally:
    return walk(1, range(PORTION), Tally())


def test_no_count_is_above_the_truth(walked: Tally) -> None:
    """The walk itself ends with an error at the first one."""
    assert walked.questions >= 100
    assert walked.counts["counts"] > 10_000
    assert walked.counts["attacks"] > 500
    assert walked.counts["equal"] > walked.counts["counts"] / 2  # a truth that is too strict would never be met


def test_every_way_has_met_every_relaxation_and_every_kind(walked: Tally) -> None:
    wanted = {(one.name, relaxation, kind) for one in WAYS.values() for relaxation in one.relaxations for kind in KINDS}
    assert wanted == set(walked.met) | set(walked.silent)
    undefined = {
        (name, relaxation, kind) for name, relaxation, kind in wanted if (relaxation, kind) == ("paper", "ballots")
    }
    unexpected = set(walked.silent) - undefined
    assert {name for name, _, _ in unexpected} <= SOMETIMES_SILENT, unexpected
    assert {name for name, _, _ in walked.met} == set(WAYS)
    reasons = {text for _, relaxation, kind, text in walked.refused if (relaxation, kind) != ("paper", "ballots")}
    known = ("the base certificate holds for at most", "a new node pays for its own edges")
    assert all(any(part in text for part in known) for text in reasons), reasons


def test_every_way_is_gone_warm_and_cold_and_with_the_large_path() -> None:
    seen = {name: set[tuple[bool, bool]]() for name in WAYS}
    for turn in range(PORTION):
        for place in range(len(KINDS)):
            for one, _, warm, large in schedule(turn, place):
                seen[one.name].add((warm, large))
    assert all({True, False} == {warm for warm, _ in found} for found in seen.values())
    assert all(any(large for _, large in found) for found in seen.values())


def test_a_claim_above_the_truth_moves_no_count(monkeypatch: pytest.MonkeyPatch) -> None:
    """The integer program is asked for nothing but its own number, which no function of a result reads."""
    same = 0
    for number in range(12):
        asked = question(3, number, KINDS[number % len(KINDS)])
        found = certify(asked.instance, asked.threat, relaxation="exact", time_limit=20)
        if found.integer_claim is not None:
            same += found.integer_claim == found.targets - asked.truth.left(asked.threat)
            assert found.integer_claim <= found.targets - asked.truth.left(asked.threat)
        with monkeypatch.context() as patch:
            patch.setattr("certcore.sweep.session.integer_claim", lambda *_, most=found.targets: most + 1)
            lied = certify(asked.instance, asked.threat, relaxation="exact", time_limit=20)
        assert lied.integer_claim == found.targets + 1
        changed = {key for key, value in lied.to_json().items() if value != found.to_json()[key]}
        assert changed <= {"integer_claim", "seconds"}
        said = {f"{messages.guarantee(asked.instance, one)} {messages.bracket(one)}" for one in (lied, found)}
        assert len(said) == 1
    assert same >= 6


# The truth itself, on what can be counted by hand.


def path(n: int) -> Graph:
    return Graph.from_edges(n, np.array([[i, i + 1] for i in range(n - 1)]), np.ones((n, 2), dtype=int))


@pytest.mark.parametrize(
    ("threat", "broken"),
    [
        ({"attr_del": 1}, 3),  # the middle of a path reaches three nodes with one layer
        ({"attr_del": 2}, 5),
        ({"attr_del": 2, "sigma": 1}, 3),
        ({"attr_del": 2, "protected": [1, 3]}, 4),
        ({"attr_del": 1, "local_attr_del": 0}, 0),
        ({"attr_del": 1, "local_attr_del": "0.5", "local_mode": "relative"}, 3),
        ({"attr_del": 1, "local_attr_del": "0.49", "local_mode": "relative"}, 0),
        ({"attr_del": 1, "targets": [0, 4]}, 1),
        ({"adj_del": 1}, 5),  # no axis for edges: any flip of one breaks whoever reads it
    ],
)
def test_the_truth_of_a_path(threat: dict[str, object], broken: int) -> None:
    instance = Instance(path(5), GridBase(np.ones((5, 1), dtype=bool), ("attr_del",)), layers=1)
    if "adj_del" in threat:
        broken = 4  # degrees: either end within one hop
    assert most_broken(instance, ThreatModel(**threat)) == broken  # type: ignore[arg-type]


def test_one_truth_for_many_budgets_is_the_truth_of_each() -> None:
    for number in range(8):
        asked = question(2, number, KINDS[number % len(KINDS)])
        for value in asked.values:
            assert asked.truth.left(asked.at(value)) == Truth(asked.instance).left(asked.at(value))


def test_confidence_and_likelihood_by_hand() -> None:
    assert lower_bound(0, 10, Fraction(1, 10)) == 0
    assert abs(float(lower_bound(10, 10, Fraction(1, 10))) - 0.1**0.1) < 1e-12
    theta = (Fraction(1, 10), Fraction(6, 10), Fraction(0), Fraction(0))
    assert least_mass(theta, (0, 0, 0, 0), Fraction(3, 4)) == Fraction(3, 4)
    # One deletion: a clean sample keeps the bit with 4/10, a perturbed one has it with 1/10; ratio 4 before 2/3.
    assert least_mass(theta, (0, 1, 0, 0), Fraction(4, 10)) == Fraction(1, 10)
    assert least_mass(theta, (0, 1, 0, 0), Fraction(1)) == 1
    assert least_mass(theta, (0, 0, 0, 1), Fraction(1)) == 0


def test_the_judge_refuses() -> None:
    asked = question(2, 0, "grid")
    most = asked.truth.certified(asked.threat)
    judge(asked, [Count(asked.threat, most, closed=True)], "right")
    for wrong in (Count(asked.threat, most + 1), Count(asked.threat, None, attack=asked.truth.left(asked.threat) + 1)):
        with pytest.raises(AboveTheTruth):
            judge(asked, [wrong], "wrong")
