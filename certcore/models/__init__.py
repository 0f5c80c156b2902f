"""How networks are called and read: their calls, receptive fields, and the GCN whose votes are compiled."""

from certcore.models.field import Field

__all__ = ["Field"]
