"""Every control does what it says: the view, the link and the numbers follow."""

from __future__ import annotations

import json
from collections.abc import Callable

import numpy as np
import pytest
from streamlit.testing.v1 import AppTest

from certcore import ThreatModel, certify, load_instance, messages
from certcore.domain.perturbations import LABELS
from certcore.result.attack_effects import influence, reach
from certcore.result.states import TargetState
from pages.files import bundles, examples
from pages.parts import neighbourhood
from stress.tab import GUARANTEE
from tests.pages.conftest import drawer, sent, settle
from tests.pages.toys import N, grid_instance

Open = Callable[..., AppTest]


def guaranteed(at: AppTest) -> str:
    return next(block.value for block in at.markdown if GUARANTEE.search(block.value))


@pytest.mark.parametrize("key", ["attr_add", "attr_del", "adj_add", "adj_del"])
def test_slider_and_field_show_one_budget(open_page: Open, key: str) -> None:
    at = open_page(instance="ring-all-s0", attr_add="0")
    settle(at.number_input(key=key).set_value(2))
    assert at.query_params[key] == ["2"] or at.query_params[key] == "2"
    assert sent(at, "slider", key)["value"] == 2
    assert sent(at)["at"][key] == 2
    expected = certify(grid_instance(("attr_add", "attr_del", "adj_add", "adj_del")), ThreatModel(**{key: 2}))
    assert f"**{expected.certified} of {expected.targets}**" in guaranteed(at)


def test_a_value_between_two_stops_is_kept(open_page: Open) -> None:
    at = open_page(instance="ring-gcn-attr-s0", attr_del="43")
    assert at.number_input(key="attr_del").value == 43
    told = sent(at, "slider", "attr_del")
    assert told["value"] == 43
    assert 43 in told["options"]


def test_uncovered_types_can_be_attacked_and_the_result_says_so(open_page: Open) -> None:
    """Such a flip breaks only the targets in whose field it lies: the slider works, and the number has a remark."""
    at = open_page(instance="ring-edges-s0", adj_del="2", attr_add="1")
    field = at.number_input(key="attr_add")
    assert (field.disabled, field.value) == (False, 1)
    assert str(messages.not_covered(LABELS["attr_add"])) in field.help
    instance = grid_instance(("adj_del",))
    threat = ThreatModel(adj_del=2, attr_add=1)
    expected = certify(instance, threat)
    assert 0 < expected.certified < certify(instance, ThreatModel(adj_del=2)).certified
    assert f"**{expected.certified} of {expected.targets}**" in guaranteed(at)
    (remark,) = messages.remarks(instance, threat)
    assert remark.markdown in [box.value for box in at.warning]
    settle(at.number_input(key="attr_add").set_value(0))
    assert remark.markdown not in [box.value for box in at.warning]


def test_local_budgets_absolute_and_relative(open_page: Open) -> None:
    at = open_page(instance="ring-gcn-attr-s0", attr_del="6")
    assert not [field for field in at.number_input if field.key == "local_attr_del"]
    settle(at.segmented_control(key="_mode_attr_del").set_value("absolute"))
    settle(at.number_input(key="local_attr_del").set_value(1))
    one = certify(grid_instance(), ThreatModel(attr_del=6, local_attr_del=1))
    assert f"**{one.certified} of {N}**" in guaranteed(at)
    assert messages.threat_words(one.threat) in guaranteed(at)
    settle(at.segmented_control(key="_mode_attr_add").set_value("relative"))
    settle(at.number_input(key="share_attr_del").set_value(0.34))
    third = certify(grid_instance(), ThreatModel(attr_del=6, local_attr_del="0.34", local_mode="relative"))
    assert f"**{third.certified} of {N}**" in guaranteed(at)
    settle(at.segmented_control(key="_mode_attr_del").set_value("absolute"))
    assert at.number_input(key="local_attr_del").value == 1, "a hidden control keeps its value"


def test_attackers(open_page: Open) -> None:
    at = open_page(instance="ring-gcn-attr-s0", attr_del="6")
    assert sent(at, "slider", "sigma")["value"] is None
    settle(at.number_input(key="sigma").set_value(1))
    assert sent(at, "slider", "sigma")["value"] == 1
    one = certify(grid_instance(), ThreatModel(attr_del=6, sigma=1))
    assert f"**{one.certified} of {N}**" in guaranteed(at)
    assert messages.threat_words(one.threat) in guaranteed(at)


