"""The state of a target in an attack, and whether flips are spent at a node.

A node is *hit* if flips are spent at it, whether or not it is a target. A *target* loses its certificate, keeps it on
its own, had none before, or is undecided in this attack. The two are independent: a node can be hit and keep its
certificate, and a target can lose its certificate without being hit.
"""

from __future__ import annotations

from enum import StrEnum

import numpy as np

#: Smaller amounts in a relaxed solution are rounding errors of the solver and count as 0.
NOTHING = 1e-6


class TargetState(StrEnum):
    """The state of a node's certificate; the value is its name on pages, in files and in reports."""

    NOT_A_TARGET = "not a target"
    """Not a target; it can still be hit."""
    ALONE = "certified on its own"
    """Even the whole budget inside its field reaches no point of its front: no attack can break it."""
    UNDECIDED = "not decided by this attack"
    """This attack does not break it, but another may. No claim is made about it alone."""
    PARTLY = "partly lost (relaxed adversary)"
    """The relaxed adversary breaks a fraction of it; does not occur in attacks."""
    LOST = "loses its certificate"
    """The attack found leaves it uncertified."""
    BEFORE = "uncertified before the attack"
    """Its base certificate fails even without an attack, so it always counts as attackable."""


#: Their names in the legend of the graph, on the screen and in figures; `COUNTED`: of the relaxed adversary.
STATE_LABELS = {
    TargetState.NOT_A_TARGET: "not counted",
    TargetState.ALONE: "naive",
    TargetState.UNDECIDED: "kept in this attack",
    TargetState.PARTLY: "counted in part by the relaxed adversary",
    TargetState.LOST: "loses its certificate",
    TargetState.BEFORE: "had none",
}
COUNTED = STATE_LABELS | {
    TargetState.UNDECIDED: "not counted by the relaxed adversary",
    TargetState.LOST: "counted in full by the relaxed adversary",
}
CHANGED_LABEL = "label changed"


def target_states(alone: np.ndarray, before: np.ndarray, broken: np.ndarray | None) -> np.ndarray:
    """The state of each target; `broken` is the fraction broken by the attack or relaxed adversary (None: neither)."""
    state = np.full(len(alone), TargetState.UNDECIDED, dtype=object)
    state[alone] = TargetState.ALONE
    if broken is not None:
        state[broken > NOTHING] = TargetState.PARTLY
        state[broken > 1 - NOTHING] = TargetState.LOST
    state[before] = TargetState.BEFORE
    return state
