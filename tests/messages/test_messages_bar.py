"""The headline and the bar of every shipped bundle: one form, and parts that add up to all labels."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

import certcore as cc
from certcore.common.rounding import share_down
from certcore.instance.instance import Instance
from certcore.model_attack.stored import attacks_on, largest
from certcore.sweep.ranges import first_budget
from certcore.workbench import message
from certcore.workbench.standing import Standing

BUNDLES = sorted((Path(__file__).resolve().parents[2] / "precomputed").glob("*.npz"))
#: Beyond so many nodes no attack on certificates is searched here: the bar is then without its orange part.
MANY_NODES = 3000


def view_of(instance: Instance, right_only: bool) -> Standing:
    threat = cc.ThreatModel(**first_budget(instance))
    if not right_only or instance.right is None:
        return Standing(instance, threat)
    right = instance.targets[instance.right[instance.targets]]
    return Standing(instance, threat.replace(targets=right), counted=instance.targets)


@pytest.mark.parametrize("path", BUNDLES, ids=lambda path: path.stem)
def test_the_bar_adds_up_on_every_bundle(path: Path) -> None:
    instance = cc.load_instance(path)
    model = largest(attacks_on(path, instance), instance, cc.ThreatModel(**first_budget(instance)))
    for right_only in (False, True):
        view = view_of(instance, right_only)
        result = cc.certify(instance, view.threat, attack=instance.graph.n_nodes <= MANY_NODES)
        told = message.answer(view, result, 0, None if right_only else model)
        parts = told["parts"]
        assert list(parts) == ["naive", "collective", "open", "lost", "none", "wrong"]
        assert min(parts.values()) >= 0
        assert sum(parts.values()) == message.asked(view), "the bar is all labels"
        assert parts["naive"] + parts["collective"] == result.certified, "its left end is the number"
        head = "".join(piece["text"] for piece in told["head"])
        stays = "are right and stay" if view.counted is not None else "stay"
        asked = message.asked(view)
        share = share_down(result.certified, asked)
        assert head == f"At least {result.certified:,} of {asked:,} labels {stays} · {share}"
        if model is not None and not right_only:
            assert told["model"]["changed"] <= result.targets - result.certified, "what is proven stays"
            assert re.search(rf"\b{told['model']['changed']:,}$", "".join(p["text"] for p in told["model"]["head"]))
        first = message.no_answer(view, None, result.certified)
        assert first["head"] == told["head"], "the form is the same before the answer"
