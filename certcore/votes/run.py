"""Counting votes with any number of workers; runs may be interrupted, and the result is always the same."""

from __future__ import annotations

import contextlib
import os
import pickle
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Protocol

import numpy as np

from certcore.common.errors import InputError
from certcore.common.executor import default_jobs, open_executor, run_tasks
from certcore.common.npz import read_npz, write_npz
from certcore.common.progress import ProgressBar
from certcore.common.reading import whole_number
from certcore.domain.limits import MAX_TRIALS
from certcore.votes.purposes import ESTIMATION, SELECTION

_KINDS = (SELECTION, ESTIMATION)
#: Seconds between two writes of a checkpoint.
SAVE_EVERY = 20.0


class Voter(Protocol):
    """Counts votes by sample number; must be picklable.

    `digest` identifies everything the votes depend on, in its present state. It is needed if votes are stored in a file
    or counted in other processes, and raises `InputError` if the voter cannot be identified.
    """

    @property
    def n_nodes(self) -> int: ...
    @property
    def n_classes(self) -> int: ...
    @property
    def digest(self) -> str: ...

    def count(self, kind: int, first: int, count: int) -> np.ndarray:
        """Votes (nodes, classes) of samples first … first + count − 1 of one kind."""


@dataclass(frozen=True, eq=False)
class Votes:
    """Votes of all nodes: `selection` votes choose the label, `estimation` votes bound its probability."""

    selection: np.ndarray
    estimation: np.ndarray
    first: int = 0
    """Number of the first estimation sample."""
    fresh_after: tuple[int, ...] = ()
    """Planned estimation samples of earlier runs, whose votes were dropped because they may have been seen."""

    @property
    def prediction(self) -> np.ndarray:
        """The label with most selection votes. Estimation votes are not used: they must be independent of it."""
        return self.selection.argmax(axis=1)

    @property
    def n_samples(self) -> int:
        return int(self.estimation[0].sum())


def collect_votes(
    voter: Voter,
    *,
    selection: int = 1000,
    estimation: int = 10**6,
    checkpoint: str | os.PathLike[str] | None = None,
    finished: str | os.PathLike[str] | None = None,
    fresh: bool = False,
    first: int | None = None,
    jobs: int | None = None,
    scheduler: str | None = None,
    progress: bool = False,
) -> Votes:
    """Count the votes of `selection` + `estimation` samples.

    With a `checkpoint` file, progress is saved every few seconds. After an interruption the same call continues from
    it, also with other workers or other chunks. Without a checkpoint, the run starts from the votes in `finished` (a
    file of `python -m experiments vote`), if they are from this voter.

    The confidence bound requires a number of samples that was fixed before any vote was seen. So a run keeps its
    initial numbers. With `fresh`, other numbers are allowed, and all estimation samples are drawn again. With `first`,
    the estimation samples start at this number, for the case that earlier ones were seen and their file is lost.
    """
    if first is not None:
        first = whole_number(first, "the number of the first estimation sample", 0, MAX_TRIALS)
        if fresh:
            raise InputError("both a first sample and fresh ones are asked for; --first names them, leave out --fresh")
    selection = whole_number(selection, "the number of selection samples", 1, MAX_TRIALS)
    estimation = whole_number(estimation, "the number of estimation samples", 1, MAX_TRIALS)
    elsewhere = scheduler is not None or (default_jobs() if jobs is None else jobs) > 1
    if elsewhere and scheduler is None:
        _require_guarded_script()
        _require_picklable(voter)
    # Votes that are counted in this process and not stored cannot be mixed with those of another model.
    digest = voter.digest if checkpoint or elsewhere else ""
    state = _Tally.load(checkpoint, finished, voter, digest) if checkpoint else _Tally.empty(voter)
    state = state.planned_for(selection, estimation, voter, fresh, first, checkpoint)
    left = [(kind, first, stop) for kind in (SELECTION, ESTIMATION) for first, stop in state.missing(kind)]
    if left:
        count = partial(_count, voter, digest) if elsewhere else voter.count
        with (
            open_executor(jobs, scheduler) as (executor, workers),
            _kept_up_to_date(state, voter, digest, checkpoint, progress) as step,
        ):
            tasks = _tasks(left, _chunk_size(voter, estimation, workers))
            for (kind, first, size), votes in run_tasks(executor, workers, count, tasks):
                state.add(kind, first, size, votes)
                step()
        if digest:
            _require_unchanged(voter, digest)
    return Votes(state.votes[SELECTION], state.votes[ESTIMATION], state.first[ESTIMATION], state.fresh_after)


