"""Certificates in words and files."""

from __future__ import annotations

import dataclasses
import json

import numpy as np
import pytest

from certcore import InputError, ThreatModel, certify, export, load_instance, save_instance
from certcore.common.rounding import share_down
from certcore.messages import threat_words
from certcore.result.states import TargetState
from certcore.verify.proof import read_proof, verify_proof
from tests.export.instances import small_instance


@pytest.fixture(scope="module")
def instance():
    return small_instance()


@pytest.fixture(scope="module")
def certificate(instance):
    return certify(instance, ThreatModel(attr_del=4, attr_add=1))


def test_guarantee_says_the_numbers_and_the_threat(instance, certificate) -> None:
    text = export.guarantee(instance, certificate)
    assert f"{certificate.certified:,} of {certificate.targets:,}" in text
    assert f"({share_down(certificate.certified, certificate.targets)})" in text
    assert "1 attribute addition and 4 attribute deletions in the whole graph" in text


def test_guarantee_names_a_field_rule_that_may_not_be_sound(instance) -> None:
    weak = dataclasses.replace(small_instance(("adj_del",)), edge_field="messages")
    assert "overstates" in export.guarantee(weak, certify(weak, ThreatModel(adj_del=2)))
    assert "overstates" not in export.guarantee(instance, certify(instance, ThreatModel(attr_del=2)))


def test_an_exact_count_tells_what_is_proven(instance) -> None:
    exact = certify(instance, ThreatModel(attr_del=4), relaxation="exact")
    claim = dataclasses.replace(exact, certified=exact.verified_certified + 1, instance=None)
    text = export.guarantee(instance, claim)
    assert (
        text.index(f"{claim.verified_certified:,} of")
        < text.index(f"{claim.certified:,} (")
        < text.index("solver's claim")
    )


@pytest.mark.parametrize(
    ("threat", "words"),
    [
        (ThreatModel(), "no budget"),
        (ThreatModel(adj_del=1200), "1,200 edge deletions in the whole graph"),
        (ThreatModel(attr_del=3, local_attr_del=2), "no more than 2 attribute deletions at any one node"),
        (ThreatModel(attr_del=3, local_attr_del="0.25", local_mode="relative"), "0.25 × the ones it has"),
        (ThreatModel(attr_del=3, sigma=0), "control of no node"),
        (ThreatModel(attr_del=3, sigma=1), "control of at most 1 node"),
        (ThreatModel(attr_del=3, protected=(4, 5)), "no access to 2 protected nodes"),
    ],
)
def test_threats_in_words(threat: ThreatModel, words: str) -> None:
    assert words in threat_words(threat)


def test_proof_is_accepted_with_the_saved_instance(instance, certificate, tmp_path) -> None:
    (tmp_path / "proof.json").write_bytes(export.proof(certificate))
    save_instance(tmp_path / "instance.npz", instance)
    verdict = verify_proof(read_proof(tmp_path / "proof.json"), load_instance(tmp_path / "instance.npz"))
    assert verdict.accepted
    assert verdict.certified == certificate.certified


def test_without_a_proof_there_is_a_clear_word(instance) -> None:
    bare = certify(instance, ThreatModel(attr_del=1), proof=False)
    with pytest.raises(InputError, match="no proof"):
        export.proof(bare)


def test_provenance_has_what_another_person_needs(instance, certificate) -> None:
    facts = json.loads(json.dumps(export.provenance(instance, certificate, "x.npz")))
    assert facts["instance_digest"] == instance.digest
    assert facts["certificate"]["threat"]["attr_del"] == 4
    assert facts["meta"]["seed"] == 7
    assert {"certcore", "python", "numpy", "highspy"} <= set(facts["versions"])


def test_allocation_lists_what_the_attack_spends(instance, certificate) -> None:
    table = export.allocation(instance, certificate)
    rows = [dict(zip(table.columns, row)) for row in table.rows]
    for key, spent in (("spent_attr_add", 0), ("spent_attr_del", 1)):
        assert sum(row.get(key, 0) for row in rows) == certificate.attack.totals[spent]
    before = (certificate.states(instance.base.fronts()) == TargetState.BEFORE).sum()
    assert [row["state"] for row in rows].count(TargetState.LOST) + before == certificate.attack_found
    assert all((row["hit"] == "yes") == any(row.get(f"spent_{k}") for k in ("attr_add", "attr_del")) for row in rows)
    spent = [sum(v for k, v in row.items() if k.startswith("spent")) for row in rows]
    assert spent == sorted(spent, reverse=True)
    with pytest.raises(InputError, match="no attack"):
        export.allocation(instance, certify(instance, ThreatModel(attr_del=1), attack=False))


def test_graph_figure_shows_the_replayed_attack(certificate, instance) -> None:
    from certcore import figures

    figure = figures.graph_figure(instance, certificate)
    states = np.array(figure.groups)[figure.state]
    zero = ~instance.base.fronts().certified((0, 0, 0, 0))
    assert (states == TargetState.LOST).sum() + zero[certificate.target_nodes].sum() == certificate.attack_found
    assert (states[zero & np.isin(np.arange(len(zero)), certificate.target_nodes)] == TargetState.BEFORE).all()
    assert (states[np.setdiff1d(np.arange(len(zero)), certificate.target_nodes)] == TargetState.NOT_A_TARGET).all()
    by_class = figures.graph_figure(instance, certificate, palette="class")
    assert by_class.groups == instance.class_names
    deleted = small_instance(("adj_del",))
    cut = certify(deleted, ThreatModel(adj_del=3, sigma=2))
    picture = figures.graph_figure(deleted, cut)
    assert len(picture.deleted) == cut.attack.totals[3]
    assert set(picture.attackers.tolist()) == set(np.flatnonzero(cut.attack.attackers > 0).tolist())
    relaxed = figures.graph_figure(deleted, cut, relaxed=True)
    assert relaxed.amount.sum() == pytest.approx(cut.fractional.deleted.sum())


def test_bibtex_cites_the_paper_and_this_version() -> None:
    from certcore import __version__

    text = export.bibtex()
    assert "schuchardt2021collective" in text
    assert f"version = {{{__version__}}}" in text
    assert text.count("{") == text.count("}")
    assert "bojchevski2020" not in export.bibtex(smoothing=False)
