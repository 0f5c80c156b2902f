"""Running HiGHS: one model, no output, one thread, with a time limit and cancellation."""

from __future__ import annotations

import threading
from functools import partial
from typing import Any

import highspy
import numpy as np
import scipy.sparse as sp

from certcore.common.choice import Choice
from certcore.common.interrupt import watching
from certcore.solve.status import Status

#: Seconds between two checks whether a running solve has been cancelled.
WATCH = 0.02
#: Simplex strategies of HiGHS.
DUAL = 1
PRIMAL = 4

_STATUS = {
    highspy.HighsModelStatus.kOptimal: Status.OPTIMAL,
    highspy.HighsModelStatus.kTimeLimit: Status.TIME_LIMIT,
    highspy.HighsModelStatus.kIterationLimit: Status.TIME_LIMIT,
    highspy.HighsModelStatus.kInterrupt: Status.INTERRUPTED,
}


class Method(Choice):
    """The solution method; the values are HiGHS option names."""

    SIMPLEX = "simplex"
    """Starts from the current basis, if there is one."""
    INTERIOR_POINT = "ipx"
    """Starts cold; crossover at the end gives a basis."""
    BRANCH_AND_BOUND = "choose"
    """Integer programs: HiGHS chooses how to solve their relaxations."""


def quiet_highs() -> Any:
    """A HiGHS instance without a model and without output."""
    h = highspy.Highs()
    h.setOptionValue("output_flag", False)
    h.setOptionValue("threads", 1)
    return h


def run(h: Any, *, time_limit: float, cancel: threading.Event | None, method: Method) -> Status:
    """Solve the current model."""
    if cancel is not None and cancel.is_set():
        return Status.INTERRUPTED
    h.setOptionValue("time_limit", float(h.getRunTime() + max(time_limit, 0.0)))
    h.setOptionValue("solver", method.value)
    if method is Method.INTERIOR_POINT:
        h.clearSolver()  # with a basis HiGHS would skip presolve
    if cancel is None:
        h.run()
    else:
        _run_watched(h, cancel)
    status = _STATUS.get(h.getModelStatus(), Status.FAILED)
    if status is Status.TIME_LIMIT and cancel is not None and cancel.is_set():
        status = Status.INTERRUPTED
    return status


def _run_watched(h: Any, cancel: threading.Event) -> None:
    """Run until done or cancelled.

    A callback in every simplex iteration would wait for the interpreter lock, which is slow while other threads run.
    For simplex methods a watching thread therefore sets the time limit to end the run. Other methods call back rarely,
    so a callback cancels them.
    """

    def stop(event: Any) -> None:
        if cancel.is_set():
            event.interrupt()

    hooks = [h.cbIpmInterrupt, h.cbMipInterrupt]
    for hook in hooks:
        hook.subscribe(stop)
    try:
        with watching(cancel, partial(h.setOptionValue, "time_limit", 0.0), WATCH):
            h.run()
    finally:
        for hook in hooks:
            hook.unsubscribe(stop)


def add_rows(h: Any, matrix: sp.csr_array, rhs: np.ndarray) -> None:
    """Append rows matrix · x ≤ rhs."""
    count = len(rhs)
    h.addRows(
        count,
        np.full(count, -highspy.kHighsInf),
        rhs.astype(np.float64),
        matrix.nnz,
        matrix.indptr[:-1].astype(np.int32),
        matrix.indices.astype(np.int32),
        matrix.data.astype(np.float64),
    )


def add_columns(h: Any, matrix: sp.csr_array, cost: np.ndarray, upper: np.ndarray) -> None:
    """Append columns between 0 and `upper`; `matrix` holds one row for each of them."""
    count = len(cost)
    h.addCols(
        count,
        cost.astype(np.float64),
        np.zeros(count),
        upper.astype(np.float64),
        matrix.nnz,
        matrix.indptr[:-1].astype(np.int32),
        matrix.indices.astype(np.int32),
        matrix.data.astype(np.float64),
    )
