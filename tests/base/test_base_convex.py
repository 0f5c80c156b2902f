"""The convex certificate against enumeration of every admissible perturbation."""

import itertools
import time
from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp

from certcore.common.errors import InputError
from certcore.domain.perturbations import TYPES
from experiments.convex.batch import batches, largest, lower_margins
from experiments.convex.certificate import ConvexCertificate, convex_certificate
from experiments.convex.hidden import HiddenBounds
from experiments.convex.network import GcnNetwork, normalised_adjacency


def logits(network: GcnNetwork, attributes: np.ndarray) -> np.ndarray:
    """The network written down a second time, dense."""
    spread = network.propagation.toarray()
    hidden = np.maximum(spread @ (attributes @ network.weight1) + network.bias1, 0)
    return spread @ (hidden @ network.weight2) + network.bias2


def random_network(rng: np.random.Generator, n: int, d: int, units: int, classes: int, scale: float) -> GcnNetwork:
    edges = np.triu(rng.random((n, n)) < 0.5, 1).astype(float)
    return GcnNetwork(
        normalised_adjacency(edges + edges.T),
        (rng.random((n, d)) < 0.4).astype(float),
        rng.normal(size=(d, units)) * scale,
        rng.normal(size=units) * 0.5,
        rng.normal(size=(units, classes)),
        rng.normal(size=classes) * 0.8,
    )


def perturbations(attributes: np.ndarray, local_budget: int, flips: bool) -> list[tuple[int, np.ndarray]]:
    """Every admissible perturbed attribute matrix with its number of flips."""
    rows = []
    for row in attributes:
        free = [d for d in range(len(row)) if flips or row[d] == 0]
        chosen = [c for size in range(local_budget + 1) for c in itertools.combinations(free, size)]
        rows.append([(len(c), np.abs(row - np.isin(np.arange(len(row)), c))) for c in chosen])
    return [
        (sum(count for count, _ in combination), np.array([row for _, row in combination]))
        for combination in itertools.product(*rows)
    ]


@pytest.mark.parametrize("seed", range(30))
def test_never_certifies_a_budget_at_which_enumeration_finds_a_flip(seed: int) -> None:
    rng = np.random.default_rng(seed)
    n, d = int(rng.integers(2, 4)), int(rng.integers(2, 5))
    scale = float(rng.choice([0.3, 0.6, 1.5]))
    network = random_network(rng, n, d, int(rng.integers(1, 6)), int(rng.integers(2, 5)), scale)
    clean = network.attributes.toarray()
    assert np.allclose(logits(network, clean), network.logits)
    for mode, local in itertools.product(("additions", "flips"), (1, 2, d)):
        certificate = convex_certificate(network, local_budget=local, mode=mode, max_budget=10)
        smallest = np.full(n, 10**6)
        for flips, attributes in perturbations(clean, local, mode == "flips"):
            changed = logits(network, attributes).argmax(axis=1) != network.prediction
            smallest[changed] = np.minimum(smallest[changed], flips)
        assert (certificate.radius <= np.maximum(np.minimum(smallest, 11), 0)).all()
        found = certificate.attack > 0
        assert (certificate.attack[found] >= smallest[found]).all()
        assert (certificate.attack[found] >= certificate.radius[found]).all()


@pytest.mark.parametrize("steep", [False, True])
@pytest.mark.parametrize("seed", range(8))
def test_bounds_of_units_and_margins_hold_for_every_perturbation(seed: int, steep: bool) -> None:
    rng = np.random.default_rng(100 + seed)
    network = random_network(rng, 3, 4, 4, 3, 0.7)
    clean = network.attributes.toarray()
    everyone = np.arange(3)
    for flips in (False, True):
        tried = perturbations(clean, 2, flips)
        bounds = HiddenBounds(network, 2, flips)
        for budget in (0, 1, 2, 3, 5):
            lower, upper = bounds.at(budget, everyone)
            (batch,) = batches(network, everyone)
            margins = [lower_margins(batch, k, lower, upper, budget, 2, flips, steep=steep) for k in range(2)]
            touched = np.zeros((2, *lower.shape), dtype=bool)
            for count, attributes in tried:
                if count > budget:
                    continue
                hidden = network.propagation @ (attributes @ network.weight1) + network.bias1
                assert (lower <= hidden).all()
                assert (hidden <= upper).all()
                touched |= np.abs(hidden - np.stack([lower, upper])) < 1e-9
                values = logits(network, attributes)
                for k in range(2):
                    gap = values[everyone, network.prediction] - values[everyone, batch.others[:, k]]
                    assert (margins[k] <= gap).all()
            assert touched.all()  # every bound of a unit is reached by some perturbation


