"""The multi-class rule: L against the linear program, coverage by simulation, agreement with the binary rule."""

from fractions import Fraction
from pathlib import Path

import numpy as np
import pytest

from certcore.base import SmoothingBase
from certcore.base.cache import TableCache
from certcore.base.multiclass import CornerTable, grown_corners
from certcore.base.thresholds import grown_thresholds
from certcore.domain.noise import Noise
from tests.support import flood_fill, of_flips

THETAS = [
    ("0.002", "0.6", "0", "0"),
    ("0.002", "0.6", "0", "0.4"),
    ("0.1", "0.4", "0.1", "0.3"),
    ("0.3", "0.3", "0.3", "0.3"),
    ("0.7", "0.6", "0.1", "0.2"),
    ("0", "0.6", "0", "0.4"),
    ("0.3", "0.7", "0", "0.4"),
    ("0", "0", "0", "0"),
]


def exact_least(theta: tuple[Fraction, ...], budget: tuple[int, ...], p: Fraction) -> Fraction:
    """L(p) by filling single outcomes, counted per type, in exact fractions."""
    cells = [(Fraction(1), Fraction(1))]
    for kind in range(4):
        add, rem = theta[:2] if kind < 2 else theta[2:]
        one = (add, 1 - rem) if kind % 2 == 0 else (1 - rem, add)
        for _ in range(budget[kind]):
            merged: dict[tuple[Fraction, Fraction], int] = {}
            for c, q in cells:
                for outcome in ((c * one[0], q * one[1]), (c * (1 - one[0]), q * (1 - one[1]))):
                    merged[outcome] = merged.get(outcome, 0) + 1
            cells = [cell for cell, times in merged.items() for _ in range(times)]
    cells = sorted((cell for cell in cells if cell[0] > 0), key=lambda cell: cell[1] / cell[0])
    mass = Fraction(0)
    for c, q in cells:
        mass += q * min(Fraction(1), p / c)
        p -= min(p, c)
    return mass


@pytest.fixture
def cache(tmp_path: Path) -> TableCache:
    return TableCache(tmp_path)


@pytest.mark.parametrize("theta", THETAS, ids=",".join)
def test_corners_give_the_least_mass_rounded_down(theta: tuple[str, ...], cache: TableCache) -> None:
    table = grown_corners(theta, 0.99, (2, 1, 1, 2), cache)
    p = np.concatenate([np.linspace(0, 1, 41), [0.9999999, 1e-9, 2 / 3]])
    for index, budget in enumerate(table.cells.tolist()):
        values = table.least(index, p)
        exact = [exact_least(Noise.of(theta).fractions, tuple(budget), Fraction(float(x))) for x in p]
        assert all(Fraction(float(v)) <= e + Fraction(1, 10**15) for v, e in zip(values, exact))
        assert np.abs(values - np.array(exact, dtype=float)).max() < 1e-12  # L can be steep near one
        part = slice(table.indptr[index], table.indptr[index + 1])
        for clean, perturbed in zip(table.clean[part].tolist(), table.perturbed[part].tolist()):
            place = min(Fraction(clean), Fraction(1))
            assert Fraction(perturbed) <= exact_least(Noise.of(theta).fractions, tuple(budget), place)


@pytest.mark.parametrize("theta", THETAS, ids=",".join)
def test_against_one_half_it_is_the_binary_rule(theta: tuple[str, ...], cache: TableCache) -> None:
    p = np.array([0.3, 0.5, 0.51, 0.6, 0.777, 0.9, 0.95, 0.99, 0.998, 0.9])
    limits = (25, 25, 25, 25)
    corners = grown_corners(theta, 0.998, limits, cache).fronts(p, p)
    binary = grown_thresholds(theta, 0.998, limits, cache).fronts(p)
    for node in range(len(p)):
        assert sorted(corners.of_node(node).tolist()) == sorted(binary.of_node(node).tolist())


def test_fronts_equal_the_flood_fill(cache: TableCache) -> None:
    theta = ("0.1", "0.4", "0.1", "0.3")
    table = grown_corners(theta, 0.999, cache=cache)
    label = np.array([0.4, 0.45, 0.7, 0.9, 0.99])
    rest = np.array([0.62, 0.9, 0.8, 0.999, 0.995])
    fronts = table.fronts(label, rest)
    exact = Noise.of(theta).fractions
    for node in range(len(label)):

        def certified(budget: tuple[int, ...], node: int = node) -> bool:
            total = sum(exact_least(exact, budget, Fraction(float(x[node]))) for x in (label, rest))
            return total > 1

        limits = np.minimum(np.max(of_flips(fronts.of_node(node)), axis=0), 2)
        wanted = list(map(tuple, flood_fill(certified, limits.tolist()).tolist()))
        found = [q for q in of_flips(fronts.of_node(node)) if all(b <= m for b, m in zip(q, limits))]
        assert found == wanted


