"""A partition of the labels in question by what is known about them, for one threat model."""

from __future__ import annotations

from dataclasses import dataclass

from certcore.result.certificate import Certificate


@dataclass(frozen=True)
class Partition:
    """Six counts that sum to the number of labels in question."""

    naive: int
    """Certified one by one (the naive certificate)."""
    collective: int
    """Further labels certified collectively; which ones is not known."""
    open: int
    """Neither certified nor broken in the attack found."""
    lost: int
    """Lose their certificate in the attack found."""
    none: int
    """Have no certificate even without an attack."""
    wrong: int
    """Misclassified without an attack, if only correct labels count."""

    @property
    def proven(self) -> int:
        return self.naive + self.collective

    @property
    def asked(self) -> int:
        return self.proven + self.open + self.lost + self.none + self.wrong


def partition(
    targets: int, proven: int, naive: int, before: int, found: int | None, *, asked: int | None = None
) -> Partition:
    """The partition from counts.

    `found` targets are uncertified in the attack found (None: no attack was searched for), `before` of them without any
    attack. `asked` is the number of labels in question, if the targets are only the correct ones.
    """
    alone = min(naive, proven)
    lost = max(0, (found or 0) - before)
    open_ = targets - proven - before - lost
    wrong = max(0, (asked or targets) - targets)
    return Partition(alone, proven - alone, open_, lost, before, wrong)


def partition_of(result: Certificate, before: int, asked: int | None = None, found: int = 0) -> Partition:
    """The partition of a certificate; `before` counts its targets that are uncertified without an attack.

    `found` is the number of targets that another known attack within the same budgets leaves uncertified.
    """
    most = max(result.attack_found or 0, found)
    return partition(result.targets, result.certified, result.naive_certified, before, most, asked=asked)
