"""Makes a figure from the description of a view: load the instances, compute the certificates, build the figure.

The figures themselves (`certcore.figures`) only draw results; the computations for `certcore draw` are here.
"""

from __future__ import annotations

import dataclasses
import glob
import os
import re
import threading
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from certcore.common.errors import InputError
from certcore.common.numbers import read_numbers
from certcore.domain.local_mode import LocalMode
from certcore.domain.perturbations import TYPES, entry_of
from certcore.domain.threat import ThreatModel
from certcore.domain.view_spec import ViewSpec
from certcore.export.curve_range import length_values
from certcore.figures.escape import clean
from certcore.figures.figure import Figure
from certcore.figures.kinds.bars import class_figure, votes_figure
from certcore.figures.kinds.base import base_figure
from certcore.figures.kinds.compare import CompareEntry, compare_figure
from certcore.figures.kinds.contour import MapOf, contour_figure
from certcore.figures.kinds.curve_lines import controls_beside, curve_figure
from certcore.figures.kinds.distribution import distribution_figure
from certcore.figures.kinds.front import front_figure, two_axes
from certcore.figures.kinds.graph import graph_figure, read_states
from certcore.figures.paper import paper_figure
from certcore.figures.style import Kind, member_name
from certcore.instance.instance import Instance, accuracy_of, load_instance
from certcore.instance.local_limits import most_per_node, within_base
from certcore.messages.accuracy import accuracy
from certcore.model_attack.along import attacks_along
from certcore.model_attack.ballots import changed_by_ballots
from certcore.model_attack.stored import ModelAttack, attacks_on, largest
from certcore.program.relaxation import Relaxation
from certcore.result.attack_text import read_attack
from certcore.result.certificate import Certificate
from certcore.sweep import Curve, Session, Surface, curve, surface
from certcore.sweep.attack_curve import attacks_over, best_attacks, best_within
from certcore.sweep.axis import Axis
from certcore.sweep.classes import certify_classes
from certcore.sweep.radii import first_uncertified
from certcore.sweep.ranges import (
    MOST_VALUES,
    end_of,
    family_axis,
    first_axes,
    first_axis,
    first_budget,
    first_end,
    map_end,
    map_stages,
    refined,
    stops,
    unit_of,
)

#: Every kind of figure that can be made again, with a description; `paper` is read from a file, others are computed.
KINDS_OF_FIGURES = {"paper": "a figure of the paper from the stored results"}


@dataclasses.dataclass(frozen=True, eq=False)
class Known:
    """What is known of a view that is not read from files; `accuracy_of` as in `curve_figure`."""

    threat: ThreatModel
    session: Session
    certificate: Certificate
    accuracy_of: int | None = None
    cancel: threading.Event | None = None


