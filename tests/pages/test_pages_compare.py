"""Compare: what is drawn, what is left out and why, and the numbers beside the lines."""

from __future__ import annotations

import dataclasses
import html
import re
from collections.abc import Callable
from pathlib import Path

import pytest
from streamlit.testing.v1 import AppTest

from certcore import ThreatModel, certify, figures
from certcore.common.rounding import share_down
from certcore.instance.instance import save_instance
from pages.files import bundles
from tests.pages.conftest import settle
from tests.pages.toys import N, grid_instance

Open = Callable[..., AppTest]
NOW, CHANGED = "certified at the current budget", "changed there by an attack found"
BESIDE = {"with": "ring-gcn-attr-s1"}


def lines(at: AppTest) -> set[str]:
    """The names of the lines."""
    return {name for name, *_ in named(at)}


def named(at: AppTest) -> list[list[str]]:
    """The names at the ends of the lines, each with its rows of numbers."""
    (told,) = (one.proto.body for one in at.get("html") if "class=ends" in one.proto.body)
    found = re.findall(r"<b[^>]*>(.*?)</b>(.*?)</p>", told)
    return [[html.unescape(name), *re.findall(r"<small>(.*?)</small>", rows)] for name, rows in found]


def test_an_edge_model_does_not_change_what_is_varied(open_page: Open) -> None:
    at = open_page("compare", instance="ring-gcn-attr-s0", attr_del="3", cmp_to="5")
    settle(at.multiselect(key="with").set_value(["ring-gcn-attr-s1", "ring-edges-s0"]))
    assert at.selectbox(key="cmp_vary").value == "attr_del"
    assert len(at.dataframe[0].value) == 2, "no line at a budget that its base certificate does not cover"
    said = next(box.value for box in at.info if "ring-edges-s0" in box.value.replace("\\", ""))
    assert "attribute deletions" in said


def test_a_budget_of_the_sidebar_leaves_out_who_does_not_cover_it(open_page: Open) -> None:
    given = {"instance": "ring-all-s0", "adj_del": "2", "with": "ring-edges-s0", "cmp_vary": "adj_del", "cmp_to": "5"}
    at = open_page("compare", **given)
    assert len(at.dataframe[0].value) == 2
    at = open_page("compare", attr_del="1", **given)
    assert len(at.dataframe[0].value) == 1
    assert any("ring-edges-s0" in box.value.replace("\\", "") for box in at.info)


def test_another_instance_that_changes_what_is_varied_says_so(open_page: Open) -> None:
    at = open_page("compare", instance="ring-gcn-attr-s0", attr_del="3", cmp_to="5", cmp_vary="attr_del")
    settle(at.selectbox(key="instance").set_value("ring-edges-s0"))
    assert at.selectbox(key="cmp_vary").value == "adj_del"
    assert any("Edge deletions" in box.value and "attribute deletions" in box.value for box in at.info)


def test_no_word_about_radii_where_there_are_none(open_page: Open) -> None:
    given = {"instance": "ring-gcn-attr-s0", "attr_del": "3", "with": "ring-votes-s0,ring-gcn-attr-s1", "cmp_to": "5"}
    at = open_page("compare", **given)
    assert "r̄ collective" in at.dataframe[0].value.columns
    settle(at.selectbox(key="cmp_vary").set_value("sigma"))
    assert not any("r̄" in column for column in at.dataframe[0].value.columns)
    assert not any("r̄" in box.value for box in at.warning)


def test_the_table_has_the_certified_share_at_the_sliders_position(open_page: Open) -> None:
    at = open_page("compare", instance="ring-gcn-attr-s0", attr_add="1", attr_del="3", sigma="2", cmp_to="2", **BESIDE)
    threat = ThreatModel(attr_add=1, attr_del=3, sigma=2)
    for cell, seed in zip(at.dataframe[0].value[NOW], (0, 1), strict=True):
        certified = certify(grid_instance(seed=seed), threat).certified
        assert f"({certified} of {N})" in cell
    settle(at.selectbox(key="cmp_vary").set_value("sigma"))
    assert NOW in at.dataframe[0].value.columns


