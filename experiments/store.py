"""Results on disk: one JSON file per experiment; a line per unit of work, with all that is needed to make it again."""

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

FORMAT = "certcore-results-2"


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
        return name_of(self.source, self.split, self.variant)

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


def name_of(source: str, split: int, variant: str) -> str:
    """What a unit is called within its experiment."""
    return f"{source}-s{split}-{variant}"


def key_of(instance: Instance, settings: dict[str, Any]) -> str:
    """Changes when the result would: other votes, other fields, other budgets."""
    text = json.dumps([instance.digest, settings], sort_keys=True)
    return hashlib.sha256(text.encode()).hexdigest()[:24]


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
    """Add a result to the file of its experiment, in the place of an earlier one of the same name."""
    path = folder / f"{result.experiment}.json"
    write_results(path, read_results(path) | {result.name: (result, key)})
    return path


def write_results(path: Path, found: dict[str, tuple[Result, str]]) -> None:
    """One line per unit: differences that people can read."""
    lines = ",\n".join(json.dumps(_record(*found[name])) for name in sorted(found))
    with atomic_write(path, "w") as handle:
        handle.write(f'{{"format": "{FORMAT}", "results": [\n{lines}\n]}}\n')


def _record(result: Result, key: str) -> dict[str, Any]:
    record = to_plain({"key": key} | vars(result), digits=6)
    return record | {"values": {name: _short(value) for name, value in record["values"].items()}}


def read_results(path: Path) -> dict[str, tuple[Result, str]]:
    """The results of one experiment by their names, each with its key; none if there is no file."""
    if not path.exists():
        return {}
    try:
        record = read_json(path.read_text(encoding="utf-8"), path.name)
        if record["format"] != FORMAT:
            raise InputError(f"{path.name} has the format {record['format']!r}; expected {FORMAT}")
        found = {}
        for one in record["results"]:
            key = one.pop("key")
            values = {name: _long(value) for name, value in one.pop("values").items()}
            result = Result(**one, values=values)
            found[result.name] = (result, key)
        return found
    except (InputError, OSError, ValueError, KeyError, TypeError, AttributeError) as error:
        raise InputError(
            f"{path.name} cannot be read as results ({type(error).__name__}); bring back the file as it was, or delete "
            "it and run `python -m experiments` again"
        ) from error


def _short(value: Any) -> Any:
    """Long lists of whole numbers in short: `0..9` stands for 0 to 9, `7x4` for 7, 7, 7, 7."""
    if not isinstance(value, list) or len(value) < 32 or {type(one) for one in value} != {int}:
        return value
    short: list[int | str] = []
    start = 0
    while start < len(value):
        same = climbing = start + 1
        while same < len(value) and value[same] == value[start]:
            same += 1
        while climbing < len(value) and value[climbing] == value[climbing - 1] + 1:
            climbing += 1
        end = max(same, climbing)
        if end - start < 4:
            end = start + 1
            short.append(value[start])
        elif end == same:
            short.append(f"{value[start]}x{end - start}")
        else:
            short.append(f"{value[start]}..{value[end - 1]}")
        start = end
    return short


def _long(value: Any) -> Any:
    if not isinstance(value, list) or not any(isinstance(one, str) for one in value):
        return value
    numbers: list[int] = []
    for one in value:
        if isinstance(one, str) and ".." in one:
            first, last = map(int, one.split(".."))
            numbers += range(first, last + 1)
        elif isinstance(one, str):
            number, times = map(int, one.split("x"))
            numbers += [number] * times
        else:
            numbers.append(one)
    return numbers


class Results:
    """All results of a folder."""

    def __init__(self, folder: Path = RESULTS) -> None:
        self.folder = folder
        # The counts of attacks on models beside them have forms of their own.
        files = sorted(path for path in folder.glob("*.json") if path.name not in ("attacks.json", "gap.json"))
        self._all = [result for path in files for result, _ in read_results(path).values()]

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