class LoadedView:
    """A view with its instances loaded and its defaults filled in, as on its dashboard page."""

    def __init__(
        self,
        spec: ViewSpec,
        instances: list[Instance],
        known: Known | None = None,
        own: int = 0,
        file: Path | None = None,
    ) -> None:
        self.spec = spec
        self.file = file
        self.known = known
        self.cancel = None if known is None else known.cancel
        self.instances = instances
        self.instance = instances[own]
        # Sweeps use the relaxation: strong search with a time limit and the integer program are for single
        # certificates.
        self.rounds: int | None = spec["rounds"]
        self.swept = spec.relaxation if self.rounds is not None else str(Relaxation(spec.relaxation).relaxed)

    @classmethod
    def of_files(cls, spec: ViewSpec, files: list[Path]) -> LoadedView:
        every = splits_beside(files[0]) if spec["splits"] and len(files) == 1 else files
        instances = [load_instance(path, base_rule=spec["rule"]) for path in every]
        return cls(spec, instances, own=every.index(files[0]), file=files[0])

    def attacks(self) -> Sequence[ModelAttack]:
        """Attacks on the model; those beside the file of another instance are left out."""
        try:
            return [] if self.file is None else attacks_on(self.file, self.instance)
        except InputError:
            return []

    def session(self, instance: Instance) -> Session:
        return Session(instance) if self.known is None else self.known.session

    def targets(self, instance: Instance) -> np.ndarray | None:
        """The chosen targets; None: the instance's own."""
        return None if self.spec.targets is None else instance.select_targets(self.spec.targets)

    def target_nodes(self) -> np.ndarray:
        chosen = self.targets(self.instance)
        return np.asarray(self.instance.targets if chosen is None else chosen)

    def threat(self, instance: Instance) -> ThreatModel:
        if self.known is not None:
            return self.known.threat
        threat = self.spec.threat(self.targets(instance))
        if not self.spec.has_budgets:
            start: dict[str, Any] = first_budget(self.instance)
            threat = threat.replace(**start)
        return within_base(threat, instance) if self.spec["within_base"] else threat

    def accuracy_of(self) -> int | None:
        """The denominator of certified accuracies; None: ratios are fractions of the targets."""
        if self.known is not None:
            return self.known.accuracy_of
        given = self.spec["accuracy_of"]
        if given in ("all", "none"):
            return accuracy_of(self.instance, self.spec.targets) if given == "all" else None
        return int(given)

    def marker(self, threat: ThreatModel, name: str) -> float | None:
        """The position of the threat model's own value on an axis."""
        value: Any = getattr(threat, name)
        shares = name.startswith("local_") and threat.local_mode == LocalMode.RELATIVE
        return None if value is None or isinstance(value, np.ndarray) or shares else float(value)

    def node(self) -> int:
        node = self.spec["node"]
        if node is None:
            raise InputError(f"a figure of kind {self.spec.kind} is of one node; name it by --node N or node=N")
        if node >= self.instance.graph.n_nodes:
            raise InputError(f"there is no node {node:,}; expected 0 to {self.instance.graph.n_nodes - 1:,}")
        return int(node)

    def node_name(self, node: int) -> str:
        names = self.instance.node_names
        return clean(names[node], 60) if names is not None else f"node {node}"

    def class_name(self, k: int) -> str:
        known = self.instance.class_names
        return known[k] if known is not None and k < len(known) else f"class {k}"

    def certificate(self) -> Certificate:
        """The certificate with the attack stored in the view; without one, an attack is searched for."""
        if self.known is not None:
            return self.known.certificate
        threat = self.threat(self.instance)
        text = self.spec["attack"]
        session = Session(self.instance)  # of several optimal solutions, the one that the dashboard found
        if not text:
            return session.certify(threat, relaxation=self.spec.relaxation, rounds=self.rounds)
        attack = read_attack(self.instance, threat, text)
        found = session.certify(threat, relaxation=self.swept, rounds=self.rounds, attack=False)
        return dataclasses.replace(found, attack=attack)

    def vary(self) -> str:
        return Axis.parse(self.spec["vary"] or first_axis(self.instance, self.threat(self.instance))).name

    def values(self, vary: str) -> list[Any]:
        """The values of a curve: those given, or by default those of the dashboard page."""
        if self.spec["values"]:
            return self.numbers("values", vary)
        if self.spec["every"] and self.spec["to"] is None and vary in TYPES and not entry_of(vary).lengths:
            return self._to_zero(vary)
        scale = self.instance.scale
        if scale is not None and vary in TYPES and entry_of(vary).lengths:
            return length_values(self.marker(self.threat(self.instance), vary) or 0.0, float(scale.step()))
        end = end_of(self.instance, vary)
        if self.spec.kind == "compare":
            end = first_end(self.marker(self.threat(self.instance), vary), end)
        return refined(stops(self.spec["to"] or end, unit_of(self.instance, vary)), vary)

    def _to_zero(self, vary: str) -> list[int]:
        """Every integer up to the first at which nothing is certified."""
        last = 0
        for one in self.instances:
            found = first_uncertified(Session(one), self.threat(one), vary, relaxation=self.swept)
            last = max(last, min(end_of(one, vary) if found is None else int(found), MOST_VALUES))
        return list(range(last + 1))

    def numbers(self, name: str, axis: str = "") -> list[Any]:
        """Numbers of a setting; fractions where they are relative local budgets or lengths."""
        shares = axis.startswith("local_") and self.spec["local"] == LocalMode.RELATIVE
        lengths = axis in TYPES and entry_of(axis).lengths
        found = read_numbers(self.spec[name], name, shares=shares or lengths)
        return [float(value) for value in found] if lengths else found

    def curve(self, instance: Instance, threat: ThreatModel, relaxation: str, vary: str, values: list[Any]) -> Curve:
        rounds = self.rounds if relaxation == Relaxation.STRONG else None
        how: Any = {"relaxation": relaxation, "rounds": rounds, "cancel": self.cancel}
        return curve(self.session(instance), threat, vary, values, **how)


