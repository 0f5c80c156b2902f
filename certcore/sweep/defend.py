"""Which nodes to protect: greedy, candidates ranked by the multipliers, every step with its verified gain."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from certcore.assemble import RELAXED_TIME_LIMIT
from certcore.errors import InputError
from certcore.instance import Instance
from certcore.perturbations import ADJ_DEL
from certcore.program.problem import Problem
from certcore.solve.status import Status
from certcore.sweep.session import Session, as_session, check_options
from certcore.sweep.solver import Answer, Place, Solver
from certcore.threat import ThreatModel
from certcore.verify.bound import SCALE

#: How many of the best ranked candidates are tried in each step.
TRIES = 3


@dataclass(frozen=True)
class Step:
    """One more protected node, and what it brings."""

    node: int
    certified: int
    """Certified targets with this node and all earlier ones protected; verified."""
    gain: int
    bound: float
    tried: int


@dataclass(frozen=True, eq=False)
class Defence:
    """Nodes to protect, in this order, each with the verified count it leads to."""

    targets: int
    certified: int
    """Without further protection."""
    bound: float
    steps: tuple[Step, ...]
    threat: ThreatModel
    """The threat model with all chosen nodes protected."""
    relaxation: str
    status: Status
    seconds: float

    @property
    def nodes(self) -> list[int]:
        return [step.node for step in self.steps]

    @property
    def gain(self) -> int:
        """Certified targets won by all steps together."""
        return sum(step.gain for step in self.steps)

    def to_json(self) -> dict[str, Any]:
        """The fields of `defend --json`."""
        return {
            "targets": self.targets,
            "certified": self.certified,
            "bound": self.bound,
            "steps": [vars(step) for step in self.steps],
            "gain": self.gain,
            "relaxation": self.relaxation,
            "verified": True,
            "status": str(self.status),
            "seconds": self.seconds,
        }


def defend(
    source: Instance | Session,
    threat: ThreatModel,
    k: int,
    *,
    candidates: Sequence[int] | np.ndarray | None = None,
    tries: int = TRIES,
    relaxation: str = "tight",
    time_limit: float | None = None,
    cancel: threading.Event | None = None,
    progress: Callable[[float], None] | None = None,
) -> Defence:
    """Choose up to k nodes whose protection raises the certified count most, one after the other.

    A node's rank is what the relaxed adversary gains through it at the prices of the multipliers. The `tries` best
    are solved for, and the one that leaves the adversary least is taken. Ends early when no node helps any more.
    """
    check_options(relaxation, time_limit)
    if relaxation == "exact":
        raise InputError("defend works with the relaxations tight and paper; every step is then verified")
    if not 1 <= k <= 1000:
        raise InputError(f"{k} nodes to protect; expected 1 to 1,000")
    if not 1 <= tries <= 100:
        raise InputError(f"{tries} candidates per step; expected 1 to 100")
    started = time.perf_counter()
    session = as_session(source)
    instance = session.instance
    limit = time_limit or RELAXED_TIME_LIMIT
    allowed = np.ones(instance.graph.n_nodes, dtype=bool)
    if candidates is not None:
        threat.replace(protected=candidates).check(instance.graph)
        allowed[:] = False
        allowed[np.asarray(candidates, dtype=np.int64)] = True
    scratch = Session(instance, max_solvers=2)
    first = _look(session, threat, relaxation, limit, cancel)
    steps: list[Step] = []
    now, bound, current = first, first.bound, threat
    status = first.status
    while len(steps) < k and status in (Status.OPTIMAL, Status.RECOMPUTED):
        allowed[current.protected] = False
        ranked = [node for node in _ranking(now) if allowed[node]][:tries]
        best: tuple[_Look, int] | None = None
        for node in ranked:
            wider = current.replace(protected=np.append(np.asarray(current.protected), node))
            look = _look(scratch, wider, relaxation, limit, cancel)
            status = look.status
            if status not in (Status.OPTIMAL, Status.RECOMPUTED):
                break
            if best is None or look.bound < best[0].bound:
                best = look, node
        if best is None or best[0].bound >= bound:
            break
        look, node = best
        steps.append(Step(node, look.certified, look.certified - now.certified, float(look.bound), len(ranked)))
        now, bound, current = look, look.bound, look.threat
        if progress is not None:
            progress(len(steps) / k)
    return Defence(
        targets=first.targets,
        certified=first.certified,
        bound=float(first.bound),
        steps=tuple(steps),
        threat=current,
        relaxation=relaxation,
        status=status,
        seconds=time.perf_counter() - started,
    )


@dataclass(frozen=True, eq=False)
class _Look:
    """One solved threat model, with the relaxed adversary's flips and the prices of the global budgets."""

    threat: ThreatModel
    targets: int
    certified: int
    bound: Any
    status: Status
    solver: Solver | None
    answer: Answer | None


