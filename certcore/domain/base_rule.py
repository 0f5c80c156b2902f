"""The rules by which votes become a base certificate."""

from __future__ import annotations

from certcore.common.choice import Choice


class BaseRule(Choice):
    """How the bounds on class probabilities are compared."""

    BINARY = "binary"
    """The label against all other classes together."""
    MULTICLASS = "multiclass"
    """The label against the most probable other class."""
