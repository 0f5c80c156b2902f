"""Votes of a module on a Dask cluster that loses a worker: equal to the bit."""

from __future__ import annotations

import os
import signal

import numpy as np
import pytest

pytest.importorskip("torch_geometric")
pytest.importorskip("distributed")

import distributed
import torch
import torch_geometric.nn as geometric

import certcore as cc
from certcore.votes.run import _Tally
from tests.pipeline import zoo


@pytest.fixture(scope="module")
def cluster():
    with (
        distributed.LocalCluster(
            n_workers=2, threads_per_worker=1, processes=True, dashboard_address="127.0.0.1:0", silence_logs=50
        ) as found,
        distributed.Client(found) as client,
    ):
        yield client


class Killer:
    """Kills one worker as soon as it is called for the second time."""

    def __init__(self, client) -> None:
        self.pids, self.calls = sorted(client.run(os.getpid).values()), 0
        assert len(self.pids) == 2

    def __call__(self) -> None:
        self.calls += 1
        if self.calls == 2:
            os.kill(self.pids[0], signal.SIGKILL)


@pytest.mark.slow
def test_votes_of_a_module(cluster, monkeypatch):
    torch.manual_seed(0)
    model, data = geometric.GAT(24, 8, 2, 3, heads=2), zoo.as_data()
    options = {"attr_add": 0.01, "attr_del": 0.6, "adj_del": 0.3, "samples": 2_000, "selection": 100}
    here = cc.smooth(model, data, **options)
    kill, add = Killer(cluster), _Tally.add
    monkeypatch.setattr(_Tally, "add", lambda self, *given: (kill(), add(self, *given)))
    there = cc.smooth(model, data, scheduler=cluster.scheduler.address, **options)
    assert kill.calls > 2
    assert np.array_equal(there.base.votes, here.base.votes)
    assert np.array_equal(there.prediction, here.prediction)
