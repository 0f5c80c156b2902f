"""How a figure was computed, precise enough to compute it again: the same numbers from one command."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np

from certcore.common.errors import InputError
from certcore.domain.local_mode import LocalMode
from certcore.domain.threat import ThreatModel
from certcore.figures.escape import clean
from certcore.instance.instance import Instance
from certcore.program.relaxation import Relaxation
from certcore.result.attack_text import read_attack
from certcore.result.certificate import Certificate
from certcore.sweep import Curve, Session, curve

if TYPE_CHECKING:
    from certcore.figures.figure import Figure

#: Every kind of figure that can be made again, and what it shows; `paper` is read from a file, the others are computed.
KINDS_OF_FIGURES = {"paper": "a figure of the paper from the stored results"}


@dataclass(frozen=True)
class Recipe:
    """What `certcore draw` and `certcore.export.make` take to make one figure again.

    `kind` is one of `KINDS_OF_FIGURES`, `instances` are the files (of a curve: its splits). `threat` is what
    `ThreatModel.to_json` returns, before anything is varied. `targets` is the selection by name; without one the
    targets are `nodes`, or each instance's own. `options` is what else the kind needs: `vary` and `values`, `x`,
    `x_values`, `y`, `y_values`, `node`, `attack` and so on, see `certcore draw --help`.
    """

    kind: str
    instances: tuple[str, ...] = ()
    threat: Mapping[str, Any] = field(default_factory=dict)
    targets: str | None = None
    nodes: tuple[int, ...] | None = None
    relaxation: str = "tight"
    base_rule: str = "binary"
    options: Mapping[str, Any] = field(default_factory=dict)

    def __post_init__(self) -> None:
        object.__setattr__(self, "instances", tuple(str(path) for path in self.instances))
        object.__setattr__(self, "nodes", None if self.nodes is None else tuple(int(node) for node in self.nodes))


def member_name(axis: str, value: int) -> str:
    """What a line of a family is called: one per number of attackers, or per local budget."""
    return f"σ = {value:,}" if axis == "sigma" else f"{value:,} per node"


class LoadedRecipe:
    """A recipe with its instances loaded."""

    def __init__(self, recipe: Recipe, instances: list[Instance]) -> None:
        self.recipe = recipe
        self.instances = instances
        self.instance = instances[0]
        self.options = dict(recipe.options)
        # A search by the clock or an integer program answers one certificate, not a whole sweep of them.
        self.rounds: int | None = self.options.get("rounds")
        self.swept = recipe.relaxation if self.rounds is not None else str(Relaxation(recipe.relaxation).relaxed)

    def need(self, name: str) -> Any:
        value = self.options.get(name)
        if value is None or value == []:
            raise InputError(f"a figure of kind {self.recipe.kind} needs --{name.replace('_', '-')}")
        return value

    def targets(self, instance: Instance) -> np.ndarray | None:
        """The chosen targets; None: the instance's own."""
        if self.recipe.targets is not None:
            return instance.select_targets(self.recipe.targets)
        return None if self.recipe.nodes is None else np.array(self.recipe.nodes, dtype=np.int64)

    def target_nodes(self) -> np.ndarray:
        chosen = self.targets(self.instance)
        return np.asarray(self.instance.targets if chosen is None else chosen)

    def threat(self, instance: Instance) -> ThreatModel:
        return ThreatModel.from_json(dict(self.recipe.threat), targets=self.targets(instance))

    def marker(self, threat: ThreatModel, name: str) -> float | None:
        """Where the threat model itself stands on an axis."""
        value: Any = getattr(threat, name)
        shares = name.startswith("local_") and threat.local_mode == LocalMode.RELATIVE
        return None if value is None or isinstance(value, np.ndarray) or shares else float(value)

    def node(self) -> int:
        node = int(self.need("node"))
        if node >= self.instance.graph.n_nodes:
            raise InputError(f"there is no node {node:,}; expected 0 to {self.instance.graph.n_nodes - 1:,}")
        return node

    def node_name(self, node: int) -> str:
        names = self.instance.node_names
        return clean(names[node], 60) if names is not None else f"node {node}"

    def class_name(self, k: int) -> str:
        known = self.instance.class_names
        return known[k] if known is not None and k < len(known) else f"class {k}"

    def certificate(self) -> Certificate:
        """With the attack of the recipe replayed; without one an attack is looked for."""
        threat = self.threat(self.instance)
        text = self.options.get("attack")
        session = Session(self.instance)  # as everywhere else: equal programs find equal solutions among several
        if text is None:
            return session.certify(threat, relaxation=self.recipe.relaxation, rounds=self.rounds)
        attack = read_attack(self.instance, threat, text)
        found = session.certify(threat, relaxation=self.swept, rounds=self.rounds, attack=False)
        return dataclasses.replace(found, attack=attack)

    def curve(self, instance: Instance, threat: ThreatModel, relaxation: str) -> Curve:
        rounds = self.rounds if relaxation == Relaxation.STRONG else None
        values = self.need("values")
        return curve(Session(instance), threat, self.need("vary"), values, relaxation=relaxation, rounds=rounds)


_Maker = Callable[[LoadedRecipe], "Figure"]
MAKERS: dict[str, tuple[_Maker, bool]] = {}


def makes(kind: str, what: str, *, several: bool = False) -> Callable[[_Maker], _Maker]:
    """Register how one kind of figure is made from one instance, or from several."""

    def register(maker: _Maker) -> _Maker:
        KINDS_OF_FIGURES[kind] = what
        MAKERS[kind] = maker, several
        return maker

    return register
