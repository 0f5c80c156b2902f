"""The rows of the small checker written down, so that they can be solved or looked at one by one."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import certcore_check as small
import numpy as np
import scipy.sparse as sp
from scipy.optimize import linprog

Row = tuple[int, dict[int, int]]


class Recorded(small.Program):
    """A program that keeps its rows instead of weighing them."""

    def __init__(self, *arguments: Any) -> None:
        self.kept: list[Row] = []
        super().__init__(*arguments)

    def add(self, rhs: int, entries: Iterable[tuple[int, int]], y: int | None = None) -> None:
        row: dict[int, int] = {}
        for column, coefficient in entries:
            row[column] = row.get(column, 0) + coefficient
        self.kept.append((rhs, row))


def recorded(instance: small.Instance, threat: dict[str, Any], targets: list[int], relaxation: str) -> Recorded:
    """All numbered rows of a program, every cut included."""
    program = Recorded(instance, small.Threat(threat, instance), np.array(targets, dtype=np.int64), relaxation)
    program._rows()
    if relaxation != "paper" and program.sigma and program.threat.types:
        links = [j for j, flip in enumerate(program.flips) if flip[2] >= 0]
        groups = list(range(len(program.points)))
        program._cuts([0] * len(links) + [1] * len(groups), links + groups)
    return program


def optimum(program: Recorded) -> tuple[float, np.ndarray]:
    """The optimum of the program with all its rows, constant included, and the rows' dual values."""
    upper, worth, _ = np.array(program.columns, dtype=float).reshape(-1, 3).T
    if not worth.any():
        return float(program.constant), np.zeros(len(program.kept))
    owner = np.repeat(np.arange(len(program.kept)), [len(row) for _, row in program.kept])
    column = [j for _, row in program.kept for j in row]
    data = [a for _, row in program.kept for a in row.values()]
    matrix = sp.csr_array((data, (owner, column)), shape=(len(program.kept), len(upper)), dtype=float)
    rhs = [limit for limit, _ in program.kept]
    result = linprog(-worth, matrix, rhs, bounds=np.stack([0 * upper, upper], axis=1), method="highs")
    assert result.status == 0
    return program.constant - result.fun, -result.ineqlin.marginals
