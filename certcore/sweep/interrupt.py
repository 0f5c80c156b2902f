"""Interrupting a notebook's cell leaves what was proven: the computation is cancelled and returns what it has."""

from __future__ import annotations

import sys
import threading
from collections.abc import Callable
from typing import Any, TypeVar

from certcore.common.interrupt import run_beside

T = TypeVar("T")


def _in_notebook() -> bool:
    """Whether this is the kernel of a notebook (and not a terminal, where Ctrl-C should end the program)."""
    shell: Any = getattr(sys.modules.get("IPython"), "get_ipython", lambda: None)()
    return shell is not None and hasattr(shell, "kernel")


def interruptible(work: Callable[[threading.Event | None], T], cancel: threading.Event | None) -> T:
    """Run `work(cancel)`; in the main thread of a notebook an interrupt cancels it instead of losing it."""
    if cancel is not None or not _in_notebook() or threading.current_thread() is not threading.main_thread():
        return work(cancel)
    return run_beside(work)[0]