def instance_file(name: str) -> Path:
    """The file of an instance: a path, or a name as in an address, looked up in the folders of the dashboard."""
    folders = [
        Path(os.environ.get("CERTCORE_BUNDLES", "precomputed")),
        Path(os.environ.get("CERTCORE_IMPORTS", "runs/imported")),
    ]
    if name.endswith(".npz") or "/" in name:
        return Path(name)
    found = [folder / f"{name}.npz" for folder in folders if (folder / f"{name}.npz").is_file()]
    if not found:
        raise InputError(f"there is no instance {name[:80]!r} in {folders[0]} or {folders[1]}; give its file")
    return found[0]


def splits_beside(path: Path) -> list[Path]:
    """Bundles in the same folder that differ in the split only; all need the same number of votes to be averaged."""
    own = load_instance(path)
    beside = sorted(path.parent.glob(f"{glob.escape(path.stem.rsplit('-s', 1)[0])}-s*.npz"))
    if own.meta.get("group") is None or path.stem.startswith("import-"):
        return [path]
    votes = own.base.facts.get("samples")
    same = [one for one in beside if one.stem.rsplit("-s", 1)[0] == path.stem.rsplit("-s", 1)[0]]
    return [one for one in same if one == path or load_instance(one).base.facts.get("samples") == votes]


_Maker = Callable[[LoadedView], Figure]
MAKERS: dict[str, tuple[_Maker, bool]] = {}


def makes(kind: str, what: str, *, several: bool = False) -> Callable[[_Maker], _Maker]:
    """Register the function that makes one kind of figure from one instance, or from several."""

    def register(maker: _Maker) -> _Maker:
        KINDS_OF_FIGURES[kind] = what
        MAKERS[kind] = maker, several
        return maker

    return register


def make(view: ViewSpec | str) -> Figure:
    """The figure of a view, or of an address such as `curves?instance=x&attr_del=10`.

    It has the same numbers as the page that the view was taken from.
    """
    spec = ViewSpec.from_query(view) if isinstance(view, str) else view
    if spec.kind == "paper":
        return paper_figure(spec.instances)
    maker, several = MAKERS[spec.kind]
    if not spec.instances or (len(spec.instances) > 1 and not several):
        wanted = "at least one instance" if several else "one instance"
        raise InputError(f"a figure of kind {spec.kind} takes {wanted}; {len(spec.instances)} are given")
    loaded = LoadedView.of_files(spec, [instance_file(name) for name in spec.instances])
    return dataclasses.replace(maker(loaded), spec=spec)


def make_known(spec: ViewSpec, instance: Instance, known: Known, **more: Any) -> Figure:
    """The figure of a view of one instance, from what is known of it already; `more` are further fields of it."""
    maker, _ = MAKERS[spec.kind]
    return dataclasses.replace(maker(LoadedView(spec, [instance], known)), spec=spec, **more)


