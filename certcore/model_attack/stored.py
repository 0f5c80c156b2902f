"""Stored attacks on a model: nested attacks at growing budgets, with their votes, bound to an instance."""

from __future__ import annotations

import hashlib
import json
import math
import os
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np

from certcore.common.errors import InputError
from certcore.common.exact import read_alpha
from certcore.common.npz import read_npz, write_npz
from certcore.common.reading import read_json, whole_number, whole_numbers
from certcore.domain.base_rule import BaseRule
from certcore.domain.limits import MAX_TRIALS
from certcore.domain.perturbations import FLIPS, TYPES
from certcore.domain.threat import ThreatModel
from certcore.instance.instance import Instance
from certcore.model_attack.counting import Count, count_changed
from certcore.model_attack.flips import Flip, allocation_of, apply_flips
from certcore.model_attack.refute import hold_against_certificates
from certcore.model_attack.shift import MOST_STEPS, Shift
from certcore.program.problem import Problem
from certcore.result.allocation import Allocation, inadmissible

FORMAT = "certcore-attack-1"
SUFFIX = ".attack.npz"
MAX_FLIPS = 10**6
MAX_LEVELS = 1000


@dataclass(frozen=True, eq=False)
class Level:
    """One attack of the file: the first `flips` flips, moved attributes, and the votes on the perturbed graph."""

    flips: int
    votes: np.ndarray
    """(nodes, classes)."""
    shift: Shift | None = None


