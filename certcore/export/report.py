"""What a report holds: the certificate, its figures and tables, and where everything came from."""

from __future__ import annotations

import threading
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np

from certcore import words
from certcore.common.errors import InputError
from certcore.common.progress import StepsDone, tell
from certcore.domain.perturbations import LABELS, TYPES, preferred
from certcore.domain.threat import ThreatModel
from certcore.export.certificate import allocation, guarantee, provenance
from certcore.export.curve_range import curve_values, zero_budget
from certcore.export.scripts import certify_command, draw_command, untold
from certcore.figures import (
    base_figure,
    class_figure,
    contour_figure,
    controls_beside,
    curve_figure,
    distribution_figure,
    graph_figure,
)
from certcore.figures.escape import for_file_name
from certcore.figures.figure import Figure
from certcore.figures.kinds.bars import class_counts
from certcore.figures.recipe import Recipe
from certcore.figures.table import Table
from certcore.instance.instance import Instance, accuracy_of, before_correct
from certcore.program.relaxation import Relaxation
from certcore.result.attack_text import attack_text
from certcore.result.certificate import Certificate
from certcore.sweep import Session, curve, surface

_MAP_SIDE = 9
_MOST_CLASSES = 12


@dataclass(frozen=True, eq=False)
class Report:
    """All that `write_report` writes; plain results, nothing is computed afterwards."""

    instance: Instance
    certificate: Certificate
    source: str
    guarantee: str
    figures: tuple[Figure, ...]
    allocation: Table | None
    provenance: dict[str, Any]
    commands: tuple[str, ...]
    accuracy: str = ""
    """Certified accuracy in words, where only the right labels are targets."""
    asked: int | None = None
    """Among how many labels those are the right ones."""


def default_threat(instance: Instance, targets: np.ndarray | None = None) -> ThreatModel:
    """A threat model worth a report where none is given: the first budget at which the naive count is zero.

    It speaks about one type, deletions before additions, because that is where one shared graph matters most.
    """
    order = [name for name in preferred() if name in instance.base.axes]
    if not order:
        raise InputError("the base certificate speaks about no perturbation type; there is nothing to report on")
    points = instance.base.fronts().points[:, TYPES.index(order[0])]
    local = instance.base.local
    budgets: dict[str, Any] = {order[0]: max(1, int(points.max(initial=1)))}
    if local is not None:
        allowed = local.joint if local.joint is not None else local.per_type[TYPES.index(order[0])]
        if allowed is not None:
            budgets[f"local_{order[0]}"] = int(allowed)
    return ThreatModel(**budgets, targets=targets)


