"""The smoothing types of a bundle."""

from __future__ import annotations

from certcore.common.choice import Choice

#: Error message for files, links and commands of division voting, which was removed.
DIVISION_IS_GONE = (
    "division voting was replaced by ballots, which certify more labels, attributes and new nodes; make the file "
    "again with certcore.ballots in Python, or in the repository with `python -m experiments bundle cora decoupled "
    "ballots`"
)


class BundleTypes(Choice):
    """What is smoothed, or which base certificate works without noise."""

    ATTR = "attr"
    ADJ = "adj"
    JOINT = "joint"
    L2 = "l2"
    """Gaussian noise on real-valued attributes."""
    L2_JOINT = "l2_joint"
    """Gaussian noise on real-valued attributes and deletion noise on edges."""
    CONVEX = "convex"
    BALLOTS = "ballots"

    @property
    def moves(self) -> bool:
        """Whether attributes get Gaussian noise."""
        return self in (BundleTypes.L2, BundleTypes.L2_JOINT)

    @property
    def has_noise(self) -> bool:
        return self not in (BundleTypes.CONVEX, BundleTypes.BALLOTS)
