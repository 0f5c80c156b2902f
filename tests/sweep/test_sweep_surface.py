"""Maps and curves: proven from a few solves, sound at any time, resumable, and several instances at once."""

from __future__ import annotations

import os
import signal
import threading
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from certcore import InputError, Status, ThreatModel, certify
from certcore.sweep import Counts, Session, Sweep, SweepTask, curve, over_splits, run_many, surface
from tests.sweep.cases import smoothed_like

X, Y = tuple(range(6)), tuple(range(0, 13, 2))
AXES = ("attr_add", X), ("attr_del", Y)


def test_a_growing_surface_is_sound_and_sharpens(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("certcore.sweep.sweep.REFRESH", 0.0)
    instance = smoothed_like(1, n=120)
    seen = list(Sweep(instance, None, AXES).run())
    last = seen[-1]
    assert last.done.all()
    assert last.status is Status.OPTIMAL
    assert len(seen) > 10
    for earlier, later in pairwise(seen):
        assert (earlier.certified <= later.certified).all()
        assert (earlier.done <= later.done).all()
        assert (earlier.certified[earlier.done] == last.certified[earlier.done]).all()
    half = seen[len(seen) // 2]
    assert (half.certified > half.naive).any()
    for i, j in ((0, 0), (2, 3), (5, 6), (1, 1)):
        cold = certify(instance, ThreatModel(attr_add=X[i], attr_del=Y[j]), attack=False)
        assert last.certified[i, j] == cold.certified
        assert last.bounds[i, j] == pytest.approx(float(cold.bound), abs=1e-3)


def test_a_few_solves_prove_something_everywhere(monkeypatch: pytest.MonkeyPatch) -> None:
    """After five solves nearly every cell certifies more than node by node, long before it is solved itself."""
    monkeypatch.setattr("certcore.sweep.sweep.REFRESH", 0.0)
    monkeypatch.setattr("certcore.sweep.sweep.MANY_CELLS", 1)
    instance = smoothed_like(1, n=120)
    seen = list(Sweep(instance, None, AXES).run())
    soon = [found for found in seen if found.done.sum() == 5][-1]
    better = (soon.certified > soon.naive) | (seen[-1].certified == soon.naive)
    assert better.mean() > 0.9


def test_lines_near_the_asked_budget_come_first(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("certcore.sweep.sweep.REFRESH", 0.0)
    monkeypatch.setattr("certcore.sweep.sweep.MANY_CELLS", 1)
    instance = smoothed_like(1, n=120)
    order: list[int] = []
    for found in Sweep(instance, None, AXES, near=(3, 9)).run():
        order += [i for i in np.flatnonzero(found.done.all(axis=1)).tolist() if i not in order]
    assert order == [3, 2, 4, 1, 5, 0]
    first = next(found for found in Sweep(instance, None, AXES, near=(3, 9)).run() if found.done.any())
    assert first.done[3, 5], "the cell of 3 and 9 (10 holds it) comes first"
    whole = Sweep(instance, None, AXES).finish()
    near = Sweep(instance, None, AXES, near=(3, 9)).finish()
    assert (near.certified == whole.certified).all()


def test_an_interrupted_surface_continues_where_it_stopped(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("certcore.sweep.sweep.REFRESH", 0.0)
    instance = smoothed_like(2, n=120)
    path = tmp_path / "cells.npz"
    whole = Sweep(instance, None, AXES).finish()
    growing = Sweep(instance, None, AXES, checkpoint=path).run()
    part = next(found for found in growing if found.done.sum() > 12)
    growing.close()  # as if the process had been stopped here
    assert 0 < part.done.sum() < part.done.size
    rest = list(Sweep(instance, None, AXES, checkpoint=path).run())
    assert (rest[0].done >= part.done).all()
    assert (rest[0].certified[part.done] == whole.certified[part.done]).all()
    assert rest[-1].done.all()
    assert (rest[-1].certified == whole.certified).all()
    assert rest[-1].solves < whole.solves
    again = Sweep(instance, None, AXES, checkpoint=path).finish()
    assert again.solves == 0
    assert (again.bounds == rest[-1].bounds).all()
    for other in (
        {"threat": ThreatModel(sigma=3)},
        {"source": smoothed_like(3, n=120)},
        {"axes": [AXES[0], ("attr_del", range(5))]},
        {"relaxation": "paper"},
    ):
        options: dict[str, Any] = {"source": instance, "threat": None, "axes": AXES} | other
        with pytest.raises(InputError, match="another curve or surface"):
            Sweep(**options, checkpoint=path)


def test_a_forged_or_damaged_checkpoint_is_refused(tmp_path: Path) -> None:
    instance = smoothed_like(2, n=40)
    path = tmp_path / "cells.npz"
    surface(instance, ThreatModel(), "attr_add", range(2), "attr_del", range(2), checkpoint=path)
    with np.load(path) as file:
        arrays = dict(file)
    arrays["numerators"] = np.zeros_like(arrays["numerators"])
    np.savez(path, **arrays)
    with pytest.raises(InputError, match="damaged"):
        surface(instance, ThreatModel(), "attr_add", range(2), "attr_del", range(2), checkpoint=path)
    path.write_bytes(path.read_bytes()[:100])
    with pytest.raises(InputError):
        surface(instance, ThreatModel(), "attr_add", range(2), "attr_del", range(2), checkpoint=path)


def test_curves_continue_too(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("certcore.sweep.sweep.REFRESH", 0.0)
    instance = smoothed_like(4, n=100)
    whole = curve(instance, ThreatModel(), "attr_del", range(40))
    cancel = threading.Event()
    path = tmp_path / "curve.npz"

    def stop(growing: Counts) -> None:
        if growing.share_done > 0.3:
            cancel.set()

    part = curve(instance, ThreatModel(), "attr_del", range(40), checkpoint=path, cancel=cancel, progress=stop)
    assert part.status is Status.INTERRUPTED
    assert 0 < part.done.sum() < 40
    assert (part.certified <= whole.certified).all()
    rest = curve(instance, ThreatModel(), "attr_del", range(40), checkpoint=path)
    assert rest.done.all()
    assert (rest.certified == whole.certified).all()
    assert rest.solves < whole.solves


def test_a_dask_cluster_and_processes_give_the_same_when_a_worker_is_killed() -> None:
    """Several instances at once on two real worker processes, one of which is killed after the first result."""
    distributed = pytest.importorskip("distributed")
    tasks = [SweepTask(smoothed_like(seed, n=100), ThreatModel(), AXES) for seed in range(4)]
    tasks.append(SweepTask(tasks[0].instance, ThreatModel(), [("attr_del", (0, 1, 2))]))
    here = [task.run() for task in tasks]
    with (
        distributed.LocalCluster(
            n_workers=2, threads_per_worker=1, processes=True, dashboard_address="127.0.0.1:0", silence_logs=50
        ) as cluster,
        distributed.Client(cluster) as client,
    ):
        pids = sorted(client.run(os.getpid).values())
        killed: list[int] = []

        def kill(share: float) -> None:
            if not killed:
                os.kill(pids[0], signal.SIGKILL)
                killed.append(pids[0])

        there = run_many(tasks, scheduler=cluster.scheduler_address, progress=kill)
    assert killed
    for results in (there, run_many(tasks, jobs=2)):
        assert [found.certified.tolist() for found in results] == [found.certified.tolist() for found in here]


def test_mean_and_deviation_over_splits() -> None:
    instances = [smoothed_like(seed, n=60) for seed in range(3)]
    tasks = [SweepTask(instance, ThreatModel(), [("attr_del", range(0, 200, 5))]) for instance in instances]
    curves = run_many(tasks, jobs=2)
    for instance, found in zip(instances, curves):
        assert (found.certified == curve(instance, ThreatModel(), "attr_del", range(0, 200, 5)).certified).all()
    both = over_splits(curves)
    ratios = np.stack([found.certified / 60 for found in curves])
    assert both.mean == pytest.approx(ratios.mean(axis=0))
    assert both.deviation == pytest.approx(np.sqrt(((ratios - ratios.mean(axis=0)) ** 2).sum(axis=0) / 2))
    assert both.average_radius is None
    with pytest.raises(InputError, match="same values"):
        over_splits([curves[0], curve(instances[0], ThreatModel(), "attr_del", range(3))])


def test_surfaces_of_a_session_feed_its_previews() -> None:
    instance = smoothed_like(2, n=100)
    session = Session(instance)
    surface(session, ThreatModel(), "attr_add", range(4), "attr_del", range(8))
    preview = session.preview(ThreatModel(attr_add=3, attr_del=5))
    assert preview.final
    assert preview.certified == certify(instance, ThreatModel(attr_add=3, attr_del=5), attack=False).certified
