"""From a problem to its structure."""

from __future__ import annotations

from certcore.program.build import Builder
from certcore.program.division import DivisionBuilder
from certcore.program.problem import Problem
from certcore.program.relaxation import Relaxation
from certcore.program.structure import Structure


def build_structure(problem: Problem, relaxation: str, extent: tuple[int, ...] | None = None) -> Structure:
    """Build the program's structure for all budgets up to `extent` (default: the threat model's own)."""
    builder = DivisionBuilder if problem.by_division else Builder
    return builder(problem, Relaxation(relaxation), extent or problem.threat.budgets).build()
