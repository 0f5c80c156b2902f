"""Pages on votes over groups of edges: the slider of additions is live, and the controls stand beside the curve."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from streamlit.testing.v1 import AppTest

from certcore import certify, figures
from certcore.domain.threat import ThreatModel
from certcore.sweep import curve
from tests.pages.toys import division_instance

NAME = "ring-division-s0"


def said(at: AppTest) -> str:
    return " ".join(str(one.value) for one in (*at.markdown, *at.caption, *at.warning, *at.info))


def test_additions_are_live_and_the_papers_relaxation_is_not_offered(open_page: Callable[..., AppTest]) -> None:
    at = open_page("overview", instance=NAME, relaxation="paper")
    assert not at.exception
    assert at.session_state["adj_add"] == 10
    assert at.session_state["relaxation"] == "tight"
    assert "edge additions" in said(at)
    assert "changed before training" in said(at)


def test_the_base_page_explains_groups_votes_and_abstentions(open_page: Callable[..., AppTest]) -> None:
    at = open_page("base", instance=NAME)
    assert not at.exception
    assert "one of 3 groups" in said(at)
    assert "abstains" in said(at)
    assert {"How the groups voted", "Votes that must change"} <= {one.value for one in at.subheader}


def test_controls_are_drawn_across_accuracies_of_edge_attacks_only() -> None:
    instance = division_instance()
    targets = instance.select_targets("correct:test")
    threat = ThreatModel(targets=targets)
    test = len(instance.select_targets("test"))
    beside = figures.controls_beside(instance, threat, "adj_add", test)
    assert beside == {"MLP without edges": 0.4}
    for other, vary, of in (
        (threat, "adj_add", None),
        (threat, "adj_add", test - 1),
        (threat, "attr_del", test),
        (threat.replace(attr_del=1), "adj_add", test),
    ):
        assert figures.controls_beside(instance, other, vary, of) == {}
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
    assert "at every budget for free" in said(at)
    at = open_page("curves", instance=NAME, vary="adj_add", to=5, adj_add=3)
    assert not at.session_state["right"], "a link that names a budget stays what it was"
    assert any("ignore edges" in one.label for one in at.button)
    assert "only in certified accuracy" in said(at)


def test_compare_tells_the_count_at_the_budget_of_the_sidebar(open_page: Callable[..., AppTest]) -> None:
    """Not that of a smaller budget: finer curves begin at 0."""
    at = open_page("compare", instance=NAME, adj_add=3)
    assert not at.exception
    certified = certify(division_instance(), ThreatModel(adj_add=3)).certified
    table = at.dataframe[0].value
    told = next(str(value) for value in table.iloc[0] if " of " in str(value))
    assert f"({certified} of 30)" in told
    assert certified < 30
