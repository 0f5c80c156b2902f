"""Results on disk: one small JSON file per unit of work, with all that is needed to make it again."""

from __future__ import annotations

import hashlib
import importlib.metadata
import json
import os
import platform
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from certcore import __version__
from certcore.common.errors import InputError
from certcore.common.files import atomic_write
from certcore.common.plain import to_plain
from certcore.common.reading import read_json
from certcore.instance.instance import Instance
from experiments.source import RESULTS

FORMAT = "certcore-result-1"


@dataclass(frozen=True)
class Result:
    """One unit: an experiment on one split in one variant."""

    experiment: str
    source: str
    split: int
    variant: str
    settings: dict[str, Any]
    facts: dict[str, Any]
    values: dict[str, Any]
    provenance: dict[str, Any]

    @property
    def name(self) -> str:
        return f"{self.source}-s{self.split}-{self.variant}"

    @property
    def targets(self) -> int:
        return int(self.facts["targets"])

    @property
    def samples(self) -> int | None:
        number = self.facts.get("samples")
        return None if number is None else int(number)

    def ratios(self, key: str = "certified") -> np.ndarray:
        """A list of counts as certified ratios; NaN where nothing was computed."""
        return np.array(self.values[key], dtype=float) / max(1, self.targets)


def key_of(instance: Instance, settings: dict[str, Any]) -> str:
    """Changes when the result would: other votes, other fields, other budgets."""
    text = json.dumps([instance.digest, settings], sort_keys=True)
    return hashlib.sha256(text.encode()).hexdigest()[:24]


def path_of(folder: Path, experiment: str, source: str, split: int, variant: str) -> Path:
    return folder / experiment / f"{source}-s{split}-{variant}.json"


def facts_of(instance: Instance) -> dict[str, Any]:
    """What every result says about the instance behind it."""
    base = instance.base.facts
    wanted = ("samples", "alpha", "theta", "rule")
    assert instance.targets is not None
    return {
        "targets": len(instance.targets),
        "nodes": instance.graph.n_nodes,
        "edges": instance.graph.n_edges,
        "edge_field": instance.edge_field,
        "degree_over_16": float((np.diff(instance.graph.adj_indptr) > 16).mean()),
        "accuracy": instance.meta.get("accuracy", {}),
        **{key: base[key] for key in wanted if key in base},
    }


def provenance_of(instance: Instance, command: str) -> dict[str, Any]:
    packages = ("numpy", "scipy", "highspy")
    return {
        "command": command,
        "instance": instance.digest,
        "made_by": instance.meta.get("command", ""),
        "seed": instance.meta.get("seed"),
        "versions": {"certcore": __version__} | {name: importlib.metadata.version(name) for name in packages},
        "machine": f"{platform.machine()}, {os.cpu_count()} processors",
        **({"trial": instance.meta["trial"]} if "trial" in instance.meta else {}),
    }


def write_result(folder: Path, result: Result, key: str) -> Path:
    path = path_of(folder, result.experiment, result.source, result.split, result.variant)
    record = {
        "format": FORMAT,
        "key": key,
        "experiment": result.experiment,
        "source": result.source,
        "split": result.split,
        "variant": result.variant,
        "settings": result.settings,
        "facts": result.facts,
        "values": result.values,
        "provenance": result.provenance,
    }
    # One line per entry: short files, and differences that people can read.
    body = ",\n".join(f"{json.dumps(name)}: {json.dumps(to_plain(value, digits=6))}" for name, value in record.items())
    with atomic_write(path, "w") as handle:
        handle.write(f"{{\n{body}\n}}\n")
    return path


def read_result(path: Path) -> tuple[Result, str]:
    """A result and its key."""
    try:
        record = read_json(path.read_text(encoding="utf-8"), path.name)
        if record["format"] != FORMAT:
            raise InputError(f"{path.name} has the format {record['format']!r}; expected {FORMAT}")
        names = ("experiment", "source", "split", "variant", "settings", "facts", "values", "provenance")
        return Result(**{name: record[name] for name in names}), record["key"]
    except (InputError, OSError, ValueError, KeyError, TypeError) as error:
        raise InputError(
            f"{path.name} cannot be read as a result ({type(error).__name__}); delete it and run "
            "`python -m experiments` again"
        ) from error


def is_fresh(path: Path, key: str) -> bool:
    """Whether a unit is already done for this key; unreadable files are done again."""
    if not path.exists():
        return False
    try:
        return read_result(path)[1] == key
    except InputError:
        return False


class Results:
    """All results of a folder."""

    def __init__(self, folder: Path = RESULTS) -> None:
        self.folder = folder
        # Votes and attacks on models beside them have forms of their own.
        files = sorted(path for path in folder.glob("*/*.json") if path.parent.name not in ("votes", "attacks"))
        self._all = [read_result(path)[0] for path in files]

    def __len__(self) -> int:
        return len(self._all)

    def __iter__(self) -> Iterator[Result]:
        return iter(self._all)

    def find(self, experiment: str, source: str | None = None, variant: str | None = None) -> list[Result]:
        """Results in the order of their splits; only the splits with the largest number of votes are compared.

        Numbers from different numbers of votes must never be averaged: more votes give larger radii.
        """
        found = [
            result
            for result in self._all
            if result.experiment == experiment and source in (None, result.source) and variant in (None, result.variant)
        ]
        most: dict[tuple[str, str], int] = {}
        for result in found:
            place = (result.source, result.variant)
            most[place] = max(most.get(place, 0), result.samples or 0)
        same = [result for result in found if (result.samples or 0) == most[result.source, result.variant]]
        return sorted(same, key=lambda result: (result.source, result.variant, result.split))
