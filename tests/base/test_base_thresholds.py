"""Thresholds p* against the paper's linear program, written down a second time and solved exactly."""

import itertools
import math
import time
from fractions import Fraction
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import linprog

from certcore.base.cache import TableCache
from certcore.base.lattice import free_types
from certcore.base.thresholds import grown_thresholds, next_ceiling, threshold_table
from certcore.common.errors import InputError
from certcore.domain.fronts import fronts_from_grid
from certcore.domain.noise import Noise
from certcore.domain.perturbations import FLIPS
from tests.support import flood_fill, of_flips

HALF = Fraction(1, 2)

PAPER = ("0.002", "0.6", "0", "0.4")
THETAS = [
    ("0.002", "0.6", "0", "0"),
    ("0", "0", "0", "0.4"),
    PAPER,
    ("0.01", "0.6", "0.001", "0.4"),
    ("0.3", "0.3", "0.3", "0.3"),  # equal ratios in both factors: ties
    ("0.2", "0.2", "1/17", "1/17"),  # ratios 16 and 256: ties between different numbers of bits
    ("0.3", "0.3", "0.3", "0.30000000001"),  # ratios too close for floating point, but not equal
    ("0.7", "0.6", "0.1", "0.2"),  # the order of the regions turns
    ("0.7", "0.6", "0.9", "0.8"),
    ("0", "0.6", "0", "0.4"),  # additions are never drawn, yet one attribute addition can be certified
    ("0.6", "0", "0.4", "0"),
    ("1", "0.5", "0.3", "1"),
    ("0", "0", "0", "0"),
    ("1", "1", "0.1", "0.2"),
    ("0", "1", "0.1", "0.2"),  # a sample never shows the bit: nothing is ever uncertified
    ("0.3", "0.7", "0", "0.4"),
    ("1", "0", "0.2", "0.8"),
]


def bit_masses(theta: tuple[Fraction, ...], kind: int) -> list[tuple[Fraction, Fraction]]:
    """(clean, perturbed) probability of the two values a changed bit can show."""
    add, rem = theta[:2] if kind < 2 else theta[2:]
    clean_one, perturbed_one = (add, 1 - rem) if kind % 2 == 0 else (1 - rem, add)
    return [(clean_one, perturbed_one), (1 - clean_one, 1 - perturbed_one)]


def outcomes(theta: tuple[Fraction, ...], budget: tuple[int, ...]) -> list[tuple[Fraction, Fraction]]:
    """Every outcome of every changed bit: nothing is merged, so nothing can be merged wrongly."""
    bits = [bit_masses(theta, kind) for kind in range(4) for _ in range(budget[kind])]
    return [
        (
            math.prod((c for c, _ in combination), start=Fraction(1)),
            math.prod((p for _, p in combination), start=Fraction(1)),
        )
        for combination in itertools.product(*bits)
    ]


def regions(theta: tuple[Fraction, ...], budget: tuple[int, ...]) -> list[tuple[Fraction, Fraction]]:
    """Outcomes merged by how many bits of each of the four types show their clean value (finer than the paper's)."""
    lines = []
    for kind in range(4):
        (c, p), n = bit_masses(theta, kind)[0], budget[kind]
        lines.append(
            [
                (math.comb(n, k) * c**k * (1 - c) ** (n - k), math.comb(n, k) * p**k * (1 - p) ** (n - k))
                for k in range(n + 1)
            ]
        )
    return [(math.prod(c for c, _ in cell), math.prod(p for _, p in cell)) for cell in itertools.product(*lines)]


def least_mass(cells: list[tuple[Fraction, Fraction]], p: Fraction) -> Fraction:
    """The linear program: min Σ h·perturbed with Σ h·clean = p, 0 ≤ h ≤ 1, through its dual, in exact fractions.

    The dual function λp + Σ min(0, perturbed − λ·clean) is concave and piecewise linear in λ, so its maximum is at
    one of the ratios perturbed / clean. No region is ever sorted or filled here.
    """
    mass: dict[Fraction, Fraction] = {}
    for c, q in cells:
        if c > 0:
            mass[q / c] = mass.get(q / c, Fraction(0)) + c
    return max(r * p + sum(min(Fraction(0), (s - r) * c) for s, c in mass.items()) for r in mass)


