"""Content of a report: the certificate, its figures and tables, and their provenance."""

from __future__ import annotations

import math
import threading
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, Unpack

import numpy as np

from certcore import messages
from certcore.common.errors import InputError
from certcore.common.numbers import write_nodes
from certcore.common.progress import StepsDone, tell
from certcore.domain.perturbations import LABELS, TYPES, entry_of, preferred
from certcore.domain.threat import ThreatModel
from certcore.domain.view_spec import PLAIN, ViewSpec
from certcore.export.certificate import allocation, guarantee, provenance
from certcore.export.curve_range import FARTHEST, curve_values, length_values
from certcore.export.making import Known, make_known
from certcore.export.scripts import certify_command, draw_command, has_command
from certcore.figures.escape import for_file_name
from certcore.figures.figure import Figure
from certcore.figures.kinds.curve import CurveFigure
from certcore.figures.kinds.curve_lines import with_changed
from certcore.figures.table import Table
from certcore.instance.instance import Instance, accuracy_of, before_correct
from certcore.model_attack.along import attacks_along
from certcore.model_attack.ballots import changed_by_ballots
from certcore.model_attack.stored import ModelAttack, largest
from certcore.program.relaxation import Relaxation
from certcore.result.attack_text import attack_text
from certcore.result.certificate import Certificate
from certcore.sweep import Session
from certcore.sweep.radii import first_uncertified
from certcore.sweep.solve_options import SolveArguments

_MAP_SIDE = 9
_MOST_CLASSES = 12


@dataclass(frozen=True, eq=False)
class Report:
    """All results that `write_report` writes; nothing is computed later."""

    instance: Instance
    certificate: Certificate
    source: str
    guarantee: str
    figures: tuple[Figure, ...]
    allocation: Table | None
    provenance: dict[str, Any]
    commands: tuple[str, ...]
    accuracy: str = ""
    """The sentence on certified accuracy, if only the right labels are targets."""
    asked: int | None = None
    """The number of labels among which those are the right ones."""
    changed: str = ""
    """The sentence on attacks on the model."""


def with_attacks(report: Report, attacks: Sequence[ModelAttack]) -> Report:
    """The report with the largest stored attack on the model within the threat model, or that none was tried."""
    found = changed_by_ballots(report.instance, report.certificate)
    found = found or largest(attacks, report.instance, report.certificate.threat)
    told = str(messages.changed_words(found, report.asked))
    return replace(report, changed=told, figures=tuple(_told(one, report, attacks) for one in report.figures))


def _told(figure: Figure, report: Report, attacks: Sequence[ModelAttack]) -> Figure:
    """A curve with the labels that attacks on the model change, as its command draws it."""
    if not isinstance(figure, CurveFigure) or not attacks or figure.vary not in (*TYPES, "sigma"):
        return figure
    along = attacks_along(attacks, report.instance, report.certificate.threat, figure.vary)
    return with_changed(figure, along.changed(figure.lines[0].values.tolist()), report.certificate.targets)


