"""The tripwire: no certified count stands beside an attack that refutes it.

Every replayed attack is remembered here by what its attacker could do, and every result that claims a count is held
against the attacks of all attackers who can do no more than its own, when it is made and whenever a new attack comes in
while somebody holds it. A contradiction is a mistake in this program: it ends with a `SoundnessError` instead of a
number. Both sides count the same targets: one that is uncertified before any attack counts as attacked on both.
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
from certcore.program.problem import by_division

#: Instances (with their targets) whose attacks are kept, and attacks kept of each: those asked for last.
MOST_INSTANCES, MOST_ATTACKS = 8, 128
#: Longer lists are told by their lengths: nobody reads ten thousand costs in a sentence.
LONGEST_LIST = 8


@dataclass(frozen=True, eq=False)
class KnownAttack:
    """What is kept of a replayed attack: who can make it, and how many targets it leaves uncertified."""

    threat: ThreatModel
    attacked: int

    def within(self, instance: Instance, threat: ThreatModel) -> bool:
        """Whether this attacker can make it, too, and what it breaks is counted by the same rule."""
        same_rule = by_division(instance, self.threat) == by_division(instance, threat)
        return same_rule and can_do_no_more(self.threat, threat, instance.graph)


class Claim(Protocol):
    """A result that claims counts: a certificate, a curve, a surface."""

    @property
    def instance(self) -> Instance | None: ...
    @property
    def threat(self) -> ThreatModel: ...
    @property
    def targets(self) -> int: ...
    def refuted_by(self, instance: Instance, attack: KnownAttack) -> tuple[ThreatModel, int] | None:
        """The count that an attack refutes, with its threat model; None if all stand."""


@dataclass(eq=False)
class _Memory:
    attacks: deque[KnownAttack] = field(default_factory=lambda: deque(maxlen=MOST_ATTACKS))
    claims: WeakSet[Any] = field(default_factory=WeakSet)


_lock = threading.Lock()
_memories: OrderedDict[tuple[str, bytes], _Memory] = OrderedDict()


def _memory(instance: Instance, threat: ThreatModel) -> _Memory:
    """Of this instance (its digest holds the base rule) and these targets; to be called with the lock held."""
    targets = np.asarray(instance.targets if threat.targets is None else threat.targets, dtype=np.int64)
    key = (instance.digest, targets.tobytes())
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
    """Keep a replayed attack of this attacker, and hold it against every result that somebody still has."""
    # The targets are in the key; kept with each attack they would take more memory than all the rest.
    found = KnownAttack(threat.replace(targets=None), attacked)
    with _lock:
        memory = _memory(instance, threat)
        if not any(old.attacked >= attacked and old.within(instance, threat) for old in memory.attacks):
            memory.attacks.append(found)
        claims = list(memory.claims)
    for claim in claims:
        _hold(instance, claim, [found])


def check(claim: Claim) -> None:
    """Hold a result against the attacks that are known, and keep an eye on it while it is in use."""
    instance = claim.instance
    if instance is None:
        return
    with _lock:
        memory = _memory(instance, claim.threat)
        memory.claims.add(claim)
        attacks = list(memory.attacks)
    try:
        _hold(instance, claim, attacks)
    except SoundnessError:
        memory.claims.discard(claim)  # nobody gets it
        raise


def check_count(instance: Instance, threat: ThreatModel, targets: int, certified: int) -> None:
    """Hold one count against the attacks that are known."""
    for attack in _attacks(instance, threat):
        if certified > targets - attack.attacked and attack.within(instance, threat):
            raise contradiction(instance, threat, targets, certified, attack)


def most_attacked(instance: Instance, threat: ThreatModel) -> int:
    """How many targets the best attack that is known for this attacker leaves uncertified; 0 if there is none."""
    return max((a.attacked for a in _attacks(instance, threat) if a.within(instance, threat)), default=0)


def _hold(instance: Instance, claim: Claim, attacks: Iterable[KnownAttack]) -> None:
    for attack in attacks:
        refuted = claim.refuted_by(instance, attack)
        if refuted is not None:
            raise contradiction(instance, refuted[0], claim.targets, refuted[1], attack)


def contradiction(
    instance: Instance, threat: ThreatModel, targets: int, certified: int, attack: KnownAttack
) -> SoundnessError:
    """What contradicts what, and what is needed to find the mistake."""
    return SoundnessError(
        f"internal error: {certified} of {targets} targets were certified, but a replayed attack that this attacker "
        f"can make leaves {targets - attack.attacked}. One of both is wrong: do not use this count. Please send us "
        f"this message and the instance file: certcore {__version__}, instance {instance.digest}, certified {certified}"
        f" against {_told(threat)}, attacked {attack.attacked} by {_told(attack.threat)}"
    )


def _told(threat: ThreatModel) -> str:
    """A threat model in one line: what is set, long lists by their lengths."""
    plain = threat.to_json()
    plain |= {f"local {name}": value for name, value in (plain.pop("local") or {}).items()}
    short = {
        name: f"{len(value)} numbers" if isinstance(value, list) and len(value) > LONGEST_LIST else value
        for name, value in plain.items()
        if value not in (None, 0) or name == "sigma"
    }
    return ", ".join(f"{name} {value}" for name, value in short.items())