def check_threshold(cells: list[tuple[Fraction, Fraction]], value: float) -> None:
    """`value` is the smallest float at which the linear program reaches 1/2 (1 if it never exceeds it)."""
    if value == 1.0:
        below = Fraction(math.nextafter(1.0, 0))
        assert least_mass(cells, Fraction(1)) <= HALF or least_mass(cells, below) < HALF
        return
    assert least_mass(cells, Fraction(value)) >= HALF
    assert least_mass(cells, Fraction(math.nextafter(value, 0))) < HALF


@pytest.fixture
def cache(tmp_path: Path) -> TableCache:
    return TableCache(tmp_path / "cache")


@pytest.mark.parametrize("theta", THETAS, ids=",".join)
def test_thresholds_equal_the_linear_program(theta: tuple[str, ...], cache: TableCache) -> None:
    exact = Noise.of(theta).fractions
    extent = (3, 3, 2, 2)
    table = threshold_table(theta, extent, cache)
    for budget in itertools.product(*(range(e + 1) for e in extent)):
        cell = tuple(0 if free else b for b, free in zip(budget, free_types(table.noise)))
        check_threshold(regions(exact, budget), table.values[cell])


@pytest.mark.parametrize("theta", THETAS, ids=",".join)
def test_merging_outcomes_into_regions_loses_nothing(theta: tuple[str, ...], cache: TableCache) -> None:
    exact = Noise.of(theta).fractions
    table = threshold_table(theta, (2, 2, 2, 2), cache)
    for budget in [(2, 2, 0, 0), (0, 0, 2, 2), (1, 2, 1, 1), (2, 1, 0, 2), (0, 2, 2, 1)]:
        cell = tuple(0 if free else b for b, free in zip(budget, free_types(table.noise)))
        check_threshold(outcomes(exact, budget), table.values[cell])


@pytest.mark.parametrize("budget", [(5, 20, 0, 0), (2, 10, 0, 4), (1, 31, 0, 11), (9, 40, 0, 20)])
def test_large_budgets_of_the_paper(budget: tuple[int, ...], cache: TableCache) -> None:
    table = threshold_table(PAPER, budget, cache)
    check_threshold(regions(Noise.of(PAPER).fractions, budget), table.values[budget])


def test_a_floating_point_solver_agrees(cache: TableCache) -> None:
    theta = ("0.05", "0.6", "0.1", "0.4")
    table = threshold_table(theta, (2, 4, 1, 3), cache)
    for budget in [(1, 0, 0, 0), (2, 4, 1, 3), (0, 3, 0, 2), (1, 2, 1, 1)]:
        cells = np.array(regions(Noise.of(theta).fractions, budget), dtype=float)
        solved = linprog(cells[:, 1], A_eq=cells[:, :1].T, b_eq=[table.values[budget]], bounds=(0, 1), method="highs")
        assert solved.status == 0
        assert solved.fun == pytest.approx(0.5, abs=1e-7)


@st.composite
def smoothing_and_budget(draw: st.DrawFn) -> tuple[tuple[Fraction, ...], tuple[int, ...]]:
    numbers = st.sampled_from([Fraction(0), Fraction(1)]) | st.fractions(0, 1, max_denominator=40)
    return tuple(draw(numbers) for _ in range(4)), tuple(draw(st.integers(0, 4)) for _ in range(4))


@settings(max_examples=60, deadline=None)
@given(smoothing_and_budget())
def test_any_smoothing_equals_the_linear_program(case: tuple[tuple[Fraction, ...], tuple[int, ...]]) -> None:
    theta, budget = case
    table = threshold_table(theta, budget, TableCache("/dev/null/nowhere"))
    check_threshold(regions(theta, budget), float(table.values.reshape(-1)[-1]))
    for axis in range(4):
        assert (np.diff(table.values, axis=axis) >= 0).all()


