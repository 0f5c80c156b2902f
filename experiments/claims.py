"""Claims of the paper: where each stands, what it says, and how our number for it is found; told in claims.toml."""

from __future__ import annotations

import tomllib
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from experiments import findings  # noqa: F401 - the readings register themselves
from experiments.look_up import Find
from experiments.measure import Ours
from experiments.store import Results


@dataclass(frozen=True)
class Claim:
    """One row of the table."""

    name: str
    where: str
    says: str
    paper: str
    find: Find
    value: float | None = None
    """The paper's number, if it is one; the ratio ours / paper is shown for it."""
    tolerance: float = 0.1
    """Relative difference up to which the two are called equal."""
    better: str = "equal"
    """`higher` or `lower` if a difference in that direction is in the certificate's (or the clock's) favour."""
    why: str = ""
    """One honest sentence on why the two differ, or what else there is to know."""
    missing: str = ""
    """What could not be run, and why."""
    label: str = ""
    """Verdict to give where ours is not the paper's number but goes beyond it (`better`, `corrected`, `bracketed`)."""
    how: str = ""
    """Experiment (and variant) whose results are used."""


@dataclass(frozen=True)
class Row:
    """A claim with our number."""

    claim: Claim
    ours: Ours | None

    @property
    def ratio(self) -> float | None:
        if self.ours is None or self.ours.value is None or not self.claim.value:
            return None
        return self.ours.value / self.claim.value

    @property
    def verdict(self) -> str:
        """`reproduced`, `better`, `corrected`, `bracketed`, `differs` or `not run`."""
        if self.ours is None:
            return "not run"
        label = self.claim.label if self.ours.label is None else self.ours.label
        if label and self.ours.holds is not False:
            return label
        if self.ours.holds is not None:
            return "reproduced" if self.ours.holds else "differs"
        ratio = self.ratio
        if ratio is None:
            return "reproduced"
        if abs(ratio - 1) <= self.claim.tolerance:
            return "reproduced"
        in_favour = {"higher": ratio > 1, "lower": ratio < 1}.get(self.claim.better, False)
        return "better" if in_favour else "differs"

    @property
    def sentence(self) -> str:
        """What there is to say about the row."""
        if self.ours is None:
            return self.claim.missing or f"Not run yet: `python -m experiments {self.claim.how.split()[0]}`."
        words = [self.claim.why] if self.claim.why else []
        if self.ours.samples is not None and self.ours.samples < 10**6 and "seconds" not in self.claim.how:
            words.append(
                f"Ours rests on {self.ours.samples:,} votes per node instead of 1,000,000: fewer votes give a lower "
                "confidence bound and smaller radii."
            )
        if self.ours.also:
            words.append(self.ours.also)
        return " ".join(words)


def rows(claims: tuple[Claim, ...], results: Results) -> list[Row]:
    """All claims with what the results say about them."""
    return [Row(claim, claim.find(results)) for claim in claims]


def _read(kind: str) -> tuple[Claim, ...]:
    tables = tomllib.loads(Path(__file__).with_name("claims.toml").read_text(encoding="utf-8"))
    return tuple(_claim(entry, tables["texts"]) for entry in tables[kind])


def _claim(entry: dict[str, Any], texts: dict[str, str]) -> Claim:
    parts = dict(entry, find=Find.parse(**entry["find"]))
    for key in ("why", "missing"):
        parts[key] = entry.get(key, "").format(**texts)
    return Claim(**parts)


CLAIMS = _read("claims")
#: What goes beyond the paper, or corrects it, shown next to the paper's own figures.
EXTENSIONS = _read("extensions")
