"""Figures of many bundles in one go, with progress; what is up to date is not computed again."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from certcore import __version__
from certcore.common.errors import InputError
from certcore.common.files import atomic_write
from certcore.common.progress import StepsDone, tell
from certcore.domain.perturbations import LABELS, TYPES
from certcore.domain.threat import ThreatModel
from certcore.export.curve_range import curve_values, zero_budget
from certcore.export.rendering import file_name, render
from certcore.export.rendering import formats as formats_of
from certcore.export.report import default_threat
from certcore.figures import CompareEntry, base_figure, compare_figure, curve_figure, distribution_figure
from certcore.figures.escape import for_file_name
from certcore.figures.figure import Figure
from certcore.figures.recipe import Recipe
from certcore.figures.serial import from_json
from certcore.instance.instance import Instance, load_instance
from certcore.sweep import Session, curve
from certcore.words import accuracy

FORMATS = ("pdf", "svg", "png", "latex", "csv", "json")
_STAMP = "made-from.json"


@dataclass(frozen=True)
class _Bundle:
    path: Path
    instance: Instance
    group: str

    @property
    def votes(self) -> int:
        return int(self.instance.base.facts.get("samples", 0))


def write_batch(
    paths: Sequence[str | Path],
    folder: str | Path,
    *,
    formats: Sequence[str] = FORMATS,
    width: str | float = "one-column",
    end: int | None = None,
    progress: StepsDone | None = None,
) -> list[Path]:
    """Write the figures of all bundles (and figures exported as JSON) in `paths` into `folder`; returns all files.

    Bundles that differ in the split only are one group: their curves are drawn as a mean with a band. Each group
    gets a folder with its curve, its base certificate and the distribution of p; groups over the same perturbation
    type are compared. `end` is the largest budget of the curves; without it they go to where nothing is certified any
    more. A group whose bundles, version and options have not changed is skipped, so an interrupted run continues where
    it stopped.
    """
    if not paths:
        raise InputError("there is no bundle to draw; give instance files, or make some with `certcore bundle`")
    target = Path(folder)
    drawings = [Path(path) for path in paths if str(path).endswith(".json")]
    bundles = [_read(Path(path)) for path in paths if not str(path).endswith(".json")]
    groups = _grouped(bundles)
    written: list[Path] = []
    entries: dict[str, list[CompareEntry]] = {}
    total = len(groups) + len(drawings) + 1
    for done, (group, members) in enumerate(groups.items()):
        tell(progress, done, total, group)
        made, entry, vary = _group(group, members, target / for_file_name(group), formats, width, end)
        written += made
        entries.setdefault(vary, []).append(entry)
    for done, path in enumerate(drawings, len(groups)):
        tell(progress, done, total, path.name)
        written += write_figure(_drawing(path), target, formats, width)
    tell(progress, total - 1, total, "comparison")
    for vary, several in entries.items():
        if len(several) > 1:
            far = max(int(entry.curve[0].values[-1]) for entry in several)
            compared = compare_figure(several, vary=vary, log=far > 100, title=f"All bundles over {LABELS[vary]}")
            written += write_figure(compared, target, formats, width)
    tell(progress, total, total, "done")
    return written


def write_figure(figure: Figure, folder: Path, formats: Sequence[str], width: str | float) -> list[Path]:
    """One figure in several formats, of those it has."""
    paths = []
    known = {format.key for format in formats_of(figure)}
    for format in formats:
        if format == "command" and format not in known:
            continue
        path = folder / file_name(figure, format)
        with atomic_write(path) as handle:
            handle.write(render(figure, format, width=width))
        paths.append(path)
    return paths


def _grouped(bundles: list[_Bundle]) -> dict[str, list[_Bundle]]:
    """Bundles of one group and one number of votes: what rests on different numbers of votes is never averaged."""
    votes: dict[str, set[int]] = {}
    for bundle in bundles:
        votes.setdefault(bundle.group, set()).add(bundle.votes)
    groups: dict[str, list[_Bundle]] = {}
    for bundle in bundles:
        several = len(votes[bundle.group]) > 1
        groups.setdefault(f"{bundle.group}-{bundle.votes}-votes" if several else bundle.group, []).append(bundle)
    return groups


def _read(path: Path) -> _Bundle:
    instance = load_instance(path)
    return _Bundle(path, instance, str(instance.meta.get("group") or path.stem))


def _drawing(path: Path) -> Figure:
    try:
        return from_json(path.read_text(encoding="utf-8"))
    except (OSError, UnicodeDecodeError) as error:
        raise InputError(f"cannot read {path}; expected a figure exported as JSON") from error


def _group(
    group: str, members: list[_Bundle], folder: Path, formats: Sequence[str], width: str | float, end: int | None
) -> tuple[list[Path], CompareEntry, str]:
    """Draw one group, or take its curve from the last run if nothing has changed."""
    threat = default_threat(members[0].instance)
    vary = next(name for name in TYPES if getattr(threat, name))
    stamp = {
        "version": __version__,
        "instances": [bundle.instance.digest for bundle in members],
        "vary": vary,
        "end": end,
        "formats": list(formats),
        "width": width,
    }
    kept = folder / _STAMP
    old = _stamp(kept)
    if old is not None and {key: old.get(key) for key in stamp} == stamp:
        files = [folder / name for name in old.get("files", [])]
        if files and all(file.exists() for file in files):
            return files, _entry(group, members, [_KeptCurve(**curve) for curve in old["curves"]]), vary
    sessions = [Session(bundle.instance) for bundle in members]
    base = threat.replace(**{vary: 0})
    values = _values(sessions, base, vary, end)
    curves = [curve(session, base, vary=vary, values=values) for session in sessions]
    written: list[Path] = []
    for figure in _figures(group, members, curves, vary, values):
        written += write_figure(figure, folder, formats, width)
    made = stamp | {"files": [file.name for file in written], "curves": [_KeptCurve.of(c).plain() for c in curves]}
    with atomic_write(kept, "w") as handle:
        json.dump(made, handle, allow_nan=False)
    return written, _entry(group, members, curves), vary


def _stamp(path: Path) -> dict[str, Any] | None:
    try:
        data = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return None
    return data if isinstance(data, dict) else None


def _values(sessions: list[Session], threat: ThreatModel, vary: str, end: int | None) -> list[int]:
    """Every whole number to the given end, or to where no split certifies anything; else some steps."""
    if end is not None:
        return list(range(end + 1))
    ends = [zero_budget(session, threat, vary) for session in sessions]
    known = [value for value in ends if value is not None]
    return list(range(max(known) + 1)) if len(known) == len(ends) else curve_values(200)


def _figures(group: str, members: list[_Bundle], curves: list[Any], vary: str, values: list[int]) -> list[Figure]:
    first = members[0].instance
    threat = default_threat(first).replace(**{vary: 0}).to_json()
    paths = tuple(str(bundle.path) for bundle in members)
    whole = Recipe("curve", paths, threat=threat, options={"vary": vary, "values": values, "log": values[-1] > 100})
    single = Recipe("base", paths[:1])
    facts = first.facts()
    figures: list[Figure] = [
        curve_figure(
            [list(curves)],
            vary=vary,
            log=values[-1] > 100,
            title=f"{group}: certified ratio",
            facts=facts,
            recipe=whole,
        )
    ]
    axes = [name for name in TYPES if name in first.base.axes][:2]
    figures.append(
        base_figure(
            first.base.fronts(),
            *axes,
            title=f"{group}: covered node by node",
            facts=facts,
            nodes=first.targets,
            recipe=single,
        )
    )
    p = getattr(first.base, "probability", None)
    if p is not None:
        told = Recipe("distribution", paths[:1], targets="all")
        figures.append(
            distribution_figure(np.asarray(p), title=f"{group}: distribution of p", facts=facts, recipe=told)
        )
    return figures


def _entry(group: str, members: list[_Bundle], curves: list[Any]) -> CompareEntry:
    found = [accuracy(bundle.instance) for bundle in members]
    known = [one.ratio for one in found if one is not None]
    return CompareEntry(group, list(curves), float(np.mean(known)) if known else None)


@dataclass(frozen=True)
class _KeptCurve:
    """A curve as it was kept between two runs."""

    values: list[int]
    certified: list[int]
    naive: list[int]
    targets: int
    average_radius: float | None
    naive_average_radius: float | None

    @classmethod
    def of(cls, curve: Any) -> _KeptCurve:
        return cls(
            np.asarray(curve.values).tolist(),
            np.asarray(curve.certified).tolist(),
            np.asarray(curve.naive).tolist(),
            int(curve.targets),
            curve.average_radius,
            curve.naive_average_radius,
        )

    def plain(self) -> dict[str, Any]:
        return dict(vars(self))
