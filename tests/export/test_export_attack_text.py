"""Attacks as text."""

from __future__ import annotations

import numpy as np
import pytest

from certcore import InputError, ThreatModel, certify
from certcore.result.attack_text import attack_text, read_attack
from tests.export.instances import small_instance


@pytest.mark.parametrize(
    ("axes", "threat"),
    [
        (("attr_add", "attr_del"), ThreatModel(attr_add=2, attr_del=5)),
        (("attr_del", "adj_del"), ThreatModel(attr_del=2, adj_del=3)),
        (("attr_add", "attr_del"), ThreatModel(attr_del=5, sigma=2, protected=[4])),
        (("attr_add", "attr_del"), ThreatModel()),
    ],
)
def test_an_attack_is_replayed_from_its_text(axes: tuple[str, ...], threat: ThreatModel) -> None:
    instance = small_instance(axes)
    attack = certify(instance, threat).attack
    again = read_attack(instance, threat, attack_text(instance, threat, attack))
    for part in ("attributes", "deleted", "added", "inside", "attacked"):
        assert np.array_equal(getattr(again, part), getattr(attack, part)), part
    if threat.sigma is not None:
        assert np.array_equal(again.attackers > 0.5, attack.attackers > 0.5)


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("attr_del@1x9", "global budget"),
        ("attr_del@99", "names node 99"),
        ("adj_del@0-0", "not in the graph"),
        ("attr_del@1;rm", "no part of an attack"),
        ("", "no part of an attack"),
        ("attr_del@-1", "no part of an attack"),
    ],
)
def test_what_the_threat_model_does_not_allow_is_refused(text: str, reason: str) -> None:
    with pytest.raises(InputError, match=reason):
        read_attack(small_instance(), ThreatModel(attr_del=2), text)
