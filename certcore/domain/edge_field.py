"""The rules by which edges belong to a receptive field."""

from __future__ import annotations

from certcore.common.choice import Choice


class EdgeField(Choice):
    """Which edges near a target can influence its prediction, for a model with a given number of layers."""

    DEGREES = "degrees"
    """Edges with either end within all hops, since messages may depend on the sender's degree. Safe for every model."""
    MESSAGES = "messages"
    """Edges whose receiver is one hop nearer: for models that only sum, average or attend over messages."""