@contextmanager
def _kept_up_to_date(
    state: _Tally, voter: Voter, digest: str, checkpoint: str | os.PathLike[str] | None, progress: bool
) -> Iterator[Callable[[], None]]:
    """Callback after each chunk; the file is also written at the end and after an interruption."""
    bar = ProgressBar("votes", state.size, start=state.count()) if progress else None
    saved, every = time.monotonic(), SAVE_EVERY

    def step() -> None:
        nonlocal saved, every
        if bar:
            bar.update(state.count())
        if checkpoint and time.monotonic() - saved > every:
            begun = time.monotonic()
            state.save(checkpoint, voter, digest)
            saved = time.monotonic()
            every = max(SAVE_EVERY, 4 * (saved - begun))  # the model is identified again whenever votes are saved

    try:
        yield step
    finally:
        if checkpoint:
            state.save(checkpoint, voter, digest)
        if bar:
            bar.close()


def _tasks(left: list[tuple[int, int, int]], chunk: int) -> Iterator[tuple[int, int, int]]:
    for kind, first, stop in left:
        for start in range(first, stop, chunk):
            yield kind, start, min(chunk, stop - start)


def _require_guarded_script() -> None:
    """Refuse a script that would start itself again in every process, before it does."""
    main = sys.modules["__main__"]
    path = getattr(main, "__file__", None)
    if path is None or getattr(main, "__spec__", None) is not None or not str(path).endswith(".py"):
        return
    with contextlib.suppress(OSError):
        if "__name__" not in Path(path).read_text(encoding="utf-8", errors="replace"):
            raise InputError(
                f"jobs=… starts processes that import {Path(path).name} again, and they would start others: put what "
                'it does below `if __name__ == "__main__":`, or count with jobs=1'
            )


def _require_picklable(voter: Voter) -> None:
    try:
        pickle.dumps(voter)
    except (pickle.PicklingError, AttributeError, TypeError) as error:
        raise InputError(
            f"the model cannot be sent to other processes ({error}); define its function at the top of a module, or "
            "count with jobs=1"
        ) from error


_LEAVE_ALONE = "leave it alone while it votes, and set it to evaluation mode"


def _require_unchanged(voter: Voter, digest: str) -> None:
    if voter.digest != digest:
        raise InputError(
            "the model changed while its votes were counted (weights, a global, or something it writes itself), so "
            "they are not the votes of one model and were not kept; " + _LEAVE_ALONE
        )


class _Held(threading.local):
    """The last voter of a worker's thread, with its cached tables, and its votes for the first sample."""

    digest = ""
    voter: Voter
    answer: np.ndarray


_held = _Held()


def _count(voter: Voter, digest: str, kind: int, first: int, count: int) -> np.ndarray:
    """One task on a worker: votes of the voter with exactly this digest.

    Functions and classes are pickled by name, and the worker's code of that name may be older, or change.
    """
    if _held.digest != digest:
        if voter.digest != digest:
            raise InputError(
                "a worker has another model under the same name than this process (edited, trained or changed since "
                "its module was imported), or another kind of processor, which rounds otherwise; start the workers "
                "again, give a function its weights with functools.partial, or count with jobs=1"
            )
        _held.digest, _held.voter, _held.answer = digest, voter, voter.count(SELECTION, 0, 1)
    if not np.array_equal(_held.voter.count(SELECTION, 0, 1), _held.answer):
        _held.digest = ""
        raise InputError("the model on a worker says something else about the same graph than before; " + _LEAVE_ALONE)
    return _held.voter.count(kind, first, count)


def _chunk_size(voter: Voter, samples: int, workers: int) -> int:
    """Chunk size: about a second of work, at most a tenth of a worker's share, in whole batches."""
    batch = getattr(voter, "batch", 1)
    size = min(2000, 3e6 / voter.n_nodes / (10 if batch > 1 else 1), samples / (10 * workers))
    return max(1, int(size / batch)) * batch


