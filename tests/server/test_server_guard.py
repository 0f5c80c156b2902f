"""The guard by itself: names, origins, cookies, the password, and how guesses are slowed down."""

from __future__ import annotations

import asyncio
import base64
import json
import logging
from collections.abc import Iterator
from typing import Any

import pytest

from certcore.server import guard
from certcore.server.guard import Guard, Throttle
from tests.server.client import Client, served

SECRET = "öpen sesame"


class Clock:
    """Time that passes only while somebody sleeps."""

    def __init__(self) -> None:
        self.now = 1000.0
        self.slept: list[float] = []

    def __call__(self) -> float:
        return self.now

    async def sleep(self, seconds: float) -> None:
        self.slept.append(seconds)
        self.now += seconds


def throttled() -> tuple[Throttle, Clock]:
    clock = Clock()
    return Throttle(clock, clock.sleep), clock


def test_a_new_visitor_is_no_new_start_for_a_guesser() -> None:
    async def go() -> None:
        throttle, clock = throttled()
        for _ in range(20):
            assert await throttle.wait()
            throttle.refused()
        assert clock.slept[-1] > 3 * max(clock.slept[1], 1.0)
        before = clock.now
        assert await throttle.wait()
        throttle.forgive()
        assert 1.0 < clock.now - before <= Throttle.LONGEST
        clock.now += 3600
        before = clock.now
        assert await throttle.wait()
        assert clock.now == before

    asyncio.run(go())


def test_right_passwords_slow_nobody_down() -> None:
    async def go() -> None:
        throttle, clock = throttled()
        for _ in range(4):
            assert await throttle.wait()
            throttle.forgive()
        assert sum(clock.slept) == 0

    asyncio.run(go())


def test_attempts_at_the_same_moment_wait_for_one_another() -> None:
    async def go() -> None:
        delays: list[float] = []
        released = asyncio.Event()

        async def sleep(seconds: float) -> None:
            delays.append(seconds)
            await released.wait()

        throttle = Throttle(lambda: 5.0, sleep)
        attempts = [asyncio.create_task(throttle.wait()) for _ in range(50)]
        await asyncio.sleep(0)
        assert throttle.waiting == Throttle.PLACES
        released.set()
        answers = await asyncio.gather(*attempts)
        assert answers.count(True) == Throttle.PLACES
        assert sorted(delays) == [Throttle.STEP * number for number in range(Throttle.PLACES)]
        assert throttle.waiting == 0
        assert throttle.turned_away == 50 - Throttle.PLACES

    asyncio.run(go())


async def inner(scope: Any, receive: Any, send: Any) -> None:
    """Tells who has come, after the whole body."""
    if scope["type"] == "http":
        while (await receive()).get("more_body"):
            pass
        body = json.dumps({"visitor": scope["visitor"]}).encode()
        await send({"type": "http.response.start", "status": 200, "headers": []})
        await send({"type": "http.response.body", "body": body})


@pytest.fixture
def port(monkeypatch: pytest.MonkeyPatch) -> Iterator[int]:
    monkeypatch.setenv("CERTCORE_PASSWORD", SECRET)
    monkeypatch.setenv("CERTCORE_HOSTS", "certificates.example.org")
    monkeypatch.setenv("CERTCORE_UPLOAD_MB", "2")
    with served(Guard(inner)) as found:
        yield found


HTML = {"Accept": "text/html"}


def enter(client: Client, word: str, onward: str = "/curves?attr_del=3") -> Any:
    from urllib.parse import urlencode

    form = urlencode({"password": word, "next": onward})
    head = {"Content-Type": "application/x-www-form-urlencoded", **HTML}
    return client.open("/api/login", "POST", form, head)


def test_the_form_leads_to_where_one_wanted_to_go(client: Client) -> None:
    asked = client.open("/curves?attr_del=3&x=<b>", headers=HTML)
    text = asked.read().decode()
    assert asked.status == 401
    assert "password" in text
    assert "/curves?attr_del=3&amp;x=&lt;b&gt;" in text
    wrong = enter(client, "guess")
    assert wrong.status == 401
    assert "not the password" in wrong.read().decode()
    right = enter(client, SECRET)
    assert (right.status, right.headers["location"]) == (303, "/curves?attr_del=3")
    cookie = right.headers["set-cookie"]
    assert "HttpOnly" in cookie
    assert "SameSite=Lax" in cookie
    status, told = client.get("/anything", {"Cookie": cookie.split(";")[0]})
    assert status == 200
    assert len(told["visitor"]) > 16
    assert client.get("/anything", {"Cookie": cookie.split(";")[0] + "0"})[0] == 401


