"""From curves to lines of a figure: one line, a family, a mean over splits, a bracket, an accuracy."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from certcore.common.errors import InputError
from certcore.common.splits import average_radius, band, mean
from certcore.domain.perturbations import TABLE, canonical
from certcore.domain.threat import ThreatModel
from certcore.figures.figure import Figure
from certcore.figures.kinds.curve import CurveFigure, Line
from certcore.figures.recipe import LoadedRecipe, Recipe, makes, member_name
from certcore.figures.style import Kind
from certcore.instance.instance import TEST, Instance
from certcore.program.relaxation import Relaxation
from certcore.sweep import Curve
from certcore.sweep.axis import Axis
from certcore.sweep.bracket import best_attacks, best_below


def lines_of(
    curve: Any,
    name: str = "",
    group: int = 0,
    kind: str = Kind.COLLECTIVE,
    naive: bool = True,
    attacks: np.ndarray | None = None,
) -> tuple[Line, ...]:
    """The lines of one `Curve`: its certificate and, if wanted, the naive count.

    `attacks` are the targets that the best attack known leaves uncertified at each value; they close the bracket.
    """
    parts = [(kind, curve.certified, curve.average_radius)]
    if naive:
        parts.append((Kind.NAIVE, curve.naive, curve.naive_average_radius))
    return tuple(
        Line(
            values=curve.values,
            ratio=np.asarray(counts) / max(int(curve.targets), 1),
            kind=which,
            name=name,
            group=group,
            certified=counts,
            targets=int(curve.targets),
            average_radius=radius,
            leaves=None if attacks is None or which == Kind.NAIVE else _left(curve, attacks),
        )
        for which, counts, radius in parts
    )


def _left(curve: Any, attacks: np.ndarray) -> np.ndarray:
    """The ratio that the best attacks leave certified, of the labels that are counted."""
    counted = len(curve.threat.targets) if curve.threat.targets is not None else int(curve.targets)
    return np.maximum(counted - np.asarray(attacks), np.asarray(curve.certified)) / max(int(curve.targets), 1)


def mean_lines(
    curves: Sequence[Any], name: str = "", group: int = 0, kind: str = Kind.COLLECTIVE, naive: bool = True
) -> tuple[Line, ...]:
    """Lines of several splits as one: the mean ratio with a band of one sample standard deviation.

    As in the paper, ratios are averaged first and the average radius is taken of the mean.
    """
    if not curves:
        raise InputError("there is no curve to average; give at least one split")
    if len(curves) == 1:
        return lines_of(curves[0], name, group, kind, naive)
    values = np.asarray(curves[0].values)
    if any(not np.array_equal(values, curve.values) for curve in curves):
        raise InputError("the splits have curves over different budgets; compute them over the same values")
    lines = []
    for which in (kind, Kind.NAIVE) if naive else (kind,):
        counts = [curve.naive if which == Kind.NAIVE else curve.certified for curve in curves]
        ratios = np.array([np.asarray(c) / max(int(curve.targets), 1) for c, curve in zip(counts, curves)])
        lines.append(mean_line(values, ratios, which, name, group))
    return tuple(lines)


def mean_line(values: np.ndarray, ratios: np.ndarray, kind: str, name: str, group: int) -> Line:
    """The mean of ratios (splits × values), with a band of one sample deviation if there are several splits."""
    middle, around = mean(ratios), band(ratios)
    low, high = (None, None) if around is None else around
    return Line(
        values=values, ratio=middle, kind=kind, name=name, group=group, low=low, high=high,
        average_radius=average_radius(values, middle),
    )  # fmt: skip


def curve_figure(
    curves: Sequence[Any],
    *,
    vary: str,
    names: Sequence[str] = (),
    paper: Sequence[Any] = (),
    naive: bool = True,
    log: bool = False,
    marker: float | None = None,
    attacks: np.ndarray | None = None,
    accuracy_of: int | None = None,
    controls: dict[str, float] | None = None,
    title: str = "",
    name: str = "",
    facts: dict[str, Any] | None = None,
    recipe: Recipe | None = None,
) -> CurveFigure:
    """A curve, or a family of curves with one name each; `paper` are the same with the paper's relaxation.

    A member of the family may be a list of curves, one per split: it is drawn as their mean with a band. The
    naive count does not depend on local budgets or σ, so a family with one common naive line shows it once.
    `attacks`, for a single curve: how many targets the best attack known leaves uncertified at each value.
    `accuracy_of`: the targets are the right labels among so many, and ratios are certified accuracies.
    `controls`: accuracies of models that ignore edges (see `controls_beside`), drawn across.
    """
    clean = None
    if accuracy_of is not None:
        clean = clean_accuracy(curves[0], accuracy_of)
        curves, paper = ([as_accuracy(one, accuracy_of) for one in some] for some in (curves, paper))
    members = [curve if isinstance(curve, list | tuple) else [curve] for curve in curves]
    lines: list[Line] = []
    seen: set[bytes] = set()
    for group, splits in enumerate(members):
        label = names[group] if group < len(names) else ""
        alone = attacks is not None and len(members) == len(splits) == 1
        told = lines_of(splits[0], label, group, Kind.COLLECTIVE, naive, attacks) if alone else None
        for line in told or mean_lines(splits, label, group, Kind.COLLECTIVE, naive):
            key = line.values.tobytes() + line.ratio.tobytes()
            if line.kind == Kind.NAIVE:
                if key in seen:
                    continue
                seen.add(key)
            lines.append(line)
    if len(members) > 1 and len(seen) == 1:
        # The one naive line belongs to the whole family, not to its first member.
        lines = [replace(line, name="") if line.kind == Kind.NAIVE else line for line in lines]
    for group, curve in enumerate(paper):
        label = names[group] if group < len(names) else ""
        splits = curve if isinstance(curve, list | tuple) else [curve]
        lines += mean_lines(splits, label, group, Kind.PAPER, naive=False)
    for label, share in (controls or {}).items():
        values = lines[0].values
        lines.append(Line(values=values, ratio=np.full(len(values), share), kind=Kind.CONTROL, name=label, group=0))
    return CurveFigure(
        vary=vary,
        lines=tuple(lines),
        log=log,
        marker=marker,
        accuracy=accuracy_of is not None,
        clean=clean,
        title=title,
        name=name or f"curve-{vary}",
        facts=facts or {},
        recipe=recipe,
    )


def controls_beside(instance: Instance, threat: ThreatModel, vary: str, accuracy_of: int | None) -> dict[str, float]:
    """Accuracies that may stand beside a curve: it shows the accuracy on all test nodes, and only edges change."""
    varied = canonical(vary).removeprefix("local_")
    edges_only = not any(entry.at_nodes and (n or entry.name == varied) for entry, n in zip(TABLE, threat.budgets))
    test = 0 if instance.split is None else int((np.asarray(instance.split) == TEST).sum())
    return instance.controls if edges_only and accuracy_of == test else {}


def as_accuracy(curve: Any, number: int) -> Any:
    """The same counts as a share of more targets; splits have their own sets, of one size."""
    if isinstance(curve, list | tuple):
        return [as_accuracy(one, number) for one in curve]
    return replace(curve, targets=number)


def clean_accuracy(curve: Any, number: int) -> float:
    """The accuracy without an attack of a curve over the right labels among so many targets."""
    splits = curve if isinstance(curve, list | tuple) else [curve]
    return sum(int(one.targets) for one in splits) / len(splits) / max(number, 1)


@makes("curve", "certified ratio against one budget, for one or several lines and splits", several=True)
def _make_curve(loaded: LoadedRecipe) -> Figure:
    options = loaded.options
    axis = options.get("family")
    family = None if axis is None else Axis.parse(axis)
    members: list[Any] = loaded.need("members") if family else [None]
    kinds = [loaded.swept] + ([Relaxation.PAPER] if options.get("paper") and loaded.swept != Relaxation.PAPER else [])
    found: dict[str, list[list[Curve]]] = {}
    for kind in kinds:
        found[kind] = []
        for value in members:
            line = []
            for instance in loaded.instances:
                threat = loaded.threat(instance)
                if family is not None:
                    threat = family.at(threat, value)
                line.append(loaded.curve(instance, threat, kind))
            found[kind].append(line)
    vary = Axis.parse(loaded.need("vary")).name
    attacks, known = None, options.get("bracket")
    if known:
        attacks = _attacks_at(loaded, vary, known)
    return curve_figure(
        found[kinds[0]],
        vary=vary,
        names=[] if family is None else [member_name(family.name, value) for value in members],
        paper=found.get(Relaxation.PAPER, []) if len(kinds) > 1 else [],
        naive=not options.get("no_naive"),
        log=bool(options.get("log")),
        marker=loaded.marker(loaded.threat(loaded.instance), vary),
        attacks=attacks,
        accuracy_of=options.get("accuracy_of"),
        controls=_mean_controls(loaded, vary, options.get("accuracy_of")),
    )


def _mean_controls(loaded: LoadedRecipe, vary: str, accuracy_of: int | None) -> dict[str, float]:
    """Over the splits, as the line itself; none if one of them does not know them all."""
    found = [controls_beside(one, loaded.threat(one), vary, accuracy_of) for one in loaded.instances]
    if any(one.keys() != found[0].keys() for one in found):
        return {}
    return {label: sum(one[label] for one in found) / len(found) for label in found[0]}


def _attacks_at(loaded: LoadedRecipe, vary: str, values: list[Any]) -> np.ndarray:
    """What the best attacks known at each value of the figure left when it was taken, or leave now: which one is found
    depends on what was solved before."""
    told = loaded.options.get("left")
    if told is None:
        threat, all_values = loaded.threat(loaded.instance), loaded.need("values")
        return best_attacks(loaded.instance, threat, vary, all_values, searched=values, relaxation=loaded.swept)
    if not re.fullmatch(r"\d{1,9}(,\d{1,9})*", str(told), flags=re.ASCII) or str(told).count(",") + 1 != len(values):
        raise InputError(
            f"--left is {str(told)[:40]!r}; expected {len(values)} whole numbers, one for each of --bracket"
        )
    return best_below(loaded.need("values"), np.array(values), np.array([int(part) for part in str(told).split(",")]))
