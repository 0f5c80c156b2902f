"""Counting many votes: any number of workers, chunks and interruptions give the same counts."""

from __future__ import annotations

import importlib.util
import json
import os
import signal
import subprocess
import sys
import textwrap
from pathlib import Path

import numpy as np
import pytest

pytest.importorskip("torch")

from certcore import certify
from certcore.common.errors import InputError
from certcore.common.executor import open_executor, run_tasks
from certcore.data import citation_like, save_dataset
from certcore.domain.noise import Noise
from certcore.instance.instance import load_instance
from certcore.models.storage import save_model
from certcore.votes import run as votes_run
from certcore.votes.run import collect_votes
from experiments.__main__ import main
from experiments.networks.voters import make_voter
from tests.waiting import until

_spec = importlib.util.spec_from_file_location("votes_support", Path(__file__).with_name("votes_support.py"))
support = importlib.util.module_from_spec(_spec)
_spec.loader.exec_module(support)

GRAPH = support.DATASET.graph
NOISE = Noise(("0.02", "0.6", "0", "0.4"))


@pytest.fixture(scope="module")
def voter():
    return make_voter(support.random_model("gcn"), GRAPH, NOISE, seed=4)


@pytest.fixture(scope="module")
def expected(voter):
    return collect_votes(voter, selection=50, estimation=700, jobs=1)


def same(votes, expected) -> bool:
    return np.array_equal(votes.selection, expected.selection) and np.array_equal(votes.estimation, expected.estimation)


def test_counts(voter, expected):
    assert (expected.selection.sum(axis=1) == 50).all()
    assert expected.n_samples == 700
    assert np.array_equal(expected.estimation, voter.count(16, 0, 700))
    assert np.array_equal(expected.prediction, expected.selection.argmax(axis=1))


@pytest.mark.parametrize("chunk", [1, 13, 10_000])
def test_chunks(voter, expected, chunk, monkeypatch):
    monkeypatch.setattr(votes_run, "_chunk_size", lambda *_: chunk)
    assert same(collect_votes(voter, selection=50, estimation=700, jobs=1), expected)


def test_processes(voter, expected, monkeypatch):
    monkeypatch.setattr(votes_run, "_chunk_size", lambda *_: 31)
    assert same(collect_votes(voter, selection=50, estimation=700, jobs=2), expected)


class _Interrupted:
    """A voter that is stopped by Ctrl-C after a few chunks."""

    def __init__(self, voter, chunks: int) -> None:
        self.voter, self.left = voter, chunks
        self.n_nodes, self.n_classes, self.digest = voter.n_nodes, voter.n_classes, f"stop-{id(self)}"

    def count(self, kind: int, first: int, count: int) -> np.ndarray:
        if self.left == 0:
            raise KeyboardInterrupt
        self.left -= 1
        return self.voter.count(kind, first, count)


def test_interruptions(voter, expected, tmp_path, monkeypatch):
    path = tmp_path / "votes.npz"
    for chunks, chunk in ((3, 40), (5, 17), (1, 300)):
        monkeypatch.setattr(votes_run, "_chunk_size", lambda *_, size=chunk: size)
        stopped = _Interrupted(voter, chunks)
        stopped.digest = voter.digest
        with pytest.raises(KeyboardInterrupt):
            collect_votes(stopped, selection=50, estimation=700, jobs=1, checkpoint=path)
    before = np.load(path)["estimation_done"].copy()
    assert 0 < (before[:, 1] - before[:, 0]).sum() < 700
    assert same(collect_votes(voter, selection=50, estimation=700, jobs=1, checkpoint=path), expected)
    # Finished work is read, not repeated.
    assert same(collect_votes(voter, selection=50, estimation=700, jobs=1, checkpoint=path), expected)


