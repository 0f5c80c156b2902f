"""From a proven bound to a certificate: count, attack, proof and metadata."""

from __future__ import annotations

import math
import threading
import time
from collections.abc import Sequence
from dataclasses import replace
from fractions import Fraction
from typing import Any

import numpy as np

from certcore import __version__
from certcore.domain.perturbations import ADJ_DEL
from certcore.instance.instance import Instance
from certcore.program.build import build_structure
from certcore.program.cuts import Cuts
from certcore.program.problem import Problem
from certcore.program.program import Program
from certcore.program.relaxation import Relaxation
from certcore.program.structure import Structure
from certcore.result.allocation import Allocation, fractional
from certcore.result.attack import find_attack, improved_attack
from certcore.result.certificate import Certificate, ProgramSize
from certcore.result.tripwire import most_attacked
from certcore.solve.engine import Method
from certcore.solve.solver import BoundResult, ModelFactory
from certcore.solve.status import Status
from certcore.verify.bound import exact_bound
from certcore.verify.duals import plain_bound, plain_duals
from certcore.verify.proof import certified_count, make_proof, whole_graph_attacked


def from_answer(
    problem: Problem,
    structure: Structure,
    answer: BoundResult,
    relaxation: Relaxation,
    *,
    started: float,
    attacks: Sequence[Allocation] | None,
    proof: bool,
    cancel: threading.Event | None = None,
) -> Certificate:
    """Turn a proven bound into a certificate.

    The attack search starts from the known `attacks`; None: no attack is searched for. A proof requires a structure
    that was built for exactly the budgets of the problem, because a checker rebuilds it for these.
    """
    bound, written = _proof(problem, structure, answer) if proof else (answer.bound, None)
    attack = None
    if attacks is not None:
        attack = improved_attack(problem, structure, answer.x, attacks, enough=math.floor(bound), cancel=cancel)
    certificate = replace(
        with_bound(problem, relaxation, bound, answer.status, started),
        attack=attack,
        # The program for ballots has no columns for both ends of added edges.
        fractional=None if answer.x is None or problem.by_ballots else fractional(problem, structure, answer.x),
        unchecked_proof=written,
        size=program_size(problem, structure),
        facts=result_facts(problem.instance),
        solves=answer.solves,
    )
    return replace(certificate, seconds=time.perf_counter() - started)


def from_totals(problem: Problem, relaxation: Relaxation, *, started: float, attack: bool, proof: bool) -> Certificate:
    """The certificate if all fields are the whole graph: only totals matter, and no solver is needed."""
    bound = Fraction(whole_graph_attacked(problem))
    certificate = replace(
        with_bound(problem, relaxation, bound, Status.OPTIMAL, started),
        attack=find_attack(problem, None, None) if attack else None,
        unchecked_proof=make_proof(problem, relaxation.relaxed, bound, None, Cuts.none()) if proof else None,
        facts=result_facts(problem.instance),
    )
    return replace(certificate, seconds=time.perf_counter() - started)


def with_bound(
    problem: Problem, relaxation: Relaxation, bound: Fraction, status: Status, started: float
) -> Certificate:
    """A certificate from the proven bound only, for any relaxation."""
    count = certified_count(problem.total, bound)
    return Certificate(
        targets=problem.total,
        certified=count,
        naive_certified=problem.naive_certified,
        bound=bound,
        relaxation=relaxation,
        status=status,
        seconds=time.perf_counter() - started,
        threat=problem.threat,
        target_nodes=problem.targets,
        instance=problem.instance,
    )


def _proof(problem: Problem, structure: Structure, answer: BoundResult) -> tuple[Fraction, dict[str, Any]]:
    """The bound as a checker computes it, and the simplest dual values that prove it."""
    program = Program(structure, *answer.point)
    y, cuts = plain_duals(program), Cuts.none()
    if answer.duals is not None and answer.bound < plain_bound(program):
        y, cuts = answer.duals.repaired(program), answer.duals.cuts
    bound = structure.constant + exact_bound(replace(program, cuts=cuts), y, structure.scale_bits)
    return bound, make_proof(problem, structure.relaxation, bound, y, cuts)


def integer_claim(
    problem: Problem, proven: Certificate, factory: ModelFactory, time_limit: float, cancel: threading.Event | None
) -> int | None:
    """How many labels stay according to the solver of the integer program, which nothing verifies.

    None if there is no integer program or the solver gives no bound, and if a replayed attack breaks more targets than
    the solver claims possible: then the claim is wrong.
    """
    if problem.whole_graph or proven.status in (Status.INTERRUPTED, Status.FAILED):
        return None
    structure = build_structure(problem, Relaxation.EXACT)
    model = factory(Program(structure, problem.threat.budgets, problem.threat.sigma), integer=True)
    solution = model.solve(time_limit=max(time_limit, 0.1), cancel=cancel, method=Method.BRANCH_AND_BOUND)
    if solution.status is Status.FAILED or not math.isfinite(solution.limit):
        return None
    limit = max(0, math.floor(solution.limit + 1e-6 * structure.mean_weight))
    left = min(math.floor(proven.bound), structure.constant + limit)
    if left < max(most_attacked(problem.instance, problem.threat), proven.attack_found or 0):
        return None
    return proven.targets - left


def program_size(problem: Problem, structure: Structure) -> ProgramSize:
    """Our program's size and the paper's formula: 13·Σ|P| + 8N + 2e + 5 rows, 5·Σ|P| + 4N + e columns."""
    fronts, graph = problem.fronts, problem.instance.graph
    inside: np.ndarray = np.all(fronts.points <= np.array(problem.threat.budgets), axis=1)
    total = 0
    if len(inside):
        sums = [0, *inside.cumsum().tolist()]
        per_front = [sums[b] - sums[a] for a, b in zip(fronts.indptr[:-1].tolist(), fronts.indptr[1:].tolist())]
        total = sum(per_front[f] for f in fronts.front_of_node.tolist())
    edges = graph.n_edges if ADJ_DEL in problem.in_play else 0
    n = graph.n_nodes
    rows, columns = structure.matrix.shape
    return ProgramSize(
        rows, columns, structure.matrix.nnz, 13 * total + 8 * n + 2 * edges + 5, 5 * total + 4 * n + edges
    )


def result_facts(instance: Instance) -> dict[str, Any]:
    """Metadata of every result: the instance, its confidence, versions."""
    import highspy

    return instance.facts() | {
        "instance_digest": instance.digest,
        "meta": {k: instance.meta[k] for k in ("dataset", "model", "seed", "split", "command") if k in instance.meta},
        "versions": {"certcore": __version__, "highspy": highspy.Highs().version()},
    }