def test_radii_on_the_screen_are_not_rounded_up(open_page: Open, monkeypatch: pytest.MonkeyPatch) -> None:
    """The browser rounds to the nearest: it must get numbers that need no rounding."""
    at = open_page("compare", instance="ring-gcn-attr-s0", attr_del="3", cmp_to="5", **BESIDE)
    shown = at.dataframe[0].value
    for column, digits in (("r̄ naive", 2), ("r̄ collective", 2), ("gain (×)", 1)):
        assert all(value == round(value, digits) for value in shown[column])
    lines = figures.mean_lines
    monkeypatch.setattr(
        figures,
        "mean_lines",
        lambda *given: tuple(
            dataclasses.replace(line, average_radius=radius) for line, radius in zip(lines(*given), (1.999, 1.0))
        ),
    )
    at = open_page("compare", instance="ring-gcn-attr-s0", attr_del="3", cmp_to="5", **BESIDE)
    shown = at.dataframe[0].value
    assert (set(shown["r̄ collective"]), set(shown["gain (×)"])) == ({1.99}, {1.9})


def test_legends_name_what_differs(open_page: Open) -> None:
    names = ["citeseer-gcn-attr-s0", "citeseer-gat-attr-s0"]
    assert bundles.short_titles(names) == ("Citeseer · attributes · split 0", ["GCN", "GAT"])
    assert bundles.short_titles(names[:1]) == ("", ["Citeseer · GCN · attributes · split 0"])
    assert bundles.short_titles([*names, "my-own"])[1] == [bundles.title(name) for name in [*names, "my-own"]]
    assert bundles.short_titles(["citeseer-gcn-attr-s0", "cora_ml-gcn-adj-s0"])[1] == [
        "Citeseer · attributes",
        "Cora-ML · edges",
    ]
    at = open_page("compare", instance="ring-gcn-attr-s0", attr_del="3", cmp_to="5", **BESIDE)
    assert lines(at) == {"split 0", "split 1"}
    assert list(at.dataframe[0].value["instance"]) == [bundles.title(f"ring-gcn-attr-s{split}") for split in (0, 1)], (
        "the table has the whole names"
    )


def test_ends_of_lines_tell_the_verified_shares_and_lines_that_coincide(
    open_page: Open, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for split, seed in enumerate((0, 0, 3)):
        save_instance(tmp_path / f"ring-gcn-attr-s{split}.npz", grid_instance(seed=seed))
    monkeypatch.setenv("CERTCORE_BUNDLES", str(tmp_path))
    given = {"instance": "ring-gcn-attr-s0", "attr_del": "3", "with": "ring-gcn-attr-s1,ring-gcn-attr-s2"}
    at = open_page("compare", **given)
    assert at.number_input(key="cmp_to").proto.placeholder == "15", "five times the slider"
    shares = {}
    for (name, *rows), seed in zip(named(at), (0, 0, 3), strict=True):
        now, last = (certify(grid_instance(seed=seed), ThreatModel(attr_del=k)).certified for k in (3, 15))
        assert rows[0] == f"{share_down(now, N)} at 3, {share_down(last, N)} at 15"
        assert ("same line as split 0" in rows) == (name == "split 1")
        shares[name] = now
    said = next(one.value for one in at.markdown if "proven for" in one.value)
    assert said.startswith(
        "#### As much" if shares["split 0"] >= shares["split 2"] else "#### Most is proven for split 2"
    )


def test_it_opens_with_equal_numbers_of_samples(open_page: Open, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = Path(__file__).resolve().parents[2] / "precomputed"
    monkeypatch.setenv("CERTCORE_BUNDLES", str(folder))
    at = open_page("compare", instance="citeseer-gcn-attr-s0", attr_del="2", cmp_to="3")
    assert at.multiselect(key="with").value == ["citeseer-gcn-joint-s0", "citeseer-gcn-attr-s1"]
    assert not any("samples differ" in one.value for one in at.caption)
    names = bundles.on_disk()
    for name in names:
        facts = bundles.load(name).base.facts
        for other in bundles.on_equal_terms(name, [one for one in names if one != name])[:2]:
            assert bundles.load(other).base.facts.get("samples") == facts.get("samples")


def test_numbers_of_samples_that_differ_are_said_beside_the_claim(
    open_page: Open, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("CERTCORE_BUNDLES", str(Path(__file__).resolve().parents[2] / "precomputed"))
    given = {"instance": "citeseer-gcn-attr-s0", "attr_del": "2", "cmp_to": "3"}
    for other, differ in (("citeseer-gat-attr-s0", True), ("citeseer-gcn-attr-s1", False)):
        at = open_page("compare", **given, **{"with": other})
        said = next(one.value for one in at.caption if "Share of" in one.value)
        assert ("numbers of samples differ" in said) == differ
