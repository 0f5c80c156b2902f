"""A runtime check of soundness: no certified count may contradict a known attack.

Every replayed attack is stored with its threat model. Every result with a count is compared with the stored attacks of
all threat models that are no stronger than its own. This happens when the result is created, and again for every new
attack while the result exists. A contradiction is a bug in this program and raises `SoundnessError`. Both sides count
the same targets, and both count targets that are uncertified before any attack as attacked.
"""

from __future__ import annotations

import threading
from collections import OrderedDict, deque
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any, Protocol
from weakref import WeakSet

import numpy as np

from certcore import __version__
from certcore.common.errors import SoundnessError
from certcore.domain.threat import ThreatModel
from certcore.domain.weaker import can_do_no_more
from certcore.instance.instance import Instance

#: Number of instances (with their targets) for which attacks are stored; the least recently used is dropped.
MOST_INSTANCES = 8
#: Maximum number of attacks stored for each of them.
MOST_ATTACKS = 128
#: Longer lists appear in an error message by their length only.
LONGEST_LIST = 8


@dataclass(frozen=True, eq=False)
class KnownAttack:
    """A stored attack: its threat model, and how many targets it leaves uncertified."""

    threat: ThreatModel
    attacked: int

    def within(self, instance: Instance, threat: ThreatModel) -> bool:
        """Whether this threat model allows the attack too."""
        return can_do_no_more(self.threat, threat, instance.graph)


class Claim(Protocol):
    """A result that claims certified counts: a certificate, a curve, a surface."""

    @property
    def instance(self) -> Instance | None: ...
    @property
    def threat(self) -> ThreatModel: ...
    @property
    def targets(self) -> int: ...
    def refuted_by(self, instance: Instance, attack: KnownAttack) -> tuple[ThreatModel, int] | None:
        """The count that an attack refutes, with its threat model; None if it refutes none."""


@dataclass(eq=False)
class _Memory:
    attacks: deque[KnownAttack] = field(default_factory=lambda: deque(maxlen=MOST_ATTACKS))
    claims: WeakSet[Any] = field(default_factory=WeakSet)


_lock = threading.Lock()
_memories: OrderedDict[tuple[str, bytes, bytes], _Memory] = OrderedDict()


def _memory(instance: Instance, threat: ThreatModel) -> _Memory:
    """The store for this instance (its digest includes the base rule) and these targets; requires the lock."""
    targets = np.asarray(instance.targets if threat.targets is None else threat.targets, dtype=np.int64)
    weighed = threat.weighed(instance.graph, targets)
    weights = b"" if weighed.weights is None else weighed.weights.values[np.sort(targets)].tobytes()
    key = (instance.digest, np.sort(targets).tobytes(), weights)  # counts do not depend on the order
    found = _memories.get(key)
    if found is None:
        found = _memories[key] = _Memory()
        while len(_memories) > MOST_INSTANCES:
            _memories.popitem(last=False)
    _memories.move_to_end(key)
    return found


def _attacks(instance: Instance, threat: ThreatModel) -> list[KnownAttack]:
    with _lock:
        return list(_memory(instance, threat).attacks)


def remember(instance: Instance, threat: ThreatModel, attacked: int) -> None:
    """Store a replayed attack, and compare it with all existing results."""
    # The targets are part of the key; storing them with each attack would take most of the memory.
    found = KnownAttack(threat.replace(targets=None, weights=None), attacked)
    with _lock:
        memory = _memory(instance, threat)
        if not any(old.attacked >= attacked and old.within(instance, threat) for old in memory.attacks):
            memory.attacks.append(found)
        claims = list(memory.claims)
    for claim in claims:
        _compare(instance, claim, [found])


def check(claim: Claim) -> None:
    """Compare a result with the known attacks, and register it for later ones."""
    instance = claim.instance
    if instance is None:
        return
    with _lock:
        memory = _memory(instance, claim.threat)
        memory.claims.add(claim)
        attacks = list(memory.attacks)
    try:
        _compare(instance, claim, attacks)
    except SoundnessError:
        memory.claims.discard(claim)  # it is never returned to the caller
        raise


def check_count(instance: Instance, threat: ThreatModel, targets: int, certified: int) -> None:
    """Compare one count with the known attacks."""
    for attack in _attacks(instance, threat):
        if certified > targets - attack.attacked and attack.within(instance, threat):
            raise contradiction(instance, threat, targets, certified, attack)


def most_attacked(instance: Instance, threat: ThreatModel) -> int:
    """The number of targets that the best known attack within this threat model leaves uncertified; 0 if none."""
    return max((a.attacked for a in _attacks(instance, threat) if a.within(instance, threat)), default=0)


def _compare(instance: Instance, claim: Claim, attacks: Iterable[KnownAttack]) -> None:
    for attack in attacks:
        refuted = claim.refuted_by(instance, attack)
        if refuted is not None:
            raise contradiction(instance, refuted[0], claim.targets, refuted[1], attack)


def contradiction(
    instance: Instance, threat: ThreatModel, targets: int, certified: int, attack: KnownAttack
) -> SoundnessError:
    """The error: which count and attack contradict each other, and data to reproduce it."""
    return SoundnessError(
        f"internal error: {certified} of {targets} targets were certified, but a replayed attack that this attacker "
        f"can make leaves {targets - attack.attacked}. One of both is wrong: do not use this count. Please send us "
        f"this message and the instance file: certcore {__version__}, instance {instance.digest}, certified {certified}"
        f" against {_text(threat)}, attacked {attack.attacked} by {_text(attack.threat)}"
    )


def _text(threat: ThreatModel) -> str:
    """A threat model in one line; long lists are given by their lengths."""
    plain = threat.to_json()
    plain |= {f"local {name}": value for name, value in (plain.pop("local") or {}).items()}
    short = {
        name: f"{len(value)} numbers" if isinstance(value, list) and len(value) > LONGEST_LIST else value
        for name, value in plain.items()
        if value not in (None, 0) or name == "sigma"
    }
    return ", ".join(f"{name} {value}" for name, value in short.items())
