"""From anybody's scores to ballots: how they become whole numbers is told, and models that read others are refused."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

pytest.importorskip("torch_geometric")

import torch
from torch import nn

import certcore as cc
from certcore import InputError
from certcore.base.ballots import UNIT, BallotsBase
from certcore.instance.instance import instance_to_arrays
from experiments.bundle import BundleRecipe, make_bundle
from experiments.training.ballots import train_controls, train_decoupled
from tests.pipeline import zoo

DATA = zoo.as_data()
N = DATA.num_nodes


def ballots_of(instance: cc.Instance) -> np.ndarray:
    assert isinstance(instance.base, BallotsBase)
    return instance.base.ballots


def test_logits_shares_and_whole_numbers_become_ballots() -> None:
    logits = np.random.default_rng(0).normal(size=(N, 3))
    shares = np.exp(logits) / np.exp(logits).sum(axis=1, keepdims=True)
    wanted = np.rint(shares * UNIT)
    told = set()
    for scores, conversion in (
        (logits, "softmax"),
        (torch.from_numpy(logits).requires_grad_(), "softmax"),
        (shares, "shares"),
        (wanted.astype(np.int64), None),
        (wanted, "whole"),
    ):
        instance = cc.ballots(scores, DATA, conversion=conversion, weight=2, weights_read_edges=False)
        assert np.abs(ballots_of(instance) - wanted).max() <= 1
        told.add(instance.meta["ballots"].split(",")[0])
        assert instance.base.facts["weight"] == 2
        assert not instance.base.facts["weights_read_edges"]
        assert np.array_equal(instance.targets, np.flatnonzero(DATA.test_mask.numpy()))
    assert told == {"softmax of the scores", "shares as given", "whole numbers from 0 to 1"}
    found = cc.certify(instance, inject=2, inject_edges=1)
    assert 0 < found.certified <= found.targets
    for wrong in (logits[:-1], logits[:, 0], np.full((N, 3), np.nan)):
        with pytest.raises(InputError):
            cc.ballots(wrong, DATA, conversion="softmax")
    with pytest.raises(InputError, match="from 0 to 1,048,576"):
        cc.ballots(np.full((N, 3), UNIT + 1), DATA)


def test_a_model_is_asked_about_its_own_row_and_refused_if_it_reads_others() -> None:
    torch.manual_seed(0)
    width = DATA.x.shape[1]
    plain = nn.Sequential(nn.Linear(width, 8), nn.ReLU(), nn.Linear(8, 3)).eval()
    instance = cc.ballots(plain, DATA, conversion="softmax")
    with torch.no_grad():
        shares = torch.softmax(plain(DATA.x.float()), dim=1).double().numpy()
    assert np.abs(ballots_of(instance) - shares * UNIT).max() < 2
    assert instance.base.facts["weights_read_edges"], "unless somebody says otherwise"
    with pytest.raises(InputError, match="reads other nodes"):
        cc.ballots(lambda x: plain(x) - plain(x).mean(dim=0), DATA, conversion="softmax")
    with pytest.raises(InputError, match="training mode"):
        cc.ballots(nn.Sequential(nn.Linear(width, 3), nn.Dropout()), DATA, conversion="softmax")
    with pytest.raises(InputError, match="a row of scores"):
        cc.ballots(lambda x: x.sum(), DATA, conversion="softmax")


def test_decoupled_reads_no_edge_and_training_nodes_show_their_label() -> None:
    rng = np.random.default_rng(3)
    n, labels = 160, np.arange(160) % 2
    attributes = (rng.random((n, 12)) < 0.2 + 0.5 * (np.arange(12) % 2 == labels[:, None])).astype(np.int8)
    edges = rng.integers(0, n, (300, 2))
    graph = cc.Graph.from_edges(n, edges[edges[:, 0] != edges[:, 1]], attributes)
    dataset = cc.Dataset("toy", graph, labels, ("a", "b"))
    model = train_decoupled(dataset, split=0, seed=1, epochs=20)
    bare = cc.Dataset("bare", cc.Graph.from_edges(n, np.zeros((0, 2), int), attributes), labels, ("a", "b"))
    assert np.array_equal(train_decoupled(bare, split=0, seed=1, epochs=20).ballots, model.ballots)
    known = model.split == 0
    assert np.array_equal(model.ballots[known].argmax(axis=1), dataset.labels[known])
    assert (model.ballots[known].max(axis=1) == UNIT).all()
    controls = train_controls(dataset, model.split, 1, epochs=5)
    assert set(controls) == {"MLP without edges", "MLP distilled from a GNN", "GNN, not certified"}


def test_old_commands_and_files_say_what_replaced_division_voting(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="replaced by ballots"):
        make_bundle(BundleRecipe("cora", "decoupled", "division"), tmp_path / "x.npz")
    with pytest.raises(InputError, match="expected decoupled with ballots"):
        BundleRecipe("cora", "gcn", "ballots")
    arrays = instance_to_arrays(cc.ballots(np.ones((N, 3), dtype=int), DATA))
    old = {key: value for key, value in arrays.items() if not key.startswith("ballots")}
    np.savez(tmp_path / "old.npz", **old, division_votes=np.zeros((3, N), np.int8))
    with pytest.raises(InputError, match="experiments bundle cora decoupled ballots"):
        cc.load_instance(tmp_path / "old.npz")
