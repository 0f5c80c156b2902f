"""Results as they are computed, for plain loops on a page: `for result in answers(asked): …`.

A thread computes. Whatever ends the loop ends the work: a control that is moved, another page, a closed tab.
"""

from __future__ import annotations

import threading
import time
from collections import OrderedDict
from collections.abc import Callable, Hashable, Iterable, Iterator
from dataclasses import dataclass
from typing import Any

import streamlit as st

from certcore.common.errors import InputError, SoundnessError
from certcore.result.certificate import Certificate
from certcore.result.tripwire import check
from certcore.sweep.counts import Counts

from ..messages.text import markdown, seconds
from ..server.log import set_up

#: Finished results that are kept for all visitors.
MOST_KEPT = 96
#: Pages compute so many steps at a time; the workbench goes on beside them.
AT_ONCE = 2
#: Seconds before a page says what it waits for, and between two pictures of what grows.
PATIENCE, REFRESH = 0.6, 1.5
_LOOK = 0.05
_log = set_up()
#: No message is longer: one about a contradiction tells all that is needed to find its cause.
LONGEST_MESSAGE = 1500


def _nothing(result: Any) -> None:
    """A result without a count of its own."""


@dataclass(frozen=True, eq=False)
class Asked:
    """What a page asks for: equal keys, equal answers."""

    key: Hashable
    steps: Callable[[threading.Event], Iterable[Any]]
    """Yields results that grow, each proven by itself; the last one is the answer. The event says that nobody waits."""
    label: str
    """What is said while it goes on."""
    hold: Callable[[Any], None] = _nothing
    """Compares the counts of a result that has no certificate or curve in it with the known attacks."""

    def held(self, result: Any) -> Any:
        """The result, after both comparisons."""
        self.hold(held(result))
        return result


class _Kept:
    """The answers of finished questions, the least recently used forgotten first."""

    def __init__(self) -> None:
        self.turns = threading.Semaphore(AT_ONCE)
        self._lock = threading.Lock()
        self._found: OrderedDict[Hashable, Any] = OrderedDict()

    def get(self, key: Hashable) -> Any:
        with self._lock:
            if key in self._found:
                self._found.move_to_end(key)
            return self._found.get(key)

    def put(self, key: Hashable, found: Any) -> None:
        with self._lock:
            self._found[key] = found
            while len(self._found) > MOST_KEPT:
                self._found.popitem(last=False)


@st.cache_resource(show_spinner=False)
def kept() -> _Kept:
    return _Kept()


def claims(result: Any) -> Iterator[Certificate | Counts]:
    """The certificates, curves and maps in a result."""
    if isinstance(result, Certificate | Counts):
        yield result
    elif isinstance(result, dict | list | tuple):
        for part in result.values() if isinstance(result, dict) else result:
            yield from claims(part)


def held(result: Any) -> Any:
    """The result, after comparing it with all attacks known by now, of any visitor; an error if one refutes it."""
    for claim in claims(result):
        check(claim)
    return result


class _Work:
    """Steps that a thread takes: the newest result, and how it ended."""

    def __init__(self, asked: Asked, turns: threading.Semaphore) -> None:
        self.cancel, self.changed = threading.Event(), threading.Event()
        self.newest: Any = None
        self.ended = False
        self.error: BaseException | None = None
        threading.Thread(target=self._run, args=(asked, turns), daemon=True, name="answers").start()

    def _run(self, asked: Asked, turns: threading.Semaphore) -> None:
        try:
            growing = iter(asked.steps(self.cancel))
            while not self.cancel.is_set() and not self.ended:
                with turns:
                    found = next(growing, None)
                self.ended = found is None
                self.newest = self.newest if self.ended else found
                self.changed.set()
        except BaseException as error:  # the page raises it
            self.error = error
            self.changed.set()


def answers(asked: Asked) -> Iterator[Any]:
    """The results as they grow, the last one at once if anybody has asked the same before.

    An InputError is told in place and ends the loop; a SoundnessError takes the page with it.
    """
    found = kept().get(asked.key)
    work = None if found is not None else _Work(asked, kept().turns)
    try:
        if work is None:
            yield asked.held(found)
        else:
            yield from _growing(work, asked)
            kept().put(asked.key, work.newest)
    except InputError as error:
        st.error(markdown(error, LONGEST_MESSAGE), icon=":material/error:")
    except SoundnessError:
        _log.exception("a count and an attack contradict each other", extra={"work": asked.label})
        raise
    finally:
        if work is not None:
            work.cancel.set()


def answer(asked: Asked) -> Any:
    """The last of the results; None if there is none."""
    found = None
    for one in answers(asked):
        found = one
    return found


def _growing(work: _Work, asked: Asked) -> Iterator[Any]:
    began, place, seen = time.monotonic(), None, None
    shown = began + PATIENCE - REFRESH
    while not work.ended:
        work.changed.wait(_LOOK)
        work.changed.clear()
        if work.error is not None:
            raise work.error
        now = time.monotonic()
        # Both are places where Streamlit may end this run.
        if now - began > PATIENCE:
            place = st.empty() if place is None else place
            place.markdown(f":blue[:material/progress_activity: **{markdown(asked.label)}** · {seconds(now - began)}]")
        else:
            st.session_state.get("_page")
        if work.newest is not seen and now - shown >= REFRESH and not work.ended:
            seen = work.newest
            yield asked.held(seen)
            shown = time.monotonic()
    if place is not None:
        place.empty()
    if work.newest is not None:
        yield asked.held(work.newest)
