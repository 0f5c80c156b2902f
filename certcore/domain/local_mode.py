"""The units of local budgets."""

from __future__ import annotations

from certcore.common.choice import Choice


class LocalMode(Choice):
    """What a local budget counts."""

    ABSOLUTE = "absolute"
    """Flips."""
    RELATIVE = "relative"
    """Shares of the ones or edges a node has, rounded down."""