def test_targets(open_page: Open) -> None:
    at = open_page(instance="ring-gcn-attr-s0", attr_del="3")
    settle(at.selectbox(key="targets").set_value("test"))
    assert "of 30**" in guaranteed(at)
    settle(at.selectbox(key="targets").set_value("class"))
    settle(at.selectbox(key="class").set_value(2))
    size = int((grid_instance().base.prediction == 2).sum())
    assert f"of {size}**" in guaranteed(at)
    settle(at.selectbox(key="targets").set_value("chosen"))
    assert at.warning
    assert not at.metric
    settle(at.text_input(key="nodes").set_value("1, 4-6"))
    assert "of 4**" in guaranteed(at)
    settle(at.text_input(key="nodes").set_value("99"))
    assert "names no node" in at.warning[0].value


def test_relaxation_limit_rule_and_protection(open_page: Open) -> None:
    at = open_page(instance="ring-votes-s0", attr_add="1", attr_del="3")
    settle(at.segmented_control(key="relaxation").set_value("paper"))
    assert any(caption.value.startswith("Paper, answered in") for caption in at.caption)
    settle(at.segmented_control(key="relaxation").set_value("tight"))
    before = guaranteed(at)
    settle(at.segmented_control(key="base_rule").set_value("multiclass"))
    assert at.query_params["base_rule"] in ("multiclass", ["multiclass"])
    settle(at.segmented_control(key="base_rule").set_value("binary"))
    assert guaranteed(at) == before
    settle(at.text_input(key="protect").set_value("0-38"))
    assert messages.threat_words(ThreatModel(attr_add=1, attr_del=3, protected=np.arange(39))) in guaranteed(at)
    settle(at.text_input(key="protect").set_value("0-39"))
    assert guaranteed(at).startswith("**Without any attack**")


def test_reset_and_change_of_instance(open_page: Open) -> None:
    at = open_page(
        instance="ring-gcn-attr-s0", attr_add="2", attr_del="7", sigma="3", relaxation="paper", targets="test"
    )
    settle(next(b for b in at.button if b.label == "Reset").click())
    assert at.number_input(key="attr_del").value == 10
    assert at.number_input(key="attr_add").value == 0
    assert at.number_input(key="sigma").value is None
    assert at.segmented_control(key="relaxation").value == "tight"
    settle(at.selectbox(key="instance").set_value("ring-edges-s0"))
    assert at.number_input(key="adj_del").value == 10


def test_report(open_page: Open) -> None:
    at = drawer(open_page(instance="ring-gcn-attr-s0", attr_del="2"), "proven")
    settle(next(b for b in at.button if b.label == "Prepare a report").click(), patience=120)
    assert any(b.label == "Download the report (zip)" for b in at.download_button)


def test_curves(open_page: Open) -> None:
    at = open_page("curves", instance="ring-gcn-attr-s0", attr_del="4", to="9")
    assert at.selectbox(key="vary").value == "attr_del"
    assert at.get("plotly_chart")
    settle(at.selectbox(key="family").set_value("local"))
    settle(at.text_input(key="members").set_value("1, 2"))
    for key in ("paper", "log", "every", "splits"):
        settle(at.toggle(key=key).set_value(True))
        assert at.query_params[key] in ("1", ["1"])
    settle(at.selectbox(key="family").set_value("sigma"))
    settle(at.selectbox(key="vary").set_value("sigma"))
    settle(at.number_input(key="to").set_value(5))
    settle(at.selectbox(key="vary").set_value("attr_del"))
    settle(at.number_input(key="share").set_value(50))
    settle(next(b for b in at.button if b.label == "Find the largest budget").click())
    assert "up to" in at.success[0].value
    settle(at.text_input(key="members").set_value("x"))
    assert "names no node" in at.warning[0].value or "Members" in at.warning[0].value


def test_contours(open_page: Open) -> None:
    at = open_page("contours", instance="ring-gcn-attr-s0", attr_add="1", attr_del="4", x_to="3", y_to="6")
    assert (at.selectbox(key="x").value, at.selectbox(key="y").value) == ("attr_add", "attr_del")
    settle(at.selectbox(key="show").set_value("naive"))
    settle(at.selectbox(key="show").set_value("paper"))
    settle(at.multiselect(key="levels").set_value(["0.3", "0.9"]))
    settle(at.selectbox(key="show").set_value("bracket"))
    assert "bracket: proven bound" in at.get("plotly_chart")[0].proto.spec
    settle(at.selectbox(key="y").set_value("sigma"))
    settle(at.number_input(key="y_to").set_value(4))
    settle(at.number_input(key="x_to").set_value(2))
    assert at.get("plotly_chart")


