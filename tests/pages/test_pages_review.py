"""Details that a first look at the pages found wanting: each of these was wrong or missing once."""

from __future__ import annotations

import json
import subprocess
import sys
import types
from collections.abc import Callable
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
import streamlit as st
from hypothesis import given, strategies
from streamlit.testing.v1 import AppTest

from certcore import figures
from certcore.domain.perturbations import TYPES
from certcore.instance.instance import Instance, save_instance
from certcore.sweep import Session
from certcore.sweep.session import Sessions
from pages.background import engine, sweeps
from pages.files import bundles
from pages.parts import pictures
from pages.start import serve
from tests.pages.conftest import drawer, settle
from tests.pages.toys import grid_instance

Open = Callable[..., AppTest]


def chart(at: AppTest, number: int = 0) -> dict[str, object]:
    spec: dict[str, object] = json.loads(at.get("plotly_chart")[number].proto.spec)
    return spec


def test_names_of_bundles_are_words() -> None:
    assert bundles.title("citeseer-gcn-attr-s0") == "Citeseer · GCN · attributes · split 0"
    assert bundles.title("cora_ml-gcn_mean-joint-s12") == "Cora-ML · GCN (mean) · joint · split 12"
    assert bundles.title("my-own-thing") == "my-own-thing"
    assert bundles.title("import-0123456789abcdef-mine") == "mine (imported)"


def test_legends_stand_at_the_bottom_and_ticks_are_whole() -> None:
    line = figures.Line(values=[0, 1, 2], ratio=[1, 0.5, 0])
    screen = figures.CurveFigure(lines=(line,)).plotly()
    assert screen.layout.legend.yref == "container"
    assert screen.layout.legend.y == 0
    front = pictures.front(np.eye(2) * 2, None, [9, 9], ("attr_add", "attr_del"), dark=False)
    assert screen.layout.xaxis.dtick == front.layout.xaxis.dtick == front.layout.yaxis.dtick == 1


@given(strategies.sets(strategies.tuples(strategies.integers(0, 6), strategies.integers(0, 6)), max_size=5))
def test_the_outline_of_a_front_encloses_exactly_the_certified_budgets(points: set[tuple[int, int]]) -> None:
    minimal = [p for p in points if not any(q != p and q[0] <= p[0] and q[1] <= p[1] for q in points)]
    axes = ("attr_add", "attr_del")
    outline = pictures.front(np.array(minimal, dtype=float).reshape(-1, 2), None, [99, 99], axes, dark=False).data[0]
    path = list(zip(outline.x, outline.y))[1:-2]
    ends = [max([1, *(point[k] for point in minimal)]) + 2 for k in range(2)]  # what is drawn
    for x in range(ends[0]):
        column = [y for (a, y), (b, _) in pairwise(path) if a <= x < b]
        height = column[-1] if column else path[-1][1]
        for y in range(ends[1]):
            assert (y < height) == (not any(p[0] <= x and p[1] <= y for p in points))


def test_a_front_is_cut_at_what_the_node_receives() -> None:
    fronts = np.zeros((4, len(TYPES)), dtype=int)
    fronts[:, :4] = [[1, 0, 0, 0], [0, 3, 0, 0], [0, 1, 0, 2], [0, 4, 0, 0]]
    base = types.SimpleNamespace(fronts=lambda: types.SimpleNamespace(of_node=lambda node: fronts))
    instance: Any = types.SimpleNamespace(base=base, scale=None)
    rest = (0,) * (len(TYPES) - 4)
    here, got = pictures.front_points(instance, 0, ("attr_add", "attr_del"), (0, 1, 0, 1, *rest))
    assert here.tolist() == [[0, 3], [1, 0]]
    assert got is not None
    assert not (here <= got).all(axis=1).any()
    more, got = pictures.front_points(instance, 0, ("attr_add", "attr_del"), (0, 1, 0, 2, *rest))
    assert more.tolist() == [[0, 1], [1, 0]]
    assert (more <= got).all(axis=1).any()


