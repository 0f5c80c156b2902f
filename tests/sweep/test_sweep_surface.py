"""Surfaces: coarse first, usable at any time, resumable, and the same wherever they are computed."""

from __future__ import annotations

import os
import signal
import threading
from importlib import import_module
from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest

from certcore import InputError, Status, ThreatModel, certify
from certcore.sweep import CurveTask, Session, SurfaceTask, curve, over_splits, run_many, surface, surfaces
from certcore.sweep.surface_maps import COARSEST, around, coarse_to_fine
from tests.sweep.cases import smoothed_like

X, Y = tuple(range(6)), tuple(range(0, 13, 2))


@pytest.mark.parametrize("shape", [(1, 1), (1, 7), (5, 1), (9, 22), (4, 4), (2, 3)])
def test_every_cell_comes_once_and_coarse_ones_first(shape: tuple[int, int]) -> None:
    order = coarse_to_fine(*shape)
    assert len(order) == len(set(order)) == shape[0] * shape[1]
    coarse = {(i, j) for i in {*range(0, shape[0], COARSEST), shape[0] - 1} for j in {*range(0, shape[1], COARSEST)}}
    assert coarse <= set(order[: len(coarse) + shape[0]])
    in_turn = coarse_to_fine(*shape, 1)
    assert sorted(in_turn) == sorted(order)
    assert all(abs(a[0] - b[0]) + abs(a[1] - b[1]) == 1 for a, b in pairwise(in_turn))


