"""What the sweeping commands share: ranges of values, workers, and Ctrl-C."""

from __future__ import annotations

import argparse
import threading
from collections.abc import Callable
from decimal import Decimal, InvalidOperation
from typing import Any, TypeVar

from certcore.cli.options import whole_number
from certcore.errors import InputError
from certcore.sweep.axis import MAX_VALUES

Result = TypeVar("Result")


def add_workers(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--jobs", type=whole_number, default=1, metavar="N", help="worker processes (default: 1)")
    parser.add_argument("--scheduler", metavar="ADDRESS", help="use the Dask cluster at this address instead")


def read_values(text: str, option: str, *, shares: bool = False) -> list[Any]:
    """`A:B[:STEP]`, both ends included; whole numbers, or decimals where values are shares of something."""
    parts = text.split(":")
    numbers = [_number(part, shares) for part in parts]
    if not 1 <= len(parts) <= 3 or any(n is None for n in numbers):
        kind = "decimals" if shares else "whole numbers"
        raise InputError(f"{option} is {text[:40]!r}; expected A:B or A:B:STEP in {kind}, both ends included")
    first = numbers[0]
    last = numbers[1] if len(numbers) > 1 else first
    step = numbers[2] if len(numbers) > 2 else 1
    assert first is not None
    assert last is not None
    assert step is not None
    if step <= 0 or last < first:
        raise InputError(f"{option} is {text[:40]!r}; expected A at most B and a step of at least 1")
    if (last - first) / step > MAX_VALUES:
        raise InputError(f"{option} asks for more than {MAX_VALUES:,} values; choose a larger step")
    values = []
    while first <= last:
        values.append(first)
        first += step
    if values[-1] != last:
        values.append(last)
    return [str(v) for v in values] if shares else [int(v) for v in values]


def _number(text: str, shares: bool) -> Decimal | None:
    try:
        value = Decimal(text) if len(text) <= 20 else None
    except InvalidOperation:
        return None
    if value is None or not value.is_finite() or value < 0:
        return None
    if value and abs(value.adjusted()) > 30:  # 1e999999 would overflow as soon as it is divided by a step
        return None
    return value if shares or value == value.to_integral_value() else None


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
