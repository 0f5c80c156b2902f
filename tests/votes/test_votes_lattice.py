"""Gaussian noise on a lattice: exact thresholds, exact draws, and the noise behind the first linear map."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest

pytest.importorskip("torch")
import torch
from mpmath import mp, mpf, ncdf

from certcore.common.errors import InputError
from certcore.domain.graph import Graph
from certcore.domain.noise import Noise
from certcore.models.base import Edges
from certcore.votes.first_map import FINE, first_map
from certcore.votes.function import FunctionVoter
from certcore.votes.lattice import LatticeTable, draw_steps, lattice_table, on_lattice, thresholds
from certcore.votes.moved import Moved, network_under
from certcore.votes.purposes import ESTIMATION, SELECTION
from certcore.votes.sampler import Sampler
from certcore.votes.streams import mix, open_stream
from experiments.networks.voters import make_voter
from tests.votes import votes_support as support

NOISE = Noise(("0", "0", "0", "0"), attr_std="0.5")
BINARY = support.DATASET.graph


def lattice_graph(noise: Noise = NOISE) -> Graph:
    rng = np.random.default_rng(0)
    numbers = BINARY.attributes.toarray() * rng.normal(0.5, 1, (BINARY.n_nodes, BINARY.n_attrs))
    return on_lattice(BINARY.with_attributes(numbers), noise)[0]


GRAPH = lattice_graph()


@pytest.mark.parametrize(
    ("std", "lattice", "count", "word"),
    [("1", "2^-4", 416, 0x8330E69CBA5D8D45), ("0.06", "2^-9", 800, 0x81A9850774054946)],
)
def test_thresholds_are_the_exact_floors(std, lattice, count, word):
    noise = Noise(("0", "0", "0", "0"), attr_std=std)
    assert noise.lattice == lattice
    found = thresholds(noise.std, noise.step)
    assert len(found) == count
    assert found[count // 2] >> 64 == word
    mp.prec = 400
    for place in range(0, count, 7):
        x = (2 * (place - count // 2) + 1) * noise.step / (2 * noise.std)
        assert found[place] == int(mpf(2) ** 128 * ncdf(mpf(x.numerator) / x.denominator))


def plain_draw(table: LatticeTable, seed: int, kind: int, sample: int, draw: int) -> int:
    """The definition: a whole uniform number of 128 bits, and how many thresholds are not above it."""
    start, step = map(int, open_stream(seed, kind + 4, sample))
    more, stride = map(int, open_stream(seed, kind + 5, sample))

    def word(begin: int, by: int, number: int) -> int:
        return int(mix(np.uint64((begin + by * number) % 2**64)))

    first = word(start, step, draw // 2 + 1)
    bits = first & 0xFFFFFFFF if draw % 2 else first >> 32
    second, third = word(more, stride, 2 * draw + 1), word(more, stride, 2 * draw + 2)
    uniform = bits << 96 | second << 32 | third >> 32
    values = [sum(int(w) << shift for w, shift in zip(row, (96, 64, 32, 0))) for row in table.words]
    return sum(value <= uniform for value in values) - table.top


def test_a_draw_counts_the_thresholds_that_are_not_above_a_uniform_number():
    table = lattice_table(Fraction(1), Fraction(1, 4))
    out = np.empty(400, dtype=np.int32)
    draw_steps(3, ESTIMATION, 7, 11, table.arrays, out)
    assert out.tolist() == [plain_draw(table, 3, ESTIMATION, 7, 11 + i) for i in range(400)]
    # Thresholds that share their first bits with every draw: all is decided by the other 96.
    words = table.words.copy()
    first = int(open_stream_word(3, ESTIMATION, 7, 0) >> 32)
    words[:, 0] = first
    words[:, 1] = np.linspace(0, 2**32 - 1, len(words)).astype(np.uint32)
    prefix = np.ascontiguousarray(words[:, 0])
    guide = np.searchsorted(prefix, (np.arange(2**14) << 18).astype(np.uint32)).astype(np.int32)
    tied = LatticeTable(words, prefix, guide, table.top)
    out = np.empty(1, dtype=np.int32)
    draw_steps(3, ESTIMATION, 7, 0, tied.arrays, out)
    assert out[0] == plain_draw(tied, 3, ESTIMATION, 7, 0)
    assert -table.top < out[0] < table.top


def open_stream_word(seed: int, kind: int, sample: int, word: int) -> int:
    start, step = map(int, open_stream(seed, kind + 4, sample))
    return int(mix(np.uint64((start + step * (word + 1)) % 2**64)))


def chi_square(counts: np.ndarray, table: LatticeTable, std: float, step: float) -> tuple[float, int]:
    from scipy.special import ndtr

    edges = (np.arange(-table.top, table.top) + 0.5) * step / std
    expected = np.diff(np.concatenate([[0], ndtr(edges), [1]])) * counts.sum()
    kept = expected > 20
    return float(((counts - expected)[kept] ** 2 / expected[kept]).sum()), int(kept.sum() - 1)


@pytest.mark.parametrize(("std", "step"), [("1", Fraction(1, 16)), ("0.06", Fraction(1, 4096))])
def test_draws_have_the_law_of_rounded_gaussians(std, step):
    table = lattice_table(Fraction(std), step)
    out = np.empty(4_000_000, dtype=np.int32)
    draw_steps(5, SELECTION, 0, 0, table.arrays, out)
    counts = np.bincount(out + table.top, minlength=2 * table.top + 1)
    value, freedom = chi_square(counts, table, float(Fraction(std)), float(step))
    assert abs(value - freedom) < 5 * np.sqrt(2 * freedom)
    # A standard deviation that is one per cent too large or too small would be seen.
    for wrong in (1.01 * float(Fraction(std)), 0.99 * float(Fraction(std))):
        assert chi_square(counts, table, wrong, float(step))[0] > freedom + 5 * np.sqrt(2 * freedom)
    pairs = out.reshape(-1, 2) * float(step / Fraction(std))
    assert abs(np.corrcoef(pairs.T)[0, 1]) < 5 / np.sqrt(len(pairs))  # two draws share a word
    assert abs(np.corrcoef(pairs[:-1, 1], pairs[1:, 0])[0, 1]) < 5 / np.sqrt(len(pairs))


def test_samples_are_exact_multiples_around_the_clean_values():
    sampler = Sampler(GRAPH, NOISE)
    table = sampler.moved(1, ESTIMATION, 2)
    steps = (table.astype(np.float64) - GRAPH.attributes.toarray().astype(np.float64)) / float(NOISE.step)
    assert (steps == np.rint(steps)).all()
    out = np.empty(GRAPH.n_nodes * GRAPH.n_attrs, dtype=np.int32)
    draw_steps(1, ESTIMATION, 2, 0, lattice_table(NOISE.std, NOISE.step).arrays, out)
    assert np.array_equal(steps.ravel(), out)
    assert not np.array_equal(table, sampler.moved(1, ESTIMATION, 3))
    assert not np.array_equal(table, sampler.moved(1, SELECTION, 2))
    with pytest.raises(InputError, match="no multiple"):
        Sampler(GRAPH.with_attributes(GRAPH.attributes * 1.1), NOISE)
    with pytest.raises(InputError, match="2\\^22"):
        on_lattice(GRAPH.with_attributes(GRAPH.attributes * 1e6), NOISE)
    with pytest.raises(InputError, match="numbers"):
        Sampler(BINARY, NOISE)


def test_rounding_to_the_lattice_is_told():
    given = GRAPH.with_attributes(GRAPH.attributes + GRAPH.attributes.astype(bool) * np.float32(0.005))
    rounded, distance = on_lattice(given, NOISE)
    exact = np.linalg.norm((given.attributes - rounded.attributes).toarray().astype(np.float64))
    assert exact <= distance < exact * 1.001
    assert on_lattice(GRAPH, NOISE)[1] == 0


@pytest.mark.parametrize("name", ["gcn", "gcn_mean", "gat", "sma"])
@pytest.mark.parametrize("theta", ["0", "0.4"])
def test_networks_vote_on_the_noisy_numbers(name, theta):
    noise = replace(NOISE, theta=("0", "0", "0", theta))
    model = support.random_model(name, units=24)
    voter = make_voter(model, GRAPH, noise, 5)
    votes = voter.count(ESTIMATION, 3, 20)
    sampler, plain = Sampler(GRAPH, noise), np.zeros_like(votes)
    for sample in range(3, 23):
        edges = Edges.stack(GRAPH.n_nodes, [sampler.edges(5, ESTIMATION, sample)])
        with torch.no_grad():
            units = torch.from_numpy(sampler.moved(5, ESTIMATION, sample)) @ model.first
            plain[np.arange(GRAPH.n_nodes), model.head(units, edges).argmax(dim=1).numpy()] += 1
    assert abs(votes - plain).sum() <= 6  # ties within rounding
    assert np.array_equal(votes, voter.count(ESTIMATION, 3, 1) + voter.count(ESTIMATION, 4, 19))
    other = make_voter(model, lattice_graph(), replace(noise, lattice="2^-6"), 5)
    assert voter.digest not in (other.digest, make_voter(model, GRAPH, replace(noise, attr_std="0.4"), 5).digest)
    assert abs(votes - make_voter(model, GRAPH, Noise(noise.theta), 5).count(ESTIMATION, 3, 20)).sum() > 50


def test_an_undirected_edge_is_drawn_once():
    noise = replace(NOISE, theta=("0", "0", "0", "0.4"))
    kept = 0
    for sample in range(30):
        attributes, adjacency = Sampler(GRAPH, noise).matrices(0, ESTIMATION, sample)
        assert (adjacency != adjacency.T).nnz == 0
        kept += adjacency.nnz // 2
        assert attributes.shape == (GRAPH.n_nodes, GRAPH.n_attrs)
    share, spread = kept / (30 * GRAPH.n_edges), np.sqrt(0.24 / (30 * GRAPH.n_edges))
    assert abs(share - 0.6) < 5 * spread


def test_functions_get_the_noisy_numbers():
    seen = []
    FunctionVoter(GRAPH, NOISE, 4, lambda x, a: seen.append(x) or np.zeros(GRAPH.n_nodes, dtype=int), 2).count(0, 9, 1)
    assert np.array_equal(seen[0].toarray(), Sampler(GRAPH, NOISE).moved(4, 0, 9))


def test_too_many_draws_are_refused():
    sampler = Sampler(GRAPH, NOISE)
    sampler.require_exact(10**6, Fraction(1, 100))
    # 10⁶ samples of 19,800 attributes: the table allows an α of about 10⁻¹⁹.
    distance = sampler.distance_to_ideal(10**6)
    assert Fraction(1, 2**95) < distance < Fraction(1, 2**75)
    with pytest.raises(InputError, match="fewer samples"):
        sampler.require_exact(10**6, distance * 2**19)


@pytest.mark.parametrize(
    ("parts", "words"),
    [
        ({"attr_std": "0"}, "attr_std"),
        ({"attr_std": "1/3"}, "attr_std"),
        ({"attr_std": "nan"}, "attr_std"),
        ({"attr_std": "0.5", "lattice": "0.01"}, "power of two"),
        ({"attr_std": "0.5", "lattice": "2^0"}, "does not fit"),
        ({"attr_std": "0.5", "theta": ("0", "0.1", "0", "0")}, "flips attributes"),
    ],
)
def test_noise_is_checked(parts, words):
    with pytest.raises(InputError, match=words):
        Noise(**({"theta": ("0", "0", "0", "0")} | parts))


def fields(hops: int = 2):
    from certcore.instance.fields import hop_fields

    return hop_fields(GRAPH, np.arange(GRAPH.n_nodes), hops, "degrees", need_edges=False).nodes


def test_the_first_map_in_whole_numbers():
    """κ and c_n bound what they have to, against exact fractions and singular values."""
    rng = np.random.default_rng(2)
    graph = BINARY.with_attributes(BINARY.attributes.toarray() * rng.normal(0, 1, (BINARY.n_nodes, BINARY.n_attrs)))
    noise = NOISE.behind_first_map()
    assert noise.lattice == "2^-11"
    weights = rng.normal(0, 1, (graph.n_attrs, 12)).astype(np.float32)
    cut = first_map(graph, weights, noise)
    q = cut.orthogonal / FINE
    assert 1 <= np.linalg.norm(q, 2) ** 2 <= cut.factor / FINE < 1.001
    assert np.allclose(q @ cut.rest, weights, atol=1e-4)
    table = cut.graph.attributes.toarray()
    values = graph.attributes.toarray()
    for node in range(0, graph.n_nodes, 20):
        squares = Fraction(0)
        for unit in range(12):
            exact = sum(Fraction(float(x)) * int(w) for x, w in zip(values[node], cut.orthogonal[:, unit]) if x) / FINE
            squares += (exact - Fraction(float(table[node, unit]))) ** 2
        assert squares <= Fraction(float(cut.squared_offsets[node])) <= squares * Fraction(1001, 1000)
    reach = fields()
    offsets = cut.offsets(reach, noise.std)
    exact = np.sqrt(reach.astype(float) @ cut.squared_offsets) / 0.5 * FINE
    assert (offsets >= exact).all()
    assert (offsets <= exact + 2).all()
    # A move of the attributes moves what is drawn on by no more than the two together say.
    for _ in range(20):
        delta = rng.normal(0, 1, values.shape) * (rng.random(graph.n_nodes) < 0.1)[:, None]
        away = ((values + delta) @ q - table) ** 2
        for node in range(0, graph.n_nodes, 10):
            rows = reach[[node]].indices
            bound = np.sqrt(cut.factor / FINE) * np.linalg.norm(delta[rows]) + offsets[node] / FINE * 0.5
            assert np.sqrt(away[rows].sum()) <= bound + 1e-12
    with pytest.raises(InputError, match="leave noise_at out"):
        first_map(graph, rng.normal(0, 1, (graph.n_attrs, graph.n_attrs)), noise)


@pytest.mark.parametrize("name", ["gcn", "gat"])
def test_noise_behind_the_first_map_has_the_same_law(name):
    """Votes at the input and behind the first map, on the same clean values: independent draws of one law."""
    model = support.random_model(name, units=16)
    behind, rest = network_under(model, GRAPH, NOISE, "first_map")
    assert behind.graph is GRAPH
    assert behind.drawn.n_attrs == 16
    first = make_voter(rest, behind.drawn, behind.noise, 1).count(ESTIMATION, 0, 3000)
    second = make_voter(model, Moved.at_input(GRAPH, NOISE).graph, NOISE, 2).count(ESTIMATION, 0, 3000)
    z = support.z_scores(first, second)
    assert len(z) > 100
    assert abs(z).max() < 5.5
    assert 0.6 < z.var() < 1.5
    other = make_voter(model, GRAPH, replace(NOISE, attr_std="0.6"), 2).count(ESTIMATION, 0, 3000)
    assert abs(support.z_scores(first, other)).max() > 6  # a fifth more noise is seen
