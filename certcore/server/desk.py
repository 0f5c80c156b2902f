"""Who works on which question when: lanes of threads that take short questions first and give way after a moment.

A question passes through stages, each in its lane. Its work is a generator; after 0.1 s it goes back into the queue, so
a map of minutes holds up no curve of half a second. Equal questions are worked on once, and all who ask get all lines.
When the last of them has left, the work is cancelled.
"""

from __future__ import annotations

import asyncio
import os
import threading
import time
from collections import deque
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from functools import partial
from typing import Any

from certcore.server.questions import Asked, Line

#: Threads of each lane and their niceness (on Linux that of the thread).
LANES = {"number": (2, 0), "attack": (1, 5), "chart": (2, 10)}
#: Questions of one visitor, by the lane that they begin in; and all that may wait.
MOST_OF_ONE, MOST_WAITING = 6, 400
#: Seconds after which a question gives way to another one.
SLICE = 0.1
#: A thread that has been in one step for longer is stood in for by another; at most so many.
STUCK, STAND_INS = 0.5, 2
#: Expected seconds of a question that is not like any before.
UNKNOWN_SECONDS = 0.05


class Busy(Exception):
    """Too much is waiting; ask again in a moment."""


@dataclass(eq=False)
class _Listener:
    """Somebody who waits for the lines of a question."""

    loop: asyncio.AbstractEventLoop
    lines: asyncio.Queue[Line | Exception | None] = field(default_factory=asyncio.Queue)

    def tell(self, line: Line | Exception | None) -> None:
        if not self.loop.is_closed():
            self.loop.call_soon_threadsafe(self.lines.put_nowait, line)


class Lines:
    """The lines of a question as they come; whoever takes them has to close them."""

    def __init__(self, listener: _Listener, leave: Callable[[], None]) -> None:
        self._listener, self._leave, self._open = listener, leave, True

    def __aiter__(self) -> Lines:
        return self

    async def __anext__(self) -> Line:
        line = await self._listener.lines.get()
        if line is None:
            raise StopAsyncIteration
        if isinstance(line, Exception):
            raise line
        return line

    def close(self) -> None:
        if self._open:
            self._open = False
            self._leave()


class _Task:
    """A question on its way through its stages."""

    def __init__(self, asked: Asked) -> None:
        self.asked = asked
        self.cancel = threading.Event()
        self.told: list[Line | Exception | None] = []
        self.listeners: list[_Listener] = []
        self._stages = deque(asked.stages)
        self._steps: Iterator[Line | None] | None = None
        self.since, self.expected, self.spent = time.monotonic(), UNKNOWN_SECONDS, 0.0

    @property
    def lane(self) -> str:
        return self._stages[0].lane

    @property
    def like(self) -> tuple[Any, ...]:
        return (self.lane, len(self._stages), *self.asked.like)

    def slice(self) -> Iterator[Line]:
        """The lines of one slice; the stage is left when it is over."""
        if self._steps is None:
            self._steps = self._stages[0].run(self.cancel)
        end = time.monotonic() + SLICE
        for line in self._steps:
            if line is not None:
                yield line
            if self.cancel.is_set() or time.monotonic() > end:
                return
        self._stages.popleft()
        self._steps = None

    @property
    def over(self) -> bool:
        return self.cancel.is_set() or not self._stages

    @property
    def begun(self) -> bool:
        """Whether it is in the middle of a stage."""
        return self._steps is not None


