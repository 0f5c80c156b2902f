"""From a trained model to every sentence: attacks refute nothing, and mistakes on the way are refuted."""

from __future__ import annotations

from collections import OrderedDict
from dataclasses import replace

import pytest

pytest.importorskip("torch_geometric")

import certcore as cc
from certcore import messages
from certcore.common.errors import SoundnessError
from certcore.result import tripwire
from tests.oracle import refuting
from tests.oracle.refuting import Tally, refute

#: Turns in which single flips change labels, so that something is at stake.
TURNS = range(4)


@pytest.fixture(autouse=True)
def nothing_known(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tripwire, "_memories", OrderedDict())


def run(turns=TURNS) -> Tally:
    tally = Tally()
    for turn in turns:
        refute(5, turn, tally)
    return tally


def test_no_attack_refutes_a_count_or_a_sentence() -> None:
    tally = run()
    assert tally.attacks > 100
    assert tally.effective > 10, "attacks change labels, or nothing was tested"
    assert tally.sentences > 50


def test_fields_that_are_too_small_are_refuted(monkeypatch: pytest.MonkeyPatch) -> None:
    real = refuting.victim_of

    def lying(rng):
        kind, instance, victim = real(rng)
        return kind, (replace(instance, layers=0) if instance.layers else instance), victim

    monkeypatch.setattr(refuting, "victim_of", lying)
    with pytest.raises(SoundnessError, match="Certificate or field is wrong"):
        run(range(12))


def test_a_count_and_a_sentence_that_say_too_much_are_refuted(monkeypatch: pytest.MonkeyPatch) -> None:
    real = messages.short_head
    monkeypatch.setattr(messages, "short_head", lambda proven, *rest: real(rest[0], *rest))  # all of them stay
    with pytest.raises(AssertionError, match="labels stay"):
        run()
    monkeypatch.setattr(messages, "short_head", real)
    honest = cc.certify

    def boastful(instance, threat, **options):
        found = honest(instance, threat, **options)
        return replace(found, certified=found.targets)

    monkeypatch.setattr(cc, "certify", boastful)
    with pytest.raises((SoundnessError, AssertionError)):
        run()
