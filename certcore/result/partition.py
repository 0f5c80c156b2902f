"""One partition of the labels asked about: what is known of how many, for one attacker."""

from __future__ import annotations

from dataclasses import dataclass

from certcore.result.certificate import Certificate


@dataclass(frozen=True)
class Partition:
    """Seven counts that add up to all labels asked about."""

    each: int
    """Proven one by one."""
    together: int
    """Proven beyond that by counting all of them together; which ones is not known."""
    solver: int
    """Only the solver says so."""
    open: int
    """Neither proven nor lost in the attack found."""
    lost: int
    """Lose their certificate in the attack found."""
    none: int
    """Have no certificate even without an attack."""
    wrong: int
    """Wrong already, where only right labels count."""

    @property
    def proven(self) -> int:
        return self.each + self.together

    @property
    def asked(self) -> int:
        return self.proven + self.solver + self.open + self.lost + self.none + self.wrong


def partition(
    targets: int, proven: int, naive: int, before: int, found: int | None, *, claimed: int = 0, asked: int | None = None
) -> Partition:
    """The parts from counts: `found` targets are uncertified in the attack found (None: none was looked for), `before`
    of them without any attack; `asked` labels in all, where the targets are the right ones among them."""
    each = min(naive, proven)
    lost = max(0, (found or 0) - before)
    rest = targets - proven - before - lost
    solver = min(max(0, claimed - proven), rest)
    return Partition(each, proven - each, solver, rest - solver, lost, before, max(0, (asked or targets) - targets))


def partition_of(result: Certificate, before: int, asked: int | None = None, found: int = 0) -> Partition:
    """The parts of a certificate; `before`: its targets without a certificate even without an attack.

    `found`: how many another attack within the same budgets leaves uncertified, if one is known.
    """
    return partition(
        result.targets,
        result.verified_certified,
        result.naive_certified,
        before,
        max(result.attack_found or 0, found),
        claimed=result.certified,
        asked=asked,
    )
