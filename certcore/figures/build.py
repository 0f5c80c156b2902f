"""Figures from results of the engine. Only attributes are read, so anything of the same shape will do."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from certcore.common.errors import InputError
from certcore.common.splits import average_radius, band, mean
from certcore.domain.perturbations import TYPES
from certcore.figures.data import (
    BarFigure,
    Bars,
    CompareFigure,
    ContourFigure,
    CurveFigure,
    DistributionFigure,
    FrontFigure,
    GraphFigure,
    Line,
    Meaning,
)
from certcore.figures.layout import positions_of
from certcore.figures.recipe import Recipe
from certcore.figures.style import RATIO_LABEL, STATES
from certcore.result.states import NOTHING

STATE_KEYS = tuple(STATES)


def lines_of(
    curve: Any, name: str = "", group: int = 0, kind: str = "collective", naive: bool = True
) -> tuple[Line, ...]:
    """The lines of one `Curve`: its certificate and, if wanted, the naive count."""
    parts = [(kind, curve.certified, curve.average_radius)]
    if naive:
        parts.append(("naive", curve.naive, curve.naive_average_radius))
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
        )
        for which, counts, radius in parts
    )


def mean_lines(
    curves: Sequence[Any], name: str = "", group: int = 0, kind: str = "collective", naive: bool = True
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
    for which in (kind, "naive") if naive else (kind,):
        counts = [curve.naive if which == "naive" else curve.certified for curve in curves]
        ratios = np.array([np.asarray(c) / max(int(curve.targets), 1) for c, curve in zip(counts, curves)])
        middle, around = mean(ratios), band(ratios)
        lines.append(
            Line(
                values=values,
                ratio=middle,
                kind=which,
                name=name,
                group=group,
                low=None if around is None else around[0],
                high=None if around is None else around[1],
                average_radius=average_radius(values, middle),
            )
        )
    return tuple(lines)


def curve_figure(
    curves: Sequence[Any],
    *,
    vary: str,
    names: Sequence[str] = (),
    paper: Sequence[Any] = (),
    naive: bool = True,
    log: bool = False,
    marker: float | None = None,
    title: str = "",
    name: str = "",
    facts: dict[str, Any] | None = None,
    recipe: Recipe | None = None,
) -> CurveFigure:
    """A curve, or a family of curves with one name each; `paper` are the same with the paper's relaxation.

    A member of the family may be a list of curves, one per split: it is drawn as their mean with a band. The
    naive count does not depend on local budgets or σ, so a family with one common naive line shows it once.
    """
    members = [curve if isinstance(curve, list | tuple) else [curve] for curve in curves]
    lines: list[Line] = []
    seen: set[bytes] = set()
    for group, splits in enumerate(members):
        label = names[group] if group < len(names) else ""
        for line in mean_lines(splits, label, group, "collective", naive):
            key = line.values.tobytes() + line.ratio.tobytes()
            if line.kind == "naive":
                if key in seen:
                    continue
                seen.add(key)
            lines.append(line)
    if len(members) > 1 and len(seen) == 1:
        # The one naive line belongs to the whole family, not to its first member.
        lines = [replace(line, name="") if line.kind == "naive" else line for line in lines]
    for group, curve in enumerate(paper):
        label = names[group] if group < len(names) else ""
        splits = curve if isinstance(curve, list | tuple) else [curve]
        lines += mean_lines(splits, label, group, "paper", naive=False)
    return CurveFigure(
        vary=vary,
        lines=tuple(lines),
        log=log,
        marker=marker,
        title=title,
        name=name or f"curve-{vary}",
        facts=facts or {},
        recipe=recipe,
    )


def contour_figure(
    surface: Any,
    *,
    x: str,
    y: str,
    show: str = "ratio",
    reference: Any = None,
    reference_kind: str = "naive",
    kind: str = "collective",
    levels: Sequence[float] = (0.5, 0.7),
    gaps: bool = True,
    marker: tuple[float, float] | None = None,
    x_log: bool = False,
    y_log: bool = False,
    title: str = "",
    name: str = "",
    facts: dict[str, Any] | None = None,
    recipe: Recipe | None = None,
) -> ContourFigure:
    """A map of a `Surface`; the reference is its naive count, or another surface (say, the paper's).

    Cells that are not done yet stay empty; with `gaps=False` they show the sound but weaker count known so far.
    """
    targets = max(int(surface.targets), 1)
    certified = _counts(surface.certified, getattr(surface, "done", None) if gaps else None)
    if reference is None:
        compared = np.asarray(surface.naive)
    else:
        compared = _counts(reference.certified, getattr(reference, "done", None) if gaps else None)
    return ContourFigure(
        x=x,
        y=y,
        x_values=surface.x_values,
        y_values=surface.y_values,
        ratio=certified / targets,
        reference=compared / targets,
        reference_kind=reference_kind,
        kind=kind,
        show=show,
        levels=tuple(levels),
        marker=marker,
        x_log=x_log,
        y_log=y_log,
        certified=certified,
        reference_certified=compared,
        targets=int(surface.targets),
        title=title,
        name=name or ("contours" if show == "ratio" else show) + f"-{x}-{y}",
        facts=facts or {},
        recipe=recipe,
    )


def _counts(counts: Any, done: Any) -> np.ndarray:
    """Counts, with gaps where a cell has not been computed yet."""
    array = np.asarray(counts)
    if done is None or np.asarray(done).all():
        return array
    return np.where(np.asarray(done), array, np.nan)


def class_figure(
    class_names: Sequence[str],
    certified: Sequence[int],
    naive: Sequence[int],
    sizes: Sequence[int],
    **more: Any,
) -> BarFigure:
    """Certified ratio per class, collective and naive, from counts.

    Each class is a target set of its own, attacked with the whole budget: every bar may be below the ratio of all
    targets together. The axis says so, on the screen and in every export.
    """
    size = np.maximum(np.asarray(sizes), 1)
    return BarFigure(
        categories=tuple(class_names),
        series=(
            Bars(label="collective", values=np.asarray(certified) / size, counts=np.asarray(certified)),
            Bars(label="naive", values=np.asarray(naive) / size, counts=np.asarray(naive), kind="naive"),
        ),
        sizes=np.asarray(sizes),
        **{"name": "classes", "label": f"{RATIO_LABEL} (whole budget against each class)", **more},
    )


def votes_figure(
    votes: Sequence[int],
    class_names: Sequence[str],
    prediction: int | None = None,
    node: str = "",
    **more: Any,
) -> BarFigure:
    """Estimation votes of one node per class; the certified label is marked."""
    names = [f"{name} (label)" if k == prediction else str(name) for k, name in enumerate(class_names)]
    title = f"Votes of node {node}" if node else ""
    return BarFigure(
        categories=tuple(names),
        series=(Bars(label="votes", values=np.asarray(votes)),),
        label="votes",
        meaning=Meaning.PLAIN,
        limit=None,
        **{"name": "votes", "title": title, **more},
    )


def graph_figure(
    instance: Any, certificate: Any, *, relaxed: bool = False, palette: str = "state", **more: Any
) -> GraphFigure:
    """The whole graph with the replayed integer attack, or with the relaxed adversary of the linear program.

    The states of nodes are those of `TargetState`, in the order of the style table.
    """
    graph = instance.graph
    allocation = certificate.fractional if relaxed else certificate.attack
    threat = certificate.threat
    words = certificate.states(instance.base.fronts(), integer=not relaxed)
    state = np.array([STATE_KEYS.index(word) for word in words], dtype=np.int64)
    deleted = amount = added = attackers = spent = None
    if allocation is not None:
        used = np.asarray(allocation.deleted, dtype=float) > NOTHING
        deleted, amount = graph.edges[used], np.asarray(allocation.deleted)[used]
        added = np.asarray(allocation.added).reshape(-1, 2)
        spent = np.asarray(allocation.attributes).sum(axis=0)
        if threat.sigma is not None:
            attackers = np.flatnonzero(np.asarray(allocation.attackers, dtype=float) > NOTHING)
    groups: Sequence[str] = STATE_KEYS
    if palette == "class":
        labels = instance.prediction if instance.prediction is not None else instance.labels
        if labels is None:
            raise InputError("this instance has neither predicted nor true labels; colour the graph by state instead")
        state = np.asarray(labels)
        names = instance.class_names or ()
        groups = (*names, *(f"class {k}" for k in range(len(names), int(state.max()) + 1)))
    return GraphFigure(
        positions=positions_of(instance),
        edges=graph.edges,
        state=state,
        groups=tuple(groups),
        palette=palette,
        deleted=deleted,
        amount=amount,
        added=added,
        attackers=attackers,
        protected=np.asarray(threat.protected, dtype=np.int64),
        spent=spent,
        names=instance.node_names,
        relaxed=relaxed,
        **{"name": "graph-relaxed" if relaxed else "graph", **more},
    )


def front_figure(
    points: np.ndarray,
    x: str,
    y: str,
    *,
    received: Sequence[float] | None = None,
    budgets: Sequence[float] | None = None,
    node: str = "",
    **more: Any,
) -> FrontFigure:
    """The front of one node in two of its four types, at the perturbation it receives in the other two.

    `points`, `received` and `budgets` speak about all four types. Points that need more of the other two
    types than the node receives of them are out of reach and not drawn; of the rest, only the minimal ones
    count.
    """
    i, j = TYPES.index(x), TYPES.index(y)
    others = [k for k in range(4) if k not in (i, j)]
    level = np.zeros(4) if received is None else np.asarray(received, dtype=float)
    points = np.asarray(points).reshape(-1, 4)
    flat = np.unique(points[(points[:, others] <= level[others]).all(axis=1)][:, [i, j]], axis=0)
    minimal = [p for p in flat if not any((q <= p).all() and (q < p).any() for q in flat)]
    return FrontFigure(
        x=x,
        y=y,
        points=np.array(minimal, dtype=np.int64).reshape(-1, 2),
        received=None if received is None else (float(received[i]), float(received[j])),
        budgets=None if budgets is None else (float(budgets[i]), float(budgets[j])),
        node=node,
        **{"name": "front", **more},
    )


def distribution_figure(
    p: np.ndarray,
    *,
    thresholds: Sequence[tuple[str, float]] = (("abstains", 0.5),),
    bins: int = 50,
    **more: Any,
) -> DistributionFigure:
    """Distribution of the lower bounds p of all nodes; nodes at or below one half abstain."""
    values = np.asarray(p, dtype=float)
    edges = np.linspace(0.0, 1.0, bins + 1)
    speaks = values > 0.5
    series = []
    for label, chosen, kind in (
        ("certifiable", speaks, "collective"),
        ("abstains (p ≤ 1/2)", ~speaks, "naive"),
    ):
        if chosen.any():
            series.append(Bars(label=label, values=np.histogram(values[chosen], edges)[0], kind=kind))
    if not series:
        series = [Bars(label="nodes", values=np.zeros(bins, dtype=np.int64))]
    return DistributionFigure(
        edges=edges, series=tuple(series), thresholds=tuple(thresholds), **{"name": "distribution-p", **more}
    )


def base_figure(
    fronts: Any,
    x: str,
    y: str | None = None,
    *,
    x_values: Sequence[int] | None = None,
    y_values: Sequence[int] | None = None,
    nodes: np.ndarray | None = None,
    **more: Any,
) -> ContourFigure:
    """Share of nodes that the base certificate covers at each budget of one or two types, node by node."""
    axes = [x] if y is None else [x, y]
    ends = [min(int(_largest(fronts, key)), 60) for key in axes]
    xs = np.arange(ends[0] + 1) if x_values is None else np.asarray(x_values)
    other = y or next(key for key in TYPES if key != x)
    ys = np.zeros(1, np.int64) if y is None else np.arange(ends[1] + 1) if y_values is None else np.asarray(y_values)
    chosen = np.arange(fronts.n_nodes) if nodes is None else np.asarray(nodes)
    counts = np.zeros((len(xs), len(ys)), dtype=np.int64)
    for i, a in enumerate(xs.tolist()):
        for j, b in enumerate(ys.tolist()):
            budget = [0, 0, 0, 0]
            budget[TYPES.index(x)], budget[TYPES.index(other)] = a, b
            counts[i, j] = int(fronts.certified(budget)[chosen].sum())
    return ContourFigure(
        x=x,
        y=other,
        x_values=xs,
        y_values=ys,
        ratio=counts / max(len(chosen), 1),
        certified=counts,
        targets=len(chosen),
        kind="naive",
        levels=(0.5,),
        measure="share certified node by node",
        **{"name": "base-" + "-".join(axes), **more},
    )


def _largest(fronts: Any, key: str) -> int:
    points = fronts.points[:, TYPES.index(key)]
    return int(points.max()) if len(points) else 1


@dataclass(frozen=True, eq=False)
class CompareEntry:
    """One instance of a comparison: its curve (or one curve per split), and its accuracy if known."""

    name: str
    curve: Any
    accuracy: float | None = None


def compare_figure(
    entries: Sequence[CompareEntry], *, vary: str, log: bool = False, marker: float | None = None, **more: Any
) -> CompareFigure:
    """Several instances on the same axes, with their accuracy, naive and collective r̄, and the gain."""
    lines: list[Line] = []
    rows = []
    for group, entry in enumerate(entries):
        splits = entry.curve if isinstance(entry.curve, list | tuple) else [entry.curve]
        ours, naive = mean_lines(splits, entry.name, group)
        lines += [ours, naive]
        gain = None
        if ours.average_radius is not None and naive.average_radius:
            gain = ours.average_radius / naive.average_radius
        rows.append((entry.name, entry.accuracy, naive.average_radius, ours.average_radius, gain))
    return CompareFigure(
        vary=vary,
        lines=tuple(lines),
        log=log,
        marker=marker,
        columns=("instance", "accuracy", "r̄ naive", "r̄ collective", "gain (×)"),
        meanings=(Meaning.PLAIN, Meaning.PLAIN, Meaning.CERTIFIED, Meaning.CERTIFIED, Meaning.CERTIFIED),
        rows=tuple(rows),
        **{"name": f"compare-{vary}", **more},
    )