class Desk:
    """The queues and threads of one process."""

    def __init__(self, lanes: dict[str, tuple[int, int]] = LANES) -> None:
        self._lanes = lanes
        self._changed = threading.Condition()
        self._waiting: dict[str, list[_Task]] = {lane: [] for lane in lanes}
        self._running: dict[str, dict[int, float]] = {lane: {} for lane in lanes}
        self._threads, self._idle = dict.fromkeys(lanes, 0), dict.fromkeys(lanes, 0)
        self._tasks: dict[str, _Task] = {}
        self._held: dict[tuple[str, str], int] = {}
        self._seconds: dict[tuple[Any, ...], float] = {}
        self._watched = False

    def ask(self, visitor: str, asked: Asked) -> Lines:
        """All lines of a question. Closing them cancels the work, unless others wait for the same."""
        listener = _Listener(asyncio.get_running_loop())
        place = (visitor, asked.stages[0].lane)
        with self._changed:
            waiting = sum(map(len, self._waiting.values()))
            if self._held.get(place, 0) >= MOST_OF_ONE or waiting >= MOST_WAITING:
                raise Busy
            self._held[place] = self._held.get(place, 0) + 1
            task = self._tasks.get(asked.of)
            if task is None or task.cancel.is_set():
                task = self._tasks[asked.of] = _Task(asked)
                self._put(task)
            task.listeners.append(listener)
            for line in task.told:
                listener.tell(line)
        return Lines(listener, partial(self._leave, task, listener, place))

    def _leave(self, task: _Task, listener: _Listener, place: tuple[str, str]) -> None:
        with self._changed:
            self._held[place] -= 1
            if not self._held[place]:
                del self._held[place]
            task.listeners.remove(listener)
            if not task.listeners:
                task.cancel.set()
                if self._tasks.get(task.asked.of) is task:
                    del self._tasks[task.asked.of]

    def _tell(self, task: _Task, line: Line | Exception | None) -> None:
        with self._changed:
            task.told.append(line)
            for listener in task.listeners:
                listener.tell(line)

    # Queues; the lock is held.

    def _put(self, task: _Task) -> None:
        task.since = time.monotonic()
        task.expected = self._seconds.get(task.like, UNKNOWN_SECONDS)
        self._waiting[task.lane].append(task)
        self._hire(task.lane)
        self._changed.notify_all()

    def _hire(self, lane: str) -> None:
        """Another thread, if work waits, none is idle, and those at work are stuck or too few."""
        moving = sum(time.monotonic() - since < STUCK for since in self._running[lane].values())
        most = self._lanes[lane][0]
        if self._waiting[lane] and not self._idle[lane] and moving < most and self._threads[lane] < most + STAND_INS:
            self._threads[lane] += 1
            threading.Thread(target=self._serve, args=(lane,), daemon=True, name=f"certcore-{lane}").start()
        if not self._watched:
            self._watched = True
            threading.Thread(target=self._watch, daemon=True, name="certcore-desk").start()

    def _watch(self) -> None:
        """Stand in for stuck threads, as long as there is anything to do."""
        while True:
            time.sleep(SLICE)
            with self._changed:
                for lane in self._lanes:
                    self._hire(lane)
                if not any(self._waiting.values()):
                    self._watched = False
                    return

    def _next(self, lane: str) -> _Task | None:
        """The question that is expected to be shortest; waiting counts in its favour. None if the thread may go."""
        queue, running = self._waiting[lane], self._running[lane]
        while not queue:
            self._idle[lane] += 1
            woken = self._changed.wait(10)
            self._idle[lane] -= 1
            if not queue and not woken:
                return None
        now = time.monotonic()
        if sum(now - since < STUCK for since in running.values()) >= self._lanes[lane][0]:
            return None  # those whom this thread has stood in for are back
        task = min(queue, key=lambda one: one.expected - 0.5 * (now - one.since))
        queue.remove(task)
        running[threading.get_ident()] = now
        return task

    # Work.

    def _serve(self, lane: str) -> None:
        nice = self._lanes[lane][1]
        if nice and hasattr(os, "setpriority"):
            os.setpriority(os.PRIO_PROCESS, threading.get_native_id(), nice)
        while True:
            with self._changed:
                task = self._next(lane)
                if task is None:
                    self._threads[lane] -= 1
                    return
            try:
                self._work(task)
            finally:
                with self._changed:
                    self._running[lane].pop(threading.get_ident(), None)

    def _work(self, task: _Task) -> None:
        like, began, failed = task.like, time.monotonic(), False
        try:
            for line in () if task.over else task.slice():
                self._tell(task, line)
        except Exception as error:  # whoever asked is told; this thread goes on
            failed = True
            self._tell(task, error)
        task.spent += time.monotonic() - began
        with self._changed:
            if failed or task.over:
                task.told.append(None)
                for listener in task.listeners:
                    listener.tell(None)
                if self._tasks.get(task.asked.of) is task:
                    del self._tasks[task.asked.of]
                return
            if not task.begun:
                before = self._seconds.get(like, task.spent)
                self._seconds[like] = 0.7 * before + 0.3 * task.spent
                task.spent = 0.0
                while len(self._seconds) > 1000:
                    self._seconds.pop(next(iter(self._seconds)))
            self._put(task)
