"""All nodes: the table says of every label what the certificate and its attack say."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest
from streamlit.testing.v1 import AppTest

from certcore import ThreatModel, certify
from certcore.result.attack_effects import margins
from certcore.result.states import TargetState
from pages.parts import frames, nodes
from tests.pages.toys import ballots_instance, grid_instance


@pytest.mark.parametrize("instance", [grid_instance(), ballots_instance()], ids=["grid", "ballots"])
def test_every_row_is_what_the_certificate_says(instance) -> None:
    threat = ThreatModel(attr_del=4, targets=np.arange(5, 35))
    result = certify(instance, threat)
    rows = nodes.table(instance, result)
    assert rows["node"].tolist() == list(range(5, 35))
    assert (rows["naive"] == "certified").sum() == result.naive_certified
    states = result.states(instance.base.fronts())[rows["node"]]
    assert rows["what happens"].tolist() == [str(state) for state in states]
    gone = rows["what happens"].isin([str(TargetState.LOST), str(TargetState.BEFORE)])
    assert gone.sum() == result.attack_found
    away = margins(instance, result)[rows["node"]]
    assert rows["further flips"].isna().tolist() == (away < 0).tolist()
    assert rows["further flips"].dropna().tolist() == away[away >= 0].tolist()
    lost = rows[rows["what happens"] == str(TargetState.LOST)]
    if "attr_del" in instance.base.axes and len(lost):
        assert (lost["received attr −"] >= lost["needed attr −"]).all()
    assert len(frames.csv(rows).decode().splitlines()) == 31


def test_the_page_shows_the_table_and_says_how_many_are_nearly_lost(open_page: Callable[..., AppTest]) -> None:
    at = open_page("base", instance="ring-gcn-attr-s0", attr_del="5")
    assert at.title[0].value == "All nodes"
    rows = nodes.table(grid_instance(), certify(grid_instance(), ThreatModel(attr_del=5)))
    assert at.dataframe[0].value["further flips"].tolist() == rows["further flips"].tolist()
    near = int((rows["further flips"] == 1).sum())
    assert near == 2
    assert any(f"{near} are one flip away" in caption.value for caption in at.caption)
    assert any(button.label == "Download as CSV" for button in at.download_button)
