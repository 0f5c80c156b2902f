"""The running server: health through the engine, several visitors, hostile links, log, password (short form)."""

from __future__ import annotations

import contextlib
import io
import json
import logging
import random
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from streamlit.testing.v1 import AppTest

from certcore import InputError
from pages.background.jobs import Job, Pool
from pages.server import log
from pages.state.state import SHARED, parse_nodes
from stress.load import ROOT, Server, load, probe_links
from tests.hardening.mutate import NUMBERS, TEXTS
from tests.waiting import until

BUNDLE = ROOT / "precomputed" / "citeseer-gcn-attr-s0.npz"


@pytest.fixture(scope="module")
def server() -> Iterator[Server]:
    running = Server()
    try:
        running.wait()
        yield running
    finally:
        running.stop()


def test_hostile_links_are_ignored_politely(server: Server) -> None:
    """Nonsense in the query string: the page comes up without an exception, with a guarantee or a clear sentence."""
    rng = random.Random(5)
    texts = [*TEXTS, *(str(n) for n in NUMBERS), "%00", "🦊", "a,b", "1e5", "../../etc/passwd", "-", "1-", "0-99999999"]
    links = ["&".join(f"{rng.choice(list(SHARED))}={rng.choice(texts)[:300]}" for _ in range(4)) for _ in range(12)]
    assert probe_links(server.port, links) == []


def test_several_visitors_get_the_right_numbers() -> None:
    result = load(sessions=3, seconds=60, moves=3)
    assert result["wrong"] == []
    assert result["errors"] == []
    assert result["log"] == []
    assert result["numbers"] >= 9
    assert result["stopped_with"] in (0, -15)


def test_readers_of_links_take_any_text() -> None:
    rng = random.Random(1)
    alphabet = "0123456789-.,eE+_ abcxyz<>'\"&%/\\\0\u202e🦊"
    for _ in range(20_000):
        text = "".join(rng.choice(alphabet) for _ in range(rng.randrange(12)))
        for _, read in SHARED.values():
            with contextlib.suppress(InputError, ValueError):
                read(text)
        with contextlib.suppress(InputError, ValueError):
            parse_nodes(text, 50)


