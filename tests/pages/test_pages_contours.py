"""Contours: which two budgets a map shows first."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from streamlit.testing.v1 import AppTest


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
    assert "certified ratio" not in at.get("plotly_chart")[0].proto.spec


def test_a_comparison_says_that_it_counts_wrong_labels_too(open_page: Callable[..., AppTest]) -> None:
    for right in ("0", "1"):
        at = open_page("compare", instance="ring-gcn-attr-s0", cmp_to="2", right=right)
        assert any("right or wrong" in one.value for one in at.caption) == (right == "1")
