"""Lanes: short work is not held up by long work, waiting gains, and a stuck thread is stood in for."""

from __future__ import annotations

import asyncio
import threading
import time
from collections.abc import Callable, Iterator

import pytest

from certcore.server import desk as desk_module
from certcore.server.desk import Desk
from certcore.server.questions import Asked, Line, Stage

Work = Callable[[threading.Event], Iterator[Line | None]]


def asked(name: str, *work: Work, lane: str = "chart") -> Asked:
    return Asked(name, (name,), tuple(Stage(lane, one) for one in work))


def long_work(cancel: threading.Event) -> Iterator[Line | None]:
    for number in range(400):
        time.sleep(0.01)
        yield Line({"step": number})


def short_work(cancel: threading.Event) -> Iterator[Line | None]:
    time.sleep(0.01)
    yield Line({"kind": "short"})


async def collected(desk: Desk, one: Asked, visitor: str = "a") -> list[Line]:
    lines = desk.ask(visitor, one)
    try:
        return [line async for line in lines]
    finally:
        lines.close()


def test_long_work_gives_way_to_short_work() -> None:
    async def go() -> float:
        desk = Desk({"chart": (1, 0)})
        long = [desk.ask("a", asked(f"long {k}", long_work)) for k in range(3)]
        await asyncio.sleep(0.05)
        began = time.monotonic()
        await collected(desk, asked("short", short_work))
        took = time.monotonic() - began
        for one in long:
            one.close()
        return took

    assert asyncio.run(go()) < 1.0


def test_stages_follow_each_other_and_an_error_ends_them() -> None:
    def fails(cancel: threading.Event) -> Iterator[Line | None]:
        yield Line({"kind": "before"})
        raise ValueError("wrong")

    async def go() -> list[str]:
        desk = Desk({"chart": (1, 0)})
        told = [line.data["kind"] for line in await collected(desk, asked("two", short_work, short_work))]
        lines = desk.ask("a", asked("bad", fails, short_work))
        told.append((await anext(lines)).data["kind"])
        with pytest.raises(ValueError, match="wrong"):
            await anext(lines)
        lines.close()
        lines.close()
        told += [line.data["kind"] for line in await collected(desk, asked("bad", short_work))]
        return told

    assert asyncio.run(go()) == ["short", "short", "before", "short"]


def test_work_ends_when_the_last_one_leaves() -> None:
    seen: list[threading.Event] = []

    def work(cancel: threading.Event) -> Iterator[Line | None]:
        seen.append(cancel)
        yield from long_work(cancel)

    async def go() -> None:
        desk = Desk({"chart": (1, 0)})
        first, second = desk.ask("a", asked("one", work)), desk.ask("b", asked("one", work))
        await anext(first)
        first.close()
        assert (await anext(second)).data == {"step": 0}
        assert not seen[0].is_set()
        second.close()
        assert seen[0].is_set()

    asyncio.run(go())
    assert len(seen) == 1


def test_a_stuck_thread_is_stood_in_for(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(desk_module, "STUCK", 0.1)

    def stuck(cancel: threading.Event) -> Iterator[Line | None]:
        cancel.wait(5)
        yield None

    async def go() -> float:
        desk = Desk({"chart": (1, 0)})
        held = desk.ask("a", asked("stuck", stuck))
        await asyncio.sleep(0.05)
        began = time.monotonic()
        await collected(desk, asked("short", short_work))
        took = time.monotonic() - began
        held.close()
        return took

    assert asyncio.run(go()) < 2.0
