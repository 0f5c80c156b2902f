"""What the routes refuse, keep and describe; and what happens when somebody leaves."""

from __future__ import annotations

import hashlib
import json
import os
import threading
import time
from pathlib import Path
from typing import Any

import pytest

from certcore.common import npz
from certcore.server import openapi
from certcore.server.routes import DESK
from certcore.server.shelf import SHELF, Shelf
from tests.server.client import Client

BUNDLES = Path(__file__).resolve().parents[2] / "precomputed"
BASE = "/api/instances/citeseer-gcn-attr-s0"


@pytest.mark.parametrize(
    ("path", "status", "said"),
    [
        (f"{BASE}/certificate?attr_dell=3", 422, "did you mean attr_del?"),
        (f"{BASE}/certificate?attr_del=-3", 422, "expected a whole number from 0 to 1,000,000"),
        (f"{BASE}/certificate?attr_del=3&attr_del=4", 422, "given twice"),
        (f"{BASE}/certificate?targets=chosen&nodes=99999", 422, "99999"),
        (f"{BASE}/certificate?targets=chosen", 422, "nodes=3,17"),
        (f"{BASE}/certificate?instance=other", 422, "the path names"),
        (f"{BASE}/certificate?attr_l2=0.3", 422, "attr_l2"),
        (f"{BASE}/certificate?nodes={'1,' * 20_000}", 422, "at most 20,000 characters"),
        (f"{BASE}/curve?vary=colour", 422, "nothing that can be varied"),
        (f"{BASE}/map?x=attr_del&y=attr_del", 422, "two different"),
        (f"{BASE}/frames?vary=local_attr_del", 422, "whole numbers"),
        (f"{BASE}/classes", 404, "no question is called 'classes'"),
        ("/api/instances/nobody/certificate", 404, "GET /api/instances"),
        ("/api/instances/up-nobody/graph", 404, "GET /api/instances"),
        ("/api/instances/..%2fREADME/graph", 404, ""),
        ("/api/instances/citeseer-decoupled-ballots-s0/certificate?relaxation=paper", 422, "ballots"),
        ("/api/static/message.py", 404, ""),
        ("/api/static/..%2f__init__.py", 404, ""),
    ],
)
def test_a_request_that_makes_no_sense_gets_one_sentence(client: Client, path: str, status: int, said: str) -> None:
    answer = client.open(path)
    data = answer.read()
    assert (answer.status, said in data.decode()) == (status, True), data


def test_what_seldom_changes_is_kept_by_the_browser(client: Client) -> None:
    for path in (BASE, f"{BASE}/graph", f"{BASE}/words?attr_del=3", "/api/static/graph.js"):
        first = client.open(path)
        data, tag = first.read(), first.headers["etag"]
        assert first.status == 200
        assert len(data) > 100
        assert tag == f'"{hashlib.sha256(data).hexdigest()[:32]}"', "other words, another tag"
        again = client.open(path, headers={"If-None-Match": tag})
        assert (again.status, again.read()) == (304, b"")


def test_instances_are_listed_with_what_they_cover(client: Client) -> None:
    _, told = client.get("/api/instances")
    covered = {one["instance"]: one["covered"] for one in told["instances"]}
    assert set(covered) == {path.stem for path in BUNDLES.glob("*.npz")}
    for name in ("citeseer-gcn-attr-s0", "citeseer-decoupled-ballots-s0", "digits-gcn-l2_joint-s0"):
        assert sorted(covered[name]) == sorted(SHELF.held(name).instance.covered_types)


def test_the_description_is_that_of_the_view(client: Client) -> None:
    _, told = client.get(f"{BASE}?right=1&attr_del=3")
    assert told["asked"] == 1870
    assert told["asked"] - told["wrong"] == told["targets"] < 1870
    assert (told["axis"], told["second"], told["ends"]["attr_del"]) == ("attr_del", "attr_add", 2000)
    assert client.get("/api/health") == (200, {"status": "ok"})
    _, routes = client.get("/api/openapi.json")
    assert routes == json.loads(json.dumps(openapi.description()))
    names = [one["name"] for one in routes["paths"]["/api/instances/{name}/certificate"]["get"]["parameters"]]
    assert {"attr_del", "sigma", "attack", "lp"} <= set(names)


