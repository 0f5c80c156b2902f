"""Training: seeded, stops early, reaches sensible accuracy; the robust bound is a bound."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

pytest.importorskip("torch")
import torch

from certcore.data import citation_like
from certcore.domain.graph import Graph
from certcore.domain.noise import Noise
from certcore.models.base import Edges
from certcore.models.gcn import GCN
from experiments.networks.registry import MODELS
from experiments.training import train
from experiments.training.robust import MarginBound, train_robust
from experiments.training.smoothed import Schedule, train_smoothed

torch.set_num_threads(1)
DATASET = citation_like(400, 120, 3, degree=4, ones=15, seed=2)
ATTR = Noise(("0.005", "0.5", "0", "0"))


@pytest.mark.parametrize("name", MODELS)
def test_every_model_learns(name):
    schedule = Schedule(epochs=150, patience=40, learning_rate=1e-2)
    trained = train_smoothed(DATASET, name, ATTR, schedule=schedule)
    assert trained.facts["accuracy_clean"] > 0.75
    assert trained.facts["epochs_run"] <= 150
    assert trained.facts["best_epoch"] < trained.facts["epochs_run"]
    assert np.bincount(trained.split).tolist() == [60, 60, 280]


def test_training_is_seeded():
    first, again, other = (
        train(DATASET, "gcn", ATTR, split=0, seed=seed, epochs=8).model.state_dict() for seed in (1, 1, 2)
    )
    assert all(torch.equal(first[key], again[key]) for key in first)
    assert not torch.equal(first["first"], other["first"])


def test_training_leaves_the_generator_of_the_caller_alone():
    torch.manual_seed(0)
    expected = torch.rand(1)
    torch.manual_seed(0)
    train(DATASET, "gcn", ATTR, epochs=1)
    assert torch.equal(torch.rand(1), expected)


def test_paper_schedules():
    assert Schedule.of("gcn") == Schedule(3000, 50, 1e-3, 1e-3)
    assert Schedule.of("sma") == Schedule(3000, 300, 1e-2, 1e-3)


def _true_margins(model: GCN, graph: Graph, node: int, label: int, budget: int, local: int) -> np.ndarray:
    """The worst margins over all admissible flips, by enumeration."""
    cells = list(itertools.product(range(graph.n_nodes), range(graph.n_attrs)))
    worst = np.full(model.n_classes, np.inf)
    for count in range(budget + 1):
        for flips in itertools.combinations(cells, count):
            dense = graph.attributes.toarray()
            per_node = np.zeros(graph.n_nodes)
            for i, d in flips:
                dense[i, d] = 1 - dense[i, d]
                per_node[i] += 1
            if per_node.max() > local:
                continue
            nodes, columns = np.nonzero(dense)
            offsets = np.searchsorted(nodes, np.arange(graph.n_nodes))
            with torch.no_grad():
                out = model(torch.from_numpy(columns), torch.from_numpy(offsets), Edges.of(graph))[node].numpy()
            worst = np.minimum(worst, out[label] - out)
    return worst


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize(("budget", "local"), [(0, 5), (1, 5), (2, 1), (2, 2)])
def test_margin_bounds_are_below_all_margins(seed, budget, local):
    rng = np.random.default_rng(seed)
    graph = Graph.from_edges(4, np.array([[0, 1], [1, 2], [2, 3]]), (rng.random((4, 4)) < 0.5).astype(np.int8))
    with torch.random.fork_rng():
        torch.manual_seed(seed)
        model = GCN(4, 3, units=6).eval()
        with torch.no_grad():
            for parameter in model.parameters():
                parameter.copy_(torch.randn_like(parameter))
    for node in (0, 2):
        for label in range(3):
            with torch.no_grad():
                bound = MarginBound(graph, budget, local)(model, node, label).numpy()
            true = _true_margins(model, graph, node, label, budget, local)
            assert (bound <= true + 1e-4).all()
            if budget == 0:
                np.testing.assert_allclose(bound, true, atol=1e-4)


def test_robust_training_raises_the_bounds():
    plain = train_robust(DATASET, epochs=100)
    robust = train_robust(DATASET, epochs=160)
    bound = MarginBound(DATASET.graph)

    def certified(trained) -> int:
        count = 0
        for node in range(0, 400, 8):
            label = int(DATASET.labels[node])
            with torch.no_grad():
                margins = bound(trained.model, node, label)
            count += bool((margins[torch.arange(3) != label] > 0).all())
        return count

    assert certified(robust) > certified(plain) + 5
    assert robust.facts["accuracy_clean"] > 0.75