def default_threat(instance: Instance, targets: np.ndarray | None = None) -> ThreatModel:
    """The default threat model of a report: the smallest budget at which the naive count is zero.

    It has one type, deletions before additions: there the collective certificate gains most.
    """
    order = [name for name in preferred() if name in instance.covered_types]
    if not order:
        raise InputError("the base certificate speaks about no perturbation type; there is nothing to report on")
    points = instance.base.fronts().points[:, TYPES.index(order[0])]
    local, scale = instance.base.local, instance.scale
    budgets: dict[str, Any] = {order[0]: max(1, int(points.max(initial=1)))}
    if scale is not None and "attr_l2" in order:
        most = instance.base.fronts().points[:, TYPES.index("attr_l2")].max(initial=1)
        budgets = {"attr_l2": math.ceil(scale.length(int(most)) / scale.step()) * scale.step()}
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
    quick: bool = False,
    progress: StepsDone | None = None,
    cancel: threading.Event | None = None,
    session: Session | None = None,
    counted: np.ndarray | None = None,
    **solving: Unpack[SolveArguments],
) -> Report:
    """Certify, sweep and draw: compute all results of a report.

    `source` is the instance's file name and `targets` the name of the target set; both appear in the command lines that
    reproduce it (the targets themselves are `threat.targets`). `quick` leaves out maps and classes, which need many
    solves. A `session` of the same instance is reused with its cached results. `counted`: the targets are the right
    labels among these nodes (implied where `targets` is `correct`), and ratios are certified accuracies.
    """
    if counted is None and accuracy_of(instance, targets) is not None:
        counted = instance.select_targets(before_correct(targets))
    threat = _threat_on(instance, threat, targets)
    maker = _Maker(
        instance, threat, source, targets, base_rule, str(solving.get("relaxation", "tight")), cancel, session, counted
    )
    steps = maker.steps(quick)
    total = len(steps) + 1
    tell(progress, 0, total, "certificate")
    certificate = maker.certificate = maker.session.certify(threat, **solving, proof=True, cancel=cancel)
    drawn: list[Figure] = []
    for done, (what, step) in enumerate(steps, 1):
        if cancel is not None and cancel.is_set():
            raise InputError("the report was cancelled; nothing was written")
        tell(progress, done, total, what)
        figure = step()
        if figure is not None:
            drawn.append(figure)
    tell(progress, total, total, "done")
    commands = [
        draw_command(one.spec, f"{for_file_name(one.name)}.csv") for one in drawn if one.spec and has_command(one)
    ]
    return Report(
        instance=instance,
        certificate=certificate,
        source=source,
        guarantee=guarantee(instance, certificate, maker.accuracy_of),
        figures=tuple(drawn),
        allocation=None if certificate.attack is None else allocation(instance, certificate),
        provenance=provenance(instance, certificate, source, maker.accuracy_of),
        commands=(certify_command(maker.spec("graph"), solving.get("time_limit")), *commands),
        accuracy=""
        if counted is None
        else str(messages.certified_accuracy(instance, threat, certificate.verified_certified, counted)),
        asked=maker.accuracy_of,
    )


