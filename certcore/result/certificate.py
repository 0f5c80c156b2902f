"""The result of a certification."""

from __future__ import annotations

from dataclasses import dataclass, field
from fractions import Fraction
from functools import cached_property
from typing import Any

import numpy as np

from certcore.common.display import GraphDisplay
from certcore.domain.fronts import Fronts
from certcore.domain.perturbations import TYPES
from certcore.domain.threat import ThreatModel
from certcore.domain.weights import shown_by, source_of
from certcore.instance.instance import Instance
from certcore.result.allocation import Allocation
from certcore.result.states import NOTHING, TargetState, target_states
from certcore.result.tripwire import KnownAttack, check, contradiction, remember
from certcore.solve.status import Status
from certcore.verify.proof import require_accepted


@dataclass(frozen=True)
class ProgramSize:
    """Rows, columns and entries of the solved program, and the size by the paper's formula."""

    rows: int
    columns: int
    entries: int
    paper_rows: int
    paper_columns: int


@dataclass(frozen=True, eq=False, repr=False)
class Certificate(GraphDisplay):
    """A collective certificate: at least `certified` of the `targets` labels stay, whatever the attacker does.

    The count is a statement about all targets together. It does not say *which* labels stay: a target that no found
    attack breaks may still be broken by another attack, unless it is certified on its own. With weights all counts are
    sums of the targets' weights, over the common denominator of decimals.
    """

    targets: int
    certified: int
    naive_certified: int
    bound: Fraction
    """Upper bound on the number of uncertified targets, proven in exact integers like `certified`."""
    relaxation: str
    status: Status
    seconds: float
    threat: ThreatModel
    target_nodes: np.ndarray = field(repr=False)
    attack: Allocation | None = field(default=None, repr=False)
    fractional: Allocation | None = field(default=None, repr=False)
    unchecked_proof: dict[str, Any] | None = field(default=None, repr=False)
    """The proof as it was made; `proof` verifies it first."""
    size: ProgramSize | None = None
    facts: dict[str, Any] = field(default_factory=dict, repr=False)
    solves: int = 0
    rounds: int | None = None
    """Rounds of a strong search; the same number of rounds without a time limit gives the same result."""
    integer_claim: int | None = None
    """How many labels stay if the solver of the integer program is right: not proven, and part of no other number.

    None unless it was asked for (`relaxation="exact"`), and where a replayed attack shows that the solver is wrong.
    """
    instance: Instance | None = field(default=None, repr=False)
    """The certified instance."""

    def __post_init__(self) -> None:
        found = self.attack_found
        if self.instance is not None and found is not None and self.certified > self.targets - found:
            remember(self.instance, self.threat, found)  # later counts are checked against it
            own = KnownAttack(self.threat, found)
            raise contradiction(self.instance, self.threat, self.targets, self.certified, own)
        check(self)

    def refuted_by(self, instance: Instance, attack: KnownAttack) -> tuple[ThreatModel, int] | None:
        """The refuted count and its threat model, if the attack is within it and leaves fewer targets."""
        over = self.certified > self.targets - attack.attacked
        return (self.threat, self.certified) if over and attack.within(instance, self.threat) else None

    @cached_property
    def proof(self) -> dict[str, Any] | None:
        """The content of a proof file, which this program's own verifier has accepted; None if none was asked for."""
        if self.unchecked_proof is not None and self.instance is not None:
            require_accepted(self.unchecked_proof, self.instance)
        return self.unchecked_proof

    @property
    def closed(self) -> bool:
        """Whether a replayed attack breaks as many targets as the proven bound allows."""
        found = self.attack_found
        return found is not None and self.targets - self.certified <= found

    def __repr__(self) -> str:
        budgets = [f"{kind}={self.threat.shown(k)}" for k, kind in enumerate(TYPES) if self.threat.budgets[k]]
        if self.threat.inject and self.threat.inject_edges is not None:
            budgets.append(f"inject_edges={self.threat.inject_edges}")
        shown = shown_by(self.threat.weights)
        unit = " (weight)" if self.threat.weights is not None else ""
        text = f"{shown(self.certified)} of {shown(self.targets)} certified{unit}"
        return f"<Certificate {', '.join(budgets) or 'no attack'}: {text}; {self.relaxation}, {self.status}>"

    @property
    def ratio(self) -> float:
        """Certified ratio; 0 if there are no targets."""
        return self.certified / self.targets if self.targets else 0.0

    @property
    def weight(self) -> Fraction:
        """The weight of all targets as it was given; their number without weights."""
        return self._given(self.targets)

    @property
    def kept(self) -> Fraction:
        """The weight that stays, whatever the attacker does."""
        return self._given(self.certified)

    @property
    def worst_loss(self) -> Fraction:
        """The most weight that can be lost: `weight` − `kept`."""
        return self.weight - self.kept

    def _given(self, amount: int) -> Fraction:
        weights = self.threat.weights
        return Fraction(amount) if weights is None else weights.exact(amount)

    @property
    def attack_found(self) -> int | None:
        """Targets broken by the best replayed integer attack; None if no attack was searched for."""
        return None if self.attack is None else self.attack.loss

    def to_json(self) -> dict[str, Any]:
        """The fields of `certify --json`; with weights, counts are sums of them."""
        counts = {
            "targets": self.targets,
            "certified": self.certified,
            "naive_certified": self.naive_certified,
            "bound": float(self.bound),
            "attack_found": self.attack_found,
            "integer_claim": self.integer_claim,
        }
        return {
            **{name: shown_by(self.threat.weights)(value) for name, value in counts.items()},
            "ratio": self.ratio,
            "relaxation": self.relaxation,
            "status": str(self.status),
            "closed": self.closed,
            "rounds": self.rounds,
            "seconds": self.seconds,
            "threat": self.threat.to_json(),
            "facts": self.facts,
            **source_of(self.threat.weights),
        }

    def states(self, fronts: Fronts, *, integer: bool = True) -> np.ndarray:
        """The `TargetState` of every node in the replayed attack (or in the relaxed adversary, which is no attack)."""
        allocation = self.attack if integer else self.fractional
        state = np.full(fronts.n_nodes, TargetState.NOT_A_TARGET, dtype=object)
        state[self.target_nodes] = target_states(
            fronts.certified(self.threat.budgets)[self.target_nodes],
            ~fronts.clean[self.target_nodes],
            None if allocation is None else np.asarray(allocation.attacked, dtype=float),
        )
        return state

    def node_columns(self, fronts: Fronts, edges: np.ndarray, *, integer: bool = True) -> dict[str, np.ndarray]:
        """Per node: state, whether it is hit, flips spent at it by type, flips inside its field, attacker share.

        `integer=True` describes the replayed attack, `False` the relaxed adversary (which is no attack). `lost` is the
        broken fraction of a target (0 if it was uncertified before). `inside` is the perturbation inside its field.
        Both are None for nodes that are not targets.
        """
        allocation = self.attack if integer else self.fractional
        n = fronts.n_nodes
        whole = int if integer else float
        inside = np.full((n, len(TYPES)), None, dtype=object)
        lost = np.full(n, None, dtype=object)
        state = self.states(fronts, integer=integer)
        spent, attackers = np.zeros((len(TYPES), n), dtype=whole), np.zeros(n, dtype=whole)
        if allocation is not None:
            inside[self.target_nodes] = allocation.inside.astype(whole)
            lost[self.target_nodes] = allocation.attacked.astype(whole)
            lost[state == TargetState.BEFORE] = whole(0)
            spent = allocation.spent_at(edges).astype(whole)
            attackers = allocation.attackers.astype(whole)
        result: dict[str, np.ndarray] = {
            "node": np.arange(n),
            "state": np.array([str(word) for word in state], dtype=object),
            "hit": spent.sum(axis=0) > NOTHING,
            "lost": lost,
            "attacker": attackers,
        }
        for k, name in enumerate(TYPES):
            result[f"spent_{name}"] = spent[k]
        for k, name in enumerate(TYPES):
            result[f"inside_{name}"] = inside[:, k]
        return result
