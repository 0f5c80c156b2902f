"""Executors for independent tasks: in this process, in local processes, or on a Dask cluster.

Votes and sweeps of several instances are independent of each other. They are submitted to an executor of
`concurrent.futures`. The results do not depend on which executor runs them.
"""

from __future__ import annotations

import contextlib
import multiprocessing
import os
import signal
import threading
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import FIRST_COMPLETED, Executor, Future, ProcessPoolExecutor, wait
from concurrent.futures.process import BrokenProcessPool
from typing import Any, TypeVar

from certcore.common.errors import InputError

T = TypeVar("T")
#: Timeout for connecting to a Dask scheduler.
CONNECT_SECONDS = 10.0


class SerialExecutor(Executor):
    """Runs every task at once, in this process: for one job, for tests, and for debuggers."""

    def submit(self, fn: Callable[..., Any], /, *args: Any, **kwargs: Any) -> Future[Any]:
        future: Future[Any] = Future()
        try:
            future.set_result(fn(*args, **kwargs))
        except Exception as error:
            future.set_exception(error)
        return future


def default_jobs() -> int:
    """The number of processors that this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def _begin_worker() -> None:
    """Make a worker ignore Ctrl-C, which the main process handles, and exit when the main process ends."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    parent = multiprocessing.parent_process()
    if parent is not None:
        threading.Thread(target=_leave_with, args=(parent,), daemon=True).start()


def _leave_with(parent: multiprocessing.process.BaseProcess) -> None:
    """Exit when the main process ends. Otherwise a worker would wait for tasks for ever after its parent was killed."""
    parent.join()
    os._exit(1)


@contextlib.contextmanager
def open_executor(jobs: int | None = None, scheduler: str | None = None) -> Iterator[tuple[Executor, int]]:
    """An executor and its number of workers: local processes, or the Dask cluster at `scheduler`."""
    if scheduler:
        with _dask(scheduler) as opened:
            yield opened
        return
    workers = default_jobs() if jobs is None else jobs
    if workers < 1:
        raise InputError(f"the number of jobs is {workers}; expected at least 1")
    if workers == 1:
        yield SerialExecutor(), 1
        return
    # Spawned, not forked: a fork of a process that has used OpenMP or Numba threads may hang.
    context = multiprocessing.get_context("spawn")
    pool = ProcessPoolExecutor(workers, mp_context=context, initializer=_begin_worker)
    try:
        yield pool, workers
    finally:
        pool.shutdown(wait=True, cancel_futures=True)


@contextlib.contextmanager
def _dask(address: str) -> Iterator[tuple[Executor, int]]:
    try:
        from distributed import Client
    except ModuleNotFoundError as error:
        raise InputError(
            "a scheduler was given but `distributed` is not installed; run `pip install -r requirements-train.txt`"
        ) from error
    try:
        client = Client(address, timeout=CONNECT_SECONDS, set_as_default=False)
    except (OSError, ValueError, TypeError) as error:
        raise InputError(
            f"no Dask scheduler answers at {address} ({type(error).__name__}); start one with `dask scheduler`, or "
            "leave --scheduler out"
        ) from error
    with client:
        workers = sum(client.nthreads().values())
        if workers == 0:
            raise InputError(f"the Dask scheduler at {address} has no workers; start some with `dask worker {address}`")
        # Tasks have no side effects, so they may run on any worker and be repeated when a worker dies.
        yield client.get_executor(pure=False, retries=3), workers


def run_tasks(
    executor: Executor, workers: int, function: Callable[..., T], tasks: Iterable[tuple[Any, ...]]
) -> Iterator[tuple[tuple[Any, ...], T]]:
    """Yield (task, result) as tasks finish, in any order. Only a few tasks are pending at a time, to bound memory."""
    running: dict[Future[T], tuple[Any, ...]] = {}
    source = iter(tasks)
    limit = 1 if isinstance(executor, SerialExecutor) else 2 * workers + 1
    try:
        while True:
            while len(running) < limit:
                task = next(source, None)
                if task is None:
                    break
                running[executor.submit(function, *task)] = task
            if not running:
                return
            done, _ = wait(running, return_when=FIRST_COMPLETED)
            for future in done:
                yield running.pop(future), result_of(future)
    finally:
        for future in running:
            future.cancel()


def result_of(future: Future[T]) -> T:
    """The result of a task, with a clear error if its worker died."""
    try:
        return future.result()
    except BrokenProcessPool as error:
        raise InputError(
            "a worker process died (killed, or out of memory); run the same command again to continue where it "
            "stopped, perhaps with fewer --jobs"
        ) from error