@makes("curve", "certified ratio against one budget, for one or several lines and splits", several=True)
def _make_curve(loaded: LoadedView) -> Figure:
    spec, vary = loaded.spec, loaded.vary()
    values = loaded.values(vary)
    family, members = _family(loaded, vary)
    alone = family is None and len(loaded.instances) == 1
    kinds = [loaded.swept] + ([Relaxation.PAPER] if spec["paper"] and loaded.swept != Relaxation.PAPER else [])
    found: dict[str, list[list[Curve]]] = {}
    for kind in kinds:
        found[kind] = []
        for value in members:
            line = []
            for instance in loaded.instances:
                threat = loaded.threat(instance)
                if family is not None:
                    threat = family.at(threat, value)
                line.append(loaded.curve(instance, threat, kind, vary, values))
            found[kind].append(line)
    return curve_figure(
        found[kinds[0]],
        vary=vary,
        names=[] if family is None else [member_name(family.name, value) for value in members],
        paper=found.get(Relaxation.PAPER, []) if len(kinds) > 1 else [],
        naive=not spec["no_naive"],
        log=spec["log"],
        marker=loaded.marker(loaded.threat(loaded.instance), vary),
        attacks=_attacks_at(loaded, vary, values) if alone else None,
        changed=_changed_at(loaded, vary, values) if alone else None,
        accuracy_of=loaded.accuracy_of(),
        controls=_mean_controls(loaded, vary, loaded.accuracy_of()),
    )


def _family(loaded: LoadedView, vary: str) -> tuple[Axis | None, list[Any]]:
    """The parameter in which the lines differ, and its values; local budgets stay within the base certificate's."""
    if loaded.spec["family"] == "none":
        return None, [None]
    axis = Axis.parse(family_axis(loaded.spec["family"], vary, loaded.threat(loaded.instance)))
    members = loaded.numbers("members", axis.name)
    most = most_per_node(loaded.instance)[TYPES[axis.kind]] if axis.is_local and loaded.spec["within_base"] else None
    return axis, members if most is None else list(dict.fromkeys(min(value, most) for value in members))


def _mean_controls(loaded: LoadedView, vary: str, accuracy_of: int | None) -> dict[str, float]:
    """The baselines averaged over splits, as for the line itself; none if a split lacks one of them."""
    found = [controls_beside(one, loaded.threat(one), vary, accuracy_of) for one in loaded.instances]
    if any(one.keys() != found[0].keys() for one in found):
        return {}
    return {label: sum(one[label] for one in found) / len(found) for label in found[0]}


def _few(loaded: LoadedView, vary: str, values: list[Any]) -> list[Any]:
    """The default values at which attacks are searched for."""
    if unit_of(loaded.instance, vary) != 1:
        return values
    return [value for value in stops(int(values[-1])) if value in values]


def _attacks_at(loaded: LoadedView, vary: str, values: list[Any]) -> np.ndarray | None:
    """Targets left uncertified by the best attack found at each value."""
    bracket = loaded.spec["bracket"]
    if bracket == "none" or (bracket == "auto" and (vary.startswith("local_") or isinstance(values[-1], float))):
        return None
    searched = _few(loaded, vary, values) if bracket == "auto" else None
    searched = loaded.numbers("bracket", vary) if searched is None else searched
    threat = loaded.threat(loaded.instance)
    return best_attacks(loaded.instance, threat, vary, values, searched=searched, relaxation=loaded.swept)


def _changed_at(loaded: LoadedView, vary: str, values: list[Any]) -> list[int | None] | None:
    """Labels that the attacks on the model stored beside the instance change at each value; None where none is."""
    attacks = loaded.attacks() if vary in (*TYPES, "sigma") else ()
    return (
        None
        if not attacks
        else attacks_along(attacks, loaded.instance, loaded.threat(loaded.instance), vary).changed(values)
    )


