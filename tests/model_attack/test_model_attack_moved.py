"""Attacks on attributes that are numbers, and on ballots."""

from __future__ import annotations

import threading
from collections import OrderedDict
from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest

pytest.importorskip("torch_geometric")

import certcore as cc
from certcore import Graph, Instance, ThreatModel
from certcore.attack import noise_of
from certcore.base.ballots import UNIT, BallotsBase
from certcore.base.gaussian import GaussianBase
from certcore.common.errors import InputError, SoundnessError
from certcore.data import citation_like
from certcore.messages import changed_words
from certcore.model_attack.along import attacks_along
from certcore.model_attack.ballots import _clearest, changed_by_ballots
from certcore.model_attack.flips import allocation_of
from certcore.model_attack.run import STEPS, AttackOptions, run_attack
from certcore.model_attack.shift import Shift
from certcore.model_attack.stored import load_attack, save_attack
from certcore.program.problem import Problem
from certcore.result import tripwire
from certcore.result.allocation import inadmissible
from tests.model_attack.recounting import recount
from tests.oracle.refuting import moved_victim
from tests.pages.toys import ballots_instance


@pytest.fixture(autouse=True)
def nothing_known(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tripwire, "_memories", OrderedDict())


@pytest.fixture(scope="module", params=["input", "first_map"])
def victim(request):
    return moved_victim(np.random.default_rng(0), 7, request.param)


def length(shift) -> Fraction:
    """The squared norm, by fractions and row by row."""
    return sum((Fraction(int(step)) * Fraction(2) ** shift.exponent) ** 2 for step in shift.steps.ravel())


def test_moves_keep_to_the_whole_threat_model(victim):
    instance, network = victim
    n = instance.graph.n_nodes
    threat = cc.ThreatModel(
        attr_l2="1.5", local_attr_l2="0.6", adj_del=2, sigma=5, protected=[0, 1], targets=np.arange(2, n),
    )  # fmt: skip
    found = run_attack(network, instance, threat, AttackOptions("local", 200))
    shift = found.levels[-1].shift
    rows = [replace(shift, nodes=shift.nodes[[k]], steps=shift.steps[[k]]) for k in range(len(shift.nodes))]
    assert rows
    assert all(length(row) <= Fraction("0.6") ** 2 for row in rows)
    assert sum(length(row) for row in rows) <= Fraction("1.5") ** 2
    assert not {0, 1} & set(shift.nodes.tolist())
    assert len(found._attackers(found.levels[-1], threat)) <= 5
    assert Problem(instance, threat).threat.sigma == 5


def test_gradients_do_better_than_chance_and_nothing_is_refuted(victim):
    instance, network = victim
    threat = cc.ThreatModel(attr_l2=3)
    found = {m: run_attack(network, instance, threat, AttackOptions(m, 1000)) for m in ("local", "random")}
    proven = cc.certify(instance, threat)
    gone = found["local"].changed + int(instance.base.abstained.sum())
    assert found["random"].changed < found["local"].changed
    assert gone <= proven.targets - proven.certified
    assert "a distance of" in str(changed_words(found["local"].found(instance, threat)))


def test_levels_are_stored_counted_again_and_told_along_the_distance(victim, tmp_path):
    instance, network = victim
    found = run_attack(network, instance, cc.ThreatModel(attr_l2=2), AttackOptions("local", 300, nested=True))
    assert len(found.levels) == 10
    assert all(0.8 < found.distance(level) / (2 * (step / 1000) ** 0.5) < 1 for level, step in zip(found.levels, STEPS))
    save_attack(tmp_path / "a.attack.npz", found)
    again = load_attack(tmp_path / "a.attack.npz", instance)
    assert again.digest == found.digest
    assert not any(one.wrong for one in recount(again, network, instance, 1, threading.Event()))
    along = attacks_along([again], instance, cc.ThreatModel(attr_l2=1), "attr_l2")
    assert len(along.values) >= 5
    assert along.at(1.0).distance <= 1.0 < along.at(2.0).distance
    assert along.at(along.values[0] / 2) is None, "below the smallest one nothing was tried"


def test_an_attack_belongs_to_the_instance_whether_or_not_its_file_holds_the_attributes(victim, tmp_path):
    instance, network = victim
    found = run_attack(network, instance, cc.ThreatModel(attr_l2=1), AttackOptions("random", 50))
    save_attack(tmp_path / "a.attack.npz", found)
    left_out = replace(instance, graph=instance.graph.without_attributes())
    assert left_out.digest != instance.digest
    assert load_attack(tmp_path / "a.attack.npz", left_out).digest == found.digest
    moved = instance.graph.with_attributes(instance.graph.attributes * 2)
    with pytest.raises(InputError, match="another"):
        load_attack(tmp_path / "a.attack.npz", replace(instance, graph=moved))


