"""What becomes of a target in an attack, and what is spent at a node: two questions, two words, one place.

A node is *hit* when flips are spent at it, whether or not its label is counted. A *target* loses its certificate, keeps
it on its own, had none before, or is not decided by this attack. The two are independent: a node can be hit and keep
its certificate, and a target can lose its certificate without being hit. On pages the states are said at greater
length (`certcore.messages.state_legend`).
"""

from __future__ import annotations

from enum import StrEnum

import numpy as np

#: Amounts in the relaxed adversary below this are noise of the solver: nothing is spent there, nobody is broken.
NOTHING = 1e-6


class TargetState(StrEnum):
    """The state of a node's certificate; the value is the word for it on pages, in files and in reports."""

    NOT_A_TARGET = "not a target"
    """Its label is not counted; it can still be hit."""
    ALONE = "certified on its own"
    """Even the whole budget inside its field reaches none of its front points: no attack can break it."""
    UNDECIDED = "not decided by this attack"
    """This attack does not break it, another one may. Nothing is claimed about it by itself."""
    PARTLY = "partly lost (relaxed adversary)"
    """The linear program breaks a fraction of it: this exists in the relaxed adversary only."""
    LOST = "loses its certificate"
    """The attack found leaves it uncertified."""
    BEFORE = "uncertified before the attack"
    """Its base certificate says nothing even without an attack: it counts as attackable from the start."""


#: What the states were called in files and links before; those stay readable.
FORMER = {
    "other": TargetState.NOT_A_TARGET,
    "robust": TargetState.ALONE,
    "shared": TargetState.UNDECIDED,
    "partly": TargetState.PARTLY,
    "attacked": TargetState.LOST,
    "uncertified": TargetState.BEFORE,
}


def target_states(alone: np.ndarray, before: np.ndarray, broken: np.ndarray | None) -> np.ndarray:
    """The state of each target; `broken` is how far the attack or the relaxed adversary breaks it (None: neither)."""
    state = np.full(len(alone), TargetState.UNDECIDED, dtype=object)
    state[alone] = TargetState.ALONE
    if broken is not None:
        state[broken > NOTHING] = TargetState.PARTLY
        state[broken > 1 - NOTHING] = TargetState.LOST
    state[before] = TargetState.BEFORE
    return state