@pytest.mark.parametrize("theta", THETAS, ids=",".join)
def test_thresholds_grow_with_the_budget_from_one_half(theta: tuple[str, ...], cache: TableCache) -> None:
    values = threshold_table(theta, (4, 6, 3, 4), cache).values
    assert values[0, 0, 0, 0] == 0.5
    assert values.max() <= 1
    for axis in range(4):
        assert (np.diff(values, axis=axis) >= 0).all()


def test_types_that_are_not_smoothed_are_never_certified(cache: TableCache) -> None:
    values = threshold_table(("0.002", "0.6", "0", "0"), (1, 1, 2, 2), cache).values
    assert (values[:, :, 1:, :] == 1).all()
    assert (values[:, :, :, 1:] == 1).all()
    assert values[1, 1, 0, 0] < 1


@pytest.mark.parametrize("theta", THETAS, ids=",".join)
@pytest.mark.parametrize("probability", [0.6, 0.97])
def test_a_grown_table_certifies_exactly_what_a_larger_full_one_does(
    theta: tuple[str, ...], probability: float, cache: TableCache
) -> None:
    grown = grown_thresholds(theta, probability, cache=cache)
    assert not any(grown.cut)
    extent = tuple(e + 1 for e in grown.extent)
    full = threshold_table(theta, extent, cache)
    for level in (0.5, 0.55, probability):
        padded = np.pad(grown.values < level, [(0, f - g) for f, g in zip(full.values.shape, grown.values.shape)])
        assert np.array_equal(padded, full.values < level)


@pytest.mark.parametrize("theta", THETAS, ids=",".join)
def test_fronts_equal_those_of_grids_and_of_the_flood_fill(theta: tuple[str, ...], cache: TableCache) -> None:
    probabilities = np.array([0.2, 0.5, 0.51, 0.7, 0.9, 0.9, 0.99, 0.999, 0.51])
    limits = (30, 30, 30, 30)
    table = grown_thresholds(theta, 0.999, limits, cache)
    fronts = table.fronts(probabilities)
    free = free_types(table.noise)
    side = [1 if f else s for f, s in zip(free, table.values.shape)]
    grid = np.stack([table.values < p for p in probabilities]).reshape(-1, *side)
    expected = fronts_from_grid(grid, FLIPS)
    for node, p in enumerate(probabilities):
        # A free type is never uncertified and bits that do not exist cannot be flipped: such points fall away.
        wanted = [
            q
            for q in of_flips(expected.of_node(node))
            if all(not (f and b) and b <= m for b, f, m in zip(q, free, limits))
        ]
        assert of_flips(fronts.of_node(node)) == wanted

        def certified(budget: tuple[int, ...], p: float = p) -> bool:
            inside = all(b < s for b, s in zip(budget, table.values.shape))
            return bool(inside and table.values[budget] < p)

        reach = [0 if f else min(s, 30) for f, s in zip(free, table.values.shape)]
        assert of_flips(fronts.of_node(node)) == list(map(tuple, flood_fill(certified, reach).tolist()))
    assert fronts.front_of_node[2] == fronts.front_of_node[8]
    assert len(np.unique(fronts.front_of_node)) == fronts.n_fronts


def test_the_lattice_ends_at_the_bits_there_are(cache: TableCache) -> None:
    table = grown_thresholds(PAPER, 0.99999, (2, 1, 0, 0), cache)
    assert table.extent == (2, 1, 0, 0)
    assert of_flips(table.fronts(np.array([0.99999])).points) == []
    assert table.fronts(np.array([0.9])).certified((1, 1, 5, 5)).tolist() == [bool(table.values[1, 1, 0, 0] < 0.9)]


