"""For each of some sixty architectures: the votes of `smooth` are those of the model itself, or it is refused."""

from __future__ import annotations

import copy

import numpy as np
import pytest

pytest.importorskip("torch_geometric")

import torch
from torch import nn

import certcore as cc
from certcore.common.errors import InputError
from certcore.domain.noise import Noise
from certcore.domain.perturbations import FLIPS
from certcore.votes.sampler import Sampler
from tests.pipeline import architectures
from tests.pipeline.architectures import CASES, CLASSES, Case, N

SAMPLES, SELECTED = 16, 4
#: Everything flips; or attributes only, where the same edges are given again and again and the field is looked at.
NOISES = {
    "all": {"attr_add": 0.1, "attr_del": 0.3, "adj_add": 0.05, "adj_del": 0.3},
    "attributes": {"attr_add": 0.1, "attr_del": 0.3},
}


@pytest.fixture(autouse=True)
def seeded():
    torch.manual_seed(1)
    torch.set_num_threads(1)


def forced_votes(model, noise: Noise, samples: int = SAMPLES) -> np.ndarray:
    """The model itself, a new copy for every sample, one sample at a time."""
    sampler = Sampler(architectures.DATASET.graph, noise)
    votes = np.zeros((N, CLASSES), dtype=np.int64)
    for number in range(samples):
        indptr, indices = sampler.attributes(0, 16, number)
        x = torch.zeros(N, architectures.D)
        x[np.repeat(np.arange(N), np.diff(indptr)), indices] = 1
        receiver, sender = sampler.edges(0, 16, number)
        order = np.lexsort((sender, receiver))
        alone = copy.deepcopy(model)
        if isinstance(alone, nn.Module):
            alone.eval()
            for part in alone.modules():  # asked about a new graph, a layer with a cache begins anew
                vars(part).update(dict.fromkeys((key for key in vars(part) if key.startswith("_cached")), None))
        with torch.no_grad():
            scores = alone(x, torch.tensor(np.stack([sender[order], receiver[order]])))
        votes[np.arange(N), scores.argmax(dim=1).numpy()] += 1
    return votes


@pytest.mark.parametrize("name", CASES)
def test_votes_are_those_of_the_model_itself_or_it_is_refused(name):
    case = CASES[name]
    model = told_apart(case)
    for which, theta in NOISES.items():
        options = {"samples": SAMPLES, "selection": SELECTED} | theta | case.declared
        if case.refused and case.only in ("", which):
            with pytest.raises(InputError, match=case.refused):
                cc.smooth(model, architectures.DATASET, **options)
            continue
        found = cc.smooth(model, architectures.DATASET, **options)
        expected = forced_votes(model, Noise.of([theta.get(kind, 0) for kind in FLIPS]))
        # Sums in another order may turn a vote that stood on an edge.
        assert np.abs(found.base.votes - expected).sum() <= 2, which


def told_apart(case: Case):
    """The first model of some whose votes differ from node to node: others would agree with anything."""
    for seed in range(20):
        torch.manual_seed(seed)
        model = case.make()
        if case.refused and not case.only:
            return model
        with torch.no_grad():
            for weights in model.parameters() if isinstance(model, nn.Module) else ():
                weights.mul_(3)
        votes = forced_votes(model, Noise(("0.1", "0.3", "0", "0")), 6)
        if len(np.unique(votes.argmax(axis=1))) > 1 and (votes > 0).sum() > 1.2 * N:
            return model
    raise AssertionError("no seed gives a model that says different things about different nodes")


def test_the_list_is_long_enough():
    assert len(CASES) >= 40
    assert 10 <= sum(bool(case.refused) for case in CASES.values()) <= len(CASES) // 2