def test_work_of_visitors_who_left_is_given_up(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("pages.background.jobs.GONE_AFTER", 0.1)
    here = {"anna"}
    pool = Pool(workers=1, present=lambda owner: owner in here)
    stopped = threading.Event()

    def run(job: Job) -> str:
        job.cancel.wait(60)
        stopped.set()
        return "done"

    job = pool.submit("anna", "slot", "key", run, "a long solve")
    until(lambda: job.state == "running")
    job.touched = time.monotonic() - 60
    time.sleep(0.5)
    assert not job.cancel.is_set()  # a hidden tab polls seldom but is still there
    here.clear()
    assert stopped.wait(10)


def test_the_log_is_json_and_says_nothing_about_people() -> None:
    logger = log.set_up()
    stream = io.StringIO()
    handler = logging.StreamHandler(stream)
    handler.setFormatter(logger.handlers[0].formatter)
    handler.addFilter(lambda record: getattr(record, "work", "") == "a test")  # other tests' workers may still talk
    logger.addHandler(handler)
    try:
        logger.info("work ended", extra={"work": "a test", "state": "done", "seconds": 0.1, "owner": "session-7"})
        try:
            raise ValueError("secret-file-of-alice.npz")
        except ValueError:
            logger.exception("work failed", extra={"work": "a test"})
    finally:
        logger.removeHandler(handler)
    lines = [json.loads(line) for line in stream.getvalue().splitlines()]
    assert [line["event"] for line in lines] == ["work ended", "work failed"]
    assert lines[1]["error"].startswith("ValueError at test_hardening_server.py:")
    assert "alice" not in stream.getvalue()
    assert "session-7" not in stream.getvalue()


def test_a_fault_of_a_page_is_logged_in_the_same_form(capfd: pytest.CaptureFixture[str]) -> None:
    """Streamlit itself would print the text of the error, which may quote what a visitor gave."""
    code = """
from pages.server import log
log.set_up()
from streamlit.error_util import handle_uncaught_app_exception
from streamlit.logger import get_logger
def deep():
    raise ValueError("secret-file-of-alice.npz")
try:
    deep()
except ValueError as error:
    handle_uncaught_app_exception(error)
get_logger("made later").warning("no such file %s", "secret-file-of-alice.npz")
"""
    subprocess.run([sys.executable, "-c", code], cwd=ROOT, check=True, timeout=120)
    captured = capfd.readouterr()
    assert "alice" not in captured.err + captured.out
    lines = {line["event"]: line for line in map(json.loads, captured.err.splitlines())}
    assert lines["no such file %s"]["level"] == "warning"
    fault = lines["Uncaught app execution"]
    assert fault["level"] == "error"
    assert fault["error"].startswith("ValueError at <string>:7 from <string>:9")


def test_safe_defaults() -> None:
    text = (ROOT / ".streamlit" / "config.toml").read_text()
    for line in ('address = "127.0.0.1"', "enableXsrfProtection = true", 'showErrorDetails = "none"',
                 "gatherUsageStats = false", "maxUploadSize = 200", 'level = "warning"'):  # fmt: skip
        assert line in text
    assert Path(ROOT / "requirements.lock").exists()


def test_the_number_comes_before_everybodys_charts_and_nobody_floods_the_queue(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("pages.background.jobs.MOST_PER_OWNER", 3)
    pool = Pool(workers=1)
    go, order = threading.Event(), []
    busy = pool.submit("anna", "chart", 0, lambda job: go.wait(20), "busy")
    until(lambda: busy.state == "running")
    for number in range(3):
        pool.submit("anna", f"chart {number}", f"a{number}", lambda job, n=number: order.append(f"chart {n}"), "chart")
    with pytest.raises(InputError, match="busy"):
        pool.submit("anna", "one too many", "x", lambda job: None, "chart")
    last = pool.submit("bert", "certificate", "b", lambda job: order.append("number"), "number")
    go.set()
    assert last.wait(10)
    assert order[0] == "number"


def test_closing_stops_running_work() -> None:
    pool = Pool(workers=1)
    job = pool.submit("anna", "slot", "key", lambda job: job.cancel.wait(60), "a long solve")
    until(lambda: job.state == "running")
    started = time.monotonic()
    pool.close()
    assert job.finished.is_set()
    assert time.monotonic() - started < 3


def test_a_slow_solve_leaves_workers_to_others() -> None:
    pool, go, order = Pool(), threading.Event(), []
    for owner in ("anna", "bert", "cleo"):
        pool.submit(owner, "chart", owner, lambda job: go.wait(20), "long")
    for number in range(3):
        pool.submit("dora", f"chart {number}", number, lambda job: go.wait(20), "chart")
    until(lambda: [job.state for job in pool._live.values()].count("running") == 2)
    assert sorted(job.label for job in pool._live.values() if job.state == "running") == ["long", "long"]
    assert pool.crowd() == 4
    quick = pool.submit("emil", "certificate", "quick", lambda job: order.append("number"), "number")
    assert quick.wait(5)
    go.set()
    until(lambda: pool.crowd() == 0)


def test_moving_often_does_not_fill_the_queue(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("pages.background.jobs.MOST_PER_OWNER", 3)
    pool, go = Pool(workers=1), threading.Event()
    busy = pool.submit("anna", "certificate", "busy", lambda job: go.wait(20), "busy")
    until(lambda: busy.state == "running")
    for number in range(10):
        last = pool.submit("bert", "certificate", number, lambda job, n=number: n, "number")
    go.set()
    assert last.wait(10)
    assert last.result == 9


def test_work_that_was_given_up_is_asked_for_again() -> None:
    """After a lost connection the same work starts anew; the one that was told to stop is of no use."""
    pool, stop = Pool(workers=2), threading.Event()
    first = pool.submit("anna", "certificate", "key", lambda job: stop.wait(20), "number")
    until(lambda: first.state == "running")
    pool.leave("anna", first)
    again = pool.submit("anna", "certificate", "key", lambda job: "fresh", "number")
    assert again is not first
    assert again.wait(5)
    stop.set()
    assert again.result == "fresh"


def test_a_page_whose_work_was_given_up_asks_again(monkeypatch: pytest.MonkeyPatch) -> None:
    class Fickle(Pool):
        asked = 0

        def submit(self, *args: Any, **kwargs: Any) -> Job:
            self.asked += 1
            job = super().submit(*args, **kwargs)
            if self.asked == 1:
                self.leave(args[0], job)
            return job

    def page() -> None:
        import streamlit as st

        from pages.background import work

        task = work.ask("certificate", "key", lambda job: job.cancel.wait(0.2) or "the number", "Solving")
        st.write(task.result if task.fresh else "nothing yet")
        work.watch_all([("", task)] if task.running else [])
        work.watch()

    fickle = Fickle(workers=1)
    monkeypatch.setattr("pages.background.work.pool", lambda: fickle)
    shown = AppTest.from_function(page, default_timeout=30).run()
    assert not shown.exception
    assert [element.value for element in shown.markdown] == ["the number"]


def test_one_question_for_everything_that_is_under_way(monkeypatch: pytest.MonkeyPatch) -> None:
    """A page with several pieces of work asks about all of them at once, and tells how far each is."""
    import streamlit

    def page() -> None:
        import streamlit as st

        from pages.background import work

        def ask(slot: str) -> tuple[str, work.Work]:
            return slot, work.ask(slot, slot, lambda job: job.cancel.wait(20), f"Work {slot}", patience=0.05)

        waits = [ask(slot) for slot in ("one", "two", "three")]
        work.watch_all(waits, lambda: st.text(str(work.shares(waits, ["one", "two", "three"]))))
        work.watch()

    asked, fragment = [], streamlit.fragment
    monkeypatch.setattr(streamlit, "fragment", lambda *a, **k: asked.append(k) or fragment(*a, **k))
    pool = Pool(workers=2)
    monkeypatch.setattr("pages.background.work.pool", lambda: pool)
    shown = AppTest.from_function(page, default_timeout=30).run()
    assert not shown.exception
    assert len(asked) == 1
    assert shown.text[0].value.count("0.08") == 3, "how far each is"
    pool.close()


def test_what_was_cancelled_is_not_shown_for_another_instance(monkeypatch: pytest.MonkeyPatch) -> None:
    """A was on show, B is asked for and cancelled with a weaker result: back at A, nothing of B may appear."""
    from pages.background import work

    state: dict[str, Any] = {}
    pool = Pool(workers=2)
    monkeypatch.setattr(work, "pool", lambda: pool)
    monkeypatch.setattr(work.st, "session_state", state)
    monkeypatch.setattr(work.st, "rerun", lambda: None)
    monkeypatch.setattr(work.st, "container", lambda **options: contextlib.nullcontext())
    monkeypatch.setattr(work.st, "markdown", lambda *words, **options: None)
    monkeypatch.setattr(work.st, "button", lambda *words, **options: None)

    def until_told(job: Job) -> str:
        job.cancel.wait(20)
        return "weaker"

    assert work.ask("certificate", "a1", lambda job: "of A", "A", same="A").fresh
    running = work.ask("certificate", "b1", until_told, "B", same="B", patience=0.1)
    assert running.running
    assert running.result is None
    work.cancel("certificate")
    job = state["_jobs"]["certificate"]
    assert job.finished.wait(5)
    work._poll({"certificate": None})
    assert work.ask("certificate", "b1", until_told, "B", same="B", patience=0.1).result == "weaker"
    back = work.ask("certificate", "a2", until_told, "A", same="A", patience=0.1)
    assert back.running
    assert back.result is None, "a number of B would stand there as one of A"
    pool.close()
