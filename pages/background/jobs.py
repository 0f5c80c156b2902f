"""Background work: a few workers for all visitors, a fair queue, cancelling, and results that are shared.

Nothing here knows Streamlit; `pages.background.work` connects it to a page.
"""

from __future__ import annotations

import threading
import time
from collections import OrderedDict, deque
from collections.abc import Callable, Hashable
from enum import StrEnum
from typing import Any

from certcore.common.errors import InputError, SoundnessError

from ..server.log import set_up

#: Two workers more than the smallest server has cores: they are kept free for numbers (see `Job.lane`), so that one
#: slow number on a large graph does not keep everybody else's waiting.
WORKERS = 4
#: How many workers work must leave free: the attack beside the number, and charts.
PROMPT, CHART = 1, 2
MOST_WAITING = 400
#: One visitor has a handful of charts; more waiting work than this is a mistake or an attack.
MOST_PER_OWNER = 24
#: The number above the fold comes before everybody's charts.
URGENT = "certificate"
#: What belongs to that number comes before charts.
SOON = "attack"
MOST_RESULTS = 96
#: Work that no page has asked about for so long is given up (browsers slow the timers of hidden tabs to a minute).
ABANDONED_AFTER = 150.0

#: Work of visitors whose connection is gone is given up after this many seconds; a reload takes less.
GONE_AFTER = 5.0

_log = set_up()


class JobState(StrEnum):
    """How far a piece of work is."""

    WAITING = "waiting"
    RUNNING = "running"
    DONE = "done"
    FAILED = "failed"
    CANCELLED = "cancelled"


class Job:
    """One piece of work. `run(job)` reports progress through it and stops when `cancel` is set."""

    def __init__(
        self,
        key: Hashable,
        label: str,
        run: Callable[[Job], Any],
        *,
        lane: int = 0,
        program: Hashable = None,
    ) -> None:
        self.key, self.label, self.run = key, label, run
        #: How many workers this must leave free: none for the number above the fold, `PROMPT` or `CHART`.
        self.lane = lane
        #: What is solved for a number. A program solves one number at a time: a worker would only stand in line for it.
        self.program = program
        self.cancel = threading.Event()
        self.finished = threading.Event()
        self.owners: set[str] = set()
        self.state = JobState.WAITING
        self.result: Any = None
        self.error: str | None = None
        self.partial: Any = None
        self.note = ""
        self.share: float | None = None
        self.created = self.touched = time.monotonic()
        self.started: float | None = None

    def report(self, share: float | None = None, note: str = "", partial: Any = None) -> None:
        """Tell how far the work is (0 to 1), in a few words, and what there is to see already."""
        self.share, self.note = share, note
        if partial is not None:
            self.partial = partial

    @property
    def seconds(self) -> float:
        return time.monotonic() - (self.started or self.created)

    def wait(self, timeout: float) -> bool:
        return self.finished.wait(timeout)


