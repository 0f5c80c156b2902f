"""The streams over HTTP: what arrives is what the engine proves, each line with the question that it is of."""

from __future__ import annotations

from collections import OrderedDict
from pathlib import Path
from typing import Any

import pytest

import certcore as cc
from certcore.common.errors import SoundnessError
from certcore.domain.parameters import SHARED
from certcore.result import tripwire
from certcore.server import questions
from certcore.sweep import Session
from certcore.workbench.view import OPTIONS, parameters, read_values, read_view
from tests.server.client import Client

BUNDLES = Path(__file__).resolve().parents[2] / "precomputed"
NAME = "citeseer-gcn-attr-s0"
BASE = f"/api/instances/{NAME}"


@pytest.fixture(scope="module")
def instance() -> cc.Instance:
    return cc.load_instance(BUNDLES / f"{NAME}.npz")


def test_the_number_arrives_in_stages(client: Client, instance: cc.Instance) -> None:
    lines = client.lines(f"{BASE}/certificate?attr_del=12&attack=1&picture=1&lp=1&model=1")
    assert [line["kind"] for line in lines] == ["preview", "solved", "attack", "lp", "model", "end"]
    preview, solved, attack, lp, model, _ = lines
    right = cc.certify(instance, attr_del=12)
    assert solved["certified"] == attack["certified"] == lp["certified"] == right.certified
    assert preview["certified"] <= solved["certified"]
    assert (solved["targets"], solved["asked"], solved["naive"]) == (1870, 1870, right.naive_certified)
    assert f"{right.certified:,}" in "".join(piece["text"] for piece in solved["head"])
    assert 0 < attack["found"] <= right.targets - right.certified
    assert not attack["picture"]["relaxed"]
    assert lp["picture"]["relaxed"]
    assert model["tried"]
    assert model["changed"] <= attack["found"]
    assert {line["of"] for line in lines} == {solved["of"]}
    family = client.get(f"{BASE}/words?attr_del=3")[1]["family"]
    assert {line["family"] for line in lines[:-1]} == {family}
    assert client.lines(f"{BASE}/certificate?attr_del=12&protect=7")[0]["family"] != family
    assert all(line["at"] == {"attr_add": 0, "attr_del": 12, "sigma": None} for line in lines)


def test_no_two_questions_share_a_digest(client: Client) -> None:
    queries = [
        "",
        "attr_del=3",
        "attr_del=3&sigma=0",
        "attr_del=3&sigma=1",
        "attr_add=3",
        "attr_del=3&protect=5",
        "attr_del=3&targets=test",
        "attr_del=3&targets=chosen&nodes=1,2",
        "attr_del=3&right=1",
        "attr_del=3&relaxation=paper",
        "attr_del=3&base_rule=multiclass",
        "attr_del=3&strengthen=1&time_limit=1",
        "attr_del=3&strengthen=1&time_limit=2",
        "attr_del=3&local_mode=absolute&local_attr_del=1",
        "attr_del=3&local_mode=relative&share_attr_del=0.1",
        "attr_del=3&local_mode=absolute&local_attr_add=1",
    ]
    digests = [client.first(f"{BASE}/certificate?{query}")["of"] for query in queries]
    assert len(set(digests)) == len(queries)
    assert client.first(f"{BASE}/certificate?attr_del=3")["of"] == digests[1]
    other = "/api/instances/citeseer-gcn-attr-s1/certificate?attr_del=3"
    assert client.first(other)["of"] not in digests


def test_a_number_of_attacked_nodes_of_zero_is_not_none(client: Client) -> None:
    everybody = client.lines(f"{BASE}/certificate?attr_del=12")[1]
    nobody = client.lines(f"{BASE}/certificate?attr_del=12&sigma=0")[1]
    assert (everybody["at"]["sigma"], nobody["at"]["sigma"]) == (None, 0)
    assert everybody["certified"] < nobody["certified"] == 1759


def test_a_curve_and_a_map_hold_what_single_certificates_prove(client: Client, instance: cc.Instance) -> None:
    lines = client.lines(f"{BASE}/curve?attr_del=9&vary=attr_del&to=12&attacks=1")
    assert [line["kind"] for line in lines][-2:] == ["rows", "end"]
    rows = lines[-2]
    right = cc.curve(instance, vary="attr_del", values=range(13))
    assert rows["values"] == list(range(13))
    assert rows["certified"] == right.certified.tolist()
    assert rows["complete"]
    for earlier in lines[:-1]:
        assert all(a <= b for a, b in zip(earlier["certified"], rows["certified"]))
    assert all(left <= 1870 - c for left, c in zip(rows["left"], rows["certified"]))
    cells = client.lines(f"{BASE}/map?x=attr_del&y=sigma&x_to=4&y_to=2")[-2]
    assert cells["complete"]
    at = {(x, y): c for (x, y), c in zip([(x, y) for x in cells["xs"] for y in cells["ys"]], cells["certified"])}
    assert at[4, 2] == cc.certify(instance, attr_del=4, sigma=2).certified


