"""The bound of the strong form (tight program with level columns and strong rows) in exact integers."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from fractions import Fraction

import numpy as np
import scipy.sparse as sp

from certcore.program.cuts import Cuts, Rows
from certcore.program.levels import Levels, LevelSet, StrongProgram, Tag
from certcore.program.problem import Problem
from certcore.program.program import Program
from certcore.verify.bound import exact_bound
from certcore.verify.duals import IntegerDuals


@dataclass(frozen=True, eq=False)
class StrongDuals:
    """The proof of a strong bound at one budget point: sets, tags, and the dual values of all rows."""

    y: np.ndarray
    """One per row of the structure and then one per cut."""
    cuts: Cuts
    sets: tuple[LevelSet, ...]
    tags: tuple[Tag, ...]
    values: np.ndarray
    """One per tag, at least 1."""


def strong_bound(problem: Problem, program: Program, by: StrongDuals) -> Fraction:
    """Rebuild every row from its tag and evaluate the bound; refuses invalid tags."""
    levels = Levels(problem, program)
    for new in by.sets:
        levels.add(new)
    wide = StrongProgram(
        replace(program, cuts=by.cuts), levels.count - levels.structure.columns.count, levels.rows(by.tags)
    )
    return program.structure.constant + exact_bound(
        wide, np.concatenate([by.y, by.values]), program.structure.scale_bits
    )


def repaired(
    program: Program, y: np.ndarray, cuts: Cuts, cut_rows: Rows | None, values: np.ndarray, rows: Rows
) -> np.ndarray | None:
    """Dual values y of the tight rows after repair (see `certcore.verify.duals`); None if they are too large."""
    structure = program.structure
    width = structure.columns.count
    own = Rows(sp.csr_array(rows.matrix[:, :width]), rows.rhs)
    if cut_rows is not None and len(cuts):
        own = Rows(
            sp.csr_array(sp.vstack([cut_rows.matrix, own.matrix], format="csr")),
            np.concatenate([cut_rows.rhs, own.rhs]),
        )
    found = IntegerDuals.of(structure, np.concatenate([y, values]), cuts, own)
    return None if found is None else found.repaired(program)[: len(y)]


def used_only(
    y: np.ndarray, cuts: Cuts, sets: Sequence[LevelSet], tags: Sequence[Tag], values: np.ndarray
) -> StrongDuals:
    """Keep only tags with a nonzero dual value and their sets, renumbered, as stored in a proof."""
    kept = [i for i in range(len(tags)) if values[i] > 0]
    named = sorted({number for i in kept for number in _sets_of(tags[i])})
    new = {old: place for place, old in enumerate(named)}
    return StrongDuals(
        y,
        cuts,
        tuple(sets[old] for old in named),
        tuple(_renumbered(tags[i], new) for i in kept),
        values[kept],
    )


def _sets_of(tag: Tag) -> list[int]:
    match tag[0]:
        case "cover" | "paid":
            return []
        case "shift":
            return [number for number, _ in tag[3]]
    return [tag[1]]


def _renumbered(tag: Tag, new: dict[int, int]) -> Tag:
    match tag[0]:
        case "cover" | "paid":
            return tag
        case "shift":
            pairs = [[new[number], amount] for number, amount in tag[3]]
            return (*tag[:3], pairs, *tag[4:])
    return (tag[0], new[tag[1]], *tag[2:])