def test_foreign_and_damaged_checkpoints(voter, tmp_path):
    path = tmp_path / "votes.npz"
    collect_votes(voter, selection=5, estimation=20, jobs=1, checkpoint=path)
    other = make_voter(support.random_model("gcn"), GRAPH, NOISE, seed=5)
    with pytest.raises(InputError, match="another model"):
        collect_votes(other, selection=5, estimation=20, jobs=1, checkpoint=path)
    arrays = dict(np.load(path))
    arrays["estimation"] = arrays["estimation"] + 1
    np.savez(path, **arrays)
    with pytest.raises(InputError, match="add up"):
        collect_votes(voter, selection=5, estimation=20, jobs=1, checkpoint=path)
    good = arrays | {"estimation": arrays["estimation"] - 1}
    twice = good | {"estimation": good["estimation"] * 2, "estimation_done": np.array([[0, 20], [0, 20]])}
    flat = good | {"estimation_done": np.array([0, 20])}
    halves = good | {"estimation": good["estimation"].astype(float)}
    debt = good | {"estimation": good["estimation"] + [[-30, 30, 0, 0]]}
    for broken in (twice, flat, halves, debt):
        np.savez(path, **broken)
        with pytest.raises(InputError, match="add up"):
            collect_votes(voter, selection=5, estimation=20, jobs=1, checkpoint=path)
    np.savez(path, **good)
    collect_votes(voter, selection=5, estimation=20, jobs=1, checkpoint=path)
    path.write_bytes(b"PK\x03\x04 cut off")
    with pytest.raises(InputError):
        collect_votes(voter, selection=5, estimation=20, jobs=1, checkpoint=path)


def test_bad_numbers(voter, monkeypatch):
    monkeypatch.setattr("certcore.common.executor.CONNECT_SECONDS", 0.5)
    with pytest.raises(InputError, match="selection samples is 0"):
        collect_votes(voter, selection=0, estimation=20)
    with pytest.raises(InputError, match="estimation samples is 10000000000"):
        collect_votes(voter, selection=1, estimation=10**10)
    with pytest.raises(InputError, match="jobs"):
        collect_votes(voter, selection=1, estimation=20, jobs=0)
    with pytest.raises(InputError, match="no Dask scheduler"):
        collect_votes(voter, selection=1, estimation=20, scheduler="tcp://127.0.0.1:9")


KILLED = """
import sys
import numpy as np
sys.path.insert(0, {folder!r})
from slow_model import make
from certcore.votes import run
if __name__ == "__main__":
    run._chunk_size, run.SAVE_EVERY = lambda *_: 10, 0.1
    run.collect_votes(make(), selection=20, estimation=1200, checkpoint={path!r}, jobs={jobs})
"""

MODEL = """
import time
import numpy as np
from certcore.data import citation_like
from certcore.votes.function import FunctionVoter
from certcore.domain.noise import Noise

def labels(attributes, adjacency):
    time.sleep(0.002)
    return (np.asarray(attributes.sum(axis=1)).ravel().astype(int) + np.diff(adjacency.indptr)) % 3

def make():
    return FunctionVoter(citation_like(60, 30, 3).graph, Noise(("0.05", "0.5", "0", "0.4")), 1, labels, 3, "slow")
"""


@pytest.mark.parametrize("jobs", [1, 2])
def test_resume_after_kill(tmp_path, jobs, monkeypatch):
    """kill −9 in the middle: the checkpoint is whole, and continuing gives what an undisturbed run gives."""
    (tmp_path / "slow_model.py").write_text(textwrap.dedent(MODEL))
    path = tmp_path / "votes.npz"
    script = KILLED.format(folder=str(tmp_path), path=str(path), jobs=jobs)
    (tmp_path / "killed.py").write_text(script)
    process = subprocess.Popen([sys.executable, str(tmp_path / "killed.py")], start_new_session=True)
    try:
        until(lambda: path.exists() or process.poll() is not None, patience=300)
        assert process.poll() is None, "the run ended before it could be killed"
    finally:
        os.killpg(process.pid, signal.SIGKILL) if jobs == 1 else process.kill()
        process.wait()
    with np.load(path) as file:
        counted = int((file["estimation_done"][:, 1] - file["estimation_done"][:, 0]).sum())
        assert (file["estimation"].sum(axis=1) == counted).all()
    assert counted < 1200
    monkeypatch.syspath_prepend(str(tmp_path))
    sys.modules.pop("slow_model", None)
    from slow_model import make

    resumed = collect_votes(make(), selection=20, estimation=1200, checkpoint=path, jobs=1)
    assert np.array_equal(resumed.estimation, make().count(16, 0, 1200))
    assert np.array_equal(resumed.selection, make().count(0, 0, 20))