@dataclass
class _Tally:
    """Votes so far and the counted sample numbers, as sorted disjoint ranges per kind."""

    votes: dict[int, np.ndarray]
    done: dict[int, np.ndarray]
    #: Planned number of samples of each kind; None before it is known.
    planned: dict[int, int] | None
    #: Number of the first sample of each kind.
    first: dict[int, int]
    fresh_after: tuple[int, ...] = ()

    @classmethod
    def empty(cls, voter: Voter) -> _Tally:
        shape = (voter.n_nodes, voter.n_classes)
        return cls(
            {kind: np.zeros(shape, dtype=np.int64) for kind in _KINDS},
            {kind: np.zeros((0, 2), dtype=np.int64) for kind in _KINDS},
            None,
            dict.fromkeys(_KINDS, 0),
        )

    @classmethod
    def load(
        cls, path: str | os.PathLike[str], finished: str | os.PathLike[str] | None, voter: Voter, digest: str
    ) -> _Tally:
        """The state in a checkpoint, or else in the file of a finished run; without files an empty state."""
        arrays = read_npz(path) if Path(path).exists() else None
        if arrays is None and finished is not None:
            path, arrays = finished, _finished_run(finished, digest)
        if arrays is None:
            return cls.empty(voter)
        try:
            if str(arrays["digest"].reshape(-1)[0]) != digest:
                raise InputError(
                    f"{path} holds votes of another model, graph, noise, seed or key (or was written by an older "
                    "version of certcore); delete it or choose another file"
                )
            votes = {SELECTION: arrays["selection"], ESTIMATION: arrays["estimation"]}
            done = {SELECTION: arrays["selection_done"], ESTIMATION: arrays["estimation_done"]}
        except KeyError as error:
            raise InputError(f"{path} is no checkpoint of votes: {error} is missing; delete it") from error
        for kind, ranges in done.items():
            counts = votes[kind]
            fits = (
                ranges.dtype == counts.dtype == np.int64
                and ranges.ndim == 2
                and ranges.shape[1] == 2
                and counts.shape == (voter.n_nodes, voter.n_classes)
                # Sorted and disjoint: no sample counts twice.
                and (np.diff(ranges.reshape(-1)) >= 0).all()
                and ranges.min(initial=0) >= 0
                and 0 <= counts.min(initial=0) <= counts.max(initial=0) <= MAX_TRIALS  # prevents integer overflow
                and (counts.sum(axis=1) == (ranges[:, 1] - ranges[:, 0]).sum()).all()
            )
            if not fits:
                raise InputError(f"{path} does not add up: its votes are not those of its samples; delete it")
        # Older files do not store the planned numbers: the numbers that they hold are used.
        held = [int(ranges.max(initial=0)) for ranges in done.values()]
        try:
            plan, first = _numbers(arrays, "planned", held), _numbers(arrays, "first", [0])
            starts = dict(zip(_KINDS, (0, *first), strict=True))
            fresh_after = tuple(_numbers(arrays, "fresh_after", []))
            state = cls(votes, done, dict(zip(_KINDS, plan, strict=True)), starts, fresh_after)
            if any(state.outside(kind) for kind in _KINDS):
                raise ValueError("votes of samples that the run was not for")
        except (InputError, ValueError) as error:
            raise InputError(f"{path} does not add up: {error}; delete it") from error
        return state

    def planned_for(
        self,
        selection: int,
        estimation: int,
        voter: Voter,
        fresh: bool,
        first: int | None,
        path: str | os.PathLike[str] | None,
    ) -> _Tally:
        """This state if it has the same planned numbers; a new one if no estimation vote was counted yet."""
        wanted = {SELECTION: selection, ESTIMATION: estimation}
        begins = self.first if first is None else {SELECTION: 0, ESTIMATION: first}
        if self.planned == wanted and self.first == begins:
            return self
        if self.planned is None or not len(self.done[ESTIMATION]):
            empty = _Tally.empty(voter)
            return replace(empty, planned=wanted, first=begins, fresh_after=self.fresh_after)
        if self.first != begins:
            raise InputError(
                f"{path} holds samples from number {self.first[ESTIMATION]:,} on, but --first is {first:,}; give the "
                "same number, or choose another file or folder"
            )
        before = self.planned
        if not fresh:
            raise InputError(
                f"{path} was for {before[SELECTION]:,} selection and {before[ESTIMATION]:,} estimation samples (or "
                f"holds as many, in a file of an older version), but {selection:,} and {estimation:,} are asked for: "
                "the confidence needs numbers that are fixed before any vote is seen; ask for the same numbers, or "
                "draw all samples anew with --fresh"
            )
        begins = {SELECTION: 0, ESTIMATION: self.first[ESTIMATION] + before[ESTIMATION]}
        return replace(
            _Tally.empty(voter), planned=wanted, first=begins, fresh_after=(*self.fresh_after, before[ESTIMATION])
        )

    def save(self, path: str | os.PathLike[str], voter: Voter, digest: str) -> None:
        _require_unchanged(voter, digest)
        assert self.planned is not None
        write_npz(
            path,
            {
                "digest": np.array(digest),
                "selection": self.votes[SELECTION],
                "estimation": self.votes[ESTIMATION],
                "selection_done": self.done[SELECTION],
                "estimation_done": self.done[ESTIMATION],
                "planned": np.array([self.planned[kind] for kind in _KINDS]),
                "first": np.array(self.first[ESTIMATION]),
                "fresh_after": np.array(self.fresh_after, dtype=np.int64),
            },
        )

    def add(self, kind: int, first: int, count: int, votes: np.ndarray) -> None:
        """Add the votes of a finished chunk."""
        if (votes.sum(axis=1) != count).any() or (votes < 0).any():
            raise InputError(f"a worker returned votes that do not add up to {count} samples; votes were not counted")
        self.votes[kind] = self.votes[kind] + votes
        ranges = sorted([*self.done[kind].tolist(), [first, first + count]])
        merged = [ranges[0]]
        for start, stop in ranges[1:]:
            if start == merged[-1][1]:
                merged[-1][1] = stop
            else:
                merged.append([start, stop])
        self.done[kind] = np.array(merged, dtype=np.int64)

    def _span(self, kind: int) -> tuple[int, int]:
        """The planned range of sample numbers."""
        assert self.planned is not None
        return self.first[kind], self.first[kind] + self.planned[kind]

    def outside(self, kind: int) -> bool:
        """Whether there are votes of samples outside the planned range."""
        low, high = self._span(kind)
        return bool(self.done[kind].min(initial=low) < low or self.done[kind].max(initial=high) > high)

    def missing(self, kind: int) -> list[tuple[int, int]]:
        """Planned sample numbers that are not counted yet, as ranges."""
        at, limit = self._span(kind)
        gaps = []
        for start, stop in self.done[kind].tolist():
            if start > at:
                gaps.append((at, start))
            at = stop
        return [*gaps, (at, limit)] if at < limit else gaps

    @property
    def size(self) -> int:
        """Planned number of samples."""
        assert self.planned is not None
        return sum(self.planned.values())

    def count(self) -> int:
        """Number of samples counted so far."""
        return sum(int((ranges[:, 1] - ranges[:, 0]).sum()) for ranges in self.done.values())


