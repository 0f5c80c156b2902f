"""Background work on a page: the old picture stays until the new one is there, and it can be cancelled."""

from __future__ import annotations

import atexit
import sys
import time
from collections.abc import Callable, Hashable, Iterable
from dataclasses import dataclass
from functools import wraps
from typing import Any, ParamSpec

import streamlit as st
from streamlit import runtime
from streamlit.runtime.scriptrunner import get_script_run_ctx

from certcore.common.errors import InputError, SoundnessError
from certcore.sweep.counts import Counts

from .answers import LONGEST_MESSAGE as LONGEST_MESSAGE
from .answers import REFRESH, Asked, held
from .delivery import keep_in_order
from .jobs import URGENT, Job, JobState, Pool

#: So long a page waits before it shows progress instead: most solves are done by then and nothing flickers.
PATIENCE = 0.9
_POLL = 0.4
#: Stands among the slots for the browser that has just arrived.
_GREETING = "the browser"
_TURN = 0.001
#: Up to so many visitors with work under way are polled at full speed; with more, each is polled less often, because
#: a server that is busy answering "not yet" gets nothing else done.
_FEW = 4
Arguments = ParamSpec("Arguments")


@st.cache_resource(show_spinner=False)
def pool() -> Pool:
    keep_in_order()
    made = Pool(present=_present)
    atexit.register(made.close)
    return made


def _present(owner: str) -> bool:
    """Whether the visitor's browser tab is still connected."""
    return not runtime.exists() or runtime.get_instance().is_active_session(owner)


@dataclass
class Work:
    """What a page has to show: a result, whether it is the one asked for, and what goes on meanwhile."""

    slot: str
    key: Hashable
    result: Any
    fresh: bool
    job: Job | None = None
    cancelled: bool = False
    error: str | None = None

    @property
    def running(self) -> bool:
        """Whether there is something to wait for; also if it has just ended and the page has not seen it yet."""
        return self.job is not None and not self.fresh and not self.cancelled and self.error is None


def owner() -> str:
    context = get_script_run_ctx()
    return context.session_id if context is not None else "nobody"


def _held(ask: Callable[Arguments, Work]) -> Callable[Arguments, Work]:
    """Hold what a page is about to show against all attacks that are known by now, its own visitor's or others'."""

    @wraps(ask)
    def asked(*args: Arguments.args, **kwargs: Arguments.kwargs) -> Work:
        work = ask(*args, **kwargs)
        try:
            held(work.result)
        except SoundnessError as error:
            return Work(work.slot, work.key, None, False, error=str(error))
        return work

    return asked


@_held
def ask(
    slot: str,
    key: Hashable,
    run: Callable[[Job], Any],
    label: str,
    *,
    same: Hashable = None,
    patience: float = PATIENCE,
    program: Hashable = None,
) -> Work:
    """Get a result computed in the background; meanwhile the last one in this slot that has an equal `same`.

    Of work with the same `program` one piece is done at a time.
    """
    # The thread that talks to all browsers must not wait long for pages that are being drawn.
    sys.setswitchinterval(_TURN)
    shown: dict[str, tuple[Hashable, Hashable, Any]] = st.session_state.setdefault("_shown", {})
    stopped: dict[str, Hashable] = st.session_state.setdefault("_stopped", {})
    ready = pool().result(key)
    last: Job | None = st.session_state.get("_jobs", {}).get(slot)
    if ready is None and last is not None and last.key == key and last.state is JobState.DONE:
        ready = last.result  # others' results may have pushed it out of the pool; this page goes on showing it
    if ready is not None:
        shown[slot] = (same, key, ready)
        stopped.pop(slot, None)
        return Work(slot, key, ready, True)
    old = shown.get(slot)
    before = old[2] if old is not None and old[0] == same else None
    if stopped.get(slot) == key:
        kept = old is not None and old[1] == key
        if before is None and last is not None and last.key == key:
            before = last.partial  # what had been reached stays
        return Work(slot, key, before, kept, cancelled=True)
    stopped.pop(slot, None)
    if last is not None and last.key == key and last.state is JobState.FAILED:
        return Work(slot, key, before, False, error=last.error)
    try:
        job = pool().submit(owner(), slot, key, run, label, program=program)
    except InputError as error:
        return Work(slot, key, before, False, error=str(error))
    st.session_state.setdefault("_jobs", {})[slot] = job
    st.session_state.setdefault("_same", {})[slot] = same
    if job.wait(patience):
        if job.state is JobState.DONE:
            shown[slot] = (same, key, job.result)
            return Work(slot, key, job.result, True)
        if job.state is JobState.FAILED:
            return Work(slot, key, before, False, job=job, error=job.error)
        # Given up, but not by this visitor: an older run of the page took the slot, or the connection was away for a
        # moment. The page asks again.
        return Work(slot, key, before, False, job=job)
    st.session_state.setdefault("_seen", {})[slot] = job.partial
    return Work(slot, key, before if job.partial is None else job.partial, False, job=job)