def _look(
    session: Session, threat: ThreatModel, relaxation: str, limit: float, cancel: threading.Event | None
) -> _Look:
    problem = Problem(session.instance, threat)
    if problem.whole_graph:
        raise InputError(
            "with edge additions every field is the whole graph and no node matters more than another; "
            "set their budget to 0"
        )
    certificate = session.certify(threat, relaxation=relaxation, time_limit=limit, attack=False, cancel=cancel)
    solver = answer = None
    if any(threat.budgets) and certificate.status is not Status.INTERRUPTED:
        solver = session.solver(threat, relaxation)
        place: Place = (threat.budgets, threat.sigma)
        answer = solver.solve(place, time_limit=limit, cancel=cancel, want_x=True)
    return _Look(
        threat, certificate.targets, certificate.certified, certificate.bound, certificate.status, solver, answer
    )


def _ranking(look: _Look) -> list[int]:
    """Nodes through which the relaxed adversary gains something, the most valuable first.

    What a flip is worth is the price of its budget. Where the budget is more than the adversary needs, it has no
    price: then it counts how much of the attacked targets the flip contributes to.
    """
    solver, answer = look.solver, look.answer
    if solver is None or answer is None or answer.x is None or answer.known is None:
        return []
    s = solver.structure
    flips = np.maximum(answer.x[: s.n_flips], 0.0)
    prices = answer.known.y[solver.evaluator.global_rows].astype(np.float64)
    worth = _at_nodes(solver, flips * prices[s.flip_type] * s.flip_cost)
    reach = _at_nodes(solver, flips * _reach(solver, answer.x))
    if s.has_sigma:
        price = float(answer.known.y[solver.evaluator.sigma_row])
        worth[s.attackers] += np.maximum(answer.x[s.first_attacker : s.first_point], 0.0) * price
    order = np.lexsort((-reach, -np.round(worth / SCALE, 6)))
    ranked: list[int] = order[(worth[order] > 0) | (reach[order] > 0)].tolist()
    return ranked


def _at_nodes(solver: Solver, value: np.ndarray) -> np.ndarray:
    """Values of flips, summed at the nodes they touch; an edge counts at both its ends."""
    s, graph = solver.structure, solver.problem.instance.graph
    total = np.zeros(graph.n_nodes)
    edge = s.flip_type == ADJ_DEL
    np.add.at(total, s.flip_site[~edge], value[~edge])
    for end in (0, 1):
        np.add.at(total, graph.edges[s.flip_site[edge]][:, end], value[edge])
    return total


def _reach(solver: Solver, x: np.ndarray) -> np.ndarray:
    """For each flip the attacked targets in whose fields it lies."""
    s = solver.structure
    if s.relaxation == "paper":
        attacked = x[s.first_indicator :] * s.weight
    else:
        picked = x[s.first_point : s.first_indicator]
        attacked = np.bincount(s.point_group, weights=picked, minlength=s.n_groups) * s.weight
    total = np.zeros(s.n_flips)
    for k in s.types:
        rows = s.blocks[f"field{k}"]
        owner = s.point_group[s.points[:, k] > 0] if s.relaxation == "paper" else np.arange(s.n_groups)
        # Flips stand in the field rows with −1.
        total -= s.matrix[rows][:, : s.n_flips].T @ attacked[owner]
    return total