def _numbers(arrays: dict[str, np.ndarray], key: str, default: list[int]) -> list[int]:
    """A short list of whole numbers from a file."""
    values = arrays.get(key, np.array(default, dtype=np.int64)).reshape(-1)
    if values.dtype.kind not in "iu" or (values < 0).any() or (values > MAX_TRIALS**2).any():
        raise ValueError(f"{key} holds other things than numbers of samples")
    return [int(value) for value in values]


def _finished_run(path: str | os.PathLike[str], digest: str) -> dict[str, np.ndarray] | None:
    """A file of `python -m experiments vote` as a checkpoint, if its votes are from this voter."""
    if not Path(path).exists():
        return None
    try:
        arrays = read_npz(path)
        if str(arrays["digest"].reshape(-1)[0]) != digest:
            return None
        estimation, selection = arrays.pop("votes"), arrays["selection"]
        first = int(arrays["first"]) if "first" in arrays else 0
        ends = [int(counts[0].sum()) for counts in (selection, estimation)]
    except (InputError, KeyError, IndexError, TypeError, ValueError):
        return None  # another kind of file, which will be overwritten
    ranges = {
        "selection_done": np.array([[0, ends[0]]], dtype=np.int64),
        "estimation_done": np.array([[first, first + ends[1]]], dtype=np.int64),
    }
    return arrays | ranges | {"estimation": estimation}
