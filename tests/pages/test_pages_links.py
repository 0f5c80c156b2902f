"""Links that ask for what is not here: no other graph in its place, and nothing is ignored in silence."""

from __future__ import annotations

import base64
import re
import zlib
from collections.abc import Callable
from pathlib import Path
from urllib.parse import quote

import numpy as np
import pytest
from streamlit.testing.v1 import AppTest

from certcore import ThreatModel, certify
from certcore.common import packing
from certcore.domain import parameters
from certcore.domain.parameters import LONGEST, only_with
from pages.files import bundles
from pages.state import state
from pages.state.menu import MENU
from tests.pages.conftest import settle
from tests.pages.toys import N, grid_instance

Open = Callable[..., AppTest]


def parameter(at: AppTest, key: str) -> str | None:
    value = at.query_params.get(key)
    return value[0] if isinstance(value, list) else value


def ignored(at: AppTest) -> set[str]:
    """The parameters of the link that the page names to the visitor."""
    notes: dict[str, str] = at.session_state["_link"].notes
    told = " ".join(box.value for box in at.warning).replace("\\", "")
    assert all(note in told for note in notes.values()), "what is known to be ignored is also told"
    return set(notes)


@pytest.mark.parametrize(
    ("page", "name"),
    [(entry.slug, "citeseer-gat-attr-s9") for entry in MENU]
    + [("overview", "import-0123456789abcdef-mine"), ("overview", "../../etc/passwd")],
)
def test_an_instance_that_is_not_here_is_not_replaced_by_another(open_page: Open, page: str, name: str) -> None:
    at = open_page(page, instance=name, attr_del="4")
    assert len(at.error) == 1
    assert name in at.error[0].value.replace("\\", "")
    assert not at.metric
    assert not at.get("plotly_chart")
    assert not at.dataframe
    assert not any(re.search(r"\d[^.]{0,20} labels", block.value) for block in at.markdown)
    assert at.selectbox(key="instance").value is None
    assert parameter(at, "instance") == name, "a reload says it again"


@pytest.mark.parametrize("box", ["instance", "_other"])
def test_another_instance_can_be_chosen_and_the_rest_of_the_link_counts(open_page: Open, box: str) -> None:
    at = open_page(instance="not-here", attr_del="4")
    settle(at.selectbox(key=box).set_value("ring-gcn-attr-s1"))
    assert not at.error
    expected = certify(grid_instance(seed=1), ThreatModel(attr_del=4))
    assert any(f"**{expected.certified} of {N}**" in block.value for block in at.markdown)
    assert parameter(at, "instance") == "ring-gcn-attr-s1"