def follow(slot: str, asked: Asked, *, same: Hashable, patience: float) -> Work:
    """Get what a page asks for in plain loops as background work; what grows is shown now and then."""

    def run(job: Job) -> Any:
        found, shown = None, time.monotonic()
        for found in asked.steps(job.cancel):
            job.report(found.share_done if isinstance(found, Counts) else None)
            if time.monotonic() - shown > REFRESH:
                shown = time.monotonic()
                job.report(job.share, job.note, found)
        return found

    return ask(slot, asked.key, run, asked.label, same=same, patience=patience)


def shares(waits: list[tuple[str, Work]], places: Iterable[str], *, seen: bool = False) -> dict[str, float | None]:
    """How far the work is that each place waits for; None where nothing is under way.

    What has ended is under way until the page has `seen` it.
    """
    found: dict[str, float | None] = dict.fromkeys(places)
    for place, task in reversed(waits):  # of several at one place the first is what is waited for most
        if task.job is not None and not (seen and task.job.finished.is_set()):
            found[place] = max(0.08, task.job.share or 0)
    return found


def watch_all(waits: list[tuple[str, Work]], tell: Callable[[], Any] | None = None) -> None:
    """Run the page again when any of this work has something new to see; `tell` is called at each look."""
    for number, (_, task) in enumerate(waits):
        _watching()[task.slot] = None if number else tell


def first_look() -> bool:
    """Whether this is a visitor's first run; then the page runs once more, as soon as the browser has it."""
    first = not st.session_state.get("_arrived")
    if first:
        st.session_state["_arrived"] = True
        _watching()[_GREETING] = None
    return first


def _watching() -> dict[str, Callable[[], Any] | None]:
    """The slots that the page waits for, each with what is called at a look at it."""
    found: dict[str, Callable[[], Any] | None] = st.session_state.setdefault("_watching", {})
    return found


def start() -> None:
    """At the beginning of a page: what a run that was overtaken had begun to wait for is of no use any more."""
    st.session_state.pop("_watching", None)
    st.session_state.pop("_hold", None)


def hold() -> None:
    """While a drawer is open nothing runs the page again: Streamlit takes a drawer away until the run reaches it."""
    st.session_state["_hold"] = True


def watch() -> None:
    """At the end of a page: one question for all that it waits for."""
    slots = st.session_state.pop("_watching", {})
    if slots:
        first = URGENT if URGENT in slots else next(iter(slots))
        st.fragment(_poll, run_every=_interval(first))(slots)


def _poll(slots: dict[str, Callable[[], Any] | None]) -> None:
    """Look at all work of the page, and run it again when there is something new to see."""
    seen, held = st.session_state.setdefault("_seen", {}), st.session_state.get("_hold", False)
    news = _GREETING in slots and seen.get(_GREETING, False)
    seen[_GREETING] = True
    for slot in slots:
        job: Job | None = st.session_state.get("_jobs", {}).get(slot)
        if job is None:
            continue
        job.touched = time.monotonic()
        _keep_cancelled(slot, job)
        grown = not held and not _drawing() and job.partial is not None and seen.get(slot) is not job.partial
        if grown:
            seen[slot] = job.partial
        news |= grown or job.finished.is_set()
    if news and not held:
        st.rerun()
    for tell in slots.values():
        if tell is not None:
            tell()


def _keep_cancelled(slot: str, job: Job) -> None:
    """What was proven before a cancel still stands: show it, marked as such, and only for what it is about."""
    if job.finished.is_set() and job.state is JobState.CANCELLED and job.result is not None:
        st.session_state["_shown"][slot] = (st.session_state["_same"][slot], job.key, job.result)


def _interval(slot: str) -> float:
    """Seconds between two looks at the work: a number is looked for more often than a chart."""
    return round(_POLL * (1 if slot == URGENT else 2) * max(1.0, pool().crowd() / _FEW), 1)


def _drawing() -> bool:
    """Whether the whole page is being drawn: then it should come to its end before it starts anew."""
    context = get_script_run_ctx()
    return context is None or not context.fragment_ids_this_run


def again(slot: str) -> None:
    """Start what was cancelled once more."""
    st.session_state.get("_stopped", {}).pop(slot, None)


def cancel(slot: str) -> None:
    """Stop the work of a slot; what it has proven stays."""
    job: Job | None = st.session_state.get("_jobs", {}).get(slot)
    if job is not None:
        st.session_state["_stopped"][slot] = job.key
        pool().leave(owner(), job)