def test_the_node_page_says_what_is_spent_where(open_page: Open) -> None:
    """Flips at the node itself, what it receives and from where with amounts, and whom it helps to break."""
    instance = grid_instance()
    result = certify(instance, ThreatModel(attr_del=6))
    spent = result.attack.attributes[1]
    node = int(spent.argmax())
    found = influence(instance, result, node)
    assert found is not None
    assert found.hit
    at = open_page("node", instance="ring-gcn-attr-s0", attr_del="6", node=str(node))
    text = next(block.value for block in at.markdown if "Received" in block.value)
    for told in messages.node_words(found, lambda other: f"paper {other}"):
        assert told.markdown in text
    assert f"**Hit**: spent at this node {spent[node]} attribute deletion" in text
    marks = next(caption.value for caption in at.caption if "nodes in the field" in caption.value)
    assert "disc with a number" in marks, "it is hit itself"
    lost = neighbourhood.marks_of(instance, result).states == TargetState.LOST
    near = neighbourhood.around(instance, node, spent).nodes
    assert ("■" in marks) == lost[near].any()


def test_the_star_is_described_for_nodes_that_are_not_targets(open_page: Open) -> None:
    """What lies in the field of a node is known for every node, so its star is drawn whether it is a target or not."""
    at = open_page("node", instance="ring-gcn-attr-s0", attr_del="6", targets="test", node="3")
    assert any("Not a target" in block.value for block in at.markdown)
    spec = json.loads(at.get("plotly_chart")[0].proto.spec)
    drawn = any("received" in (trace.get("name") or "") for trace in spec["data"])
    assert drawn == any("The star is" in caption.value for caption in at.caption)
    assert drawn


def test_links_with_the_former_names_of_states_still_open(open_page: Open) -> None:
    at = open_page("attack_map", instance="ring-gcn-attr-s0", attr_del="4", only="attacked,shared")
    assert at.session_state["only"] == ["lost", "undecided"]
    assert sent(at)["only"] == [list(TargetState).index(one) for one in (TargetState.LOST, TargetState.UNDECIDED)]


@pytest.mark.parametrize("asked", ["relaxed", "both"])
def test_the_relaxed_adversary_has_a_link_of_its_own(open_page: Open, asked: str) -> None:
    at = drawer(open_page("attack_map", instance="ring-gcn-attr-s0", attr_del="4", adversary=asked), "all")
    assert "fraction counted" in at.dataframe[1].value.columns
    assert [one["relaxed"] for one in sent(at, "shelf", "attack")["pictures"]] == [True]
    assert sent(at)["switch"]["on"] == "relaxed"
    assert "relaxed adversary counts" in sent(at)["switch"]["why"]


def test_tables_and_pictures_of_the_workbench(open_page: Open) -> None:
    at = drawer(open_page("attack_map", instance="ring-gcn-attr-s0", attr_del="4"), "all")
    assert at.dataframe[0].value["attribute deletions"].sum() == 4
    assert sent(at)["switch"]["on"] == "attack"
    assert list(sent(at)["switch"]["off"]) == ["model"], "none is stored"
    settle(next(b for b in at.button if b.label == "Suggest five").click())
    protect = [b for b in at.button if b.label == "Protect these"]
    if protect:
        settle(protect[0].click())
        assert any("protected:" in block.value for block in at.markdown)
        settle(next(b for b in at.button if b.label == "Lift all protection").click())
        assert at.text_input(key="protect").value == ""


def test_node(open_page: Open) -> None:
    at = open_page("node", instance="ring-votes-s0", attr_del="3", node="5")
    assert "paper 5" in at.subheader[0].value
    settle(next(b for b in at.button if b.label == "Next").click())
    assert at.number_input(key="node").value == 6
    settle(next(b for b in at.button if b.label == "Previous").click())
    settle(at.number_input(key="node").set_value(0))
    settle(next(b for b in at.button if b.label == "Previous").click())
    assert at.number_input(key="node").value == N - 1
    settle(next(t for t in at.text_input if t.label == "Find by name").set_value("paper 11"))
    assert at.number_input(key="node").value == 11
    assert any(metric.label == "p, lower bound" for metric in at.metric)


def test_splits_are_one_entry_of_the_chooser_and_chosen_behind_more(open_page: Open) -> None:
    at = open_page("overview", instance="ring-gcn-attr-s1", attr_del="3")
    box = at.selectbox(key="instance")
    assert box.value == "ring-gcn-attr-s1"
    assert sum("GCN · attributes" in option or "gcn-attr" in option for option in box.options) == 1
    assert any("split 1" in option for option in box.options), "which split is said where it is chosen"
    settle(next(c for c in at.segmented_control if c.label == "Split").set_value("ring-gcn-attr-s0"))
    assert at.selectbox(key="instance").value == "ring-gcn-attr-s0"
    assert at.query_params["instance"] == "ring-gcn-attr-s0"
    assert at.query_params["attr_del"] == "3", "the budgets stay"
    assert bundles.grouped(["a-gcn-attr-s0", "a-gcn-attr-s1", "mine"], "mine") == {
        "a-gcn-attr-s0": "a · GCN · attributes · 2 splits", "mine": "mine",
    }  # fmt: skip