def test_without_relu_in_play_the_certificate_is_exact() -> None:
    """If no hidden unit can change its sign, nothing is relaxed."""
    rng = np.random.default_rng(7)
    for _ in range(20):
        network = random_network(rng, 3, 3, 3, 3, 0.3)
        network = GcnNetwork(
            network.propagation, network.attributes, network.weight1, np.full(3, 20.0), network.weight2,
            -20.0 * network.propagation.toarray().sum(axis=1)[0] * network.weight2.sum(axis=0),
        )  # fmt: skip
        clean = network.attributes.toarray()
        certificate = convex_certificate(network, local_budget=2, mode="flips", max_budget=6)
        tied, lost = np.full(3, 7), np.full(3, 7)
        for flips, attributes in perturbations(clean, 2, True):
            values = logits(network, attributes)
            own = values[np.arange(3), network.prediction].copy()
            values[np.arange(3), network.prediction] = -np.inf
            margin = own - values.max(axis=1)
            tied = np.where(margin < 1e-9, np.minimum(tied, flips), tied)
            lost = np.where(margin < -1e-9, np.minimum(lost, flips), lost)
        assert certificate.radius.tolist() == tied.tolist()
        broken = (certificate.radius > 0) & (tied == lost) & (lost <= 6)
        assert (certificate.attack[broken] == lost[broken]).all()


def test_pruning_changes_no_decision() -> None:
    """Against the plain minimum over all rows and attributes, for budgets below and above the local budget."""
    rng = np.random.default_rng(8)
    network = random_network(rng, 12, 200, 8, 4, 0.2)
    everyone = np.arange(12)
    for flips, budget, local in itertools.product((False, True), (1, 2, 5, 9, 20), (1, 3, 8)):
        lower, upper = HiddenBounds(network, local, flips).at(budget, everyone)
        (batch,) = batches(network, everyone)
        for which in range(3):
            value = lower_margins(batch, which, lower, upper, budget, local, flips, steep=False)
            plain = _plain_margins(network, batch.others[:, which], lower, upper, budget, local, flips)
            assert ((value > 0) == (plain > 0)).all()
            assert (value[plain > 0] <= plain[plain > 0] + 1e-9).all()


def _plain_margins(
    network: GcnNetwork, other: np.ndarray, lower: np.ndarray, upper: np.ndarray, budget: int, local: int, flips: bool
) -> np.ndarray:
    spread, clean = network.propagation.toarray(), network.attributes.toarray()
    result = []
    for t in range(network.n_nodes):
        label = network.prediction[t]
        a = np.outer(spread[t], network.weight2[:, label] - network.weight2[:, other[t]])
        slope = np.where(upper <= 0, 0.0, np.where(lower >= 0, 1.0, upper / (upper - lower)))
        offset = np.where((a < 0) & (lower < 0) & (upper > 0), -slope * lower, 0.0)
        constant = (a * slope * network.hidden + a * offset).sum() + network.bias2[label] - network.bias2[other[t]]
        effect = spread.T @ (a * slope) @ network.weight1.T
        gain = np.maximum(np.where(clean == 1, effect if flips else 0.0, -effect), 0.0)
        best = -np.sort(-gain, axis=1)[:, :local]
        result.append(constant - np.sort(best.ravel())[::-1][:budget].sum())
    return np.array(result)


def test_largest_entries() -> None:
    rng = np.random.default_rng(9)
    for columns, count in itertools.product((1, 5, 31, 32, 33, 500, 1000), (1, 3, 12)):
        values = np.round(rng.normal(size=(7, columns)), 1)
        found = np.sort(largest(values, min(count, columns)), axis=1)
        assert np.array_equal(found, np.sort(values, axis=1)[:, -min(count, columns) :])


