"""Build the structure of a problem with the builder for its kind of certificate."""

from __future__ import annotations

from certcore.common.errors import InputError
from certcore.domain.perturbations import TABLE
from certcore.program.ballots import BallotsBuilder
from certcore.program.builder import Builder
from certcore.program.problem import Problem
from certcore.program.relaxation import Relaxation
from certcore.program.structure import Structure


def build_structure(problem: Problem, relaxation: str, extent: tuple[int, ...] | None = None) -> Structure:
    """Build the structure for all budgets up to `extent` (default: the threat model's own budgets)."""
    form = Relaxation(relaxation)
    if form is Relaxation.PAPER and problem.real_amounts:
        real = next(TABLE[k].plural for k in problem.in_play if not TABLE[k].whole)
        raise InputError(
            f"the relaxation is 'paper', which is about whole flips, but {real} have real amounts; expected 'tight' or "
            "'exact'"
        )
    builder = BallotsBuilder if problem.by_ballots else Builder
    return builder(problem, form, extent or problem.threat.budgets).build()