def test_dask_with_a_worker_killed_on_the_way(voter, expected):
    distributed = pytest.importorskip("distributed")
    with distributed.LocalCluster(
        n_workers=2, threads_per_worker=1, processes=True, dashboard_address="127.0.0.1:0", silence_logs=50
    ) as cluster:
        killed = False
        with open_executor(scheduler=cluster.scheduler_address) as (executor, workers):
            assert workers == 2
            total = np.zeros_like(expected.estimation)
            tasks = [(voter, voter.digest, 16, first, 14) for first in range(0, 700, 14)]
            from certcore.votes.run import _count

            for done, (_, votes) in enumerate(run_tasks(executor, workers, _count, tasks)):
                total += votes
                if done == 8 and not killed:
                    killed = True
                    nanny = next(iter(cluster.workers.values()))
                    os.kill(nanny.pid, signal.SIGKILL)
        assert killed
        assert np.array_equal(total, expected.estimation)
        votes = collect_votes(voter, selection=50, estimation=700, scheduler=cluster.scheduler_address)
        assert same(votes, expected)


def test_tasks_are_not_drawn_ahead():
    """Memory does not grow with the number of samples: tasks are made when there is a place for them."""
    drawn = 0

    def source():
        nonlocal drawn
        for k in range(500):
            drawn += 1
            yield (k,)

    with open_executor(jobs=1) as (executor, workers):
        for done, (task, result) in enumerate(run_tasks(executor, workers, abs, source())):
            assert task == (result,)
            assert drawn <= done + 1
    assert drawn == 500


def test_commands_from_dataset_to_instance(tmp_path, capsys, monkeypatch):
    """train, vote and bundle on a small graph, through the command line."""
    monkeypatch.chdir(tmp_path)
    save_dataset("tiny.npz", citation_like(200, 60, 3, ones=10, seed=7))
    base = ["--split", "1", "--epochs", "15"]
    assert main(["train", "tiny.npz", "gcn", "attr", *base, "--json"]) == 0
    facts = json.loads(capsys.readouterr().out)
    assert (facts["split"], facts["epochs_run"]) == (1, 15)
    assert main(["vote", "tiny.npz", facts["path"], "--samples", "300", "--selection", "20", "--jobs", "1"]) == 0
    with np.load(Path(facts["path"]).with_suffix(".votes.npz")) as file:
        assert (file["votes"].sum(axis=1) == 300).all()
        assert str(file["theta"][1]) == "0.6"
    capsys.readouterr()
    options = ["--samples", "300", "--selection", "20", "--jobs", "1", "--work", "work", "--json"]
    assert main(["bundle", "tiny.npz", "gcn_mean", "joint", *base, *options]) == 0
    facts = json.loads(capsys.readouterr().out)
    assert facts["path"] == "precomputed/tiny-gcn_mean-joint-s1.npz"
    instance = load_instance(facts["path"])
    assert instance.edge_field == "messages"
    assert instance.layout.shape == (200, 2)
    assert len(instance.targets) == 200 - 120
    meta = instance.meta
    assert (meta["group"], meta["split"], meta["samples"]) == ("tiny-gcn_mean-joint", 1, 300)
    assert set(meta["accuracy"]) == {"clean", "smoothed"}
    assert meta["command"].startswith("python -m experiments bundle tiny.npz gcn_mean joint --split 1 --samples 300")
    assert str(tmp_path) not in json.dumps(meta)
    # The same command again finds everything done and writes the same file.
    before = Path(facts["path"]).read_bytes()
    assert main(["bundle", "tiny.npz", "gcn_mean", "joint", *base, *options]) == 0
    assert Path(facts["path"]).read_bytes() == before