def test_the_base_certificate_carries_its_local_budget() -> None:
    radius, none = np.array([0, 3, 6]), np.full(3, -1)
    additions = ConvexCertificate(radius, none, np.zeros(3, int), 21, 5, "additions").base()
    assert additions.axes == ("attr_add",)
    assert additions.grid.sum(axis=1).tolist() == [0, 3, 6]
    assert additions.local is not None
    assert additions.local.per_type == (21, *(None,) * (len(TYPES) - 1))
    flips = ConvexCertificate(radius, none, np.zeros(3, int), 4, 5, "flips").base()
    assert flips.axes == ("attr_add", "attr_del")
    assert flips.grid[1].sum() == 6  # a + d < 3
    assert not flips.grid[1, 1, 2]
    assert flips.local is not None
    assert flips.local.joint == 4
    flips.local.check((2, 2, 0, 0), np.array([[2] * 3, [2] * 3, [0] * 3, [0] * 3]))
    with pytest.raises(InputError, match="4 attribute flips per node"):
        flips.local.check((9, 9, 0, 0), np.array([[3] * 3, [2] * 3, [0] * 3, [0] * 3]))
    assert flips.facts["kind"] == "convex relaxation"
    assert flips.facts["local_budget"] == 4


def test_the_gap_is_told() -> None:
    certificate = ConvexCertificate(np.array([0, 3, 6, 2]), np.array([-1, 3, 9, -1]), np.zeros(4, int), 21, 8, "flips")
    summary = certificate.summary()
    assert summary["attacks_found"] == 2
    assert summary["settled"] == 1
    assert summary["mean_gap"] == 1.5
    assert summary["mean_radius"] == 2.75
    nothing = ConvexCertificate(np.array([0]), np.array([-1]), np.zeros(1, int), 21, 8, "flips").summary()
    assert nothing["mean_gap"] is None


def test_a_tie_is_not_certified() -> None:
    network = GcnNetwork(np.eye(2), np.eye(2), np.zeros((2, 1)), np.zeros(1), np.zeros((1, 2)), np.zeros(2))
    certificate = convex_certificate(network, local_budget=1)
    assert certificate.radius.tolist() == [0, 0]
    assert not certificate.base().fronts().certified((0, 0, 0, 0)).any()


def test_a_network_that_ignores_its_input_is_certified_as_far_as_one_looks() -> None:
    network = GcnNetwork(np.eye(2), np.eye(2), np.zeros((2, 1)), np.zeros(1), np.zeros((1, 2)), np.array([1.0, 0.0]))
    certificate = convex_certificate(network, local_budget=1, max_budget=9, mode="flips")
    assert certificate.radius.tolist() == [10, 10]
    assert certificate.base().fronts().certified((4, 5, 0, 0)).all()
    assert not certificate.base().fronts().certified((5, 5, 0, 0)).any()
    assert certificate.attack.tolist() == [-1, -1]


@pytest.mark.filterwarnings("ignore::RuntimeWarning")
def test_numbers_that_overflow_certify_nothing() -> None:
    huge = np.array([[1e200, -1e200], [1e200, 1e200]])
    network = GcnNetwork(np.eye(2), np.eye(2), huge, np.ones(2), huge, np.array([1.0, 0.0]))
    assert convex_certificate(network, local_budget=1, max_budget=3, attack=False).radius.max() <= 0


def test_only_the_nodes_asked_for_and_progress() -> None:
    network = random_network(np.random.default_rng(10), 6, 5, 3, 3, 0.3)
    seen: list[tuple[int, int]] = []
    some = convex_certificate(
        network, local_budget=2, nodes=np.array([4, 1]), progress=lambda done, total: seen.append((done, total))
    )
    full = convex_certificate(network, local_budget=2)
    assert (some.radius[[1, 4]] == full.radius[[1, 4]]).all()
    assert (some.radius[[0, 2, 3, 5]] == 0).all()
    assert seen[-1] == (2, 2)


def test_nodes_without_neighbours_and_graphs_without_attributes() -> None:
    empty = sp.csr_array((3, 3))
    network = GcnNetwork(empty, np.eye(3), np.ones((3, 2)), np.zeros(2), np.ones((2, 2)), np.array([1.0, 0.0]))
    assert convex_certificate(network, local_budget=1, max_budget=3).radius.tolist() == [4, 4, 4]
    bare = GcnNetwork(np.eye(2), np.zeros((2, 0)), np.zeros((0, 2)), np.ones(2), np.eye(2), np.array([1.0, 0.0]))
    assert convex_certificate(bare, local_budget=1, max_budget=3, mode="flips").radius.tolist() == [4, 4]


