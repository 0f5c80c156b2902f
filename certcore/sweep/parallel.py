"""Sweeps of many instances at once, through one executor, and averages over splits."""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from certcore.common.errors import InputError
from certcore.common.executor import open_executor, run_tasks
from certcore.common.statistics import average_radius, deviation, mean, mean_weights
from certcore.domain.threat import ThreatModel
from certcore.instance.instance import Instance
from certcore.result.tripwire import check
from certcore.sweep.counts import Counts
from certcore.sweep.sweep import Sweep


@dataclass(frozen=True, eq=False)
class SweepTask:
    """One sweep to compute, in this process or another; `axes` as in `Sweep`."""

    instance: Instance
    threat: ThreatModel
    axes: Sequence[tuple[str, Sequence[Any]]]
    relaxation: str = "tight"
    time_limit: float | None = None
    rounds: int | None = None

    def run(self) -> Counts:
        sweep = Sweep(
            self.instance, self.threat, self.axes,
            relaxation=self.relaxation, time_limit=self.time_limit, rounds=self.rounds,
        )  # fmt: skip
        return sweep.finish()


def run_many(
    tasks: Sequence[SweepTask],
    *,
    jobs: int | None = None,
    scheduler: str | None = None,
    cancel: threading.Event | None = None,
    progress: Callable[[float], None] | None = None,
) -> list[Counts]:
    """All results in the order of the tasks, from local processes or from the Dask cluster at `scheduler`.

    A cancelled run returns the complete results.
    """
    found: dict[int, Counts] = {}
    several = min(jobs, max(len(tasks), 1)) if jobs else jobs
    with open_executor(several, scheduler) as (executor, workers):
        for (number, _), result in run_tasks(executor, workers, _run_task, enumerate(tasks)):
            check(result)  # results of other processes have not been compared with the attacks known here
            found[number] = result
            if progress is not None:
                progress(len(found) / len(tasks))
            if cancel is not None and cancel.is_set():
                break
    return [found[number] for number in sorted(found)]


def _run_task(number: int, task: SweepTask) -> Counts:
    """Run one task; the number restores the order of the results."""
    return task.run()


@dataclass(frozen=True, eq=False)
class SplitCurve:
    """Mean and standard deviation of certified ratios over splits, as in the paper's figures."""

    vary: str
    values: np.ndarray
    curves: tuple[Counts, ...] = field(repr=False)

    @property
    def _ratios(self) -> np.ndarray:
        return np.stack([c.ratio for c in self.curves])

    @property
    def _naive_ratios(self) -> np.ndarray:
        return np.stack([c.naive_ratio for c in self.curves])

    @property
    def mean(self) -> np.ndarray:
        return mean(self._ratios)

    @property
    def deviation(self) -> np.ndarray | None:
        """Sample standard deviation over the splits; None for one split."""
        return deviation(self._ratios)

    @property
    def naive_mean(self) -> np.ndarray:
        return mean(self._naive_ratios)

    @property
    def naive_deviation(self) -> np.ndarray | None:
        return deviation(self._naive_ratios)

    @property
    def average_radius(self) -> float | None:
        """The average certifiable radius of the mean ratio."""
        return average_radius(self.values, self._weights([c.certified for c in self.curves]))

    @property
    def naive_average_radius(self) -> float | None:
        return average_radius(self.values, self._weights([c.naive for c in self.curves]))

    def _weights(self, counts: Sequence[np.ndarray]) -> np.ndarray:
        return mean_weights(counts, [c.targets for c in self.curves])

    def columns(self) -> dict[str, Any]:
        """Columns of equal length for a table; a single split has no deviations."""
        columns = {
            "value": self.values,
            "ratio_mean": self.mean,
            "ratio_deviation": self.deviation,
            "naive_ratio_mean": self.naive_mean,
            "naive_ratio_deviation": self.naive_deviation,
        }
        return {name: column for name, column in columns.items() if column is not None}

    def to_json(self) -> dict[str, Any]:
        """The fields of `curve --splits --json`."""
        columns = {name: np.asarray(column).tolist() for name, column in self.columns().items()}
        points = [dict(zip(columns, row)) for row in zip(*columns.values())]
        return {
            "vary": self.vary,
            "splits": len(self.curves),
            "points": points,
            "average_radius": self.average_radius,
            "naive_average_radius": self.naive_average_radius,
            "solves": sum(c.solves for c in self.curves),
            "seconds": sum(c.seconds for c in self.curves),
            "curves": [c.to_json() for c in self.curves],
        }


def over_splits(curves: Sequence[Counts]) -> SplitCurve:
    """Combine the curves of several splits."""
    if not curves:
        raise InputError("there is no curve to average; give at least one split")
    first = curves[0]
    for other in curves[1:]:
        if other.vary != first.vary or not np.array_equal(other.values, first.values):
            raise InputError(
                "the curves of the splits do not have the same values; compute all of them with the same ones"
            )
    return SplitCurve(first.vary, first.values, tuple(curves))