def build_report(
    instance: Instance,
    threat: ThreatModel | None = None,
    *,
    source: str = "instance.npz",
    targets: str | None = None,
    base_rule: str = "binary",
    relaxation: str = "tight",
    time_limit: float | None = None,
    rounds: int | None = None,
    quick: bool = False,
    progress: StepsDone | None = None,
    cancel: threading.Event | None = None,
    session: Session | None = None,
    counted: np.ndarray | None = None,
) -> Report:
    """Certify, sweep and draw: everything a report holds.

    `source` is the instance's file name and `targets` the name of the target set, both for the command lines that
    reproduce it (`threat.targets` is what counts). `quick` leaves out maps and classes, which need many solves.
    A `session` of the same instance lends what it knows already. `counted`: the targets are the right labels among
    these nodes (known without it where `targets` is `correct`), and the report speaks of certified accuracy.
    """
    if counted is None and accuracy_of(instance, targets) is not None:
        counted = instance.select_targets(before_correct(targets))
    chosen = None if targets is None else instance.select_targets(targets)
    if threat is None:
        threat = default_threat(instance, chosen)
    elif threat.targets is None and chosen is not None:
        threat = threat.replace(targets=chosen)
    maker = _Maker(instance, threat, source, targets, base_rule, relaxation, cancel, session, counted)
    varied = [name for name, budget in zip(TYPES, threat.budgets) if budget] or [instance.base.axes[0]]
    steps: list[tuple[str, Callable[[], Figure | None]]] = []
    for vary in varied:
        steps.append((f"curve over {LABELS[vary]}", partial(maker.curve, vary)))
        if not quick:
            steps.append((f"curve over {LABELS[vary]} to its end", partial(maker.full_curve, vary)))
    if threat.sigma is not None:
        steps.append(("curve over σ", partial(maker.curve, "sigma")))
    pair = maker.pair()
    if pair is not None and not quick:
        steps.append(("map of two budgets", partial(maker.surface, *pair)))
    if not quick:
        steps.append(("certified ratio per class", maker.classes))
    steps += [
        ("graph with the attack", maker.graph),
        ("relaxed adversary", maker.relaxed),
        ("base certificate", maker.base),
        ("distribution of p", maker.distribution),
    ]
    total = len(steps) + 1
    tell(progress, 0, total, "certificate")
    maker.certificate = maker.session.certify(
        threat, relaxation=relaxation, time_limit=time_limit, rounds=rounds, proof=True, cancel=cancel
    )
    drawn: list[Figure] = []
    for done, (what, step) in enumerate(steps, 1):
        if cancel is not None and cancel.is_set():
            raise InputError("the report was cancelled; nothing was written")
        tell(progress, done, total, what)
        figure = step()
        if figure is not None:
            drawn.append(figure)
    tell(progress, total, total, "done")
    certificate = maker.certificate
    commands = [certify_command(maker.recipe("graph"), time_limit)]
    for figure in drawn:
        if figure.recipe is not None and untold(figure.recipe) is None:
            commands.append(draw_command(figure.recipe, f"{for_file_name(figure.name)}.csv"))
    return Report(
        instance=instance,
        certificate=certificate,
        source=source,
        guarantee=guarantee(instance, certificate, maker.accuracy_of),
        figures=tuple(drawn),
        allocation=None if certificate.attack is None else allocation(instance, certificate),
        provenance=provenance(instance, certificate, source),
        commands=tuple(commands),
        accuracy=""
        if counted is None
        else str(words.certified_accuracy(instance, threat, certificate.verified_certified, counted)),
        asked=maker.accuracy_of,
    )


