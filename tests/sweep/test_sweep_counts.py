"""Whatever a sweep says is what a certificate of its own says, in every cell."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from certcore import Instance, ThreatModel, certify
from certcore.common.errors import InputError
from certcore.sweep import Session, curve, surface
from tests.oracle.truth import most_broken
from tests.support import random_instance, random_threat
from tests.sweep.cases import middling, smoothed_like


def instance_and_threat(seed: int) -> tuple[np.random.Generator, Instance, ThreatModel]:
    rng = np.random.default_rng(seed)
    instance = middling(rng) if seed % 2 else random_instance(rng, max_nodes=8)
    return rng, instance, random_threat(rng, instance)


@pytest.mark.parametrize("seed", range(44))
def test_sweeps_equal_single_cold_certificates(seed: int) -> None:
    """At least eight cells for each of 44 instances."""
    rng, instance, threat = instance_and_threat(seed)
    relaxation = ("tight", "tight", "paper")[seed % 3]
    session = Session(instance)
    axes = [*instance.base.axes, *(["sigma"] if threat.sigma is not None else [])]

    vary = str(rng.choice(axes))
    values = np.arange(0, int(rng.integers(4, 16)))
    line = curve(session, threat, vary, values, relaxation=relaxation)
    assert line.done.all()
    for value in rng.choice(values, 4, replace=False).tolist():
        cold = certify(instance, threat.replace(**{vary: value}), relaxation=relaxation, attack=False)
        assert (line.certified[value], line.naive[value]) == (cold.certified, cold.naive_certified), (vary, value)

    if len(axes) > 1:
        x, y = (str(name) for name in rng.choice(axes, 2, replace=False))
        grid = surface(session, threat, x, np.arange(5), y, np.arange(0, 9, 2), relaxation=relaxation)
        assert grid.done.all()
        for i, j in rng.integers(0, 5, (4, 2)).tolist():
            cold = certify(instance, threat.replace(**{x: i, y: 2 * j}), relaxation=relaxation, attack=False)
            assert (grid.certified[i, j], grid.naive[i, j]) == (cold.certified, cold.naive_certified), (x, y, i, j)

    for _ in range(4):
        other = threat.replace(**{str(rng.choice(instance.base.axes)): int(rng.integers(0, 6))})
        cold = certify(instance, other, relaxation=relaxation, attack=False)
        assert session.preview(other, relaxation=relaxation).certified <= cold.certified
        assert session.certify(other, relaxation=relaxation, attack=False).certified == cold.certified


@pytest.mark.parametrize("seed", range(20))
def test_no_sweep_claims_more_than_an_attack_allows(seed: int) -> None:
    """Every count of a curve against every attack there is, on tiny graphs."""
    rng = np.random.default_rng(1000 + seed)
    instance = random_instance(rng, max_nodes=5)
    threat = random_threat(rng, instance)
    vary = instance.base.axes[0]
    line = curve(instance, threat, vary, range(5))
    for value, certified in zip(line.values.tolist(), line.certified.tolist()):
        broken = most_broken(instance, threat.replace(**{vary: value}))
        assert certified <= line.targets - broken


def test_tight_certifies_at_least_as_much_as_paper_in_every_cell() -> None:
    instance = smoothed_like()
    ours = surface(instance, ThreatModel(), "attr_add", range(6), "attr_del", range(0, 16, 3))
    paper = surface(instance, ThreatModel(), "attr_add", range(6), "attr_del", range(0, 16, 3), relaxation="paper")
    assert (ours.certified >= paper.certified).all()
    assert (ours.certified > paper.certified).any()
    assert (ours.certified >= ours.naive).all()


@pytest.mark.parametrize("vary", ["local_attr_del", "local-attr-add"])
def test_local_budgets(vary: str) -> None:
    instance = smoothed_like(1, n=120)
    threat = ThreatModel(attr_add=4, attr_del=9)
    line = curve(instance, threat, vary, [0, 1, 2, 3, 50, 60])
    name = vary.replace("-", "_")
    assert line.vary == name
    for value, certified in zip(line.values.tolist(), line.certified.tolist()):
        assert certified == certify(instance, threat.replace(**{name: value}), attack=False).certified
    assert (np.diff(line.certified) <= 0).all()


def test_relative_local_budgets() -> None:
    instance = smoothed_like(2, n=80)
    threat = ThreatModel(attr_del=9, local_mode="relative")
    line = curve(instance, threat, "local_attr_del", ["0", "0.1", "0.29", "1"])
    assert line.values.tolist() == [0, 0.1, 0.29, 1]
    assert line.certified[2] == certify(instance, threat.replace(local_attr_del="0.29"), attack=False).certified
    quotients = curve(instance, threat, "local_attr_del", ["1/10", "29/100"])  # ended with a ValueError
    assert quotients.values.tolist() == [0.1, 0.29]
    assert quotients.certified.tolist() == line.certified[1:3].tolist()


@pytest.mark.parametrize("values", [[4, 2, 0], [1, 1], [], [None], [0, [1] * 80], ["0.5", "0.25"], ["0.5", "1/2"]])
def test_local_budgets_must_ascend(values: list[Any]) -> None:
    """A bound at a larger value is taken for the smaller ones, so the order matters: out of order nothing is sound."""
    mode = "relative" if values and isinstance(values[0], str) else "absolute"
    with pytest.raises(InputError, match="local_attr_del"):
        curve(smoothed_like(2, n=80), ThreatModel(attr_del=9, local_mode=mode), "local_attr_del", values)


def test_edge_additions_need_no_program() -> None:
    rng = np.random.default_rng(7)
    instance = middling(rng, ("attr_del", "adj_add"))
    line = curve(instance, ThreatModel(attr_del=2), "adj_add", range(6))
    for value, certified in zip(line.values.tolist(), line.certified.tolist()):
        assert certified == certify(instance, ThreatModel(attr_del=2, adj_add=value), attack=False).certified
    grid = surface(instance, ThreatModel(), "adj_add", range(3), "attr_del", range(4))
    for i in range(3):
        for j in range(4):
            assert grid.certified[i, j] == certify(instance, ThreatModel(adj_add=i, attr_del=j), attack=False).certified


def test_long_curves_need_few_solves() -> None:
    """Where a re-evaluated bound is optimal already, nothing is solved; and no count suffers."""
    instance = smoothed_like(3, n=150)
    line = curve(instance, ThreatModel(), "attr_del", range(1901))
    assert line.done.all()
    assert line.solves < 250
    assert line.certified[-1] == 0
    assert line.average_radius is not None
    ratio = line.certified / line.targets
    assert line.average_radius == pytest.approx((ratio * line.values).sum() / ratio.sum())
    rng = np.random.default_rng(0)
    for value in rng.integers(0, 300, 12).tolist():
        assert line.certified[value] == certify(instance, ThreatModel(attr_del=value), attack=False).certified


def test_average_radius_needs_the_whole_curve() -> None:
    instance = smoothed_like(4, n=60)
    assert curve(instance, ThreatModel(), "attr_del", range(3)).average_radius is None
    assert curve(instance, ThreatModel(), "attr_del", range(0, 2000, 10)).average_radius is None
    assert curve(instance, ThreatModel(), "attr_del", range(1, 2000)).average_radius is None
