"""Every public way to a count under `attr_l2`, held against linear classifiers whose truth is known."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import certcore as cc
from certcore.cli import main
from certcore.domain.perturbations import TYPES
from certcore.result.attack_effects import reach
from certcore.sweep import Session, defend
from pages.parts.pictures import base_shares
from tests.engine.linear import Case, broken, make
from tests.oracle.instances import LENGTHS, question
from tests.oracle.walk import PORTION, Tally, walk_lengths

L2 = TYPES.index("attr_l2")


def cases() -> list[Case]:
    rng = np.random.default_rng(11)
    return [make(rng, joint=number % 2 == 1) for number in range(4)]


def stays(case: Case, length: float) -> int:
    """How many labels no attack within this length changes, as far as projections can tell: never fewer."""
    return case.instance.graph.n_nodes - broken(replace(case, attr_l2=length))


@pytest.mark.parametrize("number", range(4))
def test_no_way_counts_more_than_stays(number: int) -> None:
    case = cases()[number]
    budgets: dict[str, Any] = {name: value for name, value in case.budgets.items() if name != "attr_l2"}
    lengths = [round(case.attr_l2 * share, 4) for share in (0.4, 1.0)]
    truth = [stays(case, length) for length in lengths]
    session = Session(case.instance)
    for length, most in zip(lengths, truth):
        threat = cc.ThreatModel(attr_l2=length, **budgets)
        for relaxation in ("tight", "strong"):
            found = cc.certify(case.instance, threat, relaxation=relaxation)
            assert found.certified <= most, relaxation
            assert found.naive_certified <= most
        assert session.certify(threat).certified <= most
        assert session.preview(threat).certified <= most
    line = cc.curve(case.instance, vary="attr_l2", values=lengths, **budgets)
    assert (line.certified <= np.array(truth)).all()
    rest = {name: value for name, value in budgets.items() if name != "adj_del"}
    cells = cc.surface(case.instance, x="attr_l2", x_values=lengths, y="adj_del", y_values=[case.deletions, 9], **rest)
    assert (cells.certified[:, 0] <= np.array(truth)).all()
    radius = cc.radius(case.instance, vary="attr_l2", at_least=0.5, **budgets)
    if radius.value is not None and radius.value < 5 * case.std:
        assert stays(case, float(radius.value)) >= radius.needed
    plan = defend(case.instance, cc.ThreatModel(attr_l2=lengths[0], **budgets), 1)
    assert plan.certified <= truth[0]  # nobody is protected yet


@pytest.mark.parametrize("number", range(4))
def test_pictures_count_no_more_than_stays(number: int) -> None:
    """Maps of the base certificate, fronts and the graph tell what no attack along the weights refutes."""
    case = cases()[number]
    rest = {name: value for name, value in case.budgets.items() if name != "attr_l2"} | {"adj_del": 0}
    shares = base_shares(case.instance, np.arange(case.instance.graph.n_nodes), "attr_l2", None)
    for value, count in list(zip(shares.x_values.tolist(), shares.certified[:, 0].tolist()))[1:12:5]:  # type: ignore[union-attr]
        assert count <= stays(replace(case, deletions=0), value)
    found = cc.certify(case.instance, attr_l2=case.attr_l2, **rest)
    here = reach(case.instance, found)
    assert here is not None
    most = float(case.attr_l2)
    assert np.sqrt((here.amounts[:, L2] ** 2).sum()) <= most * (1 + 1e-9)
    assert (here.received[here.lost][:, L2] >= here.needed[here.lost][:, L2]).all()


@pytest.mark.parametrize("number", range(10))
def test_shares_of_norms_count_no_more(number: int) -> None:
    """Against an attacker who can do less and whose truth is known: the smallest of all limits that are shares."""
    case = make(np.random.default_rng(number), joint=number % 2 == 1)
    rest = {"adj_del": case.deletions}
    norms = np.sqrt([float(square) for square in case.instance.scale.squared_norms])  # type: ignore[union-attr]
    share = cc.ThreatModel(attr_l2=case.attr_l2, local_attr_l2="0.3", local_mode="relative", sigma=case.sigma, **rest)
    least = replace(case, local=0.3 * float(norms.min()))
    assert cc.certify(case.instance, share, attack=False).certified <= stays(least, case.attr_l2)


def test_no_way_counts_more_under_gaussian_noise() -> None:
    """With and without edge noise, and with and without a budget for lengths; proofs are accepted by the verifier."""
    asked = [question(1, turn, LENGTHS) for turn in range(PORTION)]
    assert {bool(one.threat.attr_l2) for one in asked if one.threat.adj_del} == {True, False}
    walked = walk_lengths(1, range(PORTION), Tally())
    assert walked.counts["counts"] > 500
    assert walked.counts["equal"] > walked.counts["counts"] / 2  # a truth that is too strict would never be met
    assert {text.split(",")[0] for *_, text in walked.refused} <= {"the relaxation is 'paper'"}


def test_the_command_counts_no_more(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Through a file, where probabilities come from votes: nothing is certified that a large distance breaks."""
    from certcore.instance.instance import save_instance
    from tests.sweep.test_sweep_lengths import instance

    save_instance(tmp_path / "real.npz", instance())
    assert main(["certify", str(tmp_path / "real.npz"), "--attr-l2", "9", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["certified"] == 0