def _threat_on(instance: Instance, threat: ThreatModel | None, targets: str | None) -> ThreatModel:
    """The threat model, or the default one, on the named targets."""
    chosen = None if targets is None else instance.select_targets(targets)
    if threat is None:
        return default_threat(instance, chosen)
    if chosen is None:
        return threat
    if threat.targets is None:
        return threat.replace(targets=chosen)
    if set(chosen.tolist()) != set(np.asarray(threat.targets).tolist()):
        raise InputError(f"the threat model counts other nodes than the targets {targets!r}; give one of both")
    return threat


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
        # Sweeps use the relaxed program even if the certificate itself is exact: one integer program is enough.
        self.relaxation = relaxation
        self.swept = str(Relaxation(relaxation).relaxed)
        self.cancel = cancel
        self.accuracy_of = None if counted is None else len(counted)
        self.ratio = "Certified ratio" if counted is None else "Certified accuracy"
        self.only = "" if counted is None else ", right labels only"
        self.certificate: Any = None
        self.facts = instance.facts() | {"threat": threat.to_json()}

    def steps(self, quick: bool) -> list[tuple[str, Callable[[], Figure | None]]]:
        """The figures in order: a name for the progress bar, and the method."""
        fixed = {"attr_l2"} if self.threat.attr_l2_sum else set()  # a sum of norms takes its place
        varied = [name for name, budget in zip(TYPES, self.threat.budgets) if budget and name not in fixed]
        varied = varied or [name for name in self.instance.base.axes if name not in fixed][:1]
        steps: list[tuple[str, Callable[[], Figure | None]]] = []
        for vary in varied:
            steps.append((f"curve over {LABELS[vary]}", partial(self.curve, vary)))
            if not quick:
                steps.append((f"curve over {LABELS[vary]} to its end", partial(self.full_curve, vary)))
        if self.threat.sigma is not None:
            steps.append(("curve over σ", partial(self.curve, "sigma")))
        pair = self.pair()
        if pair is not None and not quick:
            steps.append(("map of two budgets", partial(self.surface, *pair)))
        if not quick:
            steps.append(("certified ratio per class", self.classes))
        return [
            *steps,
            ("graph with the attack", self.graph),
            ("relaxed adversary", self.relaxed),
            ("base certificate", self.base),
            ("distribution of p", self.distribution),
        ]

    def spec(self, kind: str, *, targets: str | None = None, **options: Any) -> ViewSpec:
        nodes = write_nodes(self.nodes) if self.nodes is not None and self.targets is None else None
        return ViewSpec.of(
            kind,
            self.source,
            threat=self.threat,
            targets=targets or self.targets or nodes,
            relaxation=self.relaxation if kind in ("graph", "front") else self.swept,
            rule=self.base_rule,
            **(PLAIN | {name: value for name, value in options.items() if value is not None}),
        )

    def draw(self, kind: str, title: str, *, targets: str | None = None, name: str = "", **options: Any) -> Figure:
        """One figure, as the command in the report makes it again."""
        if kind in ("curve", "map"):
            options["accuracy_of"] = self.accuracy_of
        spec = self.spec(kind, targets=targets, **options)
        known = Known(self.threat, self.session, self.certificate, self.accuracy_of, self.cancel)
        more = {"name": name} if name else {}
        return make_known(spec, self.instance, known, title=title, facts=self.facts, **more)

    def curve(self, vary: str) -> Figure:
        here: Any = getattr(self.threat, vary) or 0
        scale = self.instance.scale if vary in TYPES and entry_of(vary).lengths else None
        values = curve_values(int(here)) if scale is None else length_values(float(here), float(scale.step()))
        what = "attacker count σ" if vary == "sigma" else LABELS[vary]
        return self.draw("curve", f"{self.ratio} against {what}", vary=vary, values=values)

    def full_curve(self, vary: str) -> Figure | None:
        """The curve over every integer up to where nothing is certified, from which the average radius follows."""
        if entry_of(vary).lengths:
            return None
        end = first_uncertified(
            self.session, self.threat, vary, most=FARTHEST, relaxation=self.swept, cancel=self.cancel
        )
        if end is None or end < 2:
            return None
        axes: Any = {"vary": vary, "values": list(range(int(end) + 1)), "log": end > 100}
        title = f"{self.ratio} against {LABELS[vary]}, to the end"
        return self.draw("curve", title, name=f"curve-full-{vary}", **axes)

    def pair(self) -> tuple[str, str] | None:
        """Two types for a map: those with a budget first, then others that the base certificate covers."""
        axes = [name for name in self.instance.covered_types if name != "attr_l2" or not self.threat.attr_l2_sum]
        axes.sort(key=lambda name: getattr(self.threat, name) == 0)
        return (axes[0], axes[1]) if len(axes) > 1 else None

    def _map_values(self, name: str) -> list[Any]:
        """Values of one axis of a map: beyond the given budget, and up to where the naive count is zero."""
        scale = self.instance.scale
        if entry_of(name).lengths and scale is not None:
            return length_values(float(getattr(self.threat, name)), float(scale.step()))[::3]
        points = self.instance.base.fronts().points[:, TYPES.index(name)]
        end = max(int(1.5 * getattr(self.threat, name)), int(points.max(initial=1)))
        step = max(1, -(-end // (_MAP_SIDE - 1)))
        return list(range(0, end + step, step))

    def surface(self, x: str, y: str) -> Figure:
        title, xs, ys = f"{self.ratio} over {LABELS[x]} and {LABELS[y]}", self._map_values(x), self._map_values(y)
        return self.draw("map", title, x=x, x_values=xs, y=y, y_values=ys)

    def classes(self) -> Figure | None:
        prediction = self.instance.prediction
        if prediction is None or not 1 < len(np.unique(prediction[self.certificate.target_nodes])) <= _MOST_CLASSES:
            return None
        title = f"Certified ratio per predicted class (each class as its own target set{self.only})"
        return self.draw("classes", title)

    def graph(self) -> Figure | None:
        if self.certificate.attack is None:
            return None
        attack = attack_text(self.instance, self.threat, self.certificate.attack)
        return self.draw("graph", "The best attack found (whole numbers, replayed)", attack=attack)

    def relaxed(self) -> Figure | None:
        if self.certificate.fractional is None:
            return None
        title = "The relaxed adversary of the linear program (fractions, not an attack)"
        return self.draw("graph", title, adversary="relaxed")

    def base(self) -> Figure:
        return self.draw("base", "Share of targets that the base certificate covers, node by node")

    def distribution(self) -> Figure | None:
        if getattr(self.instance.base, "probability", None) is None:
            return None
        return self.draw("distribution", "Distribution of p over all nodes", targets="all")