def test_an_instance_that_disappears_is_not_replaced_by_another(
    open_page: Open, tmp_path: Path, bundle_folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("ring-gcn-attr-s0", "ring-gcn-attr-s1"):
        (tmp_path / f"{name}.npz").write_bytes((bundle_folder / f"{name}.npz").read_bytes())
    monkeypatch.setenv("CERTCORE_BUNDLES", str(tmp_path))
    at = open_page(instance="ring-gcn-attr-s1", attr_del="4")
    bundles.path_of("ring-gcn-attr-s1").unlink()
    settle(at)
    assert "ring-gcn-attr-s1" in at.error[0].value.replace("\\", "")
    assert not at.metric


def test_a_damaged_instance_is_not_called_missing(open_page: Open, tmp_path: Path, monkeypatch: object) -> None:
    monkeypatch.setenv("CERTCORE_BUNDLES", str(tmp_path))  # type: ignore[attr-defined]
    (tmp_path / "broken-s0.npz").write_bytes(b"PK nothing")
    at = open_page(instance="broken-s0")
    assert not at.metric
    assert "broken-s0" in (*at.error, *at.info)[0].value.replace("\\", "")


@pytest.mark.parametrize(
    ("given", "lost"),
    [
        ({"local_attr_del": "3"}, {"local_attr_del"}),
        ({"share_attr_del": "0.5"}, {"share_attr_del"}),
        ({"local_mode": "relative", "local_attr_del": "3", "share_attr_del": "0.5"}, {"local_attr_del"}),
        ({"local_mode": "absolute", "local_attr_del": "3"}, set()),
        ({"class": "1"}, {"class"}),
        ({"targets": "class", "class": "1"}, set()),
        ({"targets": "class", "class": "77"}, {"class"}),
        ({"nodes": "1-3"}, {"nodes"}),
        ({"time_limit": "5"}, {"time_limit"}),
        ({"time_limit": "5", "strengthen": "1"}, set()),
        ({"time_limit": "5", "strengthen": "1", "relaxation": "paper"}, {"time_limit", "strengthen"}),
        ({"base_rule": "multiclass"}, {"base_rule"}),
        ({"share_attr_del": "150"}, {"share_attr_del"}),
        ({"time_limit": "0"}, {"time_limit"}),
        ({"attr_add": "99999999"}, {"attr_add"}),
        ({"vary": "attr_del"}, {"vary"}),
        ({"attr_dell": "4"}, {"attr_dell"}),
    ],
)
def test_what_a_link_asks_for_counts_or_is_named(open_page: Open, given: dict[str, str], lost: set[str]) -> None:
    at = open_page(instance="ring-gcn-attr-s0", attr_del="4", **given)
    assert ignored(at) == lost
    for key in given:
        if key in lost:
            assert parameter(at, key) in (None, "0"), "it is not in the address any more"
        else:
            assert parameter(at, key) == given[key]


def test_more_than_the_base_certificate_was_made_for_is_named(open_page: Open) -> None:
    at = open_page(instance="ring-gcn-convex-s0", attr_add="4", local_mode="absolute", local_attr_add="9")
    assert ignored(at) == {"local_attr_add"}
    assert parameter(at, "local_attr_add") == "2"


@pytest.mark.parametrize(
    ("page", "given"),
    [
        ("curves", {"vary": "nothing"}),
        ("curves", {"family": "x"}),
        ("contours", {"x": "adj_del"}),
        ("base", {"bx": "adj_del"}),
        ("node", {"node": "4000"}),
        ("compare", {"cmp_vary": "nothing"}),
        ("compare", {"with": "ring-gcn-attr-s1,not-here"}),
    ],
)
def test_what_a_link_asks_of_one_page_counts_or_is_named(open_page: Open, page: str, given: dict[str, str]) -> None:
    at = open_page(page, instance="ring-gcn-attr-s0", attr_del="4", **given)
    assert ignored(at) == set(given)
    assert all(parameter(at, key) != value for key, value in given.items())


@pytest.mark.parametrize(
    ("page", "given", "instead"),
    [
        ("the_paper", {}, "python -m experiments table"),
        ("bring", {"way": "train"}, "certcore.smooth"),
        ("overview", {"beside": '{"attr_del":2}'}, "second tab"),
    ],
)
def test_a_link_to_what_is_gone_says_what_to_use_instead(
    open_page: Open, page: str, given: dict[str, str], instead: str
) -> None:
    at = open_page(page, instance="ring-gcn-attr-s0", attr_del="4", **given)
    assert instead in " ".join(box.value for box in (*at.info, *at.warning)).replace("\\", "")


def test_the_guided_story_opens_what_there_is_to_learn(open_page: Open) -> None:
    at = open_page("method", instance="ring-gcn-attr-s0", attr_del="4")
    assert at.title[0].value == "Learn"
    assert not at.info
    assert "Not which labels stay" in " ".join(block.value for block in at.markdown)


def test_the_note_goes_when_the_visitor_moves_on(open_page: Open) -> None:
    at = open_page(instance="ring-gcn-attr-s0", attr_del="4", local_attr_del="3")
    assert ignored(at) == {"local_attr_del"}
    settle(at)
    assert ignored(at) == {"local_attr_del"}, "it does not vanish by itself"
    settle(at.number_input(key="attr_del").set_value(5))
    assert not ignored(at)
    assert not at.warning


def test_what_is_hidden_is_kept_but_in_no_link(open_page: Open) -> None:
    at = open_page(instance="ring-gcn-attr-s0", attr_del="4", local_mode="absolute", local_attr_del="1")
    settle(at.segmented_control(key="_mode_attr_del").set_value("off"))
    assert parameter(at, "local_attr_del") is None
    settle(at.segmented_control(key="_mode_attr_del").set_value("absolute"))
    assert at.number_input(key="local_attr_del").value == 1
    assert parameter(at, "local_attr_del") == "1"


def test_every_setting_that_depends_on_another_is_in_the_list() -> None:
    limits = [key for key in state.SHARED if key.startswith(("local_", "share_")) and key != "local_mode"]
    assert all(only_with(key) for key in limits)


def test_a_selection_of_any_length_fits_into_a_link_and_comes_back() -> None:
    rng = np.random.default_rng(0)
    for n, share in ((2_810, 0.5), (19_717, 0.5), (100_000, 0.5), (100_000, 0.01)):
        chosen = np.flatnonzero(rng.random(n) < share)
        told = state.write_nodes(chosen)
        assert len(told) > 4000
        link = state.packed_nodes(told)
        assert len(link) <= LONGEST
        assert quote(link) == link, "an address takes it as it is"
        assert state.node_text(link) == told
    assert state.packed_nodes("1,3,7-9") == "1,3,7-9", "people read short ones"
    assert state.packed_nodes("x, " * 100) == "x, " * 100


def test_a_link_with_packed_nodes_opens_what_it_says(open_page: Open, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(parameters, "LONG", 5)
    nodes = "1,3,4,7,9,14,16,17,22,23"
    threat = ThreatModel(attr_del=4, protected=state.parse_nodes(nodes, N))
    given = {"protect": nodes, "marked": nodes}
    at = open_page("attack_map", instance="ring-gcn-attr-s0", attr_del="4", **given)
    link = {key: parameter(at, key) or "" for key in given}
    assert link["protect"] == link["marked"] == packing.pack(threat.protected)
    again = open_page("attack_map", instance="ring-gcn-attr-s0", attr_del="4", **link)
    for one in (at, again):
        assert not ignored(one)
        assert [one.session_state[key] for key in given] == list(given.values())
        expected = certify(grid_instance(), threat)
        assert any(f"**{expected.certified} of {N}**" in block.value for block in one.markdown)


@pytest.mark.parametrize("forged", ["~", "~!!!", "~AAAA", "~é", "~" + "A" * 30_000, "bomb", "cut", "outside", "4000"])
def test_forged_selections_are_told_in_one_sentence(open_page: Open, forged: str) -> None:
    """Nothing that is not a selection of this graph's nodes is drawn, unpacked beyond its bound or a traceback."""
    bomb = base64.urlsafe_b64encode(zlib.compress(b"\xff" * 10**7, 9)).decode().rstrip("=")
    made = {"bomb": f"~{bomb}", "cut": packing.pack(np.arange(0, 40, 2))[:-4], "outside": packing.pack(np.array([N]))}
    text = made.get(forged, forged)
    at = open_page("attack_map", instance="ring-gcn-attr-s0", attr_del="4", marked=text)
    assert ignored(at) == {"marked"}
    assert not at.exception
