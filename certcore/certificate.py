"""What a certification returns."""

from __future__ import annotations

from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any

import numpy as np

from certcore.allocation import Allocation
from certcore.fronts import Fronts
from certcore.perturbations import TYPES
from certcore.solve.status import Status
from certcore.threat import ThreatModel

#: States of a target in `Certificate.nodes`.
ROBUST, UNDECIDED, ATTACKED, NOT_A_TARGET = (
    "robust by itself",
    "within the collective count",
    "attacked",
    "no target",
)


def rounded_down(part: int, whole: int, digits: int = 1) -> str:
    """A share in per cent that is never rounded up: 1,999 of 2,000 are no guarantee for all."""
    scale = 10**digits
    share = 100 * scale * part // max(whole, 1)
    return f"{share // scale}.{share % scale:0{digits}d}%"


@dataclass(frozen=True)
class ProgramSize:
    """Rows, columns and entries of the program solved, and what the paper's formula gives for the same task."""

    rows: int
    columns: int
    entries: int
    paper_rows: int
    paper_columns: int


@dataclass(frozen=True, eq=False)
class Certificate:
    """A collective certificate: at least `certified` of the `targets` labels stay, whatever the attacker does.

    The count is a statement about all targets together. It does not say *which* labels stay: apart from nodes that
    are robust by themselves, a target that no found attack breaks may still be broken by another one.
    """

    targets: int
    certified: int
    naive_certified: int
    bound: Fraction
    """Proven upper limit on how many targets can be attacked (`exact`: see `verified`)."""
    verified_certified: int
    """The count proven in exact integers; equals `certified` unless the relaxation is `exact`."""
    relaxation: str
    verified: bool
    status: Status
    seconds: float
    threat: ThreatModel
    target_nodes: np.ndarray = field(repr=False)
    attack: Allocation | None = field(default=None, repr=False)
    fractional: Allocation | None = field(default=None, repr=False)
    proof: dict[str, Any] | None = field(default=None, repr=False)
    size: ProgramSize | None = None
    facts: dict[str, Any] = field(default_factory=dict, repr=False)
    solves: int = 0

    @property
    def ratio(self) -> float:
        """Certified ratio; 0 if there are no targets."""
        return self.certified / self.targets if self.targets else 0.0

    @property
    def attack_found(self) -> int | None:
        """Targets broken by the best replayed integer attack, if one was looked for."""
        return None if self.attack is None else int(self.attack.attacked.sum())

    def to_json(self) -> dict[str, Any]:
        """The fields of `certify --json`."""
        return {
            "targets": self.targets,
            "certified": self.certified,
            "ratio": self.ratio,
            "naive_certified": self.naive_certified,
            "bound": float(self.bound),
            "attack_found": self.attack_found,
            "relaxation": self.relaxation,
            "verified": self.verified,
            "verified_certified": self.verified_certified,
            "status": str(self.status),
            "seconds": self.seconds,
            "threat": self.threat.to_json(),
            "facts": self.facts,
        }

    def nodes(self, fronts: Fronts, edges: np.ndarray, *, integer: bool = True) -> dict[str, np.ndarray]:
        """Per node: state, perturbation inside its field by type, budget spent at it by type, attacker share.

        `integer=True` describes the replayed attack, `False` the relaxed adversary (which is no attack). The state
        "within the collective count" is not a claim about that node.
        """
        allocation = self.attack if integer else self.fractional
        n = fronts.n_nodes
        state = np.full(n, NOT_A_TARGET, dtype=object)
        state[self.target_nodes] = UNDECIDED
        robust = fronts.certified(self.threat.budgets)[self.target_nodes]
        state[self.target_nodes[robust]] = ROBUST
        result: dict[str, np.ndarray] = {"node": np.arange(n)}
        inside = np.zeros((n, 4))
        spent = np.zeros((4, n))
        share, attackers = np.zeros(n), np.zeros(n)
        if allocation is not None:
            inside[self.target_nodes] = allocation.inside
            spent = allocation.spent_at(edges)
            share[self.target_nodes] = allocation.attacked
            attackers = allocation.attackers
            state[self.target_nodes[allocation.attacked >= 1 - 1e-9]] = ATTACKED
        result["state"] = state
        result["attacked"] = share
        result["attacker"] = attackers
        for k, name in enumerate(TYPES):
            result[f"inside_{name}"] = inside[:, k]
            result[f"spent_{name}"] = spent[k]
        return result