def test_without_a_node_in_the_link_one_opens_whose_certificate_is_lost(open_page: Open) -> None:
    at = open_page("node", instance="ring-gcn-attr-s0", attr_del="5")
    instance = grid_instance()
    found = reach(instance, certify(instance, ThreatModel(attr_del=5)))
    lost = found.received.sum(axis=1)[found.lost]
    node = at.number_input(key="node").value
    assert node in found.targets[found.lost][lost == lost.max()], "the one that received most"
    assert any("Loses its certificate" in block.value for block in at.markdown)
    assert "node" not in at.query_params, "what a page fills in is not in the address"
    assert open_page("node", instance="ring-gcn-attr-s0", attr_del="5", node="0").number_input(key="node").value == 0


def test_base_and_compare(open_page: Open) -> None:
    at = open_page("base", instance="ring-gcn-attr-s0")
    settle(at.selectbox(key="bx").set_value("attr_del"))
    settle(at.selectbox(key="by").set_value("none"))
    at = open_page("compare", instance="ring-gcn-attr-s0", cmp_to="40")
    settle(at.multiselect(key="with").set_value(["ring-gcn-attr-s1", "ring-votes-s0"]))
    settle(at.toggle(key="cmp_log").set_value(True))
    settle(at.toggle(key="cmp_every").set_value(True))
    settle(at.selectbox(key="cmp_vary").set_value("attr_add"))
    settle(at.number_input(key="cmp_to").set_value(30))
    table = at.dataframe[0].value
    assert len(table) == 3
    assert "r̄ collective" in table.columns


def test_bring_your_own(open_page: Open) -> None:
    at = open_page("bring", instance="ring-gcn-attr-s0")
    settle(at.file_uploader(key="upload_instance").upload("mine.npz", examples.instance(), "application/zip"))
    assert "Valid." in at.success[0].value
    settle(at.file_uploader(key="upload_instance").upload("bad.npz", b"PK nothing", "application/zip"))
    assert "Not readable" in at.error[0].value
    settle(at.segmented_control(key="way").set_value("votes"))
    settle(at.file_uploader(key="upload_graph").upload("g.npz", examples.graph(), "application/zip"))
    settle(at.file_uploader(key="upload_votes").upload("v.npz", examples.votes(), "application/zip"))
    assert "Valid." in at.success[0].value
    assert not at.exception


def test_check_a_claim(open_page: Open, bundle_folder: object) -> None:
    instance = load_instance(f"{bundle_folder}/ring-gcn-attr-s0.npz")
    proof = certify(instance, ThreatModel(attr_del=4)).proof
    assert proof is not None
    at = open_page("check", instance="ring-gcn-attr-s0")
    settle(at.file_uploader(key="proof_file").upload("proof.json", json.dumps(proof).encode(), "application/json"))
    assert f"**{proof['certified']} of {N}**" in at.success[0].value
    forged = json.dumps(proof | {"certified": N}).encode()
    settle(at.file_uploader(key="proof_file").upload("proof.json", forged, "application/json"))
    assert "Rejected" in at.error[0].value
    settle(at.file_uploader(key="proof_file").upload("proof.json", b"{", "application/json"))
    assert "Unreadable" in at.error[0].value


def test_no_instance_at_all(open_page: Open, tmp_path: object, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CERTCORE_BUNDLES", str(tmp_path))
    for page in ("overview", "curves", "bring", "check"):
        at = open_page(page)
        assert any("no instance" in box.value for box in at.info)


@pytest.mark.parametrize("word", ["-1", "1e99", "abc", "%00", "9" * 40, "<script>"])
def test_nonsense_in_a_link_is_named_and_removed(open_page: Open, word: str) -> None:
    keys = ("attr_add", "sigma", "local", "local_attr_add", "targets", "relaxation", "limit", "class", "strange")
    at = open_page("overview", **dict.fromkeys(keys, word))
    assert not at.exception
    assert guaranteed(at)
    assert {note.split("=")[0] for note in at.session_state["_link"].notes.values()} == set(keys)
    assert len(at.warning) == 1
    assert not set(keys) - {"attr_add"} & set(at.query_params)


def test_a_film_takes_its_range_from_the_link(open_page: Callable[..., AppTest]) -> None:
    given = {"instance": "ring-gcn-attr-s0", "attr_del": "5", "play": "sigma"}
    at = open_page("attack_map", play_from="1", play_to="3", **given)
    assert not at.exception
    assert [frame["value"] for frame in sent(at, "shelf", "frames0")["frames"]] == [3, 2, 1]
    assert (sent(at)["axis"], sent(at)["end"]) == ("sigma", 3)
    at = open_page("attack_map", play_from="7", play_to="3", **given)
    assert not at.exception
    assert 0 in [frame["value"] for frame in sent(at, "shelf", "frames0")["frames"]]
    assert set(at.session_state["_link"].notes) == {"play_from"}
    assert len(at.warning) == 1
