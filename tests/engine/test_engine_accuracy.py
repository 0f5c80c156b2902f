"""Certified accuracy: labels that stay and are right, as a share of all targets."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from certcore import GridBase, InputError, Instance, ThreatModel, certify, words
from certcore.cli import main
from certcore.instance.instance import before_correct, save_instance
from tests.support import brute_force, grid_certified, random_instance, random_threat


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
    assert result.certified <= len(right) - brute_force(instance, threat)


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
        assert "Accuracy is at least" in said
        trained = bool((np.asarray(instance.split)[of] == 0).any())
        assert ("says nothing about new nodes" in said) == trained
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
    said = str(words.certified_accuracy(instance, ThreatModel(attr_del=1), 1, of))
    assert f"without an attack {int(instance.right.sum())} are right" in said
    assert "this attacker" not in str(words.certified_accuracy(instance, ThreatModel(), 1, of))
