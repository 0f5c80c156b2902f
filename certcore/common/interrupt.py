"""Background threads for long solves, which can be watched, cancelled or abandoned.

A solver written in C reacts neither to Ctrl-C nor to a cancelled request. So it runs in a second thread, while the
first thread handles interrupts.
"""

from __future__ import annotations

import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from typing import Any, Generic, TypeVar

T = TypeVar("T")
Other = TypeVar("Other")


class Beside(Generic[T]):
    """Runs work in a non-daemon thread and keeps its result or error. The process must not exit during a solve."""

    def __init__(self, work: Callable[[], T]) -> None:
        self._work = work
        self._outcome: list[Any] = [None, None]
        self._done = threading.Event()
        # Not Thread.join: after an interrupt it may report a running thread as finished.
        self.wait = self._done.wait
        self.is_done = self._done.is_set
        self.start = threading.Thread(target=self._run, name="certcore-work").start

    def _run(self) -> None:
        try:
            self._outcome[0] = self._work()
        except BaseException as error:
            self._outcome[1] = error
        finally:
            self._done.set()

    def result(self) -> T:
        """The return value of the finished work; an exception of the work is raised again here."""
        if self._outcome[1] is not None:
            raise self._outcome[1]
        result: T = self._outcome[0]
        return result


def run_beside(work: Callable[[threading.Event], T], on_interrupt: Callable[[], None] | None = None) -> tuple[T, bool]:
    """Run the work in a second thread; returns its result and whether it was cancelled.

    The first interrupt sets the event that was passed to the work and calls `on_interrupt`. A second interrupt is
    raised.
    """
    cancel = threading.Event()
    running = Beside(lambda: work(cancel))
    wait: Callable[[], object] = running.start  # start() blocks too, until the thread runs
    while not running.is_done():
        try:
            wait()
        except KeyboardInterrupt:
            if cancel.is_set():
                raise
            cancel.set()
            if on_interrupt is not None:
                on_interrupt()
        wait = partial(running.wait, 0.2)
    return running.result(), cancel.is_set()


def run_or_leave(work: Callable[[], T], cancel: threading.Event, otherwise: Callable[[], Other]) -> T | Other:
    """Run the work in a thread; when cancelled, abandon the thread (it cannot be stopped) and return `otherwise()`."""
    if cancel.is_set():
        return otherwise()
    running = Beside(work)
    running.start()
    try:
        while not running.wait(0.02):
            if cancel.is_set() and not running.wait(0.04):
                return otherwise()
    except BaseException:
        cancel.set()
        raise
    return running.result()


@contextmanager
def watching(cancel: threading.Event, stop: Callable[[], object], every: float) -> Iterator[None]:
    """Call `stop` from another thread once the event is set. The event is polled every `every` seconds."""
    finished = threading.Event()

    def watch() -> None:
        while not finished.wait(every):
            if cancel.is_set():
                stop()
                return

    watcher = threading.Thread(target=watch, daemon=True)
    watcher.start()
    try:
        yield
    finally:
        finished.set()
        watcher.join()


def _in_notebook() -> bool:
    """Whether this process is a notebook kernel. In a terminal, Ctrl-C should end the program instead."""
    shell: Any = getattr(sys.modules.get("IPython"), "get_ipython", lambda: None)()
    return shell is not None and hasattr(shell, "kernel")


def interruptible(work: Callable[[threading.Event | None], T], cancel: threading.Event | None) -> T:
    """Run `work(cancel)`; in a notebook's main thread an interrupt cancels it and keeps the bound proven so far."""
    if cancel is not None or not _in_notebook() or threading.current_thread() is not threading.main_thread():
        return work(cancel)
    return run_beside(work)[0]