@pytest.mark.parametrize("method", ["random", "greedy", "local"])
def test_a_distance_is_not_spent_in_flips(victim, method):
    instance, network = victim
    threat = cc.ThreatModel(attr_l2="1.5", adj_del=4)
    found = run_attack(network, instance, threat, AttackOptions(method, 50))
    assert {flip.kind for flip in found.flips} == {"adj_del"}
    assert len(found.flips) <= 4
    assert found.distance(found.levels[-1]) > 1


def test_a_file_that_moves_a_row_twice_is_refused(victim, tmp_path):
    instance, network = victim
    found = run_attack(network, instance, cc.ThreatModel(attr_l2=2), AttackOptions("random", 10))
    shift = found.levels[0].shift
    twice = replace(shift, nodes=np.full_like(shift.nodes, shift.nodes[0]))
    save_attack(tmp_path / "a.attack.npz", replace(found, levels=(replace(found.levels[0], shift=twice),)))
    with pytest.raises(InputError, match="moved twice"):
        load_attack(tmp_path / "a.attack.npz", instance)


def test_needs_that_are_too_large_are_caught(victim):
    instance, network = victim
    base = instance.base
    votes = np.zeros_like(base.votes)
    votes[np.arange(len(votes)), np.asarray(base.prediction)] = base.n_samples
    wrong = replace(instance, base=replace(base, votes=votes))
    with pytest.raises(SoundnessError, match="certificates it leaves in force"):
        run_attack(network, wrong, cc.ThreatModel(attr_l2="0.8"), AttackOptions("local", 1000))


def test_edges_are_attacked_under_the_attribute_noise(victim):
    """Without it another classifier would be attacked than the one that was certified."""
    instance, network = victim
    assert noise_of(instance).attr_std == "0.5"
    clean = network.voter(instance.graph, 0).count(0, 0, 50)
    assert (clean.max(axis=1) < 50).any()


@pytest.fixture
def ballots() -> cc.Instance:
    graph = citation_like(40, 12, 3, ones=4, seed=2).graph
    rng = np.random.default_rng(0)
    shown = (UNIT * rng.dirichlet(np.full(3, 0.5), 40)).astype(np.int64)
    shown[:3] = UNIT * np.eye(3, dtype=np.int64)
    split = np.where(np.arange(40) < 3, 0, 2).astype(np.int8)
    return cc.Instance(graph, BallotsBase(shown), layers=1, edge_field="messages", split=split)


@pytest.mark.parametrize("budgets", [{"adj_add": 3}, {"adj_del": 4}, {"inject": 2, "inject_edges": 3}])
def test_the_attack_on_ballots_changes_labels_for_certain(ballots, budgets):
    proven = cc.certify(ballots, **budgets)
    found = changed_by_ballots(ballots, proven)
    assert 0 < found.count.n_changed <= proven.attack_found <= proven.targets - proven.certified
    assert found.count.alpha is None
    if "inject" not in budgets:
        assert found.count.n_changed == proven.attack_found
    assert f"{found.count.n_changed} of {proven.targets} labels" in str(changed_words(found))


def test_new_nodes_copy_ballots_that_attributes_can_show(ballots):
    """A full ballot is the training nodes' alone: nobody else's attributes show it."""
    weak = np.asarray(ballots.base.ballots).copy()
    weak[3:] = UNIT // 3 + (weak[3:] // 2**14)
    faint = replace(ballots, base=BallotsBase(weak))
    proven = cc.certify(faint, inject=2, inject_edges=3)
    assert changed_by_ballots(faint, proven).count.n_changed <= proven.attack_found


def test_rewritten_attributes_are_not_called_changed(ballots):
    assert changed_by_ballots(ballots, cc.certify(ballots, attr_add=2, sigma=2)) is None


def test_a_row_moved_a_little_beyond_its_local_limit_is_no_attack() -> None:
    """The program rounds limits up to units; whether an attack keeps to them is decided by the lengths themselves."""
    graph = Graph.from_edges(3, np.array([[0, 1], [1, 2]]), np.full((3, 1), 0.5), keep_values=True)
    votes = np.array([[9_000, 1_000], [9_900, 100], [9_990, 10]])
    base = GaussianBase(votes, np.zeros(3, int), 10_000, "0.01", ("0",) * 4, std="1", lattice="2^-9", units=256)
    instance = Instance(graph, base, layers=1)
    for numerator, allowed in ((27, False), (16, True)):  # 27/256 = 0.105…, 16/256 = 0.0625
        shift = Shift(np.array([0]), np.array([[numerator]], dtype=np.int8), -8)
        for limits in ({"attr_l2": "1", "local_attr_l2": "0.1"}, {"attr_l2": "0.1"}):
            problem = Problem(instance, ThreatModel(**limits))
            assert (inadmissible(problem, allocation_of(problem, (), [0], shift)) is None) is allowed


def test_no_ballot_of_a_training_node_is_copied() -> None:
    instance = ballots_instance()
    n, classes = instance.base.ballots.shape
    assert (_clearest(replace(instance, split=np.zeros(n, dtype=int)), instance.base) == [-1] * classes).all()
    half = np.arange(n) % 2
    assert (half[_clearest(replace(instance, split=half), instance.base)] == 1).all()