def test_a_growing_surface_is_sound_and_sharpens(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(import_module("certcore.sweep.surface_maps"), "REFRESH", 0.0)
    instance = smoothed_like(1, n=120)
    seen = list(surfaces(instance, ThreatModel(), "attr_add", X, "attr_del", Y))
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
        assert last.bound_at(i, j) == pytest.approx(float(cold.bound), abs=1e-3)


def test_a_coarser_surface_is_refined_around_a_place(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(import_module("certcore.sweep.surface_maps"), "REFRESH", 0.0)
    instance = smoothed_like(1, n=120)
    session = Session(instance)
    coarse = surface(session, ThreatModel(attr_del=3), "attr_add", (0, 2, 5), "attr_del", (0, 4, 12))
    finer = {"coarser": coarse, "near": (3, 9)}
    seen = list(surfaces(session, ThreatModel(attr_add=1), "attr_add", X, "attr_del", Y, **finer))  # type: ignore[arg-type]
    first, last = seen[0], seen[-1]
    assert first.done.sum() == 9, "the cells of the coarser one are taken over"
    for i, x in enumerate(X):
        for j, y in enumerate(Y):
            above = coarse.certified[np.searchsorted((0, 2, 5), x), np.searchsorted((0, 4, 12), y)]
            assert first.certified[i, j] >= above, "what holds at larger budgets holds here"
    new = np.argwhere(seen[1].done & ~first.done).tolist()
    assert new == [[3, 5]], "the cell of 3 and 9 (10 holds it) comes first"
    whole = surface(instance, ThreatModel(), "attr_add", X, "attr_del", Y)
    assert last.done.all()
    assert (last.certified == whole.certified).all()
    for other in (ThreatModel(adj_del=1), ThreatModel(targets=[0, 1]), ThreatModel(protected=[4])):
        with pytest.raises(InputError, match="another question"):
            next(surfaces(session, other, "attr_add", X, "attr_del", Y, coarser=coarse))
    with pytest.raises(InputError, match="another question"):
        next(surfaces(smoothed_like(2, n=120), ThreatModel(), "attr_add", X, "attr_del", Y, coarser=coarse))
    assert sorted(around(([0, 1, 2], [0, 1, 2, 3]), (9, 0))) == sorted(coarse_to_fine(3, 4))


def test_an_interrupted_surface_continues_where_it_stopped(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(import_module("certcore.sweep.surface_maps"), "REFRESH", 0.0)
    instance = smoothed_like(2, n=120)
    path = tmp_path / "cells.npz"
    whole = surface(instance, ThreatModel(), "attr_add", X, "attr_del", Y)
    growing = surfaces(instance, ThreatModel(), "attr_add", X, "attr_del", Y, checkpoint=path)
    part = next(growing)
    for _ in range(12):
        part = next(growing)
    growing.close()  # as if the process had been stopped here
    assert 0 < part.done.sum() < part.done.size
    rest = list(surfaces(instance, ThreatModel(), "attr_add", X, "attr_del", Y, checkpoint=path))
    assert (rest[0].done == part.done).all()
    assert (rest[0].certified[part.done] == whole.certified[part.done]).all()
    assert rest[-1].done.all()
    assert (rest[-1].certified == whole.certified).all()
    assert rest[-1].solves < whole.solves
    again = surface(instance, ThreatModel(), "attr_add", X, "attr_del", Y, checkpoint=path)
    assert again.solves == 0
    assert (again.bounds == rest[-1].bounds).all()
    for other in (
        {"threat": ThreatModel(sigma=3)},
        {"instance": smoothed_like(3, n=120)},
        {"y_values": range(5)},
        {"relaxation": "paper"},
    ):
        options = {"threat": ThreatModel(), "instance": instance, "y_values": Y, "relaxation": "tight"} | other
        with pytest.raises(InputError, match="another curve or surface"):
            surface(
                options["instance"], options["threat"], "attr_add", X, "attr_del", options["y_values"],
                relaxation=options["relaxation"], checkpoint=path,
            )  # fmt: skip


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
    monkeypatch.setattr(import_module("certcore.sweep.curves"), "PORTION", 8)
    instance = smoothed_like(4, n=100)
    whole = curve(instance, ThreatModel(), "attr_del", range(40))
    cancel = threading.Event()
    path = tmp_path / "curve.npz"

    def stop(share: float) -> None:
        if share > 0.3:
            cancel.set()

    part = curve(instance, ThreatModel(), "attr_del", range(40), checkpoint=path, cancel=cancel, progress=stop)
    assert part.status is Status.INTERRUPTED
    assert 0 < part.final.sum() < 40
    assert (part.certified <= whole.certified).all()
    rest = curve(instance, ThreatModel(), "attr_del", range(40), checkpoint=path)
    assert rest.final.all()
    assert (rest.certified == whole.certified).all()
    assert rest.solves < whole.solves


def test_processes_give_the_same_surface() -> None:
    instance = smoothed_like(2, n=100)
    here = surface(instance, ThreatModel(), "attr_add", X, "attr_del", Y)
    there = surface(instance, ThreatModel(), "attr_add", X, "attr_del", Y, jobs=2)
    assert there.done.all()
    assert (here.certified == there.certified).all()


def test_a_dask_cluster_gives_the_same_when_a_worker_is_killed(monkeypatch: pytest.MonkeyPatch) -> None:
    """Two real worker processes; one of them is killed as soon as the first cells are there."""
    distributed = pytest.importorskip("distributed")
    monkeypatch.setattr(import_module("certcore.sweep.surface_maps"), "REFRESH", 0.0)
    instance = smoothed_like(2, n=250)
    here = surface(instance, ThreatModel(), "attr_add", X, "attr_del", Y)
    with (
        distributed.LocalCluster(
            n_workers=2, threads_per_worker=1, processes=True, dashboard_address=None, silence_logs=50
        ) as cluster,
        distributed.Client(cluster) as client,
    ):
        address = cluster.scheduler_address
        pids = sorted(client.run(os.getpid).values())
        killed = []
        for part in surfaces(instance, ThreatModel(), "attr_add", X, "attr_del", Y, scheduler=address):
            if not killed and part.done.any() and not part.done.all():
                os.kill(pids[0], signal.SIGKILL)
                killed.append(pids[0])
        assert killed
        assert part.done.all()
        assert (part.certified == here.certified).all()
        tasks = [SurfaceTask(instance, ThreatModel(), "attr_add", (0, 1), "attr_del", (0, 4)),
                 CurveTask(instance, ThreatModel(), "attr_del", (0, 1, 2))]  # fmt: skip
        both = run_many(tasks, scheduler=address)
    assert (both[0].certified == here.certified[:2, :3:2]).all()
    assert both[1].certified.tolist() == curve(instance, ThreatModel(), "attr_del", (0, 1, 2)).certified.tolist()


def test_mean_and_deviation_over_splits() -> None:
    instances = [smoothed_like(seed, n=60) for seed in range(3)]
    tasks = [CurveTask(instance, ThreatModel(), "attr_del", tuple(range(0, 200, 5))) for instance in instances]
    curves = run_many(tasks, jobs=2)
    for instance, found in zip(instances, curves):
        assert (found.certified == curve(instance, ThreatModel(), "attr_del", range(0, 200, 5)).certified).all()
    both = over_splits(curves)  # type: ignore[arg-type]
    ratios = np.stack([found.certified / 60 for found in curves])
    assert both.mean == pytest.approx(ratios.mean(axis=0))
    assert both.deviation == pytest.approx(np.sqrt(((ratios - ratios.mean(axis=0)) ** 2).sum(axis=0) / 2))
    assert both.average_radius is None
    with pytest.raises(InputError, match="same values"):
        over_splits([curves[0], curve(instances[0], ThreatModel(), "attr_del", range(3))])  # type: ignore[list-item]


def test_surfaces_of_a_session_feed_its_previews() -> None:
    instance = smoothed_like(2, n=100)
    session = Session(instance)
    surface(session, ThreatModel(), "attr_add", range(4), "attr_del", range(8))
    preview = session.preview(ThreatModel(attr_add=3, attr_del=5))
    assert preview.final
    assert preview.certified == certify(instance, ThreatModel(attr_add=3, attr_del=5), attack=False).certified
