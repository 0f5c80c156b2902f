"""Units of work: one experiment on one split in one variant. Done units are skipped, so any run can be resumed."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np

from certcore.base.smoothing import SmoothingBase
from certcore.instance.instance import Instance
from experiments.source import Folders, Source
from experiments.store import Result, facts_of, key_of, name_of, provenance_of, read_results, write_result

Work = Callable[..., dict[str, Any]]


@dataclass(frozen=True)
class Variant:
    """How an experiment is run: which relaxation, which rule for edge fields, which rule of the base certificate."""

    relaxation: str = "tight"
    edge_field: str | None = None
    rule: str | None = None
    samples: int | None = None
    """Use only so many of the votes, to compare with models or splits that have no more."""

    @property
    def name(self) -> str:
        parts = (self.relaxation, self.edge_field, self.rule, None if self.samples is None else str(self.samples))
        return "-".join(part for part in parts if part)

    def fits(self, instance: Instance) -> bool:
        """Whether the instance has as many votes as the variant asks for."""
        return self.samples is None or instance.base.facts.get("samples", 0) >= self.samples

    def key(self, instance: Instance, settings: dict[str, Any]) -> str:
        """What a stored result must have been made with."""
        return key_of(self.apply(instance), settings)

    def apply(self, instance: Instance) -> Instance:
        """The instance under this variant."""
        if self.edge_field is not None and self.edge_field != instance.edge_field:
            instance = replace(instance, edge_field=self.edge_field)
        if self.rule is not None:
            instance = replace(instance, base=replace(instance.base, rule=self.rule))  # type: ignore[type-var]
        if self.samples is not None and self.samples < instance.base.facts["samples"]:
            assert isinstance(instance.base, SmoothingBase)
            instance = replace(instance, base=thinned(instance.base, self.samples))
        return instance


def thinned(base: SmoothingBase, samples: int) -> SmoothingBase:
    """A base certificate from some of its votes, drawn without replacement: as if only these had been counted."""
    rng = np.random.default_rng([samples, base.n_samples])
    votes = np.array([rng.multivariate_hypergeometric(row, samples, method="marginals") for row in base.votes])
    return replace(base, votes=votes, n_samples=samples)


@dataclass(frozen=True)
class Experiment:
    """A figure or a table of the paper: sources × variants, all with the same work and settings.

    `work(instance, relaxation=…, **settings)` returns the values; settings are JSON and decide, with the instance,
    whether a stored result is still the right one. `first_split_only` is for what the paper shows on one model.
    """

    name: str
    title: str
    figure: str
    work: Work
    sources: tuple[Source, ...]
    variants: tuple[Variant, ...] = (Variant("paper"), Variant("tight"))
    settings: dict[str, Any] = field(default_factory=dict)
    first_split_only: bool = False


@dataclass(frozen=True)
class Done:
    """What happened to one unit."""

    path: Path
    skipped: bool
    seconds: float


def run_experiment(
    experiment: Experiment,
    folders: Folders,
    *,
    force: bool = False,
    splits: Iterable[int] | None = None,
    log: Callable[[str], None] = lambda line: None,
    option: str = "",
) -> Iterator[Done]:
    """Do what is missing of an experiment, one unit after the other; `option` is what the command says beside it."""
    for source in experiment.sources:
        found = list(folders.splits(source))
        chosen = [split for split in found if splits is None or split in splits]
        if experiment.first_split_only:
            chosen = chosen[:1]
        if not chosen:
            where = (
                "give its graph with --data"
                if not folders.has_graph(source)
                else "make it with `python -m experiments bundle`"
            )
            log(f"{experiment.name}: no votes of {source.group} at hand; {where}")
        for split in chosen:
            yield from _run_split(experiment, source, split, folders, force, log, option)


def _run_split(
    experiment: Experiment,
    source: Source,
    split: int,
    folders: Folders,
    force: bool,
    log: Callable[[str], None],
    option: str,
) -> Iterator[Done]:
    original = folders.load(source, split)
    for variant in experiment.variants:
        if not variant.fits(original):
            continue
        settings = {"relaxation": variant.relaxation, **experiment.settings}
        key = variant.key(original, settings)
        path = folders.results / f"{experiment.name}.json"
        done = {name: result for name, (result, stored) in read_results(path).items() if stored == key}
        if not force and name_of(source.group, split, variant.name) in done:
            yield Done(path, True, 0.0)
            continue
        log(f"{experiment.name}: {source.group} split {split}, {variant.name} …")
        started = time.perf_counter()
        instance = variant.apply(original)
        same = name_of(source.group, split, replace(variant, samples=None).name)
        if variant.samples is not None and same in done:  # what was just computed with all of these votes
            values = done[same].values
        else:
            values = experiment.work(instance, **settings)
        seconds = time.perf_counter() - started
        command = f"python -m experiments {experiment.name}{option}" + (" --data DIR" if source.local else "")
        result = Result(
            experiment=experiment.name, source=source.group, split=split, variant=variant.name, settings=settings,
            facts=facts_of(instance), values={"total_seconds": round(seconds, 3)} | values,
            provenance=provenance_of(instance, command),
        )  # fmt: skip
        yield Done(write_result(folders.results, result, key), False, seconds)
