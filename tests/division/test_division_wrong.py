"""Ways to get division voting wrong: each would claim too much on a case built for it."""

from __future__ import annotations

import dataclasses
import json
from collections import OrderedDict
from functools import cached_property
from typing import Any

import numpy as np
import pytest

from certcore import Graph, InputError, Instance, ThreatModel, certify, load_instance, save_instance
from certcore.base.division import ABSTAINS, DivisionBase, PairHash
from certcore.pipeline.bundle import BundleRecipe
from certcore.program.problem import Problem
from certcore.result import tripwire
from certcore.result.allocation import replay
from certcore.result.attack_effects import NEVER, reach
from tests.checker.cases import accepts, as_seen
from tests.division.enumeration import LEAVES, Hub
from tests.division.test_division_folded import instance as voted


def test_degrees_of_senders_need_one_hop_more() -> None:
    hub, one = Hub(), ThreatModel(adj_add=1)
    assert hub.worst >= LEAVES
    assert certify(hub.instance("degrees"), one).bound >= hub.worst
    assert certify(hub.instance("messages"), one).bound < hub.worst, "the case must catch a field that is too small"


class OneTooMany(DivisionBase):
    """Thresholds off by one."""

    @cached_property
    def thresholds(self) -> np.ndarray:  # type: ignore[override]
        return DivisionBase.thresholds.func(self) + 1


def test_a_threshold_off_by_one_is_caught(monkeypatch: pytest.MonkeyPatch) -> None:
    hub = Hub()
    monkeypatch.setattr(tripwire, "_memories", OrderedDict())  # it knows an attack of the test before
    assert certify(hub.instance("degrees", OneTooMany), ThreatModel(adj_add=1)).bound < hub.worst


@pytest.mark.parametrize(("layers", "more"), [(1, {}), (2, {}), (1, {"adj_del": 1}), (1, {"local_adj_add": 3})])
def test_an_addition_counts_at_both_of_its_ends(layers: int, more: dict[str, Any]) -> None:
    """Nodes without edges show what they are; joined, a pair takes the sum, and both of its ends change."""
    graph = Graph.from_edges(4, np.zeros((0, 2), dtype=np.int64))
    base = DivisionBase(np.zeros((1, 4), dtype=np.int64), 2, PairHash(1))
    instance = Instance(graph=graph, base=base, layers=layers, edge_field="messages")
    for added in (1, 2):
        found = certify(instance, ThreatModel(adj_add=added, **more))
        # Deletions have no edge to go to, but the count of tokens may allow for them.
        assert 2 * added <= found.bound <= min(2 * added + 2 * more.get("adj_del", 0), 4)
        assert found.attack_found == 2 * added


def test_costs_of_nodes_are_not_the_price_of_an_added_edge() -> None:
    graph = Graph.from_edges(6, np.array([[0, 1], [2, 3]]))
    base = DivisionBase(np.zeros((1, 6), dtype=np.int64), 2, PairHash(1))
    instance = Instance(graph=graph, base=base, layers=1, edge_field="messages")
    found = certify(instance, ThreatModel(adj_add=2, sigma=2, node_costs=[10] * 6))
    assert found.attack_found == found.bound == 4


@pytest.mark.parametrize("layers", [0, 1, 2])
def test_an_abstaining_node_needs_no_edge_that_sends_to_it(layers: int) -> None:
    """Node 0 only sends. Without that edge its one vote abstains, also where an attribute budget stands beside."""
    graph = Graph.from_edges(2, np.array([[1, 0]]), directed=True)
    base = DivisionBase(np.ones((1, 2), dtype=np.int64), 2, PairHash(1))
    assert DivisionBase(np.full((1, 2), ABSTAINS), 2, PairHash(1)).prediction[0] != base.prediction[0]
    instance = Instance(graph=graph, base=base, layers=layers, edge_field="messages")
    for more in ({}, {"attr_del": 1}):  # no attribute is there to be deleted
        found = certify(instance, ThreatModel(adj_del=1, targets=np.array([0]), **more))
        assert found.bound == 1
        assert accepts(json.loads(json.dumps(found.proof)), as_seen(instance))


@pytest.fixture(scope="module")
def arrays(tmp_path_factory: pytest.TempPathFactory) -> dict[str, np.ndarray]:
    path = tmp_path_factory.mktemp("division") / "one.npz"
    save_instance(path, instance_with_everything())
    with np.load(path, allow_pickle=False) as file:
        return dict(file)


def instance_with_everything() -> Instance:
    rng = np.random.default_rng(4)
    graph = Graph.from_edges(9, np.array([[0, 1], [1, 2], [2, 3], [4, 5], [7, 8]]))
    votes = rng.integers(-1, 3, size=(4, 9))
    base = DivisionBase(votes, 3, PairHash(4, 11), rng.integers(0, 3, size=9), 2, weights_read_edges=False)
    return Instance(graph=graph, base=base, layers=2, edge_field="messages", meta={"controls": {"MLP": 0.5}})


