"""Solvers that fail, stop or overstate: what is told, and what is tried again."""

from __future__ import annotations

import math
import threading
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp

from certcore import Graph, GridBase, Instance, Session, Status, ThreatModel, certify, verify_proof
from certcore.base.ballots import UNIT, BallotsBase
from certcore.program.program import Program
from certcore.solve.engine import Method
from certcore.solve.master import Proposal, WholeProgram
from tests.oracle.truth import most_broken
from tests.support import random_graph, random_grid


def example(seed: int = 2, n: int = 40) -> tuple[Instance, ThreatModel]:
    rng = np.random.default_rng(seed)
    graph = random_graph(rng, n, 6, 0.08)
    instance = Instance(graph, GridBase(random_grid(rng, n, (4, 6)), ("attr_add", "attr_del")), 1)
    return instance, ThreatModel(attr_add=3, attr_del=5)


class FailsOnce(WholeProgram):
    """No answer at first, a good one the second time."""

    calls: list[Method]

    def solve(self, **options: Any) -> Proposal:
        honest = super().solve(**options)
        self.calls.append(options["method"])
        if len(self.calls) == 1:
            return replace(honest, status=Status.FAILED, x=None, y=None)
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

    class Cancels(WholeProgram):
        def solve(self, **options: Any) -> Proposal:
            solution = super().solve(**options)
            cancel.set()
            return solution

    threat = threat.replace(sigma=2)
    full = certify(instance, threat, attack=False)
    stopped = certify(instance, threat, attack=False, cancel=cancel, factory=Cancels)
    assert full.solves > 1  # there are cuts to add
    assert stopped.status is Status.INTERRUPTED
    assert stopped.naive_certified <= stopped.certified <= full.certified


def test_few_attackers_who_could_add_a_lot_are_certified_against() -> None:
    """On Citeseer one attacker left no target certified: its prices times all it could add did not fit 64 bits."""
    star = np.array([[i, j] for i in range(0, 60, 6) for j in range(i + 1, i + 6)])
    graph = Graph.from_edges(60, star, sp.csr_array((60, 2_000_000), dtype=np.int8))
    grid = np.add.outer(np.arange(4), np.arange(2)) < np.arange(60)[:, None, None] % 3 + 1
    instance = Instance(graph, GridBase(grid, ("attr_add", "attr_del")), 2)
    threat = ThreatModel(attr_add=3, attr_del=1)
    session = Session(instance)
    bounds = []
    for sigma in (1, 2, 3, None):
        found = certify(instance, threat.replace(sigma=sigma), attack=False)
        again = session.certify(threat.replace(sigma=sigma), attack=False)
        assert found.status is again.status is Status.OPTIMAL, sigma
        assert found.certified == again.certified
        bounds.append(found.bound)
    assert bounds == sorted(bounds)


def test_without_time_a_session_knows_what_it_proved_for_more_attackers() -> None:
    instance, threat = example()
    session = Session(instance)
    free = session.certify(threat, attack=False)
    stopped = session.certify(threat.replace(sigma=2), attack=False, time_limit=1e-9)
    assert stopped.status is Status.TIME_LIMIT
    assert stopped.naive_certified < free.certified <= stopped.certified


class BlindToSigma(WholeProgram):
    """Knows nothing of programs with attackers."""

    def __init__(self, program: Program, **options: Any) -> None:
        super().__init__(program, **options)
        self.blind = program.structure.has_sigma

    def solve(self, **options: Any) -> Proposal:
        honest = super().solve(**options)
        return replace(honest, status=Status.FAILED, x=None, y=None) if self.blind else honest