@pytest.mark.parametrize(
    "onward", ["//evil.example", "https://evil.example", "/\\evil.example", "/a\r\nSet-Cookie: x=1"]
)
def test_nobody_is_led_elsewhere(client: Client, onward: str) -> None:
    assert enter(client, SECRET, onward).headers["location"] == "/"


def test_a_script_sends_the_password_itself(client: Client) -> None:
    def basic(word: str) -> dict[str, str]:
        return {"Authorization": "Basic " + base64.b64encode(f"me:{word}".encode()).decode()}

    assert client.get("/api/instances", basic(SECRET))[0] == 200
    refused = client.open("/api/instances", headers=basic("guess"))
    assert refused.status == 401
    assert refused.headers["www-authenticate"].startswith("Basic")
    assert client.get("/api/instances", {"Authorization": "Basic ???"})[0] == 401
    assert client.get("/api/health")[0] == 200


@pytest.mark.parametrize(
    ("method", "path", "headers", "status"),
    [
        ("GET", "/", {"Host": "rebound.example"}, 421),
        ("GET", "/api/health", {"Host": "certificates.example.org"}, 200),
        ("GET", "/api/health", {"Host": "192.168.0.7:8501"}, 200),
        ("GET", "/api/health", {"Host": "[::1]:8501"}, 200),
        ("GET", "/api/health", {"Host": "[::1"}, 400),
        ("POST", "/api/health", {"Origin": "http://[::1"}, 400),
        ("GET", "/api/health", {"Sec-Fetch-Site": "cross-site"}, 403),
        ("GET", "/api/health", {"Sec-Fetch-Site": "same-origin"}, 200),
        ("POST", "/api/health", {"Origin": "https://evil.example"}, 403),
        ("POST", "/api/health", {"Origin": "null"}, 403),
        ("POST", "/api/health", {"Host": "localhost:1", "Origin": "http://localhost:1"}, 200),
        ("POST", "/api/health", {"Host": "localhost:1", "Origin": "http://localhost:2"}, 403),
        ("POST", "/api/login", {"Origin": "https://evil.example"}, 403),
        ("POST", "/api/health", {"Content-Length": "9000000"}, 413),
        ("POST", "/api/instances", {"Content-Length": "9000000"}, 401),
        ("POST", "/api/health", {"Content-Length": "٣"}, 400),
        ("GET", "/api/healthy", {}, 401),
        ("GET", "/api/health/../instances", {}, 401),
    ],
)
def test_requests_of_others_are_refused(
    client: Client, method: str, path: str, headers: dict[str, str], status: int
) -> None:
    encoded = {name: value.encode("utf-8") if not value.isascii() else value for name, value in headers.items()}
    answer = client.open(path, method, None, encoded)  # type: ignore[arg-type]
    assert answer.status == status, answer.read()
    if status in (200, 401, 403, 421):
        assert "frame-ancestors 'self'" in answer.headers["content-security-policy"]
        assert answer.headers["x-content-type-options"] == "nosniff"


def test_a_body_without_a_length_has_an_end_too(client: Client) -> None:
    assert client.open("/api/health", "POST", iter([bytes(2**19)] * 4)).status == 413


def test_refusals_are_logged_without_what_was_typed(client: Client, caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.WARNING, logger="certcore.server"):
        enter(client, "my other password")
        enter(client, SECRET)
    assert [record.getMessage() for record in caplog.records] == ["password refused"]
    assert "other" not in caplog.text


def test_the_comparison_does_not_tell_the_length(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CERTCORE_PASSWORD", SECRET)
    compared: list[tuple[int, int]] = []
    made = Guard(inner)

    class Told:
        @staticmethod
        def compare_digest(a: bytes, b: bytes) -> bool:
            compared.append((len(a), len(b)))
            return a == b

    monkeypatch.setattr(guard, "hmac", Told)
    assert not made._right(b"x")
    assert made._right(SECRET.encode())
    assert set(compared) == {(32, 32)}


def test_without_a_password_everybody_is_in_and_has_a_name(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("CERTCORE_PASSWORD", raising=False)
    with served(Guard(inner)) as port:
        client = Client(port)
        page = client.open("/", headers=HTML)
        cookie = page.headers["set-cookie"].split(";")[0]
        visitor = json.loads(page.read())["visitor"]
        assert client.get("/", {"Cookie": cookie})[1]["visitor"] == visitor
        assert client.get("/")[1]["visitor"] == "127.0.0.1"
        client.close()
