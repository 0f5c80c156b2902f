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
