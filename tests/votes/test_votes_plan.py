"""A number of samples is fixed before anybody looks: other numbers afterwards mean other samples."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

pytest.importorskip("torch")

from certcore.common.errors import InputError
from certcore.common.npz import write_npz
from certcore.data import citation_like, save_dataset
from certcore.domain.noise import Noise
from certcore.instance.instance import load_instance
from certcore.votes import run as votes_run
from certcore.votes.function import FunctionVoter
from certcore.votes.purposes import ESTIMATION, SELECTION
from certcore.votes.run import collect_votes
from experiments.__main__ import main

GRAPH = citation_like(60, 30, 3).graph


def degrees(attributes, adjacency):
    """Labels that the noise changes."""
    return (np.asarray(attributes.sum(axis=1)).ravel().astype(int) + np.diff(adjacency.indptr)) % 3


VOTER = FunctionVoter(GRAPH, Noise(("0.05", "0.5", "0", "0.4")), 1, degrees, 3, "degrees")


def run(path, selection, estimation, **options):
    return collect_votes(VOTER, selection=selection, estimation=estimation, jobs=1, checkpoint=path, **options)


@pytest.mark.parametrize("numbers", [(5, 40), (5, 20), (6, 30), (4, 30)])
def test_other_numbers_need_other_samples(tmp_path, numbers):
    path = tmp_path / "votes.npz"
    run(path, 5, 30)
    with pytest.raises(InputError, match="--fresh"):
        run(path, *numbers)
    votes = run(path, *numbers, fresh=True)
    assert (votes.first, votes.fresh_after) == (30, (30,))
    assert np.array_equal(votes.estimation, VOTER.count(ESTIMATION, 30, numbers[1]))
    assert np.array_equal(votes.selection, VOTER.count(SELECTION, 0, numbers[0]))
    # Said again, with or without the word, it is the same run.
    for fresh in (True, False):
        again = run(path, *numbers, fresh=fresh)
        assert np.array_equal(again.estimation, votes.estimation)
    third = run(path, 5, 30, fresh=True)
    assert (third.first, third.fresh_after) == (30 + numbers[1], (30, numbers[1]))


def test_samples_from_a_number_on(tmp_path):
    """Where the file of earlier votes is gone, their samples are named instead."""
    path = tmp_path / "votes.npz"
    votes = run(path, 5, 30, first=40)
    assert np.array_equal(votes.estimation, VOTER.count(ESTIMATION, 40, 30))
    assert np.array_equal(votes.selection, VOTER.count(SELECTION, 0, 5))
    for again in (run(path, 5, 30, first=40), run(path, 5, 30)):
        assert (again.first, again.n_samples) == (40, 30)
    for other in (0, 41):
        with pytest.raises(InputError, match="from number 40 on"):
            run(path, 5, 30, first=other)
    with pytest.raises(InputError, match="leave out --fresh"):
        run(path, 5, 20, first=70, fresh=True)
    after = run(path, 5, 20, fresh=True)
    assert (after.first, after.fresh_after) == (70, (30,))


class Stopped:
    """The same votes until somebody presses Ctrl-C."""

    n_nodes, n_classes, digest = VOTER.n_nodes, VOTER.n_classes, VOTER.digest

    def __init__(self, chunks: int) -> None:
        self.left = chunks

    def count(self, kind, first, count):
        if not self.left:
            raise KeyboardInterrupt
        self.left -= 1
        return VOTER.count(kind, first, count)


def test_an_interrupted_run_goes_on_to_the_number_it_began_with(tmp_path, monkeypatch):
    monkeypatch.setattr(votes_run, "_chunk_size", lambda *_: 10)
    path = tmp_path / "votes.npz"
    with pytest.raises(KeyboardInterrupt):
        collect_votes(Stopped(3), selection=5, estimation=30, jobs=1, checkpoint=path)
    with pytest.raises(InputError, match="--fresh"):
        run(path, 5, 31)
    with pytest.raises(InputError, match="--fresh"):
        run(path, 5, 20)
    votes = run(path, 5, 30)
    assert np.array_equal(votes.estimation, VOTER.count(ESTIMATION, 0, 30))
    assert votes.fresh_after == ()


def test_before_any_estimation_vote_there_was_nothing_to_look_at(tmp_path, monkeypatch):
    monkeypatch.setattr(votes_run, "_chunk_size", lambda *_: 10)
    path = tmp_path / "votes.npz"
    with pytest.raises(KeyboardInterrupt):
        collect_votes(Stopped(1), selection=5, estimation=30, jobs=1, checkpoint=path)
    assert run(path, 4, 20).n_samples == 20


def test_checkpoints_without_a_plan_were_for_what_they_hold(tmp_path):
    path = tmp_path / "votes.npz"
    old = {
        "digest": np.array(VOTER.digest),
        "selection": VOTER.count(SELECTION, 0, 5),
        "estimation": VOTER.count(ESTIMATION, 0, 10) + VOTER.count(ESTIMATION, 20, 10),
        "selection_done": np.array([[0, 5]]),
        "estimation_done": np.array([[0, 10], [20, 30]]),
    }
    write_npz(path, old)
    with pytest.raises(InputError, match="--fresh"):
        run(path, 5, 31)
    assert np.array_equal(run(path, 5, 30).estimation, VOTER.count(ESTIMATION, 0, 30))
    write_npz(path, old)
    assert run(path, 5, 31, fresh=True).first == 30


@pytest.mark.parametrize(
    "broken",
    [
        {"planned": np.array([5, 29])},
        {"planned": np.array([5])},
        {"first": np.array(1)},
        {"first": np.array(-1)},
        {"planned": np.array([5.0, 30.0])},
        {"fresh_after": np.array([-3])},
    ],
)
def test_plans_that_do_not_fit_are_refused(tmp_path, broken):
    path = tmp_path / "votes.npz"
    run(path, 5, 30)
    with np.load(path) as file:
        write_npz(path, dict(file) | broken)
    with pytest.raises(InputError, match="add up"):
        run(path, 5, 30, fresh=True)


@pytest.mark.filterwarnings("ignore:.*torch.jit:DeprecationWarning")
def test_the_commands_never_add_to_finished_votes(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    save_dataset("tiny.npz", citation_like(200, 60, 3, ones=10, seed=7))
    assert main(["train", "tiny.npz", "gcn", "attr", "--epochs", "5", "--json"]) == 0
    model = json.loads(capsys.readouterr().out)["path"]
    votes = Path(model).with_suffix(".votes.npz")
    vote = ["vote", "tiny.npz", model, "--selection", "20", "--jobs", "1", "--json", "--samples"]
    assert main([*vote, "100"]) == 0
    before = votes.read_bytes()
    assert main([*vote, "100"]) == 0
    assert votes.read_bytes() == before
    assert main([*vote, "150"]) == 2
    assert votes.read_bytes() == before
    error = capsys.readouterr().err
    assert "--fresh" in error
    assert error.count("\n") == 1
    assert main([*vote, "150", "--fresh"]) == 0
    assert json.loads(capsys.readouterr().out)["fresh_after"] == [100]
    with np.load(votes) as file:
        assert (int(file["n_samples"]), int(file["first"]), file["fresh_after"].tolist()) == (150, 100, [100])

    bundle = ["bundle", "tiny.npz", "gcn", "attr", "--epochs", "5", "--selection", "20", "--jobs", "1", "--work", "w"]
    bundle += ["-o", "a.npz", "--samples"]
    assert main([*bundle, "100"]) == 0
    assert "fresh_after" not in load_instance("a.npz").meta
    assert main([*bundle, "150"]) == 2
    assert main([*bundle, "150", "--fresh"]) == 0
    meta = load_instance("a.npz").meta
    assert (meta["samples"], meta["fresh_after"]) == (150, [100])
    # The command of the file makes the file again.
    made = Path("a.npz").read_bytes()
    for command in meta["command"].split(" && "):
        assert main([*command.split()[3:], "--work", "again", "--jobs", "1", "-o", "b.npz"]) == 0
    assert Path("b.npz").read_bytes() == made
