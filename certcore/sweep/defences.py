"""Which nodes to protect: a greedy choice, ranked by dual values, with the verified gain of every step."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np

from certcore.common.errors import InputError
from certcore.common.reading import whole_number, whole_numbers
from certcore.domain.perturbations import ADJ_DEL
from certcore.domain.threat import ThreatModel
from certcore.domain.weights import shown_by, source_of
from certcore.instance.instance import Instance
from certcore.program.ballots import BallotsStructure
from certcore.program.problem import Problem
from certcore.program.relaxation import Relaxation
from certcore.solve.solver import BoundResult, Solver
from certcore.solve.status import Status
from certcore.sweep.session import Session, as_session, threat_for
from certcore.sweep.solve_options import SolveOptions

#: How many of the best-ranked candidates are solved in each step.
TRIES = 3


@dataclass(frozen=True)
class Step:
    """One further protected node and its effect."""

    node: int
    certified: int
    """Verified certified targets with this node and all earlier ones protected."""
    gain: int
    bound: float
    tried: int


@dataclass(frozen=True, eq=False)
class Defence:
    """Nodes to protect, in order, each with the verified count it leads to."""

    targets: int
    certified: int
    """Certified targets without further protection."""
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
        """Certified targets gained by all steps together."""
        return sum(step.gain for step in self.steps)

    def to_json(self) -> dict[str, Any]:
        """The fields of `defend --json`."""
        shown = shown_by(self.threat.weights)
        counts = ("certified", "gain", "bound")
        return {
            "targets": shown(self.targets),
            "certified": shown(self.certified),
            "bound": shown(self.bound),
            "steps": [vars(step) | {name: shown(getattr(step, name)) for name in counts} for step in self.steps],
            "gain": shown(self.gain),
            "relaxation": self.relaxation,
            "status": str(self.status),
            "seconds": self.seconds,
            **source_of(self.threat.weights),
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
    rounds: int | None = None,
    cancel: threading.Event | None = None,
    progress: Callable[[float], None] | None = None,
) -> Defence:
    """Choose up to k nodes whose protection raises the certified count most, one after the other.

    Nodes are ranked by the dual value of the relaxed adversary's flips at them. The `tries` best are solved for, and
    the one with the smallest bound is chosen. Ends early if no node helps.
    """
    options = SolveOptions.read(relaxation, time_limit, rounds)
    k = whole_number(k, "the number of nodes to protect", 1, 1000)
    tries = whole_number(tries, "the number of candidates per step", 1, 100)
    started = time.perf_counter()
    session = as_session(source)
    instance = session.instance
    threat = threat_for(instance, threat, {})
    options = options.answered(Problem(instance, threat))
    form = options.relaxation
    allowed = np.ones(instance.graph.n_nodes, dtype=bool)
    if candidates is not None:
        allowed[:] = False
        allowed[whole_numbers(candidates, "candidates", 0, instance.graph.n_nodes - 1)] = True
    scratch = Session(instance)
    first = _look(session, threat, options, cancel)
    steps: list[Step] = []
    now, bound, current = first, first.bound, threat
    status = first.status
    while len(steps) < k and _usable(status, form):
        allowed[current.protected] = False
        ranked = [node for node in _ranking(now) if allowed[node]][:tries]
        looks = _looks(scratch, current, ranked, options, cancel)
        status = looks[-1].status if looks else status
        usable = [(look, node) for look, node in zip(looks, ranked) if _usable(look.status, form)]
        best = min(usable, key=lambda one: one[0].bound, default=None)
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
        relaxation=form,
        status=status,
        seconds=time.perf_counter() - started,
    )


@dataclass(frozen=True, eq=False)
class _Candidate:
    """One solved threat model, with the relaxed adversary's flips and the dual values of the global budgets."""

    threat: ThreatModel
    targets: int
    certified: int
    bound: Fraction
    status: Status
    solver: Solver | None
    answer: BoundResult | None


