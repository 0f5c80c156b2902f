"""Attack files and commands: nested levels, bound to the instance and the model, counted again, left out if strange."""

from __future__ import annotations

import json
from collections import OrderedDict

import numpy as np
import pytest

pytest.importorskip("torch_geometric")

import certcore as cc
from certcore.cli import main
from certcore.common.errors import InputError
from certcore.common.npz import read_npz, write_npz
from certcore.domain.perturbations import FLIPS
from certcore.instance.instance import save_instance
from certcore.model_attack.along import attacks_along, needed
from certcore.model_attack.run import AttackOptions, run_attack
from certcore.model_attack.stored import attacks_on, largest, load_attack, save_attack
from certcore.models.storage import save_model
from certcore.report import default_threat
from certcore.result import tripwire
from experiments.__main__ import main as experiment
from experiments.bundle import BundleRecipe
from tests.model_attack.cases import case, network

QUICK = AttackOptions("greedy", 1000, nested=True)


@pytest.fixture(autouse=True)
def nothing_known(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tripwire, "_memories", OrderedDict())


@pytest.fixture(scope="module")
def found():
    instance, victim = case()
    return run_attack(victim, instance, cc.ThreatModel(attr_del=10), QUICK)


def test_a_file_gives_back_what_was_found(found, tmp_path):
    instance, _ = case()
    path = tmp_path / "toy.attack.npz"
    save_attack(path, found)
    read = load_attack(path, instance)
    assert read.flips == found.flips
    assert read.budgets == [1, 2, 5, 10]
    assert read.changed == found.changed
    assert read.meta == found.meta
    assert read.accuracy_under_attack == found.accuracy_under_attack
    assert path.stat().st_size < 20_000


def test_any_budget_has_the_largest_attack_below_it(found):
    instance, _ = case()
    targets = np.asarray(instance.targets)
    by_level = [found.count(instance, level, targets).n_changed for level in found.levels]
    for budget, level in ((1, 0), (4, 1), (7, 2), (10, 3), (500, 3)):
        assert found.at(instance, cc.ThreatModel(attr_del=budget)).n_changed == by_level[level]
    assert found.at(instance, cc.ThreatModel(attr_add=5)) is None
    flipped = found.flips[0].first
    assert found.at(instance, cc.ThreatModel(attr_del=500, protected=[flipped])) is None


def test_targets_of_weight_zero_are_not_counted(found):
    instance, _ = case()
    weights = np.ones(instance.graph.n_nodes, dtype=np.int64)
    targets = np.asarray(instance.targets)
    weights[targets[:3]] = 0
    counted = found.found(instance, cc.ThreatModel(attr_del=10, weights=weights))
    assert counted.count.targets.tolist() == targets[3:].tolist()


def test_along_a_budget_every_attack_begins_where_it_can_be_made(found):
    instance, _ = case()
    steps = attacks_along([found], instance, cc.ThreatModel(), "attr_del")
    assert steps.values == tuple(found.budgets)
    for value in (0, 1, 3, 4, 20, None):
        whole = found.at(instance, cc.ThreatModel(attr_del=10**6 if value is None else value))
        here = steps.at(value)
        assert (here is None) == (whole is None), "where nothing was tried there is no number"
        assert here is None or here.count.n_changed == whole.n_changed
    assert steps.changed([0, 2]) == [None, steps.found[0].count.n_changed]
    by_nodes = attacks_along([found], instance, cc.ThreatModel(attr_del=10), "sigma")
    assert by_nodes.values[-1] == len({flip.first for flip in found.flips})


@pytest.mark.parametrize("name", ["citeseer-appnp-attr-s0", "pubmed_tfidf-gcn-adj-s0"])
def test_the_budget_that_an_attack_needs_is_known_where_a_report_chooses_its_type(name):
    """The instances refuse budgets for edges, or for bits: only those in question may be set."""
    path = f"precomputed/{name}.npz"
    instance = cc.load_instance(path)
    threat = default_threat(instance)
    axis = next(kind for kind, budget in zip(FLIPS, threat.budgets) if budget)
    (attack,) = attacks_on(path, instance)
    assert needed(attack, attack.levels[-1], axis) == len(attack.flips)


def test_of_several_attacks_the_one_with_the_most_flips_is_taken_whatever_it_changes(found):
    """The best of several counts would need a stricter test than one of them."""
    instance, victim = case()
    other = run_attack(victim, instance, cc.ThreatModel(attr_add=12), AttackOptions("random", 1000))
    threat = cc.ThreatModel(attr_add=12, attr_del=10)
    assert largest([found, other], instance, threat).flips == 12
    assert largest([found, other], instance, cc.ThreatModel(attr_del=10)).attack is found
    assert largest([found, other], instance, cc.ThreatModel(adj_del=10)) is None


