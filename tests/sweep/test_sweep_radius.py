"""How much can be promised, and whom to protect."""

from __future__ import annotations

import itertools
from pathlib import Path

import numpy as np
import pytest

from certcore import Graph, GridBase, InputError, Instance, ThreatModel, certify, save_instance
from certcore.cli import main
from certcore.domain.threat import MAX_BUDGET
from certcore.program.problem import Problem
from certcore.sweep import Counts, Session, curve, defend, radius
from certcore.sweep.axis import Axis
from certcore.sweep.radii import first_uncertified, largest_useful
from tests.support import random_graph
from tests.sweep.cases import middling, smoothed_like


@pytest.fixture(scope="module")
def whole_line() -> tuple[Instance, Counts]:
    instance = smoothed_like(1, n=100)
    return instance, curve(instance, ThreatModel(attr_add=1), "attr_del", range(300))


@pytest.mark.parametrize("share", ["0", "0.3", "0.5", "0.8", "0.97", "1"])
def test_radius_is_the_last_value_with_enough(share: str, whole_line: tuple[Instance, Counts]) -> None:
    instance, line = whole_line
    found = radius(instance, ThreatModel(attr_add=1), "attr_del", share)
    enough = np.flatnonzero(line.certified >= np.ceil(float(share) * 100 - 1e-9))
    if share == "0":
        assert found.unbounded
    elif not len(enough):
        assert found.value is None
    else:
        assert found.value == enough[-1]
        assert found.certified == line.certified[enough[-1]]
        assert found.certified >= found.needed
        if found.next_certified is not None:
            assert found.next_certified < found.needed


def test_the_end_of_a_curve_is_the_first_budget_that_leaves_nothing(whole_line: tuple[Instance, Counts]) -> None:
    instance, line = whole_line
    session, threat = Session(instance), ThreatModel(attr_add=1)
    end = int(np.flatnonzero(line.certified == 0)[0])
    assert first_uncertified(session, threat, "attr_del") == end
    assert first_uncertified(session, threat, "attr_del", most=end) == end
    assert first_uncertified(session, threat, "attr_del", most=end - 1) is None
    assert first_uncertified(session, threat.replace(local_attr_del=0, local_attr_add=0), "attr_del") is None


def test_radius_over_sigma_and_where_nothing_changes_any_more() -> None:
    rng = np.random.default_rng(4)
    instance = middling(rng, ("attr_del",))
    threat = ThreatModel(attr_del=6, local_attr_del=2)
    n = instance.graph.n_nodes
    found = radius(instance, threat, "sigma", 0.6)
    counts = [certify(instance, threat.replace(sigma=s), attack=False).certified for s in range(n + 1)]
    enough = [s for s in range(n + 1) if counts[s] >= 0.6 * n]
    assert found.value == (max(enough) if enough else None)
    assert found.unbounded == (len(enough) == n + 1)
    limited = radius(instance, ThreatModel(local_attr_del=0), "attr_del", 0.0001)
    assert limited.unbounded


def test_unbounded_is_said_only_where_it_is_proven() -> None:
    graph = Graph.from_edges(3, np.zeros((0, 2), dtype=int), np.ones((3, 2000), dtype=np.int8))
    instance = Instance(graph, GridBase(np.ones((3, 1500), dtype=bool), ("attr_del",)), layers=0)
    cheap = radius(instance, ThreatModel(), "attr_del", 1)
    assert cheap.value == 1499
    assert not cheap.unbounded
    assert not cheap.limit_reached
    # Where everything that exists can be paid for, the end is proven.
    small = Graph.from_edges(3, np.zeros((0, 2), dtype=int), np.ones((3, 20), dtype=np.int8))
    instance = Instance(small, GridBase(np.ones((3, 30), dtype=bool), ("attr_del",)), layers=0)
    assert radius(instance, ThreatModel(local_attr_del=20), "attr_del", 1).unbounded


def test_more_flips_than_the_largest_budget_can_pay_for() -> None:
    n = 200_000
    graph = Graph.from_edges(n, np.zeros((0, 2), dtype=int), n_attrs=50_000_000)
    instance = Instance(graph, GridBase(np.ones((n, 2), dtype=bool), ("attr_add",)), layers=0)
    problem = Problem(instance, ThreatModel())
    assert largest_useful(problem, Axis("attr_add")) == (MAX_BUDGET, True)


