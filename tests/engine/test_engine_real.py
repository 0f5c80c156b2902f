"""Real-valued attributes under l2 budgets: no Δ breaks more labels than the bound, where the truth is known."""

from __future__ import annotations

from collections.abc import Callable
from decimal import Decimal, getcontext
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from scipy.special import ndtr

from certcore import Graph, GridBase, InputError, Instance, ThreatModel, certify
from certcore.base.gaussian import GaussianBase
from certcore.domain.perturbations import TYPES, node_types
from certcore.domain.scale import Scale
from certcore.messages import attack_words
from certcore.result.attack_effects import reach
from tests.checker.test_checker_real import case as random_case
from tests.engine.linear import KnownBase, bound_of, broken, make

L2 = TYPES.index("attr_l2")


def cases(count: int, **wrong: Any) -> Any:
    rng = np.random.default_rng(0)
    return (make(rng, joint=k % 3 == 2, **wrong) for k in range(count))


def test_no_real_attack_breaks_more_than_the_bound() -> None:
    reached = 0
    for number, case in enumerate(cases(40)):
        bound, found = bound_of(case), broken(case)
        assert bound >= found, number
        reached += bound == found
    assert reached >= 16


def _needs_too_large(monkeypatch: pytest.MonkeyPatch) -> None:
    own = GaussianBase.need
    monkeypatch.setattr(GaussianBase, "need", lambda self, *pair: own(self, *pair) * 11 // 10)


def _budget_too_small(monkeypatch: pytest.MonkeyPatch) -> None:
    own = Scale.of_square
    monkeypatch.setattr(Scale, "of_square", lambda self, square: own(self, square * 3 / 5))


@pytest.mark.parametrize("mistake", [_needs_too_large, _budget_too_small, None])
def test_mistakes_on_purpose_are_caught(
    mistake: Callable[[pytest.MonkeyPatch], None] | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    if mistake is not None:
        mistake(monkeypatch)
    wrong = {} if mistake is not None else {"hops": 1}
    assert any(bound_of(case) < broken(case) for case in cases(60, **wrong))


def instance(z: list[float], rows: int = 1, std: str = "1", units: int = 2**16) -> Instance:
    """Nodes without edges, each reading its own row."""
    n = len(z)
    graph = Graph.from_edges(n, np.zeros((0, 2), int), np.arange(1.0, n + 1)[:, None], keep_values=True)
    base = KnownBase(
        np.tile([1, 0], (n, 1)), np.zeros(n, int), 1, "0.01", ("0",) * 4, std=std, lattice="2^-9", units=units,
        known=ndtr(np.array(z)),
    )  # fmt: skip
    return Instance(graph, base, layers=rows)


def test_lengths_become_units_without_floats() -> None:
    scale = Scale(Fraction("0.06"), 2**16)
    assert ThreatModel(attr_l2="0.3").bound_to(scale).budgets[L2] == 1_638_400  # exact: not one more
    assert ThreatModel(attr_l2=0.1).bound_to(Scale(Fraction("0.03"), 2**16)).budgets[L2] == 728_178
    assert ThreatModel(attr_l2="0.3").budgets[L2] == 10**9  # without an instance: more than any length
    with pytest.raises(InputError, match="standard deviations"):
        _ = ThreatModel(attr_l2="1e6").bound_to(scale).budgets


def test_needs_are_lost_at_the_need_itself() -> None:
    found = instance([1.0, 1.0, 2.0])
    assert certify(found, attr_l2="0.99").certified == 3
    assert certify(found, attr_l2="1").certified == 2  # Δ = s·z along the weights
    assert certify(found, attr_l2="1.42").certified == 1  # √2 pays for both
    assert certify(found, attr_l2="9", local_attr_l2="1.5").certified == 1
    assert certify(found, attr_l2="9", sigma=1).certified == 2
    assert certify(found, attr_l2="0").certified == 3


def test_two_disjoint_needs_fit_into_their_sum() -> None:
    need = np.sqrt(10.4 / 2**16)
    found = instance([need, need])
    length = Fraction(ThreatModel(attr_l2=Fraction(21, 2**16)).attr_l2)
    assert length
    certificate = certify(found, attr_l2=repr(float(np.sqrt(20.9 / 2**16))))
    assert certificate.threat.budgets[L2] == 21
    assert certificate.certified == 0  # needs of 11 would say 1


def test_relative_limits_are_shares_of_the_norm_and_round_up() -> None:
    found = instance([1.0, 1.0, 1.0])
    threat = ThreatModel(attr_l2="9", local_attr_l2="0.5", local_mode="relative").bound_to(found.scale)
    limits = threat.local_limits(found.graph)[L2]
    exact = [2**16 * Fraction(m, 2) ** 2 for m in (1, 2, 3)]
    assert all(0 <= have - want < 2 for have, want in zip(limits.tolist(), exact))
    assert certify(found, threat).certified == 1  # the first row moves by one half only


def test_what_knows_bits_refuses_lengths_and_the_reverse() -> None:
    bits = Instance(
        Graph.from_edges(2, np.array([[0, 1]]), np.eye(2, dtype=np.int8)),
        GridBase(np.ones((2, 3), bool), ("attr_del",)),
        layers=1,
    )
    with pytest.raises(InputError, match="no Gaussian attribute noise"):
        certify(bits, attr_l2="0.3")
    with pytest.raises(InputError, match="numbers, not bits"):
        certify(instance([1.0]), attr_del=1)


def test_forms_of_the_program() -> None:
    found = instance([1.0, 1.5, 2.0])
    tight, exact = certify(found, attr_l2="1.6"), certify(found, attr_l2="1.6", relaxation="exact")
    assert exact.integer_claim == 2
    assert (tight.certified, tight.bound) == (exact.certified, exact.bound)
    strong = certify(found, attr_l2="1.6", relaxation="strong")
    assert strong.relaxation == "tight"
    with pytest.raises(InputError, match="real amounts"):
        certify(found, attr_l2="1.6", relaxation="paper")
    threat = tight.threat
    again = ThreatModel.from_json(threat.to_json())
    assert again.to_json() == threat.to_json()
    assert threat.to_json()["attr_l2"] == "1.6"


def length_of(units: int, scale: Scale) -> Decimal:
    return Decimal(units).sqrt() * Decimal(str(float(scale.std))) / Decimal(scale.units).sqrt()


@pytest.mark.parametrize("seed", range(40))
def test_attacks_found_are_no_longer_than_the_attacker_may_move(seed: int) -> None:
    """Budgets in units are rounded up for the bound; an attack that is told must be within the lengths themselves."""
    getcontext().prec = 40
    found, threat = random_case(np.random.default_rng(seed))
    result = certify(found, threat)
    assert result.attack is not None
    scale, rounding = found.base.scale, Decimal("1e-30")  # type: ignore[attr-defined]
    units = result.attack.attributes[node_types().index(L2)]
    moved = [length_of(int(amount), scale) for amount in units]
    assert length_of(int(units.sum()), scale) <= Decimal(str(float(threat.attr_l2))) + rounding
    if threat.local_attr_l2 is not None and threat.local_mode == "absolute":
        limits = np.broadcast_to(np.asarray(threat.local_attr_l2, dtype=object), units.shape)
        assert all(one <= Decimal(str(float(most))) + rounding for one, most in zip(moved, limits))
    assert result.attack_found is not None
    assert result.attack_found <= result.bound


def test_margins_and_sites_are_told_as_lengths() -> None:
    found = instance([1.0, 1.0, 2.0])
    result = certify(found, attr_l2="1.2")
    here = reach(found, result)
    assert here is not None
    assert here.step == 0.1
    assert here.amounts[:, L2].tolist() == pytest.approx([1.0], abs=1e-4)
    assert here.budgets[L2] == pytest.approx(1.2, abs=1e-4)
    assert here.needed[:, L2].tolist() == pytest.approx([1.0, 1.0, 2.0], abs=1e-4)
    assert sorted(here.margin.tolist()) == [0, 10, 20]  # tenths of s, rounded up
    said = str(attack_words(here, str, 2))
    assert "spends a distance of 1 at 1 node" in said
    assert "1 more is at most a further distance of 1 away" in said