@dataclass(frozen=True, eq=False, repr=False)
class ModelAttack:
    """Nested attacks on one model; `meta` has their provenance."""

    instance_digest: str
    threat: ThreatModel
    """The threat model of the largest level."""
    flips: tuple[Flip, ...]
    attackers: tuple[int, ...]
    """With σ: the attacker nodes."""
    levels: tuple[Level, ...]
    samples: int
    """Votes at each level, fixed in advance; 1 for a plain classifier, where no test is needed."""
    alpha: str
    plain: bool
    meta: dict[str, Any] = field(default_factory=dict)
    instance: Instance | None = field(default=None, repr=False)
    """The attacked instance, if available."""

    def __repr__(self) -> str:
        told = "" if self.instance is None else f", {self.changed} labels changed"
        return f"<ModelAttack {len(self.flips)} flips by {self.meta.get('method', '?')}{told}>"

    @property
    def changed(self) -> int | None:
        """Labels that the largest attack changes significantly; None without the instance."""
        found = None if self.instance is None else self.at(self.instance, self.threat)
        return None if found is None else found.n_changed

    @property
    def accuracy_under_attack(self) -> float | None:
        """Share of targets whose correct label the largest attack does not change; None without true labels."""
        found = None if self.instance is None else self.at(self.instance, self.threat)
        return None if found is None else found.accuracy

    def check(self, instance: Instance) -> None:
        """Refuse an instance that the attack was not made for, and flips that do not fit its graph."""
        if self.instance_digest != subject_digest(instance):
            raise InputError(
                "the attack was made for another instance (their digests differ); attack this one with "
                "`certcore attack`"
            )
        n = instance.graph.n_nodes
        if any(len(level.votes) != n for level in self.levels):
            raise InputError("the votes of the attack are not one row per node; make the attack again")
        whole_numbers(np.array(self.attackers, dtype=np.int64), "the attackers", 0, n - 1)
        apply_flips(instance.graph, self.flips)
        for shift in (level.shift for level in self.levels):
            if shift is not None and (instance.scale is None or shift.steps.shape[1] != instance.graph.n_attrs):
                raise InputError("the attack moves attributes that the instance does not have; make it again")
            if shift is not None:
                whole_numbers(shift.nodes, "the moved nodes", 0, n - 1)

    def spent(self, level: Level) -> dict[str, Any]:
        """Flips of each type at a level, and the distance of moved attributes as a length, rounded up."""
        counts: dict[str, Any] = {kind: sum(flip.kind == kind for flip in self.flips[: level.flips]) for kind in FLIPS}
        return counts if level.shift is None else counts | {"attr_l2": self.distance(level)}

    def distance(self, level: Level) -> float:
        """How far a level moves the attributes of all nodes together, rounded up; 0 if it moves none."""
        if level.shift is None or self.instance is None or self.instance.scale is None:
            return 0.0
        units = level.shift.units(self.instance.scale)
        length = self.instance.scale.length(int(units.sum()))
        return math.ceil(length * 10**6 + 1e-3) / 10**6

    def within(self, instance: Instance, threat: ThreatModel) -> Level | None:
        """The largest attack of the file that the threat model allows; None if there is none."""
        problem = Problem(instance, threat)
        for level in reversed(self.levels):
            used = self.flips[: level.flips], self._attackers(level, threat), level.shift
            if inadmissible(problem, allocation_of(problem, *used)) is None:
                return level
        return None

    def count(self, instance: Instance, level: Level, targets: np.ndarray) -> Count:
        """The effect of a level on these targets."""
        return count_changed(instance, targets, level.votes, self.alpha, plain=self.plain)

    def found(self, instance: Instance, threat: ThreatModel) -> FoundAttack | None:
        """The largest attack that the threat model allows, checked against the certificates; None if there is none."""
        level = self.within(instance, threat)
        if level is None:
            return None
        threat = threat.weighed(instance.graph, np.asarray(instance.targets))  # without targets of weight 0
        targets = np.asarray(instance.targets if threat.targets is None else threat.targets)
        count = self.count(instance, level, targets)
        flips = self.flips[: level.flips]
        attackers = self._attackers(level, threat)
        allocation = hold_against_certificates(instance, threat, flips, attackers, count, level.shift)
        return FoundAttack(self, level, count, allocation)

    def at(self, instance: Instance, threat: ThreatModel) -> Count | None:
        """The effect of the largest attack that the threat model allows; None if there is none."""
        found = self.found(instance, threat)
        return None if found is None else found.count

    @cached_property
    def digest(self) -> str:
        """SHA-256 of flips and votes; the same command gives the same digest."""
        told = [list(flip) for flip in self.flips], list(self.attackers), self.budgets, self.meta.get("model")
        seen = hashlib.sha256(json.dumps([self.instance_digest, *told]).encode())
        for level in self.levels:
            seen.update(np.ascontiguousarray(level.votes, dtype=np.int64).tobytes())
            if level.shift is not None:
                seen.update(json.dumps([level.shift.exponent, level.shift.nodes.tolist()]).encode())
                seen.update(level.shift.steps.tobytes())
        return seen.hexdigest()

    def _attackers(self, level: Level, threat: ThreatModel) -> Sequence[int]:
        touched = {end for flip in self.flips[: level.flips] for end in flip.ends}
        moved = [] if level.shift is None else level.shift.nodes.tolist()
        if threat.sigma is None or not self.attackers:
            return sorted(touched.union(moved))
        # Moved rows differ from level to level, while flips and their attackers grow.
        return self.attackers if level.shift is None else sorted(touched.intersection(self.attackers).union(moved))

    @cached_property
    def budgets(self) -> list[int]:
        """Number of flips at each level."""
        return [level.flips for level in self.levels]


@dataclass(frozen=True, eq=False)
class FoundAttack:
    """One attack within a threat model: its changed labels, and its flips replayed on the base certificates."""

    attack: ModelAttack | None
    """The file that it is a level of; None for an attack on ballots, which is found with the certificate."""
    level: Level | None
    count: Count
    allocation: Allocation

    @property
    def flips(self) -> int:
        return int(sum(self.allocation.totals[: len(FLIPS)]))

    @property
    def injected(self) -> int:
        """How many nodes are new."""
        return len(np.unique(self.allocation.injected[:, 0]))

    @property
    def distance(self) -> float:
        """How far attributes are moved."""
        return 0.0 if self.attack is None or self.level is None else self.attack.distance(self.level)

    @property
    def size(self) -> tuple[int, float]:
        """Flips and distance, by which attacks are ordered."""
        return self.flips, self.distance

    @property
    def changed_nodes(self) -> np.ndarray:
        """The nodes whose labels it changes."""
        return self.count.targets[self.count.changed]


