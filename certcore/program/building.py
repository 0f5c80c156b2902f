"""From a problem to its structure."""

from __future__ import annotations

from certcore.common.errors import InputError
from certcore.domain.perturbations import TABLE
from certcore.program.build import Builder
from certcore.program.division import DivisionBuilder
from certcore.program.problem import Problem
from certcore.program.relaxation import Relaxation
from certcore.program.structure import Structure


def build_structure(problem: Problem, relaxation: str, extent: tuple[int, ...] | None = None) -> Structure:
    """Build the program's structure for all budgets up to `extent` (default: the threat model's own)."""
    form = Relaxation(relaxation)
    if form is Relaxation.PAPER and problem.real_amounts:
        real = next(TABLE[k].plural for k in problem.in_play if not TABLE[k].whole)
        raise InputError(
            f"the relaxation is 'paper', which is about whole flips, but {real} have real amounts; expected 'tight' or "
            "'exact'"
        )
    builder = DivisionBuilder if problem.by_division else Builder
    return builder(problem, form, extent or problem.threat.budgets).build()
