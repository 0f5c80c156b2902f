"""Strong curves: a bound is taken over only from an attacker who can do at least as much."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from certcore import Graph, GridBase, Instance, ThreatModel
from certcore.base.ballots import UNIT, BallotsBase
from certcore.cli import main
from certcore.common.errors import InputError
from certcore.domain.weaker import can_do_no_more
from certcore.instance.instance import save_instance
from certcore.sweep import Session, curve
from tests.oracle.truth import most_broken
from tests.support import random_instance, random_threat

FIXTURES = Path(__file__).parent / "fixtures"


def alone(n: int = 4, ones: int = 3) -> Instance:
    """Nodes without neighbours; one deletion breaks a node."""
    graph = Graph.from_edges(n, np.zeros((0, 2), dtype=int), np.ones((n, ones), np.int8), n_attrs=ones)
    return Instance(graph, GridBase(np.tile([True, False], (n, 1)), ("attr_del",)), layers=0)


@pytest.mark.parametrize(
    ("threat", "vary", "values", "truth"),
    [
        ({"attr_del": 3}, "sigma", [0, 1, 2, 3], [4, 3, 2, 1]),
        ({"local_attr_del": 1}, "attr_del", [0, 1, 2, 3], [4, 3, 2, 1]),
        ({}, "attr_del", [1, 3, 4, 9], [3, 1, 0, 0]),
        ({"sigma": 2}, "attr_del", [1, 6, 9], [3, 2, 2]),
        ({"attr_del": 2}, "local_attr_del", [0, 1, 2, 3, 5], [4, 2, 2, 2, 2]),
    ],
)  # fmt: skip
def test_strong_curves_certify_what_single_certificates_do(
    threat: dict[str, int], vary: str, values: list[int], truth: list[int]
) -> None:
    found = curve(alone(), ThreatModel(**threat), vary, values, relaxation="strong", rounds=2)
    assert found.certified.tolist() == truth


def test_strong_curves_over_added_edges_against_ballots() -> None:
    graph = Graph.from_edges(6, np.array([[0, 1], [2, 3], [4, 5]]))
    base = BallotsBase(np.tile(np.array([UNIT, 0]), (6, 1)) // np.arange(3, 9)[:, None], weights_read_edges=False)
    instance = Instance(graph=graph, base=base, layers=1, edge_field="messages")
    threat = ThreatModel(local_adj_add=1)
    strong = curve(instance, threat, "adj_add", [1, 2, 3], relaxation="strong", rounds=1)
    tight = curve(instance, threat, "adj_add", [1, 2, 3])
    assert strong.certified.tolist() == tight.certified.tolist()
    assert strong.certified[0] > strong.certified[-1]


def test_a_plateau_of_a_local_budget_is_solved_once(monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[Any] = []
    certify_ = Session.certify

    def counted(self: Session, threat: ThreatModel, **more: Any) -> Any:
        asked.append(threat.local_attr_del)
        return certify_(self, threat, **more)

    monkeypatch.setattr(Session, "certify", counted)
    curve(alone(), ThreatModel(attr_del=2), "local_attr_del", [1, 2, 3, 5], relaxation="strong", rounds=1)
    assert asked == [1, 2], "nobody can spend more than the global budget"


def test_random_strong_curves_stay_below_the_truth() -> None:
    rng = np.random.default_rng(11)
    compared = 0
    for _ in range(25):
        instance = random_instance(rng, max_nodes=4)
        kind = instance.base.axes[0]
        threat = random_threat(rng, instance)
        vary = str(rng.choice([kind, "sigma", f"local_{kind}"]))
        values = [0, 1, 2, 4] if vary != "sigma" else [0, 1, instance.graph.n_nodes]
        found = curve(instance, threat, vary, values, relaxation="strong", rounds=1)
        for value, count in zip(values, found.certified.tolist()):
            assert count <= found.targets - most_broken(instance, threat.replace(**{vary: value}))
            compared += 1
    assert compared > 80


def test_who_can_do_no_more_breaks_no_more() -> None:
    rng = np.random.default_rng(5)
    related = 0
    for _ in range(150):
        instance = random_instance(rng, max_nodes=4)
        one, other = random_threat(rng, instance), random_threat(rng, instance)
        if can_do_no_more(one, other, instance.graph):
            related += 1
            assert most_broken(instance, one) <= most_broken(instance, other)
    assert related > 10


@pytest.mark.parametrize(
    ("weaker", "stronger"),
    [
        ({"attr_del": 2}, {"attr_del": 1}),
        ({"attr_del": 1, "adj_del": 1}, {"attr_del": 5}),
        ({"attr_del": 1}, {"attr_del": 1, "sigma": 2}),
        ({"attr_del": 1, "sigma": 2}, {"attr_del": 1, "sigma": 1}),
        ({"attr_del": 1}, {"attr_del": 1, "protected": [2]}),
        ({"attr_del": 1, "protected": [1]}, {"attr_del": 1, "protected": [2]}),
        ({"attr_del": 2}, {"attr_del": 2, "local_attr_del": 1}),
        ({"attr_del": 2, "local_attr_del": [0, 2, 0, 0]}, {"attr_del": 2, "local_attr_del": 1}),
    ],
)
def test_every_part_of_a_threat_model_is_compared(weaker: dict[str, Any], stronger: dict[str, Any]) -> None:
    """None of the first ones can do no more than the second; all of them can do no more than themselves."""
    graph = alone().graph
    assert not can_do_no_more(ThreatModel(**weaker), ThreatModel(**stronger), graph)
    for threat in (weaker, stronger):
        assert can_do_no_more(ThreatModel(**threat), ThreatModel(**threat), graph)


def test_a_strong_checkpoint_of_an_older_version_is_refused(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """The fixture was written by certcore 0.2.0 for this curve; it holds 3 of 4 at σ = 3, where 1 is true."""
    old = tmp_path / "strong.npz"
    shutil.copy(FIXTURES / "strong-0.2.0.npz", old)
    question: Any = {"threat": ThreatModel(attr_del=3), "vary": "sigma", "values": [1, 3], "checkpoint": old}
    with pytest.raises(InputError, match="by an older version"):
        curve(alone(), relaxation="strong", rounds=2, **question)
    assert old.read_bytes() == (FIXTURES / "strong-0.2.0.npz").read_bytes(), "refused, not overwritten"
    file = tmp_path / "alone.npz"
    save_instance(file, alone())
    command = ["curve", str(file), "--attr-del", "3", "--vary", "sigma", "--values", "1,3", "--checkpoint", str(old)]
    assert main([*command, "--relaxation", "strong", "--rounds", "2"]) == 2
    assert "older version" in capsys.readouterr().err
    old.unlink()
    for _ in range(2):  # written anew, and read again
        assert curve(alone(), relaxation="strong", rounds=2, **question).certified.tolist() == [3, 1]


def test_other_checkpoints_of_an_older_version_are_read(tmp_path: Path) -> None:
    old = tmp_path / "tight.npz"
    shutil.copy(FIXTURES / "tight-0.2.0.npz", old)
    found = curve(alone(), ThreatModel(attr_del=3), "sigma", [1, 3], checkpoint=old)
    assert (found.certified.tolist(), found.solves) == ([3, 1], 0)