def test_every_integer_ends_where_nothing_is_certified(open_page: Open) -> None:
    at = open_page("curves", instance="ring-gcn-attr-s0", attr_del="4", every="1")
    lines = chart(at)["data"]
    assert isinstance(lines, list)
    assert any("r̄ = " in str(line.get("name")) for line in lines)
    assert sweeps.values_to(None, True, grid_instance(), "attr_del") is None
    attackers = sweeps.values_to(None, True, grid_instance(), "sigma")
    assert attackers is not None
    assert attackers[:20] == list(range(20)), "few values are all there"
    assert attackers[-1] == 40
    assert sweeps.values_to(3, True, grid_instance(), "attr_del") == [0, 1, 2, 3]


def test_compare_begins_with_what_can_be_compared(open_page: Open) -> None:
    at = open_page("compare", instance="ring-gcn-attr-s0", attr_del="3", cmp_to="5")
    assert at.multiselect(key="with").value == ["ring-all-s0", "ring-ballots-s0"], "other models come first"
    settle(at.multiselect(key="with").set_value(["ring-gcn-attr-s1"]))
    table: pd.DataFrame = at.dataframe[0].value
    assert table["r̄ collective"].notna().all(), "r̄ does not depend on the part of the axis that is drawn"
    assert (table["r̄ collective"] >= table["r̄ naive"]).all()
    settle(at.multiselect(key="with").set_value(["ring-votes-s0"]))
    assert "samples" in at.dataframe[0].value.columns


def test_check_without_a_file(open_page: Open) -> None:
    at = open_page("check", instance="ring-gcn-attr-s0", attr_del="4")
    settle(next(b for b in at.button if b.label == "Check the present view").click())
    assert "Accepted" in at.success[0].value


@pytest.mark.parametrize(("budget", "warned"), [({"attr_del": "3"}, False), ({"attr_del": "3", "adj_del": "1"}, True)])
def test_the_edge_rule_is_doubted_only_where_edges_go(
    open_page: Open, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, budget: dict[str, str], warned: bool
) -> None:
    save_instance(tmp_path / "rule-s0.npz", grid_instance(("attr_del", "adj_del"), edge_field="messages"))
    monkeypatch.setenv("CERTCORE_BUNDLES", str(tmp_path))
    at = open_page(instance="rule-s0", **budget)
    assert any("messages" in box.value for box in at.warning) == warned


def test_protection_shows_what_it_is_worth(open_page: Open) -> None:
    at = drawer(open_page("attack_map", instance="ring-gcn-attr-s0", attr_del="4", protect="0-39"), "all")
    gain = next(metric for metric in at.metric if metric.label == "Certified with this protection")
    assert gain.delta is not None
    assert int(gain.delta) > 0
    before = int(gain.value.split()[0]) - int(gain.delta)
    at = open_page("attack_map", instance="ring-gcn-attr-s0", attr_del="4")
    assert any(f"**{before} of 40**" in block.value for block in at.markdown)


def test_chosen_targets_are_in_the_view(open_page: Open, monkeypatch: pytest.MonkeyPatch) -> None:
    seen: list[str] = []
    build = figures.curve_figure
    monkeypatch.setattr(figures, "curve_figure", lambda *a, **k: seen.append(k["command"]) or build(*a, **k))
    open_page("curves", instance="ring-gcn-attr-s0", attr_del="4", to="5", targets="chosen", nodes="3,5-6")
    assert seen
    assert all("--targets 3,5,6" in command or "--targets 3,5-6" in command for command in seen), seen


def test_the_first_page_is_prepared(monkeypatch: pytest.MonkeyPatch) -> None:
    st.cache_resource.clear()  # as on a fresh server: sessions and instances of other tests are kept apart
    monkeypatch.setattr(engine.SHELF, "sessions", Sessions())
    solved: list[tuple[Instance, int]] = []
    monkeypatch.setattr(
        Session, "certify", lambda self, threat, **more: solved.append((self.instance, threat.attr_del))
    )
    serve.prepare()
    assert [budget for _, budget in solved] == [10]
    assert solved[0][0] is bundles.load(bundles.first(bundles.on_disk())), "the very object the pages use"


def test_everything_is_loaded_before_the_server_answers() -> None:
    """Two visitors of a server that is still importing would get half a module."""
    code = (
        "import sys; from pages.start import serve\n"
        "wanted = ('pages.explore.workbench', 'pages.frame.frame')\n"
        "class App:\n    def run(self, config): print(all(name in sys.modules for name in wanted))\n"
        "sys.argv = ['app.py']; serve.main(App())"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.split()[-1] == "True"
