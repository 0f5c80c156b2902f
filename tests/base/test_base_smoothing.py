"""Smoothing certificates on graphs so small that the smoothed classifier is known exactly, everywhere."""

import itertools
import time

import numpy as np
import pytest

from certcore.base import SmoothingBase
from certcore.base.thresholds import grown_thresholds
from certcore.common.errors import InputError
from certcore.domain.fronts import Fronts
from certcore.domain.graph import Graph
from certcore.domain.perturbations import TYPES

#: Three nodes with two attributes each, and three possible edges: 2^9 graphs.
ATTRIBUTE_BITS, EDGE_BITS = 6, 3
GRAPHS = np.array(list(itertools.product((0, 1), repeat=ATTRIBUTE_BITS + EDGE_BITS)))

THETAS = [
    ("0.02", "0.6", "0", "0"),
    ("0", "0", "0", "0.4"),
    ("0.02", "0.6", "0", "0.4"),
    ("0.1", "0.4", "0.1", "0.3"),
    ("0.3", "0.3", "0.2", "0.2"),
    ("0", "0.6", "0", "0.4"),
    ("0.8", "0.7", "0", "0.4"),
    ("0.3", "0.7", "0.1", "0.4"),
    ("1", "0.5", "0.2", "0.2"),
]


def flips() -> np.ndarray:
    """How many flips of each type lead from each graph to each other one."""
    added = GRAPHS[None] > GRAPHS[:, None]
    removed = GRAPHS[None] < GRAPHS[:, None]
    a = slice(0, ATTRIBUTE_BITS)
    e = slice(ATTRIBUTE_BITS, None)
    return np.stack([kind[:, :, part].sum(axis=2) for part in (a, e) for kind in (added, removed)], axis=2)


def smoothing_matrix(theta: tuple[str, ...]) -> np.ndarray:
    """The probability that a sample of one graph is another one."""
    matrix = np.ones((1, 1))
    for bit in range(ATTRIBUTE_BITS + EDGE_BITS):
        add, rem = (float(t) for t in (theta[:2] if bit < ATTRIBUTE_BITS else theta[2:]))
        matrix = np.kron(matrix, [[1 - add, add], [rem, 1 - rem]])
    return matrix


def classifier(rng: np.random.Generator, n_classes: int) -> np.ndarray:
    """A label for every graph: a few bits decide, so that samples often agree."""
    weights = rng.normal(size=(GRAPHS.shape[1], n_classes)) * (rng.random((GRAPHS.shape[1], 1)) < 0.6)
    return np.argmax(GRAPHS @ weights + rng.normal(size=n_classes) * 1.5, axis=1)


FLIPS = flips()


def certified_pairs(fronts: Fronts) -> np.ndarray:
    """Whether the flips from each graph (a node of `fronts`) to each other one are certified."""
    sides = FLIPS.max(axis=(0, 1)) + 1
    grid = np.stack([fronts.certified(budget) for budget in itertools.product(*map(range, sides))])
    budget = np.ravel_multi_index(tuple(np.moveaxis(FLIPS, 2, 0)), sides)
    return grid[budget, np.arange(len(GRAPHS))[:, None]]


@pytest.mark.parametrize("theta", THETAS, ids=",".join)
def test_no_certified_label_changes_under_any_perturbation(theta: tuple[str, ...]) -> None:
    """With the exact probabilities: every pair of graphs, every classifier."""
    rng = np.random.default_rng(0)
    matrix = smoothing_matrix(theta)
    claims = 0
    for _ in range(12):
        smoothed = matrix @ np.eye(3)[classifier(rng, 3)]
        label = smoothed.argmax(axis=1)
        probability = smoothed.max(axis=1) - 1e-12
        table = grown_thresholds(theta, float(probability.max()), (6, 6, 3, 3))
        fronts = table.fronts(probability)
        certified = certified_pairs(fronts)
        kept = smoothed[:, label].T > 0.5
        assert not (certified & ~kept).any()
        claims += int((certified & (FLIPS.sum(axis=2) > 0)).sum())
    assert claims > 1000


