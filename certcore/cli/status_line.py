"""Progress display of long-running commands on a terminal."""

from __future__ import annotations

import sys
import threading
import time


class StatusLine:
    """A line on standard error with the current step, the elapsed time and the progress.

    It appears after two seconds and is removed at the end. Nothing is written without a terminal (a pipe, a file, or
    `--json`). The time is updated even while the work cannot report progress, for example inside a solver.
    """

    AFTER = 2.0
    EVERY = 0.25

    def __init__(self, what: str, *, quiet: bool = False) -> None:
        self.what = what
        self._live = not quiet and sys.stderr.isatty()
        self._share: float | None = None
        self._begun = time.monotonic()
        self._end = threading.Event()
        self._thread: threading.Thread | None = None

    def __call__(self, share: float) -> None:
        """Report progress, from 0 to 1."""
        self._share = share

    def __enter__(self) -> StatusLine:
        if self._live:
            self._thread = threading.Thread(target=self._tell, daemon=True, name="progress")
            self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._end.set()
        if self._thread is not None:
            self._thread.join()

    def _tell(self) -> None:
        if self._end.wait(self.AFTER):
            return
        while True:
            share = "" if self._share is None else f" {self._share:.1%} ·"
            line = f"certcore {self.what}:{share} {time.monotonic() - self._begun:,.0f} s"
            print(f"\r\x1b[2K{line}", end="", file=sys.stderr, flush=True)
            if self._end.wait(self.EVERY):
                break
        print("\r\x1b[2K", end="", file=sys.stderr, flush=True)
