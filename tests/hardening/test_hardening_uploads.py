"""Uploads to a real server: strangers' are refused before they are read, and all together have an end."""

from __future__ import annotations

import contextlib
import http.client
import json
import time
from collections.abc import Iterator
from types import SimpleNamespace
from typing import Any

import pytest
from starlette.exceptions import HTTPException
from streamlit.proto.ForwardMsg_pb2 import ForwardMsg
from streamlit.runtime.memory_uploaded_file_manager import MemoryUploadedFileManager
from streamlit.runtime.uploaded_file_manager import UploadedFileRec
from streamlit.web.server.starlette.starlette_app_utils import generate_xsrf_token_string
from websockets.exceptions import ConnectionClosed
from websockets.sync.client import ClientConnection, connect

from pages.server import login, uploads
from pages.server.health import PASSWORD, rerun
from stress.load import Server

SECRET = "open sesame"
MB = uploads.MB


@pytest.fixture(scope="module")
def server() -> Iterator[Server]:
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("CERTCORE_PASSWORD", SECRET)
        patch.setenv("CERTCORE_UPLOADS_MB", "4")
        running = Server()
    try:
        running.wait()
        yield running
    finally:
        log = running.stop()
    # Whatever the tests below did to it, every line is one of ours.
    for line in log.splitlines():
        assert json.loads(line)["event"], line


class Visit:
    """A connection as a browser opens it; `enter` gives the password."""

    def __init__(self, port: int) -> None:
        self.port, self.session = port, ""
        self._form = ["", ""]
        url = f"ws://127.0.0.1:{port}/_stcore/stream"
        self._open = contextlib.ExitStack()
        self.socket: ClientConnection = self._open.enter_context(
            connect(url, subprotocols=["streamlit"], max_size=None)  # type: ignore[list-item]
        )
        self.socket.send(rerun())
        self._read()

    def _read(self) -> None:
        """What the page says until it has come to its end."""
        while True:
            message = ForwardMsg.FromString(self.socket.recv(timeout=60))  # type: ignore[arg-type]
            kind = message.WhichOneof("type")
            if kind == "new_session":
                self.session = message.new_session.initialize.session_id or self.session
            elif kind == "delta":
                element = message.delta.new_element
                if element.WhichOneof("type") == "text_input" and element.text_input.type == PASSWORD:
                    self._form[0] = element.text_input.id
                elif element.WhichOneof("type") == "button" and element.button.is_form_submitter:
                    self._form[1] = element.button.id
            elif kind == "script_finished" and message.script_finished == ForwardMsg.FINISHED_SUCCESSFULLY:
                return

    def close(self) -> None:
        self._open.close()

    def enter(self) -> None:
        self.socket.send(rerun(entered=(self._form[0], SECRET, self._form[1])))
        self._read()

    def upload(self, size: int, *, name: str = "one", promised: int | None = None, chunked: bool = False) -> int:
        """Put a file; `promised`: only say how large it is. Returns the status."""
        head = b'--x\r\nContent-Disposition: form-data; name="file"; filename="a.npz"\r\n\r\n'
        body = head + bytes(size) + b"\r\n--x--\r\n"
        token = generate_xsrf_token_string()
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=30)
        connection.putrequest("PUT", f"/_stcore/upload_file/{self.session}/{name}")
        connection.putheader("Content-Type", "multipart/form-data; boundary=x")
        connection.putheader("Cookie", f"_streamlit_xsrf={token}")
        connection.putheader("X-Xsrftoken", token)
        if chunked:
            connection.putheader("Transfer-Encoding", "chunked")
        else:
            connection.putheader("Content-Length", str(promised or len(body)))
        connection.endheaders()
        if promised is None and not chunked:
            connection.send(body)
        status = connection.getresponse().status
        connection.close()
        return status


def test_a_stranger_cannot_upload_and_is_refused_before_the_file_is_read(server: Server) -> None:
    stranger = Visit(server.port)
    # Nothing but the head of the request is sent: the answer does not wait for what follows.
    assert stranger.upload(0, promised=MB) == 403
    assert stranger.upload(0, chunked=True) == 403
    assert stranger.upload(1000) == 403
    stranger.enter()
    assert stranger.upload(1000) == 204
    stranger.close()