def test_free_types_have_no_end(cache: TableCache) -> None:
    table = grown_thresholds(("0.4", "0.6", "0.5", "0.5"), 0.51, cache=cache)
    assert table.values.shape == (1, 1, 1, 1)
    fronts = table.fronts(np.array([0.51, 0.5]))
    assert fronts.certified((10**6, 10**6, 10**6, 10**6)).tolist() == [True, False]
    assert table.largest(0.51) == [None] * 4
    limited = grown_thresholds(("0.4", "0.6", "0.5", "0.5"), 0.51, (7, 8, 9, 10), cache)
    assert limited.largest(0.51) == [7, 8, 9, 10]
    assert limited.largest(0.5) == [0, 0, 0, 0]


def test_the_largest_budgets_are_those_of_the_table(cache: TableCache) -> None:
    table = grown_thresholds(PAPER, 0.99999, cache=cache)
    full = threshold_table(PAPER, (12, 40, 1, 20), cache).values
    for p in (0.6, 0.9, 0.999, 0.99999):
        assert table.largest(p) == [
            int((full[tuple(slice(None) if j == k else 0 for j in range(4))] < p).sum()) - 1 for k in range(4)
        ]


def test_nearly_cancelling_flips_are_cut_and_stay_sound(cache: TableCache, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("certcore.base.lattice.MAX_SECONDS", 0.2)
    table = grown_thresholds(("0.39", "0.6", "0", "0.4"), 0.9999, cache=cache)
    assert table.cut[:2] == (True, True)
    a, d, _, _ = table.extent
    assert not table.fronts(np.array([0.9999])).certified((a + 1, 0, 0, 0))[0]
    assert not table.fronts(np.array([0.9999])).certified((0, d + 1, 0, 0))[0]
    again = grown_thresholds(("0.39", "0.6", "0", "0.4"), 0.9999, cache=cache)
    assert again.cut == table.cut
    assert np.array_equal(again.values, table.values)


def test_the_joint_lattice_of_the_issue_is_quick_cold_and_warm(cache: TableCache) -> None:
    for theta in (PAPER, ("0.002", "0.6", "0.001", "0.4")):
        start = time.process_time()
        cold = threshold_table(theta, (9, 40, 0, 20), cache)
        middle = time.process_time()
        warm = threshold_table(theta, (9, 40, 0, 20), cache)
        end = time.process_time()
        assert middle - start < 20
        assert end - middle < 0.2
        assert np.array_equal(cold.values, warm.values)


def test_ceilings() -> None:
    assert next_ceiling(0.5) == 0.5
    assert next_ceiling(0.50001) == 0.75
    assert next_ceiling(1.0) == 1.0
    assert next_ceiling(0.0) == 0.5
    for bad in (float("nan"), -0.1, 1.1):
        with pytest.raises(InputError):
            next_ceiling(bad)


@pytest.mark.parametrize("theta", [(), ("0.1",) * 3, ("0.1", "0.1", "0.1", "1.5"), ("0.1", "nan", "0", "0")])
def test_bad_theta(theta: tuple[str, ...]) -> None:
    with pytest.raises(InputError, match="theta"):
        Noise.of(theta)


def test_bad_extent() -> None:
    with pytest.raises(InputError, match="extent"):
        threshold_table(PAPER, (1, 2, 3))
    with pytest.raises(InputError, match="extent"):
        threshold_table(PAPER, (1, 2, 3, -1))
    with pytest.raises(InputError, match="too many budgets"):
        threshold_table(PAPER, (10**6, 10**6, 0, 0))


def test_axes_stop_somewhere(cache: TableCache, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("certcore.base.lattice.MAX_AXIS", 20)
    table = grown_thresholds(("0", "0.99", "0", "0"), 0.999, (0, 10**6, 0, 0), cache)
    assert table.extent == (0, 20, 0, 0)
    assert table.cut == (False, True, False, False)
    assert not table.fronts(np.array([0.999])).certified((0, 21, 0, 0))[0]
    assert table.fronts(np.array([0.999])).certified((0, 20, 0, 0))[0]
