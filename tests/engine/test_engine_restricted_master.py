"""The machine for large programs, forced upon small ones: the same bounds as simplex on the whole program."""

from __future__ import annotations

import threading
from fractions import Fraction

import numpy as np
import pytest
import scipy.sparse as sp

from certcore import Instance, ThreatModel
from certcore.domain.perturbations import TYPES
from certcore.domain.threat import MAX_BUDGET
from certcore.program.problem import Problem
from certcore.program.program import BudgetPoint
from certcore.program.relaxation import Relaxation
from certcore.solve.master import Master
from certcore.solve.solver import Solver, large_solver
from certcore.solve.status import Status
from certcore.verify.duals import IntegerDuals, plain_bound
from tests.support import random_instance, random_threat
from tests.sweep.cases import middling, smoothed_like


def random_case(seed: int) -> tuple[Instance, ThreatModel, np.random.Generator]:
    rng = np.random.default_rng(seed)
    instance = random_instance(rng) if seed % 3 == 0 else middling(rng, nodes=(6, 20))
    return instance, random_threat(rng, instance), rng


def solver_of(instance: Instance, threat: ThreatModel, relaxation: str) -> Solver:
    extent = tuple(MAX_BUDGET if b else 0 for b in threat.budgets)
    return Solver(Problem(instance, threat), Relaxation(relaxation), extent)


@pytest.mark.slow
@pytest.mark.parametrize("relaxation", ["tight", "paper"])
@pytest.mark.parametrize("with_sigma", [False, True])
@pytest.mark.parametrize("block", range(3))
def test_the_same_bound_as_the_whole_program(relaxation: str, with_sigma: bool, block: int) -> None:
    """Cold and, from the second place on, warm from what the model has become."""
    for seed in range(45 * block, 45 * block + 45):
        instance, threat, rng = random_case(seed)
        threat = threat.replace(sigma=int(rng.integers(0, 6)) if with_sigma else None)
        solver = solver_of(instance, threat, relaxation)
        large = large_solver(solver.structure)
        for step in range(2):
            move = np.zeros(len(TYPES), dtype=int)
            move[:4] = rng.integers(-2, 3, 4) * step
            budgets = tuple(max(0, int(b + m)) if b else 0 for b, m in zip(threat.budgets, move))
            sigma = None if threat.sigma is None else max(0, threat.sigma - 2 * step)
            expected = solver.solve((budgets, sigma), time_limit=60)
            program = solver.program((budgets, sigma))
            found = large.solve(program, time_limit=60)
            assert found.status is Status.OPTIMAL
            assert float(found.bound) == pytest.approx(float(expected.bound), abs=1e-7)
            if found.duals is not None:
                assert found.duals.bound(program) == found.bound


@pytest.mark.parametrize("sigma", [None, 3])
def test_a_stopped_solve_leaves_a_proven_bound(sigma: int | None) -> None:
    """What the first-order method published before the stop stands, and previews know it."""
    threat = ThreatModel(attr_del=9, sigma=sigma)
    place = (threat.budgets, sigma)
    solver = solver_of(smoothed_like(5, n=300), threat, "tight")
    optimum = solver.solve(place, time_limit=60)
    solver = solver_of(smoothed_like(5, n=300), threat, "tight")
    solver._large = large_solver(solver.structure)
    cancel = threading.Event()
    seen: list[Fraction] = []

    def publish(place: BudgetPoint, duals: IntegerDuals) -> None:
        know(place, duals)
        seen.append(solver.best(place)[0])
        cancel.set()

    know, solver._know = solver._know, publish  # type: ignore[method-assign]
    stopped = solver.solve(place, time_limit=60, cancel=cancel)
    assert stopped.status is Status.INTERRUPTED
    assert seen
    assert optimum.bound <= stopped.bound <= seen[0] < plain_bound(solver.program(place))
    assert stopped.duals is not None
    assert stopped.duals.bound(solver.program(place)) == stopped.bound
    final = solver.solve(place, time_limit=60)
    assert float(final.bound) == pytest.approx(float(optimum.bound), abs=1e-7)


def test_further_columns_and_rows() -> None:
    """z ≤ flips / 2 counted once more, and half of the targets: as when all of it is given to the solver at once."""
    solver = solver_of(smoothed_like(3, n=60), ThreatModel(attr_del=6), "tight")
    program, s = solver.program((ThreatModel(attr_del=6).budgets, None)), solver.structure
    n, points = s.columns.count, np.arange(s.columns.points.start, s.columns.points.stop)
    half = np.flatnonzero(s.points.group % 2 == 0)
    spent, counting_bound = np.zeros((2, n + 1), dtype=np.int64)
    spent[s.columns.flips], spent[n] = -1, 2
    counting_bound[points[half]] = 1
    rows = sp.csr_array(np.stack([spent, counting_bound]))
    flips, results = np.arange(len(s.flips)), []
    for everything in (True, False):
        model = Master(program, np.full(s.matrix.shape[0], 0.01))
        if everything:
            model.add_columns_and_groups(np.arange(len(s.flips)), np.arange(len(s.groups)))
        else:
            model.add_columns_and_groups(np.arange(0, len(s.flips), 5))
        added = model.add_columns(np.array([1.5]), np.array([2.0]))
        assert added.tolist() == [n]
        numbers = model.add_rows(rows, np.array([0, 3]))
        found = model.solve(time_limit=10)
        for _ in range(50):
            assert found.x is not None
            assert found.y is not None
            missing = np.flatnonzero((model.reduced_costs(found.y)[: len(s.flips)] > 1e-9) & ~model.has(flips))
            wrong = np.flatnonzero(model.gaps(found.x, found.y) > 1e-9)
            if not len(missing) and not len(wrong):
                break
            model.add_columns_and_groups(missing, wrong)
            found = model.solve(time_limit=10)
        assert found.x is not None
        assert found.y is not None
        assert found.y[numbers].max() > 0
        assert 2 * found.x[n] <= found.x[: len(s.flips)].sum() + 1e-7
        results.append(float(program.objective @ found.x[:n] + 1.5 * found.x[n]))
    assert results[0] == pytest.approx(results[1], abs=1e-6)
