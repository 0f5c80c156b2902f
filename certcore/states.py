"""What becomes of a target in an attack, and what is spent at a node: two questions, two words, one place.

A node is *hit* when flips are spent at it, whether or not its label is counted. A *target* loses its certificate, keeps
it on its own, had none before, or is not decided by this attack. The two are independent: a node can be hit and keep its
certificate, and a target can lose its certificate without being hit.
"""

from __future__ import annotations

from enum import StrEnum


class TargetState(StrEnum):
    """The state of a node's certificate; the value is the word for it on pages, in files and in reports."""

    LOST = "loses its certificate"
    """The attack found leaves it uncertified."""
    PARTLY = "partly lost (relaxed adversary)"
    """The linear program breaks a fraction of it: this exists in the relaxed adversary only."""
    ALONE = "certified on its own"
    """Even the whole budget inside its field reaches none of its front points: no attack can break it."""
    BEFORE = "uncertified before the attack"
    """Its base certificate says nothing even without an attack (it abstains): it counts as attackable from the start."""
    UNDECIDED = "not decided by this attack"
    """This attack does not break it, another one may. Nothing is claimed about it by itself."""
    NOT_A_TARGET = "not a target"
    """Its label is not counted; it can still be hit."""