@pytest.mark.parametrize("rule", ["binary", "multiclass"])
@pytest.mark.parametrize("theta", THETAS, ids=",".join)
def test_no_node_certified_from_votes_changes(theta: tuple[str, ...], rule: str) -> None:
    """With sampled votes: each of the 512 graphs plays a node of its own, all covered by one α."""
    rng = np.random.default_rng(1)
    matrix = smoothing_matrix(theta)
    claims = 0
    for _ in range(6):
        smoothed = matrix @ np.eye(4)[classifier(rng, 4)]
        smoothed = smoothed / smoothed.sum(axis=1, keepdims=True)
        selection = rng.multinomial(50, smoothed)
        votes = rng.multinomial(5000, smoothed)
        base = SmoothingBase(votes, selection.argmax(axis=1), 5000, "0.01", theta, rule)
        certified = certified_pairs(base.fronts())
        # Rows: clean graphs with their label; columns: attacked graphs.
        own = smoothed[:, base.prediction].T
        others = smoothed[None].repeat(len(GRAPHS), axis=0)
        others[np.arange(len(GRAPHS)), :, base.prediction] = -1
        assert (own > others.max(axis=2))[certified].all()
        claims += int((certified & (FLIPS.sum(axis=2) > 0)).sum())
    assert claims > 1000


def test_the_worst_classifier_is_not_certified_where_it_breaks() -> None:
    """Tightness: the classifier that says yes where clean samples are relatively likeliest breaks at its budget."""
    theta = ("0.1", "0.4", "0.1", "0.3")
    matrix = smoothing_matrix(theta)
    rng = np.random.default_rng(2)
    broken = 0
    for _ in range(200):
        clean, attacked = rng.integers(len(GRAPHS), size=2)
        order = np.argsort(-matrix[clean] / matrix[attacked], kind="stable")
        says_yes = order[np.cumsum(matrix[attacked][order]) < 0.5]
        probability = matrix[clean][says_yes].sum()
        if probability > 0.5:
            broken += 1
            fronts = grown_thresholds(theta, float(probability)).fronts(np.array([probability]))
            assert not fronts.certified(FLIPS[clean, attacked])[0]
    assert broken > 100


def test_an_undirected_edge_is_one_bit_and_bits_limit_the_lattice() -> None:
    graph = Graph.from_edges(3, np.array([[0, 1], [1, 2]]), np.array([[1, 0], [0, 0], [1, 1]], dtype=np.int8))
    votes = np.array([[1000, 0]] * 3)
    base = SmoothingBase(votes, np.zeros(3, int), 1000, 0.01, ("0.3", "0.7", "0", "0.4"), graph=graph)
    assert base.bits == (3, 3, 1, 2)
    directed = Graph.from_edges(3, np.array([[0, 1], [1, 2]]), directed=True, n_attrs=2)
    assert SmoothingBase(votes, np.zeros(3, int), 1000, 0.01, ("0.3",) * 4, graph=directed).bits == (6, 0, 4, 2)
    # Attributes are free (0.3 + 0.7 = 1), both edges may go, and there is no third one to delete.
    assert base.table.extent == (0, 0, 0, 2)
    assert base.fronts().certified((3, 3, 0, 5)).all()
    assert not base.fronts().certified((0, 0, 1, 0)).any()


def test_everyone_abstains() -> None:
    votes = np.array([[500, 500], [520, 480], [0, 1000]])
    for rule in ("binary", "multiclass"):
        base = SmoothingBase(votes, np.array([0, 0, 0]), 1000, 0.01, ("0.002", "0.6", "0", "0.4"), rule)
        assert base.abstained.tolist() == [True, True, True]
        assert base.fronts().points.tolist() == [[0] * len(TYPES)]
        assert base.facts["abstained"] == 3


def test_what_it_says_about_itself() -> None:
    votes = np.array([[1000, 0], [990, 10]])
    base = SmoothingBase(votes, np.array([0, 0]), 1000, 0.01, (0.002, "0.6", "0", "2/5"))
    assert base.facts["alpha"] == "0.01"
    assert base.facts["samples"] == 1000
    assert base.facts["theta"] == ["0.002", "0.6", "0", "0.4"]
    assert base.facts["rule"] == "binary"
    assert base.axes == ("attr_add", "attr_del", "adj_del")
    assert not base.global_fields
    assert not base.fixed_adjacency
    assert base.local is None
    assert SmoothingBase(votes, np.array([0, 0]), 1000, 0.01, (0.002, "0.6", "0.1", "0")).global_fields
    assert SmoothingBase(votes, np.array([0, 0]), 1000, 0.01, (0.002, "0.6", "0", "0")).fixed_adjacency
    assert SmoothingBase(votes, np.array([0, 0]), 1000, 0.01, ("0", "0.6", "0", "0.4")).axes == (
        *("attr_add", "attr_del", "adj_del"),
    )


