"""What a certification returns."""

from __future__ import annotations

from dataclasses import dataclass, field
from fractions import Fraction
from typing import TYPE_CHECKING, Any

import numpy as np

from certcore.common.shown import Shown, ask
from certcore.domain.fronts import Fronts
from certcore.domain.perturbations import TYPES
from certcore.domain.threat import ThreatModel
from certcore.instance.instance import Instance
from certcore.result.allocation import Allocation
from certcore.result.states import NOTHING, TargetState, target_states
from certcore.result.tripwire import KnownAttack, check, contradiction, remember
from certcore.solve.status import Status

if TYPE_CHECKING:
    import pandas as pd


@dataclass(frozen=True)
class ProgramSize:
    """Rows, columns and entries of the program solved, and what the paper's formula gives for the same task."""

    rows: int
    columns: int
    entries: int
    paper_rows: int
    paper_columns: int


@dataclass(frozen=True, eq=False, repr=False)
class Certificate(Shown):
    """A collective certificate: at least `verified_certified` of the `targets` labels stay, whatever the attacker does.

    `certified` is the same number unless the relaxation is `exact`; then it may be larger, on the solver's word. The
    count is a statement about all targets together. It does not say *which* labels stay: apart from targets that are
    certified on their own, one that no found attack breaks may still be broken by another one.
    """

    targets: int
    certified: int
    naive_certified: int
    bound: Fraction
    """Upper limit on how many targets can be left uncertified: proven if `verified`, else the solver's word."""
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
    rounds: int | None = None
    """Rounds of a strong search: with as many, and no clock, it gives the same numbers again."""
    instance: Instance | None = field(default=None, repr=False)
    """What was certified."""

    def __post_init__(self) -> None:
        found = self.attack_found
        if self.instance is not None and found is not None and self.certified > self.targets - found:
            remember(self.instance, self.threat, found)  # other counts meet it as well
            own = KnownAttack(self.threat, found)
            raise contradiction(self.instance, self.threat, self.targets, self.certified, own)
        check(self)

    def refuted_by(self, instance: Instance, attack: KnownAttack) -> tuple[ThreatModel, int] | None:
        """The count, if an attack leaves fewer targets that this attacker can make."""
        over = self.certified > self.targets - attack.attacked
        return (self.threat, self.certified) if over and attack.within(instance, self.threat) else None

    @property
    def closed(self) -> bool:
        """Whether a replayed attack breaks as many targets as are proven to be breakable at most."""
        found = self.attack_found
        return found is not None and self.targets - self.verified_certified <= found

    def __repr__(self) -> str:
        budgets = [f"{kind}={budget}" for kind, budget in zip(TYPES, self.threat.budgets) if budget]
        told = f"{self.verified_certified} of {self.targets} certified" + (
            f", {self.certified} on the solver's word" if self.unproven else ""
        )
        return f"<Certificate {', '.join(budgets) or 'no attack'}: {told}; {self.relaxation}, {self.status}>"

    @property
    def nodes(self) -> pd.DataFrame:
        """One row per node in the best attack found: state, hit, loses its certificate, received, needed, spent."""
        return ask("tables", "nodes_frame", self)

    def graph(self) -> Any:
        """The attacked graph for networkx, with the columns of `nodes` as attributes; `networkx.write_graphml` and
        `write_gexf` write it for other viewers."""
        return ask("networks", "attacked_graph", self)

    @property
    def ratio(self) -> float:
        """Certified ratio; 0 if there are no targets."""
        return self.certified / self.targets if self.targets else 0.0

    @property
    def unproven(self) -> int:
        """How many labels more than the verified ones rest on the solver's word."""
        return max(0, self.certified - self.verified_certified)

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
            "closed": self.closed,
            "rounds": self.rounds,
            "seconds": self.seconds,
            "threat": self.threat.to_json(),
            "facts": self.facts,
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

        `integer=True` describes the replayed attack, `False` the relaxed adversary (which is no attack). `lost` is how
        far a target is broken by it (0 for those that were uncertified before) and `inside` what its field received:
        both are None for nodes that are no targets, whose fields nobody looked at.
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
