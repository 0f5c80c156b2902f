"""One question as it was read from parameters: instance, threat model, targets, relaxation and effort.

The names of the parameters are those of links (`domain/parameters.py`); an unknown name is refused, never ignored.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np

from certcore.base.ballots import BallotsBase
from certcore.common.errors import InputError, did_you_mean
from certcore.common.numbers import parse_nodes
from certcore.domain.local_mode import LocalMode
from certcore.domain.parameters import FIGURE, FORMER, SHARED, Parameter, flag, short_text, whole
from certcore.domain.perturbations import TABLE, TYPES
from certcore.domain.threat import ThreatModel
from certcore.instance.instance import Instance
from certcore.instance.local_limits import within_base
from certcore.model_attack.stored import ModelAttack
from certcore.program.relaxation import Relaxation
from certcore.sweep.family import Question

_FIGURE = {one.name: one for one in FIGURE}
_VARY, _TO = _FIGURE["vary"], _FIGURE["to"]
_ATTACKS = Parameter("attacks", flag, False, "search for attacks along the axis as well")
#: What each kind of question knows besides the parameters of the view.
OPTIONS: dict[str, tuple[Parameter, ...]] = {
    "certificate": (
        Parameter("attack", flag, False, "search for a certificate attack"),
        Parameter("picture", flag, False, "send the attacks as data for drawing"),
        Parameter("lp", flag, False, "send the relaxed adversary of the linear program; it is not an attack"),
        Parameter("model", flag, False, "send the model attack that is stored or found"),
    ),
    "curve": (_VARY, _TO, _ATTACKS),
    "map": tuple(_FIGURE[name] for name in ("x", "x_to", "y", "y_to")),
    "frames": (_VARY, Parameter("from", whole(), 0, "the first budget"), _TO),
    "defend": (Parameter("number", whole(1, 20), 3, "how many nodes are suggested"),),
    "proof": (),
    "words": (),
    "description": (),
}
_NAME = Parameter("instance", short_text, "", "the name of the instance, as in the path")


@dataclass(frozen=True, eq=False)
class View:
    """What is asked about, and how to solve it."""

    name: str
    instance: Instance
    threat: ThreatModel
    relaxation: Relaxation = Relaxation.TIGHT
    counted: np.ndarray | None = None
    """All labels asked about where only the right ones are targets; None where they are the same."""
    strengthen: bool = False
    time_limit: float = 30.0
    attacks: tuple[ModelAttack, ...] = ()
    """Stored model attacks."""
    options: Mapping[str, Any] = field(default_factory=dict)

    @property
    def targets(self) -> np.ndarray:
        chosen = self.instance.targets if self.threat.targets is None else self.threat.targets
        return np.asarray(chosen)

    @cached_property
    def family(self) -> tuple[str]:
        """What stays the same while the budgets and σ move."""
        return (self.digest((*TYPES, "sigma")),)

    @cached_property
    def of(self) -> str:
        """The digest of the whole question as it was read; no two questions share it."""
        return self.digest()

    def digest(self, varied: Iterable[str] = (), *more: object) -> str:
        """The same with some budgets (or σ) left open, and with further parts of a question."""
        told = Question(self.instance, self.threat, tuple(varied)).key, str(self.relaxation), more
        seen = hashlib.sha256(repr(told).encode())
        seen.update(repr(self.time_limit if self.strengthen else None).encode())
        if self.counted is not None:
            seen.update(b"right" + np.asarray(self.counted, dtype=np.int64).tobytes())
        return seen.hexdigest()[:32]


def parameters(what: str) -> tuple[Parameter, ...]:
    """All parameters that a kind of question knows."""
    return (*SHARED[1:], *OPTIONS[what])


def read_values(what: str, given: Iterable[tuple[str, str]]) -> dict[str, Any]:
    """The values of all parameters of a question; what it does not know is refused in one sentence."""
    known = {one.name: one for one in (_NAME, *parameters(what))}
    values = {name: one.default for name, one in known.items()}
    seen: set[str] = set()
    for told, text in given:
        name = told if told in known else FORMER.get(told, told)
        if name not in known:
            raise InputError(
                f"no {what} has a parameter {told!r}{did_you_mean(told, known)}; /api/openapi.json has all"
            )
        if name in seen:
            raise InputError(f"the parameter {name!r} is given twice; give it once")
        seen.add(name)
        try:
            values[name] = known[name].read(text)
        except ValueError as error:
            raise InputError(f"{told} is {text[:80]!r}; {error}") from error
    return values


def read_view(
    what: str, name: str, instance: Instance, values: dict[str, Any], attacks: tuple[ModelAttack, ...] = ()
) -> View:
    """The view that these values describe."""
    if values["instance"] not in ("", name):
        raise InputError(f"the path names the instance {name!r} and the parameter {values['instance']!r}; give one")
    relaxation = Relaxation(values["relaxation"])
    if relaxation is Relaxation.PAPER and isinstance(instance.base, BallotsBase):
        raise InputError("relaxation is 'paper', but the publication defines none for ballots; use tight")
    counted, targets = _only_right(instance, _targets(instance, values), values["right"])
    return View(
        name,
        instance,
        _threat(instance, values, targets),
        relaxation,
        counted,
        strengthen=values["strengthen"] and relaxation is Relaxation.TIGHT,
        time_limit=float(values["time_limit"]),
        attacks=attacks,
        options={one.name: values[one.name] for one in OPTIONS[what]},
    )


def _targets(instance: Instance, values: dict[str, Any]) -> np.ndarray | None:
    which = values["targets"]
    if which == "file":
        return None
    if which == "chosen":
        nodes = parse_nodes(values["nodes"], instance.graph.n_nodes)
        if not len(nodes):
            raise InputError("targets is 'chosen', but no nodes are given; give them as nodes=3,17,20-25")
        return nodes
    return instance.select_targets(f"class:{values['class']}" if which == "class" else which)


def _only_right(
    instance: Instance, targets: np.ndarray | None, wanted: bool
) -> tuple[np.ndarray | None, np.ndarray | None]:
    """Certified accuracy: all labels asked about, and the right ones among them."""
    if not wanted:
        return None, targets
    if instance.right is None:
        raise InputError("right is 1, but this instance has no true or no predicted labels; leave it out")
    counted = np.asarray(instance.targets if targets is None else targets)
    return counted, counted[instance.right[counted]]


def _threat(instance: Instance, values: dict[str, Any], targets: np.ndarray | None) -> ThreatModel:
    mode = values["local_mode"]
    prefix = "share" if mode == "relative" else "local"
    local: dict[str, Any] = {
        f"local_{one.name}": None if mode == "off" else values[f"{prefix}_{one.name}"]
        for one in TABLE
        if not one.brings_nodes
    }
    local |= {one.local_name: values[one.local_name] for one in TABLE if one.brings_nodes}
    threat = ThreatModel(
        **{name: values[name] for name in TYPES},
        **local,
        local_mode=LocalMode.RELATIVE if mode == "relative" else LocalMode.ABSOLUTE,
        sigma=values["sigma"],
        targets=targets,
        protected=parse_nodes(values["protect"], instance.graph.n_nodes),
    ).bound_to(instance.scale)
    threat.check(instance.graph)
    return within_base(threat, instance)
