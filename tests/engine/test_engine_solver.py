"""Solvers that fail, stop or overstate: what is told, and what is tried again."""

from __future__ import annotations

import threading
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from certcore import Graph, GridBase, Instance, Status, ThreatModel, certify
from certcore.solve.engine import Method
from certcore.solve.highs import HighsModel, Solution
from tests.support import brute_force, random_graph, random_grid


def example(seed: int = 2, n: int = 40) -> tuple[Instance, ThreatModel]:
    rng = np.random.default_rng(seed)
    graph = random_graph(rng, n, 6, 0.08)
    instance = Instance(graph, GridBase(random_grid(rng, n, (4, 6)), ("attr_add", "attr_del")), 1)
    return instance, ThreatModel(attr_add=3, attr_del=5)


class FailsOnce(HighsModel):
    """No answer at first, a good one the second time."""

    calls: list[Method]

    def solve(self, **options: Any) -> Solution:
        honest = super().solve(**options)
        self.calls.append(options["method"])
        if len(self.calls) == 1:
            return replace(honest, status=Status.FAILED, x=None, multipliers=None)
        return honest


def test_a_failed_solve_is_tried_again_by_the_other_method() -> None:
    instance, threat = example()
    calls: list[Method] = []
    certificate = certify(instance, threat, attack=False, factory=type("F", (FailsOnce,), {"calls": calls}))
    assert set(calls) == {Method.INTERIOR_POINT, Method.SIMPLEX}
    assert len(calls) == 2
    assert certificate.status is Status.RECOMPUTED
    assert certificate.certified == certify(instance, threat, attack=False).certified


def test_a_cancel_between_two_rounds_keeps_what_was_proven() -> None:
    instance, threat = example()
    cancel = threading.Event()

    class Cancels(HighsModel):
        def solve(self, **options: Any) -> Solution:
            solution = super().solve(**options)
            cancel.set()
            return solution

    threat = threat.replace(sigma=2)
    full = certify(instance, threat, attack=False)
    stopped = certify(instance, threat, attack=False, cancel=cancel, factory=Cancels)
    assert full.solves > 1  # there are cuts to add
    assert stopped.status is Status.INTERRUPTED
    assert stopped.naive_certified <= stopped.certified <= full.certified


@pytest.mark.parametrize("claim", [0.0, -3.0, float("inf"), float("nan")])
def test_an_integer_solver_that_overstates_is_caught_by_the_attack(claim: float) -> None:
    """The dual bound of the integer program is the solver's word; a replayed attack disproves a wrong one."""

    class Boaster(HighsModel):
        def solve(self, **options: Any) -> Solution:
            return replace(super().solve(**options), limit=claim)

    rng = np.random.default_rng(0)
    graph = Graph.from_edges(4, np.array([[0, 1], [1, 2]]), np.ones((4, 3), dtype=np.int8))
    instance = Instance(graph, GridBase(random_grid(rng, 4, (4,)), ("attr_del",)), 1)
    threat = ThreatModel(attr_del=2)
    truth = brute_force(instance, threat)
    assert truth > 0
    certificate = certify(instance, threat, relaxation="exact", factory=Boaster)
    assert certificate.targets - certificate.certified >= truth
    assert certificate.certified == certificate.verified_certified
    if claim <= 0:
        assert certificate.status is Status.FAILED


@pytest.mark.parametrize("limit", [1e-9, 0.02, 0.2])
def test_exact_within_any_time_is_no_better_than_the_truth(limit: float) -> None:
    instance, threat = example(n=30)
    honest = certify(instance, threat, relaxation="exact", time_limit=120)
    assert honest.status is Status.OPTIMAL
    assert honest.attack_found == honest.targets - honest.certified
    hurried = certify(instance, threat, relaxation="exact", time_limit=limit)
    assert hurried.verified_certified <= hurried.certified <= honest.certified
    assert not hurried.verified
