"""Stored dual values at other budgets: the fast formula is the exact bound of the program there."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from certcore import Graph, GridBase, Instance
from certcore.domain.threat import MAX_BUDGET, ThreatModel
from certcore.program.build import build_structure
from certcore.program.cuts import Cuts, violated
from certcore.program.problem import Problem
from certcore.program.program import Program
from certcore.solve.master import WholeProgram
from certcore.verify.bound import exact_bound, scaled
from certcore.verify.duals import IntegerDuals, plain_bound, plain_duals
from tests.oracle.truth import most_broken
from tests.support import random_instance, random_threat
from tests.sweep.cases import middling, smoothed_like


@given(st.integers(0, 10**6), st.sampled_from(["tight", "paper"]))
@settings(max_examples=150)
def test_fast_formula_is_the_exact_bound(seed: int, relaxation: str) -> None:
    """For solver's, noisy and random dual values, with cuts or without, at random budgets of the structure."""
    rng = np.random.default_rng(seed)
    instance = random_instance(rng, max_nodes=5) if seed % 3 else middling(rng, nodes=(6, 15))
    threat = random_threat(rng, instance)
    problem = Problem(instance, threat)
    extent = tuple(MAX_BUDGET if b else 0 for b in threat.budgets)
    structure = build_structure(problem, relaxation, extent)
    program = Program(structure, threat.budgets, threat.sigma)
    model = WholeProgram(program)
    solution = model.solve(time_limit=10)
    cuts = Cuts.none()
    if solution.x is not None and structure.attackers.touch is not None:
        cuts = violated(structure, solution.x, cuts)
        model.add_rows(*cuts.rows(structure))
        solution = model.solve(time_limit=10)
    y = solution.y
    if y is None or seed % 4 == 0:
        y = rng.random(structure.matrix.shape[0] + len(cuts)) * rng.choice([0.1, 1.0, 5.0])
    elif seed % 4 == 1:
        y = y * rng.uniform(0.7, 1.2, len(y))
    known = IntegerDuals.of(structure, scaled(y), cuts)
    assert known is not None
    for _ in range(3):
        budgets = tuple(int(rng.integers(0, 7)) if b else 0 for b in threat.budgets)
        sigma = None if threat.sigma is None else int(rng.integers(0, 6))
        at = Program(structure, budgets, sigma, cuts)
        fast = known.bound(at)
        assert structure.constant + exact_bound(at, known.repaired(at)) == fast
        assert structure.constant + exact_bound(at, known.y) >= fast
        plain = Program(structure, budgets, sigma)
        assert structure.constant + exact_bound(plain, plain_duals(plain)) == plain_bound(plain)
        # Settled dual values give the same bound at the place they were settled for, and a sound one elsewhere.
        repaired_at = known.repaired_at(at)
        assert repaired_at.bound(at) == fast
        assert (repaired_at.repaired(at) == repaired_at.y).all()
        other = Program(structure, tuple(2 * b for b in budgets), sigma, cuts)
        assert structure.constant + exact_bound(other, repaired_at.repaired(other)) == repaired_at.bound(other)
        if seed % 3 and instance.graph.n_nodes <= 4:
            real = threat.replace(sigma=sigma, **dict(zip(("attr_add", "attr_del", "adj_add", "adj_del"), budgets)))
            assert math.floor(fast) >= most_broken(instance, real)


@given(st.integers(0, 10**6))
@settings(max_examples=40)
def test_several_values_of_a_stretch_at_once(seed: int) -> None:
    rng = np.random.default_rng(seed)
    instance = random_instance(rng, max_nodes=6)
    threat = random_threat(rng, instance).replace(sigma=None)
    kind = next((k for k in range(4) if threat.budgets[k]), None)
    if kind is None:
        return
    structure = build_structure(
        Problem(instance, threat), "tight", tuple(MAX_BUDGET if b else 0 for b in threat.budgets)
    )
    known = IntegerDuals.of(structure, scaled(rng.random(structure.matrix.shape[0])))
    assert known is not None
    start = 20  # beyond all points: only right-hand sides change from here on
    budgets = [*threat.budgets]
    budgets[kind] = start
    rhs_range = Program(structure, tuple(budgets))
    values = [start, start + 1, start + 7]
    for value, found in zip(values, known.bounds(rhs_range, kind, values)):
        budgets[kind] = value
        at = Program(structure, tuple(budgets))
        assert at.same_rhs_range(rhs_range)
        assert found == known.bound(at)


def test_huge_duals_are_refused_not_wrapped() -> None:
    instance = smoothed_like(0, n=40)
    structure = build_structure(Problem(instance, ThreatModel(attr_add=2, attr_del=2)), "tight")
    assert IntegerDuals.of(structure, scaled(np.full(structure.matrix.shape[0], 1e30))) is None
    with pytest.raises(ValueError, match="one dual value"):
        IntegerDuals.of(structure, scaled(np.ones(3)))


def test_long_fronts_do_not_overflow() -> None:
    """Dual values of a broken solver, summed over the hundred points of one front, would not fit into 64 bits."""
    side = 12
    sums = np.add.outer(np.add.outer(np.arange(side), np.arange(side)), np.arange(side))
    base = GridBase(np.stack([sums < 16] * 2), ("attr_add", "attr_del", "adj_del"))
    graph = Graph.from_edges(2, np.array([[0, 1]]), np.zeros((2, 30), dtype=np.int8))
    threat = ThreatModel(attr_add=side, attr_del=side, adj_del=side)
    structure = build_structure(Problem(Instance(graph, base, layers=2), threat), "paper")
    at = Program(structure, threat.budgets)
    refused = 0
    for bits in range(40, 61):
        y = np.zeros(structure.matrix.shape[0], dtype=np.int64)
        y[structure.rows["choose"]] = 1 << bits
        known = IntegerDuals.of(structure, y)
        refused += known is None
        if known is not None:
            assert structure.constant + exact_bound(at, known.repaired(at)) == known.bound(at)
    assert 1 <= refused <= 8


def test_many_dear_attackers_do_not_overflow() -> None:
    """What attackers could pay with all their capacity, summed up, leaves 64 bits long before a bound does."""
    graph = Graph.from_edges(6, np.array([[0, 1], [1, 2], [3, 4]]), np.zeros((6, 5000), dtype=np.int8))
    base = GridBase(np.arange(4)[None, :] < np.array([1, 2, 3, 3, 2, 1])[:, None], ("attr_add",))
    threat = ThreatModel(attr_add=2, sigma=1)
    structure = build_structure(Problem(Instance(graph, base, layers=1), threat), "tight", (MAX_BUDGET, 0, 0, 0))
    for bits in range(36, 60):
        y = np.zeros(structure.matrix.shape[0], dtype=np.int64)
        y[structure.rows["payer"]] = (1 << bits) + 1
        y[structure.rows["sigma"]] = 2 << bits
        known = IntegerDuals.of(structure, y)
        assert known is not None or bits > 50, bits
        if known is None:
            continue
        for budget, sigma in [(2, 1), (2, 3), (7, 1), (5000, 1), (5000, 6)]:
            at = Program(structure, threat.replace(attr_add=budget).budgets, sigma)
            proven = structure.constant + exact_bound(at, known.repaired(at))
            assert known.bound(at) <= proven
            assert known.bound(at) == proven or proven > 1 << 20  # worth no repair: far beyond all targets
