"""Background work: bounded, fair, shared and cancellable."""

from __future__ import annotations

import threading
import time

import pytest

from certcore.errors import InputError
from pages.shared import jobs
from pages.shared.jobs import Job, Pool


def test_result_is_kept_and_shared() -> None:
    pool, calls = Pool(workers=1), []

    def run(job: Job) -> int:
        calls.append(job)
        time.sleep(0.05)
        return 7

    first = pool.submit("ann", "main", "key", run, "work")
    second = pool.submit("bob", "main", "key", run, "work")
    assert first is second
    assert first.wait(5)
    assert first.result == 7
    assert pool.result("key") == 7
    assert len(calls) == 1


def test_newer_work_in_a_slot_cancels_the_older() -> None:
    pool, started = Pool(workers=1), threading.Event()

    def slow(job: Job) -> str:
        started.set()
        assert job.cancel.wait(5)
        return "stopped"

    old = pool.submit("ann", "main", 1, slow, "old")
    assert started.wait(5)
    new = pool.submit("ann", "main", 2, lambda job: "new", "new")
    assert new.wait(5)
    assert old.state == "cancelled"
    assert pool.result(1) is None, "what was cancelled must not be taken for a result"
    assert new.result == "new"


def test_work_wanted_by_somebody_else_goes_on() -> None:
    pool, go = Pool(workers=1), threading.Event()
    job = pool.submit("ann", "main", "k", lambda job: go.wait(5), "w")
    pool.submit("bob", "main", "k", lambda job: None, "w")
    pool.leave("ann", job)
    assert not job.cancel.is_set()
    pool.leave("bob", job)
    assert job.cancel.is_set()
    go.set()


def test_visitors_take_turns() -> None:
    pool, go, order = Pool(workers=1), threading.Event(), []

    def run(name: str) -> object:
        def body(job: Job) -> None:
            go.wait(5)
            order.append(name)

        return body

    for number in range(4):
        pool.submit("ann", f"slot{number}", f"ann{number}", run("ann"), "w")  # type: ignore[arg-type]
    last = pool.submit("bob", "main", "bob", run("bob"), "w")  # type: ignore[arg-type]
    go.set()
    assert last.wait(5)
    assert order.index("bob") <= 2, order


def test_a_full_queue_says_so(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(jobs, "MOST_WAITING", 2)
    pool, go = Pool(workers=1), threading.Event()
    pool.submit("ann", "a", 0, lambda job: go.wait(5), "w")
    time.sleep(0.1)
    pool.submit("ann", "b", 1, lambda job: None, "w")
    pool.submit("ann", "c", 2, lambda job: None, "w")
    with pytest.raises(InputError, match="busy"):
        pool.submit("bob", "d", 3, lambda job: None, "w")
    go.set()


def test_errors_become_sentences_and_the_worker_survives() -> None:
    pool = Pool(workers=1)

    def bad(job: Job) -> None:
        raise InputError("give a budget")

    def broken(job: Job) -> None:
        raise RuntimeError("secret path /root")

    first = pool.submit("ann", "a", 1, bad, "w")
    second = pool.submit("ann", "b", 2, broken, "w")
    third = pool.submit("ann", "c", 3, lambda job: 3, "w")
    assert third.wait(5)
    assert first.error == "give a budget"
    assert second.error is not None
    assert "secret" not in second.error
    assert third.result == 3


def test_abandoned_work_is_given_up(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(jobs, "ABANDONED_AFTER", 0.1)
    pool, started = Pool(workers=1), threading.Event()

    def slow(job: Job) -> None:
        started.set()
        job.cancel.wait(5)

    job = pool.submit("ann", "a", 1, slow, "w")
    assert started.wait(5)
    time.sleep(0.2)
    pool.submit("bob", "b", 2, lambda job: None, "w")
    assert job.wait(2)
    assert job.state == "cancelled"


def test_old_results_make_room(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(jobs, "MOST_RESULTS", 3)
    pool = Pool(workers=1)
    for number in range(5):
        assert pool.submit("ann", "a", number, lambda job: "x", "w").wait(5)
    time.sleep(0.05)
    assert [pool.result(number) for number in range(5)] == [None, None, "x", "x", "x"]
