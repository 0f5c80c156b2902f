"""Background threads for long solves, which can be watched, cancelled or abandoned.

A solver written in C reacts neither to Ctrl-C nor to a cancelled request. So it runs in a second thread, while the
first thread handles interrupts.
"""

from __future__ import annotations

import sys
import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import Future, wait
from contextlib import contextmanager
from functools import partial
from typing import Any, TypeVar

T = TypeVar("T")
Other = TypeVar("Other")


def over(deadline: float, cancel: threading.Event | None) -> bool:
    """Whether the time (of `time.perf_counter`) is over or the work was cancelled."""
    return time.perf_counter() > deadline or (cancel is not None and cancel.is_set())


def _thread(work: Callable[[], T], running: Future[T]) -> threading.Thread:
    """A non-daemon thread that puts the result or error of the work into a future. No process exits during a solve."""

    def run() -> None:
        try:
            running.set_result(work())
        except BaseException as error:
            running.set_exception(error)

    return threading.Thread(target=run, name="certcore-work")


def run_beside(work: Callable[[threading.Event], T], on_interrupt: Callable[[], None] | None = None) -> tuple[T, bool]:
    """Run the work in a second thread; returns its result and whether it was cancelled.

    The first interrupt sets the event that was passed to the work and calls `on_interrupt`. A second interrupt is
    raised.
    """
    cancel = threading.Event()
    running: Future[T] = Future()
    # start() blocks too, until the thread runs. It is not joined: after an interrupt, join may report a running thread
    # as finished.
    step: Callable[[], object] = _thread(lambda: work(cancel), running).start
    while not running.done():
        try:
            step()
        except KeyboardInterrupt:
            if cancel.is_set():
                raise
            cancel.set()
            if on_interrupt is not None:
                on_interrupt()
        step = partial(wait, [running], 0.2)
    return running.result(), cancel.is_set()


def run_or_leave(work: Callable[[], T], cancel: threading.Event, otherwise: Callable[[], Other]) -> T | Other:
    """Run the work in a thread; when cancelled, abandon the thread (it cannot be stopped) and return `otherwise()`."""
    if cancel.is_set():
        return otherwise()
    running: Future[T] = Future()
    _thread(work, running).start()
    try:
        while wait([running], 0.02).not_done:
            if cancel.is_set() and wait([running], 0.04).not_done:
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


@contextmanager
def limited(seconds: float, cancel: threading.Event | None = None) -> Iterator[threading.Event]:
    """An event that is set after some seconds, or when `cancel` is set."""
    stop = threading.Event()
    timer = threading.Timer(seconds, stop.set)
    timer.daemon = True
    timer.start()
    try:
        if cancel is None:
            yield stop
        else:
            with watching(cancel, stop.set, 0.05):
                yield stop
    finally:
        timer.cancel()


def _in_notebook() -> bool:
    """Whether this process is a notebook kernel. In a terminal, Ctrl-C should end the program instead."""
    shell: Any = getattr(sys.modules.get("IPython"), "get_ipython", lambda: None)()
    return shell is not None and hasattr(shell, "kernel")


def interruptible(work: Callable[[threading.Event | None], T], cancel: threading.Event | None) -> T:
    """Run `work(cancel)`; in a notebook's main thread an interrupt cancels it and keeps the bound proven so far."""
    if cancel is not None or not _in_notebook() or threading.current_thread() is not threading.main_thread():
        return work(cancel)
    return run_beside(work)[0]
