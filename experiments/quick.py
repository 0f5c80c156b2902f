"""All experiments end to end on little: models are trained, few votes counted, small programs certified.

Few votes give small radii, so nothing of it is a result: it shows that everything runs, on any machine, from the graph
to the table. It lives in a folder of its own and is never mixed with what was computed in full.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np

from certcore.common.errors import InputError
from certcore.common.files import atomic_write
from certcore.data.dataset import save_dataset
from certcore.instance.instance import load_instance
from experiments.source import BUNDLES, LOCAL, RESULTS, Folders, Source
from experiments.store import Result, Results
from experiments.table import markdown_table
from experiments.trials import Trial, dataset_in
from experiments.unit import Done, Experiment, Variant, run_experiment

SAMPLES, SELECTION, EPOCHS = 400, 100, 120
#: A convex certificate costs a third of a second for each node.
MOST_CONVEX = 60
#: Public graphs that take the place of those which are not part of the project; those of texts have no graph to read.
STAND_INS = {"cora_ml": "cora", "reuters_knn3_d200": "reuters_r8"}
FOLDER = Path("runs") / "quick"
PAGE = "QUICK.md"

Log = Callable[[str], None]


@dataclass(frozen=True)
class Quick:
    """A quick run in its folder; what is there is not repeated."""

    folder: Path
    data: Path | None = None
    log: Log = lambda line: None
    samples: int = SAMPLES
    epochs: int = EPOCHS
    _absent: dict[str, str] = field(default_factory=dict)
    """Why there is no bundle of a source, so that it is tried and told once."""

    def __post_init__(self) -> None:
        if self.folders.results.resolve() == RESULTS.resolve() or self.folder.resolve() == RESULTS.resolve():
            raise InputError("a quick run has few votes and does not go where results are kept; give another folder")

    @property
    def folders(self) -> Folders:
        return Folders(self.folder / "bundles", self.folder / "results", None, self.folder / "votes")

    def run(self, experiments: Iterable[Experiment]) -> Iterator[Done]:
        """Train, vote and certify what is missing."""
        experiments = list(experiments)
        for number, experiment in enumerate(experiments, 1):
            self.log(f"[{number}/{len(experiments)}] {experiment.title}")
            small = smaller(experiment, self.samples)
            ready = tuple(source for wanted in small.sources if (source := self.prepare(wanted, experiment.name)))
            yield from run_experiment(
                replace(small, sources=tuple(dict.fromkeys(ready))), self.folders, log=self.log, option=" --quick"
            )

    def prepare(self, source: Source, asked: str) -> Source | None:
        """The source, or its stand-in, with a bundle; None (and one sentence) if there is no graph to begin with."""
        from experiments.bundle import BundleRecipe, make_bundle

        graph, source = self._graph(source)
        if graph is None:
            self._tell(source, asked, "its graph is not part of the project; give it with --data")
            return None
        output = self.folders.bundle(source, 0)
        if source.group in self._absent:
            return None
        if not output.exists():
            recipe = BundleRecipe(
                graph, source.model, source.types, samples=self.samples, selection=SELECTION, epochs=self.epochs
            )
            votes = "" if source.types == "convex" else f" and counting {self.samples} votes"
            self.log(f"{asked}: training {source.group}{votes} …")
            try:
                make_bundle(recipe, output, work=self.folder / "work", jobs=1, layout=False, most_convex=MOST_CONVEX)
            except InputError as error:
                self._tell(source, asked, str(error))
                return None
        return source

    def _graph(self, source: Source) -> tuple[str | None, Source]:
        """Where the graph is read from, and what the source is called with it."""
        if not source.local:
            return self._embedded(source.dataset), source
        file, directed = LOCAL[source.dataset]
        if self.data is not None and (self.data / file).exists() and not directed:
            return str(self.data / file), source
        other = STAND_INS.get(source.dataset)
        return (None, source) if other is None else (self._embedded(other), replace(source, dataset=other))

    def _embedded(self, name: str) -> str:
        """The graph from a bundle that travels with the project, so that nothing is fetched; its name otherwise."""
        bundle = next(iter(sorted(BUNDLES.glob(f"{name}-*.npz"))), None)
        if bundle is None:
            return name
        path = self.folder / "work" / f"{name}.npz"
        if not path.exists():
            save_dataset(path, dataset_in(load_instance(bundle)))
        return str(path)

    def _tell(self, source: Source, asked: str, why: str) -> None:
        if source.group not in self._absent:
            self._absent[source.group] = why
            self.log(f"{asked}: {source.group} is left out: {why}")

    def write(self) -> Path:
        """The table of what ran."""
        results = Results(self.folders.results)
        lines = [
            (r.experiment, r.source, r.variant, str(r.samples or "–"), _said(r), f"{r.values['total_seconds']:.1f} s")
            for r in results
        ]
        headings = ("experiment", "source", "variant", "votes", "what came out", "time")
        path = self.folder / PAGE
        left_out = "".join(f"- {name}: {why}\n" for name, why in self._absent.items())
        with atomic_write(path, "w") as handle:
            handle.write(
                "# A quick run: not results\n\n"
                f"Every experiment of the paper from training to the table, on {self.samples} votes per node instead "
                f"of a million, {self.epochs} epochs at most, one split and few budgets. Few votes give small radii: "
                "compare nothing here with the paper; `python -m experiments table` writes the results. Written by "
                "`python -m experiments all --quick`.\n\n"
                + (f"Left out:\n{left_out}\n" if left_out else "")
                + markdown_table(headings, lines)
            )
        return path


def smaller(experiment: Experiment, samples: int) -> Experiment:
    """The same experiment with few budgets, one split, and two trials of many."""
    trials: list[Variant] = [
        replace(variant, samples=samples) for variant in experiment.variants if isinstance(variant, Trial)
    ]
    plain = [variant for variant in experiment.variants if not isinstance(variant, Trial)]
    settings = {name: _fewer(name, value) for name, value in experiment.settings.items()}
    return replace(experiment, variants=(*plain, *trials[:2]), settings=settings, first_split_only=True)


def _fewer(name: str, value: Any) -> Any:
    if isinstance(value, list):
        return value[: 2 if name in ("threats", "sigma", "local") else 4]
    if name == "most":
        return min(value, 32)
    return min(value, 2.0) if name == "time_limit" else value


def _said(result: Result) -> str:
    """What a unit found, in a few words: where the collective certificate gains most, a bracket, or a time."""
    values = result.values
    if "curves" in values:
        values = values["curves"][-1]
    if "certified" in values and "naive" in values and "rows" not in values:
        certified, naive = np.array(values["certified"]), np.array(values["naive"])
        index = np.unravel_index(int(np.argmax(certified - naive)), certified.shape)
        axes = [values["budgets"]] if "budgets" in values else [values["x_values"], values["y_values"]]
        where = " × ".join(str(axis[k]) for axis, k in zip(axes, index))
        return f"at {where}: naive {naive[index]}, collective {certified[index]} of {result.targets}"
    last = values["rows"][-1] if values.get("rows") else {}
    if "exact" in last:
        return (
            f"at {last['value']}: {last['relaxed']} by the paper's program, {last['exact']} by a stronger one, at most "
            f"{result.targets - last['attack']} of {result.targets}"
            if last["attack"] is not None
            else f"at {last['value']}: {last['relaxed']} by the paper's program, {last['exact']} by a stronger one"
        )
    if "processor_seconds" in last:
        return f"{last['processor_seconds']:.2f} s per certificate"
    return f"done, {len(values.get('rows', []))} rows"