def largest(attacks: Sequence[ModelAttack], instance: Instance, threat: ThreatModel) -> FoundAttack | None:
    """Among several attacks, the one with the most flips that the threat model allows; None if there is none.

    It is selected by its size and not by its count: selecting the best of several counts would need a stricter test.
    """
    inside = [(attack, attack.within(instance, threat)) for attack in attacks]
    sizes = [(0, 0.0) if level is None else (level.flips, attack.distance(level)) for attack, level in inside]
    if not any(map(any, sizes)):
        return None
    return inside[sizes.index(max(sizes))][0].found(instance, threat)


def subject_digest(instance: Instance) -> str:
    """The digest of an instance without its base rule, because attacks depend only on model and votes.

    Real-valued attributes count by their own digest, so that it is the same whether or not the file holds them.
    """
    base: Any = instance.base
    if instance.graph.real:
        instance = replace(instance, graph=instance.graph.without_attributes())
    if instance.base_rule is BaseRule.BINARY:
        return instance.digest
    return replace(instance, base=replace(base, rule=BaseRule.BINARY)).digest


def attack_files(path: str | os.PathLike[str]) -> list[Path]:
    """Attack files next to an instance file: NAME.attack.npz, and NAME.TYPE.attack.npz for single types."""
    return [file for file in (beside(path, kind) for kind in ("", *TYPES)) if file.exists()]


def attacks_on(path: str | os.PathLike[str], instance: Instance) -> list[ModelAttack]:
    """All attacks stored next to an instance file."""
    return [load_attack(file, instance) for file in attack_files(path)]


def beside(path: str | os.PathLike[str], kind: str = "") -> Path:
    """The path of the attack on an instance file, in its own folder so that lists of instances do not contain it."""
    name = Path(path).name.removesuffix(".npz") + (f".{kind}" if kind else "") + SUFFIX
    own = Path(path).with_name(name)
    return own if own.exists() else Path(path).parent / "attacks" / name


def save_attack(path: str | os.PathLike[str], attack: ModelAttack) -> None:
    """Write an attack atomically."""
    description = {
        "format": FORMAT,
        "instance": attack.instance_digest,
        "threat": attack.threat.to_json(),
        "samples": attack.samples,
        "alpha": attack.alpha,
        "plain": attack.plain,
        "meta": attack.meta,
    }
    names = np.array([flip.kind for flip in attack.flips], dtype=str)
    places = np.array([flip[1:] for flip in attack.flips], dtype=np.int32).reshape(-1, 2)
    write_npz(
        path,
        {
            "description": np.array(json.dumps(description, sort_keys=True)),
            "flip_types": names,
            "flip_places": places,
            "attackers": np.array(attack.attackers, dtype=np.int32),
            "level_flips": np.array(attack.budgets, dtype=np.int32),
            "votes": np.stack([level.votes for level in attack.levels]).astype(np.int32),
            **_moved_arrays(attack.levels),
        },
    )


def _moved_arrays(levels: Sequence[Level]) -> dict[str, np.ndarray]:
    """Moved rows of all levels, one below the other; nothing where no attributes are moved."""
    moved = [(number, level.shift) for number, level in enumerate(levels) if level.shift is not None]
    if not moved:
        return {}
    rows = [np.stack([np.full(len(shift.nodes), number), shift.nodes], axis=1) for number, shift in moved]
    return {
        "moved_rows": np.concatenate(rows).astype(np.int32),
        "moved_steps": np.concatenate([shift.steps for _, shift in moved]),
        "moved_exponents": np.array([[number, shift.exponent] for number, shift in moved], dtype=np.int32),
    }


