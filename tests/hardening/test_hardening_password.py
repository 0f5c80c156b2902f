"""The password: guesses are slowed down over all sessions, nobody is shut out, and the log knows of refusals."""

from __future__ import annotations

import json
import logging
import threading
from collections.abc import Iterator
from types import SimpleNamespace
from typing import Any

import pytest
from streamlit.testing.v1 import AppTest

from pages.server import log, login

SECRET = "open sesame"


class Clock:
    """Time that passes only while somebody sleeps."""

    def __init__(self) -> None:
        self.now = 1000.0
        self.slept: list[float] = []

    def monotonic(self) -> float:
        return self.now

    def sleep(self, seconds: float) -> None:
        self.slept.append(seconds)
        self.now += seconds


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Iterator[Clock]:
    made = Clock()
    monkeypatch.setenv("CERTCORE_PASSWORD", SECRET)
    monkeypatch.setattr(login, "time", made)
    if hasattr(login, "LoginThrottle"):
        monkeypatch.setattr(login, "LOGIN_THROTTLE", login.LoginThrottle())
    return made  # type: ignore[return-value]


def _page() -> None:
    import streamlit as st

    from pages.server.login import login

    login()
    st.write("inside")


def attempt(word: str) -> AppTest:
    """Somebody new tries a word."""
    visitor = AppTest.from_function(_page, default_timeout=30).run()
    visitor.text_input[0].input(word)
    return visitor.button[0].click().run()


def inside(visitor: AppTest) -> bool:
    assert not visitor.exception
    return any(element.value == "inside" for element in visitor.markdown)


def test_a_new_session_is_no_new_start_for_a_guesser(clock: Clock) -> None:
    for number in range(20):
        assert not inside(attempt(f"guess {number}"))
    assert clock.slept[-1] > 3 * max(clock.slept[1], 1.0), "the last guess was as fast as the first"
    # Somebody who knows the password comes in all the same, soon, and no faster than a guess is refused.
    before = clock.now
    assert inside(attempt(SECRET))
    assert 1.0 < clock.now - before <= 5.0
    # An hour later the guesses are forgotten.
    clock.now += 3600
    before = clock.now
    assert inside(attempt(SECRET))
    assert clock.now == before


def test_right_passwords_slow_nobody_down(clock: Clock) -> None:
    for _ in range(4):
        assert inside(attempt(SECRET))
    assert sum(clock.slept) == 0


def test_attempts_at_the_same_moment_wait_for_one_another_and_hold_few_threads(monkeypatch: pytest.MonkeyPatch) -> None:
    go, delays, lock = threading.Event(), [], threading.Lock()

    def sleep(seconds: float) -> None:
        with lock:
            delays.append(seconds)
        go.wait(20)

    monkeypatch.setattr(login, "time", SimpleNamespace(monotonic=lambda: 5.0, sleep=sleep))
    throttle, answers = login.LoginThrottle(), []
    threads = [threading.Thread(target=lambda: answers.append(throttle.wait())) for _ in range(50)]
    for thread in threads:
        thread.start()
    while len(answers) < 50 - throttle.PLACES:
        threading.Event().wait(0.01)
    assert answers == [False] * (50 - throttle.PLACES)
    assert throttle.waiting == throttle.PLACES
    go.set()
    for thread in threads:
        thread.join(20)
    assert answers.count(True) == throttle.PLACES
    assert sorted(delays) == [throttle.STEP * number for number in range(throttle.PLACES)]
    assert throttle.waiting == 0
    # Those without a place were not looked at and do not count.
    assert throttle.wait()
    assert delays[-1] <= throttle.LONGEST


def test_without_a_place_the_password_is_not_looked_at(clock: Clock, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(login.LOGIN_THROTTLE, "waiting", login.LoginThrottle.PLACES)
    visitor = attempt(SECRET)
    assert not inside(visitor)
    assert visitor.warning
    assert not visitor.error
    monkeypatch.setattr(login.LOGIN_THROTTLE, "waiting", 0)
    visitor.button[0].click().run()
    assert inside(visitor)


def test_refusals_are_logged_without_what_was_typed(clock: Clock) -> None:
    lines: list[str] = []

    class Keep(logging.Handler):
        def emit(self, record: logging.LogRecord) -> None:
            lines.append(self.format(record))

    logger: Any = log.set_up()
    keep = Keep()
    keep.setFormatter(logger.handlers[0].formatter)
    logger.addHandler(keep)
    try:
        attempt("my other password")
        attempt(SECRET)
    finally:
        logger.removeHandler(keep)
    refusals = [json.loads(line) for line in lines if "password" in line]
    assert [line["event"] for line in refusals] == ["password refused"]
    assert "other" not in "".join(lines)
    assert SECRET not in "".join(lines)


def test_the_comparison_does_not_tell_the_length(clock: Clock, monkeypatch: pytest.MonkeyPatch) -> None:
    compared: list[tuple[int, int]] = []

    def compare(a: Any, b: Any) -> bool:
        compared.append((len(a), len(b)))
        return bool(a == b)

    monkeypatch.setattr(login, "hmac", SimpleNamespace(compare_digest=compare))
    assert not inside(attempt("x"))
    assert inside(attempt(SECRET))
    assert len(set(compared)) == 1
    assert compared[0][0] == compared[0][1]
