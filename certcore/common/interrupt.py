"""Ctrl-C during a solve: C code does not notice it, so the solve runs in a second thread."""

from __future__ import annotations

import threading
from collections.abc import Callable
from functools import partial
from typing import Any, TypeVar

T = TypeVar("T")


def run_beside(work: Callable[[threading.Event], T], on_interrupt: Callable[[], None] | None = None) -> tuple[T, bool]:
    """Run the work in a thread of its own; returns its result, and whether it was cancelled.

    The first interrupt sets the event that the work was given and calls `on_interrupt`, a second one is raised.
    """
    cancel, done = threading.Event(), threading.Event()
    outcome: list[Any] = [None, None]

    def run() -> None:
        try:
            outcome[0] = work(cancel)
        except BaseException as error:
            outcome[1] = error
        finally:
            done.set()

    thread = threading.Thread(target=run, name="certcore-work")
    wait: Callable[[], object] = thread.start  # it waits too, until the thread runs
    # Not Thread.join: once interrupted, it may take a running thread for a finished one.
    while not done.is_set():
        try:
            wait()
        except KeyboardInterrupt:
            if cancel.is_set():
                raise
            cancel.set()
            if on_interrupt is not None:
                on_interrupt()
        wait = partial(done.wait, 0.2)
    if outcome[1] is not None:
        raise outcome[1]
    return outcome[0], cancel.is_set()
