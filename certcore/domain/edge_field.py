"""The rules by which edges belong to a receptive field."""

from __future__ import annotations

from certcore.common.choice import Choice


class EdgeField(Choice):
    """Which edges within the hops of a model can influence a prediction."""

    DEGREES = "degrees"
    """Those with either end within all hops, as messages may depend on the sender's degree. Safe for every model."""
    MESSAGES = "messages"
    """Those whose receiver is one hop nearer: for models that only add, average or attend over messages."""
