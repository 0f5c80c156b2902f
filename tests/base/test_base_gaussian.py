"""Gaussian smoothing: Φ in whole numbers, needs from votes, fronts of both kinds of noise."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from scipy.special import ndtr
from scipy.stats import binom

from certcore import InputError
from certcore.base import normal
from certcore.base.gaussian import FINE, GaussianBase
from certcore.base.normal import GRID, NEVER, ONE, phi, quantiles
from certcore.domain.perturbations import TYPES

L2, ADJ_DEL = TYPES.index("attr_l2"), TYPES.index("adj_del")
EXPECTED = {
    2**16: [41, 4_206, 29_814, 107_634, 354_673, 625_838, 906_433, 1_480_788],
    2**12: [2, 262, 1_863, 6_727, 22_167, 39_114, 56_652, 92_549],
}


def needs(p: list[float], units: int, share: Fraction = Fraction(1)) -> list[int]:
    return [int(units * Fraction(max(z, 0), GRID) ** 2) for z in quantiles(np.array(p), share)]


@pytest.mark.parametrize("units", EXPECTED)
def test_needs_of_probabilities(units: int) -> None:
    assert needs([0.51, 0.6, 0.75, 0.9, 0.99, 0.999, 0.9999, 0.999999], units) == EXPECTED[units]
    assert needs([0.5, 0.3, 1e-9], units) == [0, 0, 0]


def test_needs_fall_with_deleted_edges() -> None:
    found = [needs([0.99], 2**16, Fraction(2, 5) ** d)[0] for d in range(6)]
    assert found == [354_673, 251_753, 154_240, 66_851, 5_053, 0]
    assert quantiles(np.array([0.2]), Fraction(2, 5))[0] == NEVER  # 1 − 0.8 / 0.4 is below 0: not 0 but −∞


def test_phi_encloses_the_exact_value() -> None:
    z = np.array([int(x * GRID) for x in np.linspace(-6, 6, 241)] + [GRID, 31 * GRID, 40 * GRID, -40 * GRID], object)
    up, down = phi(z, up=True), phi(z, up=False)
    assert all(0 <= low <= high <= ONE for low, high in zip(down, up))
    assert max(up - down) < 2**14
    assert np.allclose([float(Fraction(v, ONE)) for v in up], ndtr((z / GRID).astype(float)), rtol=1e-13, atol=1e-16)
    assert str(up[241] * 10**28 // ONE) == "8413447460685429485852325456"
    assert (up[-3], down[-3]) != (ONE, ONE)  # 31 deviations: still less than 1


def test_phi_agrees_with_a_second_series() -> None:
    """Up and down against the alternating series of the error function, in exact fractions."""
    for x in (Fraction(1, 3), Fraction(3, 2), Fraction(7, 2)):
        z = int(x * GRID)
        x = Fraction(z, GRID)
        term, total, j = x, Fraction(0), 0
        while abs(term) > Fraction(1, 2**160):
            total += term / (2 * j + 1)
            j += 1
            term = (term * -x * x / (2 * j)).limit_denominator(2**400)
        pi = Fraction(normal.PI, 2**136)
        square = total**2 / (2 * pi)
        for up in (False, True):
            value = Fraction(phi(np.array([z], object), up=up)[0], ONE) - Fraction(1, 2)
            assert (value**2 >= square - Fraction(1, 2**120)) if up else (value**2 <= square + Fraction(1, 2**120))
            assert abs(value**2 - square) < Fraction(1, 2**110)


def base(votes: list[list[int]], **other: Any) -> GaussianBase:
    parts = {"alpha": "0.01", "theta": ("0", "0", "0", "0"), "std": "0.06", "lattice": "2^-9", "units": 2**16}
    given: dict[str, Any] = parts | other
    return GaussianBase(np.array(votes), np.zeros(len(votes), int), sum(votes[0]), **given)


VOTES = [[9_990, 10, 0], [9_000, 600, 400], [4_800, 2_700, 2_500], [4_000, 5_000, 1_000]]


def test_needs_from_votes_hold_at_the_level_of_each_node() -> None:
    found = base(VOTES)
    assert found.level == Fraction(1, 100) * (1 - Fraction(1, 2**20)) / 4
    for votes, need in zip(VOTES, found.needs[0].tolist()):
        if need:
            tail = binom.sf(votes[0] - 1, 10_000, ndtr(np.sqrt(np.array([need, need + 2]) / 2**16)))
            assert tail[0] <= float(found.level) * (1 + 1e-9) < tail[1]
    assert found.abstained.tolist() == [False, False, True, True]


def test_the_multiclass_rule_certifies_against_the_runner_up() -> None:
    binary, several = base(VOTES), base(VOTES, rule="multiclass")
    assert (several.needs[0, 1:3] > binary.needs[0, 1:3]).all()
    assert several.needs[0, 2] > 0
    label, rest = several.quantiles[0]
    middle = [max(Fraction(a + b, 2 * GRID), 0) for a, b in zip(label, rest)]
    assert several.needs[0].tolist() == [int(2**16 * z**2) for z in middle]
    assert label[2] < 0 < rest[2]  # arguments below one half count with their sign


def test_fronts_are_needs_and_deletions() -> None:
    found = base(VOTES, theta=("0", "0", "0", "0.4"))
    assert found.axes == ("adj_del", "attr_l2")
    points = found.fronts().of_node(0)
    own = points[(np.delete(points, [L2, ADJ_DEL], axis=1) == 0).all(axis=1)]
    assert own[:, ADJ_DEL].tolist() == list(range(len(own)))
    assert own[:, L2].tolist() == [*found.needs[: len(own) - 1, 0].tolist(), 0]
    assert not found.fronts().certified(np.eye(len(TYPES), dtype=int)[0]).any()  # any flip is uncertified
    budget = np.zeros(len(TYPES), dtype=int)
    for d, need in enumerate(own[:-1, L2].tolist()):
        budget[[ADJ_DEL, L2]] = d, need - 1
        assert found.fronts().certified(budget)[0]
        budget[L2] = need
        assert not found.fronts().certified(budget)[0]
    fixed = base(VOTES).fronts().of_node(0)
    assert (fixed[:, ADJ_DEL] == 1).any()  # without edge noise one deletion breaks everything
    gone = base(VOTES, theta=("0", "0", "0", "1")).fronts().of_node(0)
    assert not gone[:, ADJ_DEL].any()  # no sample has an edge


def test_noise_behind_the_first_map_lowers_needs() -> None:
    plain, z = base(VOTES), base(VOTES).quantiles[0][0]
    moved = base(VOTES, offsets=np.array([0, FINE // 10, 0, 0]), factor=FINE + 13)
    want = [
        int(2**16 * max(Fraction(int(x), GRID) - Fraction(c, FINE), 0) ** 2 * FINE / (FINE + 13))
        for x, c in zip(z, [0, FINE // 10, 0, 0])
    ]
    assert moved.needs[0].tolist() == want
    assert moved.needs[0, 1] < plain.needs[0, 1]


@pytest.mark.parametrize(
    ("given", "text"),
    [
        ({"std": "0"}, "attr_std is"),
        ({"std": "1/3"}, "as a decimal"),
        ({"lattice": "0.002"}, "attr_lattice"),
        ({"units": 3000}, "power of two"),
        ({"theta": ("0", "0", "0.1", "0.4")}, "no edges added"),
        ({"factor": FINE}, "belong together"),
    ],
)
def test_what_makes_no_sense_is_refused(given: dict[str, Any], text: str) -> None:
    with pytest.raises(InputError, match=text):
        base(VOTES, **given)