@makes("compare", "several instances over the same budget", several=True)
def _make_compare(loaded: LoadedView) -> Figure:
    """Instances of the same name are splits of one line; local budgets are limited to each base certificate's."""
    vary = loaded.vary()
    values = loaded.values(vary)
    names = loaded.spec.names or [Path(path).stem for path in loaded.spec.instances]
    if len(names) != len(loaded.instances):
        raise InputError(f"{len(names)} names for {len(loaded.instances)} instances; give each of them one --name")
    lines: dict[str, list[Curve]] = {}
    about: dict[str, tuple[float | None, int | None, int | None]] = {}
    for name, instance in zip(names, loaded.instances):
        right, votes = accuracy(instance), instance.base.facts.get("samples")
        asked = accuracy_of(instance, loaded.spec.targets)
        about.setdefault(name, (None if right is None else right.ratio, asked, votes))
        threat = within_base(loaded.threat(instance), instance)
        lines.setdefault(name, []).append(loaded.curve(instance, threat, loaded.swept, vary, values))
    return compare_figure(
        [CompareEntry(name, curves, *about[name]) for name, curves in lines.items()],
        vary=vary,
        log=loaded.spec["log"],
        marker=loaded.marker(loaded.threat(loaded.instance), vary),
    )


@makes("map", "certified ratio over two budgets")
def _make_map(loaded: LoadedView) -> Figure:
    spec, show = loaded.spec, loaded.spec["show"]
    x, y = (Axis.parse(name, local=False, new=True).name for name in first_axes(loaded.instance, spec["x"], spec["y"]))
    xs, ys = _map_values(loaded, x, y)
    threat = loaded.threat(loaded.instance)
    session = loaded.session(loaded.instance)

    def over(relaxation: str) -> Surface:
        rounds = loaded.rounds if relaxation == Relaxation.STRONG else None
        return surface(session, threat, x, xs, y, ys, relaxation=relaxation, rounds=rounds, cancel=loaded.cancel)

    across, up = loaded.marker(threat, x), loaded.marker(threat, y)
    main = over(Relaxation.TIGHT if show == "paper" else loaded.swept)
    attacks = None
    if spec["left"] or show == "bracket":
        known = _attacks_listed(spec["left"]) if spec["left"] else _attacks_now(session, main, loaded.swept)
        attacks = best_within(main.x_values, main.y_values, known)
    levels = [] if spec["levels"] == "none" else spec["levels"]
    return contour_figure(
        main, x=x, y=y, show=MapOf.parse({"naive": "difference", "paper": "difference"}.get(show, show), "show"),
        attacks=attacks, reference=over(Relaxation.PAPER) if show == "paper" else None,
        reference_kind=Kind.PAPER if show == "paper" else Kind.NAIVE,
        kind=Kind.PAPER if loaded.swept == Relaxation.PAPER and show != "paper" else Kind.COLLECTIVE,
        levels=tuple(float(part) for part in (levels.split(",") if isinstance(levels, str) else levels)),
        marker=None if across is None or up is None else (across, up), accuracy_of=loaded.accuracy_of(),
    )  # fmt: skip


def _map_values(loaded: LoadedView, x: str, y: str) -> tuple[list[int], list[int]]:
    """The values on both axes: those given, or by default those of the dashboard page."""
    spec = loaded.spec
    ends = [spec[f"{name}_to"] or map_end(loaded.instance, axis) for name, axis in (("x", x), ("y", y))]
    usual = map_stages((ends[0], ends[1]), finest=spec["show"] != "paper")[-1]
    chosen = [
        loaded.numbers(f"{name}_values", axis) if spec[f"{name}_values"] else None
        for name, axis in (("x", x), ("y", y))
    ]
    return chosen[0] or usual[0], chosen[1] or usual[1]


def _attacks_listed(text: str) -> list[tuple[float, float, int]]:
    """The attacks stored in the view, as (x, y, uncertified targets): a new search may find others."""
    one = r"\d{1,9}(\.\d{1,15})?/\d{1,9}(\.\d{1,15})?/\d{1,9}"  # lengths are decimals
    if not re.fullmatch(f"{one}(,{one})*", text, flags=re.ASCII):
        raise InputError(f"--left is {text[:40]!r}; expected X/Y/N,… : attacks at (X, Y) that left N uncertified")
    parts = [one.split("/") for one in text.split(",")]
    return [(float(x), float(y), int(left)) for x, y, left in parts]


