"""Converts curves to lines of a figure: one line, a family, a mean over splits, a bracket, an accuracy."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from certcore.common.errors import InputError
from certcore.common.statistics import average_radius, band, mean
from certcore.domain.perturbations import TABLE, canonical
from certcore.domain.threat import ThreatModel
from certcore.figures.kinds.curve import CurveFigure, Line
from certcore.figures.style import Kind
from certcore.instance.instance import TEST, Instance


def lines_of(
    curve: Any,
    name: str = "",
    group: int = 0,
    kind: str = Kind.COLLECTIVE,
    naive: bool = True,
    attacks: np.ndarray | None = None,
    changed: Sequence[int | None] | None = None,
) -> tuple[Line, ...]:
    """The lines of one `Curve`: its certificate and, if wanted, the naive count.

    `attacks` are the targets that the best known attack leaves uncertified at each value; they give the bracket's upper
    edge. `changed` are the labels that attacks on the model change at each value (None: not tried).
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
            changed=None if changed is None or which == Kind.NAIVE else np.array(changed, dtype=float),
            unchanged=None if changed is None or which == Kind.NAIVE else _left(curve, changed),
        )
        for which, counts, radius in parts
    )


def _left(curve: Any, attacks: Any) -> np.ndarray:
    """The ratio that the best known attacks leave certified, or unchanged; NaN where none was searched."""
    counted = len(curve.threat.targets) if curve.threat.targets is not None else int(curve.targets)
    taken = np.asarray(attacks, dtype=float)
    return np.maximum(counted - taken, np.asarray(curve.certified)) / max(int(curve.targets), 1)


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
    attacks: np.ndarray | None = None,
    changed: Sequence[int | None] | None = None,
    accuracy_of: int | None = None,
    controls: dict[str, float] | None = None,
    **more: Any,
) -> CurveFigure:
    """A curve, or a family of curves with one name each; `paper` are the same with the paper's relaxation.

    A member of the family may be a list of curves, one per split: it is drawn as their mean with a band. The naive
    count does not depend on local budgets or σ, so a family with one common naive line shows it once. `attacks`, for a
    single curve: how many targets the best known attack leaves uncertified at each value; `changed`: how many labels
    attacks on the model change there. `accuracy_of`: the targets
    are the right labels among this many, and ratios are certified accuracies. `controls`: accuracies of baselines that
    ignore edges (see `controls_beside`), drawn as horizontal lines. `more` are further fields of the figure, such as
    `log`, `marker` or `title`.
    """
    clean = None
    if accuracy_of is not None:
        clean = clean_accuracy(curves[0], accuracy_of)
        curves, paper = ([as_accuracy(one, accuracy_of) for one in some] for some in (curves, paper))
    lines = _family_lines([_splits(curve) for curve in curves], names, naive, attacks, changed)
    for group, curve in enumerate(paper):
        label = names[group] if group < len(names) else ""
        lines += mean_lines(_splits(curve), label, group, Kind.PAPER, naive=False)
    for label, share in (controls or {}).items():
        values = lines[0].values
        lines.append(Line(values=values, ratio=np.full(len(values), share), kind=Kind.CONTROL, name=label, group=0))
    return CurveFigure(
        vary=vary,
        lines=tuple(lines),
        accuracy=accuracy_of is not None,
        clean=clean,
        **{"name": f"curve-{vary}", **more},
    )


def _splits(curve: Any) -> list[Any]:
    return list(curve) if isinstance(curve, list | tuple) else [curve]


def _family_lines(
    members: list[list[Any]], names: Sequence[str], naive: bool, attacks: np.ndarray | None, changed: Any
) -> list[Line]:
    """The lines of all members of a family, without repeated naive lines."""
    lines: list[Line] = []
    seen: set[bytes] = set()
    for group, splits in enumerate(members):
        label = names[group] if group < len(names) else ""
        alone = len(members) == len(splits) == 1
        single = lines_of(splits[0], label, group, Kind.COLLECTIVE, naive, attacks, changed) if alone else None
        for line in single or mean_lines(splits, label, group, Kind.COLLECTIVE, naive):
            key = line.values.tobytes() + line.ratio.tobytes()
            if line.kind == Kind.NAIVE:
                if key in seen:
                    continue
                seen.add(key)
            lines.append(line)
    if len(members) > 1 and len(seen) == 1:
        # The common naive line belongs to the whole family, not to its first member.
        lines = [replace(line, name="") if line.kind == Kind.NAIVE else line for line in lines]
    return lines


def controls_beside(instance: Instance, threat: ThreatModel, vary: str, accuracy_of: int | None) -> dict[str, float]:
    """Baseline accuracies that are comparable: the curve shows accuracy on all test nodes, and only edges change."""
    varied = canonical(vary).removeprefix("local_")
    edges_only = not any(entry.at_nodes and (n or entry.name == varied) for entry, n in zip(TABLE, threat.budgets))
    test = 0 if instance.split is None else int((np.asarray(instance.split) == TEST).sum())
    return instance.controls if edges_only and accuracy_of == test else {}


def as_accuracy(curve: Any, number: int) -> Any:
    """The same counts as a fraction of more targets; splits have different target sets of equal size."""
    if isinstance(curve, list | tuple):
        return [as_accuracy(one, number) for one in curve]
    return replace(curve, targets=number)


def clean_accuracy(curve: Any, number: int) -> float:
    """The accuracy without an attack, for a curve over the right labels among this many targets."""
    splits = curve if isinstance(curve, list | tuple) else [curve]
    return sum(int(one.targets) for one in splits) / len(splits) / max(number, 1)
