"""The table of refusals against the running dashboard, Streamlit's own routes included."""

from __future__ import annotations

import base64
import http.client
import json
import re
from collections.abc import Iterator
from typing import Any

import pytest
from websockets.exceptions import ConnectionClosed, InvalidStatus
from websockets.sync.client import connect

from stress.load import Server
from stress.tab import rerun
from tests.server.client import Client

SECRET = "open sesame"
BASIC = {"Authorization": "Basic " + base64.b64encode(f":{SECRET}".encode()).decode()}


@pytest.fixture(scope="module")
def server() -> Iterator[Server]:
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("CERTCORE_PASSWORD", SECRET)
        patch.setenv("CERTCORE_UPLOAD_MB", "1")
        running = Server()
    try:
        running.wait()
        yield running
    finally:
        log = running.stop()
    # Whatever the tests below did to it, every line is one of ours.
    events = {json.loads(line)["event"] for line in log.splitlines()}
    assert "password refused" in events


@pytest.fixture
def client(server: Server) -> Iterator[Client]:
    made = Client(server.port)
    yield made
    made.close()


@pytest.mark.parametrize(
    "path",
    [
        "/",
        "/curves?attr_del=3",
        "/static/js/index.js",
        "/_stcore/health",
        "/_stcore/host-config",
        "/media/x.png",
        "/component/x/y",
        "/api/instances",
        "/api/instances/citeseer-gcn-attr-s0/certificate",
        "/api/openapi.json",
        "/api/static/graph.js",
        "/_stcore/upload_file/a/b",
        "/_stcore/script-health-check",
        "/_stcore/metrics",
    ],
)
def test_nothing_is_shown_to_strangers(client: Client, path: str) -> None:
    assert client.open(path).status == 401
    assert client.open(path, headers={"Host": "rebound.example", **BASIC}).status == 421


def socket_status(port: int, headers: dict[str, str], **more: Any) -> int:
    try:
        with connect(
            f"ws://127.0.0.1:{port}/_stcore/stream",
            subprotocols=["streamlit"],  # type: ignore[list-item]
            additional_headers=headers,
            **more,
        ):
            return 101
    except InvalidStatus as error:
        return error.response.status_code


def test_the_websocket_is_refused_in_its_handshake(server: Server) -> None:
    here = f"http://127.0.0.1:{server.port}"
    assert socket_status(server.port, {}) == 401
    assert socket_status(server.port, BASIC, origin="https://evil.example") == 403
    assert socket_status(server.port, BASIC, origin=here) == 101


def test_uploads_are_refused_before_they_are_read(client: Client) -> None:
    upload = "/_stcore/upload_file/session/file"
    for headers, status in (({}, 401), (BASIC, 413)):
        answer = client.open(upload, "PUT", None, {"Content-Length": str(300 * 2**20), **headers})
        assert answer.status == status
    assert client.open("/api/instances", "POST", b"PK", BASIC).status == 422
    foreign = client.open("/api/instances", "POST", b"PK", BASIC | {"Origin": "https://evil.example"})
    assert foreign.status == 403


def test_a_long_message_ends_the_connection_and_nothing_else(server: Server) -> None:
    for nonsense in (b"x" * (9 * 2**20), b"\xff\xff\xff", "text"):
        url = f"ws://127.0.0.1:{server.port}/_stcore/stream"
        with connect(
            url,
            subprotocols=["streamlit"],  # type: ignore[list-item]
            additional_headers=BASIC,
            max_size=None,
        ) as socket:
            socket.send(nonsense)
            with pytest.raises(ConnectionClosed):  # noqa: PT012
                while True:
                    socket.recv(timeout=60)
    with connect(
        url,
        subprotocols=["streamlit"],  # type: ignore[list-item]
        additional_headers=BASIC,
        max_size=None,
    ) as socket:
        socket.send(rerun())
        assert socket.recv(timeout=60)


def test_the_form_lets_a_browser_in(client: Client) -> None:
    form = client.open("/", headers={"Accept": "text/html"})
    assert form.status == 401
    assert re.search('action="/api/login"', form.read().decode())
    entered = client.open("/api/login", "POST", "password=open+sesame&next=%2F", {"Accept": "text/html"})
    assert entered.status == 303
    cookie = {"Cookie": entered.headers["set-cookie"].split(";")[0]}
    page = client.open("/", headers={"Accept": "text/html", **cookie})
    assert page.status == 200
    assert "frame-ancestors 'self'" in page.headers["content-security-policy"]
    assert socket_status(client.port, cookie) == 101
    line = client.open("/api/instances/citeseer-gcn-attr-s0/certificate?attr_del=3", headers=cookie).readline()
    assert json.loads(line)["kind"] == "preview"


def test_the_first_line_does_not_wait_for_an_acknowledgement(server: Server) -> None:
    """40 ms each where the listening socket has no TCP_NODELAY."""
    import statistics
    import time

    connection = http.client.HTTPConnection("127.0.0.1", server.port, timeout=60)
    times = []
    for number in range(20):
        began = time.perf_counter()
        path = f"/api/instances/citeseer-gcn-attr-s0/certificate?attr_del={number % 4}"
        connection.request("GET", path, headers=BASIC)
        answer = connection.getresponse()
        answer.readline()
        times.append(time.perf_counter() - began)
        answer.read()
    connection.close()
    assert statistics.quantiles(times, n=4)[0] < 0.03


def test_a_wrong_guess_is_refused_and_slows_down_those_who_come_after(client: Client) -> None:
    """The last one here: after it everybody waits a little."""
    guess = client.open("/api/login", "POST", "password=guess", {"Accept": "text/html"})
    assert guess.status == 401
    assert "not the password" in guess.read().decode()