def _shifts(arrays: dict[str, np.ndarray], count: int) -> list[Shift | None]:
    """The moved rows of each level."""
    shifts: list[Shift | None] = [None] * count
    if "moved_exponents" in arrays:
        rows = whole_numbers(arrays["moved_rows"], "moved_rows", 0, 2**31, shape=(None, 2))
        steps = whole_numbers(arrays["moved_steps"], "moved_steps", -MOST_STEPS, MOST_STEPS, shape=(len(rows), None))
        exponents = whole_numbers(arrays["moved_exponents"], "moved_exponents", -1000, 1000, shape=(None, 2))
        for number, exponent in exponents.tolist():
            mine = rows[:, 0] == number
            if not 0 <= number < count or len(np.unique(rows[mine, 1])) != mine.sum():
                raise InputError("moved_exponents names no level, or a row is moved twice; make the attack again")
            shifts[number] = Shift(rows[mine, 1], steps[mine].astype(np.int8), exponent)
    return shifts


def load_attack(path: str | os.PathLike[str], instance: Instance) -> ModelAttack:
    """Read the attack on an instance; every violation raises an error that names it, and nothing is unpickled."""
    attack = replace(_read(path), instance=instance)
    attack.check(instance)
    return attack


def _read(path: str | os.PathLike[str]) -> ModelAttack:
    arrays = read_npz(path)
    name = Path(path).name
    try:
        told: Any = read_json(str(arrays["description"].reshape(-1)[0]), f"the description in {name}")
        if not isinstance(told, dict) or told.get("format") != FORMAT:
            raise InputError(f"{name} carries no {FORMAT} description; expected a file written by `certcore attack`")
        kinds = [str(kind) for kind in arrays["flip_types"].reshape(-1)]
        places = whole_numbers(arrays["flip_places"], "flip_places", 0, 2**31, shape=(len(kinds), 2))
        strange = sorted(set(kinds) - set(FLIPS))
        if strange or len(kinds) > MAX_FLIPS:
            raise InputError(f"{name} holds flips of the type {strange[:1]}; expected {', '.join(FLIPS)}")
        flips = tuple(Flip(kind, *place) for kind, place in zip(kinds, places.tolist()))
        samples = whole_number(told["samples"], "the number of samples", 1, MAX_TRIALS)
        plain = told["plain"] is True
        level_flips = whole_numbers(arrays["level_flips"], "level_flips", 0, len(flips), shape=(None,))
        votes = whole_numbers(arrays["votes"], "votes", 0, samples, shape=(len(level_flips), None, None))
        shifts = _shifts(arrays, len(level_flips))
        attackers = whole_numbers(arrays["attackers"], "attackers", 0, 2**31, shape=(None,))
        read_alpha(told["alpha"])
        threat = ThreatModel.from_json(told["threat"])
        digest, meta = str(told["instance"]), dict(told["meta"])
    except (KeyError, TypeError, ValueError) as error:
        if isinstance(error, InputError):
            raise
        raise InputError(f"{name} is no attack file: {error} is missing or wrong; make it again") from error
    if not len(level_flips) or len(level_flips) > MAX_LEVELS or (np.diff(level_flips) < 0).any():
        raise InputError(f"{name} does not add up: its levels do not rise; make it again")
    if (votes.sum(axis=2) != samples).any() or (plain and samples != 1):
        raise InputError(f"{name} does not add up: its votes are not those of {samples:,} samples; make it again")
    levels = tuple(Level(int(count), table, shift) for count, table, shift in zip(level_flips.tolist(), votes, shifts))
    return ModelAttack(
        digest, threat, flips, tuple(attackers.tolist()), levels, samples, str(told["alpha"]), plain, meta
    )
