"""Solving single cells of a sweep, from one program as far as that holds."""

from __future__ import annotations

import threading
from fractions import Fraction
from functools import cached_property

from certcore.domain.perturbations import TABLE, TYPES
from certcore.domain.threat import ThreatModel
from certcore.program.problem import Problem, by_division, whole_graph
from certcore.solve.solver import BoundResult, Solver
from certcore.solve.status import Status
from certcore.sweep.grid import Grid, SweepSpec
from certcore.sweep.session import Cancelled, Session
from certcore.verify.proof import whole_graph_attacked

Cell = tuple[int, ...]
Solved = tuple[Fraction, Status, int]
"""Bound, status and number of solves."""


class CellSolver:
    """Solves cells of a sweep, from one program as far as that holds."""

    def __init__(self, session: Session, spec: SweepSpec) -> None:
        self.session, self.spec = session, spec
        self._solver: Solver | None = None

    def solver(self, cancel: threading.Event | None) -> Solver:
        """One program for all cells whose fields are not the whole graph."""
        if self._solver is None:
            last = self.spec.largest
            no_new = {entry.name: 0 for entry in TABLE if entry.adds_edges}
            local = last if by_division(self.session.instance, last) else last.replace(**no_new)
            types = [k for k in range(len(TYPES)) if local.budgets[k] > 0]
            self._solver = self.session.solver(local, self.spec.options.relaxation, types, cancel)
        return self._solver

    def on_program(self, threat: ThreatModel) -> bool:
        """Whether the one program answers for this attacker."""
        instance = self.session.instance
        if self.spec.options.relaxation.is_timed or any(axis.is_local for axis in self.spec.axes):
            return False
        # Cells without attribute flips have a program of their own against division voting.
        alone = by_division(instance, threat) and not by_division(instance, self.spec.largest)
        return not alone and not whole_graph(instance, threat)

    def answer(self, threat: ThreatModel, cancel: threading.Event | None, want_x: bool = False) -> BoundResult | None:
        """What the one program answers; None if cancelled before it was built."""
        try:
            solver = self.solver(cancel)
        except Cancelled:
            return None
        place = (threat.budgets, threat.sigma)
        return solver.solve(place, time_limit=self.spec.options.seconds, cancel=cancel, want_x=want_x)

    def solve(self, cell: Cell, cancel: threading.Event | None) -> Solved | None:
        """Proven bound, status and number of solves of one cell; None if cancelled before."""
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


def enter(grid: Grid, cell: Cell, solved: Solved | None) -> None:
    """Take over what a cell was solved to."""
    if solved is None:
        grid.status = Status.INTERRUPTED
        return
    bound, status, solves = solved
    # More than its time is not spent on a search or an integer program again.
    enough = status is Status.TIME_LIMIT and grid.spec.options.relaxation.is_timed
    grid.enter(cell, bound, status.is_final or enough)
    grid.count(status, solves)
