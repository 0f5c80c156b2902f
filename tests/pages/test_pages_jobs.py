"""Background work: bounded, fair, shared and cancellable."""

from __future__ import annotations

import random
import threading
import time

import pytest

from certcore.common.errors import InputError
from pages.background import jobs
from pages.background.jobs import Job, Pool
from tests.waiting import until


def test_result_is_kept_and_shared() -> None:
    pool, calls, go = Pool(workers=1), [], threading.Event()

    def run(job: Job) -> int:
        calls.append(job)
        go.wait(5)
        return 7

    first = pool.submit("ann", "main", "key", run, "work")
    second = pool.submit("bob", "main", "key", run, "work")
    assert first is second
    go.set()
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
    busy = pool.submit("ann", "a", 0, lambda job: go.wait(5), "w")
    until(lambda: busy.state == "running")
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
    job.touched -= 1
    pool.submit("bob", "b", 2, lambda job: None, "w")
    assert job.wait(2)
    assert job.state == "cancelled"


def test_old_results_make_room(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(jobs, "MOST_RESULTS", 3)
    pool = Pool(workers=1)
    for number in range(5):
        assert pool.submit("ann", "a", number, lambda job: "x", "w").wait(5)
    until(lambda: pool.result(4) is not None)
    assert [pool.result(number) for number in range(5)] == [None, None, "x", "x", "x"]


def test_work_that_ends_in_a_strange_way_still_ends() -> None:
    """Streamlit stops pages with exceptions of its own kind; one in a worker must not take the worker with it."""

    class Strange(BaseException):
        pass

    def run(job: Job) -> None:
        raise Strange

    pool = Pool(workers=1)
    job = pool.submit("ann", "a", 1, run, "w")
    assert job.wait(5)
    assert job.state == "failed"
    assert pool.submit("ann", "b", 2, lambda job: "next", "w").wait(5)


def test_work_that_is_slow_to_stop_counts_as_long_as_it_runs() -> None:
    """A chart is given up and asked for again before it has stopped: the workers kept for numbers stay free."""
    pool, stop, order = Pool(), threading.Event(), []
    started = [threading.Event(), threading.Event()]

    def stubborn(number: int) -> object:
        def body(job: Job) -> None:
            started[number].set()
            stop.wait(20)

        return body

    old = pool.submit("ann", "chart", "key", stubborn(0), "w")  # type: ignore[arg-type]
    assert started[0].wait(5)
    pool.leave("ann", old)
    pool.submit("ann", "chart", "key", stubborn(1), "w")  # type: ignore[arg-type]
    assert started[1].wait(5)
    third = pool.submit("bob", "chart", "other", lambda job: order.append("chart"), "w")
    assert not third.wait(0.3)
    number = pool.submit("cleo", "certificate", "n", lambda job: order.append("number"), "w")
    assert number.wait(5)
    assert order == ["number"]
    stop.set()
    assert third.wait(5)


def test_numbers_of_one_program_take_no_worker_from_others() -> None:
    """A slow program holds one worker; others who ask the same program wait without one, and then get their turn."""
    pool, go = Pool(), threading.Event()
    slow = [
        pool.submit(f"visitor {n}", "certificate", n, lambda job: go.wait(20), "w", program="large") for n in range(5)
    ]
    until(lambda: slow[0].state == "running")
    other = pool.submit("ann", "certificate", "other", lambda job: "quick", "w", program="small")
    assert other.wait(5)
    assert [job.state for job in slow] == ["running"] + ["waiting"] * 4
    go.set()
    assert all(job.wait(5) for job in slow)


def test_nobody_is_left_waiting_whatever_others_do(monkeypatch: pytest.MonkeyPatch) -> None:
    """Visitors ask as pages do for shared and own work, move on, cancel, lose results to others; all get theirs."""
    monkeypatch.setattr(jobs, "MOST_RESULTS", 3)
    pool = Pool()
    left: list[str] = []

    def run(job: Job) -> object:
        if job.cancel.wait(random.choice((0, 0, 0.001, 0.004))):
            return None
        if job.key[1] == 7:  # type: ignore[index]
            raise RuntimeError
        return job.key

    def ask(owner: str, slot: str, key: object, seen: dict[str, Job]) -> bool:
        """As `pages.background.work.ask` and its poll: whether the page has what it wants, or an error to show."""
        last = seen.get(slot)
        if pool.result(key) == key or (last is not None and last.key == key and last.state in ("done", "failed")):
            return True
        seen[slot] = pool.submit(owner, slot, key, run, "w", program=key if slot == "certificate" else None)
        seen[slot].touched = time.monotonic()
        return seen[slot].wait(0.002) and seen[slot].state == "done"

    def visit(number: int) -> None:
        rng, owner, seen = random.Random(number), f"visitor {number}", {}
        for _ in range(60):
            wanted = {slot: (slot, rng.randrange(8)) for slot in ("certificate", "mini", "classes", "attack")}
            for _ in range(rng.randrange(4)):
                for slot, key in wanted.items():
                    ask(owner, slot, key, seen)
            if rng.random() < 0.2 and seen:
                pool.leave(owner, rng.choice(list(seen.values())))
        deadline = time.monotonic() + 30
        for slot, key in wanted.items():
            while not ask(owner, slot, key, seen):
                if time.monotonic() > deadline:
                    left.append(f"{owner} waits for {key}: {seen[slot].state}")
                    return

    threads = [threading.Thread(target=visit, args=(number,)) for number in range(16)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60)
    assert left == []
    assert not any(thread.is_alive() for thread in threads)
    until(lambda: not pool._live)
    assert not pool._waiting, "something is kept of every visitor who ever moved on"
