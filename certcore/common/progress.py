"""A progress bar for long commands: progress, speed and remaining time."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable
from typing import TextIO

StepsDone = Callable[[int, int, str], None]
"""Called with the number of steps done, the total number of steps, and a description of the next step."""


def tell(progress: StepsDone | None, done: int, total: int, what: str) -> None:
    if progress is not None:
        progress(done, total, what)


class ProgressBar:
    """A progress bar on standard error: redrawn in place on a terminal, one line per half minute in a log file."""

    def __init__(
        self, label: str, total: int, start: int = 0, unit: str = "samples", stream: TextIO | None = None
    ) -> None:
        self.label, self.total, self.unit = label, total, unit
        self.start = self.done = start
        # Notebooks display standard error as an error. They do support redrawing a line.
        self.notebook = stream is None and type(sys.stdout).__module__.startswith("ipykernel")
        self.stream = stream or (sys.stdout if self.notebook else sys.stderr)
        self.begun = time.monotonic()
        self.shown = 0.0

    def update(self, done: int, note: str = "") -> None:
        """Set the number of finished steps; redraws at most ten times a second."""
        self.done = done
        now = time.monotonic()
        terminal = self.notebook or self.stream.isatty()
        if now - self.shown < (0.1 if terminal else 30.0) and (done < self.total or not terminal):
            return
        self.shown = now
        line = self.line(now - self.begun) + (f" · {note}" if note else "")
        self.stream.write(f"\r\x1b[2K{line}" if terminal else f"{line}\n")
        self.stream.flush()

    def line(self, seconds: float) -> str:
        """The line as text."""
        rate = (self.done - self.start) / seconds if seconds > 0 else 0.0
        share = self.done / self.total if self.total else 1.0
        bar = "█" * int(24 * share) + "·" * (24 - int(24 * share))
        left = f", {_clock((self.total - self.done) / rate)} left" if rate > 0 and self.done < self.total else ""
        return f"{self.label} {bar} {self.done:,} of {self.total:,} {self.unit}, {rate:,.0f}/s{left}"

    def close(self) -> None:
        """Print the final state on its own line."""
        line = self.line(time.monotonic() - self.begun)
        self.stream.write(f"\r\x1b[2K{line}\n" if self.notebook or self.stream.isatty() else f"{line}\n")
        self.stream.flush()


def _clock(seconds: float) -> str:
    minutes, rest = divmod(round(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours}:{minutes:02d}:{rest:02d}" if hours else f"{minutes}:{rest:02d}"