def test_the_level_is_shared_by_all_nodes_whatever_the_targets() -> None:
    from certcore.base.confidence import lower_bounds

    votes = np.array([[990, 10]] + [[500, 500]] * 99)
    base = SmoothingBase(votes, np.zeros(100, int), 1000, "0.01", ("0.002", "0.6", "0", "0"))
    assert base.level == base.alpha / 100
    assert base.probability[0] == lower_bounds(np.array([990]), 1000, base.alpha / 100)[0]
    both = SmoothingBase(votes, np.zeros(100, int), 1000, "0.01", ("0.002", "0.6", "0", "0"), "multiclass")
    assert both.level == base.alpha / 200


def test_arrays_rebuild_the_same_certificate() -> None:
    rng = np.random.default_rng(3)
    votes = rng.multinomial(10_000, [0.9, 0.06, 0.04], size=30)
    base = SmoothingBase(votes, np.zeros(30, int), 10_000, "1/80", (0.01, "1/3", "0", "0.4"))
    arrays = base.arrays()
    again = SmoothingBase(
        arrays["votes"], arrays["prediction"], int(arrays["n_samples"]), arrays["alpha"], arrays["theta"]
    )
    assert again.alpha == base.alpha
    assert again.theta == base.theta
    assert np.array_equal(again.fronts().points, base.fronts().points)
    assert np.array_equal(again.fronts().front_of_node, base.fronts().front_of_node)


GOOD = {
    "votes": np.array([[90, 10], [20, 80]]),
    "prediction": np.array([0, 1]),
    "n_samples": 100,
    "alpha": 0.01,
    "theta": ("0.002", "0.6", "0", "0"),
}


@pytest.mark.parametrize(
    ("name", "value", "says"),
    [
        ("votes", np.array([[90, 11], [20, 80]]), "votes of node 0 sum to 101"),
        ("votes", np.array([[90, 10], [20, 79]]), "votes of node 1 sum to 99"),
        ("votes", np.array([[110, -10], [20, 80]]), "contains -10"),
        ("votes", np.array([[101, 0], [20, 80]]), "contains 101"),
        ("votes", np.array([[90.0, 10.0], [20.0, 80.0]]), "votes has"),
        ("votes", np.array([[2**64 - 10, 110], [20, 80]], dtype=np.uint64), "contains"),
        ("votes", np.array([100, 100]), "votes has"),
        ("votes", np.zeros((0, 2), dtype=int), "votes has"),
        ("votes", np.zeros((2, 0), dtype=int), "votes has"),
        ("prediction", np.array([0, 2]), "prediction contains 2"),
        ("prediction", np.array([-1, 1]), "prediction contains -1"),
        ("prediction", np.array([0, 1, 0]), "prediction has"),
        ("prediction", np.array([0.0, 1.0]), "prediction has"),
        ("n_samples", 0, "n_samples"),
        ("n_samples", 10**10, "n_samples"),
        ("n_samples", 100.0, "n_samples"),
        ("n_samples", True, "n_samples"),
        ("alpha", 0, "alpha"),
        ("alpha", 1, "alpha"),
        ("alpha", "1.0", "alpha"),
        ("alpha", -0.1, "alpha"),
        ("alpha", float("nan"), "alpha"),
        ("alpha", "often", "alpha"),
        ("theta", ("0.1", "0.2", "0.3"), "theta"),
        ("theta", ("0.1", "0.2", "0.3", "1.2"), "theta of adj_del"),
        ("theta", ("0.1", float("nan"), "0.3", "0.2"), "theta of attr_del"),
        ("rule", "ternary", "rule"),
        ("graph", Graph.from_edges(3, np.zeros((0, 2)), n_attrs=1), "expected one per node"),
    ],
)
def test_bad_input_is_named(name: str, value: object, says: str) -> None:
    SmoothingBase(**GOOD)  # type: ignore[arg-type]
    with pytest.raises(InputError, match=says):
        SmoothingBase(**(GOOD | {name: value}))  # type: ignore[arg-type]


def test_twenty_thousand_nodes_from_a_stored_table_in_less_than_a_second() -> None:
    rng = np.random.default_rng(4)
    label = rng.binomial(10**6, 1 - 0.5 * rng.random(20_000) ** 3)
    votes = np.stack([label, 10**6 - label], axis=1)
    theta = ("0.002", "0.6", "0", "0.4")
    SmoothingBase(votes, np.zeros(20_000, int), 10**6, 0.01, theta).fronts()
    start = time.process_time()
    fronts = SmoothingBase(votes, np.zeros(20_000, int), 10**6, 0.01, theta).fronts()
    assert time.process_time() - start < 1
    assert fronts.n_fronts > 100