def _looks(
    session: Session, threat: ThreatModel, nodes: list[int], options: SolveOptions, cancel: threading.Event | None
) -> list[_Candidate]:
    """Certified counts with each of the nodes protected as well, up to the first unusable result."""
    found: list[_Candidate] = []
    for node in nodes:
        wider = threat.replace(protected=np.append(np.asarray(threat.protected), node))
        found.append(_look(session, wider, options, cancel))
        if not _usable(found[-1].status, options.relaxation):
            break
    return found


def _usable(status: Status, relaxation: Relaxation) -> bool:
    """Whether a bound can be compared with others: solved to optimality, or searched with the same time limit."""
    return status.is_final or (status is Status.TIME_LIMIT and relaxation is Relaxation.STRONG)


def _look(
    session: Session,
    threat: ThreatModel,
    options: SolveOptions,
    cancel: threading.Event | None,
) -> _Candidate:
    problem = Problem(session.instance, threat)
    if problem.whole_graph:
        raise InputError(
            "with edge additions every field is the whole graph and no node matters more than another; "
            "set their budget to 0"
        )
    certificate = session.certify(threat, **options.arguments, attack=False, cancel=cancel)
    solver = answer = None
    if any(threat.budgets) and certificate.status is not Status.INTERRUPTED:
        solver = session.solver(threat, options.relaxation.relaxed)
        answer = solver.solve((threat.budgets, threat.sigma), time_limit=options.seconds, cancel=cancel, want_x=True)
    return _Candidate(
        threat, certificate.targets, certificate.certified, certificate.bound, certificate.status, solver, answer
    )


def _ranking(look: _Candidate) -> list[int]:
    """Nodes at which the relaxed adversary gains something, most valuable first.

    A flip is valued by the dual value of its budget. Where the budget does not bind, this is 0; the flip is then valued
    by its contribution to the attacked targets.
    """
    solver, answer = look.solver, look.answer
    if solver is None or answer is None or answer.x is None:
        return []
    if isinstance(solver.structure, BallotsStructure):
        return _ballots_ranking(solver, solver.structure, answer.x)
    if answer.duals is None:
        return []
    s, y = solver.structure, answer.duals.y.astype(np.float64)
    flips = np.maximum(answer.x[s.columns.flips], 0.0)
    worth = _at_nodes(solver, flips * y[s.global_row][s.flips.kind])
    broken = s.attacked(answer.x) * s.groups.weight
    reach = _at_nodes(solver, flips * sum((s.reach(k, broken) for k in s.types), np.zeros(len(flips))))
    if s.has_sigma:
        worth[s.attackers.nodes] += np.maximum(answer.x[s.columns.attackers], 0.0) * y[s.rows["sigma"]]
    order = np.lexsort((-reach, -np.round(worth / (s.scale * s.mean_weight), 6)))
    ranked: list[int] = order[(worth[order] > 0) | (reach[order] > 0)].tolist()
    return ranked


def _ballots_ranking(solver: Solver, s: BallotsStructure, x: np.ndarray) -> list[int]:
    """Nodes where the relaxed adversary changes something, then broken targets, where protecting an end may suffice."""
    falls = np.zeros(solver.problem.instance.graph.n_nodes)
    falls[solver.problem.targets[s.groups.representative]] = s.attacked(x)
    changed = _at_nodes(solver, np.maximum(x[s.columns.flips], 0.0))
    order = np.lexsort((-falls, -np.round(changed, 6)))
    ranked: list[int] = order[(changed[order] > 0) | (falls[order] > 0)].tolist()
    return ranked


def _at_nodes(solver: Solver, value: np.ndarray) -> np.ndarray:
    """Sums of flip values at the nodes they touch; an edge counts at both ends."""
    s, graph = solver.structure, solver.problem.instance.graph
    total = np.zeros(graph.n_nodes)
    edge = s.flips.kind == ADJ_DEL
    np.add.at(total, s.flips.site[~edge], value[~edge])
    for end in (0, 1):
        np.add.at(total, graph.edges[s.flips.site[edge]][:, end], value[edge])
    return total
