"""Work in a thread of its own that can be watched, cancelled and left behind.

A solve in C hears neither Ctrl-C nor a cancelled request, so it runs beside the thread that does.
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
    """Work in a thread of its own; its result, or its error, is kept. No daemon: a process must not end in a solve."""

    def __init__(self, work: Callable[[], T]) -> None:
        self._work = work
        self._outcome: list[Any] = [None, None]
        self._done = threading.Event()
        # Not Thread.join: once interrupted, it may take a running thread for a finished one.
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
        """What the finished work returned; what it raised is raised here."""
        if self._outcome[1] is not None:
            raise self._outcome[1]
        result: T = self._outcome[0]
        return result


def run_beside(work: Callable[[threading.Event], T], on_interrupt: Callable[[], None] | None = None) -> tuple[T, bool]:
    """Run the work in a thread of its own; returns its result, and whether it was cancelled.

    The first interrupt sets the event that the work was given and calls `on_interrupt`, a second one is raised.
    """
    cancel = threading.Event()
    running = Beside(lambda: work(cancel))
    wait: Callable[[], object] = running.start  # it waits too, until the thread runs
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
    """Run the work in a thread and leave it behind when cancelled: building a program cannot be interrupted."""
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
    """Call `stop` from another thread as soon as the event is set (looked at every so many seconds)."""
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
    """Whether this is the kernel of a notebook (and not a terminal, where Ctrl-C should end the program)."""
    shell: Any = getattr(sys.modules.get("IPython"), "get_ipython", lambda: None)()
    return shell is not None and hasattr(shell, "kernel")


def interruptible(work: Callable[[threading.Event | None], T], cancel: threading.Event | None) -> T:
    """Run `work(cancel)`; in the main thread of a notebook an interrupt cancels it and leaves what was proven."""
    if cancel is not None or not _in_notebook() or threading.current_thread() is not threading.main_thread():
        return work(cancel)
    return run_beside(work)[0]