def test_a_stored_table_is_the_same_and_a_malformed_one_is_ignored(cache: TableCache) -> None:
    theta = ("0.1", "0.4", "0", "0.3")
    first = grown_corners(theta, 0.99, cache=cache)
    second = grown_corners(theta, 0.99, cache=cache)
    for name in ("cells", "indptr", "clean", "perturbed"):
        assert np.array_equal(getattr(first, name), getattr(second, name))
    (path,) = cache.folder.iterdir()
    path.write_bytes(path.read_bytes()[:-100])
    third = grown_corners(theta, 0.99, cache=cache)
    assert np.array_equal(first.perturbed, third.perturbed)


def test_a_clear_runner_up_certifies_what_one_half_cannot() -> None:
    votes = np.array([[4500, 1400, 1400, 1400, 1300]])
    theta = ("0.4", "0.5", "0", "0")
    many = SmoothingBase(votes, np.array([0]), 10_000, 0.01, theta, "multiclass")
    half = SmoothingBase(votes, np.array([0]), 10_000, 0.01, theta)
    assert many.fronts().certified((0, 1, 0, 0))[0]
    assert not half.fronts().certified((0, 0, 0, 0))[0]


def test_it_is_not_better_for_every_node() -> None:
    """With two classes nothing is gained, and splitting α costs."""
    rng = np.random.default_rng(0)
    label = rng.integers(600, 1001, size=400)
    votes = np.stack([label, 1000 - label], axis=1)
    theta = ("0.002", "0.6", "0", "0")
    many = SmoothingBase(votes, np.zeros(400, int), 1000, 0.01, theta, "multiclass").fronts()
    half = SmoothingBase(votes, np.zeros(400, int), 1000, 0.01, theta).fronts()
    worse = 0
    for d in range(20):
        budget = (0, d, 0, 0)
        assert not (many.certified(budget) & ~half.certified(budget)).any()
        worse += int((half.certified(budget) & ~many.certified(budget)).sum())
    assert worse > 0


def test_the_label_need_not_have_the_most_votes() -> None:
    """A label that selection chose but estimation does not support is never certified."""
    base = SmoothingBase(
        np.array([[100, 900], [450, 550]]), np.array([0, 0]), 1000, 0.01, ("0.002", "0.6", "0", "0"), "multiclass"
    )
    assert base.abstained.all()
    assert (base.rest_probability >= base.probability).all()


@pytest.mark.parametrize(
    "truth",
    [
        (0.6, 0.4),
        (0.5, 0.25, 0.25),
        (0.4, 0.2, 0.2, 0.2),
        (0.25, 0.25, 0.25, 0.25),
        (0.9, 0.02, 0.02, 0.02, 0.02, 0.02),
        (0.34, 0.33, 0.33),
        (1.0, 0.0),
    ],
)
def test_both_bounds_hold_together_as_often_as_promised(truth: tuple[float, ...]) -> None:
    """Coverage by simulation, also where several classes compete for the second place."""
    alpha, trials, runs = 0.2, 80, 20_000
    rng = np.random.default_rng(5)
    drawn, times = np.unique(rng.multinomial(trials, truth, size=runs), axis=0, return_counts=True)
    # One base certificate for all draws would share α among them; the level of a single node is asked for here.
    level = Fraction("0.2") / 2
    base = SmoothingBase(drawn, np.zeros(len(drawn), int), trials, alpha, ("0", "0.5", "0", "0"), "multiclass")
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(SmoothingBase, "level", property(lambda _: level))
        wrong = (base.probability > truth[0]) | (1 - base.rest_probability < max(truth[1:]))
    misses = times[wrong].sum() / runs
    assert misses <= alpha + 3 * np.sqrt(alpha * (1 - alpha) / runs)
    if truth == (0.5, 0.25, 0.25):
        assert misses > alpha / 20  # the bounds are not trivially wide


def test_corner_tables_are_compact(cache: TableCache) -> None:
    table = grown_corners(("0.002", "0.6", "0.001", "0.4"), 1 - 1e-5, (9, 40, 0, 20), cache)
    assert isinstance(table, CornerTable)
    assert len(table.clean) < 400_000
