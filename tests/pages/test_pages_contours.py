"""Contours: which two budgets a map shows first."""

from __future__ import annotations

import json
import re
from collections.abc import Callable

import pytest
from streamlit.testing.v1 import AppTest

from certcore import ThreatModel, certify
from certcore.common.rounding import share_down
from tests.pages import toys
from tests.pages.conftest import sent


@pytest.mark.parametrize(
    ("instance", "axes"),
    [
        ("ring-all-s0", ("attr_del", "adj_del")),
        ("ring-gcn-attr-s0", ("attr_add", "attr_del")),
        ("ring-edges-s0", ("adj_del", "sigma")),
    ],
)
def test_the_first_map_shows_attributes_and_edges(
    open_page: Callable[..., AppTest], instance: str, axes: tuple[str, str]
) -> None:
    at = open_page("contours", instance=instance, x_to="2", y_to="2")
    assert (at.selectbox(key="x").value, at.selectbox(key="y").value) == axes


def test_the_map_is_of_the_accuracy_where_only_right_labels_count(open_page: Callable[..., AppTest]) -> None:
    given = {"instance": "ring-gcn-attr-s0", "x_to": "2", "y_to": "2"}
    for right, label in (("0", "certified ratio"), ("1", "certified accuracy")):
        at = open_page("contours", right=right, **given)
        assert not at.exception
        assert label in at.get("plotly_chart")[0].proto.spec
        assert at.selectbox(key="show").options[0] == label.capitalize()
    assert "certified ratio" not in at.get("plotly_chart")[0].proto.spec


def test_the_large_number_is_the_certified_accuracy_where_only_right_labels_count(
    open_page: Callable[..., AppTest],
) -> None:
    instance = toys.grid_instance()
    asked, right = instance.select_targets(None), instance.select_targets("correct")
    found = certify(instance, ThreatModel(attr_del=1, targets=right))
    at = open_page("overview", instance="ring-gcn-attr-s0", attr_del="1", right="1")
    now, line = sent(at), sent(at, "shelf", "curve")
    head = "".join(piece["text"] for piece in now["head"])
    assert now["head"][1] == {"text": str(found.certified), "kind": "strong"}
    assert f"of {len(asked)} " in head, "a share of all targets, not of the right ones"
    assert share_down(found.certified, len(asked)) in head
    assert sum(now["parts"].values()) == now["asked"] == line["asked"] == len(asked)
    assert now["parts"]["wrong"] == line["wrong"] == len(asked) - len(right)
    said = " ".join(str(one.value) for one in (*at.markdown, *at.info)) + str(now["head"])
    assert "correct labels stay" in said
    assert share_down(found.certified, len(right)) not in said
    at = open_page("node", instance="ring-gcn-attr-s0", attr_del="1", right="1")
    said = " ".join(str(one.value) for one in (*at.markdown, *at.caption))
    assert f"labels correct and certified, {share_down(found.certified, len(asked))}" in said


def test_a_comparison_is_of_the_accuracy_where_only_right_labels_count(open_page: Callable[..., AppTest]) -> None:
    given = {"instance": "ring-gcn-attr-s0", "cmp_to": "2", "with": "ring-gcn-attr-s1"}
    for right, label in (("0", "certified ratio"), ("1", "certified accuracy")):
        at = open_page("compare", right=right, **given)
        assert not at.exception
        assert label in at.get("plotly_chart")[0].proto.spec
        assert any("certified accuracy" in one.value.lower() for one in at.caption) == (right == "1")
    instance = toys.grid_instance()
    certified = certify(instance, ThreatModel(attr_del=0, targets=instance.select_targets("correct"))).certified
    first = at.dataframe[0].value.iloc[0]
    share = first["certified at the current budget"]
    assert share.endswith(f"of {len(instance.select_targets(None))})"), "a share of all targets, not of the right ones"
    assert certified < len(instance.select_targets(None)), "the example has wrong labels"
    assert "r̄ collective" not in at.dataframe[0].value.columns


def test_the_hover_of_a_cell_tells_certified_naive_bound_and_best_attack(open_page: Callable[..., AppTest]) -> None:
    at = open_page("contours", instance="ring-gcn-attr-s0", x_to="2", y_to="2")
    for _ in range(20):  # attacks come after the map
        heat = json.loads(at.get("plotly_chart")[0].proto.spec)["data"][0]
        if "best attack" in heat["hovertemplate"] and "yet" not in repr(heat["customdata"]):
            break
        at.run()
    told = dict(re.findall(r"([^<>]+): %\{customdata\[(\d)\]", heat["hovertemplate"]))
    additions, deletions = 1, 2
    cell = next(one for row in heat["customdata"] for one in row if one[:2] == [additions, deletions])
    result = certify(toys.grid_instance(), ThreatModel(attr_add=additions, attr_del=deletions))
    assert cell[int(told["certified ratio (collective)"])] == f"{result.certified / toys.N:.4f}"
    assert cell[int(told["naive"])] == f"{result.naive_certified / toys.N:.4f}"
    bound = int(cell[int(told["can be left uncertified"])].split()[2])
    attack = int(cell[int(told["certificate attack leaves uncertified"])])
    assert attack <= bound == toys.N - result.certified
    assert cell[int(told["bracket"])].startswith(f"{bound - attack} ")
