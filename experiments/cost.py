"""What a full run will take, told before it begins: from the seconds of the units that were computed before."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from experiments.source import Folders
from experiments.store import Results, name_of, read_results
from experiments.unit import Experiment


@dataclass(frozen=True)
class Cost:
    """One experiment: units that are there (whether they are still right is seen when their turn comes) and not."""

    experiment: str
    there: int
    missing: int
    seconds: float | None
    """Of the missing ones, as long as units of this experiment took; None if none has been computed anywhere."""

    @property
    def sentence(self) -> str:
        if not self.missing:
            again = ", computed again if their votes changed" if self.there else ""
            return f"{self.experiment}: none missing ({self.there} there{again})"
        time = "nobody has measured how long" if self.seconds is None else f"about {minutes(self.seconds)}"
        return f"{self.experiment}: {self.missing} to compute ({time}), {self.there} there"


def minutes(seconds: float) -> str:
    return (
        "a minute" if seconds < 90 else f"{seconds / 60:,.0f} minutes" if seconds < 7200 else f"{seconds / 3600:,.1f} h"
    )


def costs(
    experiments: Iterable[Experiment],
    folders: Folders,
    known: Results,
    *,
    force: bool = False,
    splits: Sequence[int] | None = None,
) -> list[Cost]:
    """What each experiment will take on a machine like the one its stored results were computed on."""
    found = []
    for experiment in experiments:
        times = {r.name: float(r.values["total_seconds"]) for r in known if r.experiment == experiment.name}
        typical = sum(times.values()) / len(times) if times else None
        done = read_results(folders.results / f"{experiment.name}.json")
        there = missing = 0
        seconds = 0.0
        for source in experiment.sources:
            chosen = [split for split in folders.splits(source) if splits is None or split in splits]
            for split in chosen[:1] if experiment.first_split_only else chosen:
                for variant in experiment.variants:
                    name = name_of(source.group, split, variant.name)
                    if name in done and not force:
                        there += 1
                    else:
                        missing += 1
                        seconds += times.get(name, typical or 0.0)
        found.append(Cost(experiment.name, there, missing, None if typical is None else seconds))
    return found