def test_the_same_command_makes_the_same_attack_also_if_it_was_interrupted(found):
    instance, victim = case()
    half = run_attack(victim, instance, cc.ThreatModel(attr_del=5), QUICK)
    whole = run_attack(victim, instance, cc.ThreatModel(attr_del=10), QUICK, start=half)
    assert whole.digest == found.digest
    assert half.digest != found.digest


def test_an_interrupted_attack_continues_to_the_same_flips(found):
    instance, victim = case()
    half = run_attack(victim, instance, cc.ThreatModel(attr_del=5), QUICK)
    whole = run_attack(victim, instance, cc.ThreatModel(attr_del=10), QUICK, start=half)
    assert whole.flips[:5] == half.flips
    assert whole.budgets == found.budgets
    with pytest.raises(InputError, match="to continue"):
        run_attack(victim, instance, cc.ThreatModel(attr_del=10), AttackOptions("random", 1000), start=half)


def test_a_cancelled_attack_keeps_its_finished_levels():
    import threading

    instance, victim = case()
    cancel, kept = threading.Event(), []

    def keep(attack):
        kept.append(attack)
        if len(attack.levels) == 2:
            cancel.set()

    part = run_attack(victim, instance, cc.ThreatModel(attr_del=10), QUICK, cancel=cancel, keep=keep)
    assert part.budgets == kept[-1].budgets == [1, 2]


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("votes", lambda a: a + 1),
        ("level_flips", lambda a: a[::-1]),
        ("flip_types", lambda a: np.array(["bits"] * len(a))),
        ("flip_places", lambda a: a + 10**6),
        ("flip_places", lambda a: a[:1].repeat(len(a), axis=0)),
        ("description", lambda a: np.array("{}")),
    ],
)
def test_what_does_not_add_up_is_refused(found, tmp_path, name, value):
    instance, _ = case()
    path = tmp_path / "toy.attack.npz"
    save_attack(path, found)
    arrays = read_npz(path)
    arrays[name] = value(arrays[name])
    write_npz(path, arrays)
    with pytest.raises(InputError):
        load_attack(path, instance)


def test_an_attack_on_another_instance_is_refused(found, tmp_path):
    path = tmp_path / "toy.attack.npz"
    save_attack(path, found)
    with pytest.raises(InputError, match="another instance"):
        load_attack(path, case("gcn", "joint")[0])


def test_the_commands(tmp_path, capsys):
    instance, _ = case()
    model, path = tmp_path / "toy.safetensors", tmp_path / "toy.npz"
    save_model(model, network(), {"seed": 0})
    save_instance(path, instance)
    assert main(["certify", str(path), "--attr-del", "3", "--json"]) == 0
    before = json.loads(capsys.readouterr().out)
    assert before["changed"] is None
    assert before["accuracy_under_attack"] is None
    asked = ["attack", str(path), "--attr-del", "10", "--nested", "--samples", "1000", "--model", str(model)]
    assert main([*asked, "--method", "greedy", "--json"]) == 0
    report = json.loads(capsys.readouterr().out)
    assert [level["flips"] for level in report["levels"]] == [1, 2, 5, 10]
    assert 0 < report["changed"] <= before["targets"]
    assert experiment([*asked, "--method", "greedy", "--json", "-o", str(tmp_path / "again.npz")]) == 0
    assert json.loads(capsys.readouterr().out)["levels"] == report["levels"]
    assert main(asked[:4]) == 2
    assert "no model is given" in capsys.readouterr().err
    assert main(["certify", str(path), "--attr-del", "300", "--json"]) == 0
    after = json.loads(capsys.readouterr().out)
    assert after["changed"] == report["changed"]
    assert after["accuracy_under_attack"] == report["accuracy_under_attack"]


def test_a_recipe_is_read_back_from_its_command():
    for recipe in (
        BundleRecipe("citeseer", "gcn", "attr", split=2, samples=10**5, first=7, seed=3, epochs=9, alpha="0.05"),
        BundleRecipe("cora", "gcn_mean", "adj", edge_field="degrees"),
        BundleRecipe("cora", "gcn", "joint", theta=("0.1", "0.2", "0", "0.3")),
        BundleRecipe("citeseer", "gcn", "convex"),
    ):
        assert BundleRecipe.from_command(recipe.command).command == recipe.command
    with pytest.raises(InputError, match="no command that makes a bundle"):
        BundleRecipe.from_command("rm -r /")
