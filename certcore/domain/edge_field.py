"""The rules by which edges belong to a receptive field."""

from __future__ import annotations

from certcore.common.choice import Choice


class EdgeField(Choice):
    """Which edges within the hops of a model can influence a prediction."""

    DEGREES = "degrees"
    """Those with either end within all hops: the degrees of senders weigh their messages. Safe for every model."""
    MESSAGES = "messages"
    """Those whose receiving end is one hop nearer: nodes only add, average or attend."""