def test_a_curve_is_the_same_question_wherever_its_slider_stands(client: Client) -> None:
    first = client.first(f"{BASE}/curve?vary=attr_del&to=5&attr_del=2")["of"]
    assert client.first(f"{BASE}/curve?vary=attr_del&to=5&attr_del=4")["of"] == first
    assert client.first(f"{BASE}/curve?vary=attr_del&to=5&attr_add=1")["of"] != first
    assert client.first(f"{BASE}/curve?vary=attr_del&to=6&attr_del=2")["of"] != first


def test_frames_suggestions_and_a_proof(client: Client, instance: cc.Instance) -> None:
    frames = client.lines(f"{BASE}/frames?attr_del=2&vary=attr_del&to=2")
    assert [line.get("value") for line in frames] == [2, 1, 0, None]
    assert frames[0]["certified"] == cc.certify(instance, attr_del=2).certified
    steps = client.lines(f"{BASE}/defend?attr_del=8&number=2")
    assert [line["kind"] for line in steps] == ["step", "step", "end"]
    guarded = cc.certify(instance, attr_del=8, protected=[step["node"] for step in steps[:2]])
    assert steps[1]["certified"] == guarded.certified
    assert steps[0]["certified"] + steps[1]["gain"] == guarded.certified
    status, proof = client.get(f"{BASE}/proof?attr_del=3")
    assert status == 200
    assert cc.verify_proof(proof, instance).accepted


def test_ballots_have_their_attack_on_the_model(client: Client) -> None:
    lines = client.lines("/api/instances/citeseer-decoupled-ballots-s0/certificate?adj_add=5&model=1&attack=1")
    model = next(line for line in lines if line["kind"] == "model")
    assert model["tried"]
    assert model["changed"] >= 0
    untried = client.lines("/api/instances/citeseer-rgcn-attr-s0/certificate?attr_del=5&model=1")
    told = next(line for line in untried if line["kind"] == "model")
    assert not told["tried"]
    assert "changed" not in told
    assert told["how"]


def test_a_strong_search_only_improves(client: Client) -> None:
    lines = client.lines(f"{BASE}/certificate?attr_del=20&strengthen=1&time_limit=2")
    counts = [line["certified"] for line in lines if line["kind"] in ("solved", "improved")]
    assert counts == sorted(counts)
    assert len(counts) > 1
    assert lines[-2]["final"]


def test_each_line_is_held_against_attacks_that_came_later(
    instance: cc.Instance, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A line that was true when it was computed is not sent once an attack refutes it."""
    monkeypatch.setattr(tripwire, "_memories", OrderedDict())
    values = read_values("curve", [("attr_del", "7"), ("to", "7")])
    view = read_view("curve", NAME, instance, values)
    session = Session(instance)
    line = next(one for one in questions.curve(view, session).lines() if one.data.get("complete"))
    line.hold()
    number = next(questions.certificate(view, session).lines())
    with pytest.raises(SoundnessError):
        tripwire.remember(instance, cc.ThreatModel(attr_del=7), instance.graph.n_nodes)
    for one in (line, number):
        with pytest.raises(SoundnessError, match="internal error"):
            one.hold()


def test_a_refuted_number_is_no_number(client: Client, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: Any) -> None:
        raise SoundnessError("internal error: refuted")

    monkeypatch.setattr(questions, "check", refuse)
    lines = client.lines(f"{BASE}/certificate?attr_del=13")
    assert [line["kind"] for line in lines] == ["preview", "error"]
    assert lines[-1] == {"kind": "error", "status": 500, "error": "internal error: refuted"}
    monkeypatch.setattr(questions, "check_count", refuse)
    assert client.get(f"{BASE}/certificate?attr_del=13") == (500, {"error": "internal error: refuted"})


def test_the_table_of_parameters_is_the_one_of_links() -> None:
    for what in OPTIONS:
        names = [one.name for one in parameters(what)]
        assert len(set(names)) == len(names)
        assert set(names) >= {one.name for one in SHARED[1:]}
