"""The page "Paper": opens on the stored results, shows every claim, and says what is missing."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from certcore import Graph, GridBase, Instance, save_instance
from certcore.reproduce.claims import CLAIMS, EXTENSIONS
from certcore.reproduce.pictures import pictures
from certcore.reproduce.source import RESULTS
from certcore.reproduce.store import Results
from tests.pages.opening import at_page

ROOT = Path(__file__).resolve().parents[2]


@pytest.fixture(autouse=True)
def one_bundle(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    graph = Graph.from_edges(4, np.array([[0, 1], [1, 2], [2, 3]]), np.ones((4, 2), dtype=np.int8))
    grid = np.ones((4, 2), dtype=bool)
    save_instance(tmp_path / "line-gcn-attr-s0.npz", Instance(graph, GridBase(grid, ("attr_del",)), layers=1))
    monkeypatch.setenv("CERTCORE_BUNDLES", str(tmp_path))
    monkeypatch.setenv("CERTCORE_IMPORTS", str(tmp_path / "imported"))
    monkeypatch.chdir(ROOT)
    monkeypatch.syspath_prepend(str(ROOT))


def test_every_claim_is_on_the_page() -> None:
    at = at_page("the_paper").run(timeout=60)
    assert not at.exception
    assert at.title[0].value == "Paper"
    tables = [frame.value for frame in at.dataframe]
    assert [len(table) for table in tables] == [len(CLAIMS), len(EXTENSIONS)]
    assert sum(int(metric.value) for metric in at.metric) == len(CLAIMS)
    assert not (tables[0] == "").any().any()
    at.pills(key="paper_show").set_value(["not run"]).run(timeout=60)
    assert set(at.dataframe[0].value["Verdict"]) <= {"not run"}


def test_every_figure_of_the_results_can_be_drawn() -> None:
    drawn = pictures(Results(RESULTS))
    names = [picture.figure.name for picture in drawn]
    assert len(set(names)) == len(names), "names are keys of charts"
    for picture in drawn:
        assert picture.caption.endswith(".")
        assert "split" in picture.caption