def bundled(model, types, *more):
    """A small bundle of a small graph, made by the command in the folder one is in."""
    save_dataset("tiny.npz", citation_like(200, 60, 3, ones=10, seed=7))
    sizes = ["--epochs", "5", "--samples", "64", "--selection", "16", "--jobs", "1"]
    assert main(["bundle", "tiny.npz", model, types, *sizes, "--work", "work", "-o", "a.npz", *more]) == 0
    return load_instance("a.npz")


@pytest.mark.parametrize(
    ("model", "types"),
    [("gat", "attr"), ("gat", "adj"), ("rgcn", "attr"), ("sma", "attr"), ("gcn", "joint"), ("decoupled", "ballots")],
)
def test_a_bundle_of_each_model_is_one_command(model, types, tmp_path, monkeypatch, capsys):
    """Beside those below, and Gaussian noise in tests/pipeline/test_pipeline_moved.py; each can be certified."""
    monkeypatch.chdir(tmp_path)
    instance = bundled(model, types)
    assert (instance.meta["model"], instance.meta["types"]) == (model, types)
    axis = instance.base.axes[0]
    assert 0 <= certify(instance, **{axis: 1}, attack=False).certified <= len(instance.targets)


def test_explicit_fields_of_truncated_models(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    instance = bundled("appnp", "attr")
    assert instance.node_field is not None
    assert np.diff(instance.node_field.indptr).max() <= 64


def test_convex_bundles(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    save_dataset("tiny.npz", citation_like(200, 60, 3, ones=10, seed=7))
    assert main(["bundle", "tiny.npz", "gcn", "convex", "--epochs", "30", "--work", "work", "-o", "a.npz"]) == 0
    instance = load_instance("a.npz")
    assert instance.base.axes == ("attr_add",)
    assert instance.base.local is not None
    assert instance.base.fronts().certified((0, 0, 0, 0)).mean() > 0.9
    assert main(["bundle", "tiny.npz", "gat", "convex"]) == 2


def test_paper_rule_is_marked(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    instance = bundled("gcn", "adj", "--edge-field", "messages")
    assert instance.edge_field == "messages"
    assert "overstates" in instance.meta["field_note"]


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--split", "-1"], "--split: '-1' is no whole number"),
        (["--seed", "-5"], "--seed: '-5' is no whole number"),
        (["--epochs", "0"], "epochs is 0"),
        (["--alpha", "2"], "alpha"),
        (["--alpha", "x"], "alpha"),
        (["--theta", "0", "0", "0", "0.4"], "smooths adj"),
        (["--alpha", "1e-999999999"], "alpha"),
        (["--theta", "2", "0", "0", "0"], "theta of attr_add is 2"),
        (["--theta", "1e999999999", "0", "0", "0"], "theta of attr_add is '1e999999999'"),
    ],
)
def test_bad_options_are_refused_before_anything_begins(options, message, capsys):
    assert main(["bundle", "citeseer", "gcn", "attr", *options]) == 2
    error = capsys.readouterr().err
    assert message in error
    assert error.count("\n") == 1


def test_a_broken_model_is_one_sentence(tmp_path, capsys, monkeypatch):
    import torch

    monkeypatch.chdir(tmp_path)
    save_dataset("tiny.npz", support.DATASET)
    model = support.random_model("gcn")
    with torch.no_grad():
        model.bias1[0] = float("nan")
    save_model("m.safetensors", model, {"theta": list(NOISE.theta), "seed": 0})
    assert main(["vote", "tiny.npz", "m.safetensors", "--samples", "10"]) == 2
    message = capsys.readouterr().err
    assert "NaN" in message
    assert message.count("\n") == 1


def test_votes_with_a_nonsensical_alpha_are_not_counted(tmp_path, capsys):
    for alpha in ("7", "x", "0"):
        assert main(["vote", "citeseer", str(tmp_path / "none"), "--alpha", alpha]) == 2
        assert "alpha" in capsys.readouterr().err
