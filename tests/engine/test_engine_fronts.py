"""Fronts: vectorised differences, the flood fill and the definition agree."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from certcore import InputError
from certcore.domain.fronts import fronts_from_grid
from certcore.domain.perturbations import FLIPS, TYPES
from tests.support import flood_fill, of_flips, random_grid


@given(st.integers(0, 2**32 - 1))
@settings(max_examples=25)
def test_three_ways_to_the_same_front(seed: int) -> None:
    rng = np.random.default_rng(seed)
    count = int(rng.integers(1, 5))
    axes = tuple(rng.permutation(FLIPS)[:count].tolist())
    sides = tuple(int(rng.integers(1, 4)) for _ in axes)
    grid = random_grid(rng, 5, sides)
    fronts = fronts_from_grid(grid, axes)
    limits = [4] * 4
    for node in range(5):

        def certified(budget: tuple[int, ...], node: int = node) -> bool:
            if any(b > 0 and t not in axes for b, t in zip(budget, TYPES)):
                return False
            index = tuple(budget[TYPES.index(a)] for a in axes)
            return all(i < s for i, s in zip(index, sides)) and bool(grid[(node, *index)])

        everything = list(itertools.product(*(range(limit + 1) for limit in limits)))
        outside = {b for b in everything if not certified(b)}
        minimal = {b for b in outside if not any(o != b and all(x <= y for x, y in zip(o, b)) for o in outside)}
        assert set(of_flips(fronts.of_node(node))) == minimal
        assert {tuple(p) for p in flood_fill(certified, limits).tolist()} == minimal
        for budget in everything[:: max(1, len(everything) // 50)]:
            assert fronts.certified(budget)[node] == certified(budget)


def test_flood_fill_respects_limits() -> None:
    front = flood_fill(lambda b: sum(b) < 3, [1, 5, 0, 0])
    assert {tuple(p) for p in front.tolist()} == {(0, 3, 0, 0), (1, 2, 0, 0)}


def test_equal_certificates_share_a_front() -> None:
    grid = np.repeat(random_grid(np.random.default_rng(0), 3, (3, 4)), 100, axis=0)
    fronts = fronts_from_grid(grid, ("attr_add", "attr_del"))
    assert fronts.n_nodes == 300
    assert fronts.n_fronts <= 3


def test_zero_point_for_abstaining_nodes() -> None:
    fronts = fronts_from_grid(np.zeros((1, 3), dtype=bool), ("attr_del",))
    assert fronts.of_node(0).tolist() == [[0] * len(TYPES)]


def test_non_monotone_grid_names_node_and_budget() -> None:
    grid = np.ones((3, 2, 3), dtype=bool)
    grid[1, 0, 1] = False
    with pytest.raises(InputError, match=r"node 1 is certified at budget .* but not at the smaller"):
        fronts_from_grid(grid, ("attr_add", "attr_del"))


def test_perturbations_of_their_own() -> None:
    grid = np.array([[1, 1, 0], [1, 0, 0]], dtype=bool)
    fronts = fronts_from_grid(grid, ("attr_del",))
    inside = np.zeros((3, len(TYPES)), dtype=np.int64)
    inside[:, 1] = 1, 1, 2
    assert fronts.uncertified_at(np.array([0, 1, 0]), inside).tolist() == [False, True, True]