def test_all_uploads_together_have_an_end_and_those_of_the_ended_are_freed(server: Server) -> None:
    first, second, third = (Visit(server.port) for _ in range(3))
    for visit in (first, second, third):
        visit.enter()
    assert first.upload(int(1.5 * MB), name="a") == 204
    assert first.upload(0, name="b", promised=MB) == 507, "one visitor has half of the room at most"
    assert first.upload(0, name="b", chunked=True) == 507, "who does not say how much might send as much as one may"
    assert second.upload(int(1.5 * MB)) == 204
    assert third.upload(0, promised=int(1.5 * MB)) == 507
    first.close()
    until = time.monotonic() + 20
    while (status := third.upload(int(1.5 * MB))) == 507 and time.monotonic() < until:
        time.sleep(0.2)
    assert status == 204
    second.close()
    third.close()


def test_a_stranger_cannot_leave_long_texts_either(server: Server) -> None:
    """What stands in a text field is kept with the session as well."""
    stranger = Visit(server.port)
    with pytest.raises(ConnectionClosed):  # noqa: PT012
        stranger.socket.send(rerun(entered=(stranger._form[0], "x" * (uploads.MOST_SAID + 1), stranger._form[1])))
        while True:
            stranger.socket.recv(timeout=60)


def test_what_is_no_message_ends_the_connection_and_nothing_else(server: Server) -> None:
    """Text where Streamlit expects bytes is a fault of the web server, told in one line of the log (see `server`)."""
    for nonsense in ("text", b"\xff\xff\xff"):
        stranger = Visit(server.port)
        with pytest.raises(ConnectionClosed):  # noqa: PT012
            stranger.socket.send(nonsense)
            while True:
                stranger.socket.recv(timeout=60)
        stranger.close()
    Visit(server.port).close()


class Sessions:
    """Which sessions are connected, and which are only remembered."""

    def __init__(self) -> None:
        self.active: dict[str, dict[str, Any]] = {}
        self.away: set[str] = set()

    def get_active_session_info(self, session: str) -> Any:
        state = self.active.get(session)
        return None if state is None else SimpleNamespace(session=SimpleNamespace(session_state=state))

    def is_active_session(self, session: str) -> bool:
        return session in self.active

    def get_session_info(self, session: str) -> Any:
        return session if session in self.active or session in self.away else None


@pytest.fixture
def sessions(monkeypatch: pytest.MonkeyPatch) -> Sessions:
    known = Sessions()
    stand_in = SimpleNamespace(exists=lambda: True, get_instance=lambda: SimpleNamespace(_session_mgr=known))
    monkeypatch.setattr(uploads, "runtime", stand_in)
    monkeypatch.setenv("CERTCORE_PASSWORD", SECRET)
    monkeypatch.setenv("CERTCORE_UPLOADS_MB", "4")
    return known


def test_what_is_kept_is_looked_at_once_more(sessions: Sessions) -> None:
    """Also where the routes are Streamlit's own, and where a session ended or was never let in while a file arrived."""
    inside = {"_admitted": login._mark(SECRET.encode())}
    sessions.active = {"in": inside, "other": inside, "out": {}}
    files = MemoryUploadedFileManager("/x")

    def add(session: str, size: int, name: str = "one") -> int:
        try:
            uploads._add_file(files, session, UploadedFileRec(name, "a.npz", "", bytes(size)))
        except HTTPException as error:
            return error.status_code
        return 204

    assert add("out", 1) == add("gone", 1) == 403
    assert add("in", MB) == 204
    assert add("in", 2 * MB, "two") == 507
    assert add("other", 2 * MB) == 204
    assert sum(uploads._held(files).values()) == 3 * MB
    # Somebody whose connection is away may come back to the file, unless another needs the room.
    sessions.away.add("other")
    del sessions.active["other"]
    uploads.forget_ended(files)
    assert set(uploads._held(files)) == {"in", "other"}
    sessions.active["third"] = inside
    assert add("third", 2 * MB) == 204
    assert set(uploads._held(files)) == {"in", "third"}
    del sessions.active["third"]
    uploads.forget_ended(files)
    assert set(uploads._held(files)) == {"in"}


def test_files_that_arrive_at_the_same_moment_count(sessions: Sessions) -> None:
    files = MemoryUploadedFileManager("/x")
    with contextlib.ExitStack() as arriving:
        for session in "ab":
            arriving.enter_context(uploads._room(files, session, 2 * MB))
        with pytest.raises(HTTPException):
            arriving.enter_context(uploads._room(files, "c", 1))
    assert not uploads._arriving
    with uploads._room(files, "c", 1):
        assert uploads._arriving == {"c": 1}


@pytest.mark.parametrize("told", ["", "many", "-1", "9" * 12])
def test_a_limit_that_makes_no_sense_is_the_usual_one(told: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CERTCORE_UPLOADS_MB", told)
    assert uploads.most() == uploads.MOST_MB * MB
