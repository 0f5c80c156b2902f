"""The tables behind the sampler: exact probabilities, and streams that do not depend on anything but their name."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest

from certcore.common.errors import InputError
from certcore.domain.graph import Graph
from certcore.domain.noise import Noise
from certcore.votes.purposes import ESTIMATION, SELECTION, TRAINING
from certcore.votes.sampler import Sampler
from certcore.votes.tables import SIDE_BITS, SLOT_BITS, bit_table, gap_table, keep_threshold


@pytest.mark.parametrize("flip", ["0.002", "0.4", "0.00001", "0.9", "1"])
def test_gap_tables_hold_the_geometric_distribution(flip):
    theta = Fraction(flip)
    table = gap_table(theta)
    slots, capacity = 1 << SLOT_BITS, 1 << SIDE_BITS
    mass = [0] * slots
    for slot, entry in enumerate(int(value) for value in table):
        threshold, alias = entry >> 16, entry & 0xFFFF
        mass[slot] += threshold
        mass[alias] += capacity - threshold
    assert sum(mass) == slots * capacity
    for gap in (0, 1, 2, 7, 100, slots - 2):
        exact = theta * (1 - theta) ** gap
        assert abs(Fraction(mass[gap], slots * capacity) - exact) < Fraction(1, 2**58)
    tail = (1 - theta) ** (slots - 1)
    # Every truncated weight gives a little to the tail.
    assert 0 <= Fraction(mass[-1], slots * capacity) - tail < Fraction(1, 2**47)


def test_no_additions_need_no_table():
    assert len(gap_table(Fraction(0))) == 0


def test_keep_thresholds():
    high, low = map(int, keep_threshold(Fraction("0.6"))[0])
    assert high << 64 | low == int(Fraction("0.4") * 2**128)
    assert keep_threshold(Fraction(0))[1]
    assert keep_threshold(Fraction(1)) == ((0, 0), False)


def test_bit_tables():
    rng = np.random.default_rng(0)
    dense = rng.random((7, 130)) < 0.3
    indptr = np.concatenate([[0], np.cumsum(dense.sum(axis=1))])
    words = bit_table(indptr, np.nonzero(dense)[1], 130)
    for row in range(7):
        bits = [(int(words[row, c // 64]) >> (c % 64)) & 1 for c in range(130)]
        assert bits == dense[row].astype(int).tolist()


@pytest.mark.parametrize(
    "theta", [("0.1", "0.2", "0"), ("x", "0", "0", "0"), ("-0.1", "0", "0", "0"), ("0", "1.01", "0", "0")]
)
def test_bad_probabilities(theta):
    with pytest.raises(InputError, match="theta"):
        Noise(theta)


def _graph(seed: int = 0, n: int = 90, d: int = 70, directed: bool = False) -> Graph:
    rng = np.random.default_rng(seed)
    edges = rng.integers(0, n, size=(3 * n, 2))
    edges = edges[edges[:, 0] != edges[:, 1]]
    return Graph.from_edges(n, edges, (rng.random((n, d)) < 0.3).astype(np.int8), directed=directed)


@pytest.mark.parametrize("directed", [False, True])
@pytest.mark.parametrize("theta", [("0.02", "0.6", "0", "0.4"), ("0.5", "0", "0.03", "0"), ("0", "0", "0", "0")])
def test_samples_flip_every_bit_with_its_probability(theta, directed):
    """Every single bit, over many samples: z-scores have variance one and no outlier."""
    graph = _graph(directed=directed)
    noise = Noise(theta)
    sampler = Sampler(graph, noise)
    samples = 1500
    attributes = np.zeros((graph.n_nodes, graph.n_attrs))
    adjacency = np.zeros((graph.n_nodes, graph.n_nodes))
    for sample in range(samples):
        x, a = sampler.matrices(11, ESTIMATION, sample)
        x, a = x.toarray(), a.toarray()
        assert x.max() <= 1
        assert a.max() <= 1
        assert not a.diagonal().any()
        assert directed or np.array_equal(a, a.T)
        attributes += x
        adjacency += a
    flips = [float(f) for f in noise.fractions]
    clean_x, clean_a = graph.attributes.toarray(), graph.adjacency.toarray()
    pairs = ~np.eye(graph.n_nodes, dtype=bool) if directed else np.triu(np.ones_like(clean_a, dtype=bool), 1)
    cells = [
        (attributes[clean_x == 0], flips[0]),
        (attributes[clean_x == 1], 1 - flips[1]),
        (adjacency[pairs & (clean_a == 0)], flips[2]),
        (adjacency[pairs & (clean_a == 1)], 1 - flips[3]),
    ]
    for counts, p in cells:
        if p in (0.0, 1.0):
            assert (counts == p * samples).all()
            continue
        z = (counts - samples * p) / np.sqrt(samples * p * (1 - p))
        assert abs(z.mean()) * np.sqrt(len(z)) < 4.5
        assert abs(z.var() - 1) < 6 * np.sqrt(2 / len(z)) + 0.02
        assert abs(z).max() < 6


def test_neighbouring_bits_and_samples_are_independent():
    graph = _graph(d=64)
    sampler = Sampler(graph, Noise(("0", "0.5", "0", "0.5")))
    rows = []
    for sample in range(2000):
        x, _ = sampler.matrices(5, ESTIMATION, sample)
        rows.append(x.toarray()[graph.attributes.toarray() == 1][:400])
    bits = 2 * np.array(rows) - 1
    shifted = [bits[:, 1:] * bits[:, :-1], bits[1:] * bits[:-1], bits[:, 64:] * bits[:, :-64]]
    for products in shifted:
        assert abs(products.mean()) * np.sqrt(products.size) < 4.5


def test_streams_differ_by_seed_purpose_and_sample():
    sampler = Sampler(_graph(), Noise(("0.02", "0.6", "0.01", "0.4")))
    seen = set()
    for seed in (0, 1, 2**40):
        for kind in (SELECTION, ESTIMATION, TRAINING):
            for sample in (0, 1, 2, 10**6):
                indices = sampler.attributes(seed, kind, sample)[1]
                edges = np.stack(sampler.edges(seed, kind, sample))
                seen.add((indices.tobytes(), edges.tobytes()))
    assert len(seen) == 3 * 3 * 4
    assert np.array_equal(sampler.attributes(1, 0, 5)[1], Sampler(_graph(), sampler.noise).attributes(1, 0, 5)[1])


def test_compiled_code_is_cached_by_all_sources():
    """A change in any file of the package must not leave old machine code behind."""
    from certcore.common.compiled import _folder
    from certcore.votes.kernel import gcn_votes
    from certcore.votes.streams import keep_bits

    for function in (gcn_votes, keep_bits):
        assert function._cache.cache_path.startswith(_folder())


@pytest.mark.parametrize("place", range(4))
@pytest.mark.parametrize("value", ["1e-20", "1e-13", "0.9999999999999", "0.99999999999999999999"])
def test_probabilities_that_cannot_be_drawn_are_refused(place, value):
    theta = ["0", "0", "0", "0"]
    theta[place] = value
    with pytest.raises(InputError, match="1e-12"):
        Noise.to_draw(theta)
    with pytest.raises(InputError, match="1e-12"):
        Sampler(_graph(), Noise.of(theta))  # a base certificate may speak of it, but nobody draws it


@pytest.mark.parametrize("flip", ["1e-12", "0.999999999999"])
@pytest.mark.parametrize("directed", [False, True])
def test_the_least_probabilities_are_drawn_at_once(flip, directed):
    """Every path: kernel, sampler, attributes and edges, additions and deletions. Nothing is waited for in vain."""
    from certcore.votes.fused import FusedVoter

    graph = _graph(directed=directed)
    sampler = Sampler(graph, Noise((flip,) * 4))
    clean_x, clean_a = graph.attributes.toarray(), graph.adjacency.toarray()
    flipped = Fraction(flip) > Fraction(1, 2)
    for sample in range(3):
        x, a = sampler.matrices(3, ESTIMATION, sample)
        assert np.array_equal(x.toarray(), 1 - clean_x if flipped else clean_x)
        assert np.array_equal(a.toarray(), (1 - clean_a) - np.eye(graph.n_nodes) if flipped else clean_a)
    weights = (np.ones((graph.n_attrs, 4)), np.zeros(4), np.ones((4, 2)), np.array([0.0, 1.0]))
    votes = FusedVoter(graph, sampler.noise, 0, True, *weights).count(ESTIMATION, 0, 5)
    assert votes.sum() == 5 * graph.n_nodes


@pytest.mark.parametrize("flip", ["1e-12", "1e-9", "0.999999999999"])
def test_extreme_tables_keep_their_precision(flip):
    """The probability of an addition is right to one part in a hundred thousand, also at the ends."""
    theta, slots, capacity = Fraction(flip), 1 << SLOT_BITS, 1 << SIDE_BITS
    mass = [0] * slots
    for slot, entry in enumerate(int(value) for value in gap_table(theta)):
        mass[slot] += entry >> 16
        mass[entry & 0xFFFF] += capacity - (entry >> 16)
    assert abs(Fraction(mass[0], slots * capacity) / theta - 1) < Fraction(1, 10**5)
    (keep, _), _ = keep_threshold(theta)
    assert abs(Fraction(int(keep), 2**64) / (1 - theta) - 1) < Fraction(1, 10**5)
