"""The units of local budgets."""

from __future__ import annotations

from certcore.common.choice import Choice


class LocalMode(Choice):
    """What a local budget counts."""

    ABSOLUTE = "absolute"
    """Numbers of flips."""
    RELATIVE = "relative"
    """Fractions of a node's number of ones or edges, rounded down."""
