"""Certified accuracy: whoever shows a share of correct labels shows it of all labels asked about."""

from __future__ import annotations

import dataclasses
import json
import re
from pathlib import Path

import numpy as np
import pytest

import certcore
from certcore import InputError, Instance, ThreatModel, certify, messages, report
from certcore.base.ballots import BallotsBase
from certcore.cli import main
from certcore.common.rounding import share_down
from certcore.instance.instance import save_instance
from certcore.program.relaxation import Relaxation
from pages.parts import headline
from pages.state.state import View
from stress.tab import GUARANTEE
from tests.pages.toys import ballots_instance, grid_instance


@pytest.fixture(scope="module")
def instance() -> Instance:
    """A third of the labels asked about is wrong."""
    plain = grid_instance()
    labels = np.asarray(plain.prediction).copy()
    labels[::3] = (labels[::3] + 1) % 3
    return dataclasses.replace(plain, labels=labels)


def shares(text: str) -> set[str]:
    return set(re.findall(r"[\d.]+ %", text)) - {"99 %"}


@pytest.mark.parametrize("budget", [0, 2, 10**6])
def test_the_sentence_says_correct_labels_and_tells_one_share(instance: Instance, budget: int) -> None:
    asked, right = instance.select_targets(None), instance.select_targets("correct")
    found = certify(instance, ThreatModel(attr_del=budget, targets=right))
    said = str(messages.guarantee(instance, found, len(asked)))
    assert f"{found.certified} of {len(right)} correct labels" in said
    assert shares(said) == ({share_down(found.certified, len(asked))} if found.certified else set())
    assert ("certified accuracy of" in said) == (found.certified > 0)
    assert GUARANTEE.search(messages.guarantee(instance, found, len(asked)).markdown), "a healthy page is known by it"
    line = str(messages.summary(found, len(asked)))
    assert line.startswith(f"{found.certified} of {len(asked)} labels correct and certified")
    assert "correct" not in str(messages.guarantee(instance, found))


def test_the_command_shows_no_share_of_the_correct_labels(
    instance: Instance, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    save_instance(tmp_path / "x.npz", instance)
    asked, right = instance.select_targets(None), instance.select_targets("correct")
    asks = ["certify", str(tmp_path / "x.npz"), "--attr-del", "2", "--targets", "correct"]
    assert main([*asks, "--json"]) == 0
    told = json.loads(capsys.readouterr().out)
    wrong = share_down(told["certified"], len(right))
    assert told["ratio"] == told["certified"] / len(right), "the contract of the JSON stays"
    assert main(asks) == 0
    for said in (told["guarantee"], capsys.readouterr().out):
        assert share_down(told["certified"], len(asked)) in said
        assert wrong not in said
        assert f"{told['certified']} of {len(right)} correct labels" in said


def test_defences_and_provenance_call_no_share_of_correct_labels_a_share_of_labels(
    instance: Instance, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    certcore.save_instance(tmp_path / "x.npz", instance)
    asked, right = instance.select_targets(None), instance.select_targets("correct")
    asks = ["defend", str(tmp_path / "x.npz"), "--attr-del", "2", "--nodes", "1", "--targets", "correct"]
    assert main([*asks, "--json"]) == 0
    told = json.loads(capsys.readouterr().out)
    assert told["certified_accuracy"] == told["certified"] / len(asked)
    assert main(asks) == 0
    made = report.build(instance, ThreatModel(attr_del=2, targets=right), counted=asked)
    for said in (capsys.readouterr().out, made.guarantee):
        assert f"{told['certified']} of {len(right)} correct labels" in said
        assert share_down(told["certified"], len(asked)) in said
        assert share_down(told["certified"], len(right)) not in said
    with pytest.raises(InputError, match="counts other nodes"):  # wrong labels would be told as correct ones
        report.build(instance, ThreatModel(attr_del=2, targets=asked), targets="correct")


def test_a_card_in_a_notebook_knows_that_the_targets_are_the_correct_labels(instance: Instance) -> None:
    for name, before in (("correct", None), ("correct:all", "all")):
        asked = instance.select_targets(before)
        found = certcore.certify(instance, attr_del=2, targets=name)
        card = found._repr_html_()
        assert f"certified accuracy of {share_down(found.certified, len(asked))}" in card
        assert share_down(found.certified, found.targets) not in card
    assert "correct" not in certcore.certify(instance, attr_del=2)._repr_html_()
    one = instance.select_targets("correct")[:1]
    assert "correct" not in certcore.certify(instance, attr_del=2, targets=one)._repr_html_()


def test_a_previous_certificate_about_all_labels_is_no_accuracy(instance: Instance) -> None:
    """The number on show while a new one is computed may be about other targets."""
    asked, right = instance.select_targets(None), instance.select_targets("correct")
    threat = ThreatModel(attr_del=2, targets=right)
    view = View("x", instance, threat, Relaxation.TIGHT, 10.0, instance.base_rule, counted=asked)
    assert headline._asked(view, certify(instance, threat)) == len(asked)
    assert headline._asked(view, certify(instance, ThreatModel(attr_del=2))) is None
    assert headline._asked(view, certify(instance, threat.replace(targets=asked))) is None
    assert headline._asked(dataclasses.replace(view, counted=None), certify(instance, threat)) is None


@pytest.mark.parametrize("reads", [False, True])
def test_attributes_that_may_change_do_not_stay_as_they_are(reads: bool) -> None:
    """Ballots under budgets for both: the remark must not take back what the promise names."""
    plain = ballots_instance()
    assert isinstance(plain.base, BallotsBase)
    instance = dataclasses.replace(plain, base=dataclasses.replace(plain.base, weights_read_edges=reads))
    for attributes, threat in ((False, ThreatModel(adj_del=1)), (True, ThreatModel(attr_del=1, adj_del=1))):
        said = str(messages.statement(instance, certify(instance, threat)))
        assert ("up to 1 node shows" in said) == attributes
        assert bool(re.search(r"Attributes of the graph (and weights )?stay as they are", said)) == (not attributes)
        assert ("not covered" in said) == reads
        assert ("Attributes are changed after training only" in said) == (attributes and not reads)
