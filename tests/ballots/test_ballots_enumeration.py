"""Ballots against enumeration: every perturbation of tiny graphs, the values of the design, attacks that replay."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from certcore import Graph, Instance, ThreatModel, certify, load_instance, verify_proof
from certcore.base.ballots import BallotsBase
from certcore.common.errors import InputError
from certcore.sweep.session import Session
from tests.ballots.enumeration import Case, Counts, enumerate_graph, enumerate_one, random_threat
from tests.checker.cases import accepts, as_seen

PATH = Graph.from_edges(4, np.array([[0, 1], [1, 2], [2, 3]]))


@pytest.fixture
def path(monkeypatch: pytest.MonkeyPatch) -> Instance:
    """A path of four nodes whose ballots go up to 6."""
    for module in ("base.ballots", "result.allocation", "result.ballots_attack"):
        monkeypatch.setattr(f"certcore.{module}.UNIT", 6)
    return Instance(PATH, BallotsBase(np.array([[6, 0], [6, 0], [0, 6], [3, 3]])), layers=1, edge_field="messages")


@pytest.mark.parametrize("start", range(0, 12, 4))
def test_no_perturbation_does_more_than_promised(start: int) -> None:
    counts = Counts()
    for number in range(start, start + 4):
        enumerate_graph(number, 0, counts)
    assert counts.perturbations > 5_000
    assert counts.closed > counts.programs // 2


@pytest.mark.parametrize(
    ("threat", "bound", "truth"),
    [
        ({"inject": 1, "inject_edges": 1}, 1, 1),
        ({"inject": 1, "inject_edges": 4}, 2, 1),
        ({"adj_add": 1}, 2, 1),
        ({"adj_del": 1}, 1, 1),
        ({"sigma": 1, "attr_add": 9, "attr_del": 9}, 2.5, 2),
    ],
)
def test_values_worked_out_by_hand(path: Instance, threat: dict[str, Any], bound: float, truth: int) -> None:
    assert path.prediction is not None
    assert np.asarray(path.prediction).tolist() == [0, 0, 0, 1]
    certificate = certify(path, **threat)
    assert certificate.bound == bound
    assert certificate.attack is not None
    assert certificate.attack.attacked.sum() == truth
    assert Session(path).certify(ThreatModel(**threat)).bound == bound


def test_one_attacker_who_deletes_may_not_rewrite_as_well(path: Instance) -> None:
    """Attackers pay for edges; whether they show something else is another budget."""
    assert certify(path, sigma=1, adj_del=1).bound == 1


def test_all_relaxations_are_sound() -> None:
    counts = Counts()
    for number in range(60, 66):
        case = Case([0, number, 1])
        rng = np.random.default_rng([0, number])
        threat = random_threat(rng, case)
        enumerate_one(case, threat, counts, proofs=False)
        tight = certify(case.instance, threat)
        exact, strong = (certify(case.instance, threat, relaxation=form) for form in ("exact", "strong"))
        assert strong.relaxation == "tight", "rows of the strong form are not valid here: the tight one answers"
        assert strong.bound == tight.bound
        assert tight.attack is not None
        if exact.integer_claim is None:  # the solver gives no bound where nothing can be broken
            assert tight.bound == 0
        else:
            assert tight.attack.attacked.sum() <= exact.targets - exact.integer_claim <= tight.bound
        with pytest.raises(InputError, match="not defined for ballots"):
            certify(case.instance, threat.replace(adj_del=1, sigma=None), relaxation="paper")


def test_new_nodes_need_ballots_and_go_with_no_sigma_on_edges() -> None:
    case = Case([0, 3, 1])
    with pytest.raises(InputError, match="new node"):
        certify(case.instance, sigma=1, adj_add=1, inject=1)


@pytest.mark.parametrize(
    "threat", [{"adj_add": 50}, {"inject": 1, "inject_edges": 5}, {"inject": 10, "inject_edges": 20}], ids=str
)
@pytest.mark.parametrize("name", ["cora", "citeseer"])
def test_real_edges_and_new_nodes_reach_the_bound(name: str, threat: dict[str, int]) -> None:
    """On the shipped bundles nothing is lost between what is certified and what an attacker can do."""
    instance = load_instance(f"precomputed/{name}-decoupled-ballots-s0.npz")
    certificate = certify(instance, proof=False, **threat)  # type: ignore[arg-type]
    assert certificate.attack is not None
    assert certificate.attack.attacked.sum() == certificate.bound


@pytest.mark.parametrize(
    ("threat", "most"),
    [({"adj_del": 20}, 40), ({"adj_add": 3, "adj_del": 3}, 12), ({"adj_del": 3, "inject": 2, "inject_edges": 4}, 14),
     ({"sigma": 1, "attr_add": 9, "attr_del": 9}, 200)],
    ids=str,
)  # fmt: skip
def test_without_time_to_solve_a_first_bound_is_proven(threat: dict[str, int], most: int) -> None:
    """A change breaks at most what it gains, divided by the units that each target needs."""
    instance = load_instance("precomputed/cora-decoupled-ballots-s0.npz")
    stopped = certify(instance, ThreatModel(**threat), time_limit=1e-3, attack=False)  # type: ignore[arg-type]
    assert stopped.bound <= most
    assert stopped.proof is not None
    assert verify_proof(stopped.proof, instance).accepted
    assert accepts(stopped.proof, as_seen(instance))
