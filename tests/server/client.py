"""A server in this process on a free port, and a client that sees lines as they arrive."""

from __future__ import annotations

import contextlib
import http.client
import json
import socket
import threading
import time
from collections.abc import Iterator
from typing import Any

import uvicorn

SECONDS = 60


@contextlib.contextmanager
def served(app: Any) -> Iterator[int]:
    """The port on which the application answers."""
    bound = socket.socket()
    bound.bind(("127.0.0.1", 0))
    config = uvicorn.Config(app, log_level="warning", access_log=False, timeout_graceful_shutdown=1)
    server = uvicorn.Server(config)
    thread = threading.Thread(target=server.run, kwargs={"sockets": [bound]}, daemon=True)
    thread.start()
    end = time.monotonic() + SECONDS
    while not server.started:
        assert time.monotonic() < end
        time.sleep(0.01)
    try:
        yield bound.getsockname()[1]
    finally:
        server.should_exit = True
        thread.join(SECONDS)


class Client:
    """Requests to one port."""

    def __init__(self, port: int) -> None:
        self.port = port
        self.opened: list[Any] = []

    def open(
        self, path: str, method: str = "GET", body: Any = None, headers: dict[str, str] | None = None
    ) -> http.client.HTTPResponse:
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=SECONDS)
        self.opened.append(connection)
        connection.request(method, path, body, headers or {})
        answer = connection.getresponse()
        self.opened.insert(0, answer)
        return answer

    def close(self) -> None:
        """Leave all answers, read or not."""
        for one in self.opened:
            one.close()
        self.opened.clear()

    def get(self, path: str, headers: dict[str, str] | None = None) -> tuple[int, Any]:
        answer = self.open(path, headers=headers)
        data = answer.read()
        return answer.status, json.loads(data) if data else None

    def lines(self, path: str) -> list[dict[str, Any]]:
        """All lines of a question."""
        answer = self.open(path)
        data = answer.read()
        assert answer.status == 200, data
        return [json.loads(line) for line in data.splitlines()]

    def first(self, path: str) -> dict[str, Any]:
        """The first line, after which the answer is left."""
        answer = self.open(path)
        line = answer.readline()
        assert answer.status == 200, line
        self.close()
        return dict(json.loads(line))