GOOD: dict[str, Any] = {
    "propagation": np.eye(2),
    "attributes": np.eye(2),
    "weight1": np.ones((2, 3)),
    "bias1": np.ones(3),
    "weight2": np.ones((3, 2)),
    "bias2": np.ones(2),
}


@pytest.mark.parametrize(
    ("name", "value", "says"),
    [
        ("propagation", np.eye(3), "normalised adjacency has shape"),
        ("propagation", -np.eye(2), "negative"),
        ("propagation", np.array([[np.nan, 0], [0, 1]]), "non-finite"),
        ("attributes", 2 * np.eye(2), "binary"),
        ("weight1", np.ones((3, 3)), "weight1 has shape"),
        ("weight1", np.full((2, 3), np.nan), "finite"),
        ("weight1", np.ones(3), "matrices"),
        ("bias1", np.ones(2), "bias1"),
        ("bias2", np.ones(3), "bias2"),
        ("bias2", np.array([np.inf, 0]), "finite"),
        ("weight2", np.ones((3, 1)), "bias2"),
    ],
)
def test_bad_networks_are_named(name: str, value: Any, says: str) -> None:
    GcnNetwork(**GOOD)
    with pytest.raises(InputError, match=says):
        GcnNetwork(**(GOOD | {name: value}))


def test_one_class_is_refused() -> None:
    with pytest.raises(InputError, match="one class"):
        GcnNetwork(**(GOOD | {"weight2": np.ones((3, 1)), "bias2": np.ones(1)}))


@pytest.mark.parametrize(
    "options",
    [
        *({"local_budget": 0}, {"local_budget": 1.5}, {"local_budget": True}, {"mode": "deletions"}),
        *({"max_budget": -1}, {"max_budget": 10**6}, {"nodes": np.array([5])}, {"nodes": np.array([-1])}),
    ],
)
def test_bad_options_are_named(options: dict[str, Any]) -> None:
    network = GcnNetwork(**GOOD)
    with pytest.raises(InputError, match=r"convex certificate|nodes to certify"):
        convex_certificate(network, **({"local_budget": 1} | options))


def test_a_graph_of_citeseer_size_takes_minutes_at_most() -> None:
    """All 2,110 nodes, 3,703 attributes, q = 21, Q up to 12."""
    rng = np.random.default_rng(11)
    n, d, units, classes = 2110, 3703, 64, 6
    ends = rng.choice(n, (3668, 2), p=_heavy_tail(rng, n))
    ends = ends[ends[:, 0] != ends[:, 1]]
    half = sp.coo_array((np.ones(len(ends)), (ends[:, 0], ends[:, 1])), shape=(n, n)).tocsr()
    adjacency = ((half + half.T) > 0).astype(float)
    topic = rng.integers(classes, size=n)
    words = (topic[:, None] * 600 + rng.integers(0, 1400, size=(n, 32))) % d
    attributes = sp.csr_array(
        (np.ones(words.size), (np.repeat(np.arange(n), 32), words.ravel())), shape=(n, d)
    ).astype(bool).astype(float)  # fmt: skip
    owner = rng.integers(classes, size=units)
    away = (np.arange(d)[:, None] - owner * 600) % d
    weight1 = np.where(away < 1400, 0.05, -0.02) + rng.normal(size=(d, units)) * 0.02
    weight2 = np.where(owner[:, None] == np.arange(classes), 1.0, -0.2)
    network = GcnNetwork(
        normalised_adjacency(adjacency), attributes, weight1, np.zeros(units), weight2, np.zeros(classes)
    )
    start = time.process_time()
    certificate = convex_certificate(network, local_budget=21, max_budget=12, attack=False)
    assert time.process_time() - start < 120
    assert len(np.unique(certificate.radius)) > 5


def _heavy_tail(rng: np.random.Generator, n: int) -> np.ndarray:
    weights = rng.pareto(2, n) + 1
    return weights / weights.sum()
