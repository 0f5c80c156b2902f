"""Pages on ballots: sliders of edges and new nodes are live, and the controls stand beside the curve."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from streamlit.testing.v1 import AppTest

from certcore import certify, figures, messages
from certcore.domain.perturbations import LABELS
from certcore.domain.threat import ThreatModel
from certcore.instance.instance import save_instance
from certcore.messages.text import markdown
from certcore.sweep import curve
from pages.files import bundles
from tests.pages.conftest import sent
from tests.pages.test_pages_compare import CHANGED, NOW, lines
from tests.pages.toys import ballots_instance, votes_instance

NAME = "ring-ballots-s0"


def said(at: AppTest) -> str:
    return " ".join(str(one.value) for one in (*at.markdown, *at.caption, *at.warning, *at.info))


def test_additions_are_live_and_the_papers_relaxation_is_not_offered(open_page: Callable[..., AppTest]) -> None:
    at = open_page("overview", instance=NAME, relaxation="paper")
    assert not at.exception
    assert "how" not in sent(at)["model"], "the attack is searched for, never not tried"
    assert at.session_state["adj_add"] == 10
    assert at.session_state["relaxation"] == "tight"
    threat = ThreatModel(adj_add=10)
    assert messages.threat_words(threat) in said(at)
    remarks = messages.remarks(ballots_instance(), threat)
    assert any("changed in this way before training" in str(remark) for remark in remarks)
    assert all(remark.markdown in said(at) for remark in remarks)


def test_new_nodes_have_sliders_and_a_sentence_and_others_say_where_to_go(open_page: Callable[..., AppTest]) -> None:
    at = open_page("overview", instance=NAME, inject=3, inject_edges=2)
    assert not at.exception
    assert (at.session_state["inject"], at.session_state["inject_edges"]) == (3, 2)
    found = certify(ballots_instance(), ThreatModel(inject=3, inject_edges=2))
    told = messages.guarantee(ballots_instance(), found)
    assert (
        "up to 3 new nodes with up to 2 edges each are added, with any attributes and any edges among themselves"
        in (str(told))
    )
    assert "up to 3 new nodes with up to 2 edges each" in said(at)
    at = open_page("overview", instance="ring-gcn-attr-s0", inject=3, attr_del=1)
    assert not at.exception
    assert at.session_state["inject"] == 0
    assert "says nothing about new nodes" in said(at)


def test_old_links_say_what_became_of_division_voting(open_page: Callable[..., AppTest]) -> None:
    at = open_page("overview", instance="cora-decoupled-division-s0")
    assert not at.exception
    assert any("replaced by ballots" in one.value for one in at.error)


def test_the_base_page_explains_ballots(open_page: Callable[..., AppTest]) -> None:
    at = open_page("base", instance=NAME)
    assert not at.exception
    assert messages.how_it_sums(1).markdown in said(at)
    assert {"What nodes show", "New neighbours needed"} <= {one.value for one in at.subheader}


def test_controls_are_drawn_across_accuracies_of_edge_attacks_only() -> None:
    instance = ballots_instance()
    targets = instance.select_targets("correct:test")
    threat = ThreatModel(targets=targets)
    test = len(instance.select_targets("test"))
    beside = figures.controls_for(instance, threat, "adj_add", test)
    assert beside == {"MLP without edges": 0.4}
    for other, vary, of in (
        (threat, "adj_add", None),
        (threat, "adj_add", test - 1),
        (threat, "attr_del", test),
        (threat.replace(attr_del=1), "adj_add", test),
    ):
        assert figures.controls_for(instance, other, vary, of) == {}
    line = curve(instance, threat, vary="adj_add", values=[0, 1, 5])
    figure = figures.curve_figure([line], vary="adj_add", accuracy_of=test, controls=beside)
    across = [one for one in figure.lines if one.kind == "control"]
    assert len(across) == 1
    assert np.array_equal(across[0].ratio, [0.4] * 3)
    assert figure.lines[0].ratio[0] == line.certified[0] / test
    assert "MLP without edges" in figure.description()


def test_the_curves_page_says_why_the_controls_are_there(open_page: Callable[..., AppTest]) -> None:
    at = open_page("curves", instance=NAME, vary="adj_add", to=5)
    assert not at.exception
    assert at.session_state["right"], "a first visit begins with certified accuracy"
    assert messages.why_controls().markdown in said(at)
    at = open_page("curves", instance=NAME, vary="adj_add", to=5, adj_add=3)
    assert not at.session_state["right"], "a link that names a budget stays what it was"
    assert any("ignore edges" in one.label for one in at.button)
    assert messages.why_controls().markdown not in said(at)
    assert messages.why_accuracy().markdown in said(at)


def test_compare_tells_the_count_at_the_budget_of_the_sidebar(open_page: Callable[..., AppTest]) -> None:
    """Not that of a smaller budget: finer curves begin at 0."""
    at = open_page("compare", instance=NAME, adj_add=3)
    assert not at.exception
    certified = certify(ballots_instance(), ThreatModel(adj_add=3)).certified
    table = at.dataframe[0].value
    told = next(str(value) for value in table.iloc[0] if " of " in str(value))
    assert f"({certified} of 30)" in told
    assert certified < 30


def test_compare_goes_across_base_certificates(
    open_page: Callable[..., AppTest], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Randomized smoothing beside ballots: both where both cover what is attacked, with a word on controls."""
    ballots, smoothing = ballots_instance(), votes_instance(("0", "0", "0", "0.4"))
    save_instance(tmp_path / f"{NAME}.npz", ballots)
    save_instance(tmp_path / "ring-votes-adj-s0.npz", smoothing)
    monkeypatch.setenv("CERTCORE_BUNDLES", str(tmp_path))
    both = {"instance": NAME, "with": "ring-votes-adj-s0", "cmp_to": "5"}
    at = open_page("compare", **both, cmp_vary="adj_del", adj_del="2")
    assert len([name for name in lines(at) if "marks" not in name]) == 2
    table = at.dataframe[0].value
    for told, samples, instance in zip(table[NOW], table["samples"].fillna(0), (ballots, smoothing)):
        found = certify(instance, ThreatModel(adj_del=2))
        assert told.endswith(f"({found.certified} of {found.targets})")
        assert samples == instance.base.facts.get("samples", 0)
    assert table[CHANGED].fillna("").tolist() == ["2", "not tried"], (
        "the attack on ballots is found with the certificate"
    )
    assert messages.why_accuracy().markdown in said(at)
    at = open_page("compare", **both, cmp_vary="adj_del", adj_del="2", right="1")
    assert at.dataframe[0].value["MLP without edges"].fillna(0).tolist() == [0.4, 0]
    assert messages.why_control_columns().markdown in said(at)
    at = open_page("compare", **both, cmp_vary="adj_add", adj_add="2")
    assert len(at.dataframe[0].value) == 1
    (missing,) = (one.value for one in at.info if LABELS["adj_add"] in one.value)
    assert markdown(bundles.title("ring-votes-adj-s0")) in missing, "why it has no line"