@pytest.mark.parametrize("relaxation", ["tight", "paper"])
@pytest.mark.parametrize("axes", [("attr_add", "attr_del"), ("adj_del",), ("attr_del", "adj_del")])
def test_where_the_solver_fails_attackers_certify_no_less_than_without_their_number(
    axes: tuple[str, ...], relaxation: str
) -> None:
    rng = np.random.default_rng(5)
    graph = random_graph(rng, 40, 6, 0.08)
    instance = Instance(graph, GridBase(random_grid(rng, 40, (4, 5)[: len(axes)]), axes), 1)
    threat = ThreatModel(**dict.fromkeys(axes, 3), local_adj_del=2 if "adj_del" in axes else None)
    options: dict[str, Any] = {"relaxation": relaxation, "attack": False}
    free = certify(instance, threat, **options)
    failed = certify(instance, threat.replace(sigma=2), factory=BlindToSigma, **options)
    session = Session(instance, factory=BlindToSigma).certify(threat.replace(sigma=2), **options)
    assert failed.status is session.status is Status.FAILED
    assert free.naive_certified < free.certified
    assert free.certified <= min(failed.certified, session.certified)
    assert failed.certified <= certify(instance, threat.replace(sigma=2), **options).certified
    assert failed.proof is not None
    assert verify_proof(failed.proof, instance).accepted


@pytest.mark.parametrize(
    "given", [{"adj_add": 5}, {"adj_del": 5}, {"adj_add": 3, "adj_del": 3, "local_adj_add": 1}], ids=str
)
def test_so_do_attackers_against_ballots(given: dict[str, Any]) -> None:
    rng = np.random.default_rng(1)
    edges = rng.integers(0, 60, size=(90, 2))
    graph = Graph.from_edges(60, edges[edges[:, 0] != edges[:, 1]])
    instance = Instance(graph, BallotsBase(rng.integers(0, UNIT, (60, 3)), 2), layers=1, edge_field="messages")
    threat = ThreatModel(**given)
    free = certify(instance, threat, attack=False)
    failed = certify(instance, threat.replace(sigma=3), attack=False, factory=BlindToSigma)
    assert failed.status is Status.FAILED
    assert free.naive_certified < free.certified <= failed.certified
    assert failed.certified <= certify(instance, threat.replace(sigma=3), attack=False).certified
    assert failed.proof is not None
    assert verify_proof(failed.proof, instance).accepted


@pytest.mark.parametrize("claim", [0.0, -3.0, float("inf"), float("nan")])
def test_an_integer_solver_that_overstates_is_caught_by_the_attack(claim: float) -> None:
    """The dual bound of the integer program is the solver's claim; a replayed attack disproves a wrong one."""

    class Boaster(WholeProgram):
        def solve(self, **options: Any) -> Proposal:
            return replace(super().solve(**options), limit=claim)

    rng = np.random.default_rng(0)
    graph = Graph.from_edges(4, np.array([[0, 1], [1, 2]]), np.ones((4, 3), dtype=np.int8))
    instance = Instance(graph, GridBase(random_grid(rng, 4, (4,)), ("attr_del",)), 1)
    threat = ThreatModel(attr_del=2)
    truth = most_broken(instance, threat)
    assert truth > 0
    certificate = certify(instance, threat, relaxation="exact", factory=Boaster)
    tight = certify(instance, threat)
    assert (certificate.certified, certificate.bound) == (tight.certified, tight.bound)
    assert certificate.targets - certificate.certified >= truth
    assert certificate.integer_claim is None or math.isfinite(claim)
    if claim <= 0:
        assert certificate.integer_claim is None, "an attack shows that it is wrong"


@pytest.mark.parametrize("limit", [1e-9, 0.02, 0.2])
def test_exact_within_any_time_is_no_better_than_the_truth(limit: float) -> None:
    instance, threat = example(n=30)
    honest = certify(instance, threat, relaxation="exact", time_limit=120)
    assert honest.integer_claim is not None
    assert honest.certified <= honest.integer_claim <= honest.targets - (honest.attack_found or 0)
    hurried = certify(instance, threat, relaxation="exact", time_limit=limit)
    assert hurried.certified <= honest.certified
    assert hurried.integer_claim is None or hurried.integer_claim <= honest.integer_claim
