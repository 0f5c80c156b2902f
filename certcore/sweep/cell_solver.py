"""Solving single cells of a sweep, with one program for all cells that share it."""

from __future__ import annotations

import threading
from fractions import Fraction
from functools import cached_property

from certcore.domain.perturbations import TABLE, TYPES
from certcore.domain.threat import ThreatModel
from certcore.instance.instance import Instance
from certcore.program.problem import Problem, whole_graph
from certcore.solve.solver import BoundResult, Solver
from certcore.solve.status import Status
from certcore.sweep.grid import Grid, SweepSpec
from certcore.sweep.session import Cancelled, Session
from certcore.verify.proof import whole_graph_attacked

Cell = tuple[int, ...]
Solved = tuple[Fraction, Status, int]
"""Bound, status and number of solves."""


class CellSolver:
    """Solves cells of a sweep, with one program for all cells that share it."""

    def __init__(self, session: Session, spec: SweepSpec) -> None:
        self.session, self.spec = session, spec
        self._solver: Solver | None = None

    def solver(self, cancel: threading.Event | None) -> Solver:
        """The one program for all cells whose fields are not the whole graph."""
        if self._solver is None:
            last = self.spec.largest
            if whole_graph(self.session.instance, last):
                last = last.replace(**{entry.name: 0 for entry in TABLE if entry.adds_edges})
            types = [k for k in range(len(TYPES)) if last.budgets[k] > 0]
            self._solver = self.session.solver(last, self.spec.options.relaxation, types, cancel)
        return self._solver

    def on_program(self, threat: ThreatModel) -> bool:
        """Whether the shared program is valid for this threat model."""
        instance = self.session.instance
        if self.spec.options.relaxation.is_timed or any(axis.is_local for axis in self.spec.axes):
            return False
        return not whole_graph(instance, threat)

    def answer(self, threat: ThreatModel, cancel: threading.Event | None, want_x: bool = False) -> BoundResult | None:
        """The bound from the shared program; None if cancelled before it was built."""
        try:
            solver = self.solver(cancel)
        except Cancelled:
            return None
        place = (threat.budgets, threat.sigma)
        return solver.solve(place, time_limit=self.spec.options.seconds, cancel=cancel, want_x=want_x)

    def solve(self, cell: Cell, cancel: threading.Event | None) -> Solved | None:
        """Proven bound, status and number of solves of one cell; None if cancelled first."""
        instance, options, threat = self.session.instance, self.spec.options, self.spec.threat_at(cell)
        if whole_graph(instance, threat):
            return Fraction(whole_graph_attacked(Problem(instance, threat, self._largest))), Status.OPTIMAL, 0
        if not self.on_program(threat):
            certificate = self.session.certify(threat, **options.arguments, attack=False, cancel=cancel)
            return certificate.bound, certificate.status, certificate.solves
        answer = self.answer(threat, cancel)
        return None if answer is None else (answer.bound, answer.status, answer.solves)

    @cached_property
    def _largest(self) -> Problem | None:
        local = any(axis.is_local for axis in self.spec.axes)
        return None if local else Problem(self.session.instance, self.spec.largest)


_worker: tuple[str, Session] | None = None


def worker_cells(instance: Instance, spec: SweepSpec) -> CellSolver:
    """The solver of cells in a worker, which keeps its session for the next request about the same instance."""
    global _worker
    if _worker is None or _worker[0] != instance.digest:
        _worker = (instance.digest, Session(instance))
    return CellSolver(_worker[1], spec)


def enter(grid: Grid, cell: Cell, solved: Solved | None) -> None:
    """Enter the result of a solved cell into the grid."""
    if solved is None:
        grid.status = Status.INTERRUPTED
        return
    bound, status, solves = solved
    # A strong search or integer program that used its time limit is not repeated.
    enough = status is Status.TIME_LIMIT and grid.spec.options.relaxation.is_timed
    grid.enter(cell, bound, status.is_final or enough)
    grid.count(status, solves)
