"""What the sweeping commands share: ranges of values, workers, and Ctrl-C."""

from __future__ import annotations

import argparse
import threading
from collections.abc import Callable
from typing import Any, TypeVar

from certcore.cli.options import whole_number
from certcore.common.numbers import read_numbers

Result = TypeVar("Result")
#: How values are written, for the help of every option that takes some.
VALUES = "A:B[:STEP],…"
VALUES_HELP = "its values: numbers and ranges with both ends included, such as 0,1,2,5,10:100:10"


def add_workers(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--jobs", type=whole_number, default=1, metavar="N", help="worker processes (default: 1)")
    parser.add_argument("--scheduler", metavar="ADDRESS", help="use the Dask cluster at this address instead")


def read_values(text: str, option: str, *, shares: bool = False) -> list[Any]:
    """Values of an axis: numbers and ranges, such as `0,1,2,5,10:100:10`."""
    return read_numbers(text, option, shares=shares)


def interruptible(work: Callable[[threading.Event], Result]) -> tuple[Result, bool]:
    """Run the work so that Ctrl-C cancels it; returns what it has by then, and whether it was cancelled.

    Solvers do not notice signals, so the work runs in a thread and the main thread waits for either.
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

    threading.Thread(target=run).start()
    # Not Thread.join: once interrupted, it may take a running thread for a finished one.
    try:
        while not done.wait(0.2):
            pass
    except KeyboardInterrupt:
        cancel.set()
        done.wait()
    if outcome[1] is not None:
        raise outcome[1]
    return outcome[0], cancel.is_set()