def test_edge_additions_that_nobody_can_make_count_as_in_certify() -> None:
    graph = Graph.from_edges(6, np.array([(0, 1), (2, 3), (4, 5)]), np.ones((6, 2), dtype=np.int8))
    grid = np.ones((6, 3, 3), dtype=bool)
    grid[:, 2:, :] = False
    instance = Instance(graph, GridBase(grid, ("attr_del", "adj_add")), layers=1)
    threat = ThreatModel(attr_del=2, local_adj_add=0)
    found = radius(instance, threat, "adj_add", "0.5")
    counts = [certify(instance, threat.replace(adj_add=k), attack=False).certified for k in (0, 1, 5)]
    assert found.value == max((k for k, count in zip((0, 1, 5), counts) if count >= found.needed), default=None)
    assert found.unbounded == (counts[-1] >= found.needed)


@pytest.mark.parametrize(("share", "text"), [("0.99996", "99.996 %"), ("0.5", "50 %"), ("1", "100 %")])
def test_the_share_asked_for_is_told_in_all_its_digits(
    share: str, text: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    save_instance(tmp_path / "i.npz", smoothed_like(0, n=20))
    assert main(["radius", str(tmp_path / "i.npz"), "--vary", "attr_del", "--at-least", share]) == 0
    assert f"({text} were asked for" in capsys.readouterr().out


@pytest.mark.parametrize("share", [-0.1, 1.1, "many", float("nan"), "1e999999", "0.99999999999999999999"])
def test_shares_that_are_none(share: object) -> None:
    with pytest.raises(InputError):
        radius(smoothed_like(0, n=20), ThreatModel(), "attr_del", share)  # type: ignore[arg-type]


def test_defence_is_verified_and_helps() -> None:
    instance = smoothed_like(3, n=100)
    threat = ThreatModel(attr_add=2, attr_del=8)
    found = defend(Session(instance), threat, 3)
    assert 1 <= len(found.steps) <= 3
    count = certify(instance, threat, attack=False).certified
    assert found.certified == count
    for number, step in enumerate(found.steps, 1):
        protected = threat.replace(protected=found.nodes[:number])
        real = certify(instance, protected, attack=False).certified
        assert step.certified == real
        assert step.gain == real - count
        count = real
    assert found.gain == count - found.certified
    assert found.gain > 0
    assert found.threat.protected.tolist() == sorted(found.nodes)


def test_defence_finds_the_centre_of_a_star() -> None:
    """Every deletion next to the centre breaks all leaves: it has to come first."""
    star = [(0, i) for i in range(1, 12)]
    graph = random_graph(np.random.default_rng(0), 12, 5, 0.0)
    graph = type(graph).from_edges(12, np.array(star), np.ones((12, 5), dtype=np.int8), n_attrs=5)
    grid = np.arange(3)[None] < np.full(12, 2)[:, None]
    instance = Instance(graph, GridBase(grid, ("attr_del",)), layers=1)
    found = defend(instance, ThreatModel(attr_del=2), 1)
    assert found.nodes == [0]
    best = max(
        certify(instance, ThreatModel(attr_del=2, protected=[node]), attack=False).certified for node in range(12)
    )
    assert found.steps[0].certified == best


def test_greedy_defence_of_edges_and_with_sigma() -> None:
    rng = np.random.default_rng(8)
    instance = middling(rng, ("adj_del",), nodes=(20, 21))
    for threat in (ThreatModel(adj_del=4), ThreatModel(adj_del=4, sigma=2)):
        found = defend(instance, threat, 2, tries=20)
        for number in range(len(found.steps)):
            real = certify(instance, threat.replace(protected=found.nodes[: number + 1]), attack=False)
            assert real.certified == found.steps[number].certified
        single = [
            float(certify(instance, threat.replace(protected=[n]), attack=False).bound) for n in range(20)
        ]  # fmt: skip
        if found.steps:
            assert found.steps[0].bound == pytest.approx(min(single), abs=1e-6)


def test_defence_keeps_to_its_candidates() -> None:
    instance = smoothed_like(3, n=60)
    found = defend(instance, ThreatModel(attr_del=8), 4, candidates=[1, 2, 3])
    assert set(found.nodes) <= {1, 2, 3}
    for options in itertools.product((0, 1001), (3,)):
        with pytest.raises(InputError):
            defend(instance, ThreatModel(attr_del=8), options[0])
    with pytest.raises(InputError):
        defend(instance, ThreatModel(adj_add=1), 1)
    with pytest.raises(InputError):
        defend(instance, ThreatModel(attr_del=1), 1, relaxation="exact")
    with pytest.raises(InputError):
        defend(instance, ThreatModel(attr_del=1), 1, candidates=[60])