def test_an_upload_is_known_by_its_id_only(client: Client, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CERTCORE_IMPORTS", str(tmp_path / "kept"))
    data = (BUNDLES / "citeseer-gcn-attr-s0.npz").read_bytes()
    answer = client.open("/api/instances", "POST", data)
    made = json.loads(answer.read())["instance"]
    assert answer.status == 201
    assert made.startswith("up-")
    assert len(made) == 46
    lines = client.lines(f"/api/instances/{made}/certificate?attr_del=12")
    assert lines[1]["certified"] == client.lines(f"{BASE}/certificate?attr_del=12")[1]["certified"]
    assert made not in str(client.get("/api/instances"))
    bad = client.open("/api/instances?name=mine.npz", "POST", b"cos\nsystem\n(S'true'\ntR.")
    assert bad.status == 422
    assert json.loads(bad.read())["error"].startswith("mine.npz is no .npz file")
    with monkeypatch.context() as small:
        small.setattr(npz, "MAX_UPLOAD_BYTES", 1000)
        bomb = client.open("/api/instances", "POST", data)
        assert (bomb.status, "unpacks to" in json.loads(bomb.read())["error"]) == (422, True)
    monkeypatch.setenv("CERTCORE_UPLOAD_MB", "1")
    told = client.open("/api/instances", "POST", headers={"Content-Length": str(3 * 2**19)})
    untold = client.open("/api/instances", "POST", iter([bytes(2**19)] * 3))
    assert (told.status, untold.status) == (413, 413)
    assert [path.stem for path in (tmp_path / "kept").iterdir()] == [made]
    # What the dashboard keeps for this machine's owner is known by its name, a visitor's own only by what was lent.
    visitor = tmp_path / "kept" / "visitor-1"
    visitor.mkdir()
    for folder, name in ((visitor.parent, "import-1-mine"), (visitor, "import-2-mine")):
        (folder / f"{name}.npz").write_bytes(data)
    status = {name: client.get(f"/api/instances/import-{name}-mine")[0] for name in (1, 2)}
    assert status == {1: 200, 2: 404}
    lent = SHELF.lend(visitor / "import-2-mine.npz", "mine")
    assert client.get(f"/api/instances/{lent}")[0] == 200
    (tmp_path / "file").touch()
    monkeypatch.setenv("CERTCORE_IMPORTS", str(tmp_path / "file" / "kept"))
    nowhere = client.open("/api/instances", "POST", b"PK")
    assert nowhere.status == 507
    assert "no place" in json.loads(nowhere.read())["error"]


def test_a_file_that_replaces_one_of_the_same_time_is_loaded(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CERTCORE_BUNDLES", str(tmp_path))
    shelf, found = Shelf(), []
    for split in (0, 1):
        other = tmp_path / "other"
        other.write_bytes((BUNDLES / f"citeseer-decoupled-ballots-s{split}.npz").read_bytes())
        os.utime(other, (1_500_000_000, 1_500_000_000))
        other.replace(tmp_path / "mine.npz")
        found.append(shelf.held("mine").instance)
        assert shelf.held("mine").instance is found[-1]
    assert found[0].digest != found[1].digest


def _idle(seconds: float = 5.0) -> bool:
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        if not DESK._tasks and not any(DESK._running.values()) and not DESK._held:
            return True
        time.sleep(0.005)
    return False


@pytest.mark.parametrize(
    "query",
    [
        "certificate?attr_del=31&strengthen=1&time_limit=60",
        "map?x=attr_del&y=attr_add&attr_del=9",
        "frames?attr_del=60&vary=attr_del&to=300",
    ],
)
def test_who_leaves_ends_the_work(client: Client, query: str) -> None:
    answer = client.open(f"{BASE}/{query}")
    answer.readline()
    time.sleep(0.2)
    assert DESK._tasks
    left = time.monotonic()
    client.close()
    assert _idle()
    assert time.monotonic() - left < 2.0


def test_equal_questions_are_worked_on_once(port: int) -> None:
    query = f"{BASE}/certificate?attr_del=33&strengthen=1&time_limit=3"
    found: list[list[dict[str, Any]]] = []
    clients = [Client(port) for _ in range(3)]
    threads = [threading.Thread(target=lambda one: found.append(one.lines(query)), args=(one,)) for one in clients]
    for thread in threads:
        thread.start()
    time.sleep(1)
    assert len(DESK._tasks) == 1
    for thread, one in zip(threads, clients):
        thread.join()
        one.close()
    assert found[0][1:] == found[1][1:] == found[2][1:]


def test_a_visitor_has_so_many_questions_and_no_more(port: int) -> None:
    clients = [Client(port) for _ in range(7)]
    queries = [f"{BASE}/map?x=attr_del&y=attr_add&x_to={k}" for k in range(150, 157)]
    answers = [one.open(query) for one, query in zip(clients, queries)]
    try:
        assert [answer.status for answer in answers] == [200] * 6 + [429]
        assert answers[-1].headers["retry-after"] == "3"
        assert clients[0].lines(f"{BASE}/certificate?attr_del=5")[-1]["kind"] == "end"
    finally:
        for one in clients:
            one.close()
    assert _idle()
