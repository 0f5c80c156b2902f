"""What a bundle certifies by."""

from __future__ import annotations

from certcore.common.choice import Choice


class BundleTypes(Choice):
    """What is smoothed, or which base certificate does without noise."""

    ATTR = "attr"
    ADJ = "adj"
    JOINT = "joint"
    CONVEX = "convex"
    DIVISION = "division"

    @property
    def has_noise(self) -> bool:
        return self not in (BundleTypes.CONVEX, BundleTypes.DIVISION)
