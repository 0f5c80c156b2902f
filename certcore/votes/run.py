"""Counting votes: many samples, any number of workers, interrupted at will, always the same result."""

from __future__ import annotations

import os
import time
from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Protocol

import numpy as np

from certcore.base.confidence import MAX_TRIALS
from certcore.errors import InputError
from certcore.executor import open_executor, run_tasks
from certcore.npz import read_npz, write_npz
from certcore.reading import whole_number
from certcore.votes.progress import Progress

#: What samples are for, see certcore.votes.streams (kept apart: this module is free of Numba).
SELECTION, ESTIMATION = 0, 16


class Voter(Protocol):
    """Something that counts votes by sample number; it must be picklable."""

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
    """Votes of all nodes: `selection` chose the label, `estimation` measures how sure it is."""

    selection: np.ndarray
    estimation: np.ndarray

    @property
    def prediction(self) -> np.ndarray:
        """The label with most selection votes (never corrected by estimation votes: they must stay independent)."""
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
    jobs: int | None = None,
    scheduler: str | None = None,
    chunk: int | None = None,
    every: float = 20.0,
    progress: bool = False,
) -> Votes:
    """Count the votes of `selection` + `estimation` samples.

    With a `checkpoint` file, progress is saved every `every` seconds; after an interruption the same call continues
    there, also with other workers, other chunks, or more samples than before.
    """
    selection = whole_number(selection, "the number of selection samples", 1, MAX_TRIALS)
    estimation = whole_number(estimation, "the number of estimation samples", 1, MAX_TRIALS)
    wanted = {SELECTION: selection, ESTIMATION: estimation}
    state = _State.load(checkpoint, voter) if checkpoint else _State.empty(voter)
    for kind, limit in wanted.items():
        if len(state.done[kind]) and state.done[kind].max() > limit:
            raise InputError(
                f"{checkpoint} already holds votes of sample {state.done[kind].max():,}, but only {limit:,} are asked "
                "for; ask for more samples, or use another checkpoint (another --work folder)"
            )
    left = [(kind, first, stop) for kind, limit in wanted.items() for first, stop in state.missing(kind, limit)]
    if left:
        with open_executor(jobs, scheduler) as (executor, workers):
            chunk = chunk or _chunk_size(voter, wanted[ESTIMATION], workers)
            bar = Progress("votes", selection + estimation, start=state.count()) if progress else None
            saved = time.monotonic()
            try:
                for task, votes in run_tasks(executor, workers, _count, _tasks(voter, left, chunk)):
                    state.add(task[1], task[2], task[3], votes)
                    if bar:
                        bar.update(state.count())
                    if checkpoint and time.monotonic() - saved > every:
                        state.save(checkpoint, voter)
                        saved = time.monotonic()
            finally:
                if checkpoint:
                    state.save(checkpoint, voter)
                if bar:
                    bar.close()
    return Votes(state.votes[SELECTION], state.votes[ESTIMATION])


def _tasks(voter: Voter, left: list[tuple[int, int, int]], chunk: int) -> Iterator[tuple[Voter, int, int, int]]:
    for kind, first, stop in left:
        for start in range(first, stop, chunk):
            yield voter, kind, start, min(chunk, stop - start)


def _count(voter: Voter, kind: int, first: int, count: int) -> np.ndarray:
    """One task. A worker keeps the voter it already has, with the tables it has built."""
    return _known(voter.digest, _Held(voter)).count(kind, first, count)


class _Held:
    """Equal to every other one, so that `lru_cache` looks at the digest only."""

    def __init__(self, voter: Voter) -> None:
        self.voter = voter

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _Held)

    def __hash__(self) -> int:
        return 0


@lru_cache(maxsize=2)
def _known(digest: str, held: _Held) -> Voter:
    return held.voter


def _chunk_size(voter: Voter, samples: int, workers: int) -> int:
    """About a second of work, at most a tenth of a worker's share, in whole batches."""
    batch = getattr(voter, "batch", 1)
    size = min(2000, 3e6 / voter.n_nodes / (10 if batch > 1 else 1), samples / (10 * workers))
    return max(1, int(size / batch)) * batch


@dataclass
class _State:
    """Counts so far and the sample numbers behind them, as sorted disjoint ranges per kind."""

    votes: dict[int, np.ndarray]
    done: dict[int, np.ndarray]

    @classmethod
    def empty(cls, voter: Voter) -> _State:
        shape = (voter.n_nodes, voter.n_classes)
        kinds = (SELECTION, ESTIMATION)
        return cls(
            {kind: np.zeros(shape, dtype=np.int64) for kind in kinds},
            {kind: np.zeros((0, 2), dtype=np.int64) for kind in kinds},
        )

    @classmethod
    def load(cls, path: str | os.PathLike[str], voter: Voter) -> _State:
        """The state in a checkpoint; an absent file is an empty state."""
        if not Path(path).exists():
            return cls.empty(voter)
        arrays = read_npz(path)
        try:
            if str(arrays["digest"].reshape(-1)[0]) != voter.digest:
                raise InputError(
                    f"{path} holds votes of another model, graph, noise or seed; delete it or choose another file"
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
                # In order and apart from each other: no sample counts twice.
                and (np.diff(ranges.reshape(-1)) >= 0).all()
                and ranges.min(initial=0) >= 0
                and 0 <= counts.min(initial=0) <= counts.max(initial=0) <= MAX_TRIALS  # or sums could wrap around
                and (counts.sum(axis=1) == (ranges[:, 1] - ranges[:, 0]).sum()).all()
            )
            if not fits:
                raise InputError(f"{path} does not add up: its votes are not those of its samples; delete it")
        return cls(votes, done)

    def save(self, path: str | os.PathLike[str], voter: Voter) -> None:
        write_npz(
            path,
            {
                "digest": np.array(voter.digest),
                "selection": self.votes[SELECTION],
                "estimation": self.votes[ESTIMATION],
                "selection_done": self.done[SELECTION],
                "estimation_done": self.done[ESTIMATION],
            },
        )

    def add(self, kind: int, first: int, count: int, votes: np.ndarray) -> None:
        """Take in a finished chunk."""
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

    def missing(self, kind: int, limit: int) -> list[tuple[int, int]]:
        """Sample numbers below `limit` that are not counted yet, as ranges."""
        gaps, at = [], 0
        for start, stop in self.done[kind].tolist():
            if start > at:
                gaps.append((at, min(start, limit)))
            at = stop
        return [*gaps, (at, limit)] if at < limit else gaps

    def count(self) -> int:
        """Number of samples counted so far."""
        return sum(int((ranges[:, 1] - ranges[:, 0]).sum()) for ranges in self.done.values())