class Pool:
    """A bounded number of workers; visitors with the least running work come first."""

    def __init__(self, workers: int = WORKERS, present: Callable[[str], bool] = lambda owner: True) -> None:
        self._present, self._workers = present, workers
        self._lock = threading.Condition()
        self._waiting: OrderedDict[str, deque[Job]] = OrderedDict()
        self._live: dict[Hashable, Job] = {}
        #: What workers are at, also what was told to stop and whose key has been asked for again since.
        self._running: set[Job] = set()
        self._slots: dict[tuple[str, str], Job] = {}
        self._results: OrderedDict[Hashable, Any] = OrderedDict()
        for number in range(workers):
            threading.Thread(target=self._work, daemon=True, name=f"solver-{number}").start()
        threading.Thread(target=self._tidy, daemon=True, name="tidy").start()

    def close(self, patience: float = 3.0) -> None:
        """Stop all work, so that no solver runs into the end of the process."""
        with self._lock:
            self._waiting.clear()
            live = list(self._live.values())
            for job in live:
                job.cancel.set()
        deadline = time.monotonic() + patience
        for job in live:
            if job.state is JobState.RUNNING:
                job.finished.wait(max(0.0, deadline - time.monotonic()))

    def _tidy(self) -> None:
        """Give up work that nobody waits for any more, also while all workers are busy."""
        while True:
            time.sleep(GONE_AFTER / 2)
            with self._lock:
                self._drop_abandoned()

    def result(self, key: Hashable) -> Any:
        """A finished result, or None."""
        with self._lock:
            if key in self._results:
                self._results.move_to_end(key)
            return self._results.get(key)

    def submit(
        self,
        owner: str,
        slot: str,
        key: Hashable,
        run: Callable[[Job], Any],
        label: str,
        *,
        program: Hashable = None,
    ) -> Job:
        """Ask for work; the owner's older work in the same slot is given up. Equal keys are computed once."""
        with self._lock:
            old = self._slots.get((owner, slot))
            usable = old is not None and old.state in (JobState.WAITING, JobState.RUNNING) and not old.cancel.is_set()
            if old is not None and old.key == key and usable:
                old.touched = time.monotonic()
                return old
            if old is not None:
                self._leave(owner, old)
            self._drop_abandoned()
            job = self._live.get(key)
            if job is None or job.cancel.is_set():
                crowded = len(self._waiting.get(owner, ())) >= MOST_PER_OWNER
                if crowded or sum(len(queue) for queue in self._waiting.values()) >= MOST_WAITING:
                    raise InputError("the server is busy with the work of others; wait a minute and try again")
                lane = {URGENT: 0, SOON: PROMPT}.get(slot, CHART)
                job = Job(key, label, run, lane=lane, program=program)
                self._live[key] = job
                self._waiting.setdefault(owner, deque()).append(job)
            job.owners.add(owner)
            job.touched = time.monotonic()
            self._slots[owner, slot] = job
            self._lock.notify()
            return job

    def crowd(self) -> int:
        """How many visitors have work under way or waiting."""
        with self._lock:
            return len({owner for (owner, _), job in self._slots.items() if not job.finished.is_set()})

    def leave(self, owner: str, job: Job) -> None:
        """The owner no longer wants this; without any owner it is cancelled."""
        with self._lock:
            self._leave(owner, job)

    def _leave(self, owner: str, job: Job) -> None:
        job.owners.discard(owner)
        if job.owners:
            return
        job.cancel.set()
        if job.state is JobState.WAITING:
            job.state = JobState.CANCELLED
            job.finished.set()
            self._live.pop(job.key, None)
            # What nobody wants must not count as waiting, or moving a slider often would fill the queue.
            for name, queue in list(self._waiting.items()):
                if job in queue:
                    queue.remove(job)
                if not queue:
                    del self._waiting[name]

    def _drop_abandoned(self) -> None:
        now = time.monotonic()
        for (owner, slot), job in list(self._slots.items()):
            if job.finished.is_set():
                if now - job.touched > ABANDONED_AFTER:
                    del self._slots[owner, slot]
            else:
                idle = now - job.touched
                if idle > ABANDONED_AFTER or (idle > GONE_AFTER and not self._present(owner)):
                    self._leave(owner, job)

    def _next(self) -> Job | None:
        """Numbers first, then the owner with the least running work; owners with equal load take turns."""
        running = self._running
        first: dict[str, Job] = {}
        for owner, queue in self._waiting.items():
            possible = [job for job in queue if self._has_room(job, running)]
            if possible:
                first[owner] = min(possible, key=lambda job: job.lane)
        if not first:
            return None
        owner = min(first, key=lambda o: (first[o].lane > 0, sum(o in job.owners for job in running)))
        queue, job = self._waiting.pop(owner), first[owner]
        queue.remove(job)
        if queue:
            self._waiting[owner] = queue
        return job

    def _has_room(self, job: Job, running: set[Job]) -> bool:
        """Whether the job leaves as many workers free as its lane asks for and its program is not taken.

        A single worker takes anything.
        """
        if job.program is not None and any(other.program == job.program for other in running):
            return False
        lanes = range(1, job.lane + 1)
        return all(sum(other.lane >= k for other in running) < max(1, self._workers - k) for k in lanes)

    def _work(self) -> None:
        while True:
            with self._lock:
                job = self._next()
                while job is None:
                    self._lock.wait(timeout=30)
                    self._drop_abandoned()
                    job = self._next()
                if job.finished.is_set():
                    continue
                job.state, job.started = JobState.RUNNING, time.monotonic()
                self._running.add(job)
            self._carry_out(job)

    def _carry_out(self, job: Job) -> None:
        result, state = None, JobState.DONE
        try:
            result = job.run(job)
        except InputError as error:
            job.error, state = str(error), JobState.FAILED
        except SoundnessError as error:
            _log.exception("a count and an attack contradict each other", extra={"work": job.label})
            # Nothing that was shown on the way may stay beside it.
            job.error, job.partial, state = str(error), None, JobState.FAILED
        except BaseException:  # a worker that ended here would leave its page waiting for ever
            _log.exception("work failed", extra={"work": job.label})
            job.error, state = "the computation failed unexpectedly; the server's log has the details", JobState.FAILED
        with self._lock:
            job.result = result
            if job.cancel.is_set():
                state = JobState.CANCELLED
            elif state is JobState.DONE:
                self._results[job.key] = result
                while len(self._results) > MOST_RESULTS:
                    self._results.popitem(last=False)
            job.state = state
            self._running.discard(job)
            if self._live.get(job.key) is job:
                del self._live[job.key]
            waiting = sum(len(queue) for queue in self._waiting.values())
        job.finished.set()
        about = {"work": job.label, "state": str(state), "seconds": round(job.seconds, 3), "waiting": waiting}
        _log.info("work ended", extra=about)