def test_a_file_keeps_the_votes_and_nothing_that_follows_from_them(tmp_path: Any) -> None:
    before = instance_with_everything()
    save_instance(tmp_path / "one.npz", before)
    after = load_instance(tmp_path / "one.npz")
    assert isinstance(after.base, DivisionBase)
    assert np.array_equal(after.base.votes, before.base.votes)
    assert np.array_equal(after.base.thresholds, before.base.thresholds)
    assert (after.base.hash, after.base.fixed_weight, after.base.weights_read_edges) == (PairHash(4, 11), 2, False)
    assert np.array_equal(after.base.fixed, before.base.fixed)
    assert after.digest == before.digest
    assert after.controls == {"MLP": 0.5}


BAD: list[tuple[str, Any, str]] = [
    ("division_votes", np.full((4, 9), 3), "division_votes"),
    ("division_votes", np.full((3, 9), 0), "division_votes"),
    ("division_votes", np.full((4, 9), 0.5), "division_votes"),
    ("division_groups", np.array(0), "division_groups"),
    ("division_groups", None, "division_groups"),
    ("division_classes", np.array(2), "division_votes"),
    ("division_hash", np.array(["md5", "1", "11"]), "hash"),
    ("division_hash", np.array(["splitmix64", "2", "11"]), "hash"),
    ("division_hash", np.array(["splitmix64", "1", "-1"]), "salt"),
    ("division_hash", np.array([1, 2, 3]), "division_hash"),
    ("division_fixed", np.zeros(9, dtype=np.int64), "fixed votes"),
    ("weights_read_edges", np.array(2), "weights_read_edges"),
    ("weights_read_edges", None, "weights_read_edges"),
]


@pytest.mark.parametrize(("key", "value", "said"), BAD)
def test_bad_files_are_refused_with_a_sentence(
    arrays: dict[str, np.ndarray], tmp_path: Any, key: str, value: Any, said: str
) -> None:
    changed = {name: array for name, array in arrays.items() if name != key}
    if value is not None:
        changed[key] = value
    np.savez(tmp_path / "bad.npz", **changed)
    with pytest.raises(InputError, match=said):
        load_instance(tmp_path / "bad.npz")


@pytest.mark.parametrize(
    ("model", "types", "more"),
    [("gcn", "division", {}), ("sage", "adj", {}), ("sage", "division", {"groups": 0}),
     ("decoupled", "division", {"salt": -1}), ("decoupled", "division", {"edge_field": "degrees"})],
)  # fmt: skip
def test_recipes_that_fit_nothing_are_refused(model: str, types: str, more: dict[str, Any]) -> None:
    with pytest.raises(InputError):
        BundleRecipe("cora", model, types, **more)


def test_the_recipe_says_how_to_make_it_again() -> None:
    recipe = BundleRecipe("cora", "decoupled", "division", groups=5, salt=7)
    assert recipe.command == "certcore bundle cora decoupled division --split 0 --groups 5 --salt 7"
    assert recipe.stem == "cora-decoupled-division-s0"


def test_the_papers_relaxation_is_refused_with_a_sentence() -> None:
    with pytest.raises(InputError, match="does not define for division voting"):
        certify(Hub().instance("degrees"), ThreatModel(adj_add=1), relaxation="paper")


@pytest.mark.parametrize("layers", [1, 2])
def test_the_map_knows_whose_votes_a_pair_can_change(layers: int) -> None:
    instance = dataclasses.replace(instance_with_everything(), layers=layers)
    found = certify(instance, ThreatModel(adj_add=2, adj_del=1))
    shown = reach(instance, found)
    assert shown is not None
    assert shown.inside is not None
    division = Problem(instance, found.threat).division
    for site, pair in enumerate(shown.ends.tolist()):
        assert np.array_equal(shown.reached_by(site), np.flatnonzero(division.reached_by(pair)))
    assert shown.lost.any()
    assert shown.inside[:, shown.lost].sum(axis=0).all(), "nobody loses a certificate to nothing"


def test_margins_end_where_no_edge_can_change_a_vote() -> None:
    never = 0
    for seed in range(6):
        instance = voted(seed, n=40, groups=5)
        found = certify(instance, ThreatModel(adj_del=2))
        shown, problem = reach(instance, found), Problem(instance, found.threat)
        assert shown is not None
        assert found.fractional is None, "the flips of the linear program have no places here"
        n, everything = instance.graph.n_nodes, np.ones(instance.graph.n_edges, dtype=np.int64)
        gone = replay(problem, np.zeros((2, n), np.int64), everything, np.zeros((0, 2), np.int64), np.ones(n))
        assert np.array_equal(shown.margin != NEVER, gone.attacked == 1), "also when all edges are deleted"
        never += int((shown.margin == NEVER).sum())
    assert never
