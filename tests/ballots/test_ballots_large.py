"""The restricted master against ballots: equal to the whole program, moved from budget to budget, and stopped."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from certcore import ThreatModel, load_instance
from certcore.program.problem import Problem
from certcore.program.relaxation import Relaxation
from certcore.solve import large_ballots
from certcore.solve.large_ballots import LargeBallots
from certcore.solve.solver import Solver
from certcore.solve.status import Status
from tests.ballots.enumeration import Case, random_threat

THREATS: list[dict[str, Any]] = [
    {"adj_del": 12},
    {"adj_del": 12, "local_adj_del": 2, "adj_add": 6, "local_adj_add": 1},
    {"attr_add": 3, "attr_del": 2, "sigma": 4},
    {"adj_del": 10, "adj_add": 5, "sigma": 3},
    {"attr_add": 2, "adj_del": 5, "inject": 2, "inject_edges": 3},
]


def compare(problem: Problem, points: list[Any]) -> None:
    """One restricted master moved through the budget points, beside the whole program."""
    whole, parts = (Solver(problem, Relaxation.TIGHT) for _ in range(2))
    whole._large, parts._large = None, LargeBallots(parts.structure)
    for point in points:
        expected, found = whole.solve(point, time_limit=60), parts.solve(point, time_limit=60)
        assert found.status is Status.OPTIMAL
        assert float(found.bound) == pytest.approx(float(expected.bound), abs=2e-3)


@pytest.mark.parametrize("threat", THREATS, ids=str)
def test_equal_on_cora(threat: dict[str, Any], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(large_ballots, "BALLOTS", large_ballots.BALLOTS.__class__(least_changes=40))
    given = ThreatModel(**threat)
    problem = Problem(load_instance("precomputed/cora-decoupled-ballots-s0.npz"), given)
    fewer = tuple(max(b - 1, 0) for b in given.budgets)
    compare(problem, [(given.budgets, given.sigma), (fewer, given.sigma)])


def test_equal_on_small_graphs(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(large_ballots, "BALLOTS", large_ballots.BALLOTS.__class__(least_changes=1, times_budget=0))
    for number in range(80):
        case, rng = Case([5, number, 1]), np.random.default_rng([5, number])
        threat = random_threat(rng, case)
        problem = Problem(case.instance, threat)
        fewer = tuple(int(rng.integers(0, b + 1)) for b in threat.budgets)
        compare(problem, [(threat.budgets, threat.sigma), (fewer, threat.sigma)])


def test_stopped_early_it_keeps_a_proven_bound() -> None:
    instance = load_instance("precomputed/pubmed-decoupled-ballots-s0.npz")
    threat = ThreatModel(attr_add=5, sigma=5)
    solver = Solver(Problem(instance, threat), Relaxation.TIGHT)
    found = solver.solve((threat.budgets, 5), time_limit=1e-3)
    assert found.status is Status.TIME_LIMIT
    assert found.duals is not None
    assert found.bound < 1000