class _Maker:
    """The figures of one report, made one after the other from one instance and threat model."""

    def __init__(
        self,
        instance: Instance,
        threat: ThreatModel,
        source: str,
        targets: str | None,
        base_rule: str,
        relaxation: str,
        cancel: threading.Event | None,
        session: Session | None,
        counted: np.ndarray | None = None,
    ) -> None:
        self.instance = instance
        self.session = session or Session(instance)
        self.threat = threat
        self.source = source
        self.targets = targets
        own = threat.targets is None or np.array_equal(threat.targets, np.asarray(instance.targets))
        self.nodes = None if own else tuple(np.asarray(threat.targets).tolist())
        self.base_rule = base_rule
        # Sweeps use the relaxed program also when the certificate itself is exact: one integer program is enough.
        self.relaxation = relaxation
        self.swept = str(Relaxation(relaxation).relaxed)
        self.cancel = cancel
        self.accuracy_of = None if counted is None else len(counted)
        self.ratio = "Certified ratio" if counted is None else "Certified accuracy"
        self.only = "" if counted is None else ", right labels only"
        self.certificate: Any = None
        self.facts = instance.facts() | {"threat": threat.to_json()}

    def recipe(self, kind: str, *, targets: str | None = None, **options: Any) -> Recipe:
        return Recipe(
            kind=kind,
            instances=(self.source,),
            threat=self.threat.to_json(),
            targets=targets or self.targets,
            nodes=self.nodes if targets is None and self.targets is None else None,
            relaxation=self.relaxation if kind in ("graph", "front") else self.swept,
            base_rule=self.base_rule,
            options=options,
        )

    def curve(self, vary: str) -> Figure:
        here = self.threat.sigma if vary == "sigma" else getattr(self.threat, vary)
        values = curve_values(int(here or 0))
        result = curve(self.session, self.threat, vary=vary, values=values, relaxation=self.swept, cancel=self.cancel)
        what = "attacker count σ" if vary == "sigma" else LABELS[vary]
        return curve_figure(
            [result],
            vary=vary,
            marker=here,
            title=f"{self.ratio} against {what}",
            accuracy_of=self.accuracy_of,
            controls=self.controls(vary),
            facts=self.facts,
            recipe=self.recipe("curve", vary=vary, values=values, accuracy_of=self.accuracy_of),
        )

    def controls(self, vary: str) -> dict[str, float]:
        return controls_beside(self.instance, self.threat, vary, self.accuracy_of)

    def full_curve(self, vary: str) -> Figure | None:
        """The curve over every whole number to where nothing is certified: it has an average radius."""
        end = zero_budget(self.session, self.threat, vary, relaxation=self.swept, cancel=self.cancel)
        if end is None or end < 2:
            return None
        values = list(range(end + 1))
        result = curve(self.session, self.threat, vary=vary, values=values, relaxation=self.swept, cancel=self.cancel)
        return curve_figure(
            [result],
            vary=vary,
            log=end > 100,
            marker=getattr(self.threat, vary),
            title=f"{self.ratio} against {LABELS[vary]}, to the end",
            accuracy_of=self.accuracy_of,
            controls=self.controls(vary),
            name=f"curve-full-{vary}",
            facts=self.facts,
            recipe=self.recipe("curve", vary=vary, values=values, log=end > 100, accuracy_of=self.accuracy_of),
        )

    def pair(self) -> tuple[str, str] | None:
        """Two types for a map: those with a budget first, then what else the base certificate speaks about."""
        axes = [name for name in TYPES if name in self.instance.base.axes]
        axes.sort(key=lambda name: getattr(self.threat, name) == 0)
        return (axes[0], axes[1]) if len(axes) > 1 else None

    def surface(self, x: str, y: str) -> Figure:
        points = self.instance.base.fronts().points
        ends = [
            max(int(1.5 * getattr(self.threat, name)), int(points[:, TYPES.index(name)].max(initial=1)))
            for name in (x, y)
        ]
        steps = [max(1, -(-end // (_MAP_SIDE - 1))) for end in ends]
        xs, ys = (list(range(0, end + step, step)) for end, step in zip(ends, steps))
        result = surface(
            self.session, self.threat, x=x, x_values=xs, y=y, y_values=ys, relaxation=self.swept, cancel=self.cancel
        )
        return contour_figure(
            result,
            x=x,
            y=y,
            marker=(getattr(self.threat, x), getattr(self.threat, y)),
            title=f"{self.ratio} over {LABELS[x]} and {LABELS[y]}",
            accuracy_of=self.accuracy_of,
            facts=self.facts,
            recipe=self.recipe("map", x=x, x_values=xs, y=y, y_values=ys, accuracy_of=self.accuracy_of),
        )

    def classes(self) -> Figure | None:
        targets = self.certificate.target_nodes
        prediction = self.instance.prediction
        if prediction is None or not 1 < len(np.unique(prediction[targets])) <= _MOST_CLASSES:
            return None
        found = class_counts(self.session, self.threat, targets, self.swept, cancel=self.cancel)
        if found is None:
            return None
        present, certified, naive, sizes = found
        known = self.instance.class_names
        return class_figure(
            [known[k] if known is not None and k < len(known) else f"class {k}" for k in present],
            certified,
            naive,
            sizes,
            title=f"Certified ratio per predicted class (each class as its own target set{self.only})",
            facts=self.facts,
            recipe=self.recipe("classes"),
        )

    def graph(self) -> Figure | None:
        if self.certificate.attack is None:
            return None
        title = "The best attack found (whole numbers, replayed)"
        return graph_figure(
            self.instance,
            self.certificate,
            title=title,
            facts=self.facts,
            recipe=self.recipe("graph", attack=attack_text(self.instance, self.threat, self.certificate.attack)),
        )

    def relaxed(self) -> Figure | None:
        if self.certificate.fractional is None:
            return None
        title = "The relaxed adversary of the linear program (fractions, not an attack)"
        return graph_figure(
            self.instance,
            self.certificate,
            relaxed=True,
            title=title,
            facts=self.facts,
            recipe=self.recipe("graph", relaxed=True),
        )

    def base(self) -> Figure:
        axes = [name for name in TYPES if name in self.instance.base.axes][:2]
        return base_figure(
            self.instance.base.fronts(),
            *axes,
            nodes=self.certificate.target_nodes,
            title="Share of targets that the base certificate covers, node by node",
            facts=self.facts,
            recipe=self.recipe("base"),
        )

    def distribution(self) -> Figure | None:
        p = getattr(self.instance.base, "probability", None)
        if p is None:
            return None
        return distribution_figure(
            np.asarray(p),
            title="Distribution of p over all nodes",
            facts=self.facts,
            recipe=self.recipe("distribution", targets="all"),
        )
