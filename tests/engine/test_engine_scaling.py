"""Where floats begin: lengths are counted in units of any size, and what is certified does not depend on it."""

from __future__ import annotations

import time
from dataclasses import replace
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp

from certcore import GridBase, Instance, Status, ThreatModel, certify, load_instance, verify_proof
from certcore.base.gaussian import GaussianBase
from certcore.messages.status import status
from certcore.program.build import build_structure
from certcore.program.problem import Problem
from certcore.program.program import Program
from certcore.solve.master import WholeProgram
from certcore.solve.scaling import Scaling
from certcore.solve.tuning import LARGE, SOLVER
from tests.support import random_graph, random_grid
from tests.sweep.test_sweep_lengths import instance as ring

#: Lengths that are whole numbers of units at every scale; the ring's noise is 0.06.
THREATS = [
    {"attr_l2": "0.03"},
    {"attr_l2": "0.12", "sigma": 2},
    {"attr_l2": "0.06", "adj_del": 2},
    {"attr_l2": "0.12", "adj_del": 1, "sigma": 3, "local_attr_l2": "0.06"},
]
BUNDLE = Path(__file__).resolve().parents[2] / "precomputed" / "digits-gcn-l2-s0.npz"


@pytest.fixture
def fine_needs(monkeypatch: pytest.MonkeyPatch) -> None:
    """Needs at any scale are those at the coarsest one, multiplied: they would be rounded less otherwise."""
    own = GaussianBase.need

    def need(self: GaussianBase, *given: Any) -> np.ndarray:
        return own(replace(self, units=256), *given) * (self.units // 256)

    monkeypatch.setattr(GaussianBase, "need", need)


@pytest.mark.parametrize("threat", THREATS, ids=str)
@pytest.mark.usefixtures("fine_needs")
def test_the_count_does_not_depend_on_the_unit(threat: dict[str, Any]) -> None:
    coarse = certify(ring(units=2**8), attack=False, **threat)
    assert coarse.naive_certified <= coarse.certified < coarse.targets
    for power in (10, 12, 16, 18, 20):
        instance = ring(units=2**power)
        found = certify(instance, attack=False, **threat)
        assert found.status is Status.OPTIMAL, power
        assert found.certified == coarse.certified
        assert abs(found.bound - coarse.bound) < Fraction(1, 10**4)
        assert verify_proof(found.proof, instance).accepted


@pytest.mark.parametrize(("power", "least"), [(16, 1399), (20, 1400)])
def test_fine_units_with_attackers_are_solved_to_the_end(power: int, least: int) -> None:
    """At 2¹⁶ units the solver gave no usable answer, and 1,210 were certified; at 2¹² it is 1,396."""
    instance = load_instance(BUNDLE)
    fine = replace(instance, base=replace(instance.base, units=2**power))
    found = certify(fine, attr_l2=4, sigma=3, attack=False)
    assert found.status is Status.OPTIMAL
    assert found.certified >= least


def test_what_leaves_the_solver_is_in_the_units_of_the_program() -> None:
    """Dual values prove the bound of the program itself, and its rows hold for the solution."""
    for threat in THREATS[1:]:
        problem = Problem(ring(units=2**20), ThreatModel(**threat))
        structure = build_structure(problem, "tight")
        program = Program(structure, problem.threat.budgets, problem.threat.sigma)
        scaling = Scaling(structure)
        assert scaling.of_type.max() > 1
        assert np.log2(scaling.of_type).tolist() == np.rint(np.log2(scaling.of_type)).tolist()
        model = WholeProgram(program)
        for step in (program, Program(structure, tuple(b // 2 for b in program.budgets), program.sigma)):
            model.move(step)
            found = model.solve(time_limit=60)
            assert found.x is not None
            assert found.y is not None
            unit = scaling.of_rows(np.arange(len(step.rhs)))
            assert ((step.matrix @ found.x - step.rhs) / np.maximum(np.abs(step.rhs), unit)).max() < 1e-6
            reduced = step.objective - sp.csr_array(step.matrix).T @ found.y
            bound = found.y @ step.rhs + np.maximum(reduced, 0.0) @ step.upper
            assert bound == pytest.approx(float(step.objective @ found.x), abs=1e-5)


def test_flips_keep_their_units() -> None:
    instance = load_instance(BUNDLE.with_name("citeseer-gcn-joint-s0.npz"))
    scaling = Scaling(build_structure(Problem(instance, ThreatModel(attr_del=2, adj_del=2, sigma=3)), "tight"))
    assert scaling.is_one
    assert (scaling.of_type == 1).all()
    block = sp.csr_array(np.eye(2))
    assert scaling.entries(block, np.full(2, 2.0), np.full(2, 2.0)) is block


def test_lengths_with_attackers_on_pubmed_end_within_their_time_with_a_proven_bound() -> None:
    """It did not end: the first-order method used all the time, and its dual values counted a length σ times."""
    instance = load_instance(BUNDLE.with_name("pubmed_tfidf-gcn-l2-s0.npz"))
    started = time.perf_counter()
    found = certify(instance, attr_l2="0.2", sigma=3, attack=False, time_limit=4)
    assert time.perf_counter() - started < 4 + 30, "reading and building included, on a busy machine"
    assert found.status in (Status.TIME_LIMIT, Status.OPTIMAL)
    assert found.certified > 12_000 > 2_000 > found.naive_certified
    assert verify_proof(found.proof, instance).accepted


@pytest.mark.parametrize("large", [False, True])
def test_rounds_that_are_used_up_are_not_called_a_time_limit(large: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    rng = np.random.default_rng(2)
    instance = Instance(
        random_graph(rng, 40, 6, 0.08), GridBase(random_grid(rng, 40, (4, 6)), ("attr_add", "attr_del")), 1
    )
    threat = ThreatModel(attr_add=3, attr_del=5, sigma=2)
    full = certify(instance, threat, attack=False)
    assert full.solves > 1
    if large:
        monkeypatch.setattr("certcore.solve.solver.SOLVER", replace(SOLVER, large_entries_with_sigma=1))
        monkeypatch.setattr("certcore.solve.large.LARGE", replace(LARGE, max_rounds=1, near=0.0))
    else:
        monkeypatch.setattr("certcore.solve.solver.SOLVER", replace(SOLVER, max_rounds=1))
    found = certify(instance, threat, attack=False)
    assert found.status is Status.ROUNDS
    assert not found.status.is_final
    assert "used up its rounds" in str(status(found))
    assert found.naive_certified <= found.certified <= full.certified