def _attacks_now(session: Session, found: Surface, relaxation: str) -> list[tuple[float, float, int]]:
    cells = [(x, y) for x in found.x_values.tolist() for y in found.y_values.tolist()]
    return list(attacks_over(session, found.threat, found.x, found.y, cells, relaxation=relaxation))


@makes("base", "share certified node by node")
def _make_base(loaded: LoadedView) -> Figure:
    axes = [loaded.spec[name] for name in ("x", "y") if loaded.spec[name] not in ("", "none")]
    axes = axes or [str(name) for name in TYPES if name in loaded.instance.base.axes][:2]
    scale = loaded.instance.scale
    return base_figure(loaded.instance.base.fronts(), *axes, nodes=loaded.target_nodes(), scale=scale)


@makes("classes", "certified ratio of each predicted class")
def _make_classes(loaded: LoadedView) -> Figure:
    threat, targets = loaded.threat(loaded.instance), loaded.target_nodes()
    how: Any = {"relaxation": loaded.swept, "rounds": loaded.rounds, "cancel": loaded.cancel}
    found = certify_classes(loaded.session(loaded.instance), threat, targets, **how)
    if not found:
        raise InputError("it was cancelled before the first class was certified; there is nothing to draw")
    labels, *counts = zip(*found)
    return class_figure([loaded.class_name(k) for k in labels], *counts)


@makes("votes", "the votes for one node")
def _make_votes(loaded: LoadedView) -> Figure:
    votes = loaded.instance.base.arrays().get("votes")
    prediction = loaded.instance.prediction
    if votes is None or prediction is None:
        raise InputError("this base certificate does not rest on votes; there are none to draw")
    node = loaded.node()
    counts = np.asarray(votes)[node]
    names = [loaded.class_name(k) for k in range(len(counts))]
    return votes_figure(counts, names, int(np.asarray(prediction)[node]), loaded.node_name(node))


@makes("front", "the front of one node, with what it receives in an attack")
def _make_front(loaded: LoadedView) -> Figure:
    node = loaded.node()
    certificate = loaded.certificate()
    where = np.flatnonzero(certificate.target_nodes == node)
    attack = certificate.attack
    received = None if attack is None or not len(where) else [float(v) for v in attack.inside[where[0]]]
    x, y = two_axes(loaded.instance, certificate.threat)
    return front_figure(
        loaded.instance.base.fronts().of_node(node),
        loaded.spec["x"] or x,
        loaded.spec["y"] or y,
        received=received,
        budgets=certificate.threat.budgets,
        node=loaded.node_name(node),
        scale=loaded.instance.scale,
    )


@makes("graph", "the graph with an attack")
def _make_graph(loaded: LoadedView) -> Figure:
    certificate = loaded.certificate()
    relaxed, changed = loaded.spec["adversary"] == "relaxed", None
    if loaded.spec["adversary"] == "model":
        found = largest(loaded.attacks(), loaded.instance, certificate.threat)
        if found is None:
            raise InputError("no attack on the model within these budgets is stored beside the instance; make one with "
                             "`certcore attack`")  # fmt: skip
        certificate, changed = dataclasses.replace(certificate, attack=found.allocation), found.changed_nodes
    elif not relaxed and (found := changed_by_ballots(loaded.instance, certificate)) is not None:
        changed = found.changed_nodes
    if relaxed and certificate.fractional is None:
        raise InputError(
            "there is no relaxed adversary here: with whole-graph fields and votes over groups its flips have no places"
        )
    seen = {"palette": loaded.spec["palette"], "zoomed": loaded.spec["zoomed"], "changed": changed}
    return graph_figure(loaded.instance, certificate, relaxed=relaxed, only=read_states(loaded.spec["only"]), **seen)


@makes("distribution", "distribution of p over the targets")
def _make_distribution(loaded: LoadedView) -> Figure:
    p = getattr(loaded.instance.base, "probability", None)
    if p is None:
        raise InputError("this base certificate does not rest on votes; there is no p to draw")
    return distribution_figure(np.asarray(p)[loaded.target_nodes()])
