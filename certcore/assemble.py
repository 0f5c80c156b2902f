"""The collective certificate: from an instance and a threat model to a proven count."""

from __future__ import annotations

import math
import threading
import time
from fractions import Fraction
from typing import Any

import numpy as np

from certcore import __version__
from certcore.allocation import fractional
from certcore.attack import find_attack
from certcore.certificate import Certificate, ProgramSize
from certcore.errors import InputError
from certcore.instance import Instance
from certcore.perturbations import ADJ_DEL
from certcore.program.cuts import Cuts
from certcore.program.problem import Problem
from certcore.program.program import program_at
from certcore.program.structure import Structure, build_structure
from certcore.solve.highs import HighsModel, Outcome
from certcore.solve.relaxed import ModelFactory, Proven, solve_relaxed
from certcore.solve.status import Status
from certcore.threat import ThreatModel
from certcore.verify.proof import certified_count, make_proof, whole_graph_attacked

RELAXATIONS = ("paper", "tight", "exact")
EXACT_TIME_LIMIT = 30.0
RELAXED_TIME_LIMIT = 600.0


def certify(
    instance: Instance,
    threat: ThreatModel,
    *,
    relaxation: str = "tight",
    time_limit: float | None = None,
    attack: bool = True,
    proof: bool = True,
    cancel: threading.Event | None = None,
    factory: ModelFactory = HighsModel,
) -> Certificate:
    """Certify how many targets keep their labels under one shared perturbed graph.

    `relaxation` is `tight` (default), `paper` or `exact`; `time_limit` is in seconds (default: 30 for exact, 600
    otherwise). Setting `cancel` stops the solve; what has been proven by then still stands.
    """
    if relaxation not in RELAXATIONS:
        raise InputError(f"the relaxation is {relaxation!r}; expected one of {', '.join(RELAXATIONS)}")
    if time_limit is not None and not (math.isfinite(time_limit) and time_limit > 0):
        raise InputError(f"the time limit is {time_limit}; expected a positive number of seconds")
    started = time.perf_counter()
    limit = time_limit or (EXACT_TIME_LIMIT if relaxation == "exact" else RELAXED_TIME_LIMIT)
    problem = Problem(instance, threat)
    if problem.whole_graph:
        return _from_totals(problem, relaxation, attack=attack, proof=proof, started=started)
    relaxed = "tight" if relaxation == "exact" else relaxation
    structure = build_structure(problem, relaxed)
    program = program_at(structure, threat.budgets, threat.sigma)
    proven = solve_relaxed(program, time_limit=limit, cancel=cancel, factory=factory)
    return finish(
        problem,
        structure,
        proven,
        relaxation,
        started,
        attack=attack,
        proof=proof,
        limit=limit,
        cancel=cancel,
    )


def finish(
    problem: Problem,
    structure: Structure,
    proven: Proven,
    relaxation: str,
    started: float,
    *,
    attack: bool,
    proof: bool,
    limit: float,
    cancel: threading.Event | None,
) -> Certificate:
    """Turn a proven bound into a certificate; for `exact`, ask the integer program for more."""
    targets = len(problem.targets)
    bound = structure.constant + proven.bound
    verified_count = certified_count(targets, bound)
    status, verified, x = proven.status, True, proven.x
    found = None
    if attack:
        found = find_attack(problem, structure, x)
    final = bound
    if relaxation == "exact":
        final, status, better = _integer_bound(problem, structure, bound, proven, limit, cancel, started)
        verified = False
        if better is not None and attack:
            again = find_attack(problem, *better)
            if found is None or again.attacked.sum() > found.attacked.sum():
                found = again
        if found is not None and final < found.attacked.sum():
            # A replayed attack breaks more than the integer solver calls possible: its word is worth nothing.
            final, status = bound, Status.FAILED
    return Certificate(
        targets=targets,
        certified=max(verified_count, certified_count(targets, final)),
        naive_certified=problem.naive_certified,
        bound=final,
        verified_certified=verified_count,
        relaxation=relaxation,
        verified=verified,
        status=status,
        seconds=time.perf_counter() - started,
        threat=problem.threat,
        target_nodes=problem.targets,
        attack=found,
        fractional=None if x is None else fractional(problem, structure, x),
        proof=make_proof(problem, structure.relaxation, bound, proven.multipliers, proven.cuts) if proof else None,
        size=program_size(problem, structure),
        facts=result_facts(problem.instance),
        solves=proven.solves,
    )


def _integer_bound(
    problem: Problem,
    structure: Structure,
    bound: Fraction,
    proven: Proven,
    limit: float,
    cancel: threading.Event | None,
    started: float,
) -> tuple[Fraction, Status, tuple[Structure, Any] | None]:
    """Ask the integer program. Its dual bound is the solver's word: never more than the verified bound allows."""
    if proven.bound == 0 or proven.status in (Status.INTERRUPTED, Status.FAILED):
        return bound, proven.status, None
    whole = build_structure(problem, "exact")
    model = HighsModel(program_at(whole, problem.threat.budgets, problem.threat.sigma), integer=True)
    left = limit - (time.perf_counter() - started)
    solution = model.solve(time_limit=max(left, 0.1), cancel=cancel, method="choose")
    status = Status(solution.outcome.value)
    if solution.outcome is Outcome.FAILED or not math.isfinite(solution.limit):
        return bound, status, None
    attacked = whole.constant + max(0, math.floor(solution.limit + 1e-6))
    start = (whole, solution.x) if solution.x is not None else None
    return min(bound, Fraction(attacked)), status, start


def _from_totals(problem: Problem, relaxation: str, *, attack: bool, proof: bool, started: float) -> Certificate:
    """Whole-graph fields: the certificate reduces to totals, which need no solver."""
    bound = Fraction(whole_graph_attacked(problem))
    count = certified_count(len(problem.targets), bound)
    relaxed = "tight" if relaxation == "exact" else relaxation
    return Certificate(
        targets=len(problem.targets),
        certified=count,
        naive_certified=problem.naive_certified,
        bound=bound,
        verified_certified=count,
        relaxation=relaxation,
        verified=relaxation != "exact",
        status=Status.OPTIMAL,
        seconds=time.perf_counter() - started,
        threat=problem.threat,
        target_nodes=problem.targets,
        attack=find_attack(problem, None, None) if attack else None,
        proof=make_proof(problem, relaxed, bound, None, Cuts.none()) if proof else None,
        facts=result_facts(problem.instance),
    )


def program_size(problem: Problem, structure: Structure) -> ProgramSize:
    """Our program's size next to the paper's formula: 13·Σ|P| + 8N + 2e + 5 rows, 5·Σ|P| + 4N + e columns."""
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
    """What every result carries: the instance, the confidence behind it, versions."""
    import highspy

    return instance.facts() | {
        "instance_digest": instance.digest,
        "meta": {k: instance.meta[k] for k in ("dataset", "model", "seed", "split", "command") if k in instance.meta},
        "versions": {"certcore": __version__, "highspy": highspy.Highs().version()},
    }
