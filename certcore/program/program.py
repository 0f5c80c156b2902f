"""A structure with its numbers filled in: maximise objective · x subject to matrix · x ≤ rhs, 0 ≤ x ≤ upper."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import scipy.sparse as sp

from certcore.program.structure import Structure


@dataclass(frozen=True, eq=False)
class Program:
    """The adversary's linear program in integers, at one set of budgets."""

    structure: Structure
    matrix: sp.csr_array
    rhs: np.ndarray
    upper: np.ndarray
    objective: np.ndarray
    budgets: tuple[int, ...]
    sigma: int | None

    @property
    def constant(self) -> int:
        """Targets that count as attacked whatever happens."""
        return self.structure.constant


def program_at(structure: Structure, budgets: tuple[int, ...], sigma: int | None) -> Program:
    """Fill in budgets (up to the structure's extent) and σ; only bounds and attackers' coefficients change."""
    values = np.array(budgets, dtype=np.int64)
    if (values > np.array(structure.extent)).any():
        raise ValueError(f"budgets {budgets} exceed the extent {structure.extent} this structure was built for")
    if (sigma is None) == structure.has_sigma:
        raise ValueError("a structure is built either with σ or without it")
    rhs = structure.rhs.copy()
    rhs[structure.blocks["global"]] = values[structure.global_types]
    if structure.has_sigma:
        rhs[structure.blocks["sigma"]] = sigma

    upper = np.ones(structure.n_columns, dtype=np.int64)
    flips = slice(0, structure.n_flips)
    upper[flips] = np.minimum(structure.flip_cap, values[structure.flip_type] // structure.flip_cost)
    chosen = slice(structure.first_point, structure.first_indicator)
    upper[chosen] = reachable(structure, values, sigma)

    objective = np.zeros(structure.n_columns, dtype=np.int64)
    if structure.relaxation == "paper":
        objective[structure.first_indicator :] = structure.weight
        open_groups = np.bincount(structure.point_group[upper[chosen] > 0], minlength=structure.n_groups) > 0
        upper[structure.first_indicator :] = open_groups
    else:
        objective[chosen] = structure.weight[structure.point_group]

    matrix = structure.matrix
    if structure.relaxation != "paper" and len(structure.payer_entries):
        data = matrix.data.copy()
        data[structure.payer_entries] = -payer_coefficients(structure, values)
        matrix = sp.csr_array((data, matrix.indices, matrix.indptr), shape=matrix.shape)
    return Program(structure, matrix, rhs, upper, objective, tuple(int(v) for v in values), sigma)


def payer_coefficients(structure: Structure, budgets: np.ndarray) -> np.ndarray:
    """What one attacker can spend at most: its capacity, or all of the global budget."""
    return np.minimum(structure.payer_caps, budgets[structure.payer_types] // structure.payer_costs)


def reachable(structure: Structure, budgets: np.ndarray, sigma: int | None) -> np.ndarray:
    """Points within the budgets and, except in the paper's form, within what the field can supply."""
    possible: np.ndarray = np.all(structure.points <= budgets, axis=1)
    for k, supply in structure.supply.items():
        limit = supply.limit(sigma)
        possible &= structure.points[:, k] <= limit[structure.point_group]
    return possible
