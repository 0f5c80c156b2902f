"""Attacks on the model checked against the certificates: an end-to-end test of the whole pipeline."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from certcore import __version__
from certcore.common.errors import InputError, SoundnessError
from certcore.domain.threat import ThreatModel
from certcore.instance.instance import Instance
from certcore.model_attack.counting import Count
from certcore.model_attack.flips import Flip, allocation_of
from certcore.model_attack.shift import Shift
from certcore.program.problem import Problem
from certcore.result.allocation import Allocation, inadmissible
from certcore.result.tripwire import remember


def replayed(
    problem: Problem, flips: Sequence[Flip], attackers: Sequence[int], shift: Shift | None = None
) -> Allocation:
    """The attack replayed on the base certificates; refused if the threat model does not allow it."""
    allocation = allocation_of(problem, flips, attackers, shift)
    reason = inadmissible(problem, allocation)
    if reason is not None:
        raise InputError(f"this attacker cannot make the attack: {reason}; give a threat model that allows it")
    return allocation


def hold_against_certificates(
    instance: Instance,
    threat: ThreatModel,
    flips: Sequence[Flip],
    attackers: Sequence[int],
    count: Count,
    shift: Shift | None = None,
) -> Allocation:
    """Check that every changed target has lost its certificate, and that no existing certified count is too large.

    Both sides are statistical: votes certify with confidence 1 − α, and labels are called changed with confidence 1 −
    α. A contradiction is therefore a bug, or as unlikely as both error levels together.
    """
    problem = Problem(instance, threat.replace(targets=count.targets))
    allocation = replayed(problem, flips, attackers, shift)
    lost = allocation.attacked > 0.5
    wrong = np.flatnonzero(count.changed & ~lost)
    if len(wrong):
        node = int(count.targets[wrong[0]])
        raise SoundnessError(
            f"internal error: a model attack changes {len(wrong)} labels whose certificates it leaves in "
            f"force, the first at node {node}, whose field receives {allocation.inside[wrong[0]].tolist()}. "
            f"Certificate or field is wrong: do not use them. Please send us this message and the instance file: "
            f"certcore {__version__}, instance {instance.digest}, {len(flips)} flips"
        )
    # From now on every certified count is compared with this attack.
    remember(instance, problem.threat, allocation.loss)
    return allocation
