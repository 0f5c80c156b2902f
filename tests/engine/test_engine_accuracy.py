"""Certified accuracy: labels that stay and are right, as a share of all targets."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from certcore import GridBase, InputError, Instance, ThreatModel, certify, messages
from certcore.cli import main
from certcore.common.rounding import share_down
from certcore.figures import contour_figure
from certcore.instance.instance import before_correct, save_instance
from certcore.sweep import radius, surface
from tests.oracle.truth import most_broken
from tests.support import grid_certified, random_instance, random_threat


def labelled(seed: int) -> Instance:
    rng = np.random.default_rng(seed)
    instance = random_instance(rng)
    n, base = instance.graph.n_nodes, instance.base
    assert isinstance(base, GridBase)
    predicted = GridBase(base.grid, base.axes, None, rng.integers(0, 2, n))
    return replace(instance, base=predicted, labels=rng.integers(0, 2, n), split=rng.integers(0, 3, n))


@pytest.mark.parametrize("seed", range(40))
def test_no_attack_leaves_fewer_right_labels_than_certified(seed: int) -> None:
    instance = labelled(seed)
    assert instance.targets is not None
    assert instance.labels is not None
    assert instance.prediction is not None
    right = [
        node
        for node in instance.targets.tolist()
        if instance.labels[node] == instance.prediction[node] and grid_certified(instance, node, (0, 0, 0, 0))
    ]
    if not right:
        with pytest.raises(InputError, match="none of the"):
            instance.select_targets("correct")
        return
    assert instance.select_targets("correct").tolist() == right, "abstentions count as wrong"
    threat = random_threat(np.random.default_rng(seed), instance).replace(targets=np.array(right))
    result = certify(instance, threat)
    assert result.certified <= len(right) - most_broken(instance, threat)


def test_the_command_tells_the_share_of_all_targets(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    instance = next(labelled(s) for s in range(99) if _useful(labelled(s)))
    path = tmp_path / "x.npz"
    save_instance(path, instance)
    kind = f"--{instance.base.axes[0].replace('_', '-')}"
    for which, before in (("correct", None), ("correct:test", "test"), ("correct:all", "all")):
        assert main(["certify", str(path), kind, "1", "--targets", which, "--json"]) == 0
        told = json.loads(capsys.readouterr().out)
        of = instance.select_targets(before)
        assert told["certified_accuracy"] == told["certified"] / len(of)
        assert told["targets"] == len(instance.select_targets(which))
        assert main(["certify", str(path), kind, "1", "--targets", which]) == 0
        said = capsys.readouterr().out
        threat = ThreatModel(**{instance.base.axes[0]: 1})
        accuracy = messages.certified_accuracy(instance, threat, told["certified"], of)
        assert str(accuracy) == said.splitlines()[-1].removeprefix("accuracy").strip()
        trained = bool((np.asarray(instance.split)[of] == 0).any())
        assert str(accuracy).endswith(str(messages.not_for_training())) == trained
    assert main(["certify", str(path), kind, "1", "--json"]) == 0
    assert "certified_accuracy" not in json.loads(capsys.readouterr().out)


def _useful(instance: Instance) -> bool:
    right, split = instance.right, np.asarray(instance.split)
    assert right is not None
    return bool(right[instance.targets].any() and right[split == 2].any() and (split[instance.targets] != 0).all())


def test_without_labels_nobody_knows_what_is_right() -> None:
    instance = replace(labelled(0), labels=None)
    with pytest.raises(InputError, match="true labels"):
        instance.select_targets("correct")
    assert [before_correct(which) for which in ("correct", "correct:test", "test", None)] == [
        None,
        "test",
        "test",
        None,
    ]


def test_the_sentence_starts_from_the_clean_accuracy() -> None:
    instance = labelled(3)
    of = np.arange(instance.graph.n_nodes)
    assert instance.right is not None
    right = f"{int(instance.right.sum())} are right"
    for threat, attacked in ((ThreatModel(attr_del=1), True), (ThreatModel(), False)):
        said = str(messages.certified_accuracy(instance, threat, 1, of))
        assert said.startswith(f"Accuracy is at least {share_down(1, len(of))}")
        assert ("under this attacker" in said) == (right in said) == attacked
        assert ("Nothing is attacked" in said) == (not attacked)


@pytest.fixture
def useful(tmp_path: Path) -> tuple[Instance, str, str]:
    """An instance with right and wrong labels, its file, and a type to vary."""
    found = (labelled(s) for s in range(99))
    instance = next(i for i in found if _useful(i) and len(i.select_targets("correct:all")) < i.graph.n_nodes)
    path = tmp_path / "x.npz"
    save_instance(path, instance)
    return instance, str(path), instance.base.axes[0]


@pytest.mark.parametrize("which", ["correct:all", "correct:correct:all"])
def test_every_point_of_a_sweep_tells_the_share_of_all_targets(
    useful: tuple[Instance, str, str], which: str, capsys: pytest.CaptureFixture[str]
) -> None:
    instance, path, axis = useful
    n = instance.graph.n_nodes
    commands = {
        "curve": ["curve", path, "--vary", axis, "--values", "0:2"],
        "surface": ["surface", path, "--x", axis, "--x-values", "0:2", "--y", "sigma", "--y-values", "0:1"],
    }
    for command in commands.values():
        assert main([*command, "--targets", which, "--json"]) == 0
        told = json.loads(capsys.readouterr().out)
        assert told["targets"] < told["accuracy_of"] == n
        assert told["points"][0]["certified_accuracy"] == told["targets"] / n, "nothing is attacked at 0"
        assert all(point["certified_accuracy"] == point["certified"] / n for point in told["points"])
        assert main([*command, "--targets", which]) == 0
        table = capsys.readouterr()
        rows = [dict(zip(table.out.split("\n")[0].split(","), row.split(","))) for row in table.out.split()[1:]]
        assert [float(row["certified_accuracy"]) for row in rows] == [p["certified_accuracy"] for p in told["points"]]
        assert str(messages.share_of_right(instance, instance.select_targets("all"))) in table.err
        assert main([*command, "--targets", "all"]) == 0
        plain = capsys.readouterr()
        assert "accuracy" not in plain.out + plain.err


def test_splits_tell_the_mean_of_their_own_accuracies(
    useful: tuple[Instance, str, str], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    instance, path, axis = useful
    assert instance.labels is not None
    assert instance.prediction is not None
    other = tmp_path / "other.npz"
    save_instance(other, replace(instance, labels=np.asarray(instance.prediction)))
    command = ["curve", path, "--splits", str(other), "--vary", axis, "--values", "0:2", "--targets", "correct:all"]
    assert main([*command, "--json"]) == 0
    told = json.loads(capsys.readouterr().out)
    first, second = (
        [point["certified"] / instance.graph.n_nodes for point in curve["points"]] for curve in told["curves"]
    )
    assert first != second
    means = [point["certified_accuracy_mean"] for point in told["points"]]
    assert means == pytest.approx([(a + b) / 2 for a, b in zip(first, second)])
    deviations = [point["certified_accuracy_deviation"] for point in told["points"]]
    assert deviations == pytest.approx([abs(a - b) / 2**0.5 for a, b in zip(first, second)])


def test_a_radius_says_which_share_it_means(
    useful: tuple[Instance, str, str], capsys: pytest.CaptureFixture[str]
) -> None:
    instance, path, axis = useful
    command = ["radius", path, "--vary", axis, "--at-least"]
    assert main([*command, "1", "--targets", "correct:all", "--json"]) == 0
    told = json.loads(capsys.readouterr().out)
    n = instance.graph.n_nodes
    assert told["needed"] == told["targets"] < n
    assert told["certified_accuracy"] == told["certified"] / n
    there = f"Certified accuracy there is {told['certified']} of {n}, {share_down(told['certified'], n)}."
    which = messages.share_of_right(instance, instance.select_targets("all"))
    assert there in told["guarantee"]
    assert str(which) in told["guarantee"]
    assert main([*command, "0", "--targets", "correct:all"]) == 0
    everybody, right = instance.select_targets("all"), ThreatModel(targets=instance.select_targets("correct:all"))
    said = messages.radius(instance, right, radius(instance, right, axis, "0"), everybody)
    assert capsys.readouterr().out == f"{said}\n"
    assert str(which) in str(said)
    assert "Certified accuracy there is" not in str(said), "no budget was looked for"
    assert main([*command, "1", "--json"]) == 0
    assert "accuracy" not in capsys.readouterr().out


def test_a_map_is_called_accuracy_only_over_all_targets() -> None:
    instance = next(i for i in map(labelled, range(99)) if _useful(i))
    axis = instance.base.axes[0]
    right = instance.select_targets("correct:all")
    found = surface(instance, ThreatModel(targets=right), axis, range(2), "sigma", range(2))
    n = instance.graph.n_nodes
    whole = contour_figure(found, x=axis, y="sigma", accuracy_of=n)
    assert "certified accuracy" in whole.description()
    assert whole.ratio[0, 0] == len(right) / n
    assert whole.targets == n
    plain = contour_figure(found, x=axis, y="sigma")
    assert "certified ratio" in plain.description()
    assert "accuracy" not in plain.description()
    assert plain.ratio[0, 0] == 1
