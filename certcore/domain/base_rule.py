"""The rules by which votes become a base certificate."""

from __future__ import annotations

from certcore.common.choice import Choice


class BaseRule(Choice):
    """Which bounds on the votes of a node are compared."""

    BINARY = "binary"
    """Its label against everything else together."""
    MULTICLASS = "multiclass"
    """Its label against the likeliest other class."""
